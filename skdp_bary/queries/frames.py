"""Integer rows in a released frame: one rounding, second moments, histograms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from ..desk.query import Query
from ..geometry.domains import Box, Domain
from ..privacy.mechanisms import Sensitivity
from ..rows.persons import Chunk
from .sizes import SYMMETRIC, PlaceCounts, of_outer_products, second_moment, triangles_of, zeros_of

# Integer rows in a released frame: one rounding, then exact arithmetic at the speed of BLAS.

_AXIS_BITS = 20
_BLOCK_VALUES = 1 << 18  # temporaries stay in cache, and calls of numpy are few
_NARROW = 32
_SHORT = np.iinfo(np.int16).max
_MOST_KEPT = 2  # bytes of rows, for one of integers that stay
_WIDE = 8  # from which keeping squared lengths saves more than their bytes cost
_SQUARE_BYTES = 8


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
    def kept(self) -> np.ndarray:
        """The leading directions."""
        return self.vectors[: len(self.variances)]

    @cached_property
    def integers(self) -> np.ndarray:
        """The leading directions in units of ``2**-20``."""
        return np.rint(self.kept * 2.0**_AXIS_BITS)


@dataclass(frozen=True, eq=False)
class Frame:
    """A map from rows to integers.

    Parameters
    ----------
    domain : Box, Ball or Mask
    center : ndarray of shape (n_features,)
        Public or released point that becomes zero.
    bits : int
        Integer rows have norm at most about ``2**bits``.
    axes : Axes or None
        Where rows are mapped to after centring; None: they stay as they are.
    kept : bool
        Whether integer rows stay in memory while the rows do, for a frame that several questions
        are asked in: 2 bytes a value where public bounds allow it, else 4, and 8 a row. Where all
        that stays would take more than half of the memory of the rows, what came first goes.
    """

    domain: object
    center: np.ndarray
    bits: int
    axes: Axes | None = None
    kept: bool = False
    _before: Frame | None = field(default=None, init=False, repr=False)

    @cached_property
    def step(self) -> float:
        """Width of one lattice unit, a power of two."""
        if self._before is not None:
            return self._before.step
        return 2.0 ** (octave_about(self.domain, self.center) - self.bits)

    @property
    def width(self) -> int:
        """Number of coordinates of an integer row."""
        return len(self.center) if self.axes is None else len(self.axes.variances)

    def in_units(self, points: np.ndarray) -> np.ndarray:
        """Return points, given relative to the center, in lattice units, not far off the domain."""
        return self._integers(points, 2.0 ** (self.bits + 1))

    def along(self, axes: Axes) -> Frame:
        """Return the frame in which the integer rows of this one are mapped to axes."""
        return self._followed_by(self.center, axes)

    def moved(self, center: np.ndarray) -> Frame:
        """Return the frame of the same lattice about another point, at most ``2**bits`` units away.

        Its integer rows are those of this frame less a vector of integers, of norm at most about
        ``2**(bits + 1)``. If rows stay in memory they are moved there, and leave this frame.
        """
        way = self._integers((center - self.center)[None], 2.0**self.bits)[0]
        return self._followed_by(self.center + way * self.step)

    def _integers(self, points, longest):
        """Return points in lattice units, none longer than `longest`."""
        lengths = np.sqrt((points**2).sum(axis=1, keepdims=True)) / self.step
        return np.trunc(points / self.step * (longest / np.maximum(lengths, longest)))

    def _followed_by(self, center, axes=None):
        frame = Frame(self.domain, center, self.bits, axes, self.kept)
        object.__setattr__(frame, "_before", self)
        return frame

    def without_axes(self) -> Frame:
        """Return the frame in which rows are only centered."""
        if self.axes is None:
            return self
        return self._before or Frame(self.domain, self.center, self.bits)

    def blocks(self, chunk: Chunk, largest: int) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """Yield the integer rows of at most `largest` rows at a time, and their masses or None."""
        return ((rows, masses) for rows, _, masses in self._blocks(chunk, largest))

    def measured_blocks(
        self, chunk: Chunk, largest: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """Yield integer rows, the squares of their lengths, and their masses or None."""
        for rows, squares, masses in self._blocks(chunk, largest):
            yield rows, squared_lengths(rows) if squares is None else squares, masses

    def _blocks(self, chunk, largest):
        kept = self._kept_of(chunk)
        if kept is None:
            yield from ((rows, None, masses) for rows, masses in self._fresh(chunk, largest))
            return
        integers, squares = kept
        for part in self._parts(len(integers), largest):
            lengths = squares[part] if self.is_wide else None
            yield integers[part].astype(float), lengths, chunk.masses_of(part)

    def _kept_of(self, chunk):
        """Return all integer rows of a chunk, and their squared lengths if wide, or None."""
        if not self.kept or self in chunk.memo:
            return chunk.memo.get(self)
        room = chunk.X.nbytes // _MOST_KEPT
        size = len(chunk.X) * self._row_bytes
        if size > room:
            return None
        centered = self.without_axes()
        if centered is not self and size + len(chunk.X) * centered._row_bytes <= room:
            centered._kept_of(chunk)  # later questions without the axes come back to them
        moved = None if centered is not self else chunk.memo.pop(self._before, None)
        before = [frame for frame in chunk.memo if isinstance(frame, Frame)]
        sizes = [sum(array.nbytes for array in chunk.memo[frame]) for frame in before]
        while before and size + sum(sizes) > room:
            del chunk.memo[before.pop(0)], sizes[0]
        chunk.memo[self] = self._keep(chunk, moved)
        return chunk.memo[self]

    def _fresh(self, chunk, largest):
        """Yield integer rows and masses that are not kept."""
        before = self._before
        if before is None:
            for part in self._parts(len(chunk.X), largest):
                yield self.integer_rows(chunk.X[part]), chunk.masses_of(part)
        else:
            blocks = before.blocks if before in chunk.memo else before._fresh
            for rows, masses in blocks(chunk, largest):
                yield self._from_before(rows), masses

    def _keep(self, chunk, moved):
        """Return what stays, written over that of the frame moved from where it is as large."""
        if moved is not None and moved[0].dtype == self._dtype:
            integers, squares = moved
            parts = self._parts(len(integers), len(integers))
            fresh = (self._from_before(integers[part].astype(float)) for part in parts)
        else:
            integers = np.empty((len(chunk.X), self.width), dtype=self._dtype)
            squares = np.empty(len(integers) if self.is_wide else 0)
            fresh = (rows for rows, _ in self._fresh(chunk, len(integers)))
        end = 0
        for rows in fresh:
            start, end = end, end + len(rows)
            integers[start:end] = rows
            if self.is_wide:
                squares[start:end] = squared_lengths(rows)
        return integers, squares

    @property
    def is_wide(self) -> bool:
        """Whether rows are long beside a number of each that is kept too, and leave room for it."""
        room = len(self.center) * np.dtype(float).itemsize // _MOST_KEPT
        return self.width >= _WIDE and self._integer_bytes + _SQUARE_BYTES <= room

    @property
    def _integer_bytes(self):
        return self.width * np.dtype(self._dtype).itemsize

    @property
    def _row_bytes(self):
        return self._integer_bytes + _SQUARE_BYTES * self.is_wide

    @property
    def _dtype(self):
        if self.axes is not None:
            return np.int32
        low, high = self.domain.low, self.domain.high
        farthest = np.maximum(high - self.center, self.center - low).max() / self.step
        return np.int16 if farthest < _SHORT else np.int32

    def _parts(self, n_rows, largest):
        size = max(1, min(largest, _BLOCK_VALUES // self.width))
        return (slice(start, start + size) for start in range(0, n_rows, size))

    def integer_rows(self, X: np.ndarray) -> np.ndarray:
        """Return integer rows as float64, each a function of its row alone."""
        if self._before is not None:
            return self._from_before(self._before.integer_rows(X))
        if isinstance(self.domain, Box):
            low, high = (_repeated(each, len(X)) for each in (self.domain.low, self.domain.high))
            if np.ndim(low) == np.ndim(high) == 0:
                rows = np.clip(X, low, high)
            else:  # where numpy's clip takes more than twice as long
                rows = np.maximum(X, low)
                np.minimum(rows, high, out=rows)
        else:
            rows = self.domain.clip(X)
        # exact, as the step is a power of two
        rows *= 1.0 / self.step
        if self.center.any():
            rows -= _repeated(self.center / self.step, len(X))
        np.rint(rows, out=rows)
        return rows if self.axes is None else self._mapped(rows)

    def _from_before(self, rows):
        """Return integer rows from those of the frame that this one comes from, written over."""
        if self.axes is None:
            way = np.rint((self.center - self._before.center) / self.step)
            return np.subtract(rows, _repeated(way, len(rows)), out=rows)
        return self._mapped(rows)

    def _mapped(self, rows):
        # entries of rows and axes have norms below 2**18 and 2**21: exact in any order
        mapped = rows @ self.axes.integers.T
        mapped *= 2.0**-_AXIS_BITS
        return np.rint(mapped, out=mapped)


def octave_about(domain: Domain, center: np.ndarray) -> int:
    """Return the exponent of the power of two that no distance from a center exceeds."""
    return _octave(domain, np.asarray(center, dtype=np.float64).tobytes())


@lru_cache(maxsize=64)
def _octave(domain, center):
    # exact fractions take as long as a block of rows, and frames come back to their centers
    return math.ceil(math.log2(domain.radius_about(np.frombuffer(center))))


def squared_lengths(rows):
    """Return the squared lengths of integer rows, exact in any order."""
    return np.einsum("ij,ij->i", rows, rows)


def _repeated(vector, n_rows):
    """Return a number if all are equal, else the vector once a row: numpy is slow otherwise."""
    if (vector == vector[0]).all():
        return vector[0]
    return _tiles(vector.tobytes(), n_rows) if len(vector) < _NARROW else vector


@lru_cache(maxsize=8)
def _tiles(vector, n_rows):
    tiles = np.repeat(np.frombuffer(vector)[None, :], n_rows, axis=0)
    tiles.flags.writeable = False
    return tiles


# Second moments and histograms of integer rows in a released frame.

_GRAM_BITS = {1: 14}  # of a row that is a person
_SHARED_GRAM_BITS = 10
_BLOCK = {1: 1 << 20}  # rows whose products add up exactly in float64
_SHARED_BLOCK = 1 << 10
_ROUND_DOWN = 1.0 - 2.0**-40  # covers the roundings of a float division


@dataclass(frozen=True, eq=False)
class Gram(Query):
    """Sum of the outer products of rows clipped to a ball around the frame's center.

    The blocks are the diagonal and the upper triangle of the symmetric matrix.

    Parameters
    ----------
    frame : Frame
    radius : float
    units : int
        Largest mass of one person.
    """

    frame: Frame
    radius: float
    units: int = 1

    @property
    def _bits(self):
        return _GRAM_BITS.get(self.units, _SHARED_GRAM_BITS)

    @property
    def unit(self) -> float:
        """What one unit of an entry represents, in squared lengths times people."""
        return (self.radius * 2.0**-self._bits) ** 2 / self.units

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return the zero matrix."""
        return zeros_of((self.frame.width, self.frame.width))

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the rows of a chunk; a row's norm is at most ``2**bits`` after truncation."""
        length = 2.0**self._bits
        limit = self.radius / self.frame.step
        largest = _BLOCK.get(self.units, _SHARED_BLOCK)
        for rows, squares, masses in self.frame.measured_blocks(chunk, largest):
            rows *= (length * _ROUND_DOWN / np.maximum(np.sqrt(squares), limit))[:, None]
            state[0][:] += second_moment(np.trunc(rows, out=rows), masses)

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the diagonal and the upper triangle."""
        return triangles_of(state[0])

    def weights(self) -> tuple[float, ...] | None:
        """Return relative scales."""
        return SYMMETRIC

    def sensitivity(self, relation: str) -> Sensitivity:
        """Integer rows have squared lengths of at most ``4**bits``."""
        return of_outer_products(relation, self.units, self.frame.width, 4**self._bits)


@dataclass(frozen=True, eq=False)
class FrameDistances(PlaceCounts):
    """Mass of the rows by their distance from a point, in a frame.

    Parameters
    ----------
    frame : Frame
    center : ndarray of shape (width,)
        Public or released, relative to the frame's center.
    edges : tuple of float
        Increasing outer radii of the bins; the last bin also takes everything beyond its edge.
    units : int
        Largest mass of one person.
    """

    frame: Frame
    center: np.ndarray
    edges: tuple
    units: int = 1

    @property
    def n_places(self) -> int:
        """Number of bins."""
        return len(self.edges)

    def _places(self, chunk):
        center = self.frame.in_units(self.center[None])[0]
        squares_of_edges = (np.array(self.edges[:-1]) / self.frame.step) ** 2
        for rows, squares, masses in self.frame.measured_blocks(chunk, _BLOCK[1]):
            away = squares - 2.0 * (rows @ center) + center @ center  # exact in any order
            yield np.searchsorted(squares_of_edges, away), masses


@dataclass(frozen=True, eq=False)
class Histogram(PlaceCounts):
    """Mass of the cells of a product grid on the leading axes of a frame.

    Parameters
    ----------
    frame : Frame
    halfwidths : ndarray of shape (n_axes,)
        Bins of each axis cover this much to both sides of the center; the outer ones take the
        tails.
    bits : tuple of int
        The number of bins of an axis is two to this power.
    units : int
        Largest mass of one person.
    """

    frame: Frame
    halfwidths: np.ndarray
    bits: tuple
    units: int = 1

    @property
    def n_places(self) -> int:
        """Number of cells."""
        return 1 << sum(self.bits)

    def cell_centers(self, cells: np.ndarray) -> np.ndarray:
        """Return the middle of cells on the axes of the grid, of shape (n_cells, n_axes)."""
        sides = tuple(1 << b for b in self.bits)
        places = np.stack(np.unravel_index(cells, sides), axis=1)
        sides = np.array(sides, dtype=float)
        return self.halfwidths * ((2 * places + 1) / sides - 1.0)

    def _places(self, chunk):
        widths = (self.halfwidths[: len(self.bits)] / self.frame.step)[:, None]
        sides = 2.0 ** np.array(self.bits)
        # row by row: the last axis runs fastest
        strides = np.append(np.cumprod(sides[:0:-1])[::-1], 1.0)
        for rows, masses in self.frame.blocks(chunk, _BLOCK[1]):
            places = np.add(rows[:, : len(sides)].T, widths, order="C")
            places *= sides[:, None] / (2.0 * widths)
            np.floor(places, out=places)
            np.clip(places, 0.0, sides[:, None] - 1.0, out=places)
            yield (strides @ places).astype(np.int64), masses  # integers: exact in any order
