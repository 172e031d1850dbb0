"""Masses, sums, spreads and second moments over the power cells of a released support."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..geometry.domains import Ball
from ..geometry.lattices import CentredLattice
from ..geometry.linear_maps import MatrixMap
from ..privacy.mechanisms import REPLACE_ANY, Sensitivity
from ..rows.persons import Chunk
from .clusters import ClusterQuery
from .sizes import (
    SYMMETRIC,
    Sums,
    cases_of,
    codes_of,
    in_units,
    of_outer_products,
    second_moment,
    symmetric,
    triangles_of,
    zeros_of,
)

# Masses, clipped residual sums and squared residuals over the power cells of every class.

_QUARTERS = 4  # ranges of length of the shorter of two rows, each a case of its own
_DIGITS = {1: (16, 12)}  # bits of rows and of factors for rows that are persons
_SHARED_DIGITS = (12, 8)  # ... and where the mass of a person has up to 20 bits itself


@dataclass(frozen=True, eq=False)
class CellSpreads(Sums):
    """For every class and atom, the mass of a cell, and sums of residuals and of their squares.

    A row of class i belongs to the atom j with the smallest ``|x - y_j|**2 - potentials[i, j]``,
    the lowest index on ties. Its residual is ``x - origins[i, j]``, clipped to a ball.

    The blocks are the masses, of shape (n_classes, n_atoms); the sums, of shape
    (n_classes, n_atoms, n_features), or (1, n_atoms, n_features) when classes are added up before
    any noise; and the sums of squared lengths of residuals, of shape (n_classes, n_atoms). A cell
    is a fixed set, whatever the rows: no optimality is claimed for it, so the sensitivity is that
    of a histogram and of sums over its bins.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_components)
        Public or released atoms that define the cells.
    potentials : ndarray of shape (n_classes, n_atoms)
        Public or released.
    origins : ndarray of shape (n_classes, n_atoms, n_features)
        Points that residuals are measured from.
    radius : float
        Residuals are clipped to this length.
    factors : ndarray of shape (n_classes, n_atoms) or None
        Of residuals whose classes are pooled: non-negative; rounded to a lattice fine against their
        largest. None: all equal.
    components : ndarray of shape (n_components, n_features) or None
        Released linear map that takes rows to the space of the atoms.
    block_weights : tuple of float
        Relative noise of masses, sums and squares, in units of one person's reach.
    units : int
        Largest mass of one person.
    total_public : bool
        True when no neighbor can change the mass of a class.
    pooled : bool
        Whether the sums of all classes are added up, each times its factor. Otherwise factors must
        be left out.
    """

    atoms: np.ndarray
    potentials: np.ndarray
    origins: np.ndarray
    radius: float
    factors: np.ndarray | None = None
    components: np.ndarray | None = None
    block_weights: tuple = (1.0, 1.0, 1.0)
    units: int = 1
    total_public: bool = False
    pooled: bool = False

    mass_block = 0

    def __post_init__(self):
        if self.factors is not None and not self.pooled:
            raise ValueError("factors are for sums that are pooled over classes.")

    @property
    def row_step(self):
        """Width of one lattice unit of a residual, before factors."""
        return self._lattice.step

    @property
    def square_step(self):
        """Width of one unit of a squared residual."""
        return self.row_step**2 * (1 << self._digits[0])

    def zeros(self):
        """Return zero masses, sums and squares."""
        n_classes, n_atoms, n_features = self.origins.shape
        sums = 1 if self.pooled else n_classes, n_atoms, n_features
        return zeros_of((n_classes, n_atoms), sums, (n_classes, n_atoms))

    def count(self, state, chunk):
        """Add the rows of a chunk."""
        codes = codes_of(chunk)
        cell = self.cells_of(chunk.X, codes)
        masses = np.ones(len(cell), dtype=np.int64) if chunk.masses is None else chunk.masses
        np.add.at(state[0], (codes, cell), masses)
        rows = self._lattice.quantise(chunk.X - self.origins[codes, cell])
        lengths = (rows * rows).sum(axis=1) >> self._digits[0]  # integers: exact in any order
        np.add.at(state[2], (codes, cell), lengths * masses)
        rows *= (masses * self.integer_factors()[codes, cell])[:, None]
        _, n_atoms, n_features = state[1].shape
        line = cell if self.pooled else codes * n_atoms + cell
        sums, order = state[1].reshape(-1, n_features), np.argsort(line, kind="stable")
        starts = np.searchsorted(line[order], np.arange(len(sums)))
        filled = np.flatnonzero(np.diff(np.r_[starts, len(line)]))
        if filled.size:
            sums[filled] += np.add.reduceat(rows[order], starts[filled], axis=0)

    def cells_of(self, X, codes):
        """Return the cell of each row, a function of that row and its class alone."""
        if self.components is not None:
            X = MatrixMap(self.components).apply(X)
        # |x - y|**2 without |x|**2, which is the same for all atoms
        lengths = (self.atoms**2).sum(axis=1)
        products = MatrixMap(2.0 * self.atoms).apply(X)
        return (lengths - products - self.potentials[codes]).argmin(axis=1)

    def row_effort(self, n_features):
        """Return the numbers of features and atoms."""
        return n_features + len(self.atoms)

    def weights(self):
        """Return relative scales."""
        mass, total, square = self.block_weights
        reach = float(1 << self._digits[0])
        return mass, total * reach * float(self.integer_factors().max()), square * reach

    def sensitivity(self, relation):
        """Return the cases worked out in the user guide, for integer rows q with |q| <= r.

        A row adds (1, q, |q|**2 / r) to one cell.
        """
        r = 1 << self._digits[0]
        joins, moves = [self._case(1, self._reach(r), r**2, r, r**2)], []
        # A row is replaced inside its cell. Where the shorter of the two rows has a length in
        # [low, high], the sum moves by at most r + high and the squares by r - low**2 / r, which
        # is an integer for quarters of r: flooring does not add to it.
        for quarter in range(_QUARTERS):
            low, high = quarter * r // _QUARTERS, (quarter + 1) * r // _QUARTERS
            reach, square = self._reach(r) + self._reach(high), r - low**2 // r
            moves.append(self._case(0, reach, (r + high) ** 2, square, square**2))
        n_classes, n_atoms = self.potentials.shape
        changes_class = relation == REPLACE_ANY and n_classes > 1
        if n_atoms > 1 or changes_class:
            # two classes pool their sums, so opposite rows of one atom may meet there
            sum_l2 = 4 * r**2 if changes_class and self.pooled else 2 * r**2
            moves.append(self._case(2, 2 * self._reach(r), sum_l2, 2 * r, 2 * r**2))
        cases = cases_of(self, relation, joins, moves)
        return in_units(self.units, *zip(*cases, strict=True))

    def _reach(self, length):
        """Largest L1 norm of an integer row of at most that length."""
        return math.isqrt(self.origins.shape[-1] * length**2)

    def _case(self, mass, sum_l1, sum_l2, square_l1, square_l2):
        """L1 and squared L2 of (masses, sums, squares), for a mass of one."""
        top = int(self.integer_factors().max())
        return (mass, top * sum_l1, square_l1), (mass, top**2 * sum_l2, square_l2)

    def integer_factors(self):
        """Return the factors as integers."""
        if self.factors is None:
            return np.ones(self.potentials.shape, dtype=np.int64)
        scaled = self.factors / self.factors.max() * (1 << self._digits[1])
        return np.rint(scaled).astype(np.int64)

    @property
    def _digits(self):
        return _DIGITS.get(self.units, _SHARED_DIGITS)

    @cached_property
    def _lattice(self):
        ball = Ball(np.zeros(self.origins.shape[-1]), self.radius)
        return CentredLattice(ball, self._digits[0])


# Mass, sum and second moments of the rows of every cell, as one matrix of longer rows.

# Matrices have many entries, whose noise is drawn fastest at scales up to 2**40 or so.
_BITS = {1: 13}  # digits of a row that is a person
_SHARED_BITS = 10  # ... and where rows have masses
_MASS_BITS = 12  # of which so many digits count
_ROUND_DOWN = 1.0 - 2.0**-40  # covers the roundings of a float division
_BLOCK_VALUES = 1 << 22  # of rows that are sorted by their cells at a time


@dataclass(frozen=True, eq=False)
class CellGrams(ClusterQuery):
    """For every cell, the sum of the outer products ``w w'`` of rows with a constant appended.

    A row belongs to its nearest center. Its residual is clipped to the radius of the cell, divided
    by it, truncated to an integer vector z of norm at most ``r = 2**bits``, and lengthened by a
    constant c: ``w = (z, c)``. The corner of a cell's matrix is then its mass times ``c**2``, the
    border its sum times c, and the rest its scatter about the center.

    The blocks are the diagonals, of shape (n_cells, n_features + 1), and the upper triangles.
    ``shares`` is ``(1, c**2 / r**2)``. With c = 0 one cell would be a
    :class:`~skdp_bary.queries.frames.Gram`. Masses are rounded down to multiples of
    ``2**-12`` of a person, so those of a person still add up to one at most.
    """

    @property
    def mass_units(self):
        """Largest mass of one person after rounding."""
        return min(self.units, 1 << _MASS_BITS)

    @property
    def constant(self):
        """The constant c, an integer."""
        return math.isqrt(int(self.shares[1] / self.shares[0] * 4**self._bits))

    def zeros(self):
        """Return zero matrices."""
        side = self.frame.width + 1
        return zeros_of((len(self.centers), side, side))

    def count(self, state, chunk):
        """Add the rows of a chunk, cell by cell."""
        size = max(1, _BLOCK_VALUES // (self.frame.width + 1))
        for start in range(0, len(chunk.X), size):
            part = slice(start, start + size)
            rows, label = self._lengthened(Chunk(chunk.X[part], None, None))
            masses = chunk.masses_of(part)
            if masses is not None:
                # rounded down, so those of a person add up to one at most
                masses = masses // (self.units // self.mass_units)
            for cell, total in enumerate(state[0]):
                own = label == cell if len(state[0]) > 1 else slice(None)
                total += second_moment(rows[own], None if masses is None else masses[own])

    def _lengthened(self, chunk):
        """Return the integer rows with the constant, and the cell of each."""
        lengthened = np.empty((len(chunk.X), self.frame.width + 1))
        lengthened[:, -1] = self.constant
        labels = np.empty(len(chunk.X), dtype=np.int64)
        length, start = 2.0**self._bits * _ROUND_DOWN, 0
        for rows, squares, _ in self.frame.measured_blocks(chunk, len(chunk.X)):
            label, square = self.nearest(rows, squares)
            # squares are exact integers, so a row is scaled by a number that it alone decides
            norms = np.sqrt(np.maximum(square, self.integer_radii[label] ** 2))
            centers = self.integer_centers
            rows -= centers[label] if len(centers) > 1 else centers
            rows *= (length / norms)[:, None]
            end = start + len(rows)
            np.trunc(rows, out=lengthened[start:end, :-1])
            labels[start:end] = label
            start = end
        return lengthened, labels

    def blocks(self, state):
        """Return diagonals and upper triangles."""
        return triangles_of(state[0])

    def weights(self):
        """Return relative scales."""
        return SYMMETRIC

    def sensitivity(self, relation):
        """Integer rows with their constant have squared lengths of at most ``r**2 + c**2``.

        The inner product of ``w w'`` and ``v v'`` is zero in different cells, so replacing a row
        costs at most sqrt(2) of adding one, wherever it goes: just that between two cells, or in
        one cell at residuals with inner product ``-c**2``. Were the change counted in one cell
        only, who moves from one to another would pay for half of it.
        """
        longest = 4**self._bits + self.constant**2
        return of_outer_products(relation, self.mass_units, self.frame.width + 1, longest)

    def read(self, released):
        """Return mass, sums and scatter of every cell, in rows and lengths, see CellMoments."""
        length = self.used_radii * 2.0**-self._bits
        constant = self.constant * length
        unit = length**2 / self.mass_units
        sd, sd_off = (noise * unit for noise in released.noise_sd)
        diagonals, uppers = released.values
        matrices = [
            symmetric(*each) * scale for *each, scale in zip(diagonals, uppers, unit, strict=True)
        ]
        return CellMoments(
            np.array([m[-1, -1] for m in matrices]) / constant**2,
            np.stack([m[-1, :-1] for m in matrices]) / constant[:, None],
            [m[:-1, :-1] for m in matrices],
            sd / constant**2,
            sd_off / constant,
            sd_off,
        )

    @property
    def _bits(self):
        return _BITS.get(self.units, _SHARED_BITS)


@dataclass(frozen=True, eq=False)
class CellMoments:
    """A release of CellGrams in rows and lengths.

    Attributes
    ----------
    mass : ndarray of shape (n_cells,)
    sums : ndarray of shape (n_cells, n_features)
        Of residuals.
    scatters : list of ndarray of shape (n_features, n_features)
        About the centers.
    mass_sd, sums_sd, scatter_sd : ndarray of shape (n_cells,)
        Noise of a mass, of a coordinate of a sum, and of an entry of a scatter off its diagonal;
        on the diagonal it is sqrt(2) times as large.
    """

    mass: np.ndarray
    sums: np.ndarray
    scatters: list
    mass_sd: np.ndarray
    sums_sd: np.ndarray
    scatter_sd: np.ndarray


# How well released points represent the rows: a clipped loss, added up.

_LOSSES_BITS = 10  # of a clipped distance


@dataclass(frozen=True, eq=False)
class NearestLoss(Sums):
    """Sum of the squared distances of rows to the nearest of some points, each clipped.

    A distance counts up to `radius`; a squared one is an integer of at most ``4**10`` units. The
    nearest point and the loss are functions of the row alone.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        Public or released.
    radius : float
        Public.
    units : int
        Largest mass of one person.
    """

    points: np.ndarray
    radius: float
    units: int = 1

    @property
    def unit(self):
        """What one unit of the sum represents, as a squared distance of one person."""
        return self._lattice.step**2 / self.units

    def count(self, state, chunk):
        """Add the losses of the rows, each times its mass."""
        lengths = (self.points**2).sum(axis=1)
        nearest = (lengths - MatrixMap(2.0 * self.points).apply(chunk.X)).argmin(axis=1)
        steps = self._lattice.quantise(chunk.X - self.points[nearest])
        losses = (steps * steps).sum(axis=1)
        state[0][:] += (losses if chunk.masses is None else losses * chunk.masses).sum()

    def sensitivity(self, relation):
        """One person adds between nothing and the largest loss, and moves by at most that."""
        largest = self.units << (2 * _LOSSES_BITS)
        return Sensitivity.single(largest, largest**2)

    @cached_property
    def _lattice(self):
        return CentredLattice(Ball(np.zeros(self.points.shape[1]), self.radius), _LOSSES_BITS)
