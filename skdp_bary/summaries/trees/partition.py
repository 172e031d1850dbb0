"""Cells of a quadtree that do not overlap, at the cost of the cells that are asked about.

The cells of a grid of side ``2**depth`` are numbered in Morton order, in which a quadtree cell of
any level is one interval of numbers. A row is located in a set of disjoint cells by one binary
search, so nothing here is as long as the grid has cells.
"""

from dataclasses import dataclass

import numpy as np

from ...transport._tree.nodes import cell_codes, cell_positions

MAX_GRID_DEPTH = 24


@dataclass(frozen=True)
class QuadGrid:
    """A square grid of cells on the bounding box of a domain of the plane.

    Parameters
    ----------
    domain : Box, Ball or Mask
        Its first coordinate runs along the columns of the grid, its second along the rows.
    depth : int
        The grid has ``2**depth`` rows and columns.
    """

    domain: object
    depth: int

    def __post_init__(self):
        if not 0 <= self.depth <= MAX_GRID_DEPTH:
            raise ValueError(f"depth must be in [0, {MAX_GRID_DEPTH}], got {self.depth}.")

    @property
    def side(self):
        """Number of rows and of columns."""
        return 1 << self.depth

    def codes(self, X):
        """Return the Morton code of the cell of each row; rows outside go to the border.

        The code is a function of each row alone.
        """
        columns, rows = (self._positions(X[:, axis], axis) for axis in (0, 1))
        return cell_codes(rows, columns)

    def corners(self, levels, codes):
        """Return the lower and the upper corners of quadtree cells, of shape (n_cells, 2)."""
        rows, columns = cell_positions(codes)
        places = np.stack([columns, rows], axis=1)
        scale = np.exp2(-np.asarray(levels, dtype=float))[:, None]
        low, width = self._low_and_width()
        return low + width * (places * scale), low + width * ((places + 1) * scale)

    def _positions(self, values, axis):
        low, width = self._low_and_width()
        with np.errstate(over="ignore"):
            position = (values - low[axis]) * (self.side / width[axis])
        return np.clip(position, 0, self.side - 1).astype(np.int64)

    def _low_and_width(self):
        low = np.asarray(self.domain.low, dtype=float)[:2]
        return low, np.asarray(self.domain.high, dtype=float)[:2] - low


@dataclass(frozen=True, eq=False)
class Partition:
    """Quadtree cells of which none contains another, in Morton order.

    Parameters
    ----------
    depth : int
        Depth of the grid.
    levels, codes : ndarray of int64
        Level and Morton code, at that level, of each cell.
    """

    depth: int
    levels: np.ndarray
    codes: np.ndarray

    def __post_init__(self):
        levels, codes = (np.asarray(a, dtype=np.int64) for a in (self.levels, self.codes))
        if levels.ndim != 1 or levels.shape != codes.shape or not levels.size:
            raise ValueError(
                "levels and codes must be flat, of equal length and not empty, "
                f"got shapes {levels.shape} and {codes.shape}."
            )
        if levels.min() < 0 or levels.max() > self.depth:
            raise ValueError(f"levels must be in [0, {self.depth}], got {levels!r}.")
        if codes.min() < 0 or (codes >> (2 * levels)).any():
            raise ValueError("codes must lie within their level.")
        order = np.argsort(codes << 2 * (self.depth - levels), kind="stable")
        object.__setattr__(self, "levels", _frozen(levels[order]))
        object.__setattr__(self, "codes", _frozen(codes[order]))
        starts, ends = self.intervals()
        if (ends[:-1] > starts[1:]).any():
            raise ValueError("No cell of a partition may contain another.")

    @classmethod
    def complete(cls, depth, level):
        """Return all cells of one level."""
        codes = np.arange(4**level, dtype=np.int64)
        return cls(depth, np.full(codes.size, level), codes)

    def __len__(self):
        return len(self.codes)

    def intervals(self):
        """Return the first Morton code of every cell at the depth of the grid, and one past it."""
        shift = 2 * (self.depth - self.levels)
        return self.codes << shift, (self.codes + 1) << shift

    def locate(self, codes):
        """Return the place of the cell that holds each code of the grid, or -1 where none does."""
        finest = int(self.levels.max())
        if 4**finest > len(codes):
            return self._search(codes)
        # so many rows that every cell of the finest level is looked up first, once
        shift = 2 * (self.depth - finest)
        return self._search(np.arange(4**finest, dtype=np.int64) << shift)[codes >> shift]

    def _search(self, codes):
        starts, ends = self.intervals()
        place = np.searchsorted(starts, codes, side="right") - 1
        return np.where(codes < ends[place], place, -1)


def _frozen(array):
    array.setflags(write=False)
    return array
