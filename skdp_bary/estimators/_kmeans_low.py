"""Clustering in one to three dimensions: one hierarchy of counts, then noisy means to polish."""

import math
from dataclasses import replace

import numpy as np

from ..geometry._cell_tree import CellTree
from ..privacy._noise import public_generator
from ..summaries._cluster_sums import ClippedMeans, digits_of
from ..summaries._frames import Frame
from ..summaries._level_counts import LevelCounts
from ..transport._tree import Tree
from ..transport._tree_consistency import make_consistent, project_nonnegative
from ._kmeans_methods import (
    CoarseData,
    KMeansMethod,
    PrivateClusters,
    is_gaussian,
    rescaled,
    total_privacy,
)
from ._shrinkage import shrink_steps
from ._tree_methods import halving_orders
from ._weighted_kmeans import lloyd, nearest, weighted_kmeans

_COUNTS_SHARE = 0.7
_ROUNDS = 2
_DEEPEST = {1: 14, 2: 9, 3: 6}  # halvings of every axis
_MOST_LEVELS = 4
_LEVEL_RATIO = 1.5  # of the shares of two levels that follow each other
_CLIP = 1.5  # radius of a cluster relative to its root mean square distance
_MASS_SHARE = 0.3
_SURE = 2.0  # standard deviations of a cell that relocated centers may go for
_TRIED_CELLS = 64
_RELOCATED_ROUNDS = 2
_FINE_ROUNDS = 2
_SEARCH_CELLS = 4000  # starts are compared on a level of about this many cells


class LowMethod(KMeansMethod):
    """Noisy counts of cells on up to four levels, k-means on them, then noisy means.

    1. *counts*: masses of the cells of nested grids, all at once; consistent and not negative
       after weighted least squares. Weighted k-means on the cells gives centers.
    2. *round_1*, *round_2*: clipped means of the rows about these centers, shrunk by their noise.
    """

    def shares(self, estimator, n_features):
        """Return one step for the counts and one for each round."""
        rounds = _n_rounds(estimator)
        if rounds == 0:
            return {"counts": 1.0}
        share = (1.0 - _COUNTS_SHARE) / rounds
        return {"counts": _COUNTS_SHARE} | {f"round_{i + 1}": share for i in range(rounds)}

    def query(self, estimator, step_name, facts):
        """Return the query of a step."""
        if step_name == "counts":
            return _counts_query(facts)
        frame = Frame(facts.domain, facts.domain.center, digits_of(facts.units).rows)
        centers, squares = _centers_before(estimator, step_name, facts)
        radii = _CLIP * np.sqrt(np.maximum(squares, (4.0 * frame.step) ** 2))
        return ClippedMeans(
            frame,
            centers - frame.center,
            radii,
            (_MASS_SHARE, 1.0),
            not is_gaussian(facts),
            facts.units,
            facts.total_public,
        )

    def finish(self, estimator, facts):
        """Read the last round, or the counts alone."""
        rounds = _n_rounds(estimator)
        coarse = coarse_cells(facts)
        if rounds == 0:
            centers = _search(estimator, facts, coarse)
            masses, squares = _spread(coarse, centers)
            noise = _grid_noise(coarse, centers, masses)
        else:
            centers, noise, masses = read_round(facts, f"round_{rounds}")
        weights = rescaled(masses, float(coarse.masses.sum()))
        return PrivateClusters(centers, weights, np.sqrt(noise), rounds, coarse)


def _n_rounds(estimator):
    return _ROUNDS if estimator.max_iter == "auto" else estimator.max_iter


def _counts_query(facts):
    """Cells as small as the noise of a count allows, on every second level."""
    d = facts.n_features
    sides = math.log2(max(facts.size * total_privacy(facts) / 2.0, 2.0)) / d
    halvings = int(np.clip(round(sides), 2, _DEEPEST[d]))
    chosen = list(range(halvings, 0, -2))[:_MOST_LEVELS][::-1]
    levels = tuple(d * h for h in chosen)
    power = 0.5 if is_gaussian(facts) else 1.0
    scales = tuple(_LEVEL_RATIO ** (power * i) for i in range(len(levels)))[::-1]
    tree = CellTree(facts.domain, levels[-1])
    return LevelCounts(tree, 1, facts.units, facts.mass_public, scales, levels)


def coarse_cells(facts):
    """Return the cells of the finest level, with consistent masses of at least zero."""
    released = facts.released["counts"]
    query = released.query
    orders = halving_orders(query.tree)
    values, variances = [], []
    for block, level, sd in zip(released.values, query.levels, released.noise_sd, strict=True):
        values.append(np.empty(block.size))
        values[-1][orders[level]] = block[0] / facts.units
        variances.append(np.full(block.size, max(sd / facts.units, 1e-9) ** 2))
    branching = tuple(b.size // a.size for a, b in zip(values, values[1:], strict=False))
    tree = Tree(tuple(np.ones(v.size, dtype=bool) for v in values), branching)
    estimates, spreads = make_consistent(tree, values, variances)
    masses = project_nonnegative(tree, estimates)[-1][orders[query.levels[-1]]]
    cells = np.flatnonzero(masses > 0)
    points = query.tree.centroids(query.levels[-1], cells)
    widths = (facts.domain.high - facts.domain.low) / np.array(
        query.tree.full_shape(query.levels[-1]), dtype=float
    )
    sd = math.sqrt(float(spreads[-1][0]))
    return CoarseData(points, masses[cells], sd, float((widths**2).sum() / 12.0))


def _search(estimator, facts, coarse):
    """Return centers of least cost on the cells; the starts are compared on fewer, larger ones."""
    if not len(coarse.points):
        return np.tile(facts.domain.center, (estimator.n_clusters, 1))
    rng = public_generator(estimator.random_state)
    points, masses = _pool(coarse, facts)
    centers = weighted_kmeans(points, masses, estimator.n_clusters, estimator.n_init, rng)
    if len(points) == len(coarse.points):
        return centers
    return lloyd(coarse.points, coarse.masses, centers, rounds=_FINE_ROUNDS)


def _pool(coarse, facts):
    """Return the cells added up over a grid of at most about _SEARCH_CELLS cells."""
    d = facts.n_features
    if len(coarse.points) <= _SEARCH_CELLS:
        return coarse.points, coarse.masses
    side = int(_SEARCH_CELLS ** (1.0 / d)) * 2
    places = (coarse.points - facts.domain.low) / (facts.domain.high - facts.domain.low) * side
    flat = np.ravel_multi_index(tuple(np.clip(places.astype(int), 0, side - 1).T), (side,) * d)
    _, group = np.unique(flat, return_inverse=True)
    masses = np.bincount(group, weights=coarse.masses)
    sums = [np.bincount(group, weights=coarse.masses * x) for x in coarse.points.T]
    return np.stack(sums, axis=1) / masses[:, None], masses


def _centers_before(estimator, step_name, facts):
    """Return centers and mean squared distances from them, from the releases before a round."""
    coarse = coarse_cells(facts)
    number = int(step_name[6:])
    if number == 1:
        centers = _search(estimator, facts, coarse)
    else:
        centers, _, masses = read_round(facts, f"round_{number - 1}")
        if number == 2:
            released = facts.released["round_1"]
            asked = released.query.frame.center + released.query.used_centers
            coarse = _calibrated(coarse, asked, masses)
            centers = _relocated(coarse, centers, wasted=masses <= 0)
    return centers, _spread(coarse, centers)[1]


def _calibrated(coarse, centers, masses):
    """Return the cells with the released masses of the clusters that they belong to.

    Many cells hold nothing but noise, which adds up where it is counted as positive; the mass of a
    whole cluster is one precise number.
    """
    if not len(coarse.points):
        return coarse
    label = nearest(coarse.points, centers)[0]
    counted = np.bincount(label, weights=coarse.masses, minlength=len(centers))
    ratio = np.maximum(masses, 0.0) / np.maximum(counted, 1e-300)
    return replace(coarse, masses=coarse.masses * np.minimum(ratio, 2.0)[label])


def _relocated(coarse, centers, wasted):
    """Return centers of which those spent on noise are moved to where cells gain most."""
    sure = coarse.masses > _SURE * coarse.mass_sd
    if not wasted.any() or wasted.all() or not sure.any():
        return centers
    points, masses = coarse.points[sure], coarse.masses[sure]
    found = centers[~wasted]
    for _ in range(int(wasted.sum())):
        squares = nearest(points, found)[1]
        tried = np.argsort(-masses * squares, kind="stable")[:_TRIED_CELLS]
        gains = [
            masses @ np.maximum(squares - ((points - point) ** 2).sum(axis=1), 0.0)
            for point in points[tried]
        ]
        found = np.vstack([found, points[tried[int(np.argmax(gains))]]])
    return lloyd(coarse.points, coarse.masses, found, rounds=_RELOCATED_ROUNDS)


def _spread(coarse, centers):
    """Return the mass of every cluster of cells, and the mean squared distance from its center."""
    if not len(coarse.points):
        return np.zeros(len(centers)), np.full(len(centers), coarse.within)
    label, squares = nearest(coarse.points, centers)
    masses = np.bincount(label, weights=coarse.masses, minlength=len(centers))
    total = np.bincount(label, weights=coarse.masses * squares, minlength=len(centers))
    overall = total.sum() / max(float(masses.sum()), 1e-300)
    mean = np.where(masses > 0, total / np.maximum(masses, 1e-300), overall)
    return masses, mean + coarse.within


def _grid_noise(coarse, centers, masses):
    """Variance of a coordinate of each center that is due to the noise of the counts."""
    label, squares = nearest(coarse.points, centers) if len(coarse.points) else ([], [])
    total = np.bincount(label, weights=squares, minlength=len(centers)) / centers.shape[1]
    return coarse.mass_sd**2 * total / np.maximum(masses, coarse.mass_sd) ** 2


def read_round(facts, name):
    """Return centers after a round, the variance of a coordinate of each, and their masses."""
    released = facts.released[name]
    query = released.query
    read = query.read(released)
    mass = np.maximum(read.mass, 2.0 * read.mass_sd)
    known = read.mass > 2.0 * read.mass_sd
    noise = (read.sums_sd / mass) ** 2
    steps = shrink_steps(read.sums / mass[:, None], noise, known)
    steps[~known] = 0.0
    centers = facts.domain.clip(query.frame.center + query.used_centers + steps)
    return centers, noise, read.mass
