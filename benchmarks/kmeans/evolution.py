"""Cost of private centers beside PE-means, which evolves candidates by noisy votes of the rows.

PE-means is from Humphries, Lin and Yekhanin, "PE-means: Improved Differentially Private k-means
Clustering through Private Evolution" (arXiv 2606.00342). It is written here after the paper and the
settings that its authors publish. Candidates start apart from each other in a ball. In each
generation every row votes for its nearest candidate, the votes get normal noise, the smallest are
dropped until no more votes than rows are left, weighted k-means of the candidates gives the
centers, and steps of a heavy-tailed law around these give new candidates. Its variant with a
projection for more than 32 features is not here.

Both have the same epsilon and delta = n**-1.1, as in the paper. As in the paper's experiments,
PE-means knows the exact mean of the rows and their largest distance from it, which are NOT PRIVATE,
and draws floats; ours knows public bounds. Costs are ratios to scikit-learn's KMeans (best of ten),
with the standard error over seeds.

``python -m benchmarks.kmeans.evolution [--data FOLDER] [--sets two wine] [--epsilons 1]``
"""

import argparse
import math
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import gamma
from sklearn.cluster import KMeans

from benchmarks.kmeans import quality, regimes
from benchmarks.recording import Results
from skdp_bary import PrivateKMeans
from skdp_bary.privacy.mechanisms import gaussian_mu

RESULTS = Results("kmeans_evolution")
KEYS = ("set", "k", "epsilon", "method")
SETS = ("iris", "wine", "two", "two-many", "curve2", "three", "cloud3", "six", "seven", "nine")
FROM_FILES = {"tracts": (10, 48)}
EPSILONS = (1.0, 0.25, 4.0)
SEEDS = 5
TAIL, STEP, SHRINK, FEWEST = 1.75, 0.01, 0.5, 4  # of the published settings


def in_ball(n, d, radius, rng):
    """Return points that are uniform in a ball."""
    points = rng.standard_normal((n, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points * radius * rng.random((n, 1)) ** (1.0 / d)


def packed(n, d, radius, rng, tries=100):
    """Return points in a ball that are apart; the distance halves until all find a place."""
    apart = radius / 2.0
    while True:
        points, failed = np.empty((n, d)), 0
        found = 0
        while found < n and failed < tries:
            point = in_ball(1, d, radius - apart, rng)[0]
            if found and ((points[:found] - point) ** 2).sum(axis=1).min() < 4.0 * apart**2:
                failed += 1
            else:
                points[found], failed = point, 0
                found += 1
        if found == n:
            return points
        apart /= 2.0


def steps(shape, rng):
    """Return steps of a symmetric heavy-tailed law, by Mantegna's algorithm."""
    ratio = gamma(1 + TAIL) * math.sin(math.pi * TAIL / 2)
    ratio /= gamma((1 + TAIL) / 2) * TAIL * 2 ** ((TAIL - 1) / 2)
    large = ratio ** (1 / TAIL) * rng.standard_normal(shape)
    return large / np.abs(rng.standard_normal(shape)) ** (1 / TAIL)


def pe_means(rows, n_clusters, epsilon, delta, seed):
    """Return the centers of PE-means."""
    rng, (n, d) = np.random.default_rng(seed), rows.shape
    mean = rows.mean(axis=0)
    rows = rows - mean
    radius = float(np.linalg.norm(rows, axis=1).max())
    generations = int(4 * math.sqrt(d))
    generations = int(epsilon * generations) if epsilon > 1 else generations
    noise = math.sqrt(generations) / gaussian_mu(epsilon, delta)
    children = max(n // (5 * n_clusters), FEWEST)
    candidates = packed((children + 1) * n_clusters, d, radius, rng)
    for generation in range(generations):
        votes = np.bincount(cKDTree(candidates).query(rows)[1], minlength=len(candidates))
        votes = votes + noise * rng.standard_normal(len(votes))
        order = np.sort(votes)[::-1]
        enough = np.searchsorted(np.maximum.accumulate(np.cumsum(order)), n)
        least = order[enough] if enough < len(order) else 0.0
        votes = np.where(votes >= max(least, 0.0), votes, 0.0)
        if (votes**2).sum() < len(votes) * noise**2:  # the noise is stronger than the signal
            children = max(int(SHRINK * children), FEWEST)
        fitted = KMeans(n_clusters, n_init=10, random_state=seed)
        centers = fitted.fit(candidates, sample_weight=votes).cluster_centers_
        if generation < generations - 1:
            around = np.repeat(centers, children, axis=0)
            around = around + STEP * radius * steps(around.shape, rng)
            length = np.linalg.norm(around, axis=1, keepdims=True)
            candidates = np.vstack([centers, around * np.minimum(1.0, radius / length)])
    return centers + mean


def fit(method, rows, k, epsilon, bounds, seed):
    """Return the centers of a method."""
    delta = float(f"{len(rows) ** -1.1:.3g}")
    if method == "PE-means":
        return pe_means(rows, k, epsilon, delta, seed)
    ours = PrivateKMeans(
        k, epsilon=epsilon, delta=delta, bounds=bounds, n_hint=len(rows), random_state=seed
    )
    return ours.fit(rows).cluster_centers_


def places(names, data):
    """Yield the name, the number of clusters, the rows and the bounds of every set."""
    for name in names:
        if name in SETS:
            yield name, regimes.SETS[name][1], regimes.load(name), (-1.0, 1.0)
        elif data is not None:
            for k in FROM_FILES[name]:
                yield name, k, quality.load(name, k, data), quality.BOUNDS[name]


def main():
    """Compute what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with us_tracts_2010_pop.csv.gz")
    names = [*SETS, *FROM_FILES]
    parser.add_argument("--sets", nargs="+", default=names, choices=names)
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    done = {tuple(row[key] for key in KEYS) for row in RESULTS.read([])}
    for epsilon in arguments.epsilons:
        for name, k, rows, bounds in places(arguments.sets, arguments.data):
            best = KMeans(k, n_init=10, random_state=0).fit(rows).inertia_ / len(rows)
            for method in ("ours", "PE-means"):
                if (name, k, epsilon, method) in done:
                    continue
                begin = time.process_time()
                found = [fit(method, rows, k, epsilon, bounds, seed) for seed in range(SEEDS)]
                seconds = (time.process_time() - begin) / SEEDS
                ratios = [quality.cost(rows, centers) / best for centers in found]
                row = dict(zip(KEYS, (name, k, epsilon, method), strict=True))
                row |= {"features": rows.shape[1], "n": len(rows)}
                row |= {"ratio": round(float(np.mean(ratios)), 4)}
                row |= {"error": round(float(np.std(ratios, ddof=1) / SEEDS**0.5), 4)}
                RESULTS.merge([row | {"seconds": round(seconds, 2)}], KEYS)
                print(row, flush=True)


if __name__ == "__main__":
    main()
