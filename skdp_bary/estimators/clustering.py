"""The interface of the ways to cluster privately, and how clusters share a budget."""

import math
from dataclasses import dataclass, replace

import numpy as np

from ..privacy.mechanisms import ADD_REMOVE, DiscreteLaplace, gaussian_mu
from ..privacy.noise import public_generator
from .noisy_means import nearest, weighted_kmeans

# The tuned numbers of private k-means, and what each of them trades.


@dataclass(frozen=True)
class BlockShares:
    """Differences between the two kinds of noise, in more than three features.

    Attributes
    ----------
    moments : tuple of float
        Shares of the first step's precision for mass, sum and spread of all rows.
    mass, spread : float
        ... of later steps, where sums get 1.
    ambient_radius : float
        Clipping radius of a cluster, with all features, relative to its spread.
    """

    moments: tuple
    mass: float
    spread: float
    ambient_radius: float


@dataclass(frozen=True)
class KMeansTuning:
    """Chosen by the costs of ``benchmarks/kmeans/quality.py``, without its last two sets.

    None of them changes what is guaranteed: they divide the budget, and say where rows are clipped
    and how long is searched.
    """

    # up to three features: looks
    look_shares: tuple = (0.10, 0.15, 0.25, 0.50)  # the first looks find, the last one measures
    look_scales: tuple = (4.0, 2.0, 2.0, 1.0)  # of noise, that a cell should hold: size or noise
    line_scales: tuple = (4.0, 4.0, 4.0, 1.0)  # ... on a line, where small cells hide tails
    look_depth: tuple = (20, 14, 9)  # halvings of an axis in 1 to 3 features, at most
    first_halvings: tuple = (4, 7, 5)  # ... in the first look: memory and noise
    most_halvings: tuple = (8, 5, 3)  # ... from one look to the next
    most_cells: float = 2.0**14  # of a look, about: detail against time
    cut_sds: float = 2.0  # a cell holds this much of its noise before it is cut
    false_cut: float = 0.5  # empty cells of the grid that are cut: small clusters against far noise
    alive_sds: float = 2.5  # ... before its parts keep what they hold: far cells against small ones
    false_alive: float = 1.0  # ... empty cells of a look whose parts do all the same
    far_sds: tuple = (2.0, 4.5, 4.5)  # of its noise that a far cluster holds in 1 to 3 features
    false_sure: float = 0.05  # empty cells that are thought to be a cluster of one cell
    group_share: float = 0.0125  # of all mass, from which a far group needs not stand out as much:
    group_sds: float = 3.0  # groups of few persons against far noise
    far_reach: float = 6.0  # squared distance that is far, over that of all cells from their mean
    far_share: float = 0.3  # of an equal share of all: lighter clusters are far the nearer
    far_mass: float = 0.1  # of all that may be left out: little signal against far noise

    # more than three features: shares of the steps, rounds in the subspace, bits of the grid
    few_features: tuple = (  # for little and for much signal, persons a cluster times mu of both
        ((0.02, 0.15, 0.20, 0.18, 0.25, 0.20), 1, 10),
        ((0.02, 0.12, 0.12, 0.14, 0.32, 0.28), 3, 12),
        (100.0, 600.0),
    )
    more_features: tuple = (  # the same from `many_features` on
        ((0.02, 0.14, 0.12, 0.12, 0.15, 0.45), 1, 10),
        ((0.02, 0.15, 0.03, 0.12, 0.36, 0.32), 5, 12),
        (40.0, 100.0),
    )
    many_features: int = 30  # the axes cost more, and tell more
    middle: float = 0.5  # the mixture that is announced where the signal is not known yet
    pure: tuple = ((0.04, 0.0, 0.10, 0.13, 0.29, 0.44), 2, 12)  # Laplace noise: no axes
    detail: tuple = (600.0, 2500.0)  # persons a cluster times mu: where the grid gets finer
    pure_detail: tuple = (240.0, 1000.0)  # ... persons a cluster times epsilon / (2 sqrt(2 d))
    many_rows: tuple = (30_000.0, 200_000.0)  # between which less and less of that: time
    place_share: float = 0.25  # of what moments get, for a first mean: wide bounds against few rows
    reach_share: float = 0.04  # of the budget, at most: wide bounds against bounds that fit
    most_reach: float = 0.12  # ... where the place they are taken from is known well enough
    place_error: float = 0.3  # ... its squared error over the squared radius of the domain
    least_reach: float = 0.01  # ... at least, where distances are asked for
    ample_reach: float = 3.0  # times the share that suffices, where that is little
    sure_reach: float = 10.0  # rows over the noise of a distance's count, from which it is asked
    detailed_bits: float = 3.0  # of the finest grid: detail against time
    detailed_rounds: float = 3.0  # in the subspace: fit against noise
    detailed_kept: float = 4.0  # times as many cells
    detailed_filled: float = 8.0  # ... groups of them
    ambient_rounds: int = 2  # with all features: better radii against noisier rounds
    residual_share: float = 0.03  # of what these get: radii against means
    wide_features: int = 100  # from which the mean gets at least `wide_mean` of a pure budget
    wide_mean: float = 0.2  # a good origin against good centers
    most_mean: float = 0.98  # ... at most, where noise would drown the mean
    mean_error: float = 0.025  # wanted of the mean, relative to the squared radius of the domain
    gaussian_mean: float = 1.25 / 0.015  # ... Gaussian: share times (n mu)**2 over the features
    costly_mean: float = 0.1  # share from which the mean's sum gets most of it
    costly_parts: tuple = (0.22, 1.0, 0.2)
    mostly_mean: float = 0.5  # share from which a fit is after the mean, first of all
    mostly_mass: tuple = (16.0, 1024.0)  # the less its mass gets, of a noisy size and of a hint
    mostly_spread: float = 0.01  # ... precision of the spread, where sums get 1
    mostly_parts: tuple = (0.1, 1.0, 0.1)  # ... of all three under Gaussian noise
    mean_doubt: float = 0.5  # standard deviations that a gain over the mean is doubted by
    gaussian: BlockShares = BlockShares((1.0, 1.0, 1.0), 0.3, 0.4, 1.0)
    laplace: BlockShares = BlockShares((0.25, 1.0, 0.25), 0.25, 0.25, 0.9)
    detected: float = 1.05  # times the edge of the noise, from which an axis counts
    pure_axes: int = 16  # of the random rotation: detail against noise
    most_bits: int = 5  # of one axis of the grid: leave some for the others
    kept_sds: float = 3.0  # from which a cell, or many, stand out: small clusters against noise
    kept_factor: int = 8  # cells kept at most, relative to the clusters: detail against time
    filled_factor: int = 2  # ... after grouping: detail against noise
    # clipping radius over a spread that no round has told: clipped rows against noise
    first_radius: float = 2.0
    later_radius: float = 1.4  # ... in later rounds of the subspace
    least_left: float = 0.05  # of a spread that clusters, steps or noise are thought to leave
    spread_prior: float = 0.5  # relative deviation of the clusters' spreads from the pooled one
    tight: float = 0.75  # of the squared radius: a spread above it says the clip was too tight
    swap_gain: float = 1.3  # of a split over the loss of a merge: better fits against noise
    split_gain: float = 0.3  # of a cluster's spread along one axis that a split is thought to gain
    excess_gain: float = 0.8  # ... of its spread beyond twice the median one


TUNED = KMeansTuning()
NOISY = 0.1  # noise level above which centers can be mostly noise
_LEAST_SHARE = 1e-3  # of the budget: less needs noise wider than is drawn


# The interface of the ways to cluster privately, and what they share.


@dataclass(frozen=True, eq=False)
class PrivateClusters:
    """Result that a method computes from its releases.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_features)
    weights : ndarray of shape (n_clusters,)
        Noisy number of people of every cluster, not negative.
    stderr : ndarray of shape (n_clusters,)
        Root mean square error of a center that is due to the noise.
    n_iter : int
        Number of private rounds of Lloyd's algorithm, or of looks; public.
    coarse : WeightedPoints
        A few weighted points that represent the rows, made of an earlier release.
    """

    centers: np.ndarray
    weights: np.ndarray
    stderr: np.ndarray
    n_iter: int
    coarse: object


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """Weighted points that represent the rows.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features)
    masses : ndarray of shape (n_points,)
        Noisy numbers of people, not negative.
    mass_sd : float
        Standard deviation of the noise of one mass.
    within : float
        Estimated mean squared distance of a row from its point.
    """

    points: np.ndarray
    masses: np.ndarray
    mass_sd: float
    within: float

    def only(self, kept):
        """Return some of the points."""
        return replace(self, points=self.points[kept], masses=self.masses[kept])

    def stand_out(self, label, masses):
        """Whether clusters of points hold more than noise, beyond the effect of their number."""
        return np.zeros(len(masses), dtype=bool)  # one kind of points says no more than each does

    def best_centers(self, n_clusters, n_init, random_state):
        """Return the centers of least cost over several starts."""
        rng = public_generator(random_state)
        return weighted_kmeans(self.points, self.masses, n_clusters, n_init, rng)

    def masses_about(self, centers):
        """Return the mass of every cluster, and the variance of a coordinate of its center."""
        label, squares = nearest(self.points, centers) if len(self.points) else ([], [])
        masses = np.bincount(label, weights=self.masses, minlength=len(centers))
        total = np.bincount(label, weights=squares, minlength=len(centers)) / centers.shape[1]
        return masses, self.mass_sd**2 * total / np.maximum(masses, self.mass_sd) ** 2


class KMeansMethod:
    """What is released for a clustering, and how centers are made of it.

    ``shares(estimator, n_features)`` returns the steps, in order, and the share of the budget of
    each. ``questions(estimator, facts)`` asks about the rows, and returns the PrivateClusters. A
    method reads the parameters of a :class:`~skdp_bary.PrivateKMeans`, which are public, and
    earlier releases, never a row.
    """

    def settled_shares(self, estimator, facts):
        """Return other steps and shares at the same total, by the size of the data, or None."""
        return None


def about_clusters(query_class, facts, frame, centers, radii, shares):
    """Return a question about the clusters of centers, for the noise of a fit."""
    pure = not is_gaussian(facts)
    kind = pure, facts.units, facts.mass_public, facts.least
    return query_class(frame, centers, radii, shares, *kind)


def standing_out(n_clusters, counts, sd, most=TUNED.kept_factor):
    """Counts that exceed their noise, the largest first.

    They are at least as many as the clusters, and at most `most` times that.
    """
    wanted = int((counts > TUNED.kept_sds * sd).sum())
    wanted = int(np.clip(wanted, min(n_clusters, len(counts)), most * n_clusters))
    return np.argsort(-counts, kind="stable")[:wanted]


def n_rounds(estimator, wanted):
    """Return the number of private rounds, where "auto" means `wanted`."""
    return wanted if estimator.max_iter == "auto" else estimator.max_iter


def is_gaussian(facts):
    """Whether the steps of a fit add Gaussian noise."""
    return any(m.is_gaussian for m in facts.mechanisms.values())


def count_sd(facts, step):
    """Return the standard deviation of the noise of a count in a step, in people."""
    mechanism = facts.mechanisms[step]
    changed = 1.0 if facts.relation == ADD_REMOVE else 2.0
    if mechanism.is_gaussian:
        return math.sqrt(changed) / mechanism.mu
    return math.sqrt(2.0) * changed / mechanism.epsilon


def rescaled(masses, total):
    """Return masses that add up to a total, for sums of clip factors that count rows in part."""
    # noise may take a mass below zero, and a total too
    masses = np.maximum(masses, 0.0)
    return masses * (max(total, 0.0) / max(float(masses.sum()), 1e-300))


# Shares of the budget for clustering in more than three dimensions, from public facts alone.


@dataclass(frozen=True)
class ClusterPlan:
    """Settings of a fit in many dimensions.

    Attributes
    ----------
    recipe : tuple of float
        Shares of the budget, of mu**2 for Gaussian noise and of epsilon otherwise: of moments,
        axes, cells, fill, rounds in the subspace and rounds with all features.
    low_rounds, ambient_rounds : int
        Rounds of Lloyd's algorithm in the subspace, and with all features.
    bits : int
        The grid has two to this power cells.
    parts : tuple of float
        Shares of the precision of the moments for mass, sum and spread.
    reach : float
        What distances from a first mean get, next to the other shares; 0 where noise would drown
        them, and rows are clipped to the domain alone.
    kept, groups : int
        Cells that are kept, and those after grouping, at most; relative to the clusters.
    """

    recipe: tuple
    low_rounds: int
    ambient_rounds: int
    bits: int
    parts: tuple
    reach: float
    kept: int
    groups: int

    @property
    def shares(self):
        """Shares by the names of the steps, in order."""
        moments, axes, cells, fill, low, ambient = self.recipe
        steps = {"moments": moments}
        if self.reach:
            first = TUNED.place_share * moments
            steps = {"place": first, "reach": self.reach, "moments": moments - first}
        if axes:
            steps["axes"] = axes
        steps |= {"cells": cells, "fill": fill}
        steps |= {f"low_{i + 1}": low / self.low_rounds for i in range(self.low_rounds)}
        if self.ambient_rounds:
            steps["residual"] = max(TUNED.residual_share * ambient, _LEAST_SHARE)
            share = (1.0 - TUNED.residual_share) * ambient / self.ambient_rounds
            steps |= {f"ambient_{i + 1}": share for i in range(self.ambient_rounds)}
        total = sum(steps.values())
        return {name: share / total for name, share in steps.items()}


def make_plan(max_iter, recipe, parts, detail=0.0, reach=TUNED.reach_share):
    """Return a plan by its shares, rounds in the subspace and bits.

    Parameters
    ----------
    max_iter : "auto" or int
        All rounds; the last two of them use all features. "auto" means those of the recipe next to
        these two.
    recipe : tuple
        Shares, rounds and bits.
    parts : tuple of float
        Of the precision of the moments.
    detail : float, default=0.0
        From 0 to 1: how far the grid may be finer, and more of its cells kept.
    reach : float
        What distances from a first mean get.
    """
    shares, low_rounds, bits = recipe
    rounds = round(low_rounds) + TUNED.ambient_rounds if max_iter == "auto" else max_iter
    ambient = min(TUNED.ambient_rounds, rounds)
    bits = round(bits + TUNED.detailed_bits * detail)
    kept = round(TUNED.kept_factor * TUNED.detailed_kept**detail)
    groups = round(TUNED.filled_factor * TUNED.detailed_filled**detail)
    return ClusterPlan(shares, rounds - ambient, ambient, bits, parts, reach, kept, groups)


def cluster_plan(estimator, n_features, size=None):
    """Return the plan of a fit in more than three dimensions.

    A plan follows the signal: people a cluster times what the budget buys. Where there is so
    little of it that no center would be worth its noise, the budget goes to the mean of all rows,
    from which every center starts. Without ``n_hint`` a noisy or public `size` stands in for it;
    before that is known a plan for some signal is announced.
    """
    max_iter = estimator.max_iter
    known = size if estimator.n_hint is None else estimator.n_hint
    if estimator.delta > 0:
        return _gaussian_plan(estimator, n_features, known)
    plan = _pure_plan(estimator, n_features, known, max_iter)
    if known is None or max_iter != "auto":
        return plan
    for rounds in (2, 1):  # Laplace noise of a round falls as the square of its share
        last = DiscreteLaplace(float(estimator.epsilon) * list(plan.shares.values())[-1])
        if level_of(last, ADD_REMOVE, estimator.n_clusters, n_features, known) > NOISY:
            plan = _pure_plan(estimator, n_features, known, rounds)
    return plan


def level_of(mechanism, relation, n_clusters, n_features, n_rows):
    """Return the squared noise of a center after a round with noise of a mechanism.

    It is relative to the squared distance of its rows: ``d (k sd / n)**2``.
    """
    moved = 1.0 if relation == ADD_REMOVE else 2.0
    if mechanism.is_gaussian:
        sd = moved * math.hypot(1.0, TUNED.gaussian.mass) / mechanism.mu
    else:  # a vector of length one has an L1 norm of at most sqrt(d)
        sd = moved * math.sqrt(2.0 * n_features) * (1.0 + TUNED.gaussian.mass) / mechanism.epsilon
    return n_features * (n_clusters * sd / n_rows) ** 2


def _pure_plan(estimator, n_features, known, max_iter):
    """Give the mean what it needs to be of use, and nearly all where centers would be noise.

    A coordinate of the sum has noise of standard deviation ``sqrt(2 d) radius`` over the part of
    epsilon that the sum gets, and a mean has d coordinates. `level` is that squared noise of a
    center in one of the last two rounds, relative to the squared distances within a cluster.
    """
    shares, rounds, bits = TUNED.pure
    d, k, parts = n_features, estimator.n_clusters, TUNED.laplace.moments
    mean = TUNED.wide_mean if d > TUNED.wide_features else shares[0]
    if known is None:
        return make_plan(max_iter, (_with_moments(shares, mean), rounds, bits), parts)
    signal = known * float(estimator.epsilon)
    needed = math.sqrt(2.0 / TUNED.mean_error) * d * sum(parts) / (signal * parts[1])
    mean = float(np.clip(needed, mean, TUNED.most_mean))
    if mean >= TUNED.mostly_mean:
        scale = TUNED.mostly_mass[estimator.n_hint is not None]
        mass = min(parts[0], (scale * d**2) ** (-1 / 3))  # least error of d coordinates
        parts = (mass, parts[1], TUNED.mostly_spread)
    a_cluster = signal / (2.0 * k * math.sqrt(2.0 * d))
    detail = _ramp(a_cluster, TUNED.pure_detail) * _affordable(known)
    recipe = _with_moments(shares, mean), rounds + TUNED.detailed_rounds * detail, bits
    error = 2.0 * (d * sum(parts[:2]) / (TUNED.place_share * mean * signal)) ** 2
    reach = _reach(math.sqrt(2.0) * TUNED.sure_reach / signal, error)
    return make_plan(max_iter, recipe, parts, detail, reach)


def _gaussian_plan(estimator, n_features, known):
    """Mix the plans for little and for much signal, and give the mean what it needs."""
    max_iter, few = estimator.max_iter, n_features < TUNED.many_features
    little, much, where = TUNED.few_features if few else TUNED.more_features
    parts = TUNED.gaussian.moments
    if known is None:
        return make_plan(max_iter, _mixed(little, much, TUNED.middle), parts)
    signal = known * gaussian_mu(estimator.epsilon, estimator.delta)
    a_cluster = signal / estimator.n_clusters
    w = _ramp(a_cluster, where) * (_affordable(known) if few else 1.0)
    shares, rounds, bits = _mixed(little, much, w)
    needed = TUNED.gaussian_mean * n_features / signal**2
    mean = float(np.clip(needed, shares[0], TUNED.most_mean))
    if mean > TUNED.costly_mean:
        parts = TUNED.costly_parts if mean < TUNED.mostly_mean else TUNED.mostly_parts
    detail = _ramp(a_cluster, TUNED.detail) * _affordable(known)
    recipe = _with_moments(shares, mean), rounds + TUNED.detailed_rounds * detail, bits
    error = n_features * sum(parts[:2]) / (TUNED.place_share * mean * signal**2)
    reach = _reach((TUNED.sure_reach / signal) ** 2, error)
    return make_plan(max_iter, recipe, parts, detail, reach)


def _reach(needed, error):
    """Share of distances, by the share at which they exceed the noise, or 0.

    They get more where the squared `error` of the place they are taken from is little, relative to
    the squared radius of the domain.
    """
    most = TUNED.most_reach if error < TUNED.place_error else TUNED.reach_share
    if needed > most:
        return 0.0
    return min(max(TUNED.ample_reach * needed, TUNED.least_reach), most)


def _affordable(known):
    """Share of the detail that the signal bears that its time allows, from 1 to 0.

    With so many rows that time counts, fewer passes and cells cost as little.
    """
    return 1.0 - _ramp(known, TUNED.many_rows)


def _with_moments(shares, mean):
    """Return shares of which the first is `mean`, and the others share the rest as before."""
    rest = (1.0 - mean) / (1.0 - shares[0])
    return (mean, *(rest * share for share in shares[1:]))


def _mixed(little, much, w):
    """Return a recipe between two."""
    shares = tuple((1 - w) * a + w * b for a, b in zip(little[0], much[0], strict=True))
    return shares, *((1 - w) * a + w * b for a, b in zip(little[1:], much[1:], strict=True))


def _ramp(signal, ends):
    """Return 0 below the first end, 1 above the second, and the logarithm's way between them."""
    low, high = ends
    return float(np.clip(math.log(signal / low) / math.log(high / low), 0.0, 1.0))
