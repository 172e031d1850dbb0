"""Cells of different sizes that fill a box: a grid, some of whose cells are cut again and again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._domains import Box
from ._rowwise import row_blocks


@dataclass(frozen=True, eq=False)
class NestedCells:
    """Disjoint cells that fill the bounding box of a domain, and the coarser ones that they refine.

    Parameters
    ----------
    domain : Box, Ball or Mask
    depth : int
        Halvings of an axis below which nothing is cut.
    levels : ndarray of int of shape (n_cells,)
        Halvings of every axis that lead to a cell.
    places : ndarray of int of shape (n_cells, n_features)
        Place of each cell in the grid of its level.
    coarser : NestedCells, default=None
        Cells that were cut into these.
    cuts : ndarray of int, default=None
        How often every axis of each coarser cell was halved; its parts stand together, in
        row-major order.
    """

    domain: object
    depth: int
    levels: np.ndarray
    places: np.ndarray
    coarser: NestedCells | None = None
    cuts: np.ndarray | None = None

    @classmethod
    def grid(cls, domain, depth, level):
        """Return the cells of a grid with `level` halvings of every axis."""
        whole = np.zeros((1, domain.n_features), dtype=np.int64)
        return cls(domain, depth, np.zeros(1, dtype=np.int64), whole).cut(np.array([level]))

    def cut(self, cuts):
        """Return the cells after so many further halvings of every axis of each cell.

        There may be at most ``2**31`` of them.
        """
        cuts = np.minimum(np.asarray(cuts, dtype=np.int64), self.depth - self.levels)
        d = self.domain.n_features
        sizes = 1 << d * cuts
        parent = np.repeat(np.arange(len(self)), sizes)
        starts = np.cumsum(sizes) - sizes
        within, cut = np.arange(len(parent)) - starts[parent], cuts[parent]
        axes = [(within >> (d - 1 - axis) * cut) & ((1 << cut) - 1) for axis in range(d)]
        places = (self.places[parent] << cut[:, None]) + np.stack(axes, axis=1)
        return NestedCells(self.domain, self.depth, self.levels[parent] + cut, places, self, cuts)

    def __len__(self):
        return len(self.levels)

    @property
    def parents(self):
        """Coarser cell of each cell, in increasing order."""
        return np.repeat(np.arange(len(self.coarser)), 1 << self.domain.n_features * self.cuts)

    @property
    def widths(self):
        """Side lengths of each cell: (n_cells, n_features)."""
        return self._box_widths * np.exp2(-self.levels.astype(float))[:, None]

    @property
    def middles(self):
        """One point of the domain for each cell: its middle, moved to the domain."""
        middles = np.asarray(self.domain.low, dtype=float) + (self.places + 0.5) * self.widths
        return self.domain.clip(middles)

    def locate(self, X):
        """Return the cell of each row; those outside of the domain are moved to it.

        The cell is a function of each row alone: no operation here mixes rows.
        """
        index = np.empty(len(X), dtype=np.int64)
        for rows in row_blocks(*X.shape):
            index[rows] = self._find(self._positions(X[rows]))
        return index

    def _positions(self, X):
        """Return the place of rows in the finest grid, axis by axis."""
        if not isinstance(self.domain, Box):  # truncation below clips to the bounding box
            X = self.domain.clip(X)
        side, found = 1 << self.depth, []
        for values, low, width in zip(X.T, self.domain.low, self._box_widths, strict=True):
            position = np.subtract(values, low)
            with np.errstate(over="ignore"):
                position *= side / width
            np.clip(position, 0, side - 1, out=position)
            found.append(position.astype(np.int32))
        return found

    def _find(self, positions):
        if self.coarser is None:
            return np.zeros(len(positions[0]), dtype=np.int32)
        starts, left, cuts = self._tables
        index = self.coarser._find(positions)
        cut, left = cuts.take(index), left.take(index)
        inside, mask = np.zeros_like(index), (1 << cut) - 1
        for position in positions:
            inside <<= cut
            inside += (position >> left) & mask
        inside += starts.take(index)
        return inside

    @cached_property
    def _tables(self):
        """First part of each coarser cell, digits below those of its parts, and their number."""
        sizes = 1 << self.domain.n_features * self.cuts
        left = self.depth - self.coarser.levels - self.cuts
        tables = np.cumsum(sizes) - sizes, left, self.cuts
        return tuple(table.astype(np.int32) for table in tables)

    @property
    def _box_widths(self):
        return np.asarray(self.domain.high, dtype=float) - np.asarray(self.domain.low, dtype=float)
