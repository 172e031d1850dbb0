"""Successive shortest paths on the graph of exchanges between atoms.

An edge from atom j to atom l is the cheapest way to hand a point that j holds over to l. Starting
from an assignment in which every point sits with an atom that is cheapest under the potentials,
excess mass is sent along shortest paths to atoms that lack mass; the assignment stays optimal for
what each atom holds, so it is optimal when every atom holds its target. Masses are integers: sums
are exact, and nothing cycles on rounding.
"""

import numpy as np

from ._kernels import PLAIN


class Exchange:
    """Flows of some points to the atoms, and the potentials that prove them optimal.

    Parameters
    ----------
    costs : ndarray of shape (n_atoms, n_points)
    units : ndarray of int64 of shape (n_points,)
        Masses of the points.
    excess : ndarray of int64 of shape (n_atoms,)
        Held less target, when every point is with its holder.
    holders : ndarray of shape (n_points,)
        A cheapest atom of every point under `potentials`.
    potentials : ndarray of shape (n_atoms,)
    tolerance : int
        Excess that is rounding only; a remainder of a point that small moves along with the rest.
    kernel : PlainKernel
        Finds the edges.
    """

    def __init__(self, costs, units, excess, holders, potentials, tolerance, kernel=PLAIN):
        n_atoms, n_points = costs.shape
        self.costs = costs
        self.flow = np.zeros((n_atoms, n_points), dtype=np.int64)
        self.flow[holders, np.arange(n_points)] = units
        self.excess = excess.copy()
        self.potentials = potentials.copy()
        self.tolerance = tolerance
        # A detour must be shorter by more than rounding: a point handed on twice is as far as the
        # same point handed over once, and would carry only what the middle atom holds of it.
        self.rounding = 8.0 * np.finfo(float).eps * float(np.abs(costs).max(initial=0.0))
        # gap[l, j]: least extra cost of a point held by j when it goes to l; via[l, j]: that point.
        self.gap = np.full((n_atoms, n_atoms), np.inf)
        self.via = np.zeros((n_atoms, n_atoms), dtype=np.intp)
        self.kernel = kernel
        kernel.link(range(n_atoms), costs, self.flow, self.gap, self.via)

    def balance(self, agrees):
        """Move all excess.

        Parameters
        ----------
        agrees : callable
            Called with potentials before they are adopted; false when points that take no part
            here would want another atom. Exchanges then stop, with the old potentials.

        Returns
        -------
        bool
            Whether all excess is moved. It is not when `agrees` says no or no path is left.
        """
        while np.any(self.excess > self.tolerance) and np.any(self.excess < -self.tolerance):
            distance, previous = self._shortest_paths()
            lacking = np.flatnonzero((self.excess < -self.tolerance) & np.isfinite(distance))
            if not lacking.size:
                return False
            lacking = lacking[np.argsort(distance[lacking], kind="stable")]
            potentials = self.potentials + np.minimum(distance, distance[lacking[-1]])
            if not agrees(potentials):
                return False
            self.potentials = potentials
            self._use_paths(lacking, previous)
        return True

    def _use_paths(self, lacking, previous):
        """Send mass along as many of the shortest paths as stay intact."""
        changed = set()
        for atom in lacking:
            path = self._intact_path(atom, previous)
            if path is not None:
                self._send(path)
                changed.update(step[0] for step in path)
                changed.add(atom)
        self.kernel.link(changed, self.costs, self.flow, self.gap, self.via)

    def _shortest_paths(self):
        """Bellman-Ford from all atoms with excess, all edges at once."""
        length = self.gap + (self.potentials - self.potentials[:, None])
        np.maximum(length, 0.0, out=length)
        distance = np.where(self.excess > self.tolerance, 0.0, np.inf)
        previous = np.full(len(distance), -1)
        for _ in range(len(distance)):
            through = length + distance
            best = through.min(axis=1)
            shorter = best < distance - self.rounding
            if not shorter.any():
                break
            previous[shorter] = through.argmin(axis=1)[shorter]
            distance[shorter] = best[shorter]
        return distance, previous

    def _intact_path(self, atom, previous):
        """Return the path as (holder, receiver, point), or None when a step is used up."""
        path = []
        while previous[atom] >= 0:
            holder = previous[atom]
            point = self.via[atom, holder]
            if self.flow[holder, point] == 0:
                return None
            path.append((holder, atom, point))
            atom = holder
        return path if path and self.excess[atom] > self.tolerance else None

    def _send(self, path):
        source, target = path[-1][0], path[0][1]
        amount = min(self.excess[source], -self.excess[target])
        amount = min(amount, *(self.flow[holder, point] for holder, _, point in path))
        for holder, receiver, point in path:
            held = self.flow[holder, point]
            moved = held if held - amount <= self.tolerance else amount
            self.flow[holder, point] -= moved
            self.flow[receiver, point] += moved
            self.excess[holder] -= moved
            self.excess[receiver] += moved


def break_cycles(flow, costs):
    """Make the support of an optimal flow a forest, at no cost; works in place.

    Points shared by several atoms and those atoms form a bipartite graph. In an optimal flow every
    cycle of it costs nothing either way round, so mass can go round until an entry vanishes.

    Parameters
    ----------
    flow : ndarray of int64 of shape (n_atoms, n_points)
        Columns with at least two entries.
    costs : ndarray of shape (n_atoms, n_points)
    """
    while True:
        cycle = _find_cycle(flow > 0)
        if cycle is None:
            return
        # Entries alternate between losing and gaining; rounding decides for the cheaper direction.
        change = sum((-1 if step % 2 else 1) * costs[entry] for step, entry in enumerate(cycle))
        losing = cycle[0::2] if change > 0 else cycle[1::2]
        gaining = cycle[1::2] if change > 0 else cycle[0::2]
        amount = min(flow[entry] for entry in losing)
        for entry in losing:
            flow[entry] -= amount
        for entry in gaining:
            flow[entry] += amount


def _find_cycle(used):
    """Return the (atom, point) entries around a cycle, in order, or None."""
    n_atoms, n_points = used.shape
    neighbors = [list(n_atoms + np.flatnonzero(row)) for row in used]
    neighbors += [list(np.flatnonzero(column)) for column in used.T]
    parent = [-2] * (n_atoms + n_points)
    for root in range(n_atoms):
        if parent[root] != -2:
            continue
        parent[root] = -1
        stack = [root]
        while stack:
            node = stack.pop()
            for other in neighbors[node]:
                if other == parent[node]:
                    continue
                if parent[other] != -2:
                    return _entries(_close(parent, node, other), n_atoms)
                parent[other] = node
                stack.append(other)
    return None


def _close(parent, node, other):
    """Return the nodes of the cycle closed by the edge between two nodes of a search tree."""
    up = [node]
    while parent[up[-1]] >= 0:
        up.append(parent[up[-1]])
    across = [other]
    while across[-1] not in up:
        across.append(parent[across[-1]])
    return up[: up.index(across[-1])] + across[::-1]


def _entries(nodes, n_atoms):
    pairs = zip(nodes, nodes[1:] + nodes[:1], strict=True)
    return [(min(pair), max(pair) - n_atoms) for pair in pairs]
