"""Mechanisms on the integer lattice, and the sensitivity they are calibrated to.

A mechanism holds a privacy amount and nothing else. Which scale that amount means for a given
query follows from the query's :class:`Sensitivity`, in exact rational arithmetic and rounded
towards more noise, so the loss of what is drawn never exceeds the amount that was charged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np

from .._checks import check_epsilon, check_real, exact, float_above


@dataclass(frozen=True)
class Sensitivity:
    """How far one person can move an integer release that consists of blocks.

    Parameters
    ----------
    l1, l2_squared : tuple of tuple of int
        Each inner tuple is one *case*: a bound, block by block, on the L1 (or squared L2) change
        that blocks can show together. A neighbor falls under at least one case of each.
    """

    l1: tuple
    l2_squared: tuple

    def __post_init__(self):
        widths = {len(case) for case in self.l1 + self.l2_squared}
        numbers = [number for case in self.l1 + self.l2_squared for number in case]
        if len(widths) != 1 or not all(isinstance(n, int) and n >= 0 for n in numbers):
            raise ValueError(
                "Sensitivity needs cases of equal length made of non-negative integers, "
                f"got l1={self.l1!r}, l2_squared={self.l2_squared!r}."
            )

    @property
    def n_blocks(self) -> int:
        """Number of blocks of the release."""
        return len(self.l1[0])

    @classmethod
    def single(cls, l1: int, l2_squared: int) -> Self:
        """Sensitivity of a release with one block."""
        return cls(((l1,),), ((l2_squared,),))


@dataclass(frozen=True)
class DiscreteLaplace:
    """Two-sided geometric noise: ``P(x)`` proportional to ``exp(-|x| / scale)``.

    Parameters
    ----------
    epsilon : float
        Pure privacy loss of one release: the sum over blocks of L1 sensitivity / scale.
    """

    epsilon: float

    def __post_init__(self):
        check_epsilon(self.epsilon)

    def scales(self, sensitivity, weights=None):
        """Smallest scales in the ratio `weights` whose loss is at most ``epsilon``."""
        weights = _check_weights(weights, sensitivity.n_blocks)
        return _laplace_scales(self.epsilon, _hashable(sensitivity.l1), weights)

    def loss(self, sensitivity, scales):
        """Exact pure loss of a release drawn with these scales; infinite where noise is missing."""
        return _worst(sensitivity.l1, [1 / Fraction(s) if s else math.inf for s in scales])

    def standard_deviation(self, scale):
        """Standard deviation of the noise at this scale."""
        return 1.0 / (math.sqrt(2.0) * math.sinh(min(0.5 / scale, 700.0))) if scale else 0.0

    def draw(self, scale, shape, noise):
        """Draw an integer array of noise."""
        return noise.discrete_laplace(scale, shape)


@dataclass(frozen=True)
class RoundedGaussian:
    """Gaussian noise rounded to integers: post-processing of the continuous Gaussian mechanism.

    Parameters
    ----------
    mu : float
        Gaussian privacy parameter (GDP) of one release: the root of the sum over blocks of squared
        L2 sensitivity / sigma**2.
    """

    mu: float

    def __post_init__(self):
        check_real(self.mu, "mu", low=0.0, open_low=True)

    def scales(self, sensitivity, weights=None):
        """Smallest standard deviations in the ratio `weights` whose loss is at most ``mu**2``."""
        weights = _check_weights(weights, sensitivity.n_blocks)
        return _gaussian_scales(self.mu, _hashable(sensitivity.l2_squared), weights)

    def loss(self, sensitivity, scales):
        """Exact ``mu**2`` of a release drawn with these scales; infinite where noise is missing."""
        return _worst(
            sensitivity.l2_squared, [1 / Fraction(s) ** 2 if s else math.inf for s in scales]
        )

    def standard_deviation(self, scale):
        """Standard deviation of the noise at this scale, rounding included (for scales >= 1/2)."""
        return math.sqrt(scale**2 + 1.0 / 12.0) if scale else 0.0

    def draw(self, scale, shape, noise):
        """Draw an integer array of noise."""
        return noise.rounded_gaussian(scale, shape)


@lru_cache(maxsize=1 << 10)
def _laplace_scales(epsilon, cases, weights):
    """Return the scales of blocks; a step asks before it is charged, and when it is drawn."""
    unit = _worst(cases, [1 / Fraction(w) for w in weights]) / exact(epsilon)
    return _scale_blocks(unit, weights, cases)


@lru_cache(maxsize=1 << 10)
def _gaussian_scales(mu, cases, weights):
    square = _worst(cases, [1 / Fraction(w) ** 2 for w in weights]) / Fraction(mu) ** 2
    return _scale_blocks(_root_above(square), weights, cases)


def _hashable(cases):
    """Return the cases as tuples; queries may state them in lists."""
    return tuple(map(tuple, cases))


def _worst(cases, factors):
    return max(sum(n * f for n, f in zip(case, factors, strict=True) if n) for case in cases)


def _scale_blocks(unit, weights, cases):
    """Scales ``unit * weights``; 0, no noise, for a block that no neighbor can change."""
    fixed = [all(case[block] == 0 for case in cases) for block in range(len(weights))]
    return tuple(
        0.0 if still else float_above(unit * Fraction(w))
        for w, still in zip(weights, fixed, strict=True)
    )


def _check_weights(weights, n_blocks):
    weights = np.ones(n_blocks) if weights is None else np.asarray(weights, dtype=float)
    if weights.shape != (n_blocks,) or not (np.isfinite(weights).all() and (weights > 0).all()):
        raise ValueError(f"weights must be {n_blocks} positive numbers, got {weights!r}.")
    return tuple(float(w) for w in weights)


def _root_above(square):
    root = Fraction(float_above(Fraction(float(square) ** 0.5)))
    while root * root < square:
        root *= 1 + Fraction(1, 2**52)
    return root
