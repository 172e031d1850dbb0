"""Masses, sums and second moments of the rows of every class, on a public integer lattice."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...geometry._ball import Ball
from ...geometry._lattice import CentredLattice
from ...geometry._linear_maps import MatrixMap
from ...privacy._neighbors import ADD_REMOVE, REPLACE_ANY
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query

if TYPE_CHECKING:
    from ...summaries.rows.persons import Chunk

_BITS = {1: 16}  # digits of a row that is a person
_BLOCK_VALUES = 1 << 22  # of rows that are rounded at a time
_SHARED_BITS = 10  # ... and where the mass of a person has up to 20 bits itself


@dataclass(frozen=True, eq=False)
class Moments(Query):
    """Mass and sum of the centred rows of every class, and their second moments.

    A row minus the centre of its class is mapped by a released linear map, if there is one, clipped
    to a ball and truncated toward zero to integers of bounded norm, by operations whose
    result depends on the row alone.

    The blocks are the masses, one a class; the sums, one line a class; and, where wanted, the
    diagonals and the upper triangles of the second moments, one line a class or one in all.

    Parameters
    ----------
    centers : ndarray of shape (n_classes, n_features)
        Public or released.
    radius : float
        Rows are clipped to this distance from the centre, after the map.
    components : ndarray of shape (n_components, n_features) or None
        Released linear map.
    second : {"none", "pooled", "classes"}
        Which second moments are asked for.
    block_weights : tuple of float
        Relative noise of masses, sums and second moments, in units of one person's reach.
    units : int
        Largest mass of one person.
    total_public : bool
        True when no neighbor can change the mass of a class.
    """

    centers: np.ndarray
    radius: float
    components: np.ndarray | None = None
    second: str = "none"
    block_weights: tuple = (1.0, 1.0, 1.0)
    units: int = 1
    total_public: bool = False

    mass_block = 0

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.centers)

    @property
    def width(self) -> int:
        """Number of coordinates after the map."""
        return self.centers.shape[1] if self.components is None else len(self.components)

    @property
    def step(self) -> float:
        """Width of one lattice unit."""
        return self._lattice.step

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return masses, sums and the full second moments."""
        lines = {"none": 0, "pooled": 1, "classes": self.n_classes}[self.second]
        return (
            np.zeros(self.n_classes, dtype=np.int64),
            np.zeros((self.n_classes, self.width), dtype=np.int64),
            np.zeros((lines, self.width, self.width), dtype=np.int64),
        )

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the rows of a chunk, class by class, so many at a time that copies stay small."""
        size = max(1, _BLOCK_VALUES // chunk.X.shape[1])
        for code in range(1 if chunk.codes is None else self.n_classes):
            own = None if chunk.codes is None else np.flatnonzero(chunk.codes == code)
            n_rows = len(chunk.X) if own is None else len(own)
            for start in range(0, n_rows, size):
                part = slice(start, start + size)
                self._add(state, chunk, code, part if own is None else own[part])

    def _add(self, state, chunk, code, some):
        mapping = None if self.components is None else MatrixMap(self.components)
        rows = chunk.X[some] - self.centers[code]
        rows = rows if mapping is None else mapping.apply(rows)
        rows = self._lattice.quantise_into(rows, rows)  # whole numbers: sums below 2**53 are exact
        masses = None if chunk.masses is None else chunk.masses[some]
        state[0][code : code + 1] += len(rows) if masses is None else masses.sum()
        sums = rows.sum(axis=0) if masses is None else masses @ rows
        state[1][code] += sums.astype(np.int64)
        if self.second != "none":
            line = code if self.second == "classes" else 0
            state[2][line] += second_moment(rows, masses)

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return masses, sums, and diagonals and upper triangles of the second moments."""
        masses, sums, squares = state
        if self.second == "none":
            return masses.copy(), sums.copy()
        diagonals = np.diagonal(squares, axis1=1, axis2=2).copy()
        upper = squares[:, *np.triu_indices(self.width, k=1)]
        return masses.copy(), sums.copy(), diagonals, upper

    def weights(self) -> tuple[float, ...] | None:
        """Return relative scales; off the diagonal 1/sqrt(2), as in a symmetric Gaussian matrix."""
        mass, total, square = self.block_weights
        reach = float(1 << self._bits)
        scales = (mass, total * reach)
        if self.second == "none":
            return scales
        return (*scales, square * reach**2, square * reach**2 / np.sqrt(2.0))

    def sensitivity(self, relation: str) -> Sensitivity:
        """Return the cases worked out in the user guide, for integer rows in a ball."""
        joins = self._joins(1)
        if relation == ADD_REMOVE:
            return self._assemble(joins)
        cases = self._moves() + ([] if self.total_public else joins)
        if relation == REPLACE_ANY and self.n_classes > 1:
            cases = cases + self._joins(2)
        return self._assemble(cases)

    def _joins(self, persons):
        """Cases of persons entering classes: L1 and squared L2 of (mass, sum, diagonal, upper)."""
        d, r = self.width, 1 << self._bits
        l1 = (1, self._lattice.row_l1, r**2, (d - 1) * r**2 // 2)
        # |q q'|_F**2 = diagonal + 2 upper <= r**4, so a row is between these two extremes
        extremes = [(r**4, 0), (0, r**4 // 2)]
        return [
            (tuple(persons * n for n in l1), tuple(persons * n for n in (1, r**2, *square)))
            for square in extremes
        ]

    def _moves(self):
        """Cases of one row turning into another, by the cosine t between the two.

        The sum moves by at most ``2 (1 - t) r**2`` and the second moment by at most
        ``2 (1 - t**2) r**4``, squared: below t = -1/2 by (4, 3/2), above it by (3, 2).
        """
        d, r = self.width, 1 << self._bits
        l1 = (0, 2 * self._lattice.row_l1, 2 * r**2, (d - 1) * r**2)
        cases = []
        for total, square in ((4 * r**2, 3 * r**4 // 2), (3 * r**2, 2 * r**4)):
            cases += [(l1, (0, total, square, 0)), (l1, (0, total, 0, square // 2))]
        return cases if self.second != "none" else [(l1, (0, 4 * r**2, 0, 0))]

    def _assemble(self, cases):
        blocks = 2 if self.second == "none" else 4
        u = self.units
        return Sensitivity(
            tuple(tuple(u * n for n in l1[:blocks]) for l1, _ in cases),
            tuple(tuple(u * u * n for n in square[:blocks]) for _, square in cases),
        )

    @cached_property
    def _lattice(self):
        # its step is found in exact fractions, which takes as long as a block of rows
        return CentredLattice(Ball(np.zeros(self.width), self.radius), self._bits)

    @property
    def _bits(self):
        return _BITS.get(self.units, _SHARED_BITS)


def symmetric(diagonal: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix with the given diagonal and upper triangle."""
    matrix = np.zeros((len(diagonal), len(diagonal)))
    matrix[np.triu_indices(len(diagonal), k=1)] = upper
    return matrix + matrix.T + np.diag(diagonal.astype(float))


def second_moment(rows, masses):
    """Sum of the outer products, each times its mass, in exact integers.

    Entries of outer products are below 2**32. Unweighted blocks of 2**19 rows, and blocks of 2**10
    rows weighted by half a mass of 20 bits, keep every partial sum below 2**53.
    """
    rows = rows.astype(np.float64, copy=False)
    total = np.zeros((rows.shape[1], rows.shape[1]), dtype=np.int64)
    size = 1 << (19 if masses is None else 10)
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        if masses is None:
            total += (block.T @ block).astype(np.int64)
            continue
        high, low = np.divmod(masses[start : start + size], 1 << 10)
        for part, unit in ((high, 1 << 10), (low, 1)):
            total += (block.T @ (block * part[:, None])).astype(np.int64) * unit
    return total
