"""Cost of private centers relative to that of scikit-learn's KMeans on the same rows.

Sets: blobs, a mixture and overlapping clusters are generated; with ``--data FOLDER`` also "tracts"
(centers of the census tracts of 2010), "people" (200,000 draws from them by population), "mnist",
"fashion" and "usps" (the last two were not looked at while the method was made). A cell is a set,
k, epsilon, a kind of noise, a relation and whether bounds are given; five seeds each. Beside it
stand plain noisy rounds of Lloyd's algorithm from public random centers, and ONE private mean of
all rows, with the same budget: below the latter a clustering is worth nothing.

Every cell is kept as soon as it is done, and a second run computes only what is missing.
``python -m benchmarks.kmeans.quality [--data FOLDER] [--sets mnist blobs2] [--epsilons 1 0.1]
[--all] [--show] [--diffprivlib]``

``--diffprivlib`` needs diffprivlib. Its cells name the epsilon that it was asked for and charges;
beside them stands the sum of the epsilons of the noise that it draws for the cluster of one row,
which is another number: the shares of counts and of coordinates are taken for each other there.
"""

import argparse
import warnings
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import pairwise_distances_argmin_min

from benchmarks.recording import Results
from skdp_bary import BudgetAccountant, PrivateKMeans

RESULTS = Results("kmeans_quality")
SEEDS = 5
EPSILONS = (1.0, 0.1, 0.5, 2.0)
SIZES = {
    "mnist": (16, 64),
    "tracts": (10, 48),
    "blobs2": (10, 64),
    "blobs100": (10, 64),
    "mixture": (32,),
    "overlapping": (64,),
    "people": (10, 48),
    "fashion": (16, 64),
    "usps": (16, 64),
}
FROM_FILES = ("mnist", "tracts", "people", "fashion", "usps")
US = np.array([-125.0, 24.0]), np.array([-66.0, 50.0])  # arrays: lows and highs
BOUNDS = {
    "tracts": US,
    "people": US,
    "blobs2": (-1.0, 1.0),
    "blobs100": (-1.0, 1.0),
    "mixture": (-1.5, 1.5),
    "overlapping": (-6.0, 6.0),
    "mnist": (0.0, 1.0),
    "fashion": (0.0, 1.0),
    "usps": (0.0, 1.0),
}
STARTS = {"mnist": 2, "fashion": 2, "usps": 3}  # of the non-private fit; elsewhere 10


@dataclass(frozen=True)
class Cell:
    """One line of the table."""

    name: str
    n_clusters: int
    epsilon: float
    noise: str
    neighbors: str = "add_remove"
    bounds: bool = True
    method: str = "grid"

    @property
    def key(self):
        """Name in the file of results."""
        return " ".join(str(value) for value in asdict(self).values())


def blobs(n_rows, n_features, n_clusters, sd):
    """Return normal clusters with uniform centers, clipped to the bounds."""
    rng = np.random.default_rng(1)
    centers = rng.uniform(-1, 1, (n_clusters, n_features))
    rows = centers[rng.integers(n_clusters, size=n_rows)]
    return np.clip(rows + rng.normal(size=rows.shape) * sd, -1, 1)


def mixture():
    """Return 32 wide normal clusters of unequal sizes in ten dimensions."""
    rng = np.random.default_rng(2)
    weights, centers = rng.dirichlet(np.full(32, 2.0)), rng.uniform(-1, 1, (32, 10))
    rows = centers[rng.choice(32, size=50_000, p=weights)]
    return np.clip(rows + rng.normal(size=rows.shape) * 0.3, -1.5, 1.5)


def overlapping():
    """Return 64 normal clusters of very unequal sizes around centers of norm 10."""
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(64, 100))
    centers *= 10 / np.linalg.norm(centers, axis=1, keepdims=True)
    rows = centers[rng.choice(64, size=50_000, p=rng.dirichlet(np.ones(64)))]
    return rows + rng.normal(size=rows.shape) * 0.5


def tracts(data, draws=None):
    """Return the tracts' centers, or that many draws of them by population."""
    table = np.genfromtxt(data / "us_tracts_2010_pop.csv.gz", delimiter=",", names=True)
    rows = np.column_stack([table["lon"], table["lat"]])
    if draws is None:
        return rows
    population = table["total_pop"] / table["total_pop"].sum()
    return rows[np.random.default_rng(4).choice(len(rows), size=draws, p=population)]


def images(data, name):
    """Return all images of a set as rows in [0, 1]."""
    file = {"mnist": "mnist", "fashion": "fashion_mnist", "usps": "usps"}[name]
    with np.load(data / f"{file}.npz") as arrays:
        rows = np.concatenate([arrays["x_train"], arrays["x_test"]])
    largest = 2000.0 if name == "usps" else 255.0
    return rows.reshape(len(rows), -1) / largest


@cache
def load(name, n_clusters, data):
    """Return the rows of a set."""
    if name == "tracts":
        return tracts(data)
    if name == "people":
        return tracts(data, 200_000)
    if name in FROM_FILES:
        return images(data, name)
    if name == "blobs2":
        return blobs(100_000, 2, n_clusters, 0.03)
    if name == "blobs100":
        return blobs(50_000, 100, n_clusters, 0.05)
    return {"mixture": mixture, "overlapping": overlapping}[name]()


def cost(rows, centers):
    """Return the mean squared distance to the nearest center."""
    return float((pairwise_distances_argmin_min(rows, centers)[1] ** 2).mean())


def estimator(cell, rows, seed):
    """Return the estimator of a cell."""
    settings = {
        "epsilon": cell.epsilon,
        "delta": 0.0 if cell.noise == "laplace" else float(f"{len(rows) ** -1.5:.3g}"),
        "bounds": BOUNDS[cell.name] if cell.bounds else None,
        "n_hint": len(rows),
        "neighbors": cell.neighbors,
        "random_state": seed,
    }
    low, high = (np.broadcast_to(b, rows.shape[1]) for b in BOUNDS[cell.name])
    if cell.method == "one mean":
        return PrivateKMeans(1, init=[(low + high) / 2], max_iter=1, **settings)
    if cell.method == "lloyd":
        rng = np.random.default_rng(seed)
        start = low + (high - low) * rng.random((cell.n_clusters, rows.shape[1]))
        return PrivateKMeans(cell.n_clusters, init=start, **settings)
    return PrivateKMeans(cell.n_clusters, **settings)


def costs(cell, data):
    """Return the costs of a cell, one a seed."""
    rows = load(cell.name, cell.n_clusters, data)
    fits = (estimator(cell, rows, seed).fit(rows) for seed in range(SEEDS))
    return [cost(rows, fitted.cluster_centers_) for fitted in fits]


def baseline(name, n_clusters, data):
    """Return the cost without privacy."""
    rows = load(name, n_clusters, data)
    n_init = STARTS.get(name, 10)
    fitted = KMeans(n_clusters, n_init=n_init, random_state=0).fit(rows)
    return cost(rows, fitted.cluster_centers_)


def peer_costs(name, n_clusters, epsilon, data):
    """Return the costs of diffprivlib's KMeans, and the epsilon that it draws noise for."""
    from diffprivlib.models import KMeans as PeerKMeans

    from skdp_bary.interop import DiffprivlibAccountant

    rows = load(name, n_clusters, data)
    low, high = (np.broadcast_to(b, rows.shape[1]) for b in BOUNDS[name])
    found = []
    for seed in range(SEEDS):
        budget = BudgetAccountant(epsilon, neighbors="replace_one")
        peer = PeerKMeans(
            n_clusters,
            epsilon=epsilon,
            bounds=(low, high),
            random_state=seed,
            accountant=DiffprivlibAccountant(budget),
        )
        found.append(cost(rows, peer.fit(rows).cluster_centers_))
    for_count, for_coordinate = peer._split_epsilon(rows.shape[1], peer.n_iter_)
    drawn = peer.n_iter_ * (for_count + rows.shape[1] * for_coordinate)
    return found, drawn


def cells(names, epsilons, everything):
    """Yield the cells, the most telling ones first."""
    for epsilon in epsilons:
        for name in names:
            for k in SIZES[name]:
                for noise in ("gaussian", "laplace"):
                    yield Cell(name, k, epsilon, noise)
                    for method in ("one mean", "lloyd"):
                        yield Cell(name, k, epsilon, noise, method=method)
    for epsilon in epsilons if everything else ():
        for name in names:
            for k in SIZES[name]:
                for noise in ("gaussian", "laplace"):
                    yield Cell(name, k, epsilon, noise, bounds=False)
                    yield Cell(name, k, epsilon, noise, neighbors="replace_one")


def read():
    """Return what was kept, also by another process a moment ago."""
    return {"baselines": {}, "cells": {}, "drawn": {}} | RESULTS.read({})


def keep(part, key, value):
    """Add one number or list to the file and return all that it holds."""
    kept = read()
    kept[part][key] = value
    kept[part] = dict(sorted(kept[part].items()))
    RESULTS.write(kept)
    return kept


def show(kept):
    """Print the ratios: median, lowest and highest over seeds."""
    for key, found in sorted(kept["cells"].items()):
        base = kept["baselines"][" ".join(key.split(" ")[:2])]
        ratios = np.array(found) / base
        low, middle, high = ratios.min(), np.median(ratios), ratios.max()
        drawn = f" draws noise for epsilon={kept['drawn'][key]:.3g}" if key in kept["drawn"] else ""
        print(f"{key:<62} {middle:8.3f} [{low:.3f}, {high:.3f}]{drawn}")


def main():
    """Compute what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=None, help="folder with the real data")
    parser.add_argument("--sets", nargs="+", default=list(SIZES), choices=SIZES)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--all", action="store_true", help="also without bounds, and replace_one")
    parser.add_argument("--only-diffprivlib", action="store_true", help="nothing else is computed")
    parser.add_argument("--show", action="store_true", help="print the table and stop")
    parser.add_argument("--diffprivlib", action="store_true", help="run diffprivlib beside ours")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = read()
    names = [n for n in arguments.sets if n not in FROM_FILES or arguments.data is not None]
    skipped = set(arguments.sets) - set(names)
    if skipped:
        print(f"Without --data these sets are left out: {sorted(skipped)}")
    own = not (arguments.show or arguments.only_diffprivlib)
    for cell in cells(names, arguments.epsilons, arguments.all) if own else ():
        base = f"{cell.name} {cell.n_clusters}"
        if base not in kept["baselines"]:
            value = baseline(cell.name, cell.n_clusters, arguments.data)
            kept = keep("baselines", base, value)
        if cell.key not in kept["cells"]:
            kept = keep("cells", cell.key, costs(cell, arguments.data))
            ratio = np.median(kept["cells"][cell.key]) / kept["baselines"][base]
            print(f"{cell.key:<62} {ratio:.3f}", flush=True)
    if arguments.diffprivlib or arguments.only_diffprivlib:
        for name in names:
            for k in SIZES[name]:
                for epsilon in arguments.epsilons:
                    key = f"{name} {k} {epsilon} declared add_remove True diffprivlib"
                    if key not in kept["cells"] or key not in kept["drawn"]:
                        found, drawn = peer_costs(name, k, epsilon, arguments.data)
                        keep("drawn", key, drawn)
                        kept = keep("cells", key, found)
                        print(f"{key:<62} draws noise for epsilon={drawn:.3g}", flush=True)
    show(kept)


if __name__ == "__main__":
    main()
