"""Counts on cells that get smaller, look by look, where the looks before found rows."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from ...geometry._nested_cells import STRETCH, NestedCells
from ...privacy.noise.mechanisms import RoundedGaussian
from ...summaries.trees.disjoint_counts import DisjointCounts
from ...summaries.trees.divisions import NestedDivision
from .._clusters.methods import WeightedPoints, is_gaussian
from .._clusters.tuning import TUNED
from .._denoise.nested import least_squares, nonnegative

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
