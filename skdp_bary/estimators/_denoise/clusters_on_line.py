"""Weighted k-means of points on a line, exactly."""

import numpy as np


def clusters_on_line(points, masses, n_clusters):
    """Return the centers of least weighted cost, in increasing order.

    A cluster is a run of points. The best first point of the last cluster grows with its end, so
    ends are solved in the middle of others first, each between the answers beside it: ``k m log m``
    steps for m points.

    Parameters
    ----------
    points : ndarray of shape (n_points, 1)
    masses : ndarray of shape (n_points,)
        Positive.
    n_clusters : int
        At most as many as there are points.

    Returns
    -------
    centers : ndarray of shape (n_clusters, 1)
    """
    order = np.argsort(points[:, 0], kind="stable")
    middle, masses = np.median(points), masses[order]
    places = points[order, 0] - middle
    sums = np.zeros((3, len(places) + 1))
    np.cumsum([masses, masses * places, masses * places**2], axis=1, out=sums[:, 1:])
    ends = np.arange(len(places) + 1)
    costs, starts = _costs(sums, np.zeros_like(ends), ends), []
    costs[0] = np.inf  # every cluster holds a point
    for _ in range(n_clusters - 1):
        costs, first = _with_one_more(sums, costs)
        starts.append(first)
    ends = [len(places)]
    for first in reversed(starts):
        ends.append(first[ends[-1]])
    mass, moment, _ = np.diff(sums[:, [0, *ends[::-1]]], axis=1)
    return (moment / mass + middle)[:, None]


def _with_one_more(sums, costs):
    """Return the least costs with one more cluster, and where it starts, by where the points end.

    ``costs`` are those without it; a last cluster that starts at its end has no point.
    """
    last = len(costs) - 1
    least, first = np.full(last + 1, np.inf), np.zeros(last + 1, dtype=np.int64)
    step = 1 << last.bit_length()
    while step := step // 2:
        end = np.arange(step, last + 1, 2 * step)
        low, beyond = first[end - step], end + step > last
        high = np.where(beyond, last, first[np.minimum(end + step, last)])
        sizes = np.minimum(high, end - 1) - low + 1
        runs = np.cumsum(sizes) - sizes
        start = np.arange(sizes.sum()) + np.repeat(low - runs, sizes)
        found = costs[start] + _costs(sums, start, np.repeat(end, sizes))
        least[end] = np.minimum.reduceat(found, runs)
        best = np.flatnonzero(found == np.repeat(least[end], sizes))
        first[end] = start[best[np.searchsorted(best, runs)]]
    return least, first


def _costs(sums, start, end):
    """Return the cost of one cluster of the points from a start to before an end."""
    mass, moment, square = sums[:, end] - sums[:, start]
    return np.maximum(square - moment**2 / np.maximum(mass, 1e-300), 0.0)
