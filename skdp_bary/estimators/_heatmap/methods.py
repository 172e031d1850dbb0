"""Ways to measure a heatmap: which cells are asked about, and what is made of the answers."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ...summaries.trees.partition import Partition, PartitionCounts, QuadGrid
from ...transport._tree.l1 import minimize_l1
from ...transport._tree.nodes import Tree, child_codes, top_cells
from .fit import HeatmapFit, Measurement, covering_tree, fit_l1, fit_posterior, refine

_MAX_DENSE_DEPTH = 12  # methods that measure every cell of a grid stop here: 2**24 cells


@dataclass(frozen=True)
class HeatmapSetting:
    """Public facts that a method may use.

    Attributes
    ----------
    depth : int
        The grid has ``2**depth`` rows and columns.
    finest : int
        The level beyond which cells are too small to be seen after blurring.
    epsilon : float
        Budget of all steps of the method together.
    size : int or None
        Public or bought number of persons.
    n_kept : int
    top_share : float
    whole : bool
        Whether masses are whole persons.
    reach : int
        How many persons a neighbor can move: 1 when one is added or removed, else 2.
    """

    depth: int
    finest: int
    epsilon: float
    size: int | None
    n_kept: int
    top_share: float
    whole: bool
    reach: int


class HeatmapMethod(ABC):
    """One way to measure a heatmap and to rebuild it."""

    needs_size = False
    max_depth = None
    reconstruction = "posterior"

    @abstractmethod
    def shares(self, setting):
        """Return the share of the budget of each step, by name and in order."""

    @abstractmethod
    def questions(self, setting, facts):
        """Ask for masses of cells, and return the list of Measurement."""

    def rebuild(self, reconstruction, setting, measurements):
        """Return the :class:`HeatmapFit` of the measurements.

        `reconstruction` is "posterior", "l1" or, for methods with one of their own, "clip".
        """
        if reconstruction == "posterior":
            return fit_posterior(measurements, whole=setting.whole)
        if reconstruction == "l1":
            return fit_l1(measurements)
        return self._clip(setting, measurements)

    def _clip(self, setting, measurements):
        """Return positive noisy masses as they are: the finest cells measured."""
        last = measurements[-1]
        return HeatmapFit(last.level, last.code, np.maximum(last.mass, 0.0))


@dataclass(frozen=True)
class AdaptiveMethod(HeatmapMethod):
    """A coarse look with a third of the budget, then cells where it showed mass with the rest.

    Parameters
    ----------
    coarse : int
        Level of the first look; one less where the public size times epsilon is below `small`, one
        more where it is above `large`.
    small, large : float
    threshold : float
        A cell is split while its expected mass is at least this many scales of the noise.
    """

    coarse: int = 3
    small: float = 60.0
    large: float = 2000.0
    threshold: float = 3.0

    def shares(self, setting):
        """Return a third for the coarse look, two thirds for the fine one."""
        return {"coarse": 1.0, "fine": 2.0}

    def questions(self, setting, facts):
        """Ask for a full level, then for cells refined where it shows mass."""
        level = Partition.complete(setting.depth, self.first_level(setting))
        coarse = yield from measure(setting, facts, "coarse", level)
        rate = facts.mechanisms["fine"].epsilon / setting.reach
        fine = yield from measure(setting, facts, "fine", self.fine_cells(setting, coarse, rate))
        return coarse + fine

    def fine_cells(self, setting, coarse, rate):
        """Return cells as fine as the masses of a coarse look, for noise of a rate."""
        fit = fit_posterior(coarse, whole=setting.whole)
        tree = refine(
            covering_tree(coarse), fit.posterior.mean, rate, self.threshold, setting.finest
        )
        levels, codes, _ = tree.leaves([np.zeros(n) for n in tree.sizes])
        return Partition(setting.depth, levels, codes)

    def first_level(self, setting):
        """Return the level of the first look, from public numbers alone."""
        level = self.coarse
        if setting.size is not None:
            known = setting.size * setting.epsilon / setting.reach
            level += int(known > self.large) - int(known < self.small)
        return min(level, setting.finest)


@dataclass(frozen=True)
class OneShotMethod(HeatmapMethod):
    """Two full levels at once, of which the finer has about two cells a person and epsilon."""

    needs_size = True

    def shares(self, setting):
        """Return the one step."""
        return {"levels": 1.0}

    def questions(self, setting, facts):
        """Ask for two levels, two apart."""
        fine = self.fine_level(setting)
        # not level 0: where a person is replaced, noise on the total would protect nothing
        levels = sorted({max(fine - 2, 1), fine})
        whole = [Partition.complete(setting.depth, level) for level in levels]
        return (yield from measure(setting, facts, "levels", *whole))

    def fine_level(self, setting):
        """Return the level of the finer partition, from the public size."""
        level = math.log(max(2.0 * setting.size * setting.epsilon / setting.reach, 1.0), 4)
        return int(min(max(round(level), 2), setting.finest, 8))


@dataclass(frozen=True)
class PaperMethod(HeatmapMethod):
    """Algorithms 1 and 2 of Ghazi et al. (2023).

    Level by level, the children of the cells kept above are measured and the largest are kept.
    The paper draws noise for every cell of every level; noise on a cell that is never looked at
    changes nothing, so only the cells that are looked at are measured, each level in a step of its
    own, and the law of the result is the same.

    Parameters
    ----------
    decay : float
        Budget of a level over that of the level above; ``1 / sqrt(2)`` is best in the bound.
    """

    decay: float = 2.0**-0.5

    reconstruction = "l1"

    def shares(self, setting):
        """Return a geometric schedule from the finest level that may be kept whole."""
        first = self.first_level(setting)
        return {
            f"level_{level}": self.decay ** (level - first)
            for level in range(first, setting.depth + 1)
        }

    def first_level(self, setting):
        """Return the lowest level that has at most as many cells as are kept."""
        return min(int(math.log2(setting.n_kept) / 2.0 + 1e-12), setting.depth)

    def questions(self, setting, facts):
        """Ask for the children of the cells kept on the level above."""
        first = self.first_level(setting)
        cells, measurements = Partition.complete(setting.depth, first), []
        for level in range(first, setting.depth + 1):
            (here,) = yield from measure(setting, facts, f"level_{level}", cells)
            measurements.append(here)
            if level < setting.depth:
                codes = child_codes(here.code[top_cells(here.mass, setting.n_kept)])
                cells = Partition(setting.depth, np.full(len(codes), level + 1), codes)
        return measurements

    def rebuild(self, reconstruction, setting, measurements):
        """Return the fit; "l1" takes the kept cells alone, as the paper does."""
        if reconstruction == "l1":
            tree, values = self._selected(setting, measurements)
            return HeatmapFit(*tree.leaves(minimize_l1(tree, values)))
        # cells below the finest level that can be seen have more noise than they are worth
        visible = [m for m in measurements if m.level[0] <= setting.finest]
        return super().rebuild(reconstruction, setting, visible or measurements[:1])

    def _selected(self, setting, measurements):
        """Return the tree of the cells measured, the kept ones chosen, and the noisy masses."""
        masses = tuple(m.mass for m in measurements)
        chosen = tuple(top_cells(m, setting.n_kept) for m in masses)
        return Tree(chosen, (4,) * (len(chosen) - 1), self.first_level(setting)), masses


@dataclass(frozen=True)
class DenseMethod(HeatmapMethod):
    """Appendix D of Ghazi et al. (2023): one full level, then the nearest measure.

    The level has cells of side about ``1 / sqrt(epsilon * n)``; the nearest measure is the one of
    least absolute deviation on all levels above it.
    """

    needs_size = True
    reconstruction = "l1"

    def shares(self, setting):
        """Return the one step."""
        return {"cells": 1.0}

    def questions(self, setting, facts):
        """Ask for one full level."""
        level = math.log2(max(setting.size * setting.epsilon / setting.reach, 1.0)) / 2.0
        level = min(round(level), setting.depth, _MAX_DENSE_DEPTH)
        whole = Partition.complete(setting.depth, level)
        return (yield from measure(setting, facts, "cells", whole))


@dataclass(frozen=True)
class LaplaceMethod(HeatmapMethod):
    """The baseline: noise on every cell of the grid, negative masses set to zero."""

    max_depth = _MAX_DENSE_DEPTH
    reconstruction = "clip"

    def shares(self, setting):
        """Return the one step."""
        return {"cells": 1.0}

    def questions(self, setting, facts):
        """Ask for all cells of the grid."""
        whole = Partition.complete(setting.depth, setting.depth)
        return (yield from measure(setting, facts, "cells", whole))


@dataclass(frozen=True)
class TopMethod(LaplaceMethod):
    """The baseline with a threshold: only the cells with the largest noisy masses are kept."""

    def _clip(self, setting, measurements):
        """Return the cells with the largest noisy masses."""
        (last,) = measurements
        kept = top_cells(last.mass, max(1, math.ceil(setting.top_share * len(last.mass))))
        return HeatmapFit(last.level[kept], last.code[kept], np.maximum(last.mass[kept], 0.0))


def measure(setting, facts, name, *partitions):
    """Ask for the masses of partitions in one step, and return a Measurement of each."""
    query = PartitionCounts(QuadGrid(facts.domain, setting.depth), partitions, facts.units)
    released = yield name, query
    return [
        Measurement(cells.levels, cells.codes, values / facts.units, facts.units / scale)
        for cells, values, scale in zip(partitions, released.values, released.scales, strict=True)
    ]


HEATMAP_METHODS = {
    "adaptive": AdaptiveMethod(),
    "one_shot": OneShotMethod(),
    "paper": PaperMethod(),
    "dense": DenseMethod(),
    "laplace": LaplaceMethod(),
    "topk": TopMethod(),
}
