"""What a noisy round of Lloyd's algorithm says, and what is asked next."""

import math
from dataclasses import dataclass, replace

import numpy as np

from .._denoise.shrinkage import noise_left, read_means, shrink_rows
from .._denoise.tuning import MEANS
from .._denoise.weighted_kmeans import nearest
from .tuning import TUNED


@dataclass(frozen=True, eq=False)
class LloydState:
    """Centers after a round, and what the next radii follow from.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, width)
    masses : ndarray of shape (n_clusters,)
    spread : ndarray of shape (n_clusters,)
        Estimated mean squared distance of a cluster's rows from its center.
    error : ndarray of shape (n_clusters,)
        Estimated squared distance of a center from the mean of its rows.
    noise : ndarray of shape (n_clusters,)
        Variance of the noise of a center's coordinate, before shrinkage.
    """

    centers: np.ndarray
    masses: np.ndarray
    spread: np.ndarray
    error: np.ndarray
    noise: np.ndarray


def first_state(coarse, centers):
    """Return the state before the first round: one pooled spread, no noise but that of points."""
    label, squares = nearest(coarse.points, centers)
    masses = np.bincount(label, weights=coarse.masses, minlength=len(centers))
    pooled = float(coarse.masses @ squares) / max(float(coarse.masses.sum()), 1e-300)
    spread = np.full(len(centers), max(pooled + coarse.within, 1e-12))
    noise = np.full(len(centers), 0.0)
    return LloydState(centers, masses, spread, noise, noise)


def low_round(released):
    """Return the state after a round of cluster moments, and the noise of its spreads."""
    means = read_means(released)
    steps = means.of_known(shrink_rows(means.steps, means.noise))
    spread, spread_sd = _spreads(means, steps, released.query.used_radii)
    error = np.minimum(steps.shape[1] * means.noise, spread)
    state = LloydState(means.asked + steps, means.read.mass, spread, error, means.noise)
    return state, spread_sd


def _spreads(means, steps, radii):
    """Return estimated mean squared distances and their standard deviations."""
    read, known = means.read, means.known
    relative = read.spread / means.weight
    own = relative - (steps**2).sum(axis=1)
    own_sd = read.spread_sd / means.weight
    pooled = float((read.spread - read.mass * (steps**2).sum(axis=1))[known].sum())
    pooled /= max(float(read.mass[known].sum()), 1.0)
    pooled = pooled if pooled > 0 else float((radii**2).mean()) / 4.0
    prior = (TUNED.spread_prior * pooled) ** 2
    weight = np.where(known, prior / (prior + own_sd**2), 0.0)
    spread = np.maximum(weight * own + (1.0 - weight) * pooled, TUNED.least_spread * pooled)
    tight = known & (relative > TUNED.tight * radii**2)
    spread[tight] = 2.0 * radii[tight] ** 2
    return spread, np.sqrt(weight) * np.minimum(own_sd, TUNED.spread_prior * pooled)


def swap_clusters(state, spread_sd, filled, variances):
    """Split clusters that look like two and merge pairs that look like one, while that pays.

    The cluster that gains most is split and the cheapest pair merged.

    Parameters
    ----------
    state : LloydState
    spread_sd : ndarray of shape (n_clusters,)
        Noise of the spreads.
    filled : WeightedPoints
        Two of them become the centers of the halves.
    variances : ndarray of shape (width,)
        Of the axes.
    """
    centers, masses = state.centers.copy(), np.maximum(state.masses, 0.0)
    spread = state.spread.copy()
    effective = variances.sum() / variances.max()
    safe = np.maximum(spread - 2.0 * spread_sd, 0.0)
    excess = np.maximum(safe - 2.0 * np.median(safe), 0.0)
    gains = masses * (TUNED.split_gain * safe / effective + TUNED.excess_gain * excess)
    loss = np.stack([_merge_losses(centers, masses, i) for i in range(len(centers))])
    apart = np.stack([_squares(filled.points, center) for center in centers], axis=1)
    for _ in range(max(len(centers) // 3, 1) if len(centers) > 2 else 0):
        split = int(gains.argmax())
        loss[split] = loss[:, split] = np.inf
        a, b = np.unravel_index(int(loss.argmin()), loss.shape)
        if not gains[split] > TUNED.swap_gain * loss[a, b]:
            break
        total = max(masses[a] + masses[b], 1e-300)
        centers[a] = (masses[a] * centers[a] + masses[b] * centers[b]) / total
        masses[a] = total
        apart[:, a] = _squares(filled.points, centers[a])
        own = filled.points[(apart.argmin(axis=1) == split) & (filled.masses > 0)]
        centers[[split, b]] = _halves(centers[split], own, spread[split], variances)
        masses[split] = masses[b] = masses[split] / 2.0
        spread[b] = spread[split]
        gains[[a, b, split]] = 0.0
        apart[:, split], apart[:, b] = (_squares(filled.points, centers[i]) for i in (split, b))
        for i in (a, b, split):
            loss[i] = loss[:, i] = _merge_losses(centers, masses, i)
    return replace(state, centers=centers, masses=masses, spread=spread)


def _squares(points, center):
    return ((points - center) ** 2).sum(axis=1)


def _merge_losses(centers, masses, i):
    """Ward's loss of merging one cluster with each; infinite with itself."""
    loss = masses[i] * masses / np.maximum(masses[i] + masses, 1e-300)
    loss *= _squares(centers, centers[i])
    loss[i] = np.inf
    return loss


def _halves(center, points, spread, variances):
    """Return two centers for a cluster: its two most distant points, else along the axes."""
    if len(points) > 1:
        apart = np.stack([_squares(points, point) for point in points])
        return points[list(np.unravel_index(int(apart.argmax()), apart.shape))]
    axis = np.zeros(len(variances))
    axis[int(variances.argmax())] = np.sqrt(spread * variances.max() / variances.sum())
    return center + axis, center - axis


def ambient_round(released, spread, basis, unknown):
    """Return the state after a round of clipped means with all features.

    Parameters
    ----------
    released : Release
        Of a ClippedMeans.
    spread : ndarray of shape (n_clusters,)
        Spreads before the round; what the steps gain on average is subtracted from all, because
        the part of the spread that they explain was estimated for all clusters together.
    basis : ndarray or None
        Directions in whose blocks steps are shrunk alike.
    unknown : float
        Part of the way from the mean of all rows that centers keep where no mass of a cluster
        stands out of its noise. One of them goes back all the way then: all may be noise, and what
        counts of a row is only its nearest center.
    """
    means = read_means(released)
    steps, mass, known = means.shrunk(basis), means.weight, means.known
    moved = float(mass[known] @ (steps[known] ** 2).sum(axis=1)) / max(float(mass.sum()), 1.0)
    after = np.maximum(spread - moved, TUNED.least_left_ambient * spread)
    centers = means.asked + steps
    if _stands_out(means, unknown):
        centers *= _kept_way(means, steps, basis)
    else:
        centers *= unknown
        centers[(centers**2).sum(axis=1).argmin()] = 0.0
    return LloydState(centers, means.read.mass, after, 0.0 * means.noise, means.noise)


def _stands_out(means, unknown):
    """Whether the mass of a cluster does, of all clusters where centers would go back otherwise.

    The largest of many masses that are noise alone is above two standard deviations as a rule.
    """
    if unknown > 0:
        return means.known.any()
    limit = MEANS.sure + math.sqrt(2.0 * math.log(len(means.known)))
    return (means.read.mass > limit * means.read.mass_sd).any()


def _kept_way(means, steps, basis):
    """Return how much of their way from the mean of all rows, the origin, centers should keep.

    With m the true mean of a cluster of mass N, the cost of centers ``kept * c`` is the sum of
    ``N |kept * c - m|**2`` and what does not depend on them. Stein's identity estimates it without
    m: the noise of the raw mean x enters ``<c, x>`` by its variance times the coordinates of noise
    that c holds. Half a standard deviation is taken off, for the estimate is noisy itself.
    """
    known = means.known
    centers, raw = means.asked + steps, means.asked + means.steps
    mass, noise = means.weight[known], means.noise[known]
    lengths = (centers[known] ** 2).sum(axis=1)
    along = (centers[known] * raw[known]).sum(axis=1)
    along -= noise * noise_left(steps[known], means.steps[known], basis)
    doubt = TUNED.mean_doubt * np.sqrt(float(mass**2 @ (lengths * noise)))
    kept = (float(mass @ along) - doubt) / max(float(mass @ lengths), 1e-300)
    return float(np.clip(kept, 0.0, 1.0))
