"""Comparators: the pipeline of the paper, and noise on every cell of a grid."""

import math
from dataclasses import dataclass

import numpy as np

from ...summaries.trees.partition import Partition
from ...transport._tree.l1 import minimize_l1
from ...transport._tree.nodes import Tree, child_codes, top_cells
from .fit import HeatmapFit
from .methods import HeatmapMethod, measure

_MAX_DENSE_DEPTH = 12  # methods that measure every cell of a grid stop here: 2**24 cells


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
        # cells below the finest level that can be seen have more noise than signal
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
