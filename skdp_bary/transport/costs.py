"""Ground costs, loops over points, and what an exact solution is."""

import sys
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.spatial.distance import cdist

# Ground costs ``|x - y|**p`` and the two cheapest atoms of every point.

_ENTRIES = 2**17  # coordinates at a time, which stay near the processor


def pairwise_cost(atoms, points, p):
    """Return the (n_atoms, n_points) costs, from differences: no cancellation."""
    if p == 2:
        return cdist(atoms, points, "sqeuclidean")
    distance = cdist(atoms, points)
    return distance if p == 1 else distance**p


def paired_cost(points, others, p, out=None):
    """Return the costs between the rows of two arrays of one shape; `out` is room for a third."""
    difference = np.subtract(points, others, out=out)
    square = np.vecdot(difference, difference)
    return square if p == 2 else square ** (p / 2)


def chosen_cost(points, rows, atoms, labels, p):
    """Return the costs between some rows of the points and the atoms they go to."""
    costs, size = np.empty(len(rows)), max(1, _ENTRIES // points.shape[1])
    for start in range(0, len(rows), size):  # whole copies of wide points would be large
        part = slice(start, start + size)
        costs[part] = paired_cost(points[rows[part]], atoms[labels[part]], p)
    return costs


def sparse_cost(points, atoms, plan, p):
    """Cost of a plan in compressed rows, one per point."""
    total, size = 0.0, max(1, _ENTRIES // points.shape[1])
    room = np.empty((min(size, plan.nnz), points.shape[1]))
    for start in range(0, plan.nnz, size):
        stop = min(start + size, plan.nnz)
        low = np.searchsorted(plan.indptr, start, side="right") - 1
        high = np.searchsorted(plan.indptr, stop)
        rows, pieces = points[low:high], np.diff(plan.indptr[low : high + 1].clip(start, stop))
        if not (pieces == 1).all():
            rows = np.repeat(rows, pieces, axis=0)
        others, columns = room[: len(rows)], plan.indices[start:stop]
        np.take(atoms, columns, axis=0, out=others, mode="clip")  # without a copy in between
        total += float(plan.data[start:stop] @ paired_cost(rows, others, p, out=others))
    return total


def two_cheapest(costs):
    """Return row of the minimum, minimum and second minimum of every column; overwrites `costs`.

    The row index replaces the lowest bits of each entry, so that plain minima, which vectorize,
    carry it along. Values keep all but ``log2(n_rows)`` of their 53 bits, so columns whose two
    minima agree to that precision may get either row.
    """
    n_rows = len(costs)
    if n_rows == 1:
        size = costs.shape[1]
        return np.zeros(size, dtype=np.int64), costs[0], np.full(size, np.inf)
    bits = int(n_rows - 1).bit_length()
    packed = costs.view(np.int64)
    packed &= -(1 << bits)
    packed |= np.arange(n_rows, dtype=np.int64)[:, None]
    # a tournament of minima, in which what loses to the smallest may still be second
    half = n_rows // 2
    low, high = costs[:half], costs[half : 2 * half]
    smallest, second = np.minimum(low, high), np.maximum(low, high)
    if n_rows % 2:
        _admit(smallest[0], second[0], costs[-1], np.inf)
    while len(smallest) > 1:
        half, odd = len(smallest) // 2, len(smallest) % 2
        low, high = smallest[:half], smallest[half : 2 * half]
        beaten = np.maximum(low, high)
        np.minimum(beaten, second[:half], out=beaten)
        np.minimum(beaten, second[half : 2 * half], out=beaten)
        last = smallest[-1], second[-1]
        smallest, second = np.minimum(low, high), beaten
        if odd:
            _admit(smallest[0], second[0], *last)
    return smallest[0].view(np.int64) & ((1 << bits) - 1), smallest[0], second[0]


def _admit(smallest, second, value, next_value):
    """Let a pair (value, next_value) into a pair of minima, in place."""
    np.minimum(second, np.maximum(smallest, value), out=second)
    np.minimum(second, next_value, out=second)
    np.minimum(smallest, value, out=smallest)


# The loops that take most of the time, in NumPy.

SOFT = 14.0  # a margin above this many temperatures is hard: a share below exp(-14)
_NOTHING = -60.0  # exponent of a share that changes no sum; underflow takes processors 30x longer


class Totals:
    """Sums over the points, which grow block by block, and labels and margins of each point.

    Attributes
    ----------
    labels, cheapest, margins : ndarrays of shape (n_points,)
        Cheapest atom, its cost less its potential, and how much dearer the next atom is.
    hard : ndarray of shape (n_points,)
        Weights, zero for soft points; all others below are sums over the soft points.
    masses, counts : ndarrays of shape (n_atoms,)
    sums : ndarray of shape (n_atoms, n_features)
    hessian : ndarray of shape (n_atoms, n_atoms)
    shared, blur, softness : float
    """

    def __init__(self, n_points, n_atoms, n_features):
        self.labels = np.empty(n_points, dtype=np.intp)
        self.cheapest, self.margins, self.hard = np.empty((3, n_points))
        self.masses, self.counts = np.zeros((2, n_atoms))
        self.sums, self.hessian = np.zeros((n_atoms, n_features)), np.zeros((n_atoms, n_atoms))
        self.shared = self.blur = self.softness = 0.0

    def mirror(self):
        """Copy the part of the Hessian below the diagonal to above it."""
        above = ~np.tri(len(self.hessian), dtype=bool)
        np.copyto(self.hessian, self.hessian.T, where=above)


def fold(total, block, atoms, entries, cloud, temperatures, p, potentials):
    """Add a block of points to the totals; overwrites `entries`.

    Parameters
    ----------
    total : Totals
    block : slice
        Of the points.
    atoms : ndarray of int
        Those that matter in the block.
    entries : ndarray of shape (n_atoms of the block, n_points of the block)
        Costs less potentials.
    cloud : OrderedPoints
    temperatures : ndarray of shape (n_points,)
    p : float
    potentials : ndarray
        Of all atoms.
    """
    winner, lowest, second = two_cheapest(entries)
    total.labels[block], total.cheapest[block] = atoms[winner], lowest
    margins = np.subtract(second, lowest, out=total.margins[block])
    total.hard[block] = cloud.weights[block]
    soft = np.flatnonzero(margins < SOFT * temperatures[block])
    if not soft.size:
        return
    if soft.size < margins.size:
        entries, lowest = entries[:, soft], lowest[soft]
    rows = soft + block.start
    total.hard[rows] = 0.0
    points, weights, temperatures = cloud.points[rows], cloud.weights[rows], temperatures[rows]
    pulls = None if p == 2 else attraction(entries + potentials[atoms, None], p)
    shares, totals = soft_shares(entries, lowest, temperatures)
    masses = shares @ weights
    if pulls is None:
        counts, sums = masses, shares @ (weights[:, None] * points)
    else:
        pulls *= shares * weights
        counts, sums = pulls.sum(axis=1), pulls @ points
    mixed = weights * (1.0 - np.einsum("ji,ji->i", shares, shares))
    total.shared += mixed.sum()
    total.blur += mixed @ temperatures
    total.softness += (weights * temperatures) @ np.log(totals)
    total.masses[atoms] += masses
    total.counts[atoms] += counts
    total.sums[atoms] += sums
    total.hessian[atoms, atoms] += shares @ (weights / temperatures)
    shares *= np.sqrt(weights / temperatures)
    total.hessian[atoms[:, None], atoms] -= shares @ shares.T


def drift(entries, rises, weights, temperatures):
    """Changes of the masses of soft points, to first order; overwrites its arguments.

    Parameters
    ----------
    entries, rises : ndarrays of shape (n_atoms, n_points)
        Costs less potentials, and by how much they rise.
    weights, temperatures : ndarrays of shape (n_points,)
    """
    shares, _ = soft_shares(entries, entries.min(axis=0), temperatures)
    rises -= np.einsum("ji,ji->i", shares, rises)
    rises *= shares
    return -rises @ (weights / temperatures)


def attraction(costs, p):
    """Return ``distance ** (p - 2)``, capped where a point sits on the atom."""
    return np.maximum(np.maximum(costs, 0.0) ** (1.0 / p), 1e-9) ** (p - 2.0)


def soft_shares(entries, lowest, temperatures):
    """Return the shares of every column, and what they were divided by; overwrites `entries`.

    The soft minimum is ``lowest - temperatures * log(divisor)``.
    """
    entries -= lowest
    entries *= -1.0 / temperatures
    np.maximum(entries, _NOTHING, out=entries)
    np.exp(entries, out=entries)
    total = entries.sum(axis=0)
    entries /= total
    return entries, total


# What an exact solution is, and how it is proven: from its plan and potentials alone.

UNITS = 2**61  # integer units of the total mass
_LIGHT = 2**20  # units; lighter points take no part in absorbing the rounding
_PART = 2**16  # points at a time; their low halves add up exactly in floating point
_RELATIVE_GAP = 1e-9
_LARGEST_MASS_ERROR = 1e-12  # mass; far above rounding, far below any point


@dataclass(frozen=True)
class Assignment:
    """An exact solution: every point whole with its label, or split among several atoms.

    Attributes
    ----------
    potentials : ndarray of shape (n_atoms,)
    labels : ndarray of shape (n_points,)
    split : ndarray of shape (n_split,)
        Points shared by several atoms.
    shares : ndarray of shape (n_atoms, n_split)
        Fractions of each split point; columns sum to one.
    cost, dual : float
    mass_error : float
        Most mass that an atom has too much or too little.
    """

    potentials: np.ndarray
    labels: np.ndarray
    split: np.ndarray
    shares: np.ndarray
    cost: float
    dual: float
    mass_error: float

    @property
    def proven(self):
        """Whether all masses are right and cost and dual agree to the promised precision."""
        # weak duality: no plan with the right masses costs less than the dual value, so one that is
        # close to it is optimal; with other masses it may cost less
        close = abs(self.cost - self.dual) <= _RELATIVE_GAP * self.cost + 1e-15
        return close and self.mass_error <= _LARGEST_MASS_ERROR


def certify(problem, potentials, labels, split, shares):
    """Return a plan as an Assignment, with cost, dual value and masses computed afresh."""
    cloud = problem.cloud
    whole, dual = _sums(problem, potentials, labels)
    costs = pairwise_cost(problem.atoms, cloud.points[split], problem.p)
    more = np.einsum("ji,ji->i", shares, costs) - costs[labels[split], np.arange(len(split))]
    units, target = to_units(cloud.weights), to_units(problem.target)
    shared = units[split]
    units[split] = 0
    missing = sum_by_label(labels, units, len(target)) - target
    return Assignment(
        potentials=potentials,
        labels=labels,
        split=split,
        shares=shares,
        cost=float(whole + cloud.weights[split] @ more),
        dual=float(dual + problem.target @ potentials),
        mass_error=float(np.abs(missing + shares @ shared).max() / UNITS),
    )


def _sums(problem, potentials, labels):
    """Costs of points at their labels, and less potential at a cheapest atom found afresh.

    Block by block, so that nothing as long as the points is made.
    """
    cloud, atoms, own, least = problem.cloud, problem.atoms, 0.0, 0.0
    for start, stop, lowest in problem.cheapest(potentials):
        points, weights = cloud.points[start:stop], cloud.weights[start:stop]
        costs = paired_cost(points, atoms[labels[start:stop]], problem.p)
        own += weights @ costs
        other = np.flatnonzero(lowest != labels[start:stop])
        costs[other] = paired_cost(points[other], atoms[lowest[other]], problem.p)
        least += weights @ (costs - potentials[lowest])
    return own, least


def to_units(weights):
    """Return integer masses with an exact total; all but the lightest absorb the rounding."""
    units = weights * (UNITS / weights.sum())
    units = np.rint(units, out=units).astype(np.int64)
    heavy = units >= _LIGHT
    each, left = divmod(UNITS - int(units.sum()), np.count_nonzero(heavy))
    np.add(units, each, out=units, where=heavy)
    units[np.flatnonzero(heavy)[:left]] += 1
    return units


def sum_by_label(labels, units, n_atoms):
    """Sum integers by label, exactly."""
    sums = np.zeros(n_atoms, dtype=np.int64)
    for start in range(0, len(units), _PART):
        part, mine = units[start : start + _PART], labels[start : start + _PART]
        sums += np.bincount(mine, part & 0x3FFFFFFF, n_atoms).astype(np.int64)
        sums += np.bincount(mine, part >> 30, n_atoms).astype(np.int64) << 30
    return sums


# POT's network simplex: for small problems, and as the last resort.


def network_simplex(problem):
    """Return the Assignment that POT finds: slow and large, but it needs no good start.

    Network simplex (Bonneel, van de Panne, Paris and Heidrich 2011) on a dense matrix of costs.
    """
    from ot import emd

    cloud = problem.cloud
    costs = pairwise_cost(problem.atoms, cloud.points, problem.p).T
    plan, log = emd(
        cloud.weights, problem.target, costs, numItermax=np.iinfo(np.int64).max, log=True
    )
    split = np.flatnonzero(np.count_nonzero(plan, axis=1) > 1)
    shares = plan[split].T / plan[split].sum(axis=1)
    return certify(problem, log["v"], plan.argmax(axis=1), split, shares)


# Exact transport on a line, where points and atoms are matched in order.


def axis_of_line(problem):
    """Return the only axis along which points and atoms differ, or None."""
    points, atoms = problem.cloud.points, problem.atoms
    if np.count_nonzero(np.ptp(atoms, axis=0)) > 1:  # seen without a look at the points
        return None
    low = np.minimum(points.min(axis=0), atoms.min(axis=0))
    high = np.maximum(points.max(axis=0), atoms.max(axis=0))
    axes = np.flatnonzero(high > low)
    return int(axes.max(initial=0)) if len(axes) <= 1 else None


def solve_line(problem, axis):
    """Return the Assignment of a problem whose points and atoms lie on a line.

    The monotone plan is optimal for convex costs (Villani 2003, theorem 2.18); O(n log n).
    """
    points, atoms = problem.cloud.points[:, axis], problem.atoms[:, axis]
    order, ranks = np.argsort(points, kind="stable"), np.argsort(atoms, kind="stable")
    units = to_units(problem.cloud.weights)[order]
    ends, bounds = np.cumsum(units), np.cumsum(to_units(problem.target)[ranks])
    last = np.searchsorted(bounds, ends)
    first = np.minimum(np.searchsorted(bounds, ends - units, side="right"), last)
    labels = np.empty(len(order), dtype=np.int32)
    labels[order] = ranks[first]
    several = np.flatnonzero(first < last)
    # shape (n_atoms, n_split): how far the stretches of points and of atoms overlap
    high = np.minimum(ends[several], bounds[:, None])
    low = np.maximum((ends - units)[several], np.append(0, bounds[:-1])[:, None])
    shares = np.maximum(high - low, 0) / units[several]
    border = points[order[np.searchsorted(ends, bounds[:-1])]]
    sorted_atoms, potentials = atoms[ranks], np.zeros(len(atoms))
    nearer, farther = sorted_atoms[:-1], sorted_atoms[1:]
    if problem.p == 2:  # a difference of squares, without cancellation
        rises = (farther - nearer) * (farther + nearer - 2.0 * border)
    else:
        rises = np.abs(farther - border) ** problem.p - np.abs(nearer - border) ** problem.p
    # At the border point of two neighbors both cost the same, less their potentials.
    potentials[ranks[1:]] = np.cumsum(rises)
    return certify(problem, potentials, labels, order[several], shares[np.argsort(ranks)])


# Whether compiled code of this package is kept on disk, found out without loading numba.


@cache
def is_kept(source, name):
    """Tell whether compiled code of a function is next to its source, and no older.

    Parameters
    ----------
    source : Path
        The file that the function is in.
    name : str
    """
    pattern = f"{source.stem}.{name}-*.py{sys.version_info.major}{sys.version_info.minor}*.nbi"
    found = (source.parent / "__pycache__").glob(pattern)
    written = source.stat().st_mtime if source.exists() else 0.0
    return any(each.stat().st_mtime >= written for each in found)
