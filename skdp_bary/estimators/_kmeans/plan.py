"""Shares of the budget for clustering in more than three dimensions, from public facts alone."""

import math
from dataclasses import dataclass

import numpy as np

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

    @property
    def shares(self):
        """Shares by the names of the steps, in order."""
        steps = {"moments": self.moments}
        if self.axes:
            steps["axes"] = self.axes
        steps |= {"cells": self.cells, "fill": self.fill}
        for i in range(self.low_rounds):
            steps[f"low_{i + 1}"] = self.low / self.low_rounds
        if self.ambient_rounds:
            steps["residual"] = TUNED.residual_share * self.ambient
        for i in range(self.ambient_rounds):
            share = (1.0 - TUNED.residual_share) * self.ambient / self.ambient_rounds
            steps[f"ambient_{i + 1}"] = share
        return steps


def make_plan(setting, shares, low_rounds, bits):
    """Return a plan of these shares and bits.

    ``max_iter`` counts all rounds; the last two of them use all features. "auto" means `low_rounds`
    beside those two.
    """
    rounds = setting.rounds(low_rounds + TUNED.ambient_rounds)
    ambient = min(TUNED.ambient_rounds, rounds)
    return ClusterPlan(*shares, rounds - ambient, ambient, bits)


def cluster_plan(setting, size=None):
    """Return the plan of a fit in more than three dimensions.

    Without ``n_hint`` a noisy or public `size` picks one of a few plans; before it is known the
    middle one is announced.
    """
    if setting.delta == 0:
        return make_plan(setting, *_pure_plan(setting))
    if setting.n_features < TUNED.many_features:
        return make_plan(setting, *TUNED.few_features)
    return make_plan(setting, *_mixed_plan(setting, size))


def _pure_plan(setting):
    """Give the mean what it needs to be of use: every center starts from it.

    A coordinate of the sum has noise of standard deviation ``sqrt(2 d) radius`` over the part of
    epsilon that the sum gets, and a mean has d coordinates.
    """
    shares, rounds, bits = TUNED.pure
    mean = TUNED.wide_mean if setting.n_features > TUNED.wide_features else shares[0]
    if setting.n_hint is not None:
        parts = TUNED.laplace.moments  # of mass, sum and spread
        spent = setting.n_hint * float(setting.epsilon) * parts[1] / sum(parts)
        needed = math.sqrt(2.0 / TUNED.mean_error) * setting.n_features / spent
        mean = float(np.clip(needed, mean, TUNED.most_mean))
    rest = (1.0 - mean) / (1.0 - shares[0])
    return (mean, *(rest * share for share in shares[1:])), rounds, bits


def _mixed_plan(setting, size):
    """Mix the plans for little and for much signal."""
    w = _mixture(setting, size)
    little, much = TUNED.little_signal, TUNED.much_signal
    shares = tuple((1 - w) * a + w * b for a, b in zip(little[0], much[0], strict=True))
    return shares, *(round((1 - w) * a + w * b) for a, b in zip(little[1:], much[1:], strict=True))


def _mixture(setting, size):
    """Return the part of the plan for much signal, by the number of rows a cluster."""
    known = size if setting.n_hint is None else setting.n_hint
    if known is None:
        return TUNED.mixtures[1]
    low, high = TUNED.signal
    signal = known * setting.mu / setting.n_clusters
    w = float(np.clip(math.log(signal / low) / math.log(high / low), 0.0, 1.0))
    return w if setting.n_hint is not None else min(TUNED.mixtures, key=lambda m: abs(m - w))
