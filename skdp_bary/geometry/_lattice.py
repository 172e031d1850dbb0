"""The integer lattices that rows of a public domain are rounded to.

Noise is drawn on integers, so rows become integers before anything is added up. Sums of integers
do not depend on order, chunks or machines, and how far one row can move them is an exact integer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._plain import is_integer
from ._ball import Ball
from ._domains import Box, Domain
from ._rowwise import as_rows, as_table, row_blocks

if TYPE_CHECKING:
    from .._types import Rows

_WELL_INSIDE = 0.999  # of the squared radius: no rounding takes such a row out of the ball
_OUTSIDE = 1.0 + 1e-6  # of the radius: no rounding keeps such a row
_ROUNDING = 4.0 * np.finfo(np.float64).eps  # an operation, generously
MAX_CENTRED_BITS = 26  # squared norms stay below 2**53, where float64 adds integers exactly


@dataclass(frozen=True)
class CentredLattice:
    """Integer offsets from the center of a public domain, rounded toward zero: for sums.

    Row ``x`` becomes ``trunc((x - center) / step)`` with ``step = radius / 2**bits``, where
    `radius` is the distance from the center that no point of the domain exceeds. Rows are clipped
    to the domain first, and a row whose integer norm still came out above ``2**bits`` by rounding
    is moved toward zero until it does not, so the bounds below hold exactly, not up to rounding.

    Sensitivity: adding or removing a row moves a sum of integer rows by at most `row_l1` in L1 and
    by at most the square root of `row_l2_squared` in L2; replacing a row, by at most twice that.

    Parameters
    ----------
    domain : Domain
        Public domain of the rows.
    bits : int
        Binary digits of the largest norm, 1 to 26: the L2 norm of an integer row is at most
        ``2**bits``, so dot products of integer rows are exact in float64 in any order.

    Attributes
    ----------
    step : float
        Width of one lattice unit.
    row_linf : tuple of int
        Largest absolute value of each coordinate.
    row_l2_squared : int
        Largest squared L2 norm of an integer row.
    row_l1 : int
        Largest L1 norm of an integer row.

    Examples
    --------
    >>> from skdp_bary.geometry import Ball
    >>> from skdp_bary.geometry._lattice import CentredLattice
    >>> lattice = CentredLattice(Ball([0.0, 0.0], radius=1.0), bits=3)
    >>> lattice.quantise([[0.6, -0.8], [30.0, 0.0]])
    array([[ 4, -6],
           [ 8,  0]])
    >>> lattice.step, lattice.row_l2_squared
    (0.125, 64)
    """

    domain: Domain
    bits: int

    def __post_init__(self):
        bits = self.bits
        if not is_integer(bits) or not 1 <= bits <= MAX_CENTRED_BITS:
            raise ValueError(f"bits must be an integer in [1, {MAX_CENTRED_BITS}], got {bits!r}.")

    @cached_property
    def step(self) -> float:
        """Width of one lattice unit."""
        return self.domain.radius / 2**self.bits

    @cached_property
    def row_linf(self) -> tuple[int, ...]:
        """Largest absolute value of each coordinate."""
        return tuple(int(value) for value in self._largest)

    @cached_property
    def row_l2_squared(self) -> int:
        """Largest squared L2 norm of an integer row."""
        return min(4**self.bits, sum(value * value for value in self.row_linf))

    @cached_property
    def row_l1(self) -> int:
        """Largest L1 norm of an integer row, at most ``sqrt(n_features)`` times the L2 norm."""
        return min(sum(self.row_linf), math.isqrt(self.domain.n_features * self.row_l2_squared))

    def quantise(self, X: Rows) -> np.ndarray:
        """Return the integer offsets of each row as int64, a function of that row alone."""
        X = as_table(X, self.domain.n_features)
        return self._fill(X, np.empty(X.shape, dtype=np.int64))

    def quantise_into(self, X: Rows, units: np.ndarray) -> np.ndarray:
        """Write the integer offsets of each row into an array, of float64 for products, say."""
        return self._fill(as_table(X, self.domain.n_features), units)

    def _fill(self, X, units):
        # kept now, so that what is kept does not tell whether a row was cut
        _ = self._sides, self._fits
        with np.errstate(over="ignore"):  # a row too far for a float is as far as it can be
            for rows in row_blocks(*X.shape):
                units[rows] = self._units(as_rows(X[rows], self.domain.n_features))
        return units

    def restore(self, units: ArrayLike) -> np.ndarray:
        """Return the points that integer rows stand for."""
        return self.domain.center + self.step * np.asarray(units, dtype=np.float64)

    @cached_property
    def _corners(self):
        # Subtraction, division and truncation round monotonically: the corners are the extremes.
        return self._offsets(np.stack([self.domain.low, self.domain.high]))

    @cached_property
    def _largest(self):
        return np.minimum(np.abs(self._corners).max(axis=0), 2**self.bits)

    @cached_property
    def _fits(self):
        """Whether the norms of all integer rows within the largest coordinates are small enough."""
        return sum(int(value) ** 2 for value in self._largest.tolist()) <= 4**self.bits

    @cached_property
    def _sides(self):
        """The extremes that offsets from a box are cut to: numbers where all are equal."""
        sides = (
            np.maximum(self._corners[0], -self._largest),
            np.minimum(self._corners[1], self._largest),
        )
        return tuple(one_number(side) for side in sides)

    def _units(self, X):
        """Return the integer offsets of a block of rows as float64."""
        if isinstance(self.domain, Box):
            # what is monotone and then cut to its extremes was cut before
            units = np.clip(self._offsets(X), *self._sides)
            return units if self._fits else self._shortened(units)
        if isinstance(self.domain, Ball):
            return self._units_of_ball(X)
        return self._bounded(self._offsets(self.domain.clip(X)))

    def _units_of_ball(self, X):
        """As for any domain; only rows that are not well inside of the ball are looked at twice."""
        offsets = X - one_number(self.domain.center)
        # The order of einsum's sum is its own affair, so it only decides what no order can change.
        squares = np.einsum("ij,ij->i", offsets, offsets)
        unsure = ~(squares < _WELL_INSIDE * self.domain.radius**2)
        offsets /= self.step
        pulled, rows = self._pulled(offsets, np.sqrt(squares))
        units = np.trunc(offsets, out=offsets)
        units[pulled] = rows
        unsure[pulled] = False
        if unsure.any():
            units[unsure] = self._bounded(self._offsets(self.domain.clip(X[unsure])))
        return units

    def _pulled(self, offsets, lengths):
        """Return which rows surely are pulled into a ball about the origin, and to which integers.

        Both this and the clipping of a ball are off by less than the margin, so where no coordinate
        is that close to a whole number but zero they truncate to the same integers, each shorter by
        more than the margin: their norms are within the bound.
        """
        radius = self.domain.radius
        outside = (
            (lengths > _OUTSIDE * radius) & np.isfinite(lengths) & (not self.domain.center.any())
        )
        far = np.flatnonzero(outside)
        offsets = offsets[far]
        offsets *= (radius / lengths[far])[:, None]
        units = np.trunc(offsets)
        # truncation to zero is sure up to a half
        sizes = np.maximum(np.abs(offsets, out=offsets), 0.5, out=offsets)
        gaps = np.abs(np.subtract(sizes, np.rint(sizes), out=sizes), out=sizes)
        sure = gaps.min(axis=1) > _ROUNDING * (units.shape[1] + 64) * 2.0**self.bits
        return far[sure], units[sure]

    def _offsets(self, X):
        offsets = X - one_number(self.domain.center)
        offsets /= self.step
        return np.trunc(offsets, out=offsets)

    def _bounded(self, units):
        # Rounding lets a ball accept rows a hair beyond the corners of its bounding box.
        return self._shortened(np.clip(units, -self._largest, self._largest))

    def _shortened(self, units):
        # A row may come out with an integer norm a hair above the radius; one unit off every
        # coordinate is plenty for those. Squared norms are integers below 2**53, exact whatever the
        # order of the sum.
        for bit in range(self.bits + 1):
            over = np.flatnonzero(np.einsum("ij,ij->i", units, units) > 4**self.bits)
            if not over.size:
                break
            units[over] -= np.sign(units[over]) * np.minimum(np.abs(units[over]), 2**bit)
        return units


def one_number(vector):
    """Return the number that all entries of a vector are, or else the vector: numbers are fast."""
    return vector[0] if (vector == vector[0]).all() else vector
