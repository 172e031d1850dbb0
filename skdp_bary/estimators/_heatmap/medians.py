"""Weighted k-median in the plane with the L1 distance, on released masses."""

import numpy as np

_MAX_ROUNDS = 100


def k_median(points, weights, n_clusters, n_init, rng):
    """Return centers and their cost, the best of several starts.

    Each start picks centers one by one, a point with probability proportional to its weight times
    its distance from the centers so far: in expectation within a factor of order ``log(k)`` of the
    best cost (Arthur and Vassilvitskii, 2007). Then points are assigned and every center moved to
    the weighted median of each coordinate, which can only lower the cost.
    """
    best, lowest = None, np.inf
    for _ in range(n_init):
        centers = _seed(points, weights, n_clusters, rng)
        centers, cost = _alternate(points, weights, centers)
        if cost < lowest:
            best, lowest = centers, cost
    return best, lowest


def _seed(points, weights, n_clusters, rng):
    chosen = [rng.choice(len(points), p=weights / weights.sum())]
    nearest = _distances(points, points[chosen]).ravel()
    while len(chosen) < n_clusters:
        chance = weights * nearest
        if not chance.sum() > 0:  # every point is a center already
            chance = weights
        chosen.append(rng.choice(len(points), p=chance / chance.sum()))
        nearest = np.minimum(nearest, _distances(points, points[chosen[-1:]]).ravel())
    return points[chosen].copy()


def _alternate(points, weights, centers):
    cost = np.inf
    for _ in range(_MAX_ROUNDS):
        distances = _distances(points, centers)
        labels = distances.argmin(axis=1)
        new_cost = float(weights @ distances.min(axis=1))
        if new_cost >= cost:
            break
        cost, best = new_cost, centers
        centers = centers.copy()
        for k in np.unique(labels):
            here = labels == k
            for axis in range(points.shape[1]):
                centers[k, axis] = _weighted_median(points[here, axis], weights[here])
    return best, cost


def _weighted_median(values, weights):
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return values[order][np.searchsorted(total, total[-1] / 2.0)]


def _distances(points, centers):
    return np.abs(points[:, None] - centers).sum(axis=2)
