"""Questions that buy public facts: how many persons there are, and where the rows lie.

The domain of the rows is bought in three releases: the magnitude of the rows, their centre, and the
distribution of their distance from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...geometry._ball import Ball
from ...geometry._lattice import CentredLattice
from ...geometry._rowwise import folded, row_blocks
from ...privacy._neighbors import ADD_REMOVE
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query

if TYPE_CHECKING:
    from ...summaries.asking.release import Release
    from ...summaries.rows.persons import Chunk

_BITS = 20  # of the length of a clipped row


@dataclass(frozen=True)
class Count(Query):
    """Number of persons, in units of mass.

    Parameters
    ----------
    units : int
        Largest mass of one person.
    total_public : bool
        True when no neighbor can change the mass of all rows.
    """

    units: int = 1
    total_public: bool = False

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return one zero."""
        return (np.zeros(1, dtype=np.int64),)

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the mass of the rows."""
        state[0][:] += len(chunk.X) if chunk.masses is None else chunk.masses.sum()

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the count."""
        return (state[0].copy(),)

    def sensitivity(self, relation: str) -> Sensitivity:
        """One person adds at most its mass; replacing one changes it by at most that."""
        is_public = self.total_public and relation != ADD_REMOVE
        change = 0 if is_public else self.units
        return Sensitivity.single(change, change**2)


@dataclass(frozen=True)
class DistanceHistogram(Query):
    """Mass of the rows by their distance from a public centre.

    Parameters
    ----------
    center : tuple of float
    edges : tuple of float
        Increasing outer radii of the bins; the last bin also takes everything beyond its edge.
    units : int
        Largest mass of one person.
    """

    center: tuple
    edges: tuple
    units: int = 1

    def zeros(self):
        """Return the empty histogram."""
        return (np.zeros(len(self.edges), dtype=np.int64),)

    def count(self, state, chunk):
        """Add the rows' masses to their bins."""
        place = np.searchsorted(self.edges[:-1], row_distances(chunk.X, self.center))
        sums = np.bincount(place, weights=chunk.masses, minlength=len(self.edges))
        state[0][:] += sums.astype(np.int64)

    def blocks(self, state):
        """Return the histogram."""
        return (state[0].copy(),)

    def sensitivity(self, relation):
        """A person has one bin to add to, or two to change."""
        touched = 1 if relation == ADD_REMOVE else 2
        return Sensitivity.single(touched * self.units, touched * self.units**2)


@dataclass(frozen=True)
class ClippedSum(Query):
    """Sum of the rows clipped to a ball around the origin, on a lattice, and their mass.

    Rows become integers of length at most ``2**20``, in units of ``radius * 2**-20``. A row that
    has part of its person's mass counts by that part, truncated toward zero, so the rows of one
    person together are no longer than one row.

    Parameters
    ----------
    radius : float
        Rows are clipped to this length.
    n_features : int
    units : int
        Largest mass of one person.
    total_public : bool
        True when no neighbor can change the mass of all rows.
    """

    radius: float
    n_features: int
    units: int = 1
    total_public: bool = False

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return the zero vector and the zero mass."""
        return np.zeros(self.n_features, dtype=np.int64), np.zeros(1, dtype=np.int64)

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the rows, each times its mass."""
        rows = self._lattice.quantise(chunk.X)
        if chunk.masses is None:
            state[1][:] += len(rows)
        else:
            # both factors are below 2**20, and so is the part of the row that is kept
            rows = np.sign(rows) * (np.abs(rows) * chunk.masses[:, None] // self.units)
            state[1][:] += chunk.masses.sum()
        state[0][:] += rows.sum(axis=0)

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the sum and the mass."""
        return state[0].copy(), state[1].copy()

    def sensitivity(self, relation: str) -> Sensitivity:
        """Bounds for a vector in a ball: its length, and sqrt(d) times that in L1."""
        u, square = self.units, 4**_BITS
        l1 = math.isqrt(self.n_features * square)
        joins = ((l1, u), (square, u * u))
        if relation == ADD_REMOVE:
            cases = [joins]
        else:
            # opposite rows of one mass; or, where masses can change, one row appearing
            moves = ((2 * l1, 0), (4 * square, 0))
            cases = [moves] if self.total_public else [moves, joins]
        return Sensitivity(tuple(c[0] for c in cases), tuple(c[1] for c in cases))

    def weights(self) -> tuple[float, ...] | None:
        """Noise in proportion to the size of the blocks, with the mass three times as precise."""
        return float(1 << _BITS) * math.sqrt(self.n_features), 0.33 * self.units

    def center(self, released: Release) -> np.ndarray:
        """Return the noisy mean, or the origin where noise is most of it.

        The mean of clipped rows is no longer than they are, and what is left of it is shrunk by
        the positive part of James and Stein's factor.
        """
        total, mass = released.values
        if mass[0] <= 4 * released.noise_sd[1]:
            return np.zeros(self.n_features)
        unit = self.radius * 2.0**-_BITS / (float(mass[0]) / self.units)
        mean = total * unit
        length = float(np.linalg.norm(mean))
        if length == 0.0:
            return mean
        surplus = max(self.n_features - 2, 0) * (released.noise_sd[0] * unit) ** 2
        factor = max(1.0 - surplus / length**2, 0.0)
        return mean * min(factor, self.radius / length)

    @cached_property
    def _lattice(self):
        return CentredLattice(Ball([0.0] * self.n_features, self.radius), _BITS)


def row_distances(X, center):
    """Return Euclidean distances, each a function of its row alone whatever the memory layout.

    numpy's sums along an axis group terms by layout and block, so halves of columns are added.
    """
    center, distances = np.asarray(center, dtype=float)[:, None], np.empty(len(X))
    for rows in row_blocks(*X.shape):
        away = np.subtract(X[rows].T, center, order="C")
        np.abs(away, out=away)
        largest = away.max(axis=0)
        away /= np.maximum(largest, 1e-300)  # so that squares neither overflow nor vanish
        np.square(away, out=away)
        with np.errstate(over="ignore"):  # too far for a float is in the last bin all the same
            distances[rows] = largest * np.sqrt(folded(away))
    return distances


def top_bin(released):
    """Return the highest bin that noise alone would reach with probability below 1e-3.

    None when no bin stands out.
    """
    counts = released.values[0]
    sd = released.noise_sd[0]
    standing_out = np.flatnonzero(counts > sd * math.log(counts.size / 1e-3) / math.sqrt(2.0))
    return int(standing_out[-1]) if standing_out.size else None


def tail_bin(released):
    """Return the last bin whose tail stands out from noise; None when there is none."""
    counts = released.values[0]
    tail = np.cumsum(counts[::-1])[::-1]
    limit = 3.0 * released.noise_sd[0] * np.sqrt(np.arange(counts.size, 0, -1))
    standing_out = np.flatnonzero(tail > limit)
    return int(standing_out[-1]) if standing_out.size else None
