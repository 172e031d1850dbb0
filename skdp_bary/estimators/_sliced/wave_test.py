"""Tests between released means of waves, with the law that noise and sampling give them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .comparison import SampleComparison

_EIGEN = 1e-12
_CHANCE = 0.3  # of a covariance, in units of one over the number of persons
_TWO_SIDED = 1.96


@dataclass(frozen=True, eq=False)
class WaveMoments:
    """Released or public moments of waves.

    Attributes
    ----------
    persons : float
        Number of persons.
    mean : ndarray of shape (2 * n_waves,)
        Cosines, then sines.
    second : ndarray of shape (2 * n_waves, 2 * n_waves)
        Mean of outer products.
    mass_sd, mean_sd, second_sd : float
        Standard deviation of the noise of the mass over the number of persons, of the entries of
        `mean`, and of the entries of `second` off the diagonal; 0 for public rows.
    """

    persons: float
    mean: np.ndarray
    second: np.ndarray
    mass_sd: float = 0.0
    mean_sd: float = 0.0
    second_sd: float = 0.0

    @cached_property
    def weight(self):
        """What the covariance of this side counts in a pooled one."""
        return 1.0 / (self.second_sd**2 + _CHANCE / self.persons)


def compare_waves(ours, theirs, scales, n_draws, rng):
    """Test whether two moments are of samples of one law.

    Parameters
    ----------
    ours, theirs : WaveMoments
    scales : ndarray of shape (n_waves,)
        Group of each wave: differences of each group are tested, and of all, and the smallest of
        their p-values is compared with its own law.
    n_draws : int
    rng : numpy.random.Generator or numpy.random.RandomState
    """
    gap = ours.mean - theirs.mean
    law = _law_of_gap(ours, theirs, scales)
    values, vectors = np.linalg.eigh(law)
    root = vectors * np.sqrt(np.maximum(values, _EIGEN))
    drawn = rng.standard_normal((n_draws, len(gap))) @ root.T
    parts = [np.tile(scales == group, 2) for group in np.unique(scales)]
    parts = parts if len(parts) == 1 else [np.ones(len(gap), dtype=bool), *parts]
    observed = np.array([(gap[part] ** 2).sum() for part in parts])
    simulated = np.stack([(drawn[:, part] ** 2).sum(axis=1) for part in parts], axis=1)
    pvalue = _smallest(observed, simulated)
    square = float((gap**2).sum() - np.trace(law))
    std = np.sqrt(max(2.0 * (law**2).sum() + 4.0 * gap @ law @ gap, 0.0))
    low, middle, high = np.sqrt(np.maximum(square + np.array([-1, 0, 1]) * _TWO_SIDED * std, 0.0))
    return SampleComparison(
        statistic=float(np.sqrt((gap**2).sum())),
        pvalue=pvalue,
        distance=float(middle),
        interval=(float(low), float(high)),
        null=np.sqrt((drawn**2).sum(axis=1)),
    )


def contrast(ours, theirs, scales, waves):
    """Return by how much the smoothed densities of two samples differ at some points.

    Parameters
    ----------
    ours, theirs : WaveMoments
    scales : ndarray of shape (n_waves,)
    waves : ndarray of shape (n_points, 2 * n_waves)
        Cosines and sines of the points.

    Returns
    -------
    values, errors : ndarray of shape (n_points,)
        Differences, and their standard deviations where the samples have one law.
    """
    law = _law_of_gap(ours, theirs, scales)
    squares = np.einsum("ij,ij->i", waves @ law, waves)
    return waves @ (ours.mean - theirs.mean), np.sqrt(np.maximum(squares, 0.0))


def _smallest(observed, simulated):
    """Return the p-value of the smallest of several p-values, by the same draws."""
    ordered = np.sort(simulated, axis=0)
    count = len(simulated)
    own, drawn = 1.0, np.ones(count)
    for column, value in enumerate(observed):
        above = count - np.searchsorted(ordered[:, column], value, side="left")
        own = min(own, (1 + above) / (1 + count))
        ranks = count - np.searchsorted(ordered[:, column], simulated[:, column], side="left")
        drawn = np.minimum(drawn, ranks / count)
    return (1 + int((drawn <= own).sum())) / (1 + count)


def _law_of_gap(ours, theirs, scales):
    """Return the covariance of the difference of two means of samples of one law."""
    weights = np.array([ours.weight, theirs.weight])
    weights = weights / weights.sum()
    sides = (ours, theirs)
    mean = sum(w * side.mean for w, side in zip(weights, sides, strict=True))
    second = sum(w * side.second for w, side in zip(weights, sides, strict=True))
    mean_noise = sum((w * side.mean_sd) ** 2 for w, side in zip(weights, sides, strict=True))
    noise = sum((w * side.second_sd) ** 2 for w, side in zip(weights, sides, strict=True))
    covariance = _cleaned(second - np.outer(mean, mean), mean, mean_noise, noise, scales)
    law = covariance * (1.0 / ours.persons + 1.0 / theirs.persons)
    for side in sides:
        law += side.mean_sd**2 * np.eye(len(mean)) + side.mass_sd**2 * np.outer(mean, mean)
    return law


def _cleaned(covariance, mean, mean_noise, noise, scales):
    """Return a covariance with the noise taken out as far as public facts and sizes say.

    Squares of a cosine and its sine add up to a public number, so their variances together follow
    from the means. All else of a block of two scales shrinks until its square is what it would be
    without noise.
    """
    count = len(scales)
    pairs = (1.0 / count - mean[:count] ** 2 - mean[count:] ** 2 + 2.0 * mean_noise) / 2.0
    diagonal = np.diagonal(covariance).copy()
    rest = covariance - np.diag(np.tile((diagonal[:count] + diagonal[count:]) / 2.0, 2))
    noises = noise * (np.ones_like(rest) + np.eye(len(rest)))
    groups = np.tile(scales, 2)
    for first in np.unique(scales):
        for other in np.unique(scales):
            block = np.ix_(groups == first, groups == other)
            square = float((rest[block] ** 2).sum())
            kept = max(square - float(noises[block].sum()), 0.0)
            rest[block] *= np.sqrt(kept / square) if square else 0.0
    cleaned = rest + np.diag(np.tile(np.maximum(pairs, 0.0), 2))
    values, vectors = np.linalg.eigh(cleaned)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
