"""Integer lattices that rows and their projections are rounded to, and the public directions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import Rows, check_integer
from .domains import Ball, Box, Domain
from .linear_maps import haar_frame, tight_frame
from .rowwise import as_rows, as_table, row_blocks

# The integer lattices that rows of a public domain are rounded to.

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
    >>> from skdp_bary.geometry.lattices import CentredLattice
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
        check_integer(self.bits, "bits", low=1, high=MAX_CENTRED_BITS)

    @cached_property
    def step(self) -> float:
        """Width of one lattice unit."""
        return self.domain.radius / 2**self.bits

    @cached_property
    def row_linf(self) -> tuple[int, ...]:
        """Largest absolute value of each coordinate."""
        return tuple(map(int, self._largest))

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
        return self.quantise_into(X, np.empty(X.shape, dtype=np.int64))

    def quantise_into(self, X: Rows, units: np.ndarray) -> np.ndarray:
        """Write the integer offsets of each row into an array, of float64 for products, say."""
        X = as_table(X, self.domain.n_features)
        # kept now, so that what is kept does not tell whether a row was cut
        _ = self._sides, self._fits
        with np.errstate(over="ignore"):  # a row too far for a float is as far as it can be
            for rows in row_blocks(*X.shape):
                units[rows] = self._units(as_rows(X[rows], self.domain.n_features))
        return units

    def restore(self, units: ArrayLike) -> np.ndarray:
        """Return the points that integer rows represent."""
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
        return sum(value * value for value in self.row_linf) <= 4**self.bits

    @cached_property
    def _sides(self):
        """The extremes that offsets from a box are cut to: numbers where all are equal."""
        low, high = self._corners
        low, high = np.maximum(low, -self._largest), np.minimum(high, self._largest)
        return one_number(low), one_number(high)

    def _units(self, X):
        """Return the integer offsets of a block of rows as float64."""
        if isinstance(self.domain, Box):
            # what is monotone and then cut to its extremes was cut before
            units = np.clip(self._offsets(X), *self._sides)
            return units if self._fits else self._shortened(units)
        if not isinstance(self.domain, Ball):
            return self._bounded(self._offsets(self.domain.clip(X)))
        # as for any domain, but only rows that are not well inside of the ball are looked at twice
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
        """Rows that surely are pulled into a ball about the origin, and their integers.

        Both this and the clipping of a ball are off by less than the margin, so where no coordinate
        is that close to a whole number but zero they truncate to the same integers, each shorter by
        more than the margin: their norms are within the bound.
        """
        radius, at_origin = self.domain.radius, not self.domain.center.any()
        outside = (lengths > _OUTSIDE * radius) & np.isfinite(lengths) & at_origin
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


# Integer levels of rows projected on public directions, a function of each row alone.

_ROW_BITS = 24
_DIRECTION_BITS = 24
_LEVEL_BITS = 12
_BLOCK_VALUES = 1 << 19  # of a block of projections: cheap to count, small beside a cache
_UNIT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class SliceLattice:
    """Levels of the projections of rows on unit directions.

    A row is clipped to the domain, taken relative to its center and truncated to an integer vector
    of norm at most ``2**24``; a direction is truncated to an integer vector of norm at most
    ``2**24``. Their product is below ``2**49`` in every partial sum, which float64 adds exactly in
    any order (Cauchy and Schwarz), so blocks and threads cannot move a row to another level. The
    product is rounded to one of 4097 levels, ``radius / 2048`` apart.

    Parameters
    ----------
    domain : Domain
        Public domain of the rows.
    directions : ndarray of shape (n_features, n_directions)
        Public unit columns.

    Attributes
    ----------
    directions : ndarray of shape (n_features, n_directions)
        As truncated, in units of a unit vector.
    norm : float
        Upper bound of the largest singular value of the truncated directions: no row of length r
        has projections whose root of the sum of squares is above ``norm * r``.
    step : float
        Distance between levels.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.geometry import Box
    >>> from skdp_bary.geometry.lattices import SliceLattice
    >>> lattice = SliceLattice(Box([-1.0], [1.0]), np.array([[1.0]]))
    >>> list(lattice.levels(np.array([[-1.0], [0.0], [0.5]])))
    [(slice(0, 3, None), slice(0, 1, None), array([[   0, 2048, 3072]]))]
    """

    domain: Domain
    directions: np.ndarray

    n_levels = (1 << _LEVEL_BITS) + 1
    center_level = 1 << (_LEVEL_BITS - 1)

    def __post_init__(self):
        directions = check_directions(self.directions, self.domain.n_features)
        unit = 2.0**-_DIRECTION_BITS
        truncated = np.trunc(directions / np.linalg.norm(directions, axis=0) / unit)
        # integers whose squares add up below 2**53; lengths above one come from rounding alone
        over = np.flatnonzero((truncated**2).sum(axis=0) > 4.0**_DIRECTION_BITS)
        truncated[:, over] -= np.sign(truncated[:, over])
        directions = truncated * unit
        directions.setflags(write=False)
        object.__setattr__(self, "directions", directions)

    @property
    def n_directions(self):
        """Number of directions."""
        return self.directions.shape[1]

    @cached_property
    def step(self):
        """Distance between levels."""
        return self.domain.radius / self.center_level

    @cached_property
    def projected_center(self):
        """The center of the domain on every direction."""
        return self.directions.T @ self.domain.center

    @cached_property
    def norm(self):
        """Upper bound of the largest singular value of the directions."""
        d, k = self.directions.shape
        wide = self.directions if d <= k else self.directions.T
        gram = wide @ wide.T
        # rounding: of the products (d + k) ulps of the trace k, of the eigenvalues about as much
        error = 8.0 * (d + k) * k * 2.0**-52
        return math.sqrt(float(np.linalg.eigvalsh(gram)[-1]) + error) * (1.0 + 2.0**-40)

    @property
    def spread(self):
        """Upper bound of the Euclidean distance between the levels of two rows.

        Two integer rows are at most a diameter apart; rounding adds less than one level a
        direction.
        """
        return 2.0 * self.norm * self.center_level + math.sqrt(self.n_directions)

    @property
    def reach(self):
        """Upper bound of the Euclidean length of the levels of a row, less the center level."""
        return self.norm * self.center_level + 0.5 * math.sqrt(self.n_directions)

    def levels(self, X):
        """Yield (rows, directions, levels) for blocks of `X`.

        The first two are slices; the levels are int64 of shape (n_directions, n_rows) of the block.
        """
        rows_of_block = int(np.clip((1 << 22) // self.domain.n_features, 1 << 10, 1 << 16))
        directions_of_block = max(1, _BLOCK_VALUES // rows_of_block)
        across = self.directions.T * 2.0 ** (_LEVEL_BITS - 1 - _ROW_BITS)
        # a constant column adds the center and one half, so that truncation rounds to nearest
        middle = SliceLattice.center_level + 0.5
        across = np.column_stack([across, np.full(len(across), middle)])
        lattice = CentredLattice(self.domain, _ROW_BITS)
        units = np.ones((min(rows_of_block, len(X)), X.shape[1] + 1))
        for first in range(0, len(X), rows_of_block):
            rows = slice(first, min(first + rows_of_block, len(X)))
            block = units[: rows.stop - first]
            lattice.quantise_into(X[rows], block[:, :-1])
            for start in range(0, len(across), directions_of_block):
                some = slice(start, min(start + directions_of_block, len(across)))
                yield rows, some, (across[some] @ block.T).astype(np.int64)

    def restore(self, levels):
        """Return the projections, relative to the center of the domain, that levels represent."""
        return (np.asarray(levels) - self.center_level) * self.step


def check_directions(directions, n_features):
    """Return public directions as an array of unit columns, or raise."""
    directions = np.asarray(directions, dtype=np.float64)
    if directions.ndim != 2 or len(directions) != n_features or not directions.shape[1]:
        raise ValueError(
            f"directions must have shape ({n_features}, n_directions), got {directions.shape}. "
            "Pass one unit column per direction."
        )
    lengths = np.linalg.norm(directions, axis=0)
    if not (np.abs(lengths - 1.0) <= _UNIT_TOLERANCE).all():
        raise ValueError(
            "directions must be unit columns: divide by np.linalg.norm(directions, axis=0)."
        )
    return directions


# Slices of rows whose features are first scaled to the width of their public domain.

_UNIT_SLICES_LEVEL_BITS = 10
_DIRECTIONS = 60  # at most: whole frames, or orthonormal ones above so many features
_PLANES = 120  # two directions each
_ROWS = 1 << 12  # whose cells are found at once


@dataclass(frozen=True, eq=False)
class UnitSlices(SliceLattice):
    """Levels of rows on slices of the unit box, or of a ball that is as wide.

    A row is clipped to its domain, and every feature becomes its distance from the center over its
    scale; from there on it is a row of a :class:`SliceLattice`. Each value is scaled by itself, so
    the levels of a row are a function of that row alone.

    Parameters
    ----------
    domain : Box or Ball
        Of scaled rows.
    directions : ndarray of shape (n_features, n_directions)
        Public unit columns.
    rows : Domain
        Public domain of the rows as they come.
    scale : ndarray of shape (n_features,)
        What is one unit of each feature.
    """

    rows: Domain
    scale: np.ndarray

    # fewer than of SliceLattice: cells are wide, and windows over levels take time
    n_levels = (1 << _UNIT_SLICES_LEVEL_BITS) + 1
    center_level = 1 << (_UNIT_SLICES_LEVEL_BITS - 1)

    def levels(self, X):
        """Yield (rows, directions, levels) for blocks of `X`, as ``SliceLattice`` does."""
        fewer = (SliceLattice.n_levels - 1).bit_length() - 1 - _UNIT_SLICES_LEVEL_BITS
        for rows, some, levels in self.fine_levels(X):
            yield rows, some, levels >> fewer

    def fine_levels(self, X):
        """Yield the same before levels are made fewer: four times as many."""
        return super().levels(self.scaled(X))

    def scaled(self, X):
        """Return rows in units of their domain."""
        return (self.rows.clip(X) - self.rows.center) / self.scale

    def unscaled(self, points):
        """Return the rows that scaled points represent."""
        return self.rows.center + np.asarray(points) * self.scale


@dataclass(frozen=True, eq=False)
class UnitPlanes:
    """Squares that rows fall into on public planes, each spanned by two slices.

    Both slices of a plane are cut into pieces of equal width, which are numbered in turn from 0 to
    31 and then from 0 again; two such numbers make one of 1024 squares. The center of the domain
    is at the lower border of square 0. On the line both slices are one; pieces of the second are
    wider there, so that rows far apart do not get two equal numbers. Squares stand where levels of
    slices do, so everything that counts rows by levels counts them by squares.

    Parameters
    ----------
    slices : UnitSlices
        Twice as many as there are planes; two in a row span one.
    width : int
        Fine levels in a piece of the first slice.
    """

    slices: UnitSlices
    width: int

    side = 32
    n_levels = side**2
    center_level = 0

    @property
    def n_directions(self):
        """Number of planes."""
        return self.slices.n_directions // 2

    def levels(self, X):
        """Yield (rows, planes, squares) for blocks of `X`, as ``SliceLattice`` does."""
        fine = np.arange(SliceLattice.n_levels) - SliceLattice.center_level
        other = self.width if self.slices.rows.n_features > 1 else self.width * 7 // 4
        piece_of = [(fine // width % self.side).astype(np.uint8) for width in (self.width, other)]
        for start in range(0, len(X), _ROWS):
            part = slice(start, min(start + _ROWS, len(X)))
            pieces = np.empty((self.slices.n_directions, part.stop - start), dtype=np.uint8)
            for rows, some, levels in self.slices.fine_levels(X[part]):
                for direction, line in enumerate(levels, some.start):
                    pieces[direction, rows] = piece_of[direction % 2][line]
            squares = pieces[::2] * np.int64(self.side) + pieces[1::2]
            yield part, slice(0, self.n_directions), squares


def unit_slices(domain, directions):
    """Return the slices of a public domain.

    A box, or the box around a mask, becomes ``[-1, 1]`` in every feature. A ball becomes one on
    which a uniform row varies as much on a slice as in that box.

    Parameters
    ----------
    domain : Box, Ball or Mask
    directions : ndarray of shape (n_features, n_directions)
    """
    d = domain.n_features
    if isinstance(domain, Ball):
        radius = math.sqrt((d + 2.0) / 3.0)
        unit = Ball(np.zeros(d), radius)
        scale = np.full(d, domain.radius / radius)
    else:
        unit = Box(np.full(d, -1.0), np.full(d, 1.0))
        scale = (domain.high - domain.low) / 2.0
    return UnitSlices(unit, directions, domain, np.where(scale > 0.0, scale, 1.0))


def unit_planes(slices, width):
    """Return planes in the domain of slices, with pieces about so wide, in units of that domain.

    Parameters
    ----------
    slices : UnitSlices
    width : float
    """
    directions = spanning_directions(slices.rows.n_features)
    spanning = UnitSlices(slices.domain, directions, slices.rows, slices.scale)
    step = slices.domain.radius / SliceLattice.center_level
    return UnitPlanes(spanning, max(1, round(width / step)))


@lru_cache(maxsize=8)
def slicing_directions(n_features):
    """Return the public directions of two-sample tests: up to 60, in whole frames."""
    whole = max(1, _DIRECTIONS // n_features) * n_features
    count = min(whole, _DIRECTIONS) if n_features > 1 else 1
    return public_directions("tight", count, n_features)


@lru_cache(maxsize=8)
def spanning_directions(n_features):
    """Return the public directions of the planes of two-sample tests, two in a row for each."""
    if n_features == 1:
        return np.ones((1, 2))
    whole = max(1, 2 * _PLANES // n_features) * n_features
    count = min(whole // 2 * 2, 2 * _PLANES)
    return public_directions("tight", count, n_features)


# Public directions of slices: the same for every fit, so that releases can be compared.

DIRECTIONS = ("tight", "iid")

_LEAST = 100  # the error of few slices against time
_MOST = 1000  # ... where there are more features than that
_SEED = 20210701  # any public number would do


def direction_count(directions, n_projections, n_features):
    """Return the number of directions: the one given, or at least 100 in whole frames.

    More directions cost no accuracy: noise grows with the root of their number, and so do the
    numbers that it is averaged over. Above 1000 features 1000 orthonormal directions are taken. On
    the line all directions are one.
    """
    if not isinstance(directions, str):
        given = check_directions(directions, n_features).shape[1]
        if n_projections is not None and n_projections != given:
            raise ValueError(
                f"n_projections must be None or {given}, the number of columns of directions, got "
                f"{n_projections!r}. Leave n_projections out where directions are given."
            )
        return given
    if n_projections is not None:
        return n_projections
    if n_features == 1:
        return 1
    return n_features * math.ceil(_LEAST / n_features) if n_features <= _MOST else _MOST


def public_directions(directions, n_projections, n_features):
    """Return the directions of an estimator's parameters, of shape (n_features, n_directions).

    Names represent matrices drawn from a public seed and the two numbers alone. The
    charge rests on the largest singular value of the matrix, for every row and every matrix.
    """
    count = direction_count(directions, n_projections, n_features)
    if not isinstance(directions, str):
        return np.asarray(directions, dtype=np.float64)
    rng = np.random.default_rng([_SEED, n_features, count])
    if directions == "iid":
        columns = rng.standard_normal((n_features, count))
        return columns / np.linalg.norm(columns, axis=0)
    frame = tight_frame if count >= n_features else haar_frame
    return frame(n_features, count, rng)
