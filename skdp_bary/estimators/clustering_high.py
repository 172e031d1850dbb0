"""Clustering in more than three dimensions: a subspace, a grid in it, private rounds."""

import math
from dataclasses import dataclass, replace

import numpy as np

from ..geometry.linear_maps import haar_frame
from ..privacy.noise import public_generator
from ..queries.clusters import ClippedMeans, ClusterMoments, TotalSpread, digits_of
from ..queries.frames import Axes, Frame, FrameDistances, Gram, Histogram
from ..queries.sizes import symmetric, tail_bin
from .clustering import (
    TUNED,
    KMeansMethod,
    PrivateClusters,
    WeightedPoints,
    about_clusters,
    cluster_plan,
    count_sd,
    is_gaussian,
    rescaled,
    standing_out,
)
from .noisy_means import (
    MEANS,
    nearest,
    noise_left,
    read_means,
    shrink_rows,
    shrink_together,
    unlengthened,
)

# Clustering in more than three dimensions: a released subspace, a grid in it, private rounds.

_DOUBT = 3.0  # standard deviations of a mass: less divides sums by nearly nothing now and then
_HALVES = 0.8  # place of the mean of half a normal law, in standard deviations
_REACH_EDGES = 14  # distances that are told apart, two in an octave: how wide bounds may be


class HighMethod(KMeansMethod):
    """Noisy moments, principal axes, a histogram in the leading ones, then noisy Lloyd rounds.

    1. *moments*: mass, sum and spread of the rows about the center of the domain.
    2. *axes*: second moments about the released mean. Laplace noise is too much for them: with
       ``delta=0`` the axes are those of a public random rotation and this step is left out.
    3. *cells*: a histogram on a product grid of the leading axes.
    4. *fill*: a clipped mean of the rows about every cell that stands out. Weighted k-means on
       these means gives centers.
    5. *low_1, ...*: rounds of Lloyd's algorithm in the leading axes.
    6. *residual*: total squared distance from the centers, with all features.
    7. *ambient_1, ...*: rounds with all features, shrunk by their noise.
    """

    def shares(self, estimator, n_features):
        """Return the steps of the plan."""
        return self.plan(estimator, n_features).shares

    def settled_shares(self, estimator, facts):
        """Return the steps of the plan for the size, where that was not given."""
        settled = self.plan(estimator, facts.n_features, facts.size)
        announced = self.plan(estimator, facts.n_features)
        return None if settled == announced else settled.shares

    def plan(self, estimator, n_features, size=None):
        """Return the ClusterPlan, for the size where that is known."""
        return cluster_plan(estimator, n_features, size)

    def questions(self, estimator, facts):
        """Ask step by step, for points relative to the released mean."""
        plan = self.plan(estimator, facts.n_features, facts.size)
        blocks = TUNED.gaussian if is_gaussian(facts) else TUNED.laplace
        rows = yield from row_moments(facts, plan)
        frame, cells = yield from self.cells(estimator, facts, plan, rows)
        axes, wide = frame.axes, frame.without_axes()
        filled = yield from fill(estimator, facts, plan, frame, cells)
        found = filled.best_centers(estimator.n_clusters, estimator.n_init, estimator.random_state)
        # before the first round: one pooled spread, and no noise but that of the points
        label, squares = nearest(filled.points, found)
        masses = np.bincount(label, weights=filled.masses, minlength=len(found))
        pooled = float(filled.masses @ squares) / max(float(filled.masses.sum()), 1e-300)
        spread = np.full(len(found), max(pooled + filled.within, 1e-12))
        state = start = LloydState(found, masses, spread, *np.zeros((2, len(found))))
        for i in range(plan.low_rounds):
            factor = TUNED.later_radius if i else TUNED.first_radius
            radii = factor * np.sqrt(state.spread + state.error)
            shares = (blocks.mass, 1.0, blocks.spread)
            query = about_clusters(ClusterMoments, facts, frame, state.centers, radii, shares)
            means = read_means((yield f"low_{i + 1}", query))
            steps = means.of_known(shrink_rows(means.steps, means.noise))
            spread, spread_sd = _spreads(means, steps, query.used_radii)
            error = np.minimum(steps.shape[1] * means.noise, spread)
            state = LloydState(means.asked + steps, means.read.mass, spread, error, means.noise)
            if i + 1 < plan.low_rounds:
                state = swap_clusters(state, spread_sd, filled, axes.variances)

        state = replace(state, centers=state.centers @ axes.kept)
        if plan.ambient_rounds:
            state = yield from with_residual(facts, wide, rows, state)
        for i in range(plan.ambient_rounds):
            radii = blocks.ambient_radius * np.sqrt(state.spread)
            shares = (blocks.mass, 1.0)
            query = about_clusters(ClippedMeans, facts, wide, state.centers, radii, shares)
            basis = axes.vectors if is_gaussian(facts) else None
            released = yield f"ambient_{i + 1}", query
            state = ambient_round(released, state.spread, basis, float(plan.recipe[0] < 0.5))

        beside = start.spread.mean() + max(rows.rms**2 - axes.variances.sum(), 0.0)
        places = filled.points @ axes.kept + rows.center
        centers, masses = state.centers + rows.center, rescaled(state.masses, rows.count)
        found = facts.domain.clip(centers), masses, np.sqrt(state.noise)
        rounds, coarse = plan.low_rounds + plan.ambient_rounds, replace(filled, points=places)
        return PrivateClusters(*found, rounds, replace(coarse, within=beside))

    def cells(self, estimator, facts, plan, rows):
        """Ask for cells on the leading axes; return their frame, and those that stand out."""
        if is_gaussian(facts):
            axes = yield from principal_axes(estimator, facts, rows)
        else:
            # random axes, with the variance that a round cloud of rows has along each
            d = facts.n_features
            rng = public_generator(estimator.random_state)
            axes = Axes(haar_frame(d, d, rng).T, np.full(min(d, TUNED.pure_axes), rows.rms**2 / d))
        bits = allocate_bits(axes.variances, plan.bits)
        frame = rows.frame.along(axes)
        halfwidths = 2.0 * np.sqrt(axes.variances[: len(bits)])
        grid = Histogram(frame, halfwidths, bits, facts.units)
        released = yield "cells", grid
        counts, sd = released.values[0] / facts.units, released.noise_sd[0] / facts.units
        kept = standing_out(estimator.n_clusters, counts, sd, plan.kept)
        variances = axes.variances.copy()
        places, halved = grid.cell_centers(kept), np.array(bits) == 1
        roots = np.sqrt(variances[: len(bits)])
        places[:, halved] = np.sign(places[:, halved]) * _HALVES * roots[halved]
        points = np.zeros((len(kept), frame.width))
        points[:, : len(bits)] = places
        variances[: len(bits)] *= 4.0 ** -np.array(bits, dtype=float)  # those inside a cell
        within = float(variances.sum())
        return frame, WeightedPoints(points, np.maximum(counts[kept], 0.0), sd, within)


@dataclass(frozen=True, eq=False)
class RowMoments:
    """Release of the first step about all rows.

    Attributes
    ----------
    count : float
        Noisy number of rows.
    center : ndarray of shape (n_features,)
        Noisy mean, shrunk to the center of the domain.
    rms : float
        Root mean square distance from it.
    doubt : float
        Standard deviation of the noise of ``rms**2``.
    frame : Frame
        About the mean, in which all later questions are asked.
    """

    count: float
    center: np.ndarray
    rms: float
    doubt: float
    frame: Frame


def row_moments(facts, plan):
    """Ask for mass, sum and spread of the rows, and return RowMoments.

    Where bounds are wide, sums of rows that are clipped to nothing else have far too much noise. So
    a part of what the plan gives pays for a first mean, and distances from it tell how far the rows
    reach; the rest pays for sums of rows clipped there. Both means count by their precision.
    """
    domain, bits = facts.domain, digits_of(facts.units).rows
    frame = Frame(domain, domain.center, bits, kept=True)
    origin, reach, first = np.zeros(facts.n_features), domain.radius, None
    if plan.reach:
        shares = plan.parts[:2]
        first = yield from mean_about(frame, facts, "place", ClippedMeans, origin, reach, shares)
        place = shortened(domain, first.mean, first.noise)
        nearer = yield from rows_reach(frame, facts, place)
        if nearer < reach:
            origin, reach = place, nearer
    last = yield from mean_about(frame, facts, "moments", ClusterMoments, origin, reach, plan.parts)
    mean, noise = last.mean, last.noise
    if first is not None:  # both, by their precision
        weight = first.noise / (first.noise + noise)
        mean, noise = first.mean + weight * (mean - first.mean), weight * noise
    mean = shortened(domain, mean, noise)
    read, shift = last.read, mean - last.origin
    spread = float(read.spread[0]) / last.weight - float(shift @ shift)
    doubt = float(read.spread_sd[0]) / last.weight
    if doubt > reach**2:  # nothing is known, and small radii have little noise
        spread = 0.0
    rms = math.sqrt(float(np.clip(spread, 0.01 * reach**2, reach**2)))
    frame = frame.moved(domain.center + mean)
    return RowMoments(last.count, frame.center, rms, doubt, frame)


@dataclass(frozen=True, eq=False)
class MeanOfRows:
    """A noisy mean of all rows.

    Attributes
    ----------
    mean, origin : ndarray of shape (n_features,)
        The mean, and the point that rows were clipped about, relative to the domain's center.
    noise : float
        Variance of the noise of a coordinate.
    count, weight : float
        Number of rows, and their released mass or what noise can hide of it.
    read : Readout
        All that was released.
    """

    mean: np.ndarray
    origin: np.ndarray
    noise: float
    count: float
    weight: float
    read: object


def mean_about(frame, facts, name, query_class, origin, reach, shares):
    """Ask about rows clipped to a reach about an origin, in a frame about the domain's center.

    The sum is divided by the size, as far as it is within three standard deviations of the released
    mass: a hint that is wrong costs no more than that noise. A size that is a noisy count is
    averaged with that mass before, by the precision of both releases.
    Returns the MeanOfRows.
    """
    query = about_clusters(query_class, facts, frame, origin[None], np.array([reach]), shares)
    found = read_means((yield name, query))
    mass, mass_sd, origin = float(found.read.mass[0]), found.read.mass_sd, found.asked[0]
    size, doubt = facts.size, _DOUBT * mass_sd
    if "count" in facts.mechanisms:
        variance = count_sd(facts, "count") ** 2
        size += variance / (variance + mass_sd**2) * (mass - size)
    count = max(float(np.clip(size, mass - doubt, mass + doubt)), 1.0)
    noise = float(found.read.sums_sd[0] / count) ** 2
    mean, weight = origin + found.read.sums[0] / count, max(float(found.weight[0]), 1.0)
    return MeanOfRows(mean, origin, noise, count, weight, found.read)


def rows_reach(frame, facts, place):
    """Ask for distances from a place in a frame, and return one that few rows are beyond."""
    largest = facts.domain.radius_about(frame.center + place)
    edges = tuple(largest * 2.0 ** (-b / 2) for b in reversed(range(_REACH_EDGES)))
    farthest = tail_bin((yield "reach", FrameDistances(frame, place, edges, facts.units)))
    return largest if farthest is None else edges[farthest]


def shortened(domain, mean, noise):
    """Return a noisy mean, relative to the domain's center, moved into the domain.

    In four features and more it is drawn to the center before, by how much of its square is not
    noise (James and Stein), or would not be of the mean of rows that are uniform in the domain.
    """
    if len(mean) >= 4:
        mean = shrink_together(mean, noise, domain.radius)
    return domain.clip((domain.center + mean)[None])[0] - domain.center


def principal_axes(estimator, facts, rows):
    """Ask for second moments about the mean, of rows clipped to their root mean square distance.

    Returns their eigenvectors, and the variances without the noise.
    """
    gram = Gram(rows.frame, min(facts.domain.radius, rows.rms), facts.units)
    released = yield "axes", gram
    values, vectors = np.linalg.eigh(symmetric(*released.values) * gram.unit)
    values, vectors = values[::-1], vectors[:, ::-1].T
    d = len(values)
    edge = released.noise_sd[0] * gram.unit * math.sqrt(2.0 * d)
    most = min(d, 2 * estimator.n_clusters)
    kept = int(np.clip((values > TUNED.detected * edge).sum(), 2, most))
    variances = unlengthened(values[:kept], edge) / rows.count
    trace = max(float(values.sum()), 1e-300)
    variances *= float(np.clip(rows.count * rows.rms**2 / trace, 1.0, 4.0))
    return Axes(vectors, np.maximum(variances, 1e-9 * rows.rms**2))


def fill(estimator, facts, plan, frame, cells):
    """Ask for clipped means about cells, and return the points that they move to."""
    points, widest, most = cells.points, 0.0, plan.groups * estimator.n_clusters
    if len(points) > most:
        points = cells.best_centers(most, 1, estimator.random_state)
        widest = float(nearest(cells.points, points)[1].max())
    radius = TUNED.first_radius * math.sqrt(cells.within + widest)
    radius = min(math.sqrt(frame.axes.variances.sum()), radius)
    radii = np.full(len(points), radius)
    mass = (TUNED.gaussian if is_gaussian(facts) else TUNED.laplace).mass
    query = about_clusters(ClippedMeans, facts, frame, points, radii, (mass, 1.0))
    means = read_means((yield "fill", query))
    masses = np.maximum(means.read.mass, 0.0)
    return WeightedPoints(means.asked + means.shrunk(), masses, means.read.mass_sd, cells.within)


def with_residual(facts, frame, rows, state):
    """Ask for the total squared distance from centers, and return the state with all features."""
    square, masses = rows.rms**2, np.maximum(state.masses, 0.0)
    # a cautious guess: what the spread about the mean leaves next to that of the centers
    explained = float(masses @ (state.centers**2).sum(axis=1)) / max(float(masses.sum()), 1.0)
    left = np.clip(square - explained + 2.0 * rows.doubt, TUNED.least_left * square, square)
    reach = min(facts.domain.radius, TUNED.first_radius * math.sqrt(left))
    radii = np.full(len(state.centers), reach)
    query = about_clusters(TotalSpread, facts, frame, state.centers, radii, (1.0,))
    total = query.read((yield "residual", query)) / max(masses.sum(), 1.0)
    floor = TUNED.least_left * total if total > 0 else 1e-12
    pooled = float(masses @ state.spread) / max(masses.sum(), 1.0)
    rest = max(total - pooled, floor, 1e-12 * facts.domain.radius**2)
    return replace(state, spread=state.spread + rest)


def allocate_bits(variances, total):
    """Give `total` bits one by one to the axis of the largest variance a cell, at most 5 an axis.

    Returns the bits of the axes up to the last one that has any.
    """
    bits = np.zeros(len(variances), dtype=int)
    for _ in range(min(total, TUNED.most_bits * len(variances))):
        left = np.where(bits < TUNED.most_bits, variances * 4.0**-bits, -1.0)
        bits[int(left.argmax())] += 1
    last = int(np.flatnonzero(bits)[-1]) + 1
    return tuple(int(b) for b in bits[:last])


# What a noisy round of Lloyd's algorithm says, and what is asked next.


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
    spread = np.maximum(weight * own + (1.0 - weight) * pooled, TUNED.least_left * pooled)
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
    after = np.maximum(spread - moved, TUNED.least_left * spread)
    centers = means.asked + steps
    # the largest of many masses that are noise alone is above two standard deviations as a rule
    limit = MEANS.sure + math.sqrt(2.0 * math.log(len(known)))
    stand_out = known if unknown > 0 else means.read.mass > limit * means.read.mass_sd
    if stand_out.any():
        centers *= _kept_way(means, steps, basis)
    else:
        centers *= unknown
        centers[(centers**2).sum(axis=1).argmin()] = 0.0
    return LloydState(centers, means.read.mass, after, 0.0 * means.noise, means.noise)


def _kept_way(means, steps, basis):
    """Share of their way from the mean of all rows, the origin, that centers should keep.

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
