"""Renyi curves of mechanisms, rounded up: the divergence of order a as a function of a.

Orders run from one (the Kullback-Leibler divergence) to infinity (the pure epsilon).
"""

import math

from ..exceptions import check_real

_MARGIN = 2.0**-40  # above the rounding error of every formula here (tests compare with 60 digits)


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
    return min(curve * (1.0 + _MARGIN), epsilon)


def gaussian_renyi(mu, order):
    """Return the Renyi divergence of `order` of a mu-GDP release: ``order * mu**2 / 2``."""
    mu = check_real(mu, "mu", low=0.0)
    order = check_order(order)
    return mu * mu * order / 2.0 * (1.0 + _MARGIN) if mu > 0.0 else 0.0


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
