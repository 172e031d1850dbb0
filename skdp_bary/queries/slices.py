"""Rows projected on public directions: histograms, sorted means, waves, the cost to a reference."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..desk.query import Query
from ..geometry.lattices import SliceLattice, UnitSlices
from ..privacy.mechanisms import REPLACE_ANY, Sensitivity, check_neighbors
from ..rows.persons import Chunk
from .maps import MappedRows
from .sizes import Sums, codes_of, masses_at, zeros_of

# Histograms of rows projected on public directions, and the sizes of classes.

MOST_PERSONS = 1 << 30  # of 2**20 units each, on 2**12 levels: sums fit 64-bit integers


@dataclass(frozen=True)
class ClassSizes(Sums):
    """Mass of every class.

    Parameters
    ----------
    n_classes : int
    units : int
        Largest mass of one person.
    """

    n_classes: int = 1
    units: int = 1

    def zeros(self):
        """Return one zero a class."""
        return zeros_of(self.n_classes)

    def count(self, state, chunk):
        """Add the masses of the rows to their classes."""
        state[0][:] += masses_at(codes_of(chunk), chunk.masses, self.n_classes)

    def sensitivity(self, relation):
        """A person has one mass to bring; who changes the class takes it away elsewhere."""
        touched = 2 if check_neighbors(relation) == REPLACE_ANY and self.n_classes > 1 else 1
        return Sensitivity.single(touched * self.units, touched * self.units**2)


@dataclass(frozen=True, eq=False)
class PaddedHistograms(Query):
    """Base of the questions about which the histograms of projections, class by class, say all.

    Parameters
    ----------
    lattice : SliceLattice
        Public domain and directions.
    n_min : tuple of int or None
        Number of people every class is padded to. None where no neighbor can change the mass of a
        class; nothing is padded then.
    n_classes : int
    units : int
        Largest mass of one person.
    """

    lattice: SliceLattice
    n_min: tuple | None = None
    n_classes: int = 1
    units: int = 1

    def __post_init__(self):
        if self.n_min is not None and (len(self.n_min) != self.n_classes or min(self.n_min) < 1):
            raise ValueError(
                f"n_min must be {self.n_classes} numbers of people above zero, got "
                f"{self.n_min!r}. For example n_min={(100,) * self.n_classes!r}."
            )

    def zeros(self):
        """Return the empty histograms."""
        shape = (self.n_classes, self.lattice.n_directions, self.lattice.n_levels)
        return (np.zeros(shape, dtype=np.int64),)

    def row_effort(self, n_features):
        """Return the numbers of features and projections."""
        return n_features + self.lattice.n_directions

    def count(self, state, chunk):
        """Add the masses of the rows to the levels of their projections."""
        if chunk.codes is None:
            self._count_class(state[0][0], chunk.X, chunk.masses)
            return
        for code in np.unique(chunk.codes):
            members = np.flatnonzero(chunk.codes == code)
            self._count_class(state[0][code], chunk.X[members], chunk.masses_of(members))

    def blocks(self, state):
        """Return the masses of the classes, where they are public, and the answers."""
        sizes = self._sizes(state)
        answers = self._answers(state, self._padded(state[0], sizes.tolist()))
        return (sizes, *answers) if self.n_min is None else answers

    def sensitivity(self, relation):
        """Sensitivity to one person, who has mass in one class or takes it to another."""
        touched = 2 if check_neighbors(relation) == REPLACE_ANY and self.n_classes > 1 else 1
        sizes = (0,) if self.n_min is None else ()
        l1, l2_squared = self._changes(touched)
        return Sensitivity(((*sizes, *l1),), ((*sizes, *l2_squared),))

    @abstractmethod
    def _answers(self, state, padded):
        """Return blocks of integers, from the state and what `_padded` says about every class."""

    @abstractmethod
    def _changes(self, touched):
        """Return L1 and squared L2 of every block, of a person in so many classes."""

    def _sizes(self, state):
        """Return the masses of the classes; of fewer than 2**43 people the sums are exact."""
        return state[0][:, 0, :].sum(axis=1)

    def _padded(self, histograms, sizes):
        """Return histogram and mass of every class after padding, and the people answers count."""
        if self.n_min is None:
            persons = [Fraction(size, self.units) for size in sizes]
            return list(zip(histograms, sizes, persons, strict=True))
        padded = []
        for histogram, size, n_min in zip(histograms.copy(), sizes, self.n_min, strict=True):
            missing = max(self.units * n_min - size, 0)
            histogram[:, self.lattice.center_level] += missing
            padded.append((histogram, size + missing, Fraction(n_min)))
        return padded

    def _count_class(self, histogram, X, masses):
        n_levels = self.lattice.n_levels
        for rows, directions, levels in self.lattice.levels(X):
            levels += (np.arange(len(levels)) * n_levels)[:, None]
            repeated = None if masses is None else np.tile(masses[rows], len(levels))
            counts = masses_at(levels.ravel(), repeated, len(levels) * n_levels)
            histogram[directions] += counts.reshape(len(levels), n_levels)


@dataclass(frozen=True, eq=False)
class ProjectedHistogram(PaddedHistograms):
    """Base of the questions that are answered from the histograms of each class by itself.

    The blocks are the masses of the classes, where they are public, and what ``_answer`` makes of
    each class, rounded down to integers. The parameters are those of :class:`PaddedHistograms`.
    """

    @abstractmethod
    def _answer(self, histogram, mass):
        """Return numbers about one class as Python integers, and their unit.

        The numbers divided by the unit are a function of the distribution alone.

        Parameters
        ----------
        histogram : ndarray of shape (n_directions, n_levels)
            Masses, padding included.
        mass : int
            Their sum in every direction.
        """

    @property
    @abstractmethod
    def shape(self):
        """Shape of the answer about one class."""

    @abstractmethod
    def _change(self):
        """Return bounds (L1, L2) of how far replacing all mass of a class moves its numbers.

        Less mass moves them less in proportion.
        """

    def _answers(self, state, padded):
        answers = np.zeros((self.n_classes, *self.shape), dtype=np.int64)
        for answer, (histogram, mass, persons) in zip(answers, padded, strict=True):
            if mass:
                numbers, unit = self._answer(histogram, mass)
                factor = persons / unit
                up, down = factor.numerator, factor.denominator
                answer.flat = [number * up // down for number in numbers.ravel().tolist()]
        return (answers,)

    def _changes(self, touched):
        """One person of n has an n-th of the mass, and the numbers are counted n times.

        Where n is private the mass is that of at least ``n_min`` people, and the numbers are
        counted ``n_min`` times. Rounding down adds at most one a number, in each class in which a
        person has mass. Changing the class changes two distributions, each by one person.
        """
        l1, l2 = self._change()
        rounded = self.n_classes * math.prod(self.shape)
        above = touched * l1 + rounded, (math.sqrt(touched) * l2 + math.sqrt(rounded)) ** 2
        # whole numbers above floats that were computed in a few operations
        l1, l2_squared = (math.ceil(number * (1.0 + 2.0**-40)) for number in above)
        return (l1,), (l2_squared,)


# Means of sorted projections over blocks of equal mass: the sketch of slices.

_LARGEST = 1 << 62


@dataclass(frozen=True, eq=False)
class ProjectedQuantiles(ProjectedHistogram):
    """For every direction, the mean level in each of m blocks of the sorted projections.

    Block b takes the mass from ``(b - 1) / m`` to ``b / m`` of the distribution exactly, fractions
    of a row included: its mean is ``m`` times the integral of the quantile function.

    Parameters
    ----------
    n_quantiles : int, default=1
        Number of blocks m.

    Notes
    -----
    When mass moves, the quantile function of a direction moves by its W1 distance in L1, so its m
    block means move by at most m times that in L1, and no more in L2. Over the directions together,
    the W1 distances of a moved mass ``a`` have an L2 norm of at most ``a`` times the distance
    between two vectors of levels (Minkowski).
    """

    n_quantiles: int = 1

    @property
    def shape(self):
        """Directions and blocks."""
        return self.lattice.n_directions, self.n_quantiles

    def means(self, numbers, persons):
        """Return block means, relative to the center of the domain, from an answer of a class.

        Parameters
        ----------
        numbers : ndarray of shape (n_directions, n_quantiles)
        persons : float
            Number of people that the answer counts.
        """
        return self.lattice.restore(numbers / persons)

    def public_histogram(self, X):
        """Return the histogram of public rows, one line per direction."""
        one = ProjectedQuantiles(self.lattice)
        state = one.zeros()
        one.count(state, Chunk(X, None, None))
        return state[0][0]

    def public_means(self, X):
        """Return the block means of public rows, relative to the center of the domain."""
        histogram = self.public_histogram(X)
        numbers, mass = self._answer(histogram, int(histogram[0].sum()))
        return self.lattice.restore(numbers.astype(np.float64) / mass)

    def _answer(self, histogram, mass):
        """Integrate the quantile functions between multiples of a block's mass.

        In mass times m all ends are integers; what lies below the end of a block is the sum of
        whole levels below it and a part of the level that holds it. Where products would leave 64
        bits they are Python integers: an error instead would be an answer about one person.
        """
        m, n_levels = self.n_quantiles, self.lattice.n_levels
        if mass * max(m, n_levels) >= _LARGEST:
            histogram = histogram.astype(object)
        values = np.arange(n_levels)
        ends = np.arange(m + 1).astype(histogram.dtype) * mass
        below = np.zeros((len(histogram), m + 1), dtype=object)
        for line, masses in zip(below, histogram, strict=True):
            reached = np.cumsum(masses)
            weighted = np.cumsum(masses * values)
            level = np.searchsorted(reached * m, ends[1:], side="left")
            whole = weighted[level] - masses[level] * level
            left = ends[1:] - (reached[level] - masses[level]) * m
            line[1:] = whole.astype(object) * m + left.astype(object) * level
        return np.diff(below, axis=1), mass

    def _change(self):
        """Return m times the spread of levels, in L2 and, over all directions, in L1."""
        l2 = self.n_quantiles * self.lattice.spread
        # Cauchy and Schwarz: in L1 a root of the number of directions more
        return math.sqrt(self.lattice.n_directions) * l2, l2


# Cosines and sines of slices of rows: features of norm at most one, read from a public table.

_BLOCK = 1 << 13
_BELOW_ONE = 1.0 - 2.0**-40  # so that rounding leaves no row longer than one


@dataclass(frozen=True, eq=False)
class WavesOf(MappedRows):
    """Asks a query about cosines and sines of the slices of rows.

    A slice of a row is one of the levels of a lattice, by integers, and every level has one cosine
    and one sine in a table made of public numbers. So the features of a row are a function of that
    row alone, bit for bit, and the sum of their squares over the table is at most one.

    Parameters
    ----------
    slices : UnitSlices
    frequencies : tuple of float
        Of each direction, in units of the domain.
    query : Query
        About rows with twice as many features as there are directions.
    """

    slices: UnitSlices
    frequencies: tuple
    query: Query

    def count(self, state, chunk):
        """Add the images of the rows, some at a time."""
        for start in range(0, len(chunk.X), _BLOCK):
            part = slice(start, start + _BLOCK)
            some = Chunk(chunk.X[part], None, chunk.masses_of(part))
            self.query.count(state, self.image(some))

    def image(self, chunk):
        """Return the chunk with the waves of its rows."""
        return Chunk(self.features(chunk.X), None, chunk.masses)

    def features(self, X):
        """Return cosines, then sines, of all rows."""
        found = np.empty((len(X), 2, self.slices.n_directions))
        for rows, some, levels in self.slices.levels(X):
            places = np.arange(some.start, some.start + len(levels))
            found[rows, :, some] = self.table[:, places[:, None], levels].transpose(2, 0, 1)
        return found.reshape(len(X), -1)

    @cached_property
    def table(self):
        """Cosine and sine of every direction and level, of shape (2, n_directions, n_levels)."""
        slices = self.slices
        places = (np.arange(slices.n_levels) - slices.center_level) * slices.step
        phases = np.asarray(self.frequencies)[:, None] * places
        amplitude = _BELOW_ONE / slices.n_directions**0.5
        return amplitude * np.stack([np.cos(phases), np.sin(phases)])


# The sliced transport cost from rows to a public reference, as one number a class.

_LIMB_BITS = 21  # limbs of a mass; times a squared level and summed they stay below 2**62
_SHIFTS = (0, _LIMB_BITS, 2 * _LIMB_BITS)
_LARGEST_ANSWER = 1 << 61  # leaves 64-bit integers room for noise


@dataclass(frozen=True, eq=False)
class ProjectedCost(ProjectedHistogram):
    """Sum over the directions of the exact cost between projected rows and a public reference.

    Both sides are distributions on the same levels, of any two masses; the cost is that of the
    monotone coupling.

    Parameters
    ----------
    reference : ndarray of int64 of shape (n_directions, n_levels)
        Histogram of the public reference on the same lattice.
    p : {1, 2}, default=1
        Power of the distance between levels.

    Notes
    -----
    Let a row be replaced by another that has a part ``a`` of the mass. The plan before, with the
    row's part redirected, is a plan after it, so the cost changes by at most ``a`` times the
    change of the cost of the redirected row against what it was coupled with.

    For ``p=1`` that is at most the L1 distance between two vectors of levels. For ``p=2``, with v
    and w the centered levels before and after and y the mean of the reference's levels that v was
    coupled with, it is ``|w - y|**2 - |v - y|**2``, at most ``(|w| + |y|)**2`` and at most
    ``|w|**2 + 2 |v - w| |y|``.
    """

    reference: np.ndarray | None = None
    p: int = 1

    @property
    def shape(self):
        """One number."""
        return (1,)

    def cost(self, number, persons):
        """Return the mean cost over the directions, from the answer of a class."""
        return number / persons * self.unit

    @property
    def unit(self):
        """What a cost of one between levels, in one direction, adds to the mean."""
        return self.lattice.step**self.p / self.lattice.n_directions

    def _answer(self, histogram, mass):
        """Return the cost in units of the product of the two masses.

        Refused is a public number of people alone: if it is private, the answer counts `n_min`
        of them, which was checked before the charge.
        """
        if self.n_min is None and mass > self.units * most_persons(len(histogram), self.p):
            raise ValueError(
                "X has too many rows for costs in 64 bits. Ask for fewer directions, for example "
                "n_projections=50."
            )
        theirs = int(self.reference[0].sum())
        total = sum(
            coupling_cost(ours, mass, other, theirs, self.p)
            for ours, other in zip(histogram, self.reference, strict=True)
        )
        return np.array([total], dtype=object), mass * theirs

    def _change(self):
        """Return the bounds of the notes; a single number has one norm."""
        lattice = self.lattice
        if self.p == 1:
            bound = math.sqrt(lattice.n_directions) * lattice.spread
        else:
            filled = self.reference > 0
            levels = np.arange(lattice.n_levels) - lattice.center_level
            farthest = np.where(filled, np.abs(levels), 0).max(axis=1)
            length = math.sqrt(float((farthest.astype(np.float64) ** 2).sum()))
            bound = min(
                (lattice.reach + length) ** 2, lattice.reach**2 + 2.0 * lattice.spread * length
            )
        return bound, bound


def most_persons(n_directions, p):
    """Return the largest number of people for whom any cost fits an answer.

    A person is at most all levels apart from the reference in every direction.
    """
    return (_LARGEST_ANSWER - 1) // (n_directions * (SliceLattice.n_levels - 1) ** p)


def coupling_cost(first, first_mass, second, second_mass, p):
    """Return the cost of the monotone coupling of two histograms, times both masses, exactly.

    Parameters
    ----------
    first, second : ndarray of int64 of shape (n_levels,)
        Masses by level.
    first_mass, second_mass : int
        Their sums.
    p : {1, 2}
        Power of the difference between levels.
    """
    wide = first_mass * second_mass >= 1 << 62
    dtype = object if wide else np.int64
    places = [np.flatnonzero(side) for side in (first, second)]
    ours = np.cumsum(first[places[0]]).astype(dtype) * second_mass
    theirs = np.cumsum(second[places[1]]).astype(dtype) * first_mass
    # both in units of the product of the masses: between two ends all mass goes one way
    ends = np.sort(np.concatenate([ours, theirs]))
    moved = np.diff(ends, prepend=0)
    one = places[0][np.searchsorted(ours, ends)]
    other = places[1][np.searchsorted(theirs, ends)]
    costs = np.abs(one - other) ** p  # up to 2**24
    if wide:
        return int(moved @ costs.astype(object))
    # limbs of masses, so that sums of products stay below 2**62
    limbs = [(moved >> shift) & ((1 << _LIMB_BITS) - 1) for shift in _SHIFTS]
    return sum(int(limb @ costs) << shift for limb, shift in zip(limbs, _SHIFTS, strict=True))
