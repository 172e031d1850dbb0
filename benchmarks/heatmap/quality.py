"""Error of private heatmaps: the paper's method, its baselines, PrivTree, an adaptive grid, ours.

Populations: "gmm" and "city" are generated; with ``--data FOLDER`` also "brightkite" (last
check-ins in the continental US), "gowalla" (users drawn from a histogram of check-ins) and "metro"
(people drawn from census tracts of metropolitan areas), from the files named below. Each run draws
n people, makes the true heatmap, and compares every method with it by four errors: 1 - similarity,
1 - correlation, KL divergence, earth mover's distance (on 32 by 32 blocks). Reported is the
geometric mean over runs of the ratio to the paper's method, with a 95 % interval from the paired
logarithms, for every metric and for all four together. Person ids are given throughout, so a person
may be spread over cells and noise is as good as continuous, as in the paper.

``python -m benchmarks.heatmap.quality [--data FOLDER] [--runs 20] [--sizes 200] [--blurs 32]``

What a wrong ``n_hint`` costs is in ``heatmap_hint.json``: ``--populations city --sizes 200 --blurs
32 --epsilons 0.5 2 5 --hints 0.5 1 2 --runs 12 --output results/heatmap_hint.json``.
"""

import argparse
import math
import warnings
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.recording import Results
from skdp_bary import PrivateEMDHeatmap
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
from skdp_bary.estimators.heatmap_views import blur
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.geometry import Box
from skdp_bary.metrics import earth_mover_distance, kl_divergence, pearson_correlation, similarity
from skdp_bary.papers import LevelwiseEMDHeatmap

RESULTS = Results("heatmap_quality")
SIDE = 256
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)
METHODS = {
    "paper": LevelwiseEMDHeatmap,
    "adaptive": PrivateEMDHeatmap,
    "one_shot": PrivateEMDHeatmap,
    "laplace": LevelwiseEMDHeatmap,
    "topk": LevelwiseEMDHeatmap,
}
METRICS = ("similarity", "correlation", "kl", "emd")
US = Box([-125.0, 24.0], [-66.0, 50.0])
METROS = ((-74.0, 40.7), (-118.2, 34.0), (-87.7, 41.9), (-95.4, 29.8), (-112.1, 33.5))
METRO_SIDE = 1.6  # degrees


def gmm(n, rng, folder):
    """People in a mixture of Gaussians on the unit square."""
    k = rng.integers(3, 9)
    centers, spread = rng.uniform(0.1, 0.9, (k, 2)), rng.uniform(0.02, 0.1, (k, 2))
    label = rng.choice(k, size=n, p=rng.dirichlet(np.ones(k)))
    X = np.clip(centers[label] + spread[label] * rng.standard_normal((n, 2)), 0, 1)
    return X, np.arange(n), ((0.0, 0.0), (1.0, 1.0))


def city(n, rng, folder):
    """Check-ins in a generated city, about nine a person."""
    X, people = make_city_checkins(n, mean_visits=9, random_state=int(rng.integers(2**31)))
    return X, people, CITY_BOUNDS


def brightkite(n, rng, folder):
    """Last check-ins in the continental US, one a person."""
    table = _table(folder / "brightkite_last_checkin.csv.gz", (1, 2, 3))
    rows = table[table[:, 2] == 1, :2]
    return rows[rng.choice(len(rows), n, replace=False)], np.arange(n), US


def gowalla(n, rng, folder):
    """Places drawn from a histogram of check-ins all over the world."""
    with np.load(folder / "gowalla_hist_256x256.npz") as file:
        weights = file["hist"].astype(float).ravel()
    cell = rng.choice(weights.size, size=n, p=weights / weights.sum())
    row, column = np.divmod(cell, 256)
    X = np.stack([column, row], axis=1) + rng.random((n, 2))
    return X / 256, np.arange(n), ((0.0, 0.0), (1.0, 1.0))


def metro(n, rng, folder):
    """People of a metropolitan area, drawn from census tracts by population."""
    table = _table(folder / "us_tracts_2010_pop.csv.gz", (1, 2, 5))
    low = np.array(METROS[rng.integers(len(METROS))]) - METRO_SIDE / 2
    rows = table[((table[:, :2] > low) & (table[:, :2] < low + METRO_SIDE)).all(axis=1)]
    drawn = rng.choice(len(rows), size=n, p=rows[:, 2] / rows[:, 2].sum())
    return rows[drawn, :2], np.arange(n), (low, low + METRO_SIDE)


POPULATIONS = {
    "gmm": (gmm, False),
    "city": (city, False),
    "brightkite": (brightkite, True),
    "gowalla": (gowalla, True),
    "metro": (metro, True),
}
_TABLES = {}


def _table(path, columns):
    if path not in _TABLES:
        _TABLES[path] = np.loadtxt(path, delimiter=",", skiprows=1, usecols=columns)
    return _TABLES[path]


def true_masses(X, people, bounds, side=SIDE):
    """Mass of every cell: each person's mass of one, shared evenly among their rows."""
    box = bounds if isinstance(bounds, Box) else Box(*bounds)
    places = np.clip((X - box.low) / (box.high - box.low) * side, 0, side - 1).astype(int)
    persons = np.unique(people, return_inverse=True)[1]
    weights = 1.0 / np.bincount(persons)[persons]
    grid = np.zeros((side, side))
    np.add.at(grid, (places[:, 1], places[:, 0]), weights)
    return grid


def priv_tree(masses, epsilon, rng, fanout=4):
    """PrivTree (Zhang, Xiao and Xie, 2016) on a quadtree, half the budget for the tree."""
    scale = (2 * fanout - 1) / (fanout - 1) / (epsilon / 2)
    decay = scale * math.log(fanout)
    estimate = np.zeros_like(masses)

    def visit(block, out, depth):
        biased = max(block.sum() - depth * decay, -decay)
        if len(block) > 1 and biased + rng.laplace(scale=scale) > 0:
            half = len(block) // 2
            for rows in (slice(half), slice(half, None)):
                for columns in (slice(half), slice(half, None)):
                    visit(block[rows, columns], out[rows, columns], depth + 1)
        else:
            out[...] = max(block.sum() + rng.laplace(scale=2 / epsilon), 0) / block.size

    visit(masses, estimate, 0)
    return estimate


def adaptive_grid(masses, epsilon, n, rng, share=0.5):
    """The adaptive grid of Qardaji, Yang and Li (2013), with inference between its two levels."""
    first = max(10, math.ceil(math.sqrt(n * epsilon / 10) / 4))
    coarse_scale, fine_scale = 1 / (share * epsilon), 1 / ((1 - share) * epsilon)
    edges = np.round(np.linspace(0, SIDE, first + 1)).astype(int)
    estimate = np.zeros_like(masses)
    for i in range(first):
        for j in range(first):
            block = masses[edges[i] : edges[i + 1], edges[j] : edges[j + 1]]
            noisy = block.sum() + rng.laplace(scale=coarse_scale)
            parts = math.ceil(math.sqrt(max(noisy, 0) * (1 - share) * epsilon / 2))
            parts = min(max(parts, 1), *block.shape)
            cuts = [np.linspace(0, size, parts + 1).astype(int)[:-1] for size in block.shape]
            sums = np.add.reduceat(np.add.reduceat(block, cuts[0], axis=0), cuts[1], axis=1)
            fine = sums + rng.laplace(scale=fine_scale, size=sums.shape)
            weight = coarse_scale**2 / (coarse_scale**2 + parts**2 * fine_scale**2)
            total = weight * fine.sum() + (1 - weight) * noisy
            fine = np.maximum(fine + (total - fine.sum()) / parts**2, 0)
            rows, columns = (
                np.diff(np.r_[c, size]) for c, size in zip(cuts, block.shape, strict=True)
            )
            spread = np.repeat(np.repeat(fine / np.outer(rows, columns), rows, 0), columns, 1)
            estimate[edges[i] : edges[i + 1], edges[j] : edges[j + 1]] = spread
    return estimate


def errors(estimate, truth):
    """Return the four errors of a heatmap."""
    if not estimate.sum() > 0:
        estimate = np.ones_like(estimate)
    return [
        1 - similarity(estimate, truth),
        1 - pearson_correlation(estimate, truth),
        kl_divergence(estimate, truth),
        earth_mover_distance(estimate, truth),
    ]


def estimator_errors(X, people, bounds, truth, epsilon, bandwidth, n_hint, seed):
    """Return the errors of every method of this package, against a blurred truth."""
    # Two pairs of two numbers could be read in two ways; here they are lows and highs.
    bounds = bounds if isinstance(bounds, Box) else Box(*bounds)
    found = {}
    for name, estimator in METHODS.items():
        model = estimator(
            epsilon,
            bounds=bounds,
            resolution=len(truth),
            bandwidth=bandwidth,
            n_hint=n_hint,
            random_state=seed,
            method=name,
        ).fit(X, groups=people)
        found[name] = errors(model.heatmap_, truth)
    return found


def one_run(population, n, epsilon, bandwidth, seed, folder, hint):
    """Return the errors of every method on one draw."""
    rng = np.random.default_rng((n, round(10 * epsilon), seed))
    X, people, bounds = POPULATIONS[population][0](n, rng, folder)
    masses = true_masses(X, people, bounds)
    truth = blur(masses, bandwidth)
    found = {
        "privtree": errors(blur(priv_tree(masses, epsilon, rng), bandwidth), truth),
        "adaptive_grid": errors(blur(adaptive_grid(masses, epsilon, n, rng), bandwidth), truth),
    }
    known = max(1, round(n * hint))
    return found | estimator_errors(X, people, bounds, truth, epsilon, bandwidth, known, seed)


def summarize(runs, baseline="paper"):
    """Geometric means of the ratios to the baseline, with 95 % intervals."""
    summary = {}
    for name in runs[0]:
        ratios = np.log([np.maximum(run[name], 1e-12) for run in runs]) - np.log(
            [np.maximum(run[baseline], 1e-12) for run in runs]
        )
        columns = np.column_stack([ratios, ratios.mean(axis=1)])
        mean = columns.mean(axis=0)
        error = 1.96 * columns.std(axis=0, ddof=1) / math.sqrt(len(runs))
        summary[name] = {
            metric: [round(math.exp(v), 4) for v in (m, m - e, m + e)]
            for metric, m, e in zip((*METRICS, "all"), mean, error, strict=True)
        }
    return summary


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None, help="folder with the real data")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 200, 500])
    parser.add_argument("--blurs", type=int, nargs="+", default=[32, 64])
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--populations", nargs="+", default=list(POPULATIONS))
    parser.add_argument(
        "--hints", type=float, nargs="+", default=[1.0], help="n_hint over the true number"
    )
    parser.add_argument("--output", type=Results, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    names = [
        name
        for name in arguments.populations
        if arguments.data is not None or not POPULATIONS[name][1]
    ]
    results = []
    for population, n, blurred, epsilon, hint in product(
        names, arguments.sizes, arguments.blurs, arguments.epsilons, arguments.hints
    ):
        found = [
            one_run(population, n, epsilon, 1 / blurred, seed, arguments.data, hint)
            for seed in range(arguments.runs)
        ]
        row = {"population": population, "n": n, "blur": blurred, "epsilon": epsilon}
        row |= {"runs": arguments.runs, "hint": hint, "ratio_to_paper": summarize(found)}
        results.append(row)
        show(row)
        arguments.output.write(results)
    overall(results)


def show(row):
    ratios = "  ".join(
        f"{name} {values['all'][0]:.2f}" for name, values in row["ratio_to_paper"].items()
    )
    setting = f"n={row['n']:<4} blur 1/{row['blur']} eps={row['epsilon']:<4} hint x{row['hint']}"
    print(f"{row['population']:>10} {setting} {ratios}", flush=True)


def overall(results):
    """Print geometric means over all settings."""
    for name in results[0]["ratio_to_paper"]:
        mean = np.exp(np.mean([np.log(r["ratio_to_paper"][name]["all"][0]) for r in results]))
        worst = max(max(r["ratio_to_paper"][name][m][2] for m in METRICS) for r in results)
        print(f"{name:>16}: {mean:.3f} of the paper's error; largest interval end {worst:.3f}")


if __name__ == "__main__":
    main()
