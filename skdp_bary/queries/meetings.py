"""How often two rows meet, on cells and on planes: what a test of two cohorts needs."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .sizes import codes_of
from .slices import PaddedHistograms

# How often two rows meet: what a kernel test needs to know of two cohorts, in three questions.

FRACTION = 1 << 10  # of what one person moves, that numbers are rounded down to
LIMB_BITS = 22  # two limbs hold a mass below 2**44; 2**19 products of limbs stay below 2**63


@dataclass(frozen=True, eq=False)
class MeetingsQuery(PaddedHistograms):
    """Base of the three: the masses of the classes, where they are public, and the answer."""

    def _changes(self, touched):
        moved = [touched * n for n in self._moved()]
        return moved, [n**2 for n in moved]

    def _pairs_moved(self):
        """Sensitivity of a mean over pairs: ``2 beta - beta**2`` at most."""
        whole = 0 if self.n_min is None else Fraction(1, sum(self.n_min))
        return math.ceil(FRACTION * (2 - whole))

    @abstractmethod
    def _moved(self):
        """Sensitivity of each block to one person in one class."""


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

    def _answers(self, state, padded):
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
    # windows are differences of running sums, of shape (n_directions, n_levels + width - 1)
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
    """Return the histogram of all classes, its mass and the people that answers count."""
    return tuple(sum(column) for column in zip(*padded, strict=True))


def floors(number):
    return np.array([math.floor(number)], dtype=np.int64)


def floor_of_root(square):
    """Return the root of a fraction, rounded down; that of its floor has the same floor."""
    return np.array([math.isqrt(math.floor(square))], dtype=np.int64)


# How often two rows meet on planes: the law of a distance of two cohorts, and the distance.

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

    The blocks are both, for all people together. The trace is that of the kernel. The norm is
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
        """Return empty histograms, and no one in every pair of cells."""
        n_all = len(self._planes) * _KEPT**2
        shape = (self.n_classes, n_all, n_all)
        return (*super().zeros(), np.zeros(shape, dtype=np.int64))

    def row_effort(self, n_features):
        """Return the numbers of features, projections and pairs of cells."""
        return super().row_effort(n_features) + (len(self._planes) * _KEPT**2) ** 2

    def count(self, state, chunk):
        """Add the masses of rows to their squares, and to the pairs of cells that they are in."""
        super().count(state, chunk)
        codes = codes_of(chunk)
        for code in range(self.n_classes):
            of_class = np.flatnonzero(codes == code)
            for start in range(0, len(of_class), _ROWS):
                rows = of_class[start : start + _ROWS]
                state[1][code] += self._pairs_of_cells(chunk.X[rows], chunk.masses_of(rows))

    def weights(self):
        """Return relative noise: what either adds to that of the p-value is about the same."""
        return (1.5, 1.0) if self.n_min is not None else (1.0, 1.5, 1.0)

    def _answers(self, state, padded):
        histogram, mass, persons = together(padded)
        if not mass:
            return floors(0), floors(0)
        trace = 1 - plane_meetings(histogram, histogram) / mass**2
        pairs = state[1].sum(axis=0)
        if self.n_min is not None:  # padded people are at the center of every plane
            sizes = self._sizes(state).tolist()
            missing = (self.units * n - m for n, m in zip(self.n_min, sizes, strict=True))
            shape = self.lattice.n_directions, 1
            cells = self._cells(np.full(shape, self.lattice.center_level))[:, 0]
            pairs[np.ix_(cells, cells)] += sum(max(each, 0) for each in missing)
        square = self._norm_squared(pairs, mass)
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

    def _norm_squared(self, pairs, mass):
        """Return the squared norm of the covariance of cells, as a fraction."""
        wide = mass >= 1 << LIMB_BITS - 1  # products leave what is added exactly
        pairs = pairs.astype(object) if wide else pairs
        alone = np.diagonal(pairs)
        centered = abs(pairs * mass - alone[:, None] * alone)
        planes = self._planes
        one_plane = planes[:, None] == planes
        places = one_plane & ~np.eye(len(planes), dtype=bool)
        share = Fraction(1, self.lattice.n_directions)
        counted = [(places, share), (~one_plane, 1 - share)]  # pairs of groups, and their weight
        if one_plane.all():
            counted = [(places, Fraction(1))]
        square = Fraction(0)
        for chosen, weight in counted:
            kept = centered * np.repeat(np.repeat(chosen, _KEPT**2, axis=0), _KEPT**2, axis=1)
            sums = int((kept**2).sum()) if wide else exact_dot(kept, kept)
            square += weight * sums / int(chosen.sum())
        return square / mass**4

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
        """Return the numbers of the cells of rows, one per group."""
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

    def _answers(self, state, padded):
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
