"""Compiled: cheapest atoms of all points, from boxes around runs of them along a curve."""

import logging
import math
from collections import namedtuple
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np

from .costs import is_kept, pairwise_cost

# Compilation with fixed types: once a machine where code can be kept, once a process elsewhere.

_OPTIONS = {"error_model": "numpy", "nogil": True, "boundscheck": False}
_NO_COUNTING = {"_nrt": False}


def compiled(*types, returns="void", allocates=True):
    """Return a decorator that compiles for arguments of these types, when the module is imported.

    The code is kept next to the source or, where that cannot be written, in the user's cache
    folder. A function that makes no array can do without the counting of references, which takes
    one third of the time where many arrays are passed on.
    """
    options = _OPTIONS if allocates else _OPTIONS | _NO_COUNTING
    signature = _type(returns)(*map(_type, types))

    def compile_now(function):
        if not is_kept(Path(function.__code__.co_filename), function.__name__):
            say_so()
        try:
            return numba.njit(signature, cache=True, **options)(function)
        except Exception:  # no folder to keep code in, a full disk, code of another version
            return numba.njit(signature, **options)(function)

    return compile_now


@cache
def say_so():
    """Say, once a process, why the first large problem on a machine takes longer."""
    logging.getLogger("skdp_bary").warning(
        "skdp_bary: compiling exact transport, once on this machine; takes up to a minute ..."
    )


def struct(module, name, fields):
    """Return a named tuple of `module` from "name: type, ...", and its type for `compiled`."""
    types = dict(field.split(": ") for field in fields.split(", "))
    group = namedtuple(name, types, module=module)  # kept code finds it there again
    return group, numba.types.NamedTuple(list(map(_type, types.values())), group)


_ARRAYS = {"floats": "f8[::1]", "table": "f8[:,::1]", "index": "i8[::1]", "short": "i4[::1]"}


def _type(given):
    if not isinstance(given, str):  # that of a struct
        return given
    return numba.core.sigutils.normalize_signature(f"({_ARRAYS.get(given, given)},)")[0][0]


def inlined(function):
    """Compile a small function, which makes no array, into those that call it."""
    return numba.njit(**_OPTIONS, **_NO_COUNTING)(function)


# Compiled: labels of points along a curve, from boxes around runs of them.

RUN = 32  # points of the smallest box
FAN = 8  # boxes of one that is a level larger
# Boxes of all levels, the smallest ones first, and where each level starts, and the end.
Runs, RUNS = struct(__name__, "Runs", "centers: table, widths: table, firsts: index, levels: i8")
_SLACK = 1e-13  # of costs in the unit frame; above rounding


@inlined
def cost_of(points, i, atoms, k, p):
    """Return the cost of a point at an atom."""
    square = 0.0
    for axis in range(atoms.shape[1]):
        apart = atoms[k, axis] - points[i, axis]
        square += apart * apart
    if p == 2.0:
        return square
    return math.sqrt(square) if p == 1.0 else square ** (0.5 * p)


# On its own, so that only the sum over the axes may be taken in another order, no difference.
@inlined
def _extra_along(points, i, atoms, j, k, axis):
    to_k, to_j = atoms[k, axis] - points[i, axis], atoms[j, axis] - points[i, axis]
    return (atoms[k, axis] - atoms[j, axis]) * (to_k + to_j)


@numba.njit(fastmath={"reassoc"}, **_OPTIONS, **_NO_COUNTING)  # sums several terms at a time
def _extra_square(points, i, atoms, j, k):
    total = 0.0
    for axis in range(atoms.shape[1]):
        total += _extra_along(points, i, atoms, j, k, axis)
    return total


@inlined
def extra_of(points, i, atoms, j, k, p):
    """Extra cost of atom k for a point over atom j, without cancellation for p of 1 and 2."""
    if p == 2.0:
        return _extra_square(points, i, atoms, j, k)
    if p == 1.0:
        twice, far, near = 0.0, 0.0, 0.0
        for axis in range(atoms.shape[1]):
            to_k, to_j = atoms[k, axis] - points[i, axis], atoms[j, axis] - points[i, axis]
            twice += (atoms[k, axis] - atoms[j, axis]) * (to_k + to_j)
            far += to_k * to_k
            near += to_j * to_j
        distances = math.sqrt(far) + math.sqrt(near)
        return twice / distances if distances > 0.0 else 0.0
    return cost_of(points, i, atoms, k, p) - cost_of(points, i, atoms, j, p)


@inlined
def least_extra(centers, widths, b, atoms, j, k, p):
    """Return a lower bound of what atom k costs beyond atom j anywhere in a box."""
    if p == 2.0:  # the difference is affine, so this is its least value
        least = 0.0
        for axis in range(atoms.shape[1]):
            to_k, to_j = atoms[k, axis] - centers[b, axis], atoms[j, axis] - centers[b, axis]
            apart = atoms[k, axis] - atoms[j, axis]
            least += apart * (to_k + to_j) - 2.0 * abs(apart) * widths[b, axis]
        return least
    radius, far, near, apart = 0.0, 0.0, 0.0, 0.0
    for axis in range(atoms.shape[1]):
        to_k, to_j = atoms[k, axis] - centers[b, axis], atoms[j, axis] - centers[b, axis]
        radius += widths[b, axis] * widths[b, axis]
        far += to_k * to_k
        near += to_j * to_j
        apart += (to_k - to_j) ** 2
    radius, far, near = math.sqrt(radius), math.sqrt(far), math.sqrt(near)
    if p == 1.0:
        # Unit vectors towards two atoms differ by at most 2 |a - b| / (|x - a| + |x - b|).
        spread = far + near - 2.0 * radius
        slope = min(2.0, 2.0 * math.sqrt(apart) / spread) if spread > 0.0 else 2.0
        return far - near - slope * radius
    return max(far - radius, 0.0) ** p - (near + radius) ** p


@compiled("table", "table", "table", "index", returns="i8")
def build(points, centers, widths, firsts):
    """Fill in the boxes of all levels, the smallest ones first; return the number of levels.

    `firsts` receives where each level starts, and the end.
    """
    n, d = points.shape
    n_boxes = (n + RUN - 1) // RUN
    for b in range(n_boxes):
        for axis in range(d):
            low = high = points[b * RUN, axis]
            for i in range(b * RUN + 1, min((b + 1) * RUN, n)):
                low, high = min(low, points[i, axis]), max(high, points[i, axis])
            centers[b, axis], widths[b, axis] = 0.5 * (low + high), 0.5 * (high - low)
    firsts[0], firsts[1], levels = 0, n_boxes, 1
    while n_boxes > FAN:
        below, here = firsts[levels - 1], firsts[levels]
        for b in range((n_boxes + FAN - 1) // FAN):
            for axis in range(d):
                low, high = math.inf, -math.inf
                for c in range(below + b * FAN, min(below + (b + 1) * FAN, here)):
                    low = min(low, centers[c, axis] - widths[c, axis])
                    high = max(high, centers[c, axis] + widths[c, axis])
                centers[here + b, axis] = 0.5 * (low + high)
                widths[here + b, axis] = 0.5 * (high - low)
        n_boxes = (n_boxes + FAN - 1) // FAN
        levels += 1
        firsts[levels] = here + n_boxes
    return levels


@inlined
def near_box(b, runs, atoms, potentials, p, limit, tried, kept):
    """Keep the atoms that may come within a limit of the cheapest one in a box; return how many.

    A limit below zero is as far as the second cheapest atom may be.
    """
    centers, widths, best, second = runs.centers, runs.widths, tried[0], -1
    least, next_least = math.inf, math.inf
    for k in tried:
        value = cost_of(centers, b, atoms, k, p) - potentials[k]
        if value < least:
            second, next_least = best, least
            best, least = k, value
        elif value < next_least:
            second, next_least = k, value
    if limit < 0.0:
        limit = math.inf
        if len(tried) > 1:
            limit = potentials[best] - potentials[second]
            limit -= least_extra(centers, widths, b, atoms, second, best, p)
    n_kept = 0
    for k in tried:
        beyond = least_extra(centers, widths, b, atoms, best, k, p)
        if k == best or beyond - potentials[k] + potentials[best] <= limit + _SLACK:
            kept[n_kept] = k
            n_kept += 1
    return n_kept


@inlined
def keep_near(b, runs, atoms, potentials, p, reach, kept, n_kept):
    """Keep the atoms that matter in run `b`, on level 0, from those of the boxes around it."""
    step = FAN ** (runs.levels - 1)
    for level in range(runs.levels - 1, -1, -1):
        if b % step == 0:  # the first run in a box; those that follow find what was kept
            box, tried = runs.firsts[level] + b // step, kept[level + 1, : n_kept[level + 1]]
            limit = reach[box]
            n_kept[level] = near_box(box, runs, atoms, potentials, p, limit, tried, kept[level])
        step //= FAN


@compiled("table", RUNS, "table", "floats", "f8", "short")
def assign(points, runs, atoms, potentials, p, labels):
    """Write a cheapest atom of every point.

    Branch and bound down a tree of boxes, as k-means filters centers (Kanungo et al. 2002);
    O(n_points n_atoms) at worst.
    """
    n, m, levels, reach = len(points), len(atoms), runs.levels, np.zeros(len(runs.centers))
    kept, n_kept = np.empty((levels + 1, m), np.int32), np.empty(levels + 1, np.int64)
    kept[levels], n_kept[levels] = np.arange(m), m
    for b in range(runs.firsts[1]):
        keep_near(b, runs, atoms, potentials, p, reach, kept, n_kept)
        for i in range(b * RUN, min((b + 1) * RUN, n)):
            best, least = kept[0, 0], math.inf
            if n_kept[0] > 1:
                for t in range(n_kept[0]):
                    value = cost_of(points, i, atoms, kept[0, t], p) - potentials[kept[0, t]]
                    if value < least:
                        least, best = value, kept[0, t]
            labels[i] = best


@compiled("short", "index")
def count_pieces(labels, ends):
    """Count the boxes of every atom when runs are cut by label; ends[j + 1] receives atom j's."""
    n = len(labels)
    seen = np.full(len(ends), -1)
    for start in range(0, n, RUN):
        for i in range(start, min(start + RUN, n)):
            if seen[labels[i]] != start:
                seen[labels[i]] = start
                ends[labels[i] + 1] += 1


@compiled("table", "short", "index", "short", RUNS, "table", "table")
def cut_pieces(points, labels, firsts, starts, runs, centers, widths):
    """Write start and box of the points of one atom in one run, those of one atom together.

    `firsts` says where each atom's boxes begin, and ends up where they end.
    """
    n, d = points.shape
    mine = np.full(len(firsts), -1)
    for run in range((n + RUN - 1) // RUN):
        start, stop = run * RUN, min((run + 1) * RUN, n)
        pure = True
        for i in range(start + 1, stop):
            pure &= labels[i] == labels[start]
        if pure:
            b = firsts[labels[start]]
            firsts[labels[start]] += 1
            starts[b] = start
            for axis in range(d):
                centers[b, axis], widths[b, axis] = runs.centers[run, axis], runs.widths[run, axis]
            continue
        for i in range(start, stop):
            b = mine[labels[i]]
            if b < 0 or starts[b] != start:
                b = mine[labels[i]] = firsts[labels[i]]
                firsts[labels[i]] += 1
                starts[b] = start
                for axis in range(d):  # low and high until the run is through
                    centers[b, axis] = widths[b, axis] = points[i, axis]
            for axis in range(d):
                centers[b, axis] = min(centers[b, axis], points[i, axis])
                widths[b, axis] = max(widths[b, axis], points[i, axis])
        for i in range(start, stop):
            b = mine[labels[i]]
            if b >= 0:
                mine[labels[i]] = -1
                for axis in range(d):
                    low, high = centers[b, axis], widths[b, axis]
                    centers[b, axis], widths[b, axis] = 0.5 * (low + high), 0.5 * (high - low)


@compiled("index", "table", "table", "table", "f8", "table")
def bound_all(firsts, centers, widths, atoms, p, gap):
    """Write a lower bound of what any point of atom j costs more at atom k, as gap[j, k]."""
    m = len(atoms)
    for j in range(m):
        for b in range(firsts[j], firsts[j + 1]):
            for k in range(m):
                gap[j, k] = min(gap[j, k], least_extra(centers, widths, b, atoms, j, k, p))


# Compiled: what is read off matrices of costs, a row an atom and a column a point.


@compiled("table", "floats", "short", "short", "floats", "floats", allocates=False)
def rank(costs, potentials, labels, others, lowest, margins):
    """Write the cheapest atom of every point, the next one, and how much dearer that is.

    `lowest` is room for what the cheapest costs. Without branches several points go at a time.
    """
    n_points = len(labels)
    for i in range(n_points):
        labels[i], others[i], lowest[i], margins[i] = 0, 0, math.inf, math.inf
    for k in range(len(costs)):
        for i in range(n_points):
            value, least, second = costs[k, i] - potentials[k], lowest[i], margins[i]
            cheaper, close = value < least, value < second
            others[i] = labels[i] if cheaper else k if close else others[i]
            margins[i] = least if cheaper else value if close else second
            labels[i] = k if cheaper else labels[i]
            lowest[i] = value if cheaper else least
    for i in range(n_points):
        margins[i] -= lowest[i]


@compiled("table", "short", "index", "floats", "table", allocates=False)
def lower(costs, owners, ends, own, table):
    """Write the least extra cost at every atom of each run of points, which ends at one of `ends`.

    `own` is room for what every point costs at its atom.
    """
    for i in range(len(owners)):
        own[i] = costs[owners[i], i]
    for k in range(len(costs)):
        start = 0
        for b in range(len(ends)):
            least = math.inf
            for i in range(start, ends[b]):
                extra = costs[k, i] - own[i]
                least = extra if extra < least else least
            table[b, k], start = least, ends[b]


# Cheapest atoms of all points, and boxes around the points of every atom.

BOXED = 3  # most features in which boxes tell atoms apart
_ENTRIES = 2**15  # costs at a time where they do not, which stay near the processor


class Cells(NamedTuple):
    """Points by atom. An item is a point; boxes hold runs of items of one atom.

    Attributes
    ----------
    rows : ndarray of int32 of shape (n_points,)
        Point of every item.
    owners : ndarray of int32 of shape (n_points,)
        Atom of every item.
    firsts : ndarray of shape (n_atoms + 1,)
        Where the boxes of each atom start, and the end.
    starts : ndarray of int32 of shape (n_boxes,)
        First item of the run a box lies in; the items of other atoms there do not count.
    centers, widths : ndarrays of shape (n_boxes, n_features)
        Empty where `table` is not.
    table : ndarray of shape (n_boxes, n_atoms)
        Least extra cost of the items of a box at every atom.
    gap : ndarray of shape (n_atoms, n_atoms)
        Lower bounds of the extra cost of any item of one atom at another one.
    """

    rows: np.ndarray
    owners: np.ndarray
    firsts: np.ndarray
    starts: np.ndarray
    centers: np.ndarray
    widths: np.ndarray
    table: np.ndarray
    gap: np.ndarray


class BoxedPoints:
    """Points in few dimensions, in boxes that do not depend on atoms."""

    def __init__(self, points):
        self.points, firsts = points, np.zeros(32, dtype=np.int64)
        # boxes of all levels are at most FAN / (FAN - 1) as many as there are runs, which is less
        boxes = np.empty((2, len(points) // (RUN - 4) + 32, points.shape[1]))
        self.runs = Runs(*boxes, firsts, build(points, *boxes, firsts))

    def labels(self, atoms, potentials, p):
        """Return a cheapest atom of every point."""
        labels = np.empty(len(self.points), dtype=np.int32)
        assign(self.points, self.runs, atoms, potentials, p, labels)
        return labels

    def cells(self, labels, atoms, p):
        """Return the Cells; their items are the points in order."""
        n_atoms, n_features = atoms.shape
        firsts = np.zeros(n_atoms + 1, dtype=np.int64)
        count_pieces(labels, firsts)
        firsts = np.cumsum(firsts)
        starts = np.empty(firsts[-1], dtype=np.int32)
        boxes = np.empty((firsts[-1], n_features)), np.empty((firsts[-1], n_features))
        cut_pieces(self.points, labels, firsts[:-1].copy(), starts, self.runs, *boxes)
        gap = np.full((n_atoms, n_atoms), np.inf)
        bound_all(firsts, *boxes, atoms, p, gap)
        rows = np.arange(len(labels), dtype=np.int32)
        return Cells(rows, labels, firsts, starts, *boxes, np.empty((0, 0)), gap)


class LoosePoints:
    """Points in many dimensions, where matrix products are faster than boxes."""

    def __init__(self, points):
        self.points = points

    def rank(self, atoms, potentials, p):
        """Return a cheapest atom of every point, the next one, and how much dearer that is."""
        labels, others = np.empty((2, len(self.points)), dtype=np.int32)
        size = RUN * _runs_at_a_time(len(atoms))
        margins, room = np.empty(len(self.points)), np.empty(size)
        for start in range(0, len(labels), size):
            part = slice(start, start + size)
            costs = _costs(atoms, self.points[part], p)
            rank(costs, potentials, labels[part], others[part], room, margins[part])
        return labels, others, margins

    def labels(self, atoms, potentials, p):
        """Return a cheapest atom of every point."""
        return self.rank(atoms, potentials, p)[0]

    def cells(self, labels, atoms, p):
        """Return the Cells; their items are the points sorted by atom."""
        n_atoms = len(atoms)
        rows = np.argsort(labels.astype(np.min_scalar_type(n_atoms)), kind="stable")
        counts = np.bincount(labels, minlength=n_atoms)
        per_atom = -(-counts // RUN)
        firsts = np.append(0, np.cumsum(per_atom))
        within = np.arange(firsts[-1]) - np.repeat(firsts[:-1], per_atom)
        starts = RUN * within + np.repeat(np.cumsum(counts) - counts, per_atom)
        table, owners = np.empty((firsts[-1], n_atoms)), labels[rows]
        ends, step = np.append(starts[1:], len(rows)), _runs_at_a_time(n_atoms)
        room = np.empty(RUN * step)
        for low in range(0, len(starts), step):
            boxes = slice(low, low + step)
            here = slice(starts[low], ends[boxes][-1])
            costs = _costs(atoms, self.points[rows[here]], p)
            lower(costs, owners[here], ends[boxes] - starts[low], room, table[boxes])
        gap = np.full((n_atoms, n_atoms), np.inf)
        used = np.flatnonzero(per_atom)
        gap[used] = np.minimum.reduceat(table, firsts[used])
        nothing = np.empty((0, atoms.shape[1]))
        rows, starts = rows.astype(np.int32), starts.astype(np.int32)
        return Cells(rows, owners, firsts, starts, nothing, nothing, table, gap)


def _runs_at_a_time(n_atoms):
    return max(2, _ENTRIES // (RUN * n_atoms))


def _costs(atoms, points, p):
    """Return the costs of some points, those for p = 2 without the points' own squared norms."""
    if p != 2:
        return pairwise_cost(atoms, points, p)
    costs = (-2.0 * atoms) @ points.T
    costs += np.einsum("ij,ij->i", atoms, atoms)[:, None]
    return costs


def prepare(points):
    """Return points ready to be labeled."""
    points = np.require(points, dtype=np.float64, requirements=["C", "W"])
    return BoxedPoints(points) if points.shape[1] <= BOXED else LoosePoints(points)
