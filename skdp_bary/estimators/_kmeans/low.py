"""Clustering in one to three dimensions: one hierarchy of counts, then noisy means to polish."""

import math
from dataclasses import replace

import numpy as np

from ...geometry._cell_tree import CellTree
from ...summaries.clusters.cluster_sums import ClippedMeans, digits_of
from ...summaries.moments.frames import Frame
from ...summaries.trees.level_counts import LevelCounts
from ...transport._tree.consistency import make_consistent, project_nonnegative
from ...transport._tree.nodes import Tree
from .._clusters.methods import (
    KMeansMethod,
    PrivateClusters,
    WeightedPoints,
    about_clusters,
    is_gaussian,
    rescaled,
    total_privacy,
)
from .._clusters.tuning import TUNED
from .._denoise.shrinkage import read_means
from .._denoise.trees import halving_orders
from .._denoise.weighted_kmeans import few_on_line, lloyd, nearest
from .looks import ask_looks, look_shares, sure_sds


class LowMethod(KMeansMethod):
    """Noisy counts of cells, and k-means on them.

    1. *look_1* to *look_4*: masses of ever finer cells where the looks before found rows;
       consistent and not negative after weighted least squares. Weighted k-means on the cells
       gives centers.

    With a number of rounds as `max_iter`:

    1. *counts*: masses of the cells of nested grids, on up to four levels, all at once.
    2. *round_1*, ...: clipped means of the rows about these centers, shrunk by their noise.
    """

    rounds = 0  # for "auto"

    def shares(self, setting):
        """Return the looks, or one step for the counts and one for each round."""
        if setting.max_iter == "auto":
            return look_shares()
        rounds = setting.max_iter
        if rounds == 0:
            return {"counts": 1.0}
        share = (1.0 - TUNED.counts_share) / rounds
        return {"counts": TUNED.counts_share} | {f"round_{i + 1}": share for i in range(rounds)}

    def questions(self, setting, facts):
        """Ask for points that stand for the rows, then for means about the best centers there."""
        frame = Frame(facts.domain, facts.domain.center, digits_of(facts.units).rows)
        coarse, total = yield from self.coarse(setting, facts, frame)
        centers, points = search(setting, facts.domain, coarse), coarse
        rounds = setting.rounds(self.rounds)
        if rounds == 0:
            centers, coarse = without_far_noise(setting, facts.domain, coarse, centers)
            masses, noise = coarse.masses_about(centers)
        for i in range(rounds):
            squares = np.maximum(points.spread_about(centers), (4.0 * frame.step) ** 2)
            radii, places = TUNED.low_radius * np.sqrt(squares), centers - frame.center
            shares = (TUNED.low_mass, 1.0)
            query = about_clusters(ClippedMeans, facts, frame, places, radii, shares)
            means = read_means((yield f"round_{i + 1}", query))
            asked, masses, noise = frame.center + means.asked, means.read.mass, means.noise
            centers = facts.domain.clip(asked + means.shrunk())
            if i == 0 and rounds > 1:
                points, centers = self.revised(points, asked, centers, masses)
        n_iter = rounds if rounds or setting.max_iter == 0 else len(look_shares())
        return PrivateClusters(centers, rescaled(masses, total), np.sqrt(noise), n_iter, coarse)

    def coarse(self, setting, facts, frame):
        """Ask for counts, and return the WeightedPoints of their cells and the mass of all rows."""
        if setting.max_iter == "auto":
            return (yield from ask_looks(setting, facts))
        query = _level_counts(facts)
        cells = _consistent_cells(facts, query, (yield "counts", query))
        return cells, float(cells.masses.sum())

    def revised(self, coarse, asked, centers, masses):
        """Return what a first round about the `asked` centers says of the cells and the centers."""
        coarse = _calibrated(coarse, asked, masses)
        return coarse, _relocated(coarse, centers, wasted=masses <= 0)


def _level_counts(facts):
    """Cells as small as the noise of a count allows, on every second level."""
    d = facts.n_features
    sides = math.log2(max(facts.size * total_privacy(facts) / 2.0, 2.0)) / d
    halvings = int(np.clip(round(sides), 2, TUNED.deepest[d - 1]))
    chosen = list(range(halvings, 0, -2))[: TUNED.most_levels][::-1]
    levels = tuple(d * h for h in chosen)
    power = 0.5 if is_gaussian(facts) else 1.0
    scales = tuple(TUNED.level_ratio ** (power * i) for i in range(len(levels)))[::-1]
    tree = CellTree(facts.domain, levels[-1])
    return LevelCounts(tree, 1, facts.units, facts.mass_public, scales, levels)


def _consistent_cells(facts, query, released):
    """Return the cells of the finest level, with consistent masses of at least zero."""
    orders = halving_orders(query.tree)
    values, variances = [], []
    for block, level, sd in zip(released.values, query.levels, released.noise_sd, strict=True):
        values.append(np.empty(block.size))
        values[-1][orders[level]] = block[0] / facts.units
        variances.append(np.full(block.size, max(sd / facts.units, 1e-9) ** 2))
    branching = tuple(b.size // a.size for a, b in zip(values, values[1:], strict=False))
    tree = Tree(tuple(np.ones(v.size, dtype=bool) for v in values), branching)
    estimates, spreads = make_consistent(tree, values, variances)
    finest = query.levels[-1]
    masses = project_nonnegative(tree, estimates)[-1][orders[finest]]
    cells = np.flatnonzero(masses > 0)
    points = query.tree.centroids(finest, cells)
    sides = np.array(query.tree.full_shape(finest), dtype=float)
    widths = (facts.domain.high - facts.domain.low) / sides
    sd = math.sqrt(float(spreads[-1][0]))
    return WeightedPoints(points, masses[cells], sd, float((widths**2).sum() / 12.0))


def search(setting, domain, coarse):
    """Return centers of least cost on weighted points; starts are compared on fewer, larger ones.

    Parameters
    ----------
    setting : KMeansSetting
    domain : Box, Ball or Mask
    coarse : WeightedPoints
    """
    if not len(coarse.points):
        return np.tile(domain.center, (setting.n_clusters, 1))
    pooled = coarse if few_on_line(coarse.points, setting.n_clusters) else _pool(coarse)
    centers = pooled.best_centers(setting.n_clusters, setting.n_init, setting.random_state)
    if pooled is not coarse:  # which adds up tails, where many rounds are needed
        least, most = TUNED.fine_rounds
        rounds = TUNED.fine_distances // (len(coarse.points) * len(centers))
        rounds = min(max(rounds, least), most)
        centers = lloyd(coarse.points, coarse.masses, centers, rounds=rounds)
    return domain.clip(centers)


def without_far_noise(setting, domain, coarse, centers):
    """Return centers found again without far cells of too little mass, and the cells left.

    A little noise far from all rows costs more than a cluster, and draws a center to it. Clusters
    whose mass does not stand out of the noise of their cells are left out where they are far from
    those that do, relative to how far all cells lie apart, and only a little mass is lost. Where
    clusters are seen well, one that is not seen has next to no mass, and needs not be as far.

    Parameters
    ----------
    setting : KMeansSetting
    domain : Box, Ball or Mask
    coarse : WeightedPoints
    centers : ndarray of shape (n_clusters, n_features)
        Of least cost on `coarse`.
    """
    least = (1.0 - TUNED.far_mass) * float(coarse.masses.sum())
    for _ in range(TUNED.far_searches):
        kept = _near_or_sure(coarse, centers, least)
        if kept.all():
            break
        coarse = coarse.only(kept)
        centers = search(setting, domain, coarse)
    return centers, coarse


def _near_or_sure(coarse, centers, least):
    """Return which cells stay, of at least so much mass together."""
    label = nearest(coarse.points, centers)[0]
    masses, cells = (np.bincount(label, x, len(centers)) for x in (coarse.masses, None))
    sds = TUNED.far_sds[coarse.points.shape[1] - 1]
    alone = sure_sds(len(label), TUNED.false_sure) / TUNED.far_sds[-1]  # the largest of all cells
    sure = masses > sds * coarse.mass_sd * np.maximum(np.sqrt(cells), alone)
    if not sure.any():
        return np.ones(len(label), dtype=bool)
    square = _spread(coarse.points, coarse.masses)
    squares = nearest(coarse.points, centers[sure])[1]
    reach = np.bincount(label, coarse.masses * squares, len(centers)) / np.maximum(masses, 1e-300)
    light = masses * len(centers) / (TUNED.far_share * coarse.masses.sum())
    far = np.flatnonzero(~sure & (reach > TUNED.far_reach * square * np.minimum(light, 1.0) ** 2))
    head = _heads(centers, reach, masses, far)
    together = coarse.stand_out(head[label], np.bincount(head, masses, len(centers)))
    far = far[~together[head[far]]]
    far = far[np.argsort(-reach[far], kind="stable")]
    lost = far[np.cumsum(masses[far]) <= coarse.masses.sum() - least]
    return ~np.isin(label, lost)


def _heads(centers, reach, masses, far):
    """Return of every cluster the one that it counts with: far ones in one place are one group."""
    head, free = np.arange(len(centers)), far[np.argsort(-masses[far], kind="stable")]
    while len(free):
        own = ((centers[free] - centers[free[0]]) ** 2).sum(axis=1) <= reach[free[0]] / 4.0
        head[free[own]] = free[0]
        free = free[~own]
    return head


def _spread(points, masses):
    """Return the mean squared distance of weighted points from their mean."""
    total = float(masses.sum())
    return float(masses @ ((points - masses @ points / total) ** 2).sum(axis=1)) / total


def _central_box(coarse):
    """Return the corners of a box of all mass but little, along every axis."""
    ends = []
    for values in coarse.points.T:
        order = np.argsort(values)
        below = np.cumsum(coarse.masses[order]) / coarse.masses.sum()
        first, last = np.searchsorted(below, (TUNED.beside, 1.0 - TUNED.beside))
        ends.append(values[order][[first, min(last, len(order) - 1)]])
    return np.array(ends).T


def _pool(coarse):
    """Return the cells added up over a grid of at most about as many cells as are searched."""
    if len(coarse.points) <= TUNED.search_cells:
        return coarse
    d = coarse.points.shape[1]
    side = int(TUNED.search_cells ** (1.0 / d)) * 2
    low, high = _central_box(coarse)
    places = (coarse.points - low) / np.maximum(high - low, 1e-300) * side
    flat = np.ravel_multi_index(tuple(np.clip(places.astype(int), 0, side - 1).T), (side,) * d)
    _, group = np.unique(flat, return_inverse=True)
    masses = np.bincount(group, weights=coarse.masses)
    sums = [np.bincount(group, weights=coarse.masses * x) for x in coarse.points.T]
    return replace(coarse, points=np.stack(sums, axis=1) / masses[:, None], masses=masses)


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
    sure = coarse.masses > TUNED.sure_sds * coarse.mass_sd
    if not wasted.any() or wasted.all() or not sure.any():
        return centers
    points, masses = coarse.points[sure], coarse.masses[sure]
    found = centers[~wasted]
    for _ in range(int(wasted.sum())):
        squares = nearest(points, found)[1]
        tried = np.argsort(-masses * squares, kind="stable")[: TUNED.tried_cells]
        gains = [
            masses @ np.maximum(squares - ((points - point) ** 2).sum(axis=1), 0.0)
            for point in points[tried]
        ]
        found = np.vstack([found, points[tried[int(np.argmax(gains))]]])
    return lloyd(coarse.points, coarse.masses, found, rounds=TUNED.relocated_rounds)
