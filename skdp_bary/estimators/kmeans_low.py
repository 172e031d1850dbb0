"""Clustering in one to three dimensions: counts of cells where rows are, and k-means on them."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from ..geometry.cells import STRETCH, NestedCells
from ..queries.cells import DisjointCounts, NestedDivision
from .clustering import TUNED, KMeansMethod, PrivateClusters, WeightedPoints, count_sd, rescaled
from .noisy_means import few_on_line, lloyd, nearest
from .noisy_trees import least_squares, nonnegative


class LowMethod(KMeansMethod):
    """Noisy counts of cells, and k-means on them.

    *look_1* to *look_4*: masses of ever finer cells where the looks before found rows; consistent
    and not negative after weighted least squares. Weighted k-means on the cells gives centers.
    """

    def shares(self, estimator, n_features):
        """Return the looks, in order, and their shares."""
        if estimator.max_iter != "auto":
            raise ValueError(
                f'max_iter must be "auto" with at most three features, got {estimator.max_iter}: '
                "private iterations cost accuracy there. Leave max_iter out."
            )
        return {_name(i): share for i, share in enumerate(TUNED.look_shares)}

    def questions(self, estimator, facts):
        """Ask for counts on ever finer cells, and return the best centers of their points.

        The first look counts the cells of a grid. Before each further look, cells that hold more
        than the noise of all looks so far are cut, the more often the more they hold; all others
        are asked again as they are. So the number of cells follows the noisy masses, and wide
        bounds cost little.
        """
        # a grid with about one cell for so many people as stand out of the noise
        d = facts.n_features
        signal = facts.size * math.sqrt(2.0) / count_sd(facts, _name(0))
        beside = math.log2(STRETCH) if d > 1 else 0.0  # where no row is; a line loses little there
        level = round(math.log2(max(signal / _scales(d)[0], 2.0)) / d + beside)
        most = TUNED.first_halvings[d - 1]
        depth = TUNED.look_depth[d - 1]
        cells = NestedCells.grid(facts.domain, depth, int(np.clip(level, 2, most)))
        parents, values, variances = [], [], []
        for i in range(len(TUNED.look_shares)):
            if i:
                estimates, spread = least_squares(parents, values, variances)
                masses = nonnegative(parents, estimates)[-1]
                scale = _scales(d)[i] * count_sd(facts, _name(i)) / math.sqrt(2.0)
                scale = max(scale, masses.sum() / TUNED.most_cells)
                halvings = np.rint(np.log2(np.maximum(masses / scale, 1.0)) / d).astype(np.int64)
                halvings = np.minimum(halvings, TUNED.most_halvings[d - 1])
                # at first: parts of a far cell of nothing but noise hide that it is empty
                sds = sure_sds(len(masses), TUNED.false_cut) if i == 1 else 0.0
                enough = max(TUNED.cut_sds, sds) * np.sqrt(spread[-1])
                cells = cells.cut(np.where(masses > enough, halvings, 0))
                parents.append(cells.parents)
            released = yield _name(i), DisjointCounts(NestedDivision(cells), facts.units)
            sd = max(released.noise_sd[0] / facts.units, _EXACT)
            values.append(np.where(cells.outside, 0.0, released.values[0] / facts.units))
            variances.append(np.where(cells.outside, _EXACT**2, sd**2))  # no row can be there
        quantile = _normal_sds if released.mechanism.is_gaussian else sure_sds
        coarse, total = _points(cells, parents, values, variances, sd, quantile)
        centers = search(estimator, facts.domain, coarse)
        centers, coarse = without_far_noise(estimator, facts.domain, coarse, centers)
        masses, noise = coarse.masses_about(centers)
        found = centers, rescaled(masses, total), np.sqrt(noise)
        return PrivateClusters(*found, len(TUNED.look_shares), coarse)


def search(estimator, domain, coarse):
    """Return centers of least cost on weighted points; starts are compared on fewer, larger ones.

    Parameters
    ----------
    estimator : PrivateKMeans
    domain : Box, Ball or Mask
    coarse : WeightedPoints
    """
    if not len(coarse.points):
        return np.tile(domain.center, (estimator.n_clusters, 1))
    if not coarse.masses.any():  # all may be noise, so the points count alike
        coarse = replace(coarse, masses=np.ones(len(coarse.points)))
    pooled = coarse if few_on_line(coarse.points, estimator.n_clusters) else _pool(coarse)
    centers = pooled.best_centers(estimator.n_clusters, estimator.n_init, estimator.random_state)
    if pooled is not coarse:  # which adds up tails, where many rounds are needed
        centers = lloyd(coarse.points, coarse.masses, centers, rounds=_FINE_ROUNDS)
    return domain.clip(centers)


def without_far_noise(estimator, domain, coarse, centers):
    """Return centers found again without far cells of too little mass, and the cells left.

    A little noise far from all rows costs more than a cluster, and draws a center to it. Clusters
    whose mass does not stand out of the noise of their cells are left out where they are far from
    those that do, relative to how far all cells lie apart, and only a little mass is lost. Where
    clusters are seen well, one that is not seen has next to no mass, and needs not be as far.

    Parameters
    ----------
    estimator : PrivateKMeans
    domain : Box, Ball or Mask
    coarse : WeightedPoints
    centers : ndarray of shape (n_clusters, n_features)
        Of least cost on `coarse`.
    """
    least = (1.0 - TUNED.far_mass) * float(coarse.masses.sum())
    for _ in range(_SEARCHES):
        kept = _near_or_sure(coarse, centers, least)
        if kept.all():
            break
        coarse = coarse.only(kept)
        centers = search(estimator, domain, coarse)
    return centers, coarse


def _near_or_sure(coarse, centers, least):
    """Cells that stay, of at least the given mass together."""
    label = nearest(coarse.points, centers)[0]
    masses, cells = (np.bincount(label, x, len(centers)) for x in (coarse.masses, None))
    sds = TUNED.far_sds[coarse.points.shape[1] - 1]
    alone = sure_sds(len(label), TUNED.false_sure) / TUNED.far_sds[-1]  # the largest of all cells
    sure = masses > sds * coarse.mass_sd * np.maximum(np.sqrt(cells), alone)
    if not sure.any():
        return np.ones(len(label), dtype=bool)
    total = float(coarse.masses.sum())
    middle = coarse.masses @ coarse.points / total
    square = float(coarse.masses @ ((coarse.points - middle) ** 2).sum(axis=1)) / total
    squares = nearest(coarse.points, centers[sure])[1]
    reach = np.bincount(label, coarse.masses * squares, len(centers)) / np.maximum(masses, 1e-300)
    light = masses * len(centers) / (TUNED.far_share * total)
    far = np.flatnonzero(~sure & (reach > TUNED.far_reach * square * np.minimum(light, 1.0) ** 2))
    # of every cluster the one that it counts with: far ones in one place are one group
    head, free = np.arange(len(centers)), far[np.argsort(-masses[far], kind="stable")]
    while len(free):
        own = ((centers[free] - centers[free[0]]) ** 2).sum(axis=1) <= reach[free[0]] / 4.0
        head[free[own]] = free[0]
        free = free[~own]
    together = coarse.stand_out(head[label], np.bincount(head, masses, len(centers)))
    far = far[~together[head[far]]]
    far = far[np.argsort(-reach[far], kind="stable")]
    lost = far[np.cumsum(masses[far]) <= total - least]
    return ~np.isin(label, lost)


def _pool(coarse):
    """Return the cells added up over a grid of at most about as many cells as are searched."""
    if len(coarse.points) <= _SEARCH_CELLS:
        return coarse
    d = coarse.points.shape[1]
    side = int(_SEARCH_CELLS ** (1.0 / d)) * 2
    low, high = coarse.points.min(axis=0), coarse.points.max(axis=0)
    places = (coarse.points - low) / np.maximum(high - low, 1e-300) * side
    flat = np.ravel_multi_index(tuple(np.clip(places.astype(int), 0, side - 1).T), (side,) * d)
    _, group = np.unique(flat, return_inverse=True)
    masses = np.bincount(group, weights=coarse.masses)
    sums = [np.bincount(group, weights=coarse.masses * x) for x in coarse.points.T]
    held = masses > 0.0  # a mean of nothing is no point
    points = np.stack(sums, axis=1)[held] / masses[held, None]
    return replace(coarse, points=points, masses=masses[held])


# Counts on cells that get smaller, look by look, where the looks before found rows.

_SEARCHES = 8  # again without what was left out, at most: time
_SEARCH_CELLS = 4000  # on which starts are compared: time
_FINE_ROUNDS = 30  # of Lloyd's algorithm on all cells; fewer and more cost the same
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
        """Whether clusters of points hold more than noise, by the most precise pass for each.

        Few large cells are known better than all of their parts: cells of one cluster alone count
        as a whole, the others by their parts. Noise rarely comes to a share of the rows, so what
        holds that share needs fewer deviations than the largest of all empty cells has.
        """
        found = np.zeros(len(masses), dtype=bool)
        parts, enough = self.seen[-1][1], TUNED.group_share * float(self.masses.sum())
        for cell, variance, sds in self.seen:
            _, first, place = np.unique(cell, return_index=True, return_inverse=True)
            whole = np.bincount(place, label != label[first][place]) == 0
            own, split = first[whole], ~whole[place]
            counted = np.r_[label[own], label[split]], np.r_[variance[own], parts[split]]
            square = np.bincount(*counted, len(masses))
            needed = np.where(masses > enough, min(sds, TUNED.group_sds), sds)
            found |= (square > 0) & (masses > needed * np.sqrt(square))
        return found


def _name(i):
    return f"look_{i + 1}"


def _scales(d):
    """Mass that a cell of each pass should hold, by the number of dimensions."""
    return TUNED.line_scales if d == 1 else TUNED.look_scales


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
    doubts = [TUNED.kept_sds**2 * v for v in spread]
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
