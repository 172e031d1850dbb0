"""Masses, clipped residual sums and squared residuals over the power cells of every class."""

import math
from dataclasses import dataclass

import numpy as np

from ...privacy._neighbors import ADD_REMOVE, REPLACE_ANY
from ...privacy.noise.mechanisms import Sensitivity
from .cell_sums import CellSums

_QUARTERS = 4  # ranges of length of the shorter of two rows, each a case of its own


@dataclass(frozen=True, eq=False)
class CellSpreads(CellSums):
    """As CellSums, with an origin for every class and atom, and with squared residuals.

    The blocks are the masses, of shape (n_classes, n_atoms); the sums, of shape
    (n_classes, n_atoms, n_features), or (1, n_atoms, n_features) when classes are added up before
    any noise; and the sums of squared lengths of residuals, of shape (n_classes, n_atoms).

    Parameters
    ----------
    origins : ndarray of shape (n_classes, n_atoms, n_features)
    block_weights : tuple of float
        Relative noise of masses, sums and squares, in units of one person's reach.
    pooled : bool
        Whether the sums of all classes are added up, each times its factor. Otherwise factors must
        be left out.
    """

    block_weights: tuple = (1.0, 1.0, 1.0)
    pooled: bool = False

    def __post_init__(self):
        if self.factors is not None and not self.pooled:
            raise ValueError("factors are for sums that are pooled over classes.")

    @property
    def square_step(self):
        """Width of one unit of a squared residual."""
        return self.row_step**2 * (1 << self._digits[0])

    def zeros(self):
        """Return zero masses, sums and squares."""
        n_classes, n_atoms, n_features = self.origins.shape
        lines = 1 if self.pooled else n_classes
        return (
            np.zeros((n_classes, n_atoms), dtype=np.int64),
            np.zeros((lines, n_atoms, n_features), dtype=np.int64),
            np.zeros((n_classes, n_atoms), dtype=np.int64),
        )

    def count(self, state, chunk):
        """Add the rows of a chunk."""
        codes, cell, masses = self._add_masses(state, chunk)
        rows = self._lattice.quantise(chunk.X - self.origins[codes, cell])
        lengths = (rows * rows).sum(axis=1) >> self._digits[0]  # integers: exact in any order
        np.add.at(state[2], (codes, cell), lengths * masses)
        rows *= (masses * self.integer_factors()[codes, cell])[:, None]
        _, n_atoms, n_features = state[1].shape
        line = cell if self.pooled else codes * n_atoms + cell
        _add_rows(state[1].reshape(-1, n_features), line, rows)

    def blocks(self, state):
        """Return masses, sums and squares."""
        return tuple(part.copy() for part in state)

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
        joins = self._case(1, self._reach(r), r**2, r, r**2)
        if relation == ADD_REMOVE:
            return self._gather([joins])
        cases = list(self._within_a_cell(r))
        n_classes, n_atoms = self.potentials.shape
        changes_class = relation == REPLACE_ANY and n_classes > 1
        if n_atoms > 1 or changes_class:
            # two classes pool their sums, so opposite rows of one atom may meet there
            sum_l2 = 4 * r**2 if changes_class and self.pooled else 2 * r**2
            cases.append(self._case(2, 2 * self._reach(r), sum_l2, 2 * r, 2 * r**2))
        if not self.total_public:
            cases.append(joins)
        return self._gather(cases)

    def _within_a_cell(self, r):
        """Cases of a row replaced inside its cell, by the length of the shorter of the two rows.

        When it is in [a, b], the sum moves by at most ``r + b`` and the squares by at most
        ``r - a**2 / r``, which is an integer for quarters of r: flooring does not add to it.
        """
        for quarter in range(_QUARTERS):
            low, high = quarter * r // _QUARTERS, (quarter + 1) * r // _QUARTERS
            square = r - low**2 // r
            reach = self._reach(r) + self._reach(high)
            yield self._case(0, reach, (r + high) ** 2, square, square**2)

    def _reach(self, length):
        """Largest L1 norm of an integer row of at most that length."""
        return math.isqrt(self.origins.shape[-1] * length**2)

    def _case(self, mass, sum_l1, sum_l2, square_l1, square_l2):
        """L1 and squared L2 of (masses, sums, squares), in units of one person."""
        top, u = int(self.integer_factors().max()), self.units
        l1 = (mass, top * sum_l1, square_l1)
        l2 = (mass, top**2 * sum_l2, square_l2)
        return tuple(u * n for n in l1), tuple(u * u * n for n in l2)

    def _gather(self, cases):
        return Sensitivity(tuple(l1 for l1, _ in cases), tuple(l2 for _, l2 in cases))


def _add_rows(sums, line, rows):
    """Add every row to its line of `sums`."""
    order = np.argsort(line, kind="stable")
    starts = np.searchsorted(line[order], np.arange(len(sums)))
    filled = np.flatnonzero(np.diff(np.r_[starts, len(line)]))
    if filled.size:
        sums[filled] += np.add.reduceat(rows[order], starts[filled], axis=0)
