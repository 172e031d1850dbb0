"""Renyi curves against 60-digit arithmetic, exact sums and integrals."""

import math

import mpmath
import numpy as np
import pytest

from skdp_bary.privacy.accounting.curves import (
    discrete_laplace_renyi,
    gaussian_renyi,
    laplace_renyi,
    pure_renyi,
)

CURVES = {
    "pure": pure_renyi,
    "gaussian": gaussian_renyi,
    "laplace": laplace_renyi,
    "discrete": lambda epsilon, order: discrete_laplace_renyi(epsilon, 3, order),
}
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


@pytest.mark.parametrize("seed", range(10))
def test_no_pure_pair_exceeds_the_pure_curve(seed):
    rng = np.random.default_rng(seed)
    loss = rng.uniform(-1, 1, 8)
    loss[:2] = [1, -1]  # mix so that both sum to one with losses in [-1, 1]
    q = rng.dirichlet(np.ones(8))
    p = q * np.exp(loss)
    p /= p.sum()
    epsilon = float(np.abs(np.log(p / q)).max())
    for order in (1, 1.5, 3, 20):
        exact = renyi([mpmath.mpf(v) for v in p], [mpmath.mpf(v) for v in q], order)
        assert exact <= pure_renyi(epsilon, order) + 1e-12


@pytest.mark.parametrize("sensitivity", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_discrete_laplace_curve_by_summation(sensitivity, epsilon):
    with mpmath.workdps(60):
        ratio = mpmath.exp(-mpmath.mpf(epsilon) / sensitivity)
        reach = int(130 / -mpmath.log(ratio)) + sensitivity
        norm = (1 - ratio) / (1 + ratio)
        k = range(-reach, reach + sensitivity + 1)
        p = [norm * ratio ** abs(i) for i in k]
        q = [norm * ratio ** abs(i - sensitivity) for i in k]
        for order in (1, 1.5, 2, 7):
            truth = renyi(p, q, mpmath.mpf(order))
            value = discrete_laplace_renyi(epsilon, sensitivity, order)
            assert value == pytest.approx(float(truth), rel=1e-10)


def test_discrete_laplace_curve_by_geometric_series():
    """The three stretches of the sum, in closed form, at extreme amounts and orders."""
    for i, (epsilon, order) in enumerate(random_settings(400, seed=1)):
        if order == 1.0:
            continue
        shift = (1, 2, 3, 17, 10**6)[i % 5]
        with mpmath.workdps(100):
            a, r = mpmath.mpf(order), mpmath.exp(-mpmath.mpf(epsilon) / shift)
            tails = (r ** ((1 - a) * shift) + r ** (a * shift)) / (1 - r)
            step = r ** (2 * a - 1)
            middle = r ** ((1 - a) * shift) * step * (1 - step ** (shift - 1)) / (1 - step)
            truth = mpmath.log((1 - r) / (1 + r) * (tails + middle)) / (a - 1)
            value = discrete_laplace_renyi(epsilon, shift, order)
            assert truth * (1 - mpmath.mpf(10) ** -50) <= value <= truth * (1 + 1e-11)


def test_laplace_curve_is_the_published_one():
    for epsilon, order in random_settings(400, seed=2):
        with mpmath.workdps(80):
            a, e = mpmath.mpf(order), mpmath.mpf(epsilon)
            if order == 1.0:
                truth = e + mpmath.exp(-e) - 1
            else:
                up, down = a / (2 * a - 1), (a - 1) / (2 * a - 1)
                moment = up * mpmath.exp((a - 1) * e) + down * mpmath.exp(-a * e)
                truth = mpmath.log(moment) / (a - 1)
            assert truth * (1 - mpmath.mpf(10) ** -50) <= laplace_renyi(epsilon, order)
            assert laplace_renyi(epsilon, order) <= truth * (1 + 1e-11)


def test_gaussian_curve_by_integration():
    for mu, order in [(0.3, 1.5), (1.0, 3.0), (2.0, 6.0)]:
        x = np.linspace(-60, 60, 240001)
        moment = np.exp(-((x - mu) ** 2) / 2 * order + (order - 1) * x**2 / 2).sum()
        moment *= (x[1] - x[0]) / math.sqrt(2 * math.pi)
        assert gaussian_renyi(mu, order) == pytest.approx(math.log(moment) / (order - 1), rel=1e-9)
        assert gaussian_renyi(mu, order) > order * mu * mu / 2


def test_one_moved_coordinate_is_the_worst_split():
    """Convexity in the shift: splitting an L1 change over coordinates never costs more."""
    for order in (1.0, 1.2, 2.0, 10.0, 100.0):
        for scale in (0.5, 2.0, 10.0):
            whole = discrete_laplace_renyi(5 / scale, 5, order)
            for part in (1, 2):
                split = discrete_laplace_renyi(part / scale, part, order)
                split += discrete_laplace_renyi((5 - part) / scale, 5 - part, order)
                assert split <= whole * (1 + 1e-10)


@pytest.mark.parametrize("order", [1.0, 1.5, 2.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0])
def test_finer_lattices_cost_less_and_pure_is_the_ceiling(epsilon, order):
    values = [discrete_laplace_renyi(epsilon, shift, order) for shift in (1, 2, 8, 10**4)]
    assert values == sorted(values, reverse=True)
    assert values[0] == pure_renyi(epsilon, order)
    assert values[-1] >= laplace_renyi(epsilon, order)
    assert values[0] < epsilon


def test_larger_scales_cost_less():
    values = [discrete_laplace_renyi(3 / scale, 3, 4.0) for scale in (1, 1.001, 2, 50)]
    assert values == sorted(values, reverse=True)


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
@pytest.mark.parametrize("order", [0.5, 0.0, -1.0, math.nan, -math.inf])
def test_orders_below_one_are_refused(curve, order):
    with pytest.raises(ValueError, match="order"):
        curve(1.0, order)


@every_curve
def test_negative_amounts_are_refused(curve):
    with pytest.raises(ValueError, match="epsilon|mu"):
        curve(-0.1, 2.0)


@pytest.mark.parametrize("sensitivity", [0, -1])
def test_discrete_sensitivity_is_a_positive_integer(sensitivity):
    with pytest.raises(ValueError, match="sensitivity"):
        discrete_laplace_renyi(1.0, sensitivity, 2.0)
    with pytest.raises(TypeError, match="sensitivity"):
        discrete_laplace_renyi(1.0, 1.5, 2.0)
