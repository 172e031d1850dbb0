"""Noisy means of clusters, and their shrinkage by how much of them is noise."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .tuning import MEANS

_REACH, _POINTS = 8.0, 1025  # standard deviations of a likelihood, and where it is looked at


@dataclass(frozen=True, eq=False)
class NoisyMeans:
    """What a release about clusters says of the means of their rows.

    Parameters
    ----------
    asked : ndarray of shape (n_clusters, width)
        The centers, after rounding, that rows were compared with.
    read : Readout
        Masses, sums and their noise.
    least : float, default=None
        Mass that no cluster is thought to be below; None: what the noise of a mass can hide.
    """

    asked: np.ndarray
    read: object
    least: float | None = None

    @cached_property
    def known(self):
        """Which clusters have a mass that stands out of its noise."""
        return self.read.mass > MEANS.sure * self.read.mass_sd

    @cached_property
    def weight(self):
        """Masses to divide by, none below the least."""
        least = MEANS.sure * self.read.mass_sd if self.least is None else self.least
        return np.maximum(self.read.mass, least)

    @cached_property
    def steps(self):
        """Noisy steps from the centers to the means of their rows."""
        return self.read.sums / self.weight[:, None]

    @cached_property
    def noise(self):
        """Variance of the noise of a coordinate of each step."""
        return (self.read.sums_sd / self.weight) ** 2

    def shrunk(self, basis=None):
        """Return the steps, shrunk; those of clusters without a known mass are zero."""
        return self.of_known(shrink_steps(self.steps, self.noise, self.known, basis))

    def of_known(self, steps):
        """Return steps, zero for clusters without a known mass."""
        return np.where(self.known[:, None], steps, 0.0)


def read_means(released):
    """Return the NoisyMeans of a release of ClippedMeans or ClusterMoments."""
    return NoisyMeans(released.query.used_centers, released.query.read(released))


def drawn_to_zero(moves, noise, prior):
    """Return posterior means under a normal prior about zero; noise and prior are variances."""
    return moves * (prior / (prior + noise + 1e-300))


def mean_within(value, sd, low, high):
    """Return the posterior mean of a noisy number under an even prior between two ends."""
    start, stop = max(low, value - _REACH * sd), min(high, value + _REACH * sd)
    if start >= stop:
        return float(min(max(value, low), high))
    points = np.linspace(start, stop, _POINTS)
    weights = np.exp(-0.5 * ((points - value) / sd) ** 2)
    return float(points @ weights / weights.sum())


def shrink_together(moves, noise, reach=np.inf):
    """Draw rows to zero by the share of their mean square, over all of them, that is not noise.

    Parameters
    ----------
    moves : ndarray of shape (..., n_features)
    noise : float or ndarray that broadcasts against `moves`
        Variance of the noise of a coordinate.
    reach : float, default=np.inf
        Length that no true row exceeds; the widest prior is that of a uniform row in a box with
        this half diagonal.
    """
    prior = max(float((moves**2).mean()) - float(np.mean(noise)), 0.0)
    return drawn_to_zero(moves, noise, min(prior, reach**2 / (3.0 * moves.shape[-1])))


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
    for block in [slice(0, width)] if basis is None else _blocks(width):
        prior = _prior_variance((moved[:, block] ** 2).mean(axis=1), noise, mass > 0)
        prior = min(prior, reach**2 / moved[:, block].shape[1])
        shrunk[:, block] = drawn_to_zero(moved[:, block], noise[:, None], prior)
    return shrunk if basis is None else shrunk @ basis


def noise_left(shrunk, steps, basis=None):
    """Return how many coordinates of noise each shrunk step still holds.

    It is the sum over blocks of axes of their width times the factor that they were shrunk by.
    """
    width, left = steps.shape[1], np.zeros(len(steps))
    if basis is not None:
        shrunk, steps = shrunk @ basis.T, steps @ basis.T
    for block in [slice(0, width)] if basis is None else _blocks(width):
        square = np.maximum((steps[:, block] ** 2).sum(axis=1), 1e-300)
        factor = (shrunk[:, block] * steps[:, block]).sum(axis=1) / square
        left += steps[:, block].shape[1] * factor
    return left


def shrink_matrices(moves, noise):
    """Return the posterior means of symmetric matrices under a normal prior for each block.

    Entries of one block of rows and one of columns share a prior variance, estimated over all
    matrices.

    Parameters
    ----------
    moves : ndarray of shape (n_matrices, n_axes, n_axes)
        Noisy, with the most important axes first.
    noise : ndarray of shape (n_matrices,)
        Variance of the noise of an entry off the diagonal; on the diagonal it is twice that.
    """
    shrunk = np.empty_like(moves)
    blocks = list(_blocks(moves.shape[1]))
    known = np.ones(len(moves), dtype=bool)
    for rows in blocks:
        for columns in blocks:
            part = moves[:, rows, columns]
            wrong = noise * (1.0 + (rows == columns) / part.shape[1])
            prior = _prior_variance((part**2).mean(axis=(1, 2)), wrong, known)
            shrunk[:, rows, columns] = drawn_to_zero(part, wrong[:, None, None], prior)
    return shrunk


def positive_part(matrices):
    """Return symmetric matrices without their negative eigenvalues."""
    values, vectors = np.linalg.eigh(matrices)
    return (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def unlengthened(values, edge):
    """Return eigenvalues as they were before symmetric noise, which alone reaches `edge`.

    An eigenvalue there has half its length left.
    """
    root = np.sqrt(np.maximum(values**2 - edge**2, 0.0))  # at the edge rounding may go below zero
    return (np.maximum(values, 0.0) + root) / 2.0


def _blocks(width):
    """Yield blocks of axes that grow."""
    start, size = 0, MEANS.first_block
    while start < width:
        yield slice(start, min(start + size, width))
        start, size = start + size, min(size + size // 2, MEANS.largest_block)


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
    for _ in range(MEANS.moment_rounds):
        weights = 1.0 / (estimate + noise + least) ** 2
        weights /= weights.sum()
        estimate = max(float(weights @ (squares - noise)), 0.0)
    return estimate
