"""Cost of private centers by regime, beside what the same budget buys elsewhere.

Regimes: up to three features with bounds that fit and bounds ten times too wide, few persons a
cluster, tens of features with hundreds to a few thousand rows, and budgets so large that noise
should not count. Every regime has sets that the plans were tuned on, and sets that were kept aside
(``ASIDE``). In the same run stand scikit-learn's KMeans (best of ten starts, no privacy), ONE
private mean of all rows with the whole budget, and with up to three features EUGkM of Su et al.
(2016) on a grid of Laplace counts with continuous noise.

``python -m benchmarks.kmeans.regimes [--sets wine digits] [--epsilons 1] [--tag before] [--show]``
computes and keeps; ``--tag`` names the edition that runs, so that two of them can be compared.
"""

import argparse
import time
import warnings
from functools import cache

import numpy as np
from sklearn import datasets
from sklearn.cluster import KMeans

from benchmarks.recording import Results
from skdp_bary import PrivateKMeans
from skdp_bary.estimators.noisy_means import nearest, weighted_kmeans

RESULTS = Results("kmeans_regimes")
KEYS = ("tag", "set", "epsilon", "noise", "method")
EPSILONS = {False: (0.1, 0.3, 1.0, 3.0), True: (0.1, 0.3, 1.0, 5.0, 20.0, 100.0)}  # many features
SEEDS = 5


def spots(n_rows, n_features, n_clusters, sd, seed, wide=1.0):
    """Return normal clusters of unequal sizes with uniform centers, in the middle of [-1, 1]."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-0.9, 0.9, (n_clusters, n_features))
    label = rng.choice(n_clusters, n_rows, p=rng.dirichlet(np.full(n_clusters, 3.0)))
    rows = centers[label] + sd * rng.normal(size=(n_rows, n_features))
    return np.clip(rows, -1, 1) / wide


def curve(n_rows, n_features, seed):
    """Return rows along a smooth curve, with little noise."""
    rng = np.random.default_rng(seed)
    t, phase = rng.random(n_rows)[:, None], rng.uniform(0, 6, n_features)
    rows = 0.8 * np.sin(2 * np.pi * t * rng.uniform(0.3, 1.5, n_features) + phase)
    return np.clip(rows + 0.03 * rng.normal(size=rows.shape), -1, 1)


def cloud(n_rows, n_features, seed, tails=np.inf):
    """Return one correlated cloud, of a normal law or Student's."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(n_features, n_features)) * 0.7 ** np.arange(n_features)
    rows = rng.normal(size=(n_rows, n_features)) @ mix.T
    if np.isfinite(tails):
        rows /= np.sqrt(rng.chisquare(tails, size=(n_rows, 1)) / tails)
    return np.clip(0.15 * rows, -1, 1)


def rounded(name):
    """Return a set of scikit-learn, moved to [-1, 1] by ranges of one digit."""
    rows = getattr(datasets, f"load_{name}")().data
    unit = 10.0 ** np.floor(np.log10(np.maximum(np.abs(rows).max(axis=0), 1e-3)))
    low = np.floor(rows.min(axis=0) / unit) * unit
    high = np.maximum(np.ceil(rows.max(axis=0) / unit) * unit, low + unit)
    return 2.0 * (rows - low) / (high - low) - 1.0


SETS = {  # the rows and the number of clusters
    "two": (lambda: spots(3000, 2, 12, 0.04, 1), 12),
    "two-many": (lambda: spots(20000, 2, 40, 0.02, 2), 40),
    "two-wide": (lambda: spots(6000, 2, 8, 0.05, 3, wide=10.0), 8),
    "three": (lambda: spots(4000, 3, 10, 0.08, 4), 10),
    "curve3": (lambda: curve(8000, 3, 5), 16),
    "one": (lambda: spots(2000, 1, 6, 0.03, 6), 6),
    "six": (lambda: spots(5000, 6, 8, 0.1, 7), 8),
    "nine": (lambda: spots(10000, 9, 10, 0.15, 8), 10),
    "cloud12": (lambda: cloud(3000, 12, 9), 8),
    "wine": (lambda: rounded("wine"), 3),
    "cancer": (lambda: rounded("breast_cancer"), 2),
    "digits": (lambda: rounded("digits"), 10),
    "spots40": (lambda: spots(2000, 40, 6, 0.2, 10), 6),
    "line": (lambda: cloud(4000, 1, 26), 8),  # was kept aside, and showed a fault
    "line-20k": (lambda: spots(20_000, 1, 16, 0.01, 41), 16),
    "line-1m": (lambda: cloud(1_000_000, 1, 42, tails=4.0), 16),
    # kept aside
    "pair": (lambda: spots(5000, 2, 10, 0.06, 21), 10),
    "curve2": (lambda: curve(3000, 2, 22), 20),
    "pair-wide": (lambda: spots(10000, 2, 12, 0.03, 23, wide=10.0), 12),
    "trio": (lambda: spots(10000, 3, 24, 0.05, 24), 24),
    "cloud3": (lambda: cloud(5000, 3, 25, tails=4.0), 8),
    "iris": (lambda: rounded("iris"), 3),
    "seven": (lambda: spots(8000, 7, 12, 0.12, 27), 12),
    "diabetes": (lambda: rounded("diabetes"), 5),
    "nine-curve": (lambda: curve(6000, 9, 28), 10),
    "cloud30": (lambda: cloud(600, 30, 29), 4),
    "cloud50": (lambda: cloud(1500, 50, 30, tails=4.0), 8),
    "spots20": (lambda: spots(1000, 20, 5, 0.2, 31), 5),
    "line-50k": (lambda: cloud(50_000, 1, 43), 24),
    "line-400k": (lambda: spots(400_000, 1, 40, 0.004, 44), 40),
}
ASIDE = list(SETS)[list(SETS).index("pair") :]


@cache
def load(name):
    """Return the rows of a set."""
    return SETS[name][0]()


def cost(rows, centers):
    """Return the mean squared distance to the nearest center."""
    return float(nearest(rows, centers)[1].mean())


@cache
def best(name):
    """Return the cost without privacy."""
    fitted = KMeans(SETS[name][1], n_init=10, random_state=0).fit(load(name))
    return fitted.inertia_ / len(load(name))


def eugkm(rows, n_clusters, epsilon, seed):
    """Return centers found on one uniform grid of Laplace counts."""
    n_rows, d = rows.shape
    rng = np.random.default_rng(seed)
    side = max(2, round((n_rows * epsilon / 10.0) ** (2.0 / (2.0 + d))))
    edges = [np.linspace(-1, 1, side + 1)] * d
    counts = np.histogramdd(rows, bins=edges)[0].ravel()
    counts = np.maximum(counts + rng.laplace(scale=1.0 / epsilon, size=counts.size), 0.0)
    middle = (edges[0][1:] + edges[0][:-1]) / 2.0
    points = np.stack(np.meshgrid(*[middle] * d, indexing="ij"), axis=-1).reshape(-1, d)
    return weighted_kmeans(points, counts, n_clusters, 10, rng)


def centers(name, epsilon, noise, method, seed):
    """Return the centers of a method."""
    rows, k = load(name), SETS[name][1]
    if method == "eugkm":
        return eugkm(rows, k, epsilon, seed)
    delta = 0.0 if noise == "laplace" else float(f"{len(rows) ** -1.5:.2g}")
    settings = {"epsilon": epsilon, "delta": delta, "bounds": (-1, 1), "random_state": seed}
    settings["n_hint"] = None if method == "ours, no hint" else len(rows)
    if method == "one mean":
        settings |= {"init": np.zeros((1, rows.shape[1])), "max_iter": 1}
        k = 1
    return PrivateKMeans(k, **settings).fit(rows).cluster_centers_


def cell(tag, name, epsilon, noise, method):
    """Return one row of the results."""
    start = time.process_time()
    found = [
        cost(load(name), centers(name, epsilon, noise, method, seed)) / best(name)
        for seed in range(SEEDS)
    ]
    seconds = (time.process_time() - start) / SEEDS
    values = (tag, name, epsilon, noise, method)
    row = dict(zip(KEYS, values, strict=True))
    return row | {"ratio": round(float(np.median(found)), 4), "seconds": round(seconds, 3)}


def cells(tag, names, epsilons):
    """Yield the cells of a run."""
    for name in names:
        width = load(name).shape[1]
        for epsilon in epsilons or EPSILONS[width > 3]:
            for noise in ("laplace", "gaussian"):
                yield tag, name, epsilon, noise, "ours"
                if tag == "now":
                    yield "peer", name, epsilon, noise, "one mean"
            if width <= 3 and tag == "now":
                yield "peer", name, epsilon, "laplace", "eugkm"


def show(kept, names):
    """Print ratios to scikit-learn's cost: before, now, one mean, EUGkM."""
    table = {tuple(row[key] for key in KEYS): row["ratio"] for row in kept}
    for half in (False, True):
        print("kept aside" if half else "seen")
        for name in (name for name in names if (name in ASIDE) == half):
            for epsilon in EPSILONS[load(name).shape[1] > 3]:
                for noise in ("laplace", "gaussian"):
                    found = [
                        table.get((tag, name, epsilon, noise, "ours")) for tag in ("before", "now")
                    ]
                    found.append(table.get(("peer", name, epsilon, noise, "one mean")))
                    found.append(table.get(("peer", name, epsilon, "laplace", "eugkm")))
                    if any(found):
                        text = "".join(f"{x:9.3f}" if x else "        -" for x in found)
                        print(f"{name:<12}{epsilon:<7g}{noise:<9}{text}")


def main():
    """Compute what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=())
    parser.add_argument("--tag", default="now")
    parser.add_argument("--anew", action="store_true", help="also what was kept before")
    parser.add_argument("--show", action="store_true", help="print the table and stop")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    done = {tuple(row[key] for key in KEYS) for row in RESULTS.read([])}
    for values in (
        () if arguments.show else cells(arguments.tag, arguments.sets, arguments.epsilons)
    ):
        if values not in done or (arguments.anew and values[0] != "peer"):
            RESULTS.merge([cell(*values)], KEYS)
    show(RESULTS.read([]), arguments.sets)


if __name__ == "__main__":
    main()
