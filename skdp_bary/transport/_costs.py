"""Ground costs ``|x - y|**p`` and the two cheapest atoms of every point."""

import numpy as np
from scipy.spatial.distance import cdist

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
    """Return what a plan in compressed rows, one a point, costs."""
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

    The row index replaces the lowest bits of each entry, so that plain minima, which vectorise,
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
    smallest, second = _two_smallest(costs)
    return smallest.view(np.int64) & ((1 << bits) - 1), smallest, second


def _two_smallest(values):
    """Return the smallest and second smallest of every column by a tournament of minima."""
    half = len(values) // 2
    low, high = values[:half], values[half : 2 * half]
    smallest, second = np.minimum(low, high), np.maximum(low, high)
    if len(values) % 2:
        _admit(smallest[0], second[0], values[-1], np.inf)
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
    return smallest[0], second[0]


def _admit(smallest, second, value, next_value):
    """Let a pair (value, next_value) into a pair of minima, in place."""
    np.minimum(second, np.maximum(smallest, value), out=second)
    np.minimum(second, next_value, out=second)
    np.minimum(smallest, value, out=smallest)
