"""Counts on the binary tree of cells of a public domain, and their Haar differences."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...geometry._cell_tree import CellTree
from ...privacy._neighbors import ADD_REMOVE, REPLACE_ANY
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query

if TYPE_CHECKING:
    from ...summaries.rows.persons import Chunk


@dataclass(frozen=True)
class TreeQuery(Query):
    """Mass of the cells of a tree, for each of several public classes.

    The state is one count a leaf and class; every block is a linear map of it.

    Parameters
    ----------
    tree : CellTree
    n_classes : int
    units : int
        Largest mass of one person.
    total_public : bool
        True when no neighbor can change the mass of a class (the first block is then exact).
    block_weights : tuple of float or None
        Relative noise scale of each block: the total first, then one block a level.
    """

    in_threads = False  # a counter a leaf goes through memory, which threads share

    tree: CellTree
    n_classes: int = 1
    units: int = 1
    total_public: bool = False
    block_weights: tuple | None = None

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return one zero a class and leaf."""
        return (np.zeros((self.n_classes, self.tree.n_cells), dtype=np.int64),)

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the masses of the chunk's rows to their leaves."""
        leaves = state[0].reshape(-1)
        index = self.tree.leaf_index(chunk.X)
        if chunk.codes is not None and self.n_classes > 1:
            index += chunk.codes * self.tree.n_cells
        if chunk.masses is None:
            leaves += np.bincount(index, minlength=leaves.size)
        else:
            # sums of integers in float64 are exact: 2**32 rows of 2**20 units stay below 2**53
            sums = np.bincount(index, weights=chunk.masses, minlength=leaves.size)
            leaves += sums.astype(np.int64)

    def weights(self) -> tuple[float, ...] | None:
        """Return the relative noise scales."""
        return self.block_weights

    def sensitivity(self, relation: str) -> Sensitivity:
        """Return how far one person moves the blocks, case by case."""
        if relation == ADD_REMOVE:
            return self._sensitivity([self._joins()])
        cases = self._moves()
        if not self.total_public:
            cases = cases + [self._joins()]
        if relation == REPLACE_ANY and self.n_classes > 1:
            cases = cases + [self._changes_class()]
        return self._sensitivity(cases)

    @abstractmethod
    def _moves(self):
        """Cases of a person moving within a class: pairs (L1, squared L2) of each block."""

    def _joins(self):
        """A person adds one path from the total to a leaf."""
        return [1] * (self.tree.depth + 1), [1] * (self.tree.depth + 1)

    def _changes_class(self):
        """A person leaves one path and joins another, from the totals down."""
        return [2] * (self.tree.depth + 1), [2] * (self.tree.depth + 1)

    def _sensitivity(self, cases):
        u = self.units
        return Sensitivity(
            tuple(tuple(u * n for n in l1) for l1, _ in cases),
            tuple(tuple(u * u * n for n in square) for _, square in cases),
        )


@dataclass(frozen=True)
class CellCounts(TreeQuery):
    """Mass of every cell of every level: blocks of shape ``(n_classes, 2**level)``."""

    def blocks(self, state):
        """Return the totals, then the cells of level 1 to the leaves."""
        blocks = [state[0]]
        for level in range(self.tree.depth - 1, -1, -1):
            blocks.append(np.add(*self.tree.halves(blocks[-1], level)))
        return tuple(reversed(blocks))

    def _moves(self):
        # two paths that part right below the root change two cells of every level
        depth = self.tree.depth
        return [([0] + [2] * depth, [0] + [2] * depth)]


@dataclass(frozen=True)
class HaarDifferences(TreeQuery):
    """Totals, and first half minus second half of every inner cell.

    A split released this way has half the noise variance of two noisy counts, and the cells below
    it add up to it by construction.
    """

    def blocks(self, state):
        """Return the totals, then the differences of the cells of level 0 to the last but one."""
        sums, differences = state[0], []
        for level in range(self.tree.depth - 1, -1, -1):
            first, second = self.tree.halves(sums, level)
            differences.append(first - second)
            sums = first + second
        return (sums, *reversed(differences))

    def _moves(self):
        # Two paths that part at split i agree above it, change that difference from +1 to -1, and
        # change one difference each on every level below.
        depth = self.tree.depth
        cases = []
        for i in range(depth):
            above, below = [0] * (1 + i), depth - i - 1
            cases.append((above + [2] * (1 + below), above + [4] + [2] * below))
        return cases or [([0], [0])]
