"""Shares of the budget for clustering in more than three dimensions, from public facts alone."""

import math
from dataclasses import dataclass, replace

import numpy as np

AMBIENT_ROUNDS = 2
_RESIDUAL_SHARE = 0.03  # of what the ambient rounds get
_HIGH = 30  # features from which the two plans below are mixed
_SIGNAL = (40.0, 100.0)  # rows a cluster times mu, where the mixture starts and ends
_MIXTURES = (0.0, 0.5, 1.0)  # where n_hint is not given; all of the same total

# shares of the steps, rounds in the subspace, bits of the grid
_FEW_FEATURES = ((0.02, 0.15, 0.20, 0.18, 0.25, 0.20), 1, 10)
_LITTLE_SIGNAL = ((0.02, 0.14, 0.12, 0.12, 0.15, 0.45), 1, 10)
_MUCH_SIGNAL = ((0.02, 0.15, 0.03, 0.12, 0.36, 0.32), 5, 12)
_PURE = ((0.04, 0.0, 0.10, 0.13, 0.29, 0.44), 2, 12)
PURE_MOMENTS = (0.25, 1.0, 0.25)  # parts of mass, sum and spread in the first step
_PURE_WIDE = 100  # features above which the mean gets at least this share of a pure budget
_PURE_WIDE_MEAN = 0.2
_PURE_MOST_MEAN = 0.9
_PURE_MEAN_ERROR = 0.025  # wanted of the mean, relative to the squared radius of the domain


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
            steps["residual"] = _RESIDUAL_SHARE * self.ambient
        for i in range(self.ambient_rounds):
            share = (1.0 - _RESIDUAL_SHARE) * self.ambient / self.ambient_rounds
            steps[f"ambient_{i + 1}"] = share
        return steps

    def with_rounds(self, max_iter):
        """Return the plan with so many rounds in all; "auto" keeps its own."""
        if max_iter == "auto":
            return self
        ambient = min(AMBIENT_ROUNDS, max_iter)
        return replace(self, low_rounds=max_iter - ambient, ambient_rounds=ambient)


def cluster_plan(setting, size=None):
    """Return the plan of a fit in more than three dimensions.

    ``max_iter`` counts all rounds; the last two of them use all features. Without ``n_hint`` a
    noisy or public `size` picks one of a few plans; before it is known the middle one is announced.
    """
    if setting.delta == 0:
        shares, rounds, bits = _pure_plan(setting)
    elif setting.n_features < _HIGH:
        shares, rounds, bits = _FEW_FEATURES
    else:
        shares, rounds, bits = _mixed_plan(setting, size)
    return ClusterPlan(*shares, rounds, AMBIENT_ROUNDS, bits).with_rounds(setting.max_iter)


def _pure_plan(setting):
    """Give the mean what it needs to be of use: every center starts from it.

    A coordinate of the sum has noise of standard deviation ``sqrt(2 d) radius`` over the part of
    epsilon that the sum gets, and a mean has d coordinates.
    """
    shares, rounds, bits = _PURE
    mean = _PURE_WIDE_MEAN if setting.n_features > _PURE_WIDE else shares[0]
    if setting.n_hint is not None:
        spent = setting.n_hint * float(setting.epsilon) * PURE_MOMENTS[1] / sum(PURE_MOMENTS)
        needed = math.sqrt(2.0 / _PURE_MEAN_ERROR) * setting.n_features / spent
        mean = float(np.clip(needed, mean, _PURE_MOST_MEAN))
    rest = (1.0 - mean) / (1.0 - shares[0])
    return (mean, *(rest * share for share in shares[1:])), rounds, bits


def _mixed_plan(setting, size):
    """Mix the plans for little and for much signal."""
    w = _mixture(setting, size)
    little, much = _LITTLE_SIGNAL, _MUCH_SIGNAL
    shares = tuple((1 - w) * a + w * b for a, b in zip(little[0], much[0], strict=True))
    return shares, *(round((1 - w) * a + w * b) for a, b in zip(little[1:], much[1:], strict=True))


def _mixture(setting, size):
    """Return the part of the plan for much signal, by the number of rows a cluster."""
    known = size if setting.n_hint is None else setting.n_hint
    if known is None:
        return _MIXTURES[1]
    low, high = _SIGNAL
    signal = known * setting.mu / setting.n_clusters
    w = float(np.clip(math.log(signal / low) / math.log(high / low), 0.0, 1.0))
    return w if setting.n_hint is not None else min(_MIXTURES, key=lambda m: abs(m - w))
