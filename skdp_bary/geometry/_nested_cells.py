"""Cells of different sizes that fill a box: a grid, some of whose cells are cut again and again.

Every axis is half as long again as the domain, which begins where the axis does. So the center of
the domain is a third of the way and never near an edge of cells, however often they are halved:
bounds are often too wide on both sides, and rows in the middle should not be cut apart first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._domains import Box
from ._rowwise import row_blocks

STRETCH = 1.5  # of an axis over that of the domain


@dataclass(frozen=True, eq=False)
class NestedCells:
    """Disjoint cells that hold the bounding box of a domain, and the coarser ones that they refine.

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

    @cached_property
    def outside(self):
        """Which cells lie beside the bounding box, where no row is."""
        return (self.places * STRETCH >= np.exp2(self.levels)[:, None]).any(axis=1)

    @property
    def widths(self):
        """Side lengths of the part of each cell in the bounding box: (n_cells, n_features)."""
        low, high = self._corners
        return high - low

    @property
    def middles(self):
        """One point of the domain for each cell: its middle there, moved to the domain."""
        low, high = self._corners
        return self.domain.clip(low + (high - low) / 2.0)

    @property
    def _corners(self):
        """Corners of the part of each cell in the bounding box."""
        shares = np.exp2(-self.levels.astype(float))[:, None] * STRETCH
        ends = np.minimum(self.places * shares, 1.0), np.minimum((self.places + 1) * shares, 1.0)
        low, high = np.asarray(self.domain.low, float), np.asarray(self.domain.high, float)
        return tuple(low + end * (high - low) for end in ends)

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
        side, found = (1 << self.depth) / STRETCH, []
        widths = np.asarray(self.domain.high, float) - np.asarray(self.domain.low, float)
        for values, low, width in zip(X.T, self.domain.low, widths, strict=True):
            position = np.subtract(values, low)
            with np.errstate(over="ignore"):
                position *= side / width
            np.clip(position, 0, side, out=position)  # where the last cell is never full
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
