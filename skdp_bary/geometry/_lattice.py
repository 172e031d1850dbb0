"""The integer lattices that rows of a public domain are rounded to.

Noise is drawn on integers, so rows become integers before anything is added up. Sums of integers
do not depend on order, chunks or machines, and how far one row can move them is an exact integer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from ._domains import Domain, check_vector
from ._rowwise import as_table, row_blocks

if TYPE_CHECKING:
    from .._types import Rows

MAX_CENTRED_BITS = 26  # squared norms stay below 2**53, where float64 adds integers exactly


@dataclass(frozen=True)
class CentredLattice:
    """Integer offsets from a public center, rounded toward zero: for sums.

    Row ``x`` becomes ``trunc((x - center) / step)`` with ``step = reach / 2**bits``, where `reach`
    is the distance from `center` that no point of the domain exceeds. Rows are clipped to the
    domain first, and a row whose integer norm still came out above ``2**bits`` by rounding is
    moved toward zero until it does not, so the bounds below hold exactly, not up to rounding.

    Sensitivity: adding or removing a row moves a sum of integer rows by at most `row_l1` in L1 and
    by at most the square root of `row_l2_squared` in L2; replacing a row, by at most twice that.

    Parameters
    ----------
    domain : Domain
        Public domain of the rows.
    bits : int
        Binary digits of the largest norm, 1 to 26: the L2 norm of an integer row is at most
        ``2**bits``, so dot products of integer rows are exact in float64 in any order.
    center : array-like of shape (n_features,), optional
        Public point that becomes zero; the center of the domain by default.

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
    >>> from skdp_bary.geometry import Ball, CentredLattice
    >>> lattice = CentredLattice(Ball([0.0, 0.0], radius=1.0), bits=3)
    >>> lattice.quantise([[0.6, -0.8], [30.0, 0.0]])
    array([[ 4, -6],
           [ 8,  0]])
    >>> lattice.step, lattice.row_l2_squared
    (0.125, 64)
    """

    domain: Domain
    bits: int
    center: tuple | None = None
    _center: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        bits = self.bits
        if not isinstance(bits, Integral) or not 1 <= bits <= MAX_CENTRED_BITS:
            raise ValueError(f"bits must be an integer in [1, {MAX_CENTRED_BITS}], got {bits!r}.")
        center = self.domain.center if self.center is None else self.center
        center = check_vector(center, "center", self.domain.n_features)
        object.__setattr__(self, "_center", center)
        object.__setattr__(self, "center", tuple(center.tolist()))

    @cached_property
    def step(self) -> float:
        """Width of one lattice unit."""
        return self.domain.radius_about(self._center) / 2**self.bits

    @cached_property
    def row_linf(self) -> Any:
        """Largest absolute value of each coordinate."""
        return tuple(int(value) for value in self._largest)

    @cached_property
    def row_l2_squared(self) -> Any:
        """Largest squared L2 norm of an integer row."""
        return min(4**self.bits, sum(value * value for value in self.row_linf))

    @cached_property
    def row_l1(self) -> Any:
        """Largest L1 norm of an integer row, at most ``sqrt(n_features)`` times the L2 norm."""
        return min(sum(self.row_linf), math.isqrt(self.domain.n_features * self.row_l2_squared))

    def quantise(self, X: Rows) -> Any:
        """Return the integer offsets of each row as int64, a function of that row alone."""
        X = as_table(X, self.domain.n_features)
        units = np.empty(X.shape, dtype=np.int64)
        for rows in row_blocks(*X.shape):
            units[rows] = self._bounded(self._offsets(self.domain.clip(X[rows])))
        return units

    def restore(self, units: Any) -> Any:
        """Return the points that integer rows stand for."""
        return self._center + self.step * np.asarray(units, dtype=np.float64)

    @cached_property
    def _largest(self):
        # Subtraction, division and truncation round monotonically: the corners are the extremes.
        corners = self._offsets(np.stack([self.domain.low, self.domain.high]))
        return np.minimum(np.abs(corners).max(axis=0), 2**self.bits)

    def _offsets(self, X):
        return np.trunc((X - self._center) / self.step)

    def _bounded(self, units):
        # Rounding lets a ball accept rows a hair beyond the corners of its bounding box, or of
        # integer norm a hair above the radius; one unit off every coordinate is plenty for those.
        # Squared norms are integers below 2**53, exact whatever the order of the sum.
        units = np.clip(units, -self._largest, self._largest)
        for bit in range(self.bits + 1):
            over = np.flatnonzero(np.einsum("ij,ij->i", units, units) > 4**self.bits)
            if not over.size:
                break
            units[over] -= np.sign(units[over]) * np.minimum(np.abs(units[over]), 2**bit)
        return units
