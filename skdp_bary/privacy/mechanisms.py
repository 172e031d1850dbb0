"""Relations, mechanisms and their Renyi curves: what noise hides, and its smallest scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from operator import attrgetter
from typing import Self

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import erfcx, ndtri_exp

from ..exceptions import check_epsilon, check_option, check_real, exact, float_above

# Neighboring relations: which two data sets a guarantee cannot tell apart.
#
# ``add_remove``
#     One person is added or removed. Everything about the rows is private: how many there are, and
#     which label each one carries. The *set* of labels (``classes``) and size hints are public
#     arguments.
# ``replace_one``
#     The rows of one person are replaced by others of the same label. The labels and the number of
#     rows of each label are public, and only under this relation may they be read from the data.
# ``replace_any``
#     The rows of one person are replaced by others of any label. Only the total number is public.
#     A person who changes the label leaves one part of the data and joins another.

ADD_REMOVE = "add_remove"
REPLACE_ONE = "replace_one"
REPLACE_ANY = "replace_any"
RELATIONS = (ADD_REMOVE, REPLACE_ONE, REPLACE_ANY)


def check_neighbors(value, name="neighbors"):
    """Return a relation's name, or raise listing the three."""
    return check_option(value, name, RELATIONS)


def compose_parts(costs, relation):
    """Total cost of disjoint parts of one dataset, each part costing ``costs[i]``.

    Under ``add_remove`` and ``replace_one`` a person lives in one part, so the largest cost counts.
    Under ``replace_any`` a person may move from one part to another, so the two largest add up;
    each cost must then hold for replacing a person within the part and for adding or removing one.
    """
    check_neighbors(relation)
    ordered = sorted(costs, reverse=True)
    touched = 2 if relation == REPLACE_ANY else 1
    return sum(ordered[:touched], Fraction(0))


# Mechanisms on the integer lattice, and the sensitivity they are calibrated to.


@dataclass(frozen=True)
class Sensitivity:
    """Sensitivity of an integer release, in blocks, to changes of one person.

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
        moved, also = ([*map(any, zip(*c, strict=True))] for c in (self.l1, self.l2_squared))
        if moved != also:  # a block without noise under one kind of mechanism
            raise ValueError(
                "l1 and l2_squared of a block must both be 0 in all cases, or neither, "
                f"got l1={self.l1!r}, l2_squared={self.l2_squared!r}. Pass the change in both."
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

    is_pure, is_gaussian = True, False  # how it composes: a mechanism of another kind is neither

    def __post_init__(self):
        check_epsilon(self.epsilon)

    amount = property(attrgetter("epsilon"), doc="Privacy parameter that sets the noise: epsilon.")

    def scales(self, sensitivity, weights=None):
        """Smallest scales in the ratio `weights` whose loss is at most ``epsilon``."""
        weights = _check_weights(weights, sensitivity.n_blocks)
        return _scales(self.epsilon, 1, _hashable(sensitivity.l1), weights)

    def loss(self, sensitivity, scales):
        """Exact pure loss of a release drawn with these scales; infinite where noise is missing."""
        return _worst_loss(sensitivity.l1, scales, 1)

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

    is_pure, is_gaussian = False, True

    def __post_init__(self):
        check_real(self.mu, "mu", low=0.0, open_low=True)

    amount = property(attrgetter("mu"), doc="Privacy parameter that sets the noise: mu.")

    def scales(self, sensitivity, weights=None):
        """Smallest standard deviations in the ratio `weights` whose loss is at most ``mu**2``."""
        weights = _check_weights(weights, sensitivity.n_blocks)
        return _scales(self.mu, 2, _hashable(sensitivity.l2_squared), weights)

    def loss(self, sensitivity, scales):
        """Exact ``mu**2`` of a release drawn with these scales; infinite where noise is missing."""
        return _worst_loss(sensitivity.l2_squared, scales, 2)

    def standard_deviation(self, scale):
        """Standard deviation of the noise at this scale, rounding included (for scales >= 1/2)."""
        return math.sqrt(scale**2 + 1.0 / 12.0) if scale else 0.0

    def draw(self, scale, shape, noise):
        """Draw an integer array of noise."""
        return noise.rounded_gaussian(scale, shape)


@lru_cache(maxsize=1 << 11)  # a step asks before it is charged, and when it is drawn
def _scales(amount, power, cases, weights):
    """Return the scales in the ratio `weights` that cost `amount`, one over scale**power each.

    They are 0, no noise, for a block that no neighbor can change.
    """
    cost = exact(amount) if power == 1 else Fraction(amount) ** 2
    unit = _worst_loss(cases, weights, power) / cost
    if power == 2:  # its root, rounded up
        square, unit = unit, Fraction(float_above(Fraction(float(unit) ** 0.5)))
        while unit * unit < square:
            unit *= 1 + Fraction(1, 2**52)
    still = [not any(block) for block in zip(*cases, strict=True)]
    return tuple(
        0.0 if fixed else float_above(unit * Fraction(w))
        for w, fixed in zip(weights, still, strict=True)
    )


def _hashable(cases):
    """Return the cases as tuples; queries may state them in lists."""
    return tuple(map(tuple, cases))


def _worst_loss(cases, scales, power):
    prices = [1 / Fraction(s) ** power if s else math.inf for s in scales]
    return max(sum(n * p for n, p in zip(case, prices, strict=True) if n) for case in cases)


def _check_weights(weights, n_blocks):
    weights = np.ones(n_blocks) if weights is None else np.asarray(weights, dtype=float)
    if weights.shape != (n_blocks,) or not (np.isfinite(weights).all() and (weights > 0).all()):
        raise ValueError(
            f"weights must be {n_blocks} positive numbers, got {weights!r}. For example "
            f"{[1.0] * n_blocks}, or None."
        )
    return tuple(float(w) for w in weights)


# Smallest noise for a target (epsilon, delta): Gaussian profiles, Renyi conversions.

# Floating point leaves a relative error below 2**-39 (the tests compare with 60 digits). Results
# are raised by the margin; inverses aim below their target by the slack, which exceeds the
# difference of any two evaluations, so a smaller mu never appears to cost more.
_MARGIN = 2.0**-38
_SLACK = 2.0**-36
_TINY = 2.0**-1070  # more than what underflows below the point where the tail is cut
_FAR = 40.0  # Phi(-40) is below _TINY
_SMALLEST_DELTA = 1e-300
_LOG_ORDERS = np.arange(-30.0, 60.0, 0.25)  # where order - 1 is searched, coarsely
_RELATIVE = 2.0**-46  # above the rounding error of a sum of a few logarithms, relative to its terms
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)


def gaussian_delta(mu, epsilon):
    """Return the delta of a mu-GDP release at `epsilon`, rounded up.

    Parameters
    ----------
    mu : float
        Gaussian privacy parameter, at least zero.
    epsilon : float
        Any finite number; negative ones give the profile's other branch.

    Returns
    -------
    float
        An upper bound within a relative ``2**-36`` of the exact profile (and ``2**-1069``).
    """
    mu = check_real(mu, "mu", low=0.0)
    epsilon = check_real(epsilon, "epsilon")
    if epsilon < 0.0:  # both directions of a Gaussian pair have the same profile
        mirrored = math.exp(epsilon) * gaussian_delta(mu, -epsilon) - math.expm1(epsilon)
        return min(mirrored * (1.0 + _MARGIN), 1.0)
    if mu == 0.0:
        return 0.0
    return min(_profile(mu, epsilon) * (1.0 + _MARGIN) + _TINY, 1.0)


def gaussian_mu(epsilon, delta):
    """Return the largest ``mu``, rounded down, whose release is (epsilon, delta) private."""
    return _largest_mu(check_epsilon(epsilon), _check_positive_delta(delta))


@lru_cache(maxsize=1024)  # a fit asks several times, and a search again and again
def _largest_mu(epsilon, delta):
    log_target = math.log(delta * (1.0 - 2.0 * _SLACK))

    def excess(log_mu):
        return math.log(_profile(math.exp(log_mu), epsilon) + _TINY) - log_target

    # near the answer: the root of Phi(mu / 2 - epsilon / mu) = delta
    tail = _quantile(delta)
    root = math.hypot(tail, math.sqrt(2.0 * epsilon))
    guess = 2.0 * epsilon / (root + tail) if tail > 0.0 else root - tail
    low = high = math.log(max(guess, math.sqrt(2.0 * math.pi) * delta))
    while excess(low) > 0.0:
        low -= 1.0
    while excess(high) <= 0.0:
        high += 1.0
    mu = math.exp(brentq(excess, low, high, xtol=1e-13, rtol=1e-13))
    step = 2.0**-46
    while gaussian_delta(mu, epsilon) > delta * (1.0 - _SLACK):
        mu, step = mu * (1.0 - step), 2.0 * step
    return mu


def gaussian_epsilon(mu, delta):
    """Return the smallest epsilon, rounded up, at which a mu-GDP release costs at most `delta`."""
    mu = check_real(mu, "mu", low=0.0)
    delta = _check_positive_delta(delta)
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    log_target = math.log(delta * (1.0 - 2.0 * _SLACK))

    def excess(epsilon):
        return math.log(_profile(mu, epsilon) + _TINY) - log_target

    high = mu * mu / 2.0 + mu * max(_quantile(delta), 1.0)  # delta <= Phi(mu / 2 - epsilon / mu)
    while excess(high) > 0.0:
        high *= 2.0
    epsilon = brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-13, maxiter=1000)
    step = 2.0**-46
    while gaussian_delta(mu, epsilon) > delta * (1.0 - _SLACK):
        epsilon, step = epsilon * (1.0 + step), 2.0 * step
    return epsilon


def renyi_delta(curve, epsilon):
    """Return the delta at `epsilon` of a release with the Renyi curve `curve`, rounded up.

    Parameters
    ----------
    curve : callable
        From an order (above one, possibly infinite) to a bound on the Renyi divergence.
    epsilon : float
        At least zero.
    """
    epsilon = check_real(epsilon, "epsilon", low=0.0)
    if curve(math.inf) <= epsilon:
        return 0.0

    def log_delta(order):
        excess, divergence = order - 1.0, curve(order)
        log_ratio = -math.log1p(1.0 / excess)
        size = excess * (divergence + epsilon - log_ratio) + math.log(order)
        return excess * (divergence - epsilon + log_ratio) - math.log(order) + _RELATIVE * size

    return math.exp(min(log_delta(_best_order(log_delta)), 0.0))


def order_epsilon(divergence, order, delta):
    """Return the epsilon of a release with this divergence at one order; it may be below zero.

    This is Proposition 12 of Canonne, Kamath and Steinke (2020), rounded up.
    """
    log_ratio, tail, rest = _conversion(order, delta)
    return divergence + log_ratio - tail + _RELATIVE * (divergence - log_ratio + rest)


def renyi_order(epsilon, delta):
    """Return the order at which (epsilon, delta) admits most Gaussian noise, and its Renyi budget.

    Any release whose Renyi divergence at this order is at most the budget is (epsilon, delta)
    private. The order depends on epsilon and delta alone, so a filter may fix it in advance.
    """
    epsilon, delta = check_epsilon(epsilon), _check_positive_delta(delta)
    best = _best_order(lambda order: -renyi_budget(order, epsilon, delta) / order)
    order = round(best, 2 - math.floor(math.log10(best - 1.0)))  # short: the same everywhere
    return order, renyi_budget(order, epsilon, delta)


def renyi_budget(order, epsilon, delta):
    """Return the Renyi budget at an order: divergences up to it are (epsilon, delta) private."""
    log_ratio, tail, rest = _conversion(order, _check_positive_delta(delta))
    epsilon = check_epsilon(epsilon)
    return epsilon - log_ratio + tail - _RELATIVE * (epsilon - log_ratio + rest)


def _conversion(order, delta):
    """Return the two terms between a divergence and its epsilon, and the size of the second."""
    excess = order - 1.0
    tail = (math.log(delta) + math.log(order)) / excess
    return -math.log1p(1.0 / excess), tail, (math.log(order) - math.log(delta)) / excess


def _best_order(objective):
    """Return the order above one with the smallest value of `objective`."""
    values = [objective(1.0 + math.exp(log)) for log in _LOG_ORDERS]
    start = _LOG_ORDERS[int(np.argmin(values))]
    found = minimize_scalar(
        lambda log: objective(1.0 + math.exp(log)),
        bounds=(start - 0.25, start + 0.25),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return 1.0 + math.exp(found.x)


def _profile(mu, epsilon):
    """Evaluate ``Phi(-x) - exp(epsilon) Phi(-x - mu)`` at ``x = epsilon / mu - mu / 2``.

    As ``exp(epsilon) phi(x + mu) = phi(x)``, it equals ``phi(x) (R(x) - R(x + mu))`` with the Mills
    ratio R; for small ``mu`` the difference is integrated, ``-R'(t) = 1 - t R(t)``.
    """
    if epsilon / mu - mu / 2.0 > _FAR:
        return 0.0
    x = float((Fraction(epsilon) - Fraction(mu) ** 2 / 2) / Fraction(mu))
    density = math.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi)
    if mu < 0.5:
        t = x + mu * (1.0 + _NODES) / 2.0
        return density * mu / 2.0 * float(_WEIGHTS @ (1.0 - t * _mills(t)))
    if x > 0.0:
        return density * float(_mills(x) - _mills(x + mu))
    return math.erfc(x / math.sqrt(2.0)) / 2.0 - density * float(_mills(x + mu))


def _mills(t):
    return math.sqrt(math.pi / 2.0) * erfcx(t / math.sqrt(2.0))


def _quantile(delta):
    return -float(ndtri_exp(math.log(delta)))


def _check_positive_delta(delta):
    if check_real(delta, "delta", low=0.0, high=1.0, open_high=True) < _SMALLEST_DELTA:
        raise ValueError(
            f"delta must be in [{_SMALLEST_DELTA}, 1) for Gaussian noise, which has no pure "
            f"guarantee, got {delta!r}. For example delta=1e-6; delta=0 needs Laplace noise."
        )
    return float(delta)


# Renyi curves, rounded up: the divergence of order a as a function of a. Orders run from one (the
# Kullback-Leibler divergence) to infinity (the pure epsilon).

# above the rounding error of every formula here (tests compare with 60 digits)
_CURVE_MARGIN = 2.0**-40


def check_order(order):
    """Return a Renyi order: a number of at least one, or infinity."""
    return math.inf if order == math.inf else check_real(order, "order", low=1.0)


def pure_renyi(epsilon, order):
    """Return the largest Renyi divergence of `order` of any pure `epsilon` mechanism.

    Randomized response attains it, and every other pure mechanism is post-processing of randomized
    response (Kairouz, Oh and Viswanath, 2015). Its moment is the mean of ``exp((a - 1) epsilon)``
    and ``exp(-a epsilon)`` with weights in the ratio ``sinh(a epsilon) : sinh((a - 1) epsilon)``.
    Their first orders cancel for small epsilon, hence the second form of the same expression.
    """
    epsilon = check_real(epsilon, "epsilon", low=0.0)
    order = check_order(order)
    if epsilon == 0.0 or order == math.inf:
        return epsilon
    double = 2.0 * order - 1.0
    if double * epsilon > 1.0:
        log_weight = (
            _log_sinhc((order - 1.0) * epsilon)
            - _log_sinhc(double / 2.0 * epsilon)
            - _log_cosh(epsilon / 2.0)
        )
        weight = math.exp(log_weight) / double * -math.expm1(-double * epsilon)
        curve = epsilon + log1p_ratio(-weight, order)
    else:
        first = _log_sinhc(order * epsilon) + _log_sinhc((order - 1.0) * epsilon / 2.0)
        second = _log_sinhc((order - 1.0) * epsilon) + _log_sinhc(order * epsilon / 2.0)
        scale = _log_sinhc(double / 2.0 * epsilon) + _log_cosh(epsilon / 2.0)
        gap = math.expm1(double * epsilon / 2.0 + first - second)
        slope = order * epsilon / double * math.exp(second - order * epsilon / 2.0 - scale) * gap
        curve = log1p_ratio(slope, order)
    return min(curve * (1.0 + _CURVE_MARGIN), epsilon)


def gaussian_renyi(mu, order):
    """Return the Renyi divergence of `order` of a mu-GDP release: ``order * mu**2 / 2``."""
    mu = check_real(mu, "mu", low=0.0)
    order = check_order(order)
    return mu * mu * order / 2.0 * (1.0 + _CURVE_MARGIN) if mu > 0.0 else 0.0


def log1p_ratio(slope, order):
    """Return ``log(1 + (order - 1) slope) / (order - 1)`` with its limit at order one."""
    excess = order - 1.0
    return math.log1p(excess * slope) / excess if excess * abs(slope) > 0.0 else slope


def _log_sinhc(x):
    """Return ``log(sinh(x) / x)`` for ``x >= 0``."""
    if x < 0.1:
        square = x * x
        return square / 6.0 - square**2 / 180.0 + square**3 / 2835.0 - square**4 / 37800.0
    return x + math.log(-math.expm1(-2.0 * x) / (2.0 * x))


def _log_cosh(x):
    return x + math.log1p(math.expm1(-2.0 * x) / 2.0)
