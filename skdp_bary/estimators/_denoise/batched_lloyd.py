"""All starts of a small weighted k-means at once: few calls on arrays instead of many searches."""

import numpy as np

_TOLERANCE = 1e-4  # of the mean variance: as scikit-learn stops


def best_of_starts(points, masses, n_clusters, n_init, rounds, rng):
    """Return the centers of least weighted cost over several starts of greedy k-means++.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    masses : ndarray of shape (n_points,)
        Positive.
    n_clusters : int
    n_init : int
    rounds : int
        Of Lloyd's algorithm at most.
    rng : numpy.random.Generator

    Returns
    -------
    centers : ndarray of shape (n_clusters, n_features)
    """
    middle = points.mean(axis=0)
    shifted = points - middle
    starts = _plusplus(shifted, masses, n_clusters, n_init, rng)
    return _descend(shifted, masses, starts, rounds) + middle


def descend(points, masses, centers, rounds):
    """Return the centers after rounds of Lloyd's algorithm from one start."""
    middle = points.mean(axis=0)
    return _descend(points - middle, masses, (centers - middle)[None], rounds) + middle


def _plusplus(points, masses, n_clusters, n_init, rng):
    """Return starts of shape (n_init, n_clusters, n_features), each new center the best of a few.

    Arthur and Vassilvitskii (2007): a center is drawn by mass times squared distance.
    """
    tried = 2 + int(np.log(n_clusters))
    lengths = (points**2).sum(axis=1)
    every = np.arange(n_init)
    chosen = np.empty((n_init, n_clusters), dtype=np.int64)
    chosen[:, 0] = _drawn(np.tile(masses, (n_init, 1)), 1, rng)[:, 0]
    closest = _squares(points, lengths, chosen[:, :1])[:, 0]
    for i in range(1, n_clusters):
        found = _drawn(masses * closest, tried, rng)
        closer = np.minimum(_squares(points, lengths, found), closest[:, None])
        best = (closer @ masses).argmin(axis=1)
        chosen[:, i], closest = found[every, best], closer[every, best]
    return points[chosen]


def _drawn(weights, size, rng):
    """Return indices of shape (n_init, size), drawn from every row of weights."""
    below = weights.cumsum(axis=1)
    places = rng.random((len(weights), size)) * below[:, -1:]
    found = [
        edges.searchsorted(row, side="right") for edges, row in zip(below, places, strict=True)
    ]
    return np.minimum(found, weights.shape[1] - 1)


def _squares(points, lengths, chosen):
    """Return squared distances from chosen points, shape (n_init, size, n_points)."""
    products = points[chosen.ravel()] @ points.T
    squares = lengths[chosen][:, :, None] - 2.0 * products.reshape(*chosen.shape, -1) + lengths
    return np.maximum(squares, 0.0, out=squares)


def _descend(points, masses, starts, rounds):
    """Return the centers of least cost after rounds from every start."""
    enough = _TOLERANCE * points.var(axis=0).mean()
    weighted = np.column_stack([points * masses[:, None], masses])
    centers, active, labels = starts.copy(), np.arange(len(starts)), None
    for _ in range(rounds):
        found, squares = _nearest(points, centers[active])
        moved = _means(masses, weighted, found, squares, centers[active])
        going = ((moved - centers[active]) ** 2).sum(axis=(1, 2)) > enough
        if labels is not None:
            going &= (found != labels).any(axis=1)
        centers[active] = moved
        active, labels = active[going], found[going]
        if not len(active):
            break
    costs = _nearest(points, centers)[1] @ masses
    return centers[costs.argmin()]


def _nearest(points, centers):
    """Return the nearest center of every point for every start, and squared distances to it."""
    scores = (centers**2).sum(axis=2)[:, :, None] - 2.0 * (centers @ points.T)
    labels = scores.argmin(axis=1)
    squares = np.take_along_axis(scores, labels[:, None], axis=1)[:, 0]
    return labels, np.maximum(squares + (points**2).sum(axis=1), 0.0)


def _means(masses, weighted, labels, squares, centers):
    """Return the weighted means of the clusters; a center without points goes where most costs."""
    n_clusters = centers.shape[1]
    member = labels[:, None, :] == np.arange(n_clusters)[:, None]
    empty = ~member.any(axis=2)
    for start in np.flatnonzero(empty.any(axis=1)):
        lost = np.flatnonzero(empty[start])
        far = np.argsort(-masses * squares[start], kind="stable")[: len(lost)]
        member[start][:, far] = False
        member[start][lost, far] = True
    sums = member.astype(float) @ weighted
    held = sums[:, :, -1:]
    return np.where(held > 0, sums[:, :, :-1] / np.where(held > 0, held, 1.0), centers)
