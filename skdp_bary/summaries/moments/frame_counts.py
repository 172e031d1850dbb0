"""Second moments and histograms of integer rows in a released frame."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...privacy._neighbors import ADD_REMOVE
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query
from .frames import Frame

if TYPE_CHECKING:
    from ...summaries.rows.persons import Chunk

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
        """What one unit of an entry stands for, in squared lengths times persons."""
        return (self.radius * 2.0**-self._bits) ** 2 / self.units

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return the zero matrix."""
        return (np.zeros((self.frame.width, self.frame.width), dtype=np.int64),)

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the rows of a chunk; a row's norm is at most ``2**bits`` after truncation."""
        length = 2.0**self._bits
        limit = self.radius / self.frame.step
        largest = _BLOCK.get(self.units, _SHARED_BLOCK)
        for rows, squares, masses in self.frame.measured_blocks(chunk, largest):
            rows *= (length * _ROUND_DOWN / np.maximum(np.sqrt(squares), limit))[:, None]
            np.trunc(rows, out=rows)
            if masses is None:
                state[0][:] += (rows.T @ rows).astype(np.int64)
                continue
            # 20 + 10 digits of masses are cut in two so that products stay below 2**53
            for part, unit in zip(np.divmod(masses, 1 << 10), (1 << 10, 1), strict=True):
                state[0][:] += (rows.T @ (rows * part[:, None])).astype(np.int64) * unit

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the diagonal and the upper triangle."""
        matrix = state[0]
        return np.diagonal(matrix).copy(), matrix[np.triu_indices(len(matrix), k=1)]

    def weights(self) -> tuple[float, ...] | None:
        """Return relative scales; off the diagonal 1/sqrt(2), as in a symmetric Gaussian matrix."""
        return 1.0, 1.0 / math.sqrt(2.0)

    def sensitivity(self, relation: str) -> Sensitivity:
        """A row adds ``|z z'|**2 = diagonal + 2 upper <= 4**(2 bits)``; two rows twice that.

        The inner product of ``z z'`` and ``w w'`` is a square, so replacing costs sqrt(2) of
        adding and no more.
        """
        persons = 1 if relation == ADD_REMOVE else 2
        d, r = self.frame.width, 1 << self._bits
        u = self.units
        l1 = (persons * u * r**2, persons * u * (d - 1) * r**2 // 2)
        cases = ((persons * u * u * r**4, 0), (0, persons * u * u * r**4 // 2))
        return Sensitivity((l1,), cases)


class _PlaceCounts(Query):
    """Mass of disjoint places, of which a row has one."""

    @property
    @abstractmethod
    def n_places(self) -> int:
        """How many places there are."""

    @abstractmethod
    def _places(self, chunk):
        """Yield the places of rows, and their masses or None."""

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return the empty histogram."""
        return (np.zeros(self.n_places, dtype=np.int64),)

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the masses of the rows to their places."""
        for places, masses in self._places(chunk):
            sums = np.bincount(places, weights=masses, minlength=len(state[0]))
            state[0][:] += sums.astype(np.int64)

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the histogram."""
        return (state[0].copy(),)

    def sensitivity(self, relation: str) -> Sensitivity:
        """A person has one place to add to, or two to change."""
        touched = 1 if relation == ADD_REMOVE else 2
        return Sensitivity.single(touched * self.units, touched * self.units**2)


@dataclass(frozen=True, eq=False)
class FrameDistances(_PlaceCounts):
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
class Histogram(_PlaceCounts):
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
        for rows, masses in self.frame.blocks(chunk, _BLOCK[1]):
            yield self._cells(rows), masses

    def _cells(self, rows):
        widths = (self.halfwidths[: len(self.bits)] / self.frame.step)[:, None]
        sides = 2.0 ** np.array(self.bits)
        places = np.add(rows[:, : len(sides)].T, widths, order="C")
        places *= sides[:, None] / (2.0 * widths)
        np.floor(places, out=places)
        np.clip(places, 0.0, sides[:, None] - 1.0, out=places)
        strides = np.append(np.cumprod(sides[:0:-1])[::-1], 1.0)
        return (strides @ places).astype(np.int64)  # integers: exact in any order
