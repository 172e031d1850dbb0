"""How many, where, and which mean: counts, distances, clipped sums, masses, second moments."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

import numpy as np

from ..desk.counting import collect
from ..desk.query import Query, Release
from ..geometry.domains import Ball
from ..geometry.lattices import CentredLattice
from ..geometry.linear_maps import MatrixMap
from ..geometry.rowwise import row_distances
from ..privacy.mechanisms import ADD_REMOVE, REPLACE_ANY, Sensitivity
from ..rows.persons import Chunk

# Questions that buy public facts: how many persons there are, and where the rows lie.

_BITS = 20  # of the length of a clipped row


def zeros_of(*shapes):
    """Return the state of no rows, from the shapes of its sums."""
    return tuple(np.zeros(shape, dtype=np.int64) for shape in shapes)


class Sums(Query):
    """A question whose state is its answer: sums over rows, one number where nothing is said."""

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return sums over no rows."""
        return zeros_of(1)

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the sums."""
        return tuple(part.copy() for part in state)


class Forwarding(Query):
    """A question that asks another one, the attribute ``query``, with its noise."""

    units = property(attrgetter("query.units"))
    mass_block = property(attrgetter("query.mass_block"))
    in_threads = property(attrgetter("query.in_threads"))

    def zeros(self):
        """Return the state of the query for no rows."""
        return self.query.zeros()

    def blocks(self, state):
        """Return the blocks of the query."""
        return self.query.blocks(state)

    def sensitivity(self, relation):
        """Return that of the query."""
        return self.query.sensitivity(relation)

    def weights(self):
        """Return those of the query."""
        return self.query.weights()

    def row_effort(self, n_features):
        """Return that of the query."""
        return self.query.row_effort(n_features)


class PlaceCounts(Sums):
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
        return zeros_of(self.n_places)

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the masses of the rows to their places."""
        for places, masses in self._places(chunk):
            state[0][:] += masses_at(places, masses, len(state[0]))

    def sensitivity(self, relation: str) -> Sensitivity:
        """A person has one place to add to, or two to change."""
        touched = 1 if relation == ADD_REMOVE else 2
        return Sensitivity.single(touched * self.units, touched * self.units**2)


def masses_at(places, masses, n_places):
    """Return the mass of the rows at each of so many places; masses are whole, None for ones.

    Sums of integers in float64 are exact: a chunk has at most 2**19 rows of 2**20 units.
    """
    sums = np.bincount(places, weights=masses, minlength=n_places)
    return sums.astype(np.int64, copy=False)


def codes_of(chunk):
    """Return the class of every row, which is the first one where there are no others."""
    return np.zeros(len(chunk.X), dtype=np.int64) if chunk.codes is None else chunk.codes


def cases_of(query, relation, joins, moves, changes=()):
    """Return the cases of one person under a relation.

    Who is replaced moves within a class, or changes it. Where masses are private, they may have
    less of one than before, or more, as if they left or joined.
    """
    if relation == ADD_REMOVE:
        return joins
    cases = [*moves] if query.total_public else [*moves, *joins]
    return [*cases, *changes] if relation == REPLACE_ANY else cases


def in_units(units, l1, l2_squared):
    """Return the sensitivity to a person of mass `units`, from the cases for a mass of one."""
    return Sensitivity(
        tuple(tuple(units * n for n in case) for case in l1),
        tuple(tuple(units**2 * n for n in case) for case in l2_squared),
    )


@dataclass(frozen=True)
class Count(Sums):
    """Number of people, in units of mass.

    Parameters
    ----------
    units : int
        Largest mass of one person.
    total_public : bool
        True when no neighbor can change the mass of all rows.
    """

    units: int = 1
    total_public: bool = False

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the mass of the rows."""
        state[0][:] += len(chunk.X) if chunk.masses is None else chunk.masses.sum()

    def sensitivity(self, relation: str) -> Sensitivity:
        """One person adds at most its mass; replacing one changes it by at most that."""
        is_public = self.total_public and relation != ADD_REMOVE
        change = 0 if is_public else self.units
        return Sensitivity.single(change, change**2)


@dataclass(frozen=True)
class DistanceHistogram(PlaceCounts):
    """Mass of the rows by their distance from a public center.

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

    @property
    def n_places(self):
        """Number of bins."""
        return len(self.edges)

    def _places(self, chunk):
        center = np.asarray(self.center, dtype=float)
        # one too far for a float is in the last bin all the same
        distances = row_distances(chunk.X, center[None])[:, 0]
        yield np.searchsorted(self.edges[:-1], distances), chunk.masses


@dataclass(frozen=True)
class ClippedSum(Sums):
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
        return zeros_of(self.n_features, 1)

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

    def sensitivity(self, relation: str) -> Sensitivity:
        """Bounds for a vector in a ball: its length, and sqrt(d) times that in L1."""
        u, square = self.units, 4**_BITS
        l1 = math.isqrt(self.n_features * square)
        joins = ((l1, u), (square, u * u))
        moves = ((2 * l1, 0), (4 * square, 0))  # opposite rows of one mass
        return Sensitivity(*zip(*cases_of(self, relation, [joins], [moves]), strict=True))

    def weights(self) -> tuple[float, ...] | None:
        """Noise in proportion to the size of the blocks, with the mass three times as precise."""
        return float(1 << _BITS) * math.sqrt(self.n_features), 0.33 * self.units

    def center(self, released: Release) -> np.ndarray:
        """Return the noisy mean, or the origin where noise is most of it.

        The mean of clipped rows is no longer than they are, and what is left of it is shrunk by
        the positive part of James and Stein's factor.
        """
        total, mass = released.values
        # below four standard deviations of its noise, a mass is no divisor
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


def top_bin(released):
    """Return the highest bin that noise alone would reach with probability below 1e-3.

    None when no bin stands out.
    """
    counts = released.values[0]
    sd = released.noise_sd[0]
    # Laplace noise exceeds t with probability exp(-sqrt(2) t / sd) / 2: a union bound over bins
    standing_out = np.flatnonzero(counts > sd * math.log(counts.size / 1e-3) / math.sqrt(2.0))
    return int(standing_out[-1]) if standing_out.size else None


def tail_bin(released):
    """Return the last bin whose tail stands out from noise; None when there is none."""
    counts = released.values[0]
    tail = np.cumsum(counts[::-1])[::-1]
    # a tail of k bins has k times the variance of one
    limit = 3.0 * released.noise_sd[0] * np.sqrt(np.arange(counts.size, 0, -1))
    standing_out = np.flatnonzero(tail > limit)
    return int(standing_out[-1]) if standing_out.size else None


# Masses, sums and second moments of the rows of every class, on a public integer lattice.

_MOMENTS_BITS = {1: 16}  # digits of a row that is a person
_BLOCK_VALUES = 1 << 22  # of rows that are rounded at a time
_SHARED_BITS = 10  # ... and where the mass of a person has up to 20 bits itself


@dataclass(frozen=True, eq=False)
class Moments(Query):
    """Mass and sum of the centered rows of every class, and their second moments.

    A row minus the center of its class is mapped by a released linear map, if there is one, clipped
    to a ball and truncated toward zero to integers of bounded norm, by operations whose
    result depends on the row alone.

    The blocks are the masses, one per class; the sums, one line a class; and, where wanted, the
    diagonals and the upper triangles of the second moments, one line a class or one in all.

    Parameters
    ----------
    centers : ndarray of shape (n_classes, n_features)
        Public or released.
    radius : float
        Rows are clipped to this distance from the center, after the map.
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

    step = property(attrgetter("_lattice.step"), doc="Width of one lattice unit.")

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return masses, sums and the full second moments."""
        lines = {"none": 0, "pooled": 1, "classes": self.n_classes}[self.second]
        n, d = self.n_classes, self.width
        return zeros_of(n, (n, d), (lines, d, d))

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
        rows = chunk.X[some] - self.centers[code]
        rows = rows if self.components is None else MatrixMap(self.components).apply(rows)
        rows = self._lattice.quantise_into(rows, rows)  # whole numbers: sums below 2**53 are exact
        masses = chunk.masses_of(some)
        state[0][code : code + 1] += len(rows) if masses is None else masses.sum()
        sums = rows.sum(axis=0) if masses is None else masses @ rows
        state[1][code] += sums.astype(np.int64)
        if self.second != "none":
            line = code if self.second == "classes" else 0
            state[2][line] += second_moment(rows, masses)

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return masses, sums, and diagonals and upper triangles of the second moments."""
        masses, sums, squares = state
        found = masses.copy(), sums.copy()
        return found if self.second == "none" else (*found, *triangles_of(squares))

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
        changes = self._joins(2) if self.n_classes > 1 else []
        cases = cases_of(self, relation, self._joins(1), self._moves(), changes)
        n_blocks = 2 if self.second == "none" else 4
        l1, squares = zip(*cases, strict=True)
        if self.width == 1:  # nothing is off the diagonal
            squares = [(*case[:3], 0) for case in squares]
        return in_units(self.units, [c[:n_blocks] for c in l1], [c[:n_blocks] for c in squares])

    def _joins(self, persons):
        """Cases of people entering classes: L1 and squared L2 of (mass, sum, diagonal, upper)."""
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

    @cached_property
    def _lattice(self):
        # its step is found in exact fractions, which takes as long as a block of rows
        return CentredLattice(Ball(np.zeros(self.width), self.radius), self._bits)

    @property
    def _bits(self):
        return _MOMENTS_BITS.get(self.units, _SHARED_BITS)


def symmetric(diagonal: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix with the given diagonal and upper triangle."""
    matrix = np.zeros((len(diagonal), len(diagonal)))
    matrix[np.triu_indices(len(diagonal), k=1)] = upper
    return matrix + matrix.T + np.diag(diagonal.astype(float))


def triangles_of(matrices):
    """Return the diagonals and the upper triangles of symmetric matrices, of shape (..., n, n)."""
    diagonals = np.diagonal(matrices, axis1=-2, axis2=-1).copy()
    return diagonals, matrices[..., *np.triu_indices(matrices.shape[-1], k=1)]


def of_outer_products(relation, units, width, longest):
    """Return the sensitivity of diagonals and upper triangles of sums of outer products ``z z'``.

    A row adds ``|z z'|**2 = diagonal + 2 upper <= longest**2``, for squared lengths of at most
    `longest`. The inner product of ``z z'`` and ``w w'`` is a square, so replacing costs sqrt(2)
    of adding and no more.
    """
    persons = 1 if relation == ADD_REMOVE else 2
    l1 = persons * units * longest, persons * units * (width - 1) * longest // 2
    square = persons * units**2 * longest**2
    return Sensitivity((l1,), ((square, 0), (0, min(square // 2, l1[1] ** 2))))


# Off the diagonal 1/sqrt(2), as in a symmetric Gaussian matrix.
SYMMETRIC = 1.0, 1.0 / math.sqrt(2.0)


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
        # halves of a mass have 10 digits each
        high, low = np.divmod(masses[start : start + size], 1 << 10)
        for part, unit in ((high, 1 << 10), (low, 1)):
            total += (block.T @ (block * part[:, None])).astype(np.int64) * unit
    return total


# Counting rows: one sketch, however the rows come, identical integers.


def require_readable(rows):
    """Raise where rows cannot be read, before anything is charged; nothing else comes of it."""
    collect(Count(rows.person_units), rows)
