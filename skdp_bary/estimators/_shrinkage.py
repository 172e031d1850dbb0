"""Shrinkage of released means towards their predecessors, by how much of them is noise."""

import numpy as np

_FIRST_BLOCK = 4  # axes that share one prior variance: blocks that grow by half
_LARGEST_BLOCK = 128
_MOMENT_ROUNDS = 20


def shrink_steps(steps, noise, mass, basis=None, reach=np.inf):
    """Return the posterior means of steps under one normal prior a block of axes.

    The prior variance of a block is estimated over all clusters, weighted by their precision.

    Parameters
    ----------
    steps : ndarray of shape (n_clusters, n_features)
        Noisy means.
    noise : ndarray of shape (n_clusters,)
        Variance of the noise of each coordinate.
    mass : ndarray of shape (n_clusters,)
        Clusters without mass tell nothing about the prior.
    basis : ndarray of shape (n_features, n_features) or None
        Orthonormal directions in the order of how much is expected along them; None: one block.
    reach : float, default=np.inf
        Length that no true step exceeds; a larger prior could only come from noise.
    """
    moved = steps if basis is None else steps @ basis.T
    width = moved.shape[1]
    shrunk = np.empty_like(moved)
    start, size = 0, width if basis is None else _FIRST_BLOCK
    while start < width:
        block = slice(start, start + size)
        prior = _prior_variance((moved[:, block] ** 2).mean(axis=1), noise, mass > 0)
        prior = min(prior, reach**2 / moved[:, block].shape[1])
        shrunk[:, block] = moved[:, block] * (prior / (prior + noise + 1e-300))[:, None]
        start, size = start + size, min(size + size // 2, _LARGEST_BLOCK)
    return shrunk if basis is None else shrunk @ basis


def shrink_rows(steps, noise):
    """Shrink every row by the positive part of James and Stein's factor."""
    width = steps.shape[1]
    if width < 3:
        return steps
    squares = (steps**2).sum(axis=1)
    factor = 1.0 - (width - 2) * noise / np.maximum(squares, 1e-300)
    return steps * np.maximum(factor, 0.0)[:, None]


def _prior_variance(squares, noise, known):
    """Return the variance t for which ``E[square] = t + noise``, by a weighted moment equation."""
    if not known.any():
        return 0.0
    squares, noise = squares[known], noise[known]
    least = 1e-9 * float(squares.mean() + noise.mean()) + 1e-100
    estimate = 0.0
    for _ in range(_MOMENT_ROUNDS):
        weights = 1.0 / (estimate + noise + least) ** 2
        weights /= weights.sum()
        estimate = max(float(weights @ (squares - noise)), 0.0)
    return estimate
