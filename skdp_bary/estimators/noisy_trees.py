"""Ways to measure a tree of cells, and masses made of noisy counts."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..queries.cells import HaarDifferences, LevelCounts
from ..transport.tree_fits import rebuild_masses
from .noisy_means import TREES

# Ways to measure a tree of cells: which numbers are released, and how masses are made of them.


class HaarMethod:
    """Noisy differences of halves, each drawn towards what a public prior expects.

    The best exponent for a bound on the p-th power of the Wasserstein error is ``(1 - p/d) / 2``.
    For p = 1, equal noise on all levels measured better once splits are drawn to a prior.

    Parameters
    ----------
    power : float or None, default=None
        The power p of the Wasserstein distance that matters; deeper levels then get less noise, by
        two thirds of the exponent above. None: equal noise on all levels.
    """

    query_class = HaarDifferences

    def __init__(self, power=None):
        self.power = power

    def level_scales(self, n_features, depth):
        """Return equal scales, or scales that shrink by ``2**((1 - p/d) / 3)`` a level."""
        exponent = 0.0 if self.power is None else (1.0 - self.power / n_features) / 3.0
        return 2.0 ** (-np.arange(depth) * exponent)

    def query(self, tree, n_classes, units, total_public):
        """Return the query of this method."""
        scales = np.asarray(self.level_scales(tree.domain.n_features, tree.depth), dtype=float)
        loss = (1.0 / scales).sum() if tree.depth else 1.0
        total_scale = (1.0 - TREES.total_share) / (TREES.total_share * loss)
        weights = (total_scale, *scales.tolist())
        return self.query_class(tree, n_classes, units, total_public, weights)

    def masses(self, tree, blocks, noise_sd):
        """Return the masses of the cells of every level, from one class's noisy blocks.

        Parameters
        ----------
        tree : CellTree
        blocks : list of ndarray
            The noisy total, then one array per level, in people.
        noise_sd : list of float
            Standard deviation of the noise of each block, in people.
        """
        return rebuild_masses(tree, blocks[0][0], blocks[1:], noise_sd[1:], tree.prior)

    def split_noise(self, tree, noise_sd):
        """Return the standard deviation of what is known of the splits of each level."""
        return noise_sd[1:]

    def depth(self, signal, finest):
        """Number of halvings that are worth their noise, not rounded.

        Parameters
        ----------
        signal : float
            Logarithm to base 2 of the people in a distribution times epsilon.
        finest : float
            Halvings after which cells of even masses are small next to what is asked of them.
        """
        return min(signal - 3.0, finest)


class BlockCountsMethod:
    """Noisy counts on every few levels; differences of halves are read inside the blocks between.

    Pure noise costs what its levels add up to, so few levels have much less noise each. A
    difference of halves some levels above the counts is one of sums of independent counts: its
    noise variance doubles with every level, which is the price. The depth was chosen on the US and
    on a generated population, with 48 atoms and epsilon times people from 4000 to 200000, and for
    fewer on mixtures in two to four dimensions.

    Parameters
    ----------
    step : int
        Levels between two levels of counts, about.
    """

    def __init__(self, step):
        self.step = step

    def levels(self, depth):
        """Return the levels of counts: evenly spaced, the last one the depth."""
        blocks = max(1, round(depth / self.step))
        return tuple(math.ceil(depth * (block + 1) / blocks) for block in range(blocks))

    def depth(self, signal, finest):
        """Return more halvings than differences afford where the signal is strong."""
        return min(max(signal - 3.0, 1.5 * signal - 8.6), finest + 2.0)

    def query(self, tree, n_classes, units, total_public):
        """Return the query: a total that no one can change is free, another one is not asked."""
        levels = self.levels(tree.depth)
        levels = (0, *levels) if total_public and tree.depth else levels
        weights = (1.0,) * len(levels)
        return LevelCounts(tree, n_classes, units, total_public, weights, levels=levels)

    def masses(self, tree, blocks, noise_sd):
        """Return the masses rebuilt from the root down."""
        differences, top = [], 0
        for low, sums in self._counted(tree, blocks):
            for level in reversed(range(top, low)):
                first, second = tree.halves(sums, level)
                differences.insert(top, first - second)  # from the counts up: before those below
                sums = first + second
            top = low
        noise_sd = self.split_noise(tree, noise_sd)
        return rebuild_masses(tree, blocks[0].sum(), differences, noise_sd, tree.prior)

    def split_noise(self, tree, noise_sd):
        """Return the standard deviations of sums of the counts below."""
        split_sd = []
        for low, sd in self._counted(tree, noise_sd):
            split_sd.extend(sd * 2.0 ** ((low - level) / 2) for level in range(len(split_sd), low))
        return split_sd

    def _counted(self, tree, blocks):
        """Pair the levels of counts with their entries; an exact total comes before them."""
        levels = self.levels(tree.depth)
        return zip(levels, blocks[-len(levels) :], strict=True)


def cell_support(tree, cells):
    """Return one point of the domain for each cell of a partition."""
    support = np.empty((len(cells.mass), tree.domain.n_features))
    for level, rows, index in by_level(cells.level, cells.index):
        tree.centroids(level, index, out=support[rows])
    return support


def by_level(levels, index):
    """Yield each of the sorted `levels`, the slice of its cells and their indices."""
    changes = np.flatnonzero(levels[1:] != levels[:-1]) + 1
    for start, end in pairwise((0, *changes.tolist(), len(levels))):
        yield int(levels[start]), slice(start, end), index[start:end]


# Noisy counts of cells that were cut in several looks: least squares, and masses that add up.


def least_squares(parents, values, variances):
    """Return the best estimate of every cell's mass from all looks, and its variance.

    Exact for independent noise: one pass from the last look to the first, one back.
    """
    values, variances, sums = list(values), list(variances), [None] * len(parents)
    for i in reversed(range(len(parents))):
        n_cells = len(values[i])
        below = np.bincount(parents[i], values[i + 1], n_cells)
        noise = np.bincount(parents[i], variances[i + 1], n_cells)
        sums[i] = below, noise
        own = variances[i] / (variances[i] + noise)
        values[i] = values[i] + own * (below - values[i])
        variances[i] = own * noise
    for i, parent in enumerate(parents):
        below, noise = sums[i]
        share = variances[i + 1] / noise[parent]
        values[i + 1] = values[i + 1] + share * (values[i] - below)[parent]
        left = variances[i + 1] * (1.0 - share)
        variances[i + 1] = left + share**2 * variances[i][parent]
    return values, variances


def nonnegative(parents, estimates, alive=None, doubts=None):
    """Return masses of at least zero that add up, the nearest ones from the first look down.

    Parameters
    ----------
    parents : list of ndarray
    estimates : list of ndarray
    alive : list of ndarray of bool, default=None
        The other parts of a cell count together. They share what they hold where it is beyond
        doubt, or no part is alive; else those that are alive get it. In the first look no one does:
        the few that are alive would get the noise of all.
    doubts : list of ndarray, default=None
        Squares of what a cell that is not alive may hold of noise; they add up.
    """
    if alive is None:
        alive = [np.ones(len(values), dtype=bool) for values in estimates]
        doubts = [np.zeros(len(values)) for values in estimates]
    masses, parents = [], [np.zeros(len(estimates[0]), dtype=np.int64), *parents]
    for parent, values, lives, doubt in zip(parents, estimates, alive, doubts, strict=True):
        group, n_groups = 2 * parent + lives, 2 * (parent[-1] + 1)
        rest, held = np.bincount(group, values, n_groups).reshape(-1, 2).T
        none = np.bincount(parent, lives) == 0
        sure = none | (rest > np.sqrt(np.bincount(group, doubt, n_groups)[::2]))
        rest = np.where(sure, rest, 0.0)
        whole = masses[-1] if masses else np.maximum(rest + held, 0.0)
        rest = np.where(none, whole, np.clip(rest, 0.0, whole))
        masses.append(_divided(values, group, np.stack([rest, whole - rest], axis=1).ravel()))
    return masses


def _divided(values, group, totals):
    """Project the values of every group onto the non-negative vectors of the group's total."""
    # the nearest point of a simplex is a shift and a cut at zero (Held, Wolfe and Crowder, 1974)
    order = np.lexsort((-values, group))
    ordered, group = values[order], group[order]
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    sizes = np.diff(np.r_[starts, len(group)])
    first = np.repeat(np.arange(len(starts)), sizes)
    sums = np.cumsum(ordered)
    sums -= np.r_[0.0, sums[starts[1:] - 1]][first]
    rank = np.arange(len(group)) - starts[first] + 1
    excess = sums - totals[group]
    support = np.maximum(np.add.reduceat(ordered * rank > excess, starts, dtype=np.int64), 1)
    shift = excess[starts + support - 1] / support
    found = np.empty(len(values))
    found[order] = np.where(totals[group] > 0, np.maximum(ordered - shift[first], 0.0), 0.0)
    return found


# Noisy masses of disjoint cells of a tree.


@dataclass(frozen=True, eq=False)
class Measurement:
    """Released masses of disjoint cells, with noise of one scale.

    Attributes
    ----------
    level, code : ndarray of int
        The cells: level in a tree, and code at that level; Morton codes of a quadtree.
    mass : ndarray
        Noisy masses, in people.
    rate : float
        The noise on a mass has density proportional to ``exp(-rate * abs(noise))``; Gaussian noise,
        to ``exp(-(rate * noise)**2 / 2)``.
    """

    level: np.ndarray
    code: np.ndarray
    mass: np.ndarray
    rate: float

    def on_tree(self, tree):
        """Return masses and rates for every cell of a tree, with rate 0 where nothing is known."""
        values = [np.zeros(n) for n in tree.sizes]
        rates = [np.zeros(n) for n in tree.sizes]
        for k, codes in enumerate(tree.codes):
            here = self.level == tree.top + k
            place = np.searchsorted(codes, self.code[here])
            values[k][place] = self.mass[here]
            rates[k][place] = self.rate
        return values, rates


def noisy_total(measurements):
    """Return the mass of the map before it is made non-negative, and its standard deviation.

    Every measurement that covers the map has a sum of its own. They count by their precision:
    Laplace noise of some rate has a variance of 2 / rate**2 on every cell.
    """
    total = precision = 0.0
    for measured in measurements:
        covered = np.exp2(-2.0 * measured.level).sum()
        if covered == 1.0:
            weight = measured.rate**2 / (2.0 * len(measured.mass))
            total += weight * measured.mass.sum()
            precision += weight
    return total / precision, precision**-0.5
