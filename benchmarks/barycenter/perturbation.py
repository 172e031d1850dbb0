"""Barycenter cost of several routes on generated data, as a multiple of the non-private cost.

Mixtures of four Gaussians with standard deviations from 0.02 to 0.06 in the unit cube, 20000
persons, 8 atoms, delta = 1e-6, replace_one; the cost is the exact W_2^2 of the rows to the atoms.
Beside the methods:

- ``batch``: the same with ``subsample=0.2``;
- ``best of 4``: four coreset releases with a quarter of ``mu**2`` each, and the one whose atoms
  cost least on the rows. That choice is made here without noise and for free, so a private choice
  among paid releases can only be worse.

``python -m benchmarks.barycenter.perturbation [--seeds 3] [--quick]``
"""

import argparse
import math
import time
import warnings

import numpy as np

from benchmarks.recording import Results
from skdp_bary import PrivateWassersteinBarycenter
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.papers import CoresetBarycenter, SubsampledBarycenter
from skdp_bary.privacy.mechanisms import gaussian_delta, gaussian_mu
from skdp_bary.transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete

RESULTS = Results("barycenter_perturbation")
N_PERSONS, N_ATOMS, DELTA, TRIALS = 20_000, 8, 1e-6, 4
CASES = (  # n_features, n_classes, epsilon
    (2, 1, 1.0),
    (2, 1, 0.1),
    (5, 1, 1.0),
    (10, 1, 1.0),
    (15, 1, 1.0),
    (10, 4, 1.0),
)
ROUTES = {
    "coreset": {"method": "coreset"},
    "perturbation": {"cls": CoresetBarycenter},
    "projected": {"cls": CoresetBarycenter, "method": "projected", "n_components": 2},
    "coreset, batch": {"cls": SubsampledBarycenter, "method": "coreset", "subsample": 0.2},
    "perturbation, batch": {"cls": CoresetBarycenter, "subsample": 0.2},
}


def make_rows(d, k, seed):
    """Return rows and labels: classes share the clusters, in other proportions and moved a bit."""
    rng = np.random.default_rng((d, k, seed))
    centers = 0.2 + 0.6 * rng.random((4, d))
    parts = []
    for _ in range(k):
        cluster = rng.choice(4, N_PERSONS // k, p=rng.dirichlet([3.0] * 4))
        axes = np.linalg.qr(rng.standard_normal((d, d)))[0] * np.geomspace(0.06, 0.02, d)
        moved = centers + (0.1 if k > 1 else 0.0) * rng.standard_normal(d)
        parts.append(moved[cluster] + rng.standard_normal((N_PERSONS // k, d)) @ axes.T)
    return np.clip(np.concatenate(parts), 0.0, 1.0), np.repeat(np.arange(k), N_PERSONS // k)


def cost(X, y, atoms):
    """Return the exact mean cost of the classes."""
    atoms = DiscreteMeasure(atoms)
    measures = (DiscreteMeasure(X[y == label]) for label in np.unique(y))
    return np.mean([solve_semidiscrete(measure, atoms).cost for measure in measures])


def fit(X, y, epsilon, delta, seed, cls=PrivateWassersteinBarycenter, **settings):
    """Return the atoms of one private fit."""
    model = cls(
        N_ATOMS,
        classes=np.unique(y),
        epsilon=epsilon,
        delta=delta,
        bounds=(0, 1),
        n_hint=N_PERSONS,
        neighbors="replace_one",
        n_init=5,
        random_state=seed,
        **settings,
    )
    return model.fit(X, y).support_


def best_of_several(X, y, epsilon, seed):
    """Return the least cost over releases that together cost (epsilon, DELTA)."""
    mu = gaussian_mu(epsilon, DELTA) / math.sqrt(TRIALS)
    each = gaussian_delta(mu, epsilon)  # the same epsilon, with the delta of a weaker release
    return min(
        cost(X, y, fit(X, y, epsilon, each, 100 * seed + trial, method="coreset"))
        for trial in range(TRIALS)
    )


def measure(case, seed):
    """Return the ratio of every route for one data set, and its seconds."""
    d, k, epsilon = case
    X, y = make_rows(d, k, seed)
    measures = [DiscreteMeasure(X[y == label]) for label in range(k)]
    free = free_support_barycenter(measures, N_ATOMS, n_init=10, random_state=0).cost
    ratios, seconds = {}, {}
    for name, settings in ROUTES.items():
        begin = time.perf_counter()
        atoms = fit(X, y, epsilon, DELTA, seed, **settings)
        seconds[name] = time.perf_counter() - begin
        ratios[name] = cost(X, y, atoms) / free
    ratios["coreset, best of 4"] = best_of_several(X, y, epsilon, seed) / free
    return ratios, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="two features only, no file written")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    rows = []
    for case in CASES[:1] if options.quick else CASES:
        runs = [measure(case, seed) for seed in range(options.seeds)]
        row = dict(zip(("n_features", "n_classes", "epsilon"), case, strict=True))
        row["ratio"] = {name: [run[0][name] for run in runs] for name in runs[0][0]}
        row["seconds"] = {name: float(np.mean([run[1][name] for run in runs])) for name in ROUTES}
        print(case, {name: np.round(ratios, 3).tolist() for name, ratios in row["ratio"].items()})
        rows.append(row)
    if not options.quick:
        settings = {"persons": N_PERSONS, "atoms": N_ATOMS, "delta": DELTA, "seeds": options.seeds}
        RESULTS.write(settings | {"rows": rows})


if __name__ == "__main__":
    main()
