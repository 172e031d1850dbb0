"""Masses and clipped residual sums over the power cells of a released support."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...geometry._ball import Ball
from ...geometry._lattice import CentredLattice
from ...geometry._linear_maps import MatrixMap
from ...privacy._neighbors import ADD_REMOVE, REPLACE_ANY
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query

_DIGITS = {1: (16, 12)}  # bits of rows and of factors for rows that are persons
_SHARED_DIGITS = (12, 8)  # ... and where the mass of a person has up to 20 bits itself


@dataclass(frozen=True, eq=False)
class CellSums(Query):
    """For every atom, the mass of its cell in each class and the sum of clipped residuals.

    A row of class i belongs to the atom j with the smallest ``|x - y_j|**2 - potentials[i, j]``,
    the lowest index on ties. Its residual is ``x - origins[j]``, clipped to a ball. Residuals are
    added over classes before any noise, each times a public or released factor.

    The blocks are the masses, of shape (n_classes, n_atoms), and the sums, of shape
    (n_atoms, n_features). A cell is a fixed set, whatever the rows: no optimality is claimed for
    it, so the sensitivity is that of a histogram and of sums over its bins.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_components)
        Public or released atoms that define the cells.
    potentials : ndarray of shape (n_classes, n_atoms)
        Public or released.
    origins : ndarray of shape (n_atoms, n_features)
        Points that residuals are measured from.
    radius : float
        Residuals are clipped to this length.
    factors : ndarray of shape (n_classes, n_atoms) or None
        Non-negative; rounded to a lattice fine against their largest. None: all equal.
    components : ndarray of shape (n_components, n_features) or None
        Released linear map that takes rows to the space of the atoms.
    block_weights : tuple of float
        Relative noise of masses and sums, in units of one person's reach.
    units : int
        Largest mass of one person.
    total_public : bool
        True when no neighbor can change the mass of a class.
    """

    atoms: np.ndarray
    potentials: np.ndarray
    origins: np.ndarray
    radius: float
    factors: np.ndarray | None = None
    components: np.ndarray | None = None
    block_weights: tuple = (1.0, 1.0)
    units: int = 1
    total_public: bool = False

    mass_block = 0

    @property
    def row_step(self):
        """Width of one lattice unit of a residual, before factors."""
        return self._lattice.step

    def zeros(self):
        """Return zero masses and sums."""
        return (
            np.zeros(self.potentials.shape, dtype=np.int64),
            np.zeros(self.origins.shape, dtype=np.int64),
        )

    def count(self, state, chunk):
        """Add the rows of a chunk."""
        codes, cell, masses = self._add_masses(state, chunk)
        rows = self._lattice.quantise(chunk.X - self.origins[cell])
        rows *= (masses * self.integer_factors()[codes, cell])[:, None]
        order = np.argsort(cell, kind="stable")
        starts = np.searchsorted(cell[order], np.arange(len(self.origins)))
        filled = np.flatnonzero(np.diff(np.r_[starts, len(cell)]))
        if filled.size:
            state[1][filled] += np.add.reduceat(rows[order], starts[filled], axis=0)

    def _add_masses(self, state, chunk):
        """Add the masses of the rows, and return class, cell and mass of each."""
        codes = np.zeros(len(chunk.X), dtype=np.int64) if chunk.codes is None else chunk.codes
        cell = self.cells_of(chunk.X, codes)
        masses = np.ones(len(cell), dtype=np.int64) if chunk.masses is None else chunk.masses
        np.add.at(state[0], (codes, cell), masses)
        return codes, cell, masses

    def cells_of(self, X, codes):
        """Return the cell of each row, a function of that row and its class alone."""
        mapping = MatrixMap(2.0 * self.atoms)
        if self.components is not None:
            X = MatrixMap(self.components).apply(X)
        lengths = (self.atoms**2).sum(axis=1)
        return (lengths - mapping.apply(X) - self.potentials[codes]).argmin(axis=1)

    def blocks(self, state):
        """Return masses and sums."""
        return state[0].copy(), state[1].copy()

    def row_effort(self, n_features):
        """Return the numbers of features and atoms."""
        return n_features + len(self.atoms)

    def weights(self):
        """Return relative scales."""
        mass, total = self.block_weights
        return mass, total * float(int(self.integer_factors().max()) << self._digits[0])

    def sensitivity(self, relation):
        """One person is in one cell; moving within a cell changes its sum by up to the diameter."""
        top = int(self.integer_factors().max())
        l1, l2 = top * self._lattice.row_l1, (top << self._digits[0]) ** 2
        joins = ((1, l1), (1, l2))
        if relation == ADD_REMOVE:
            return self._assemble([joins])
        cases = [((0, 2 * l1), (0, 4 * l2)), ((2, 2 * l1), (2, 2 * l2))]
        if relation == REPLACE_ANY and len(self.potentials) > 1:
            cases.append(((2, 2 * l1), (2, 4 * l2)))  # another class, the same atom
        if not self.total_public:
            cases.append(joins)
        return self._assemble(cases)

    def integer_factors(self):
        """Return the factors as integers."""
        if self.factors is None:
            return np.ones(self.potentials.shape, dtype=np.int64)
        scaled = self.factors / self.factors.max() * (1 << self._digits[1])
        return np.rint(scaled).astype(np.int64)

    @property
    def _digits(self):
        return _DIGITS.get(self.units, _SHARED_DIGITS)

    def _assemble(self, cases):
        u = self.units
        return Sensitivity(
            tuple(tuple(u * n for n in l1) for l1, _ in cases),
            tuple(tuple(u * u * n for n in square) for _, square in cases),
        )

    @cached_property
    def _lattice(self):
        ball = Ball(np.zeros(self.origins.shape[-1]), self.radius)
        return CentredLattice(ball, self._digits[0])
