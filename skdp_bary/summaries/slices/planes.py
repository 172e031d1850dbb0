"""How often two rows meet on planes: the law of a distance of two cohorts, and the distance.

The kernel of two rows is the probability that they fall into one square cell when a public plane,
and the place of cells on it, are drawn at random. A slice alone hardly sees that two of many
features go together; a plane, a pair of slices, does, and it sees a change of scale better, too.

Cells are four by four squares of :class:`UnitPlanes`, at each of the sixteen places, so the kernel
of two rows is ``max(0, 1 - i / 4) max(0, 1 - j / 4)`` for squares that are i and j apart, and its
mean over planes. Squares are numbered in turn, so rows that are eight cells apart meet as well:
that is a kernel as good as any. phi(x) has a one for every cell that x is in, times a constant;
what ``MeetingsQuery`` says of phi holds.

Sensitivity of the norm. It is the root of ``sum w_gh |S_gh|**2`` over pairs of groups, where a
group is a plane with one place of cells, S_gh the covariance between the cells of two groups, and
the weights w are public, not negative and add up to one. That is a seminorm of S, and by the
triangle inequality it moves by no more than that of the change of S. Let a person with a share
beta of the mass, at one row, be replaced; let p be the mean of cells over all others, u and v the
cells of the person before and after, ``a = u - p`` and ``a' = v - p`` in group g, and b, b' the
same in h. Then ``change of S_gh = beta (1 - beta) (a' b'^T - a b^T)``, and
``|a' b'^T - a b^T|**2`` is at most 6:

- If u = v in group g it is ``|a|**2 |b' - b|**2``, at most 4, as no two points of cells are further
  apart than sqrt(2); so with g and h exchanged.
- Otherwise ``|a - a'|**2 = 2``, so ``<a, a'> = (A + A') / 2 - 1`` with ``A = |a|**2`` and so on,
  and the square is ``A B + A' B' - 2 <a, a'> <b, b'>``, which is
  ``(A - A') (B - B') / 2 + A + A' + B + B' - 2``. With s the sum of what p has in the cells of u
  and v, and t the difference, ``A - A'`` is 2 t up to its sign and ``A + A'`` at most
  ``4 - 6 s + 3 s**2 + t**2``. As ``2 t t' <= t**2 + t'**2`` and ``t**2 <= s**2``, the square is at
  most 6 and, for each of the two groups, ``5 s**2 - 6 s``, which is not above 0 where s is between
  0 and 1.

A person of several rows is a mixture of rows, and one who is not there, or has less mass, is a
mixture with all others. Then ``change of S = beta (1 - beta) (E' - E) + beta**2 (C' - C)`` with E
and E' means of a b^T over the person's rows, no further apart than pairs of rows are, and C, C'
covariances within a person, of norm one at most. So the norm moves by at most ``sqrt(6) beta``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .collisions import (
    FRACTION,
    LIMB_BITS,
    MeetingsQuery,
    exact_dot,
    floor_of_root,
    floors,
    together,
)

CELL = 4  # squares across a cell
_MEAN_MOVES = math.isqrt(2 * FRACTION**2 - 1) + 1  # an integer above sqrt(2) FRACTION
_NORM_MOVES = math.isqrt(6 * FRACTION**2 - 1) + 1
_ROWS = 1 << 12  # one-hot at once
_KEPT = 4  # cells across a plane that the norm tells apart, in turn
_PLACES = 2  # of cells on each plane of the norm
_GOLDEN = 0.6180339887498949  # its multiples leave no gaps


@dataclass(frozen=True, eq=False)
class PairLaw(MeetingsQuery):
    """Trace and norm of the covariance of phi, over all classes together.

    The blocks are both, for all persons together. The trace is that of the kernel. The norm is
    that of cells at two places of each of some planes. What different planes have in common counts
    as often as it does among all planes, and what two places of one plane have as often as one
    plane meets itself; a place with itself does not count, as there are many places.

    Parameters
    ----------
    n_planes : int
        Number of planes whose cells the norm is about, at most.
    """

    n_planes: int = 12

    def zeros(self):
        """Return empty histograms, and nobody in every pair of cells."""
        n_all = len(self._planes) * _KEPT**2
        shape = (self.n_classes, n_all, n_all)
        return (*super().zeros(), np.zeros(shape, dtype=np.int64))

    def row_effort(self, n_features):
        """Return the numbers of features, projections and pairs of cells."""
        return super().row_effort(n_features) + (len(self._planes) * _KEPT**2) ** 2

    def count(self, state, chunk):
        """Add the masses of rows to their squares, and to the pairs of cells that they are in."""
        super().count(state, chunk)
        codes = np.zeros(len(chunk.X), dtype=np.int64) if chunk.codes is None else chunk.codes
        for code in range(self.n_classes):
            of_class = np.flatnonzero(codes == code)
            for start in range(0, len(of_class), _ROWS):
                rows = of_class[start : start + _ROWS]
                masses = None if chunk.masses is None else chunk.masses[rows]
                state[1][code] += self._pairs_of_cells(chunk.X[rows], masses)

    def weights(self):
        """Return relative noise: what either adds to that of the p-value is about the same."""
        return (1.5, 1.0) if self.n_min is not None else (1.0, 1.5, 1.0)

    def _answer(self, state, padded):
        histogram, mass, persons = together(padded)
        if not mass:
            return floors(0), floors(0)
        trace = 1 - plane_meetings(histogram, histogram) / mass**2
        square = self._norm_squared(self._pooled_pairs(state), mass)
        return (
            floors(persons * FRACTION * trace),
            floor_of_root(square * (persons * FRACTION) ** 2),
        )

    def _moved(self):
        return (self._pairs_moved(), _NORM_MOVES)

    @property
    def _planes(self):
        """The plane of each group of cells, so that planes are spread over all there are."""
        available = self.lattice.n_directions
        count = min(self.n_planes, available)
        return np.repeat(np.arange(count) * available // count, _PLACES)

    def _pooled_pairs(self, state):
        pairs = state[1].sum(axis=0)
        if self.n_min is not None:
            sizes = self._sizes(state).tolist()
            missing = (self.units * n - m for n, m in zip(self.n_min, sizes, strict=True))
            lattice = self.lattice
            squares = np.full((lattice.n_directions, 1), lattice.center_level)
            cells = self._cells(squares)[:, 0]
            pairs[np.ix_(cells, cells)] += sum(max(mass, 0) for mass in missing)
        return pairs

    def _norm_squared(self, pairs, mass):
        """Return the squared norm of the covariance of cells, as a fraction."""
        wide = mass >= 1 << LIMB_BITS - 1  # products leave what is added exactly
        pairs = pairs.astype(object) if wide else pairs
        alone = np.diagonal(pairs)
        centred = abs(pairs * mass - alone[:, None] * alone)
        square = Fraction(0)
        for chosen, weight in self._weights_of_pairs():
            kept = centred * np.repeat(np.repeat(chosen, _KEPT**2, axis=0), _KEPT**2, axis=1)
            sums = int((kept**2).sum()) if wide else exact_dot(kept, kept)
            square += weight * sums / int(chosen.sum())
        return square / mass**4

    def _weights_of_pairs(self):
        """Return which pairs of groups count together, and how much all of them do."""
        planes = self._planes
        one_plane = planes[:, None] == planes
        places = one_plane & ~np.eye(len(planes), dtype=bool)
        if one_plane.all():
            return [(places, Fraction(1))]
        share = Fraction(1, self.lattice.n_directions)
        return [(places, share), (~one_plane, 1 - share)]

    def _pairs_of_cells(self, X, masses):
        """Return, for every two cells, the mass of the rows that are in both, exactly."""
        squares = np.empty((self.lattice.n_directions, len(X)), dtype=np.int64)
        for rows, some, block in self.lattice.levels(X):
            squares[some, rows] = block
        kind = np.float32 if masses is None else np.float64  # sums below 2**12, below 2**32
        hot = np.zeros((len(X), len(self._planes) * _KEPT**2), dtype=kind)
        hot[np.arange(len(X)), self._cells(squares)] = 1.0
        other = hot if masses is None else hot * masses[:, None]
        return (hot.T @ other).astype(np.int64)

    def _cells(self, squares):
        """Return the numbers of the cells of rows, one a group."""
        side, groups = self.lattice.side, np.arange(len(self._planes))
        places = np.stack([groups + 1, 7 * groups + 3]) * _GOLDEN % 1.0
        places = np.floor(CELL * places).astype(np.int64)[:, :, None]
        pieces = np.stack(np.divmod(squares[self._planes], side))
        across, up = (pieces + places) % side // CELL % _KEPT
        return across * _KEPT + up + (groups * _KEPT**2)[:, None]


@dataclass(frozen=True, eq=False)
class CohortGap(MeetingsQuery):
    """Distance between the means of phi over two classes, or over one and a public reference.

    Counted once a person of the smaller private class.

    Parameters
    ----------
    reference : ndarray of int64 of shape (n_planes, n_squares) or None
        Histogram of public rows, where there is one class.
    """

    reference: np.ndarray | None = None

    def _answer(self, state, padded):
        persons = min(part[2] for part in padded)
        if not persons:
            return (floors(0),)
        sides = [part[:2] for part in padded]
        if self.reference is not None:
            sides.append((self.reference, int(self.reference[0].sum())))
        (first, mass), (second, mass_of_other) = sides
        square = (
            plane_meetings(first, first) / mass**2
            - 2 * plane_meetings(first, second) / (mass * mass_of_other)
            + plane_meetings(second, second) / mass_of_other**2
        )
        return (floor_of_root(square * (persons * FRACTION) ** 2),)

    def _moved(self):
        return (_MEAN_MOVES,)


def plane_meetings(first, second):
    """Return the sum of the kernel over all pairs of two histograms of squares, exactly.

    Parameters
    ----------
    first, second : ndarray of int64 of shape (n_planes, n_squares)

    Returns
    -------
    sum : Fraction
    """
    ours = _cells_at_all_places(first)
    theirs = ours if second is first else _cells_at_all_places(second)
    return Fraction(exact_dot(ours, theirs), CELL**2 * len(first))


def _cells_at_all_places(histogram):
    """Return the masses of the cells that begin at every square."""
    side = math.isqrt(histogram.shape[1])
    sums = histogram.reshape(-1, side, side)
    for axis in (1, 2):
        sums = sum(np.roll(sums, -shift, axis=axis) for shift in range(CELL))
    return sums.reshape(histogram.shape)
