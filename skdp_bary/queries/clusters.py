"""Masses, clipped sums and spreads of the clusters of released centers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ..desk.query import Release
from ..privacy.mechanisms import ADD_REMOVE, Sensitivity
from ..privacy.noise import MAX_SCALE
from ..rows.persons import Chunk
from .frames import Frame, squared_lengths
from .sizes import Sums, in_units, masses_at, zeros_of

# Questions about the clusters of public or released centers: masses, clipped sums, spreads.

_SHARE_BITS = 16  # of clip factors that are counted
_SPREAD_BITS = 20  # of squared distances relative to the squared radius
_MOST_NOISE = MAX_SCALE / 2**7  # of sums alone; 2**4 stay for rehearsals, 2**3 for blocks beside
_FEWEST_FACTORS = 3  # digits; fewer would be needed where noise hides 2**18 persons


@dataclass(frozen=True)
class Digits:
    """How finely rows and clip factors are cut, so that all products stay exact.

    Attributes
    ----------
    rows : int
        Binary digits of a row.
    factors : int
        ... of a clip factor of the cluster with the largest radius, at most.
    ratio : int
        Smaller clusters have radii down to ``2**-ratio`` of the largest, and factors that many
        digits longer.
    block : int
        Rows that are added in float64 before the sum moves to int64.
    """

    rows: int
    factors: int
    ratio: int
    block: int


_PERSON_ROWS = Digits(rows=16, factors=14, ratio=6, block=1 << 14)
_SHARED_ROWS = Digits(rows=12, factors=8, ratio=4, block=1 << 6)


def digits_of(units):
    """Return the digits that leave room for a person's mass of `units`."""
    return _PERSON_ROWS if units == 1 else _SHARED_ROWS


@dataclass(frozen=True, eq=False)
class ClusterQuery(Sums):
    """Rows in a frame, each belonging to the nearest of several centers, the first on ties.

    Parameters
    ----------
    frame : Frame
    centers : ndarray of shape (n_clusters, width)
        Public or released, relative to the frame's center.
    radii : ndarray of shape (n_clusters,)
        Residuals are clipped to these lengths.
    shares : tuple of float
        Share of the noise's precision that each block gets, relative to its sensitivity.
    pure : bool
        Whether that is the sensitivity in L1, as for Laplace noise, or in L2.
    units : int
        Largest mass of one person.
    total_public : bool
        True when no neighbor can change the mass of all rows.
    least : float
        The smallest epsilon or mu of a step. If it is little, sums have fewer digits, so that
        noise as wide as the largest radius asks for can be drawn.
    """

    frame: Frame
    centers: np.ndarray
    radii: np.ndarray
    shares: tuple
    pure: bool = False
    units: int = 1
    total_public: bool = False
    least: float = math.inf

    @property
    def digits(self) -> Digits:
        """How finely rows and factors are cut."""
        return digits_of(self.units)

    @cached_property
    def integer_centers(self) -> np.ndarray:
        """Centers in lattice units."""
        return self.frame.in_units(self.centers)

    @cached_property
    def integer_radii(self) -> np.ndarray:
        """Radii in lattice units, none much smaller than the largest."""
        radii = np.rint(self.radii / self.frame.step).astype(np.int64)
        top = int(np.clip(radii.max(), 1, 1 << (self.digits.rows + 1)))
        return np.clip(radii, max(1, -(-top >> self.digits.ratio)), top)

    @property
    def used_centers(self) -> np.ndarray:
        """The centers after rounding, which rows are compared with."""
        return self.integer_centers * self.frame.step

    @property
    def used_radii(self) -> np.ndarray:
        """The radii after rounding."""
        return self.integer_radii * self.frame.step

    @cached_property
    def _scores(self):
        """What gives integer rows x the scores ``K |c|**2 - 2 K c.x + j`` for centers c = c_j.

        K is a power of two above the number of centers, so the smallest score names its center.
        """
        c = self.integer_centers
        size = 1 << max(len(c) - 1, 1).bit_length()
        constant = size * (c * c).sum(axis=1) + np.arange(len(c))
        return -2.0 * size * c, constant[:, None], float(size)

    def nearest(
        self, rows: np.ndarray, squares: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest center of each integer row and the squared distance, both exact.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, width)
        squares : ndarray of shape (n_rows,) or None
            Their squared lengths, where they are known.
        """
        squares = squared_lengths(rows) if squares is None else squares
        if len(self.centers) == 1:
            center = self.integer_centers[0]
            away = squares - 2.0 * (rows @ center) + center @ center if center.any() else squares
            return np.zeros(len(rows), dtype=np.int64), away
        matrix, constant, size = self._scores
        scores = matrix @ rows.T
        scores += constant
        best = scores.min(axis=0)
        score = np.floor(best * (1.0 / size))  # a power of two
        label = (best - size * score).astype(np.int64)
        score += squares
        return label, score

    def labeled_blocks(self, chunk: Chunk) -> Iterator[tuple]:
        """Yield integer rows, their nearest centers and squared distances, and masses or None."""
        for rows, squares, masses in self.frame.measured_blocks(chunk, self.digits.block):
            yield rows, *self.nearest(rows, squares), masses

    def weights(self) -> tuple[float, ...] | None:
        """Return noise scales that divide precision among the blocks as asked."""
        l1, l2_squared = self._joins  # what one row adds at most to every block
        case = l1 if self.pure else map(math.sqrt, l2_squared)
        return tuple(float(n) / share for n, share in zip(case, self.shares, strict=True))

    @cached_property
    def reach(self) -> int:
        """Largest norm of what one row adds to the sums."""
        top = int(self.integer_radii.max())
        # noise grows with units, width and radius, and shrinks with what a step is paid
        room = _MOST_NOISE * self.least / (self.units * math.sqrt(self.frame.width) * top)
        return top << int(max(_FEWEST_FACTORS, min(self.digits.factors, math.log2(room))))

    @cached_property
    def largest_factors(self) -> np.ndarray:
        """Factor of rows within the radius of their cluster."""
        return clip_factors(self.integer_radii**2, self.reach)

    @property
    def sum_units(self) -> np.ndarray:
        """Length that one unit of each cluster's sum represents."""
        return self.frame.step / self.largest_factors

    def _factors(self, label, square):
        """Return the clip factor of every row, and which rows are outside of their radius."""
        factor = self.largest_factors[label]
        outside = np.flatnonzero(square > (self.integer_radii**2)[label])
        factor[outside] = clip_factors(square[outside], self.reach)
        return factor, outside

    def _add_residuals(self, total, rows, label, factor):
        """Add factor times (row - center) of every row to its cluster; exact below 2**53."""
        if len(total) == 1:
            sums = (factor @ rows)[None]
        else:  # a sparse matrix of a factor per row, in the line of its cluster
            ends, label32 = np.arange(len(label) + 1, dtype=np.int32), label.astype(np.int32)
            sums = sparse.csc_array((factor, label32, ends), shape=(len(total), len(label))) @ rows
        sums -= self.integer_centers * np.bincount(label, factor, len(total))[:, None]
        total += sums.astype(np.int64)

    @property
    def _row_l1(self):
        """Largest L1 norm of what one row adds to the sums."""
        return math.isqrt(self.frame.width * self.reach**2)


@dataclass(frozen=True, eq=False)
class ClippedMeans(ClusterQuery):
    """For every cluster, the sum F of clip factors and the sum S of clipped residuals.

    ``S / F`` is a mean that gives clipped rows less weight, so clipping does not shorten it. The
    blocks are F, of shape (n_clusters,), and S, of shape (n_clusters, width).

    Parameters
    ----------
    frame : Frame
    centers : ndarray of shape (n_clusters, width)
        Public or released, relative to the frame's center.
    radii : ndarray of shape (n_clusters,)
        Residuals are clipped to these lengths.
    shares : tuple of float
        Shares of the precision for F and S.
    pure : bool
        Whether the noise is Laplace, so that sensitivity is measured in L1.
    units : int
        Largest mass of one person.
    total_public : bool
        True when no neighbor can change the mass of all rows.
    least : float
        The smallest epsilon or mu of a step.
    """

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return zero sums."""
        return zeros_of(len(self.centers), self.centers.shape)

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the rows of a chunk."""
        largest = self.largest_factors
        share = 2.0**_SHARE_BITS / largest
        whole = np.floor(largest * share)
        for rows, label, square, masses in self.labeled_blocks(chunk):
            factor, outside = self._factors(label, square)
            # rows within their radius count in full, others by the share of the factor that is left
            part = whole[label]
            part[outside] = np.floor(factor[outside] * share[label[outside]])
            if masses is not None:
                factor, part = factor * masses, part * masses
            state[0][:] += masses_at(label, part, len(largest))
            self._add_residuals(state[1], rows, label, factor)

    @property
    def _joins(self):
        return (1 << _SHARE_BITS, self._row_l1), (1 << 2 * _SHARE_BITS, self.reach**2)

    def sensitivity(self, relation: str) -> Sensitivity:
        """A row has one cluster; moving within it changes the factor and the side."""
        (f1, s1), (f2, s2) = self._joins
        if relation == ADD_REMOVE:
            return in_units(self.units, [(f1, s1)], [(f2, s2)])
        if len(self.centers) == 1:
            return in_units(self.units, [(f1, 2 * s1)], [(f2, 4 * s2)])
        return in_units(self.units, [(2 * f1, 2 * s1)], [(f2, 4 * s2), (2 * f2, 2 * s2)])

    def read(self, released: Release) -> Readout:
        """Return F in rows, the mean residuals' numerators and both noise levels, see Readout."""
        share = self.units * 2.0**_SHARE_BITS
        unit = self.sum_units / self.units
        (f, s), (sd_f, sd_s) = released.values, released.noise_sd
        return Readout(f / share, s * unit[:, None], sd_f / share, sd_s * unit)


@dataclass(frozen=True, eq=False)
class ClusterMoments(ClusterQuery):
    """For every cluster, its mass N, the sum S of clipped residuals, and their spread Q.

    Q adds up the squared distances from the center, relative to the squared radius and at most 1.
    """

    mass_block = 0

    def zeros(self):
        """Return zero sums."""
        return zeros_of(len(self.centers), self.centers.shape, len(self.centers))

    def count(self, state, chunk):
        """Add the rows of a chunk."""
        radii = self.integer_radii**2
        for rows, label, square, masses in self.labeled_blocks(chunk):
            factor, _ = self._factors(label, square)
            part = _relative(square, radii[label])
            mass = np.ones(len(label)) if masses is None else masses.astype(float)
            state[0][:] += masses_at(label, mass, len(radii))
            state[2][:] += masses_at(label, part * mass, len(radii))
            self._add_residuals(state[1], rows, label, factor * mass)

    @property
    def _joins(self):
        return (1, self._row_l1, 1 << _SPREAD_BITS), (1, self.reach**2, 1 << 2 * _SPREAD_BITS)

    def sensitivity(self, relation):
        """Within a cluster, rows at lengths a and b change S by a + b and Q by |a**2 - b**2|.

        With the lengths at most 1, the curve of the two changes lies below the chord from (2, 0) to
        (3/2, 1), and that of their squares below the chord from (4, 0) to (5/4, 1). Rounding adds
        one unit to the change of Q.
        """
        (n1, s1, q1), (n2, s2, q2) = self._joins
        if relation == ADD_REMOVE:
            return in_units(self.units, [(n1, s1, q1)], [(n2, s2, q2)])
        slack = 2 * q1 + 1
        l2 = [(0, 4 * s2, slack), (0, 5 * s2 // 4 + 1, q2)]
        l1 = [(0, 2 * s1, 1), (0, 3 * s1 // 2 + 1, q1)]
        if len(self.centers) > 1:
            l2, l1 = [*l2, (2 * n2, 2 * s2, 2 * q2)], [(2 * n1, 2 * s1, 2 * q1)]
        elif not self.total_public:
            l2, l1 = [*l2, (n2, s2, q2)], [*l1, (n1, s1, q1)]
        return in_units(self.units, l1, l2)

    def read(self, released):
        """Return N, S and Q in rows and lengths, and their noise levels."""
        u, unit = self.units, self.sum_units / self.units
        square = self.used_radii**2 / (u * 2.0**_SPREAD_BITS)
        (n, s, q), (sd_n, sd_s, sd_q) = released.values, released.noise_sd
        return Readout(n / u, s * unit[:, None], sd_n / u, sd_s * unit, q * square, sd_q * square)


@dataclass(frozen=True, eq=False)
class TotalSpread(ClusterQuery):
    """Sum over all rows of the squared distance from the nearest center, at most a radius."""

    def count(self, state, chunk):
        """Add the rows of a chunk."""
        square_radius = float(self.integer_radii.max()) ** 2
        for _, _, square, masses in self.labeled_blocks(chunk):
            part = _relative(square, square_radius)
            state[0][:] += int((part if masses is None else part * masses).sum())

    _joins = (1 << _SPREAD_BITS,), (1 << 2 * _SPREAD_BITS,)

    def sensitivity(self, relation):
        """The scalar of a row lies between zero and one, so replacing it costs what adding does."""
        l1, l2_squared = self._joins
        return in_units(self.units, [l1], [l2_squared])

    def read(self, released):
        """Return the sum of squared distances."""
        square = self.used_radii.max() ** 2 / (self.units * 2.0**_SPREAD_BITS)
        return float(released.values[0][0]) * square


@dataclass(frozen=True, eq=False)
class Readout:
    """Blocks of a release in rows and lengths.

    Attributes
    ----------
    mass : ndarray of shape (n_clusters,)
    sums : ndarray of shape (n_clusters, width)
    mass_sd : float
    sums_sd : ndarray of shape (n_clusters,)
        Noise of one coordinate of a cluster's sum.
    spread, spread_sd : ndarray of shape (n_clusters,) or None
        Sums of squared distances, and their noise.
    """

    mass: np.ndarray
    sums: np.ndarray
    mass_sd: float
    sums_sd: np.ndarray
    spread: np.ndarray | None = None
    spread_sd: np.ndarray | None = None


def clip_factors(squares, reach):
    """Return the largest integers f with ``f**2 * squares <= reach**2``, as float64.

    The float root is off by far less than one, and the integer comparison settles the rest;
    ``reach**2`` and the products stay below ``2**62``.
    """
    factor = np.floor(reach / np.sqrt(squares)).astype(np.int64)
    squares = squares.astype(np.int64)
    factor += (factor + 1) ** 2 * squares <= reach**2
    factor -= factor**2 * squares > reach**2
    return factor.astype(float)


def _relative(squares, limits):
    """Return squares relative to limits, at most 1, as integers of 20 digits rounded down."""
    scale = 2.0**_SPREAD_BITS
    return np.minimum(np.floor(squares * (scale / limits)), scale)
