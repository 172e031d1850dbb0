"""The search for balance: growing samples, Newton steps, windows, and the plan it ends with."""

from dataclasses import replace

import numpy as np

from .compiled_boxes import LoosePoints, prepare
from .compiled_search import (
    DONE,
    MORE_ITEMS,
    MORE_WINDOWS,
    PLACES,
    Boxes,
    Edges,
    Heap,
    Items,
    Paths,
    Problem,
    Windows,
    balance,
)
from .costs import UNITS, certify, chosen_cost, network_simplex, sum_by_label, to_units

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
        n_points, n, gap = len(units), len(excess), cells.gap
        self.n_points, self.excess = n_points, excess
        # windows, items and searches so far, and how many searches are too many
        self.used = np.array([0, n_points, 0, _PATIENCE * (n_points + n)])
        bounds = np.empty(np.diff(cells.firsts).max())
        self.boxes = Boxes(*cells[2:-1], bounds)
        room = n_points + max(8 * n, n_points // 64) + 64
        points = (grown(each, room) for each in (cells.rows, cells.owners, units[cells.rows]))
        ring, latest = np.arange(room, dtype=np.int32), np.full(n, -1, dtype=np.int32)
        self.items = Items(*points, ring, latest, np.empty(room - n_points, dtype=np.int32))
        size = min(n * n, _WINDOWS * n)
        members, sizes = np.empty((size, PLACES), np.int32), np.zeros(size, np.int32)
        slots = np.full(gap.shape, -1, dtype=np.int32)
        self.windows = Windows(gap, gap.copy(), slots, np.empty((size, PLACES)), members, sizes)
        listed, lists = np.zeros((n, n), dtype=np.int8), np.empty((n, n), dtype=np.int32)
        degrees, beyond = np.zeros(n, dtype=np.int64), np.full(n, -np.inf)  # nothing is listed yet
        potentials = potentials - potentials.max()
        self.edges = Edges(listed, lists, degrees, beyond, potentials, np.empty(n))
        # An edge is on the heap up to three times: listed, lengthened, and in a longer list.
        room = 3 * n * (n + 2)
        self.heap = Heap(np.empty(room), *np.empty((2, room), dtype=np.int32), np.empty(n))
        hops, parent, via, order = np.empty((4, n), dtype=np.int64)
        seen = np.empty((2, n), dtype=bool)
        self.paths = Paths(np.empty(n), hops, parent, via, *seen, order)

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
                more = min(2 * len(self.windows.keys), len(self.excess) ** 2)
                self.windows = with_room(self.windows, ("keys", "members", "sizes"), more)
            elif done == MORE_ITEMS:
                size = len(self.items.ring)
                more = self.n_points + 2 * (size - self.n_points)
                names = "rows", "owners", "units", "ring", "earlier"
                self.items = with_room(self.items, names, more)
                self.items.ring[size:] = np.arange(size, more)  # alone at first
            else:
                return done == DONE


def with_room(arrays, names, size):
    """Return a named tuple of arrays with longer ones of some names."""
    return arrays._replace(**{name: grown(getattr(arrays, name), size) for name in names})


def grown(array, size):
    """Return a longer array that starts with the given one."""
    larger = np.empty((size, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


# Samples of growing size: the potentials of one are the start of the next.

_FACTOR = 4  # how much larger the next sample is
_LEAST = 6  # points an atom from which a smaller sample is solved first
_MANY = 128  # atoms from which POT solves the smallest sample, which moves most, sooner
_ENOUGH = 50  # points an atom from which a step of Newton's method helps, in many dimensions
_FAR_LESS = 0.7  # of the mass to move; steps that gain less mislead
_NOISE = 0.3  # of the square root of the points of an atom, in many dimensions
_CLOSE = 0.05  # mass to move up to which given potentials are better than samples


def solve_levels(problem, potentials):
    """Return the Assignment of all points; `potentials` of a similar problem or None.

    Successive shortest paths with node potentials (Edmonds and Karp 1972), on samples of growing
    size: one Dijkstra of O(n_atoms**2 log n_atoms) a search, about a search for each split point.
    """
    if potentials is not None:
        level = Level(problem, potentials)
        if mass_to_move(level.excess) <= _CLOSE:
            return certify(problem, *level.plan())
    n_points, n_atoms = len(problem.cloud.points), len(problem.target)
    sizes = []
    while n_points > _LEAST * n_atoms:
        n_points //= _FACTOR
        sizes.append(n_points)
    potentials = np.zeros(n_atoms)
    for size in reversed(sizes):  # the smallest first
        sample = replace(problem, cloud=problem.cloud.coarse(size))
        if size == sizes[-1] and n_atoms >= _MANY:
            potentials = network_simplex(sample).potentials
            continue
        level = Level(sample, potentials)
        tolerance = level.noise if level.loose else TOLERANCE
        potentials = level.balanced(tolerance).edges.potentials
    # What the level holds is let go before the certificate is made.
    return certify(problem, *Level(problem, potentials).plan())


class Level:
    """One sample, or all points, with the labels that some potentials, or close ones, give.

    Attributes
    ----------
    potentials : ndarray of shape (n_atoms,)
    labels : ndarray of shape (n_points,)
    excess : ndarray of int64 of shape (n_atoms,)
        Units held less target.
    """

    def __init__(self, problem, potentials):
        self.problem, self.points = problem, prepare(problem.cloud.points)
        given, n_atoms = (problem.atoms, potentials, problem.p), len(problem.target)
        ranked = self.points.rank(*given) if self.loose else (self.points.labels(*given),)
        self.potentials, self.labels, self.excess = potentials, ranked[0], self._excess(ranked[0])
        enough = problem.cloud.effective_size >= _ENOUGH * n_atoms
        if self.loose and n_atoms > 1 and enough:
            there = potentials + newton_step(*ranked, problem.cloud.weights, self.excess)
            labels = self.points.labels(problem.atoms, there, problem.p)
            excess = self._excess(labels)
            if mass_to_move(excess) < _FAR_LESS * mass_to_move(self.excess):
                self.potentials, self.labels, self.excess = there, labels, excess

    def _excess(self, labels):
        target = to_units(self.problem.target)
        return sum_by_label(labels, to_units(self.problem.cloud.weights), len(target)) - target

    @property
    def loose(self):
        """Whether there are too many dimensions for boxes."""
        return isinstance(self.points, LoosePoints)

    @property
    def noise(self):
        """Units that an atom of a sample may lack without saying anything of all points."""
        return int(_NOISE * UNITS / np.sqrt(len(self.labels) * len(self.excess)))

    def balanced(self, tolerance=TOLERANCE):
        """Return a Balancing in which no atom lacks more than some units."""
        problem = self.problem
        cells = self.points.cells(self.labels, problem.atoms, problem.p)
        units = to_units(problem.cloud.weights)
        found = Balancing(cells, units, self.excess, self.potentials)
        found.run(self.points.points, problem.atoms, problem.p, tolerance)
        return found

    def plan(self):
        """Return potentials, labels of all points, the split points, and the shares of these."""
        problem, balanced = self.problem, self.balanced()
        found, n_items = balanced.items, balanced.used[1]
        n_points, n_atoms = len(problem.cloud.points), len(problem.target)
        labels = np.empty(n_points, dtype=np.int32)
        labels[found.rows[:n_points]] = found.owners[:n_points]
        # Only points with a second item can have moved.
        moved = np.flatnonzero(found.ring[:n_points] != np.arange(n_points, dtype=np.int32))
        items = np.append(moved, np.arange(n_points, n_items))
        items = items[found.units[items] > 0]
        rows, owners, units = found.rows[items], found.owners[items].copy(), found.units[items]
        labels[rows] = owners
        shared = np.bincount(rows, minlength=n_points)[rows] > 1
        rows, owners, units = rows[shared], owners[shared], units[shared]
        costs = chosen_cost(problem.cloud.points, rows, problem.atoms, owners, problem.p)
        break_cycles(rows, owners, units, costs)
        kept = units > 0
        rows, owners, units = rows[kept], owners[kept], units[kept]
        labels[rows] = owners
        split, place, pieces = np.unique(rows, return_inverse=True, return_counts=True)
        several = np.flatnonzero(pieces > 1)
        column = np.full(len(split), -1)
        column[several] = np.arange(len(several))
        mine = column[place] >= 0
        shares = np.zeros((n_atoms, len(several)))
        shares[owners[mine], column[place[mine]]] = units[mine]
        shares /= shares.sum(axis=0)
        return balanced.edges.potentials, labels, split[several], shares


def mass_to_move(excess):
    """Return the mass that has to move when every point goes to its label whole."""
    return float(np.abs(excess).sum() / (2.0 * UNITS))


def break_cycles(points, atoms, units, costs):
    """Make the support of an optimal flow a forest, at no cost; works in place on `units`.

    Points shared by several atoms and those atoms form a bipartite graph. In an optimal flow every
    cycle of it costs nothing either way round, so mass can go round until an entry vanishes.

    Parameters
    ----------
    points, atoms : ndarrays of int of shape (n_entries,)
    units : ndarray of int64 of shape (n_entries,)
    costs : ndarray of shape (n_entries,)
    """
    forest = {}
    for entry, (point, atom) in enumerate(zip(points.tolist(), atoms.tolist(), strict=True)):
        ends = (point, 0), (atom, 1)
        path = _path(forest, *ends)
        if path is not None:
            # Entries alternate between losing and gaining; rounding decides for the cheaper way.
            cycle = [entry, *path]
            losing, gaining = cycle[0::2], cycle[1::2]
            if costs[gaining].sum() > costs[losing].sum():
                losing, gaining = gaining, losing
            amount = units[losing].min()  # after which one entry has nothing
            units[losing] -= amount
            units[gaining] += amount
            for used in path:
                if units[used] == 0:
                    one, other = (int(points[used]), 0), (int(atoms[used]), 1)
                    del forest[one][other], forest[other][one]
        if units[entry] > 0:
            forest.setdefault(ends[0], {})[ends[1]] = entry
            forest.setdefault(ends[1], {})[ends[0]] = entry


def _path(forest, start, end):
    """Return the entries on the way between two nodes of a forest, or None."""
    came = {start: None}
    waiting = [start]
    while waiting and end not in came:
        node = waiting.pop()
        for other in forest.get(node, ()):
            if other not in came:
                came[other] = node
                waiting.append(other)
    if end not in came:
        return None
    entries = []
    while came[end] is not None:
        entries.append(forest[end][came[end]])
        end = came[end]
    return entries[::-1]


# A step of Newton's method on the dual, in many dimensions, before mass is moved.

_NEAR = 0.2  # of the points, those nearest to a border, say how fast mass crosses it
_RIDGE = 1e-6
_FARTHEST = 4.0  # times as far as these points tell


def newton_step(labels, others, margins, weights, excess):
    """Return the change of potentials after which all masses would be right, to first order.

    The Hessian of the semi-discrete dual is a graph Laplacian whose weights are the masses on the
    borders of cells (Kitagawa, Merigot and Thibert 2019); O(n_points + n_atoms**3).

    Parameters
    ----------
    labels, others : ndarrays of shape (n_points,)
        The cheapest atom of every point, and the next one.
    margins : ndarray of shape (n_points,)
        How much dearer that is.
    weights : ndarray of shape (n_points,)
    excess : ndarray of int64 of shape (n_atoms,)
        Units held less target.
    """
    n_atoms = len(excess)
    place = int(_NEAR * len(margins))
    reach = np.partition(margins, place)[place]
    near = np.flatnonzero(margins <= reach)
    pairs = labels[near].astype(np.int64) * n_atoms + others[near]
    crossing = np.bincount(pairs, weights[near], n_atoms**2).reshape(n_atoms, n_atoms)
    crossing += crossing.T
    # shape (n_atoms, n_atoms); a Laplacian vanishes on constants, so a ridge makes it definite
    hessian = np.diag(crossing.sum(axis=0)) - crossing
    hessian[np.diag_indices(n_atoms)] += _RIDGE * hessian.trace() / n_atoms
    step = np.linalg.solve(hessian, excess * (-2.0 * reach / UNITS))
    step -= step.mean()
    farthest = np.abs(step).max()
    return step * (_FARTHEST * reach / farthest) if farthest > _FARTHEST * reach else step
