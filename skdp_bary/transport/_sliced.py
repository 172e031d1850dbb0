"""Sliced transport: quantiles of projections, and particles that have them.

A distribution is given by its block means on k directions: ``quantiles[j, b]`` is the mean of the
b-th of m blocks of equal mass of the projections on direction j, in increasing order.
"""

import math

import numpy as np
from scipy import sparse
from sklearn.isotonic import isotonic_regression

_SETTLED = 1e-4  # of the spread of the quantiles: after a smaller step there is none


def monotone_rows(values):
    """Return the nearest array with non-decreasing rows (isotonic regression)."""
    return np.stack([isotonic_regression(row) for row in np.asarray(values, dtype=np.float64)])


def block_matrix(n_points, n_blocks):
    """Return the matrix that takes sorted points of equal mass to the means of equal blocks.

    A point on the border of two blocks counts in both by its share, so the means are exact for any
    two numbers.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_blocks, n_points)
        Lines sum to one.
    """
    # in units of 1 / (n_points * n_blocks) all borders are integers
    borders = np.union1d(
        np.arange(n_points + 1, dtype=np.int64) * n_blocks,
        np.arange(n_blocks + 1, dtype=np.int64) * n_points,
    )
    shares = np.diff(borders) / n_points
    starts = borders[:-1]
    return sparse.csr_array(
        (shares, (starts // n_points, starts // n_blocks)), shape=(n_blocks, n_points)
    )


def sliced_gradient(points, directions, quantiles):
    """Return the squared distance of points to given quantiles, and its gradient.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        Points of equal mass.
    directions : ndarray of shape (n_features, n_directions)
    quantiles : ndarray of shape (n_directions, n_blocks)

    Returns
    -------
    cost : float
        Mean over directions and blocks of the squared difference.
    gradient : ndarray of shape (n_points, n_features)
    """
    matrix = block_matrix(len(points), quantiles.shape[1])
    residuals, gradient = _residuals(points, directions, quantiles, matrix)
    scale = 2.0 / residuals.size
    return float(np.mean(residuals**2)), scale * (gradient.T @ directions.T)


def fit_particles(directions, quantiles, n_points, rng, *, max_iter=200):
    """Return points of equal mass whose block means come close to given ones.

    Starts at a Gaussian cloud of their mean and scale and moves every point along the
    least-squares solution of the displacements that its slices ask for. For a tight frame, a shift
    of all quantiles is followed in one step.

    Parameters
    ----------
    directions : ndarray of shape (n_features, n_directions)
    quantiles : ndarray of shape (n_directions, n_blocks)
        Non-decreasing rows.
    n_points : int
    rng : numpy.random.Generator or numpy.random.RandomState
    max_iter : int, default=200

    Returns
    -------
    ndarray of shape (n_points, n_features)
    """
    d, k = directions.shape
    inverse = np.linalg.pinv(directions)
    middle = quantiles.mean(axis=1)
    scale = math.sqrt(np.mean((quantiles - middle[:, None]) ** 2))
    points = middle @ inverse + scale * rng.standard_normal((n_points, d))
    matrix = block_matrix(n_points, quantiles.shape[1])
    share = n_points / quantiles.shape[1]
    # with fewer directions than features the pseudo-inverse spans them alone, as it should
    for _ in range(max_iter):
        _, gradient = _residuals(points, directions, quantiles, matrix)
        move = -share * (gradient.T @ inverse)
        points += move
        if math.sqrt(np.mean(move**2)) <= _SETTLED * scale:
            break
    return points


def _residuals(points, directions, quantiles, matrix):
    """Return block means minus `quantiles`, and what each point takes of them on each slice."""
    projections = np.ascontiguousarray((points @ directions).T)
    order = np.argsort(projections, axis=1)
    residuals = (matrix @ np.take_along_axis(projections, order, axis=1).T).T - quantiles
    gradient = np.empty_like(projections)
    np.put_along_axis(gradient, order, (matrix.T @ residuals.T).T, axis=1)
    return residuals, gradient
