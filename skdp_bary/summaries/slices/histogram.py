"""Histograms of rows projected on public directions, and the sizes of classes.

Everything that is asked about slices is computed from these integers after all of them are merged
and before any noise, so chunks, threads and machines cannot change an answer.

A class is *padded*: where its mass is below a public number of persons, the rest is put at the
center of the domain. The answers speak of the distribution of the padded mass, so they stay bounded
however few persons there are, and no guarantee depends on the number being right.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...geometry._slices import SliceLattice
from ...privacy._neighbors import REPLACE_ANY, check_neighbors
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query

MOST_PERSONS = 1 << 30  # of 2**20 units each, on 2**12 levels: sums fit 64-bit integers


@dataclass(frozen=True)
class ClassSizes(Query):
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
        return (np.zeros(self.n_classes, dtype=np.int64),)

    def count(self, state, chunk):
        """Add the masses of the rows to their classes."""
        codes = np.zeros(len(chunk.X), dtype=np.int64) if chunk.codes is None else chunk.codes
        # sums of integers in float64 are exact: 2**32 rows of 2**20 units stay below 2**53
        sums = np.bincount(codes, weights=chunk.masses, minlength=self.n_classes)
        state[0][:] += sums.astype(np.int64)

    def blocks(self, state):
        """Return the masses."""
        return (state[0].copy(),)

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
        Number of persons every class is padded to. None where no neighbor can change the mass of a
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
                f"n_min must be {self.n_classes} numbers of persons above zero, got {self.n_min!r}."
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
            masses = None if chunk.masses is None else chunk.masses[members]
            self._count_class(state[0][code], chunk.X[members], masses)

    def _sizes(self, state):
        """Return the masses of the classes; of fewer than 2**43 persons the sums are exact."""
        return state[0][:, 0, :].sum(axis=1)

    def _padded(self, histogram, size, code):
        """Return the histogram and mass after padding, and the persons that answers count."""
        if self.n_min is None:
            return histogram, size, Fraction(size, self.units)
        missing = self.units * self.n_min[code] - size
        if missing > 0:
            histogram = histogram.copy()
            histogram[:, self.lattice.center_level] += missing
        return histogram, size + max(missing, 0), Fraction(self.n_min[code])

    def _count_class(self, histogram, X, masses):
        n_levels = self.lattice.n_levels
        for rows, directions, levels in self.lattice.levels(X):
            n_directions = len(levels)
            levels += (np.arange(n_directions) * n_levels)[:, None]
            weights = None
            if masses is not None:
                weights = np.tile(masses[rows].astype(np.float64), n_directions)
            # exact in float64: blocks have less than 2**17 rows of at most 2**20 units
            counts = np.bincount(levels.ravel(), weights, minlength=n_directions * n_levels)
            histogram[directions] += counts.astype(np.int64).reshape(n_directions, n_levels)


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

    def blocks(self, state):
        """Return the masses of the classes, where they are public, and the answers."""
        sizes = self._sizes(state)
        answers = np.zeros((self.n_classes, *self.shape), dtype=np.int64)
        for code, size in enumerate(sizes.tolist()):
            histogram, mass, persons = self._padded(state[0][code], size, code)
            if mass:
                numbers, unit = self._answer(histogram, mass)
                factor = persons / unit
                up, down = factor.numerator, factor.denominator
                floors = [number * up // down for number in numbers.ravel().tolist()]
                answers[code] = np.array(floors, dtype=np.int64).reshape(self.shape)
        return (sizes, answers) if self.n_min is None else (answers,)

    def sensitivity(self, relation):
        """One person of n has an n-th of the mass, and the numbers are counted n times.

        Where n is private the mass is that of at least ``n_min`` persons, and the numbers are
        counted ``n_min`` times. Rounding down adds at most one a number, in each class in which a
        person has mass. Changing the class changes two distributions, each by one person.
        """
        l1, l2 = self._change()
        touched = 2 if check_neighbors(relation) == REPLACE_ANY and self.n_classes > 1 else 1
        rounded = self.n_classes * math.prod(self.shape)
        l1 = _above(touched * l1 + rounded)
        l2_squared = _above((math.sqrt(touched) * l2 + math.sqrt(rounded)) ** 2)
        if self.n_min is None:
            return Sensitivity(((0, l1),), ((0, l2_squared),))
        return Sensitivity.single(l1, l2_squared)


def _above(number):
    """Return an integer above a float that was computed in a few operations."""
    return math.ceil(number * (1.0 + 2.0**-40))
