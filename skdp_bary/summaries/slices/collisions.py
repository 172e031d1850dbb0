"""How often two rows meet: what a kernel test needs to know of two cohorts, in three questions.

The kernel of two rows is the probability that they fall into one cell when a slice, and the place
of cells on it, are drawn at random: ``k(x, y) = mean of max(0, 1 - |u.x - u.y| / w)`` over public
directions u and widths w, on levels. Let phi(x) have a one for every cell that x is in, times a
constant, so that ``k(x, y) = <phi(x), phi(y)>``, in [0, 1], and ``k(x, x) = 1``. Rows are counted
by cells and never compared with each other, so time and memory do not grow with pairs.

Sensitivity, for all three. Let beta be the largest share that one person has in the mass of a
class or, where it is private, in a mass of ``n_min`` persons: less mass is filled up with rows at
the center, so a change of a person changes, or replaces padding by, that share at most.

- A mean of phi moves by at most ``sqrt(2) beta``: two phi are at most sqrt(2) apart, as k >= 0.
- ``1 - |mean|**2`` is the mean of ``|phi(x) - phi(y)|**2 / 2`` over pairs. Pairs with one person
  are a share ``2 beta - beta**2``, and each is between 0 and 1.
- The covariance S of phi is the mean of ``(phi(x) - phi(y)) (phi(x) - phi(y))^T / 2`` over the
  same pairs, so one person turns it into S - A + B with A and B positive semidefinite and of norm
  at most ``2 beta - beta**2``. All ``S_t = S + t (B - A)`` between are positive semidefinite, so
  ``d|S_t|/dt = <S_t, B - A> / |S_t|`` is between ``-|A|`` and ``|B|``: the norm moves by at most
  that.

Each number is taken as many times as there are persons behind beta and rounded down to an integer,
in exact arithmetic: what moves by at most c moves by at most the next integer then.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ...privacy._neighbors import REPLACE_ANY, check_neighbors
from ...privacy.noise.mechanisms import Sensitivity
from .histogram import PaddedHistograms

FRACTION = 1 << 10  # of what one person moves, that numbers are rounded down to
_MEAN_MOVES = math.isqrt(2 * FRACTION**2 - 1) + 1  # an integer above sqrt(2) FRACTION
_LIMB_BITS = 22  # two limbs hold a mass below 2**44; 2**19 products of limbs stay below 2**63
_ROWS = 1 << 12  # one-hot at once


@dataclass(frozen=True, eq=False)
class MeetingsQuery(PaddedHistograms):
    """Base of the three: the masses of the classes, where they are public, and the answer.

    Parameters
    ----------
    widths : tuple of int
        Widths of cells, in levels.
    """

    widths: tuple = ()

    def blocks(self, state):
        """Return the masses of the classes, where they are public, and the answer."""
        sizes = self._sizes(state)
        padded = [
            self._padded(histogram, size, code)
            for code, (histogram, size) in enumerate(zip(state[0], sizes.tolist(), strict=True))
        ]
        answer = self._answer(state, padded)
        return (sizes, *answer) if self.n_min is None else answer

    def sensitivity(self, relation):
        """Return what one person moves, twice that where the person changes the class."""
        moves = check_neighbors(relation) == REPLACE_ANY and self.n_classes > 1
        case = tuple((2 if moves else 1) * n for n in self._moved())
        case = (0, *case) if self.n_min is None else case
        return Sensitivity((case,), (tuple(n**2 for n in case),))

    def _pairs_moved(self):
        """Return how far a mean over pairs moves: by ``2 beta - beta**2`` at most."""
        whole = 0 if self.n_min is None else Fraction(1, sum(self.n_min))
        return math.ceil(FRACTION * (2 - whole))

    @abstractmethod
    def _answer(self, state, padded):
        """Return blocks of integers, from what ``_padded`` says about every class."""

    @abstractmethod
    def _moved(self):
        """Return how far one person in one class moves each block."""


@dataclass(frozen=True, eq=False)
class PairSpreads(MeetingsQuery):
    """How often two rows of all classes together do not meet, summed over single widths of cells.

    Between 0 and the number of widths: about the number of those that are narrower than a slice of
    the rows is wide, whatever the rows look like. Counted once a person.
    """

    def _answer(self, state, padded):
        histogram, mass, persons = _together(padded)
        if not mass:
            return (_floors(0),)
        met = sum(meetings(histogram, histogram, (width,)) for width in self.widths)
        return (_floors(persons * FRACTION * (len(self.widths) - met / mass**2)),)

    def _moved(self):
        return (self._pairs_moved() * len(self.widths),)


@dataclass(frozen=True, eq=False)
class PairLaw(MeetingsQuery):
    """Trace and norm of the covariance of phi, over all classes together.

    The blocks are both, for all persons together. The trace is that of the kernel; the norm that of
    some cells, one place and one width on each of the first directions.

    Parameters
    ----------
    n_groups, n_cells : int
        Number of slices with cells, and cells on a slice, which are taken in turn.
    """

    n_groups: int = 32
    n_cells: int = 8

    def zeros(self):
        """Return empty histograms, and nobody in every pair of cells."""
        n_all = self.n_groups * self.n_cells
        shape = (self.n_classes, n_all, n_all)
        return (*super().zeros(), np.zeros(shape, dtype=np.int64))

    def row_effort(self, n_features):
        """Return the numbers of features, projections and pairs of cells."""
        return super().row_effort(n_features) + (self.n_groups * self.n_cells) ** 2

    def count(self, state, chunk):
        """Add the masses of rows to their levels, and to the pairs of cells that they are in."""
        super().count(state, chunk)
        codes = np.zeros(len(chunk.X), dtype=np.int64) if chunk.codes is None else chunk.codes
        for code in range(self.n_classes):
            of_class = np.flatnonzero(codes == code)
            for start in range(0, len(of_class), _ROWS):
                rows = of_class[start : start + _ROWS]
                masses = None if chunk.masses is None else chunk.masses[rows]
                state[1][code] += self._pairs_of_cells(chunk.X[rows], masses)

    def weights(self):
        """Return relative noise: the norm needs less precision than the trace."""
        return (1.0, 2.0) if self.n_min is not None else (1.0, 1.0, 2.0)

    def _answer(self, state, padded):
        histogram, mass, persons = _together(padded)
        if not mass:
            return _floors(0), _floors(0)
        trace = 1 - meetings(histogram, histogram, self.widths) / mass**2
        square = self._norm_squared(self._pooled_pairs(state), mass)
        return (
            _floors(persons * FRACTION * trace),
            _floor_of_root(square * (persons * FRACTION) ** 2),
        )

    def _moved(self):
        return (self._pairs_moved(), self._pairs_moved())

    def _pooled_pairs(self, state):
        pairs = state[1].sum(axis=0)
        if self.n_min is not None:
            sizes = self._sizes(state).tolist()
            missing = (self.units * n - m for n, m in zip(self.n_min, sizes, strict=True))
            lattice = self.lattice
            levels = np.full((lattice.n_directions, 1), lattice.center_level)
            cells = self._cells(levels)[:, 0]
            pairs[np.ix_(cells, cells)] += sum(max(mass, 0) for mass in missing)
        return pairs

    def _norm_squared(self, pairs, mass):
        """Return the squared norm of the covariance of cells, as a fraction."""
        wide = mass >= 1 << _LIMB_BITS - 1  # products leave what is added exactly
        pairs = pairs.astype(object) if wide else pairs
        alone = np.diagonal(pairs)
        centred = abs(pairs * mass - alone[:, None] * alone)
        square = int((centred**2).sum()) if wide else _exact_dot(centred, centred)
        return Fraction(square, self.n_groups**2 * mass**4)

    def _pairs_of_cells(self, X, masses):
        """Return, for every two cells, the mass of the rows that are in both, exactly."""
        levels = np.empty((self.lattice.n_directions, len(X)), dtype=np.int64)
        for rows, some, block in self.lattice.levels(X):
            levels[some, rows] = block
        kind = np.float32 if masses is None else np.float64  # sums below 2**12, below 2**32
        hot = np.zeros((len(X), self.n_groups * self.n_cells), dtype=kind)
        hot[np.arange(len(X)), self._cells(levels)] = 1.0
        other = hot if masses is None else hot * masses[:, None]
        return (hot.T @ other).astype(np.int64)

    def _cells(self, levels):
        """Return the numbers of the cells of rows, one a group."""
        groups = np.arange(self.n_groups)
        widths = np.resize(self.widths, self.n_groups)
        # places of cells follow the golden ratio, which leaves no gaps
        offsets = np.floor(widths * ((groups + 1) * 0.6180339887498949 % 1.0)).astype(np.int64)
        chosen = levels[groups % len(levels)]
        places = (chosen + offsets[:, None]) // widths[:, None] % self.n_cells
        return places + (groups * self.n_cells)[:, None]


@dataclass(frozen=True, eq=False)
class CohortGap(MeetingsQuery):
    """Distance between the means of phi over two classes, or over one and a public reference.

    Counted once a person of the smaller private class.

    Parameters
    ----------
    reference : ndarray of int64 of shape (n_directions, n_levels) or None
        Histogram of public rows, where there is one class.
    """

    reference: np.ndarray | None = None

    def _answer(self, state, padded):
        persons = min(part[2] for part in padded)
        if not persons:
            return (_floors(0),)
        sides = [part[:2] for part in padded]
        if self.reference is not None:
            sides.append((self.reference, int(self.reference[0].sum())))
        square = squared_gap(*sides, self.widths)
        return (_floor_of_root(square * (persons * FRACTION) ** 2),)

    def _moved(self):
        return (_MEAN_MOVES,)


def meetings(first, second, widths):
    """Return the sum of the kernel over all pairs of two histograms, exactly.

    Parameters
    ----------
    first, second : ndarray of int64 of shape (n_directions, n_levels)
    widths : tuple of int

    Returns
    -------
    sum : Fraction
    """
    total = Fraction(0)
    for width in widths:
        ours = _windows(first, width)
        theirs = ours if second is first else _windows(second, width)
        total += Fraction(_exact_dot(ours, theirs), width)
    return total / (len(widths) * len(first))


def squared_gap(one, other, widths):
    """Return the squared distance of the means of phi over two (histogram, mass)."""
    (first, mass), (second, mass_of_other) = one, other
    return (
        meetings(first, first, widths) / mass**2
        - 2 * meetings(first, second, widths) / (mass * mass_of_other)
        + meetings(second, second, widths) / mass_of_other**2
    )


def _windows(histogram, width):
    """Return the masses of all windows of so many levels that meet the levels there are."""
    sums = np.zeros((len(histogram), histogram.shape[1] + 2 * width - 1), dtype=np.int64)
    sums[:, width : width + histogram.shape[1]] = np.cumsum(histogram, axis=1)
    sums[:, width + histogram.shape[1] :] = histogram.sum(axis=1)[:, None]
    return sums[:, width:] - sums[:, :-width]


def _exact_dot(first, second):
    """Return the sum of the products of masses as a Python integer."""
    largest = int(first.max()), int(second.max())
    most = largest[0] * largest[1] * first.shape[1]
    if most < 1 << 53:  # float64 adds a line exactly, and much faster
        lines = np.einsum("ij,ij->i", first.astype(np.float64), second.astype(np.float64))
        return sum(int(line) for line in lines.tolist())
    if max(largest) >= 1 << 2 * _LIMB_BITS:  # as n_min may say, however few persons there are
        return int((first.astype(object) * second).sum())
    total = 0
    mask = (1 << _LIMB_BITS) - 1
    for ours, theirs in zip(first, second, strict=True):
        highs, lows = (ours >> _LIMB_BITS, theirs >> _LIMB_BITS), (ours & mask, theirs & mask)
        cross = int(highs[0] @ lows[1]) + int(lows[0] @ highs[1])
        total += (int(highs[0] @ highs[1]) << 2 * _LIMB_BITS) + (cross << _LIMB_BITS)
        total += int(lows[0] @ lows[1])
    return total


def _together(padded):
    """Return the histogram of all classes, its mass and the persons that answers count."""
    return tuple(sum(column) for column in zip(*padded, strict=True))


def _floors(number):
    return np.array([math.floor(number)], dtype=np.int64)


def _floor_of_root(square):
    """Return the root of a fraction, rounded down; that of its floor has the same floor."""
    return np.array([math.isqrt(math.floor(square))], dtype=np.int64)
