"""Counts on some of the levels of a tree of cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .hierarchy import TreeQuery


@dataclass(frozen=True)
class LevelCounts(TreeQuery):
    """Mass of every cell of chosen levels: blocks of shape ``(n_classes, 2**level)``.

    Parameters
    ----------
    tree : CellTree
    n_classes : int
    units : int
        Largest mass of one person.
    total_public : bool
        True when no neighbor can change the mass of a class.
    block_weights : tuple of float or None
        Relative noise scale of each block; None: equal scales.
    levels : tuple of int
        Increasing, the last one the depth of the tree.
    """

    levels: tuple = ()

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the cells of the levels, the fewest first."""
        sums, blocks = state[0], []
        for level in range(self.tree.depth, self.levels[0] - 1, -1):
            if level in self.levels:
                blocks.append(sums)
            if level > self.levels[0]:
                sums = self._parents(sums, level - 1)
        return tuple(reversed(blocks))

    def _parents(self, sums, level):
        first, second = self.tree.halves(sums, level)
        return first + second

    def _joins(self):
        """A person adds to one cell of every level."""
        return [1] * len(self.levels), [1] * len(self.levels)

    def _moves(self):
        """A person leaves one cell of every level below the root and enters another."""
        changes = [2 if level else 0 for level in self.levels]
        return [(changes, changes)]

    def _changes_class(self):
        return [2] * len(self.levels), [2] * len(self.levels)
