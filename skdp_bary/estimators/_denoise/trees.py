"""Ways to measure a tree of cells: which numbers are released, and how masses are made of them."""

import math
from abc import ABC, abstractmethod
from itertools import pairwise

import numpy as np

from ...summaries.trees.hierarchy import HaarDifferences
from ...summaries.trees.level_counts import LevelCounts
from ...transport._tree.haar import rebuild_masses
from .tuning import TREES


class TreeMethod(ABC):
    """One way to release a tree of cells and to rebuild masses from the release."""

    query_class = None

    @abstractmethod
    def level_scales(self, n_features, depth):
        """Return the relative noise scale of each level below the root."""

    @abstractmethod
    def masses(self, tree, blocks, noise_sd):
        """Return the masses of the cells of every level, from one class's noisy blocks.

        Parameters
        ----------
        tree : CellTree
        blocks : list of ndarray
            The noisy total, then one array a level, in persons.
        noise_sd : list of float
            Standard deviation of the noise of each block, in persons.
        """

    def split_noise(self, tree, noise_sd):
        """Return the standard deviation of what is known of the splits of each level."""
        return noise_sd[1:]

    def depth(self, signal, finest):
        """Return how many halvings are worth their noise, not rounded.

        Parameters
        ----------
        signal : float
            Logarithm to base 2 of the persons in a distribution times epsilon.
        finest : float
            Halvings after which cells of even masses are small beside what is asked of them.
        """
        return min(signal - 3.0, finest)

    def query(self, tree, n_classes, units, total_public):
        """Return the query of this method."""
        scales = np.asarray(self.level_scales(tree.domain.n_features, tree.depth), dtype=float)
        loss = (1.0 / scales).sum() if tree.depth else 1.0
        total_scale = (1.0 - TREES.total_share) / (TREES.total_share * loss)
        weights = (total_scale, *scales.tolist())
        return self.query_class(tree, n_classes, units, total_public, weights)


class HaarMethod(TreeMethod):
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

    def masses(self, tree, blocks, noise_sd):
        """Return the masses rebuilt from the root down."""
        return rebuild_masses(tree, blocks[0][0], blocks[1:], noise_sd[1:], tree.prior)


class BlockCountsMethod(TreeMethod):
    """Noisy counts on every few levels; differences of halves are read inside the blocks between.

    Pure noise costs what its levels add up to, so few levels have much less noise each. A
    difference of halves some levels above the counts is one of sums of independent counts: its
    noise variance doubles with every level, which is the price. The depth was chosen on the US and
    on a generated population, with 48 atoms and epsilon times persons from 4000 to 200000, and for
    fewer on mixtures in two to four dimensions.

    Parameters
    ----------
    step : int
        Levels between two levels of counts, about.
    """

    query_class = LevelCounts

    def __init__(self, step):
        self.step = step

    def levels(self, depth):
        """Return the levels of counts: evenly spaced, the last one the depth."""
        blocks = max(1, round(depth / self.step))
        return tuple(math.ceil(depth * (block + 1) / blocks) for block in range(blocks))

    def depth(self, signal, finest):
        """Return more halvings than differences afford where the signal is strong."""
        return min(max(signal - 3.0, 1.5 * signal - 8.6), finest + 2.0)

    def level_scales(self, n_features, depth):
        """Return equal scales on the levels of counts."""
        return np.ones(len(self.levels(depth)))

    def query(self, tree, n_classes, units, total_public):
        """Return the query: a total that nobody can change is free, another one is not asked."""
        levels = self.levels(tree.depth)
        if total_public and tree.depth:
            levels = (0, *levels)
        return LevelCounts(
            tree, n_classes, units, total_public, (1.0,) * len(levels), levels=levels
        )

    def masses(self, tree, blocks, noise_sd):
        """Return the masses rebuilt from the root down."""
        differences, top = [], 0
        for low, sums in self._counted(tree, blocks):
            block = []
            for level in range(low - 1, top - 1, -1):
                first, second = tree.halves(sums, level)
                block.append(first - second)
                sums = first + second
            differences.extend(reversed(block))
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


def halving_orders(tree):
    """Place of every cell in the order in which the children of a cell stand together."""
    orders = [np.zeros(1, dtype=np.int64)]
    for level in range(tree.depth):
        orders.append(tree.join(2 * orders[-1], 2 * orders[-1] + 1, level))
    return orders
