"""Cells of a public domain: binary trees of cells, and grids whose cells are cut again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..exceptions import check_integer
from .domains import Box
from .rowwise import row_blocks

# Binary trees of cells on a public domain: level ``j + 1`` halves the cells of level ``j``.

MAX_DEPTH = 26  # 2**26 cells of 8 bytes are half a gigabyte


@dataclass(frozen=True)
class CellTree:
    """Cells of a domain's bounding box, halved `depth` times along alternating axes.

    The cells of one level form a grid in row-major order: ``shape(level)`` lists how many there are
    along every axis that is split at all.

    Parameters
    ----------
    domain : Box, Ball or Mask
    depth : int
    """

    domain: object
    depth: int

    def __post_init__(self):
        check_integer(self.depth, "depth", low=0, high=MAX_DEPTH)

    def __reduce__(self):
        return CellTree, (self.domain, self.depth)  # without what is cached

    @property
    def n_axes(self) -> int:
        """Number of axes that are split."""
        return min(self.domain.n_features, self.depth)

    @property
    def n_cells(self) -> int:
        """Number of leaf cells."""
        return 1 << self.depth

    def split_axis(self, level: int) -> int:
        """Axis along which the cells of `level` are halved."""
        return level % self.domain.n_features

    def bits(self, level: int) -> tuple:
        """Number of halvings of every split axis down to `level`."""
        d = self.domain.n_features
        return tuple(len(range(axis, level, d)) for axis in range(self.n_axes))

    def shape(self, level: int) -> tuple:
        """Number of cells along every split axis at `level`."""
        return tuple(1 << b for b in self.bits(level))

    def leaf_index(self, X: np.ndarray) -> np.ndarray:
        """Return the row-major index of the leaf that holds each row; outside rows are clipped.

        The index is a function of each row alone: no operation here mixes rows.
        """
        index = np.zeros(len(X), dtype=np.int64)
        low, high = (np.asarray(end, dtype=float) for end in (self.domain.low, self.domain.high))
        widths = high - low
        for rows in row_blocks(*X.shape):
            block, found = X[rows], index[rows]
            if not isinstance(self.domain, Box):  # truncation below clips to the bounding box
                block = self.domain.clip(block)
            for axis, side in enumerate(self.shape(self.depth)):
                position = np.subtract(block[:, axis], low[axis])
                with np.errstate(over="ignore"):
                    position *= side / widths[axis]
                np.clip(position, 0, side - 1, out=position)
                found *= side
                found += position.astype(np.int64)
        return index

    def ancestor(self, leaf: np.ndarray, level: int) -> np.ndarray:
        """Return the index at `level` of the cell that holds each leaf."""
        index = np.zeros_like(leaf)
        places = np.unravel_index(leaf, self.shape(self.depth)) if self.n_axes else ()
        for place, b, top in zip(places, self.bits(self.depth), self.bits(level), strict=True):
            index = (index << top) + (place >> (b - top))
        return index

    def paths_of(self, leaves: np.ndarray) -> np.ndarray:
        """Return the paths from the root to leaves, one bit a halving.

        In the order of paths the leaves inside a cell of any level stand together.
        """
        first, d = np.cumsum((0, *self.bits(self.depth))), self.domain.n_features
        paths, last = np.zeros_like(leaves), self.depth - 1
        for level in range(self.depth):
            bit = leaves >> (last - first[level % d] - level // d) & 1
            paths |= bit << (last - level)
        return paths

    def index_of_paths(self, paths: np.ndarray, level: int) -> np.ndarray:
        """Return the index at `level` of cells given by their paths, one bit a halving."""
        index = np.zeros_like(paths)
        for axis, bits in enumerate(self.bits(level)):
            for halving in range(bits):
                bit = paths >> (level - 1 - axis - halving * self.domain.n_features) & 1
                index = (index << 1) | bit
        return index

    def positions(self, index: np.ndarray, level: int) -> np.ndarray:
        """Return the place of cells along every axis of the domain: (len(index), n_features)."""
        places = np.zeros((len(index), self.domain.n_features), dtype=np.int64)
        if self.n_axes:
            places[:, : self.n_axes] = np.stack(np.unravel_index(index, self.shape(level)), axis=1)
        return places

    def full_shape(self, level: int) -> tuple:
        """Number of cells along every axis of the domain at `level`."""
        return self.shape(level) + (1,) * (self.domain.n_features - self.n_axes)

    def halves(self, values: np.ndarray, level: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of the first and of the second half of every cell of `level`.

        The last axis of `values` runs over the cells of ``level + 1``; the last axis of both
        results, over the cells of `level`.
        """
        lead, shape = values.shape[:-1], self.shape(level)
        place = self.split_axis(level) + 1
        grid = values.reshape(lead + shape[:place] + (2,) + shape[place:])
        first, second = np.moveaxis(grid, len(lead) + place, 0)
        return first.reshape(lead + (-1,)), second.reshape(lead + (-1,))

    def join(self, first: np.ndarray, second: np.ndarray, level: int) -> np.ndarray:
        """Return values over the cells of ``level + 1`` from those of the two halves of each."""
        lead, axis = first.shape[:-1], first.ndim + self.split_axis(level)
        shape = lead + self.shape(level)
        both = np.stack([first.reshape(shape), second.reshape(shape)], axis=axis)
        return both.reshape(lead + (-1,))

    def share(self, level: int) -> np.ndarray:
        """Return the share of the domain's volume in every cell of `level`."""
        values = self.prior
        for upper in range(self.depth - 1, level - 1, -1):
            values = np.add(*self.halves(values, upper))
        return values

    def centroids(self, level: int, index: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return one point of the domain for each of the given cells of `level`.

        They are written to `out`, of shape (len(index), n_features), if that is given.
        """
        points = np.empty((len(index), self.domain.n_features)) if out is None else out
        is_box = isinstance(self.domain, Box)  # others look at the whole grid at every call
        for rows in row_blocks(*points.shape) if is_box else (slice(None),):
            places = self.positions(index[rows], level)
            points[rows] = self.domain.cell_points(places, self.full_shape(level))
        return points

    @cached_property
    def prior(self) -> np.ndarray:
        """Share of the domain's volume in every leaf (read-only, sums to 1)."""
        if isinstance(self.domain, Box):  # takes no memory
            return np.broadcast_to(1.0 / self.n_cells, self.n_cells)
        share = np.array(self.domain.cell_prior(self.full_shape(self.depth)), dtype=float).ravel()
        share.setflags(write=False)
        return share


# Cells of different sizes that fill a box: a grid, some of whose cells are cut again and again.

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
        """Which cells lie next to the bounding box, where no row is."""
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
