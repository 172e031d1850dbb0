"""Shares of the budget for clustering in more than three dimensions, from public facts alone."""

import math
from dataclasses import dataclass, replace

import numpy as np

from ...privacy._neighbors import ADD_REMOVE
from ...privacy.noise.mechanisms import DiscreteLaplace, RoundedGaussian
from .tuning import TUNED


@dataclass(frozen=True)
class ClusterPlan:
    """What a fit in many dimensions does.

    Attributes
    ----------
    moments, axes, cells, fill, low, ambient : float
        Shares of the budget: of mu**2 for Gaussian noise, of epsilon otherwise.
    low_rounds, ambient_rounds : int
        Rounds of Lloyd's algorithm in the subspace, and with all features.
    bits : int
        The grid has two to this power cells.
    parts : tuple of float
        Shares of the precision of the moments for mass, sum and spread.
    reach : float
        What distances from a first mean get, beside the other shares; 0 where noise would drown
        them, and rows are clipped to the domain alone.
    kept, groups : int
        Cells that are kept, and those after grouping, at most; relative to the clusters.
    """

    moments: float
    axes: float
    cells: float
    fill: float
    low: float
    ambient: float
    low_rounds: int
    ambient_rounds: int
    bits: int
    parts: tuple
    reach: float = TUNED.reach_share
    kept: int = TUNED.kept_factor
    groups: int = TUNED.filled_factor

    @property
    def shares(self):
        """Shares by the names of the steps, in order."""
        steps = {"moments": self.moments}
        if self.reach:
            first = TUNED.place_share * self.moments
            steps = {"place": first, "reach": self.reach, "moments": self.moments - first}
        if self.axes:
            steps["axes"] = self.axes
        steps |= {"cells": self.cells, "fill": self.fill}
        for i in range(self.low_rounds):
            steps[f"low_{i + 1}"] = self.low / self.low_rounds
        if self.ambient_rounds:
            steps["residual"] = max(TUNED.residual_share * self.ambient, TUNED.least_share)
        for i in range(self.ambient_rounds):
            share = (1.0 - TUNED.residual_share) * self.ambient / self.ambient_rounds
            steps[f"ambient_{i + 1}"] = share
        total = sum(steps.values())
        return {name: share / total for name, share in steps.items()}


def make_plan(setting, recipe, parts, detail=0.0, reach=TUNED.reach_share):
    """Return a plan by its shares, rounds in the subspace and bits.

    ``max_iter`` counts all rounds; the last two of them use all features. "auto" means those of the
    recipe beside these two.

    Parameters
    ----------
    setting : KMeansSetting
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
    rounds = setting.rounds(round(low_rounds) + TUNED.ambient_rounds)
    ambient = min(TUNED.ambient_rounds, rounds)
    return ClusterPlan(
        *shares,
        rounds - ambient,
        ambient,
        round(bits + TUNED.detailed_bits * detail),
        parts,
        reach,
        round(TUNED.kept_factor * TUNED.detailed_kept**detail),
        round(TUNED.filled_factor * TUNED.detailed_filled**detail),
    )


def cluster_plan(setting, size=None):
    """Return the plan of a fit in more than three dimensions.

    A plan follows the signal: persons a cluster times what the budget buys. Where there is so
    little of it that no center would be worth its noise, the budget goes to the mean of all rows,
    from which every center starts. Without ``n_hint`` a noisy or public `size` stands in for it;
    before that is known a plan for some signal is announced.
    """
    known = size if setting.n_hint is None else setting.n_hint
    if setting.delta > 0:
        return _gaussian_plan(setting, known)
    plan = _pure_plan(setting, known)
    if known is None or setting.max_iter != "auto":
        return plan
    for rounds in (2, 1):  # Laplace noise of a round falls as the square of its share
        last = DiscreteLaplace(float(setting.epsilon) * list(plan.shares.values())[-1])
        of = setting.n_clusters, setting.n_features, known
        if level_of(last, ADD_REMOVE, *of) > TUNED.noisy_round:
            plan = _pure_plan(replace(setting, max_iter=rounds), known)
    return plan


def level_of(mechanism, relation, n_clusters, n_features, n_rows):
    """Return the squared noise of a center after a round with noise of a mechanism.

    It is relative to the squared distance of its rows: ``d (k sd / n)**2``.
    """
    moved = 1.0 if relation == ADD_REMOVE else 2.0
    if isinstance(mechanism, RoundedGaussian):
        sd = moved * math.hypot(1.0, TUNED.low_mass) / mechanism.mu
    else:
        sd = moved * math.sqrt(2.0 * n_features) * (1.0 + TUNED.low_mass) / mechanism.epsilon
    return n_features * (n_clusters * sd / n_rows) ** 2


def _pure_plan(setting, known):
    """Give the mean what it needs to be of use, and nearly all where centers would be noise.

    A coordinate of the sum has noise of standard deviation ``sqrt(2 d) radius`` over the part of
    epsilon that the sum gets, and a mean has d coordinates. `level` is that squared noise of a
    center in one of the last two rounds, relative to the squared distances within a cluster.
    """
    shares, rounds, bits = TUNED.pure
    d, k, parts = setting.n_features, setting.n_clusters, TUNED.laplace.moments
    mean = TUNED.wide_mean if d > TUNED.wide_features else shares[0]
    if known is None:
        return make_plan(setting, (_with_moments(shares, mean), rounds, bits), parts)
    signal = known * float(setting.epsilon)
    needed = math.sqrt(2.0 / TUNED.mean_error) * d * sum(parts) / (signal * parts[1])
    mean = float(np.clip(needed, mean, TUNED.most_mean))
    left = TUNED.pure_last_round * (1.0 - mean) * signal
    level = d * (k * math.sqrt(2.0 * d) / left) ** 2
    mean = min(mean * (1.0 + _ramp(level, TUNED.hopeless)), TUNED.most_mean)
    if mean >= TUNED.mostly_mean:
        mass = min(parts[0], (TUNED.mostly_mass * d**2) ** (-1 / 3))  # least error of d coordinates
        parts = (mass, parts[1], TUNED.mostly_spread)
    a_cluster = signal / (2.0 * k * math.sqrt(2.0 * d))
    detail = _ramp(a_cluster, TUNED.pure_detail) * _affordable(known)
    recipe = _with_moments(shares, mean), rounds + TUNED.detailed_rounds * detail, bits
    error = 2.0 * (d * sum(parts[:2]) / (TUNED.place_share * mean * signal)) ** 2
    reach = _reach(math.sqrt(2.0) * TUNED.sure_reach / signal, error)
    return make_plan(setting, recipe, parts, detail, reach)


def _gaussian_plan(setting, known):
    """Mix the plans for little and for much signal, and give the mean what it needs."""
    few = setting.n_features < TUNED.many_features
    little, much, where = TUNED.few_features if few else TUNED.more_features
    parts = TUNED.gaussian.moments
    if known is None:
        return make_plan(setting, _mixed(little, much, TUNED.middle), parts)
    signal = known * setting.mu
    a_cluster = signal / setting.n_clusters
    w = _ramp(a_cluster, where) * (_affordable(known) if few else 1.0)
    shares, rounds, bits = _mixed(little, much, w)
    needed = TUNED.gaussian_mean * setting.n_features / signal**2
    mean = float(np.clip(needed, shares[0], TUNED.most_mean))
    if mean > TUNED.costly_mean:
        parts = TUNED.costly_parts
    detail = _ramp(a_cluster, TUNED.detail) * _affordable(known)
    recipe = _with_moments(shares, mean), rounds + TUNED.detailed_rounds * detail, bits
    error = setting.n_features * sum(parts[:2]) / (TUNED.place_share * mean * signal**2)
    reach = _reach((TUNED.sure_reach / signal) ** 2, error)
    return make_plan(setting, recipe, parts, detail, reach)


def _reach(needed, error):
    """Return what distances get, by the share at which they stand out of the noise, or 0.

    They get more where the squared `error` of the place they are taken from is little, relative to
    the squared radius of the domain.
    """
    most = TUNED.most_reach if error < TUNED.place_error else TUNED.reach_share
    if needed > most:
        return 0.0
    return min(max(TUNED.ample_reach * needed, TUNED.least_reach), most)


def _affordable(known):
    """Return how much of the detail that the signal bears its time allows, from 1 to 0.

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
