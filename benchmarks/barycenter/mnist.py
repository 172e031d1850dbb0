"""Private barycenter of the ten MNIST digits: d = 784, k = 10 classes of 5400 rows, m = 40 atoms.

The cost of atoms is the exact mean transport cost on the real rows. The non-private atoms are the
barycenter of the rows in their 60 leading principal axes, lifted by the means of its exact cells.
Private fits are end to end: ``method="subspace"``, ``bounds=(0, 1)``, delta = 1/N as in the paper.
The settings of the method were chosen on Fashion-MNIST, USPS and generated mixtures. A single
Gaussian model of a class, which this method starts from, had been tried on MNIST before.

``python -m benchmarks.barycenter.mnist --data DIR [--seeds 5] [--relations replace_one]``; DIR
holds ``mnist.npz`` with ``x_train``, ``y_train``.
"""

import argparse
import math
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.recording import Results
from skdp_bary import PrivateWassersteinBarycenter
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete

RESULTS = Results("barycenter_mnist")
N_CLASSES, N_ROWS, N_ATOMS, N_AXES = 10, 5400, 40, 60
GOALS = {1.0: 1.04, 4.0: 1.03}


def load_rows(folder):
    """Return the first rows of every class as floats in [0, 1], and their labels."""
    with np.load(folder / "mnist.npz") as data:
        images, labels = data["x_train"], data["y_train"]
    rows = [np.flatnonzero(labels == code)[:N_ROWS] for code in range(N_CLASSES)]
    rows = np.concatenate(rows)
    return images[rows].reshape(len(rows), -1) / 255.0, labels[rows].astype(int)


def mean_cost(X, y, support):
    """Return the exact mean cost from the classes to the atoms."""
    atoms = DiscreteMeasure(support)
    clouds = [DiscreteMeasure(X[y == code]) for code in range(N_CLASSES)]
    return float(np.mean([solve_semidiscrete(cloud, atoms).cost for cloud in clouds]))


def public_atoms(X, y, seed):
    """Return atoms found without privacy."""
    means = np.stack([X[y == code].mean(axis=0) for code in range(N_CLASSES)])
    away = X - means[y]
    axes = np.linalg.eigh(away.T @ away)[1][:, -N_AXES:]
    classes = [X[y == code] for code in range(N_CLASSES)]
    clouds = [DiscreteMeasure(rows @ axes) for rows in classes]
    found = free_support_barycenter(clouds, N_ATOMS, random_state=seed)
    plans = zip(found.transports, classes, strict=True)
    return sum(transport.plan.T @ rows for transport, rows in plans) * N_ATOMS / N_CLASSES


def fit(X, y, epsilon, relation, seed):
    """Return the private atoms and the seconds of the fit."""
    model = PrivateWassersteinBarycenter(
        N_ATOMS,
        method="subspace",
        classes=range(N_CLASSES),
        epsilon=epsilon,
        delta=1.0 / len(X),
        bounds=(0, 1),
        n_hint=len(X),
        neighbors=relation,
        random_state=seed,
    )
    begin = time.perf_counter()
    return model.fit(X, y).support_, time.perf_counter() - begin


def picture(folder):
    """Draw the private atoms at epsilon 1."""
    import matplotlib.pyplot as plt

    X, y = load_rows(folder)
    atoms = fit(X, y, 1.0, "replace_one", seed=0)[0]
    order = np.argsort(atoms @ np.linalg.svd(atoms - atoms.mean(axis=0))[2][0])
    figure, panels = plt.subplots(4, 10, figsize=(8, 3.4), layout="constrained")
    for axes, atom in zip(panels.flat, atoms[order], strict=True):
        axes.imshow(atom.reshape(28, 28), cmap="gray_r", vmin=0, vmax=1)
        axes.set_axis_off()
    return figure


def summarize(epsilon, relation, ratios, seconds):
    """Return and print one row of the table."""
    mean = float(np.mean(ratios))
    error = float(np.std(ratios, ddof=1) / math.sqrt(len(ratios))) if len(ratios) > 1 else None
    print(f"{relation:12s} epsilon={epsilon:<4} {mean:.4f} {np.round(ratios, 4)}", flush=True)
    return {
        "relation": relation,
        "epsilon": epsilon,
        "goal": GOALS[epsilon],
        "mean": mean,
        "standard_error": error,
        "ratios": ratios,
        "seconds_per_fit": round(float(np.mean(seconds)), 1),
    }


def main():
    """Run all fits and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with mnist.npz")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--relations", nargs="+", default=["replace_one", "add_remove"])
    options = parser.parse_args()
    if not (options.data / "mnist.npz").exists():
        parser.error(f"there is no mnist.npz in {options.data}.")
    warnings.simplefilter("ignore", PrivacyWarning)
    X, y = load_rows(options.data)
    least = mean_cost(X, y, public_atoms(X, y, 0))
    one_point = float(np.mean([((X[y == c] - X.mean(0)) ** 2).sum(1).mean() for c in range(10)]))
    print(f"without privacy {least:.3f}; all atoms at the mean {one_point:.3f}", flush=True)
    rows = []
    for relation in options.relations:
        for epsilon in GOALS:
            fits = [fit(X, y, epsilon, relation, seed) for seed in range(options.seeds)]
            ratios = [mean_cost(X, y, support) / least for support, _ in fits]
            rows.append(summarize(epsilon, relation, ratios, [seconds for _, seconds in fits]))
            result = {"delta": 1.0 / len(X), "non_private_cost": least, "at_the_mean": one_point}
            RESULTS.write(result | {"rows": rows})


if __name__ == "__main__":
    main()
