"""The Euclidean ball as a public domain."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._plain import is_number
from ._domains import (
    LARGEST,
    SMALLEST,
    Domain,
    check_order,
    check_vector,
    check_widths,
    frozen,
    root_above,
    short,
)
from ._grid import all_cells, cell_boxes, check_shape
from ._rowwise import as_rows, row_blocks, row_norms, unit_rows

if TYPE_CHECKING:
    from .._types import Draws, Rows

_SUB_POINTS = 64


class Ball(Domain):
    """A Euclidean ball.

    Parameters
    ----------
    center : array-like of shape (n_features,)
        The middle.
    radius : float
        Distance from `center` that every row is clipped to; above zero.

    Examples
    --------
    >>> from skdp_bary.geometry import Ball
    >>> ball = Ball([0.0, 0.0], radius=1.0)
    >>> ball.clip([[0.0, 2.0], [0.1, 0.2]])
    array([[0. , 1. ],
           [0.1, 0.2]])
    """

    def __init__(self, center: ArrayLike, radius: float) -> None:
        if np.ndim(center) == 0:
            raise ValueError(f"center must hold one number per feature, got {center!r}.")
        self._center = check_vector(center, "center", np.size(center))
        self._radius = _check_radius(radius)
        self._low = frozen(self._center - self._radius)
        self._high = frozen(self._center + self._radius)
        check_widths(self._low, self._high)

    @property
    def low(self) -> np.ndarray:
        """Lower corner of the bounding box."""
        return self._low

    @property
    def high(self) -> np.ndarray:
        """Upper corner of the bounding box."""
        return self._high

    @property
    def center(self) -> np.ndarray:
        """Middle of the ball."""
        return self._center

    @property
    def radius(self) -> float:
        """Radius of the ball."""
        return self._radius

    def radius_about(self, center: ArrayLike) -> float:
        """Return the distance from `center` to the farthest point of the ball, rounded up."""
        center = check_vector(center, "center", self.n_features)
        offsets = (Fraction(a) - Fraction(b) for a, b in zip(center, self._center, strict=True))
        offset = root_above(sum(z * z for z in offsets))
        return self._radius if offset == 0.0 else math.nextafter(offset + self._radius, math.inf)

    def diameter(self, p: int = 2) -> float:
        """Return the diameter of the ball in the l_p distance, `p` >= 1 or infinity."""
        stretch = max(0.0, 1 / check_order(p) - 0.5)
        return 2 * self._radius * self.n_features**stretch

    def contains(self, X: Rows) -> np.ndarray:
        """Return which rows lie in the ball, its surface included."""
        X = as_rows(X, self.n_features)
        inside = np.empty(len(X), dtype=bool)
        for rows in row_blocks(*X.shape):
            inside[rows] = self._holds(X[rows])
        return inside

    def clip(self, X: Rows) -> np.ndarray:
        """Return the nearest point of the ball to each row."""
        clipped = np.add(as_rows(X, self.n_features), 0.0, order="C")
        for rows in row_blocks(*clipped.shape):
            block = clipped[rows]
            inside, unsure, unit, norms = self._looked_at(block)
            outside = ~inside[unsure]
            if outside.any():
                block[unsure[outside]] = self._pulled_inside(unit[outside], norms[outside])
        return clipped

    def sample(self, n: int, rng: Draws) -> np.ndarray:
        """Draw `n` points uniformly from the ball."""
        direction, _ = unit_rows(rng.standard_normal((n, self.n_features)))
        length = self._radius * rng.random((n, 1)) ** (1 / self.n_features)
        return self.clip(self._center + direction * (length / row_norms(direction)[:, None]))

    def cell_prior(self, shape: tuple) -> np.ndarray:
        """Return each cell's share of the volume of the ball, for a grid of `shape` cells.

        Cells that the surface cuts are measured on about 64 points each (one point above six
        features); every cell that meets the ball has a share above zero.
        """
        shape = check_shape(shape, self.n_features)
        cells = all_cells(shape)
        shares = np.empty(len(cells))
        for rows in row_blocks(*cells.shape):
            shares[rows] = self._measure(cells[rows], shape)[0]
        return (shares / shares.sum()).reshape(shape)

    def _holds(self, X):
        return self._looked_at(X)[0]

    def _looked_at(self, X):
        """Return which rows the ball holds; those not well inside, divided by powers of two, too.

        Returns
        -------
        inside : ndarray of bool
        unsure : ndarray of int
        unit, norms : ndarray
            Of the unsure: offsets from the center as of `unit_rows`, and their lengths.
        """
        offset = X - self._center
        # The order of einsum's sum is its own affair, so it only decides what no order can change.
        with np.errstate(over="ignore"):
            inside = np.einsum("ij,ij->i", offset, offset) < 0.999 * self._radius**2
            unsure = np.flatnonzero(~inside)
            unit, exponent = unit_rows(offset[unsure])
            norms = row_norms(unit)
            inside[unsure] = np.ldexp(norms, exponent) <= self._radius
        return inside, unsure, unit, norms

    def _pulled_inside(self, unit, norms):
        # A point computed at the radius may round to just outside: aim a little lower until the
        # same test that `contains` applies accepts it. The last shrink is the center itself.
        factor = (self._radius / norms)[:, None]
        pulled = np.empty_like(unit)
        todo = np.arange(len(unit))
        for bits in range(54, -1, -1):
            shrink = 1.0 - 2.0**-bits if bits < 54 else 1.0
            pulled[todo] = self._center + unit[todo] * (factor[todo] * shrink)
            todo = todo[~self._holds(pulled[todo])]
            if not todo.size:
                break
        return pulled

    @property
    def log_volume(self) -> float:
        """Natural logarithm of the volume."""
        half = self.n_features / 2
        unit = half * math.log(math.pi) - math.lgamma(half + 1)
        return unit + self.n_features * math.log(self._radius)

    def cell_points(self, cells: np.ndarray, shape: tuple) -> np.ndarray:
        """Return a point of the ball for each cell, inside the cell where they meet."""
        return self._measure(cells, shape)[1]

    def _measure(self, cells, shape):
        """Return the share of each cell inside the ball and a point of that part."""
        lower, upper = cell_boxes(cells, self._low, self._high, shape)
        nearest = np.clip(self._center, lower, upper)
        farthest = np.where(self._center - lower > upper - self._center, lower, upper)
        share = self._holds(farthest).astype(float)
        point = lower + (upper - lower) / 2
        cut = np.flatnonzero(self._holds(nearest) & (share == 0.0))
        for rows in row_blocks(len(cut), self.n_features * _SUB_POINTS):
            some = cut[rows]
            share[some], point[some] = self._measure_cut(lower[some], upper[some], nearest[some])
        return share, self.clip(point)

    def _measure_cut(self, lower, upper, nearest):
        """Measure cells that the surface cuts on a regular set of points each."""
        d = self.n_features
        side = max(1, math.floor(_SUB_POINTS ** (1 / d) + 1e-9))
        offsets = (all_cells((side,) * d) + 0.5) / side
        points = lower[:, None, :] + (upper - lower)[:, None, :] * offsets
        inside = self._holds(points.reshape(-1, d)).reshape(len(points), -1)
        count = inside.sum(axis=1)
        # Points of a convex set have their mean in it; where none was hit, the point of the cell
        # nearest to the center is known to be inside.
        mean = (points * inside[:, :, None]).sum(axis=1) / np.maximum(count, 1)[:, None]
        share = np.where(count > 0, count, 0.5) / len(offsets)
        return share, np.where(count[:, None] > 0, mean, nearest)

    def _key(self):
        return self._center.tobytes(), self._radius

    def __reduce__(self):
        return Ball, (self._center, self._radius)

    def __repr__(self):
        return f"Ball(center={short(self._center)}, radius={self._radius})"


def _check_radius(radius):
    if not is_number(radius) or not SMALLEST <= radius <= LARGEST:
        raise ValueError(
            f"radius must be a number between {SMALLEST} and {LARGEST}, got {radius!r}."
        )
    return float(radius)
