"""How often the intervals of private heatmaps hold the mass of a cell, and how long they are.

Populations and truth are those of ``heatmap_quality.py``. Each run draws n people, fits the default
method, and asks every leaf of the release whether the 90 % interval holds the true mass. Lengths
are divided by that of the interval that the noise on a leaf alone would give, ``2 log(10)`` times
its scale. Goals: between 85 and 99 % of the leaves, at half that length.

``python -m benchmarks.heatmap.intervals [--data FOLDER] [--runs 24]``
"""

import argparse
import math
import warnings
from pathlib import Path

import numpy as np

from benchmarks.heatmap.quality import EPSILONS, POPULATIONS, SIDE, true_masses
from benchmarks.recording import Results
from skdp_bary import PrivateEMDHeatmap
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("heatmap_intervals")


def one_run(population, n, epsilon, bandwidth, seed, folder):
    """Return coverage and relative length of the intervals of one fit."""
    rng = np.random.default_rng((n, round(10 * epsilon), seed))
    X, people, bounds = POPULATIONS[population][0](n, rng, folder)
    model = PrivateEMDHeatmap(
        epsilon, bounds=bounds, resolution=SIDE, bandwidth=bandwidth, n_hint=n, random_state=seed
    )
    model.fit(X, groups=people)
    return intervals(model, true_masses(X, people, bounds))


def intervals(model, masses):
    """Return the share of the leaves that hold their mass, and the mean relative length."""
    low, high = model.interval(0.9)
    unit = (model.domain_.high - model.domain_.low) / SIDE
    first = np.rint((model.cells_.low - model.domain_.low) / unit).astype(int)
    last = np.rint((model.cells_.high - model.domain_.low) / unit).astype(int)
    true = np.array(
        [masses[a[1] : b[1], a[0] : b[0]].sum() for a, b in zip(first, last, strict=True)]
    )
    slack = model._posterior.step  # masses are multiples of it in the model
    covered = (true >= low - slack / 2) & (true <= high + slack / 2)
    return covered.mean(), (high - low).mean() / (2 * math.log(10) / model.measurements_[-1].rate)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None, help="folder with the real data")
    parser.add_argument("--runs", type=int, default=24)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    names = [p for p, (_, real) in POPULATIONS.items() if arguments.data is not None or not real]
    settings = [
        (p, n, blur, epsilon)
        for p in names
        for n in (50, 200, 500)
        for blur in (32, 64)
        for epsilon in EPSILONS
    ]
    results = []
    for population, n, blur, epsilon in settings:
        runs = [
            one_run(population, n, epsilon, 1 / blur, seed, arguments.data)
            for seed in range(arguments.runs)
        ]
        coverage, length = np.mean(runs, axis=0).round(4).tolist()
        row = {"population": population, "n": n, "blur": blur, "epsilon": epsilon}
        results.append(row | {"runs": len(runs), "coverage": coverage, "length": length})
        print(results[-1], flush=True)
    RESULTS.write(results)
    coverage, length = np.array([[r["coverage"], r["length"]] for r in results]).T
    print(
        f"coverage {coverage.min():.3f} to {coverage.max():.3f}, mean {coverage.mean():.3f};",
        end="",
    )
    print(f" outside [0.85, 0.99] in {((coverage < 0.85) | (coverage > 0.99)).sum()} settings")
    print(f"length {length.min():.3f} to {length.max():.3f}; over 0.5 in {(length > 0.5).sum()}")


if __name__ == "__main__":
    main()
