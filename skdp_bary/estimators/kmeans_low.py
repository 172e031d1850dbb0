"""Clustering in one to three dimensions: counts where rows are, then noisy means."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from ..geometry.cells import STRETCH, CellTree, NestedCells
from ..privacy.mechanisms import RoundedGaussian
from ..queries.cells import DisjointCounts, LevelCounts, NestedDivision
from ..queries.clusters import ClippedMeans, digits_of
from ..queries.frames import Frame
from ..transport.tree_fits import make_consistent, project_nonnegative
from ..transport.trees import Tree
from .clustering import (
    TUNED,
    KMeansMethod,
    PrivateClusters,
    WeightedPoints,
    about_clusters,
    is_gaussian,
    rescaled,
    total_privacy,
)
from .noisy_means import few_on_line, lloyd, nearest, read_means
from .noisy_trees import halving_orders, least_squares, nonnegative

# Clustering in one to three dimensions: one hierarchy of counts, then noisy means to polish.


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


# Counts on cells that get smaller, look by look, where the looks before found rows.

_EXACT = 1e-9  # standard deviation, in persons, of what is known


@dataclass(frozen=True, eq=False)
class SeenPoints(WeightedPoints):
    """Cells of the last look, and how well every look and all others together know their masses.

    Attributes
    ----------
    seen : list of tuple
        For each look the cell that every point is in, the variance of the mass of that cell, and
        how many standard deviations tell a cell from all empty ones.
    """

    seen: list

    def only(self, kept):
        """Return some of the points."""
        seen = [(cell[kept], variance[kept], sds) for cell, variance, sds in self.seen]
        return replace(super().only(kept), seen=seen)

    def stand_out(self, label, masses):
        """Return which clusters of points hold more than noise, by the look that knows them best.

        Few large cells are known better than all of their parts: cells of one cluster alone count
        as a whole, the others by their parts.
        """
        found = np.zeros(len(masses), dtype=bool)
        parts = self.seen[-1][1]
        for cell, variance, sds in self.seen:
            _, first, place = np.unique(cell, return_index=True, return_inverse=True)
            whole = np.bincount(place, label != label[first][place]) == 0
            own, split = first[whole], ~whole[place]
            counted = np.r_[label[own], label[split]], np.r_[variance[own], parts[split]]
            square = np.bincount(*counted, len(masses))
            found |= (square > 0) & (masses > sds * np.sqrt(square))
        return found


def look_shares():
    """Return the steps, in order, and their shares."""
    return {_name(i): share for i, share in enumerate(TUNED.look_shares)}


def ask_looks(setting, facts):
    """Ask for counts on ever finer cells; return WeightedPoints and the mass of all rows.

    The first look counts the cells of a grid. Before each further look, cells that hold more than
    the noise of all looks so far are cut, the more often the more they hold; all others are asked
    again as they are. So the number of cells follows the noisy masses, and wide bounds cost little.
    """
    cells = _first_cells(facts)
    parents, values, variances = [], [], []
    for i in range(len(TUNED.look_shares)):
        if i:
            masses, spread = _masses(parents, values, variances)
            cells = cells.cut(_cuts(setting, facts, i, masses, spread))
            parents.append(cells.parents)
        released = yield _name(i), DisjointCounts(NestedDivision(cells), facts.units)
        sd = max(released.noise_sd[0] / facts.units, _EXACT)
        values.append(np.where(cells.outside, 0.0, released.values[0] / facts.units))
        variances.append(np.where(cells.outside, _EXACT**2, sd**2))  # no row can be there
    quantile = _normal_sds if is_gaussian(facts) else sure_sds
    return _points(cells, parents, values, variances, sd, quantile)


def _name(i):
    return f"look_{i + 1}"


def _first_cells(facts):
    """Return a grid with about one cell for so many persons as stand out of the noise."""
    d = facts.n_features
    signal = facts.size * math.sqrt(2.0) / _sd(facts, 0)
    beside = math.log2(STRETCH) if d > 1 else 0.0  # where no row is; a line loses little there
    level = round(math.log2(max(signal / _scales(d)[0], 2.0)) / d + beside)
    most = TUNED.first_halvings[d - 1]
    depth = TUNED.look_depth[d - 1]
    return NestedCells.grid(facts.domain, depth, int(np.clip(level, 2, most)))


def _scales(d):
    """Return what a cell of each look should hold, in so many dimensions."""
    return TUNED.line_scales if d == 1 else TUNED.look_scales


def _sd(facts, i):
    """Return the standard deviation of the noise of a count in a look, in persons."""
    mechanism = facts.mechanisms[_name(i)]
    changed = 1.0 if facts.relation == "add_remove" else 2.0
    if isinstance(mechanism, RoundedGaussian):
        return math.sqrt(changed) / mechanism.mu
    return math.sqrt(2.0) * changed / mechanism.epsilon


def _masses(parents, values, variances):
    """Return the masses of the cells of the last look, and the variances of their estimates."""
    estimates, spread = least_squares(parents, values, variances)
    return nonnegative(parents, estimates)[-1], spread[-1]


def _cuts(setting, facts, i, masses, spread):
    """Return how often to halve the axes of each cell before look `i`."""
    d = facts.n_features
    scale = _scales(d)[i] * _sd(facts, i) / math.sqrt(2.0)
    most = TUNED.most_cells + TUNED.cells_a_cluster * setting.n_clusters
    scale = max(scale, masses.sum() / most)
    cuts = np.rint(np.log2(np.maximum(masses / scale, 1.0)) / d).astype(np.int64)
    cuts = np.minimum(cuts, TUNED.most_halvings[d - 1])
    sds = TUNED.cut_sds
    if i == 1:  # parts of a far cell of nothing but noise hide that it is empty
        sds = max(sds, sure_sds(len(masses), TUNED.false_cut))
    return np.where(masses > sds * np.sqrt(spread), cuts, 0)


def sure_sds(n_cells, wrong):
    """Return above how many standard deviations of Laplace noise so many empty cells are thought.

    Parameters
    ----------
    n_cells : int
    wrong : float
        Empty cells that are expected above that.
    """
    return math.log(max(n_cells / (2.0 * wrong), 1.0)) / math.sqrt(2.0)


def _normal_sds(n_cells, wrong):
    """Return the same of Gaussian noise as `sure_sds`."""
    return -float(ndtri(min(wrong / n_cells, 0.5)))


def _points(cells, parents, values, variances, sd, quantile):
    """Return the cells of the last look as WeightedPoints, and the mass of all.

    Cells that hold so little that some of as many empty ones would be thought to hold it are not
    alive: their parts keep nothing, unless all such parts of a cell hold enough together.
    """
    estimates, spread = least_squares(parents, values, variances)
    least = [max(TUNED.alive_sds, quantile(len(z), TUNED.false_alive)) for z in estimates]
    alive = [x * np.sqrt(v) < z for x, v, z in zip(least, spread, estimates, strict=True)]
    alive[-1] = ~cells.outside  # whose own noise is large, and adds up to what the others say
    doubts = [TUNED.rest_sds**2 * v for v in spread]
    masses = nonnegative(parents, estimates, alive, doubts)[-1]
    held = np.flatnonzero((masses > 0) & ~cells.outside)
    within = (cells.widths[held] ** 2).sum(axis=1) / 12.0
    within = float(masses[held] @ within) / max(float(masses.sum()), 1e-300)
    seen, cell = [], held
    for parent, v in zip([None, *parents][::-1], spread[::-1], strict=True):
        seen.insert(0, (cell, v[cell], quantile(len(v), TUNED.false_sure)))
        cell = cell if parent is None else parent[cell]
    points = SeenPoints(cells.middles[held], masses[held], sd, within, seen)
    return points, float(masses.sum())
