"""How often two rows meet: what a kernel test needs to know of two cohorts, in three questions.

The kernel of two rows is the probability that they fall into one cell when a slice or a plane, and
the place of cells on it, are drawn at random; on slices ``k(x, y) = mean of max(0, 1 - |u.x - u.y|
/ w)`` over public directions u, on levels. Let phi(x) have a one for every cell that x is in, times
a constant, so that ``k(x, y) = <phi(x), phi(y)>``, in [0, 1], and ``k(x, x) = 1``. Rows are counted
by cells and never compared with each other, so time and memory do not grow with pairs.

Sensitivity. Let beta be the largest share that one person has in the mass of a class or, where it
is private, in a mass of ``n_min`` persons: less mass is filled up with rows at the center, so a
change of a person changes, or replaces padding by, that share at most.

- A mean of phi moves by at most ``sqrt(2) beta``: two phi are at most sqrt(2) apart, as k >= 0.
- ``1 - |mean|**2`` is the mean of ``|phi(x) - phi(y)|**2 / 2`` over pairs. Pairs with one person
  are a share ``2 beta - beta**2``, and each is between 0 and 1.
- The norm of the covariance of phi moves by at most ``sqrt(6) beta``, as ``planes`` shows.

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
LIMB_BITS = 22  # two limbs hold a mass below 2**44; 2**19 products of limbs stay below 2**63


@dataclass(frozen=True, eq=False)
class MeetingsQuery(PaddedHistograms):
    """Base of the three: the masses of the classes, where they are public, and the answer."""

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

    Parameters
    ----------
    widths : tuple of int
        Widths of cells, in levels.
    """

    widths: tuple = ()

    def _answer(self, state, padded):
        histogram, mass, persons = together(padded)
        if not mass:
            return (floors(0),)
        met = sum(meetings(histogram, histogram, (width,)) for width in self.widths)
        return (floors(persons * FRACTION * (len(self.widths) - met / mass**2)),)

    def _moved(self):
        return (self._pairs_moved() * len(self.widths),)


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
        total += Fraction(exact_dot(ours, theirs), width)
    return total / (len(widths) * len(first))


def _windows(histogram, width):
    """Return the masses of all windows of so many levels that meet the levels there are."""
    sums = np.zeros((len(histogram), histogram.shape[1] + 2 * width - 1), dtype=np.int64)
    sums[:, width : width + histogram.shape[1]] = np.cumsum(histogram, axis=1)
    sums[:, width + histogram.shape[1] :] = histogram.sum(axis=1)[:, None]
    return sums[:, width:] - sums[:, :-width]


def exact_dot(first, second):
    """Return the sum of the products of masses as a Python integer."""
    largest = int(first.max()), int(second.max())
    most = largest[0] * largest[1] * first.shape[1]
    if most < 1 << 53:  # float64 adds a line exactly, and much faster
        lines = np.einsum("ij,ij->i", first.astype(np.float64), second.astype(np.float64))
        return sum(int(line) for line in lines.tolist())
    if max(largest) >= 1 << 2 * LIMB_BITS:  # as n_min may say, however few persons there are
        return int((first.astype(object) * second).sum())
    total = 0
    mask = (1 << LIMB_BITS) - 1
    for ours, theirs in zip(first, second, strict=True):
        highs, lows = (ours >> LIMB_BITS, theirs >> LIMB_BITS), (ours & mask, theirs & mask)
        cross = int(highs[0] @ lows[1]) + int(lows[0] @ highs[1])
        total += (int(highs[0] @ highs[1]) << 2 * LIMB_BITS) + (cross << LIMB_BITS)
        total += int(lows[0] @ lows[1])
    return total


def together(padded):
    """Return the histogram of all classes, its mass and the persons that answers count."""
    return tuple(sum(column) for column in zip(*padded, strict=True))


def floors(number):
    return np.array([math.floor(number)], dtype=np.int64)


def floor_of_root(square):
    """Return the root of a fraction, rounded down; that of its floor has the same floor."""
    return np.array([math.isqrt(math.floor(square))], dtype=np.int64)
