"""Public domains that rows are clipped to: Domain, Box and Ball."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from operator import attrgetter

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import BYTES, Draws, Rows, check_real, shown
from .rowwise import (
    all_cells,
    as_rows,
    cell_boxes,
    check_cells,
    check_shape,
    row_blocks,
    row_norms,
    unit_rows,
)

# Public domains: the sets that rows are clipped to. Nothing here has seen data.

LARGEST = 1e100  # keeps x - center finite for every finite row, and squared widths in range
SMALLEST = 1e-100
NARROWEST = 1e-30  # of a fit: powers of distances must stay floats
_REJECTION_ROUNDS = 200
_NARROW = 8  # features; with so few it is faster to go column by column


class Domain(ABC):
    """A public bounded set of points, known before any row is read.

    Domains cannot be changed, compare and hash by value, and can be pickled. They hold no data.
    """

    # both of shape (n_features,); a domain that is built sets them
    low: np.ndarray = property(attrgetter("_low"), doc="Lower corner of the bounding box.")
    high: np.ndarray = property(attrgetter("_high"), doc="Upper corner of the bounding box.")
    n_features: int = property(attrgetter("_low.size"), doc="Number of coordinates of a row.")

    @abstractmethod
    def contains(self, X: Rows) -> np.ndarray:
        """Whether each row lies in the domain, as a boolean array."""

    @abstractmethod
    def clip(self, X: Rows) -> np.ndarray:
        """Return a float64 copy of `X` whose rows all lie in the domain.

        Rows inside are unchanged. The result for a row is a function of that row alone, bit for
        bit, whatever the other rows, the block it comes in and the memory layout.
        """

    @abstractmethod
    def _key(self):
        """Return hashable values that are equal exactly for equal domains."""

    @property
    @abstractmethod
    def log_volume(self) -> float:
        """Natural logarithm of the volume."""

    @abstractmethod
    def cell_points(self, cells: np.ndarray, shape: tuple) -> np.ndarray:
        """Return a representative point of the domain for each of the given cells.

        Parameters
        ----------
        cells : ndarray of int, shape (n_points, n_features)
            Cell indices on a grid that divides the bounding box evenly.
        shape : tuple of int
            Number of cells along each feature.
        """

    def _filled(self):
        """Compute everything that is computed once.

        A released domain that computes something where a row needs it tells of that row.
        """
        for kind in type(self).__mro__:
            for name, value in vars(kind).items():
                if isinstance(value, cached_property):
                    getattr(self, name)

    @cached_property
    def center(self) -> np.ndarray:
        """Middle of the bounding box."""
        return frozen(self.low + (self.high - self.low) / 2)

    @cached_property
    def radius(self) -> float:
        """Upper bound of the Euclidean distance from `center` to any point of the domain."""
        return self.radius_about(self.center)

    def radius_about(self, center: ArrayLike) -> float:
        """Return an upper bound of the Euclidean distance from `center` to any point inside.

        The distance to the farthest corner of the bounding box, exact and rounded up.
        """
        center = check_vector(center, "center", self.n_features)
        columns, counts = np.unique(
            np.stack([self.low, self.high, center]), axis=1, return_counts=True
        )
        # integers over one power of two: a sum of fractions would be reduced term by term
        ratios = [[x.as_integer_ratio() for x in side] for side in columns.tolist()]
        unit = max(divisor for side in ratios for _, divisor in side)
        lows, highs, middles = ([n * (unit // divisor) for n, divisor in side] for side in ratios)
        square = sum(
            max(high - middle, middle - low) ** 2 * count
            for low, high, middle, count in zip(lows, highs, middles, counts.tolist(), strict=True)
        )
        return root_above(Fraction(square, unit**2))

    def cell_prior(self, shape: int | tuple) -> np.ndarray:
        """Return each cell's share of the volume of the domain, for a grid of `shape` cells.

        The grid divides the bounding box evenly. The shares are public and add up to one.
        """
        shape = check_shape(shape, self.n_features)
        return np.full(shape, 1.0 / math.prod(shape))

    def sample_in_cells(self, cells: ArrayLike, shape: tuple, rng: Draws) -> np.ndarray:
        """Draw one point uniformly from the part inside the domain of each given cell.

        Parameters
        ----------
        cells : array of int, shape (n_points, n_features)
            Cell indices; repeat a cell to draw several points from it.
        shape : tuple of int
            Number of cells along each feature.
        rng : numpy.random.Generator or numpy.random.RandomState
            Source of randomness.

        Returns
        -------
        points : ndarray of shape (n_points, n_features)
            Cells that hold too little of the domain to be hit give their representative point.
        """
        shape = check_shape(shape, self.n_features, max_cells=None)
        cells = check_cells(cells, shape)
        lower, upper = cell_boxes(cells, self.low, self.high, shape)
        points = np.empty(lower.shape)
        todo = np.arange(len(cells))
        for _ in range(_REJECTION_ROUNDS):
            width = upper[todo] - lower[todo]
            points[todo] = lower[todo] + width * rng.random(width.shape)
            todo = todo[~self.contains(points[todo])]
            if not todo.size:
                return points
        points[todo] = self.cell_points(cells[todo], shape)
        return points

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self):
        return hash((type(self).__name__, self._key()))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


class Box(Domain):
    """An axis-parallel box.

    Parameters
    ----------
    low, high : array-like of shape (n_features,)
        Lower and upper bound of each feature, ``low < high``; one of them may be a number.

    Examples
    --------
    >>> from skdp_bary.geometry import Box
    >>> box = Box([0, 0], [4, 3])
    >>> box.radius
    2.5
    >>> box.clip([[5.0, 1.0]])
    array([[4., 1.]])
    """

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        if np.ndim(low) == 0 and np.ndim(high) == 0:
            raise ValueError(
                f"low and high must hold one number per feature, got low={low!r}, high={high!r}: "
                "Box([0, 0], 1) is the unit square."
            )
        length = max(np.size(low), np.size(high))
        self._low = check_vector(low, "low", length)
        self._high = check_vector(high, "high", length)
        check_widths(self._low, self._high)

    @classmethod
    def of_features(cls, pairs: Iterable[tuple[float, float]]) -> Box:
        """Return the box that has one (low, high) pair for each feature.

        Parameters
        ----------
        pairs : iterable of (low, high)
            In the order of the features.

        Returns
        -------
        box : Box

        Examples
        --------
        >>> from skdp_bary.geometry import Box
        >>> Box.of_features([(-97.95, -97.55), (30.1, 30.5)])
        Box(low=[-97.95  30.1 ], high=[-97.55  30.5 ])
        """
        pairs = list(pairs)
        if not pairs or not all(map(is_pair, pairs)):
            raise ValueError(
                f"pairs must hold one (low, high) for each feature, got {pairs!r}, for example "
                "[(0, 1), (18, 90)]."
            )
        low, high = zip(*pairs, strict=True)
        return cls(list(low), list(high))

    def contains(self, X: Rows) -> np.ndarray:
        """Whether each row lies in the box, bounds included."""
        X = as_rows(X, self.n_features)
        if self.n_features > _NARROW:
            return ((self._low <= X) & (self._high >= X)).all(axis=1)
        inside = np.ones(len(X), dtype=bool)
        for values, low, high in zip(X.T, self._low, self._high, strict=True):
            inside &= values >= low
            inside &= values <= high
        return inside

    def clip(self, X: Rows) -> np.ndarray:
        """Return the nearest point of the box to each row."""
        clipped = np.clip(as_rows(X, self.n_features), self._low, self._high, order="C")
        clipped += 0.0  # minimum and maximum may return either zero; adding 0.0 leaves only +0.0
        return clipped

    @property
    def log_volume(self) -> float:
        """Natural logarithm of the volume."""
        return float(np.log(self._high - self._low).sum())

    def cell_points(self, cells: np.ndarray, shape: tuple) -> np.ndarray:
        """Return the middle of each cell."""
        lower, upper = cell_boxes(cells, self._low, self._high, shape)
        return lower + (upper - lower) / 2

    def _key(self):
        return self._low.tobytes(), self._high.tobytes()

    def __reduce__(self):
        return Box, (self._low, self._high)

    def __repr__(self):
        return f"Box(low={short(self._low)}, high={short(self._high)})"


def is_pair(value):
    """Whether a value holds two numbers, and is no text."""
    return not isinstance(value, (str, bytes)) and np.shape(value) == (2,)


def check_vector(value, name, length):
    """Return a read-only finite vector of `length` numbers; a single number is repeated."""
    if length < 1:
        raise ValueError(f"{name} must hold at least one number, got {shown(value)}.")
    try:
        numbers = not isinstance(value, BYTES) and np.array(value).dtype.kind in "iufO"
        vector = np.array(value if numbers else np.nan, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        vector = np.array(np.nan)
    if vector.ndim == 0:
        vector = np.full(length, vector)
    if vector.shape != (length,):
        raise ValueError(
            f"{name} must hold one number per feature ({length}), got shape {vector.shape}."
        )
    if not (np.abs(vector) <= LARGEST).all():
        raise ValueError(f"{name} must hold finite numbers up to {LARGEST}, got {shown(value)}.")
    return frozen(vector + 0.0)


def check_widths(low, high):
    if not (low < high).all():
        j = int((low < high).argmin())
        raise ValueError(
            f"bounds must be (low, high) with low < high for every feature, got low={low[j]}, "
            f"high={high[j]} for feature {j}. Two lists are all lows and all highs; for one pair "
            "per feature use Box.of_features."
        )
    if not (high - low >= SMALLEST).all():
        raise ValueError(
            f"bounds must be at least {SMALLEST} wide for every feature, {NARROWEST} for a fit. "
            "Scale the rows first, for example X * 1e100 with bounds * 1e100."
        )


def root_above(square):
    """Return the smallest float found whose square is at least the fraction `square`."""
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


def frozen(array):
    array.flags.writeable = False
    return array


def short(vector):
    return np.array2string(vector, threshold=6, edgeitems=2, max_line_width=1000)


# The Euclidean ball as a public domain.

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
            raise ValueError(
                f"center must hold one number per feature, got {center!r}: [0.0, 0.0] in the plane."
            )
        self._center = check_vector(center, "center", np.size(center))
        self._radius = check_real(radius, "radius", low=SMALLEST, high=LARGEST)
        self._low = frozen(self._center - self._radius)
        self._high = frozen(self._center + self._radius)
        check_widths(self._low, self._high)

    center: np.ndarray = property(attrgetter("_center"), doc="Middle of the ball.")
    radius: float = property(attrgetter("_radius"), doc="Radius of the ball.")

    def radius_about(self, center: ArrayLike) -> float:
        """Return the distance from `center` to the farthest point of the ball, rounded up."""
        center = check_vector(center, "center", self.n_features)
        offsets = (Fraction(a) - Fraction(b) for a, b in zip(center, self._center, strict=True))
        offset = root_above(sum(z * z for z in offsets))
        return self._radius if offset == 0.0 else math.nextafter(offset + self._radius, math.inf)

    def contains(self, X: Rows) -> np.ndarray:
        """Whether each row lies in the ball, its surface included."""
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
            todo, unit = unsure[outside], unit[outside]
            factor = (self._radius / norms[outside])[:, None]
            # A point computed at the radius may round to just outside: aim a little lower until the
            # same test that `contains` applies accepts it. The last shrink is the center itself.
            for bits in range(54, -1, -1):
                if not todo.size:
                    break
                shrink = 1.0 - 2.0**-bits if bits < 54 else 1.0
                block[todo] = self._center + unit * (factor * shrink)
                left = ~self._holds(block[todo])
                todo, unit, factor = todo[left], unit[left], factor[left]
        return clipped

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
        """Whether the ball holds each row; those not well inside, divided by powers of two, too.

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
        d, nearest = self.n_features, np.clip(self._center, lower, upper)
        farthest = np.where(self._center - lower > upper - self._center, lower, upper)
        share = self._holds(farthest).astype(float)
        point = lower + (upper - lower) / 2
        cut = np.flatnonzero(self._holds(nearest) & (share == 0.0))
        side = max(1, math.floor(_SUB_POINTS ** (1 / d) + 1e-9))
        offsets = (all_cells((side,) * d) + 0.5) / side
        for rows in row_blocks(len(cut), d * _SUB_POINTS):
            some = cut[rows]
            # shape (n_cells, n_offsets, d): a regular set of points of each cell
            points = lower[some, None] + (upper[some] - lower[some])[:, None, :] * offsets
            inside = self._holds(points.reshape(-1, d)).reshape(len(points), -1)
            count = inside.sum(axis=1)
            # Points of a convex set have their mean in it; where none was hit, the point of the
            # cell nearest to the center is known to be inside.
            mean = (points * inside[:, :, None]).sum(axis=1) / np.maximum(count, 1)[:, None]
            share[some] = np.where(count > 0, count, 0.5) / len(offsets)
            point[some] = np.where(count[:, None] > 0, mean, nearest[some])
        return share, self.clip(point)

    def _key(self):
        return self._center.tobytes(), self._radius

    def __reduce__(self):
        return Ball, (self._center, self._radius)

    def __repr__(self):
        return f"Ball(center={short(self._center)}, radius={self._radius})"
