"""Methods of private barycenters on mixtures in 2 to 15 dimensions: where they cross over.

Two classes, each a mixture of four Gaussians of standard deviation 0.05 in the unit cube, 8 atoms;
k = 2, n = 20000 persons under add_remove. For every dimension and epsilon: the exact cost of the
private atoms on the rows over that of the atoms found without privacy in the same run.
``method="auto"`` is read off this table.

``python -m benchmarks.barycenter.methods [--seeds 3] [--quick]``
"""

import argparse
import time
import warnings

import numpy as np

from benchmarks.recording import Results
from skdp_bary import PrivateWassersteinBarycenter
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.papers import CoresetBarycenter
from skdp_bary.transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete

RESULTS = Results("barycenter_methods")
DIMENSIONS = (2, 3, 4, 5, 8, 15)
CASES = ((1.0, 1e-6), (1.0, 0.0), (0.1, 1e-6))
METHODS = ("coreset", "pyramid", "perturbation", "clusters", "subspace")
BOX, PURE_BOX = 4, 6  # features up to which pyramids are asked; clusters are from the first on
N_ROWS, N_CLASSES, N_ATOMS = 20_000, 2, 8


def make_rows(d, seed):
    """Draw rows of all classes and their labels."""
    rng = np.random.default_rng((d, seed))
    y = rng.integers(N_CLASSES, size=N_ROWS)
    centers = rng.uniform(0.2, 0.8, size=(N_CLASSES, 4, d))
    rows = centers[y, rng.integers(4, size=N_ROWS)] + 0.05 * rng.standard_normal((N_ROWS, d))
    return np.clip(rows, 0.0, 1.0), y


def mean_cost(clouds, support):
    """Return the mean exact transport cost from the classes to the atoms."""
    atoms = DiscreteMeasure(support)
    return float(np.mean([solve_semidiscrete(cloud, atoms).cost for cloud in clouds]))


def fit(X, y, d, method, epsilon, delta, seed):
    """Return the private atoms."""
    cls = CoresetBarycenter if method == "perturbation" else PrivateWassersteinBarycenter
    model = cls(
        N_ATOMS,
        method=method,
        classes=range(N_CLASSES),
        n_init=2,
        epsilon=epsilon,
        delta=delta,
        bounds=(0, 1),
        n_hint=N_ROWS,
        random_state=seed,
    )
    return model.fit(X, y).support_


def suits(method, d, delta):
    """Return whether a method is asked in so many features."""
    left_out = {"subspace": delta == 0, "clusters": d < BOX}
    left_out["pyramid"] = d > (BOX if delta > 0 else PURE_BOX)
    return not left_out.get(method, False)


def measure(d, seeds):
    """Return one row a case: mean and largest ratio of every method."""
    ratios = {
        (case, method): [] for case in CASES for method in METHODS if suits(method, d, case[1])
    }
    for seed in range(seeds):
        X, y = make_rows(d, seed)
        clouds = [DiscreteMeasure(X[y == code]) for code in range(N_CLASSES)]
        best = free_support_barycenter(clouds, N_ATOMS, n_init=5, random_state=seed)
        least = mean_cost(clouds, best.support)
        for (case, method), found in ratios.items():
            found.append(mean_cost(clouds, fit(X, y, d, method, *case, seed)) / least)
    return [
        {
            "d": d,
            "epsilon": case[0],
            "delta": case[1],
            "ratios": {
                method: {"mean": float(np.mean(found)), "largest": float(np.max(found))}
                for (own, method), found in ratios.items()
                if own == case
            },
        }
        for case in CASES
    ]


def main():
    """Run all dimensions and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one seed, no file written")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    rows, begin = [], time.perf_counter()
    for d in DIMENSIONS:
        for row in measure(d, 1 if options.quick else options.seeds):
            cells = " ".join(f"{name} {r['mean']:8.3f}" for name, r in row["ratios"].items())
            print(f"{d:2d} {row['epsilon']:4} {row['delta']:6} {cells}", flush=True)
            rows.append(row)
        if not options.quick:  # after every dimension, so that a stopped run leaves its part
            result = {"n_rows": N_ROWS, "n_classes": N_CLASSES, "n_atoms": N_ATOMS}
            result |= {"seeds": options.seeds, "seconds": round(time.perf_counter() - begin, 1)}
            RESULTS.write(result | {"rows": rows})


if __name__ == "__main__":
    main()
