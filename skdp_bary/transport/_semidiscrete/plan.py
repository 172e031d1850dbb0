"""The plan that a Balancing ends with, as whole points and a forest of split ones."""

import numpy as np

from .._costs import chosen_cost


def read_plan(problem, balanced):
    """Return labels of all points, the split points, and the shares of these."""
    found, n_items = balanced.items, balanced.n_items
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
    return labels, split[several], shares / shares.sum(axis=0)


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
            _turn([entry, *path], units, costs)
            for used in path:
                if units[used] == 0:
                    _cut(forest, (int(points[used]), 0), (int(atoms[used]), 1))
        if units[entry] > 0:
            forest.setdefault(ends[0], {})[ends[1]] = entry
            forest.setdefault(ends[1], {})[ends[0]] = entry


def _turn(cycle, units, costs):
    """Send as much mass round a cycle of entries as goes, in the cheaper direction."""
    # Entries alternate between losing and gaining; rounding decides for the cheaper direction.
    losing, gaining = cycle[0::2], cycle[1::2]
    if costs[gaining].sum() > costs[losing].sum():
        losing, gaining = gaining, losing
    amount = units[losing].min()
    units[losing] -= amount
    units[gaining] += amount


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


def _cut(forest, one, other):
    del forest[one][other], forest[other][one]
