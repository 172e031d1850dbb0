"""What a noisy round of Lloyd's algorithm says, and what is asked next."""

from dataclasses import dataclass, replace

import numpy as np

from ._shrinkage import shrink_rows, shrink_steps

_PRIOR_SPREAD = 0.5  # relative standard deviation of the clusters' spreads around the pooled one
_TIGHT = 0.75  # share of the squared radius above which the clip was too tight
_SWAP_GAIN = 1.3  # what a split must gain, relative to the loss of a merge
_LEAST_SPREAD = 0.05  # of the spread before an ambient step


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

    def lifted(self, axes, spread):
        """Return the state with all features, for centers that are combinations of `axes`."""
        return replace(self, centers=self.centers @ axes, spread=spread)


def low_round(released, swap):
    """Return the state after a round of cluster moments.

    Parameters
    ----------
    released : Release
        Of a ClusterMoments.
    swap : tuple or None
        Points with their masses, and the variances of the axes: with them, clusters that look like
        two are split and pairs that look like one are merged.
    """
    query = released.query
    read = query.read(released)
    mass = np.maximum(read.mass, 2.0 * read.mass_sd)
    known = read.mass > 2.0 * read.mass_sd
    noise = (read.sums_sd / mass) ** 2
    steps = shrink_rows(read.sums / mass[:, None], noise)
    steps[~known] = 0.0
    spread, spread_sd = _spreads(read, mass, known, steps, query.used_radii)
    error = np.minimum(steps.shape[1] * noise, spread)
    state = LloydState(query.used_centers + steps, read.mass, spread, error, noise)
    return state if swap is None else swap_clusters(state, spread_sd, *swap)


def _spreads(read, mass, known, steps, radii):
    """Return estimated mean squared distances and their standard deviations."""
    relative = read.spread / mass
    own = relative - (steps**2).sum(axis=1)
    own_sd = read.spread_sd / mass
    pooled = float((read.spread - read.mass * (steps**2).sum(axis=1))[known].sum())
    pooled /= max(float(read.mass[known].sum()), 1.0)
    pooled = pooled if pooled > 0 else float((radii**2).mean()) / 4.0
    prior = (_PRIOR_SPREAD * pooled) ** 2
    weight = np.where(known, prior / (prior + own_sd**2), 0.0)
    spread = np.maximum(weight * own + (1.0 - weight) * pooled, 0.02 * pooled)
    tight = known & (relative > _TIGHT * radii**2)
    spread[tight] = 2.0 * radii[tight] ** 2
    return spread, np.sqrt(weight) * np.minimum(own_sd, _PRIOR_SPREAD * pooled)


def swap_clusters(state, spread_sd, filled, variances):
    """Split the cluster that gains most and merge the cheapest pair, while that pays."""
    centers, masses = state.centers.copy(), np.maximum(state.masses, 0.0)
    spread = state.spread.copy()
    effective = variances.sum() / variances.max()
    safe = np.maximum(spread - 2.0 * spread_sd, 0.0)
    excess = np.maximum(safe - 2.0 * np.median(safe), 0.0)
    gains = masses * (0.3 * safe / effective + 0.8 * excess)
    for _ in range(max(len(centers) // 3, 1) if len(centers) > 2 else 0):
        split = int(gains.argmax())
        loss = _merge_losses(centers, masses)
        loss[split, :] = loss[:, split] = np.inf
        a, b = np.unravel_index(int(loss.argmin()), loss.shape)
        if not gains[split] > _SWAP_GAIN * loss[a, b]:
            break
        total = max(masses[a] + masses[b], 1e-300)
        centers[a] = (masses[a] * centers[a] + masses[b] * centers[b]) / total
        masses[a] = total
        halves = _split_points(centers, split, filled, spread[split], variances)
        centers[split], centers[b] = halves
        masses[split] = masses[b] = masses[split] / 2.0
        spread[b] = spread[split]
        gains[[a, b, split]] = 0.0
    return replace(state, centers=centers, masses=masses, spread=spread)


def _merge_losses(centers, masses):
    """Ward's loss of merging each pair; infinite on and below the diagonal."""
    squares = ((centers[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    sums = np.maximum(masses[:, None] + masses[None, :], 1e-300)
    loss = masses[:, None] * masses[None, :] / sums * squares
    loss[np.tril_indices(len(centers))] = np.inf
    return loss


def _split_points(centers, split, filled, spread, variances):
    """Return two centers for a cluster: its two heaviest distant points, else along the axes."""
    points, masses = filled
    squares = ((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2)
    own = points[(squares.argmin(axis=1) == split) & (masses > 0)]
    if len(own) > 1:
        apart = ((own[:, None, :] - own[None, :, :]) ** 2).sum(axis=2)
        i, j = np.unravel_index(int(apart.argmax()), apart.shape)
        return own[i], own[j]
    axis = np.zeros(len(variances))
    axis[int(variances.argmax())] = np.sqrt(spread * variances.max() / variances.sum())
    return centers[split] + axis, centers[split] - axis


def ambient_round(released, spread, basis):
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
    """
    query = released.query
    read = query.read(released)
    mass = np.maximum(read.mass, 2.0 * read.mass_sd)
    known = read.mass > 2.0 * read.mass_sd
    noise = (read.sums_sd / mass) ** 2
    steps = shrink_steps(read.sums / mass[:, None], noise, known, basis)
    steps[~known] = 0.0
    moved = float(mass[known] @ (steps[known] ** 2).sum(axis=1)) / max(float(mass.sum()), 1.0)
    after = np.maximum(spread - moved, _LEAST_SPREAD * spread)
    return LloydState(query.used_centers + steps, read.mass, after, 0.0 * noise, noise)
