"""What the search for balance keeps in arrays: items, edges between atoms, windows."""

import numpy as np

from .groups import Boxes, Edges, Heap, Items, Paths, Problem, Windows
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
        self.n_points = n_points
        self.excess = excess
        self.used = np.array([0, n_points, 0, _PATIENCE * (n_points + n_atoms)])
        self.boxes = _boxes(cells)
        self.items = _items(cells, units, n_atoms)
        self.windows = _windows(cells.gap)
        self.edges = _edges(potentials - potentials.max())
        self.heap, self.paths = _heap(n_atoms), _paths(n_atoms)

    @property
    def n_items(self):
        """Number of items, those without mass included."""
        return self.used[1]

    def run(self, points, atoms, p, tolerance=TOLERANCE):
        """Send mass until no atom lacks more than some units; tell whether that is so."""
        problem = Problem(points, atoms, float(p))
        gap, potentials = self.windows.gap, self.edges.potentials
        scale = np.abs(gap[np.isfinite(gap)]).max(initial=0.0) + np.ptp(potentials)
        limits = tolerance, _ROUNDING * scale
        while True:
            state = self.boxes, self.items, self.windows, self.edges, self.heap, self.paths
            done = balance(problem, *state, self.excess, *limits, self.used)
            if done == MORE_WINDOWS:
                self._make_windows()
            elif done == MORE_ITEMS:
                self._make_items()
            else:
                return done == DONE

    def _make_windows(self):
        kept = self.windows
        more = min(2 * len(kept.keys), len(self.excess) ** 2)
        self.windows = kept._replace(
            keys=grown(kept.keys, more),
            members=grown(kept.members, more),
            sizes=grown(kept.sizes, more),
        )

    def _make_items(self):
        kept = self.items
        more = self.n_points + 2 * (len(kept.units) - self.n_points)
        ring = np.arange(more, dtype=np.int32)
        ring[: len(kept.ring)] = kept.ring
        self.items = Items(
            rows=grown(kept.rows, more),
            owners=grown(kept.owners, more),
            units=grown(kept.units, more),
            ring=ring,
            latest=kept.latest,
            earlier=grown(kept.earlier, more),
        )


def grown(array, size):
    """Return a longer array that starts with the given one."""
    larger = np.empty((size, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def _boxes(cells):
    room = np.empty(np.diff(cells.firsts).max())
    return Boxes(cells.firsts, cells.starts, cells.centers, cells.widths, cells.table, room)


def _items(cells, units, n_atoms):
    n_points = len(units)
    room = n_points + max(8 * n_atoms, n_points // 64) + 64
    return Items(
        rows=grown(cells.rows, room),
        owners=grown(cells.owners, room),
        units=grown(units[cells.rows], room),
        ring=np.arange(room, dtype=np.int32),
        latest=np.full(n_atoms, -1, dtype=np.int32),
        earlier=np.empty(room - n_points, dtype=np.int32),
    )


def _windows(gap):
    n_windows = min(gap.size, _WINDOWS * len(gap))
    return Windows(
        gap=gap,
        front=gap.copy(),
        slots=np.full(gap.shape, -1, dtype=np.int32),
        keys=np.empty((n_windows, PLACES)),
        members=np.empty((n_windows, PLACES), dtype=np.int32),
        sizes=np.zeros(n_windows, dtype=np.int32),
    )


def _edges(potentials):
    n_atoms = len(potentials)
    return Edges(
        listed=np.zeros((n_atoms, n_atoms), dtype=np.int8),
        lists=np.empty((n_atoms, n_atoms), dtype=np.int32),
        degrees=np.zeros(n_atoms, dtype=np.int64),
        beyond=np.full(n_atoms, -np.inf),  # no edge is listed yet
        potentials=potentials,
        lengths=np.empty(n_atoms),
    )


def _heap(n_atoms):
    room = 3 * n_atoms * (n_atoms + 2)
    tails, heads = np.empty((2, room), dtype=np.int32)
    return Heap(np.empty(room), tails, heads, best=np.empty(n_atoms))


def _paths(n_atoms):
    hops, parent, via, order = np.empty((4, n_atoms), dtype=np.int64)
    settled, fresh = np.empty((2, n_atoms), dtype=bool)
    return Paths(np.empty(n_atoms), hops, parent, via, settled, fresh, order)
