"""Weighted k-means on released points: exact on a line, else by starts, at once or one by one."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from .batched_lloyd import best_of_starts, descend
from .clusters_on_line import clusters_on_line

_SEARCH_ROUNDS = 100
_BATCHED = 1 << 16  # distances in a round of all starts: beyond, scikit-learn's searches are faster
_ON_LINE = 1 << 20  # points times clusters of which the best is found on a line: cost against time
_BLOCK = 1 << 12  # points whose scores stay in cache


def weighted_kmeans(points, masses, n_clusters, n_init, rng):
    """Return the centers of least weighted cost over several starts; of all centers on a line.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    masses : ndarray of shape (n_points,)
        Not negative. Points without mass are left out, unless no point has any.
    n_clusters : int
        With fewer points than clusters, centers are repeated.
    n_init : int
    rng : numpy.random.Generator

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
    """
    heavy = masses > 0
    if heavy.any():
        points, masses = points[heavy], masses[heavy]
    else:
        masses = np.ones(len(points))
    if len(points) <= n_clusters:
        return points[np.resize(np.arange(len(points)), n_clusters)].copy()
    if few_on_line(points, n_clusters):
        return clusters_on_line(points, masses, n_clusters)
    if len(points) * n_clusters * n_init <= _BATCHED:
        return best_of_starts(points, masses, n_clusters, n_init, _SEARCH_ROUNDS, rng)
    search = KMeans(
        n_clusters,
        n_init=n_init,
        max_iter=_SEARCH_ROUNDS,
        random_state=int(rng.integers(2**31)),
    )
    return _fit(search, points, masses)


def few_on_line(points, n_clusters):
    """Whether the best of all centers is found: on a line, for not too many points."""
    return points.shape[1] == 1 and len(points) * n_clusters <= _ON_LINE


def lloyd(points, masses, centers, rounds):
    """Return the centers after rounds of Lloyd's algorithm; as they are without enough points."""
    if len(points) < len(centers):
        return centers
    if len(points) * len(centers) <= _BATCHED:
        return descend(points, masses, centers, rounds)
    return _fit(KMeans(len(centers), init=centers, n_init=1, max_iter=rounds), points, masses)


def nearest(points, centers):
    """Return the index of the nearest center of each point and the squared distance to it."""
    label = np.empty(len(points), dtype=np.int64)
    squares = np.empty(len(points))
    lengths = (centers**2).sum(axis=1)[:, None]
    for start in range(0, len(points), _BLOCK):
        rows = slice(start, start + _BLOCK)
        scores = lengths - 2.0 * (centers @ points[rows].T)
        label[rows] = scores.argmin(axis=0)
        squares[rows] = scores.min(axis=0) + (points[rows] ** 2).sum(axis=1)
    return label, np.maximum(squares, 0.0)


def _fit(search, points, masses):
    with warnings.catch_warnings():
        # points may coincide, and a few rounds are meant not to converge
        warnings.simplefilter("ignore", ConvergenceWarning)
        return search.fit(points, sample_weight=masses).cluster_centers_
