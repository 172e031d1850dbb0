"""Integer rows in a released frame: one rounding, then exact arithmetic at the speed of BLAS.

A row is clipped to the domain, moved by a public or released center, divided by a power of two and
rounded to integers; a released linear map may follow. Every later product of such integers stays
below ``2**53``, so distances, nearest centers and sums are the same whatever the blocks, threads
and machines, and depend on each row alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...geometry._domains import Box

if TYPE_CHECKING:
    from ..._types import Rows

_AXIS_BITS = 20
_BLOCK_VALUES = 1 << 16  # temporaries stay in cache
_SHORT = 32


@dataclass(frozen=True, eq=False)
class Axes:
    """Released or public orthonormal directions, and the variances expected along them.

    Parameters
    ----------
    vectors : ndarray of shape (n_features, n_features)
        One direction a row, the most important first.
    variances : ndarray of shape (n_kept,)
        Of the leading directions, which rows are mapped to.
    """

    vectors: np.ndarray
    variances: np.ndarray

    @property
    def kept(self) -> Any:
        """The leading directions."""
        return self.vectors[: len(self.variances)]

    @cached_property
    def integers(self) -> Any:
        """The leading directions in units of ``2**-20``."""
        return np.rint(self.kept * 2.0**_AXIS_BITS)


@dataclass(frozen=True, eq=False)
class Frame:
    """A map from rows to integers, see the module.

    Parameters
    ----------
    domain : Box, Ball or Mask
    center : ndarray of shape (n_features,)
        Public or released point that becomes zero.
    bits : int
        Integer rows have norm at most about ``2**bits``.
    axes : Axes or None
        Where rows are mapped to after centring; None: they stay as they are.
    """

    domain: object
    center: np.ndarray
    bits: int
    axes: Axes | None = None

    @cached_property
    def step(self) -> float:
        """Width of one lattice unit, a power of two."""
        reach = self.domain.radius_about(self.center)
        return 2.0 ** (math.ceil(math.log2(reach)) - self.bits)

    @property
    def width(self) -> Any:
        """Number of coordinates of an integer row."""
        return len(self.center) if self.axes is None else len(self.axes.variances)

    def in_units(self, points: Any) -> Any:
        """Return points, given relative to the center, in lattice units, not far off the domain."""
        limit = 2.0 ** (self.bits + 1)
        lengths = np.sqrt((points**2).sum(axis=1, keepdims=True)) / self.step
        return np.trunc(points / self.step * (limit / np.maximum(lengths, limit)))

    def without_axes(self) -> Any:
        """Return the frame in which rows are only centred."""
        return Frame(self.domain, self.center, self.bits)

    def blocks(self, chunk: Any, largest: Any) -> Any:
        """Yield the integer rows of at most `largest` rows at a time, and their masses or None."""
        kept = self.axes is not None and 2 * self.width <= len(self.center)
        if kept and self not in chunk.memo:
            chunk.memo[self] = self._map_all(chunk.X)  # several questions are asked of them
        size = self._block_rows(self.width if kept else len(self.center), largest)
        for start in range(0, len(chunk.X), size):
            rows = slice(start, start + size)
            masses = None if chunk.masses is None else chunk.masses[rows]
            if not kept:
                yield self.integer_rows(chunk.X[rows]), masses
            else:
                yield chunk.memo[self][rows].astype(float), masses

    def _block_rows(self, width, largest):
        return max(1, min(largest, _BLOCK_VALUES // width))

    def _map_all(self, X):
        mapped = np.empty((len(X), self.width), dtype=np.int32)
        size = self._block_rows(X.shape[1], len(X))
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            mapped[rows] = self.integer_rows(X[rows])
        return mapped

    def integer_rows(self, X: Rows) -> Any:
        """Return integer rows as float64, each a function of its row alone."""
        rows = self._clip(X)
        rows *= 1.0 / self.step
        rows -= self._repeated(self.center / self.step, len(X))
        np.rint(rows, out=rows)
        return rows if self.axes is None else self._mapped(rows)

    def _clip(self, X):
        if not isinstance(self.domain, Box):
            return self.domain.clip(X)
        low, high = self.domain.low, self.domain.high
        rows = np.maximum(X, self._repeated(low, len(X)))
        return np.minimum(rows, self._repeated(high, len(X)), out=rows)

    def _repeated(self, vector, n_rows):
        """Return a number if all are equal, else the vector once a row: numpy is slow otherwise."""
        if (vector == vector[0]).all():
            return vector[0]
        return np.repeat(vector[None, :], n_rows, axis=0) if len(vector) < _SHORT else vector

    def _mapped(self, rows):
        # entries of rows and axes have norms below 2**18 and 2**21: exact in any order
        mapped = rows @ self.axes.integers.T
        mapped *= 2.0**-_AXIS_BITS
        return np.rint(mapped, out=mapped)
