"""Renyi curves against 80-digit arithmetic and integrals."""

import math

import mpmath
import numpy as np
import pytest

from tests.world import gaussian_renyi, pure_renyi

CURVES = {"pure": pure_renyi, "gaussian": gaussian_renyi}
every_curve = pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES.keys())


def renyi(p, q, order):
    """Renyi divergence of two exact (mpmath) laws on the same outputs."""
    if order == 1:
        return mpmath.fsum(a * mpmath.log(a / b) for a, b in zip(p, q, strict=True) if a)
    moment = mpmath.fsum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True) if a)
    return mpmath.log(moment) / (order - 1)


def response(epsilon):
    yes, no = (1 / (1 + mpmath.exp(sign * mpmath.mpf(epsilon))) for sign in (-1, 1))
    return [yes, no], [no, yes]


def random_settings(n, seed):
    rng = np.random.default_rng(seed)
    for i in range(n):
        order = 1.0 if i % 10 == 0 else 1.0 + 10.0 ** rng.uniform(-8, 4)
        yield 10.0 ** rng.uniform(-8, 2.5), order


def test_pure_curve_is_randomized_response():
    for epsilon, order in random_settings(400, seed=0):
        with mpmath.workdps(80):
            truth = renyi(*response(epsilon), mpmath.mpf(order))
            value = pure_renyi(epsilon, order)
            assert truth * (1 - mpmath.mpf(10) ** -50) <= value <= truth * (1 + 1e-11)


def test_gaussian_curve_by_integration():
    for mu, order in [(0.3, 1.5), (1.0, 3.0), (2.0, 6.0)]:
        x = np.linspace(-60, 60, 240001)
        moment = np.exp(-((x - mu) ** 2) / 2 * order + (order - 1) * x**2 / 2).sum()
        moment *= (x[1] - x[0]) / math.sqrt(2 * math.pi)
        assert gaussian_renyi(mu, order) == pytest.approx(math.log(moment) / (order - 1), rel=1e-9)
        assert gaussian_renyi(mu, order) > order * mu * mu / 2


@every_curve
def test_curves_increase_with_the_order_and_end_well(curve):
    orders = [1.0, 1.0 + 1e-12, 1.001, 1.5, 2.0, 5.0, 100.0, 1e6, 1e12]
    values = [curve(0.7, order) for order in orders]
    assert all(low <= high * (1 + 1e-11) for low, high in zip(values, values[1:], strict=False))
    assert curve(0.7, 1.0) == pytest.approx(curve(0.7, 1 + 1e-9), rel=1e-6)
    assert curve(0.0, 3.0) == curve(0.0, math.inf) == 0.0
    at_infinity = math.inf if curve is gaussian_renyi else 0.7
    assert curve(0.7, math.inf) == at_infinity


@every_curve
def test_orders_below_one_and_negative_amounts_are_refused(curve):
    for order in (0.5, 0.0, -1.0, math.nan, -math.inf):
        with pytest.raises(ValueError, match="order"):
            curve(1.0, order)
    with pytest.raises(ValueError, match="epsilon|mu"):
        curve(-0.1, 2.0)
