"""What the search for balance keeps in arrays: items, edges between atoms, windows."""

import numpy as np

from .search import DONE, MORE_ITEMS, MORE_WINDOWS, balance
from .windows import PLACES

TOLERANCE = 2**11  # units: rounding of a mass, 1e-15 of the total
_WINDOWS = 16  # an atom, at first
_ROUNDING = 8.0 * np.finfo(float).eps
_PATIENCE = 50  # searches an item


class Balancing:
    """Items of mass with their atoms, moved until every atom has its share.

    Parameters
    ----------
    cells : Cells
    units : ndarray of int64 of shape (n_points,)
    excess : ndarray of int64 of shape (n_atoms,)
        Held less target.
    potentials : ndarray of shape (n_atoms,)
        Those under which every point is in a cheapest cell.
    """

    def __init__(self, cells, units, excess, potentials):
        n_points, n_atoms = len(units), len(excess)
        self.cells = cells
        self.n_points = n_points
        self.potentials = potentials - potentials.max()
        self.excess = excess
        room = n_points + max(8 * n_atoms, n_points // 64) + 64
        self.rows = grown(cells.rows, room)
        self.owners = grown(cells.owners, room)
        self.units = grown(units[cells.rows], room)
        self.ring = np.arange(room, dtype=np.int32)
        self.latest = np.full(n_atoms, -1, dtype=np.int32)
        self.earlier = np.empty(room - n_points, dtype=np.int32)
        self.gap, self.front = cells.gap, cells.gap.copy()
        self.slots = np.full((n_atoms, n_atoms), -1, dtype=np.int32)
        n_windows = min(n_atoms**2, _WINDOWS * n_atoms)
        self.keys = np.empty((n_windows, PLACES))
        self.members = np.empty((n_windows, PLACES), dtype=np.int32)
        self.sizes = np.zeros(n_windows, dtype=np.int32)
        self.listed = np.zeros((n_atoms, n_atoms), dtype=np.int8)
        self.lists = np.empty((n_atoms, n_atoms), dtype=np.int32)
        self.degrees = np.zeros(n_atoms, dtype=np.int64)
        self.beyond = np.full(n_atoms, -np.inf)  # no edge is listed yet
        self.used = np.array([0, n_points, 0, _PATIENCE * (n_points + n_atoms)])

    @property
    def n_items(self):
        """Number of items, those without mass included."""
        return self.used[1]

    def run(self, points, atoms, p):
        """Send mass until balance is reached; tell whether it is."""
        cells = self.cells
        finite = self.gap[np.isfinite(self.gap)]
        scale = np.abs(finite).max(initial=0.0) + np.ptp(self.potentials)
        while True:
            done = balance(
                points,
                self.rows,
                atoms,
                p,
                cells.firsts,
                cells.starts,
                cells.centers,
                cells.widths,
                cells.table,
                self.owners,
                self.units,
                self.ring,
                self.latest,
                self.earlier,
                self.gap,
                self.front,
                self.slots,
                self.keys,
                self.members,
                self.sizes,
                self.listed,
                self.lists,
                self.degrees,
                self.beyond,
                self.potentials,
                self.excess,
                TOLERANCE,
                _ROUNDING * scale,
                self.used,
            )
            if done == MORE_WINDOWS:
                self._make_windows()
            elif done == MORE_ITEMS:
                self._make_items()
            else:
                return done == DONE

    def _make_windows(self):
        more = min(2 * len(self.keys), len(self.potentials) ** 2)
        self.keys, self.members = grown(self.keys, more), grown(self.members, more)
        self.sizes = grown(self.sizes, more)

    def _make_items(self):
        more = self.n_points + 2 * (len(self.units) - self.n_points)
        self.rows, self.owners = grown(self.rows, more), grown(self.owners, more)
        self.units, self.earlier = grown(self.units, more), grown(self.earlier, more)
        ring = np.arange(more, dtype=np.int32)
        ring[: len(self.ring)] = self.ring
        self.ring = ring


def grown(array, size):
    """Return a longer array that starts with the given one."""
    larger = np.empty((size, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
