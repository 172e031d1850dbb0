"""Calibrations against 60-digit arithmetic, dp_accounting and exact sums over small outputs."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import every
from tests.distributions import gaussian_pmf, hockey_stick
from tests.world import (
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    gaussian_renyi,
    order_epsilon,
    pure_renyi,
    renyi_delta,
    renyi_order,
)

epsilons = st.floats(-4, 3).map(lambda x: 10.0**x)
deltas = st.floats(-14, -0.01).map(lambda x: 10.0**x)


def exact_profile(mu, epsilon):
    """Evaluate the textbook form with enough digits for its cancellations."""
    with mpmath.workdps(80 + 2 * int(abs(math.log10(mu)))):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        upper = mpmath.erfc((epsilon / mu - mu / 2) / mpmath.sqrt(2)) / 2
        lower = mpmath.erfc((epsilon / mu + mu / 2) / mpmath.sqrt(2)) / 2
        return upper - mpmath.exp(epsilon) * lower


def profile_grid(n, seed=0):
    rng = np.random.default_rng(seed)
    for i in range(n):
        mu = 10.0 ** rng.uniform(-12, 6)
        x = (rng.uniform(-40, 37.5), rng.uniform(-2, 8), 10.0 ** rng.uniform(-10, 2) - mu / 2)[
            i % 3
        ]
        epsilon = max(mu * x + mu * mu / 2, 0.0)
        if epsilon / mu - mu / 2 < 37.5:  # beyond, the profile is below 1e-307
            yield mu, epsilon


def test_profile_is_a_tight_upper_bound_over_18_decades():
    for mu, epsilon in profile_grid(1500):
        truth = exact_profile(mu, epsilon)
        assert truth <= gaussian_delta(mu, epsilon) <= min(truth * (1 + 2.0**-37) + 1e-300, 1)
    for mu, epsilon in profile_grid(300, seed=1):
        truth = exact_profile(mu, -epsilon)
        assert truth <= gaussian_delta(mu, -epsilon) <= min(truth * (1 + 2.0**-36) + 1e-300, 1)


@every("mu", [1e-12, 1.0, 1e6])
def test_profile_far_out_stays_positive_and_tiny(mu):
    epsilon = mu * mu / 2 + 1e3 * mu
    assert 0.0 < gaussian_delta(mu, epsilon) < 1e-300
    assert gaussian_delta(mu, 1e308) < 1e-300
    assert gaussian_delta(0.0, 0.0) == 0.0


@every("arguments, name", [((-1.0, 1.0), "mu"), ((math.nan, 1.0), "mu"), ((1.0, math.inf), "eps")])
def test_profile_refuses_what_is_not_an_amount(arguments, name):
    with pytest.raises(ValueError, match=name):
        gaussian_delta(*arguments)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(epsilons, deltas)
def test_mu_is_the_largest(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert exact_profile(mu, epsilon) <= delta
    assert gaussian_delta(mu, epsilon) <= delta
    if delta < 0.9:
        assert exact_profile(mu * (1 + 1e-9), epsilon) > delta


@settings(max_examples=60, deadline=None, derandomize=True)
@given(epsilons, deltas)
def test_epsilon_is_the_smallest(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert exact_profile(mu, epsilon) <= delta
    if epsilon > 1e-6:
        assert exact_profile(mu, epsilon * (1 - 1e-6)) > delta


@settings(max_examples=60, deadline=None, derandomize=True)
@given(epsilons, deltas, st.floats(1e-15, 1e-3))
def test_a_smaller_mu_never_appears_to_cost_more(epsilon, delta, cut):
    assert gaussian_delta(gaussian_mu(epsilon, delta) * (1 - cut), epsilon) <= delta


@every(
    "epsilon, delta",
    [(1e-12, 1e-300), (1e-9, 0.5), (1e9, 1e-6), (1e12, 1e-12), (1.0, 1 - 1e-12), (700.0, 1e-200)],
)
def test_mu_at_extreme_targets(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert exact_profile(mu, epsilon) <= delta
    assert exact_profile(mu * (1 + 1e-4), epsilon) > delta * (1 - 1e-9)


@every("mu", [1e-12, 1e-3, 30.0, 1e4, 1e6])
@every("delta", [1e-300, 1e-13, 1 - 1e-12])
def test_epsilon_at_extreme_targets(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert exact_profile(mu, epsilon) <= delta
    if epsilon > 0:
        assert exact_profile(mu, epsilon * (1 - 1e-9)) > delta * (1 - 1e-9)


@every("function", [gaussian_mu, gaussian_epsilon])
def test_gaussian_noise_has_no_pure_guarantee(function):
    with pytest.raises(ValueError, match="delta must be in .* Gaussian noise, .* got 0.0"):
        function(1.0, 0.0)


@every("sigma", [0.3, 0.7, 2.0])
@every("epsilon", [0.0, 0.5, 2.0, 6.0])
def test_rounded_gaussian_obeys_the_profile(sigma, epsilon):
    k = np.arange(-60, 62)
    p, q = (gaussian_pmf(k - c, sigma) for c in (1, 0))
    assert hockey_stick(p, q, epsilon) <= gaussian_delta(1 / sigma, epsilon) + 1e-15


# Renyi conversions


def discrete_curve(p, q):
    def curve(order):
        both = np.log(p) - np.log(q)
        if order == math.inf:
            return float(both.max())
        terms = np.log(p) + (order - 1) * both
        return float(np.logaddexp.reduce(terms)) / (order - 1)

    return curve


@every("seed", range(20))
def test_conversion_covers_random_pairs(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(6, 0.7), size=2)
    curve = discrete_curve(p, q)
    for epsilon in (0.1, 0.5, 1.5):
        exact = hockey_stick(p, q, epsilon)
        assert exact <= renyi_delta(curve, epsilon) + 1e-15


def test_conversion_is_attained_so_nothing_smaller_is_valid():
    order, target = 50.0, 0.4
    loss = target + math.log(order / (order - 1))  # where the pointwise bound touches
    p = np.array([1e-3, 1 - 1e-3])
    q = np.array([1e-3 * math.exp(-loss), 1 - 1e-3 * math.exp(-loss)])
    curve = discrete_curve(p, q)
    exact = hockey_stick(p, q, target)
    assert exact <= renyi_delta(curve, target) <= exact * (1 + 1e-5)
    assert target <= order_epsilon(curve(order), order, exact) <= target * (1 + 1e-5)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(epsilons, deltas)
def test_renyi_order_admits_most_gaussian_noise(epsilon, delta):
    order, budget = renyi_order(epsilon, delta)
    with mpmath.workdps(40):

        def exact_budget(a):
            tail = (mpmath.log(delta) + mpmath.log(a)) / (a - 1)
            return mpmath.mpf(epsilon) - mpmath.log(1 - 1 / mpmath.mpf(a)) + tail

        truth = exact_budget(mpmath.mpf(order))
        assert 0 < budget <= truth
        assert budget >= truth - 1e-9 * (1 + abs(truth))
        for other in 1 + (order - 1) * np.array([0.3, 0.8, 0.97, 1.03, 1.25, 3.0]):
            assert exact_budget(mpmath.mpf(other)) / other <= budget / order * (1 + 1e-4)


def test_renyi_order_implies_the_target_and_conversion_ends():
    for epsilon, delta in [(0.1, 1e-9), (1.0, 5e-7), (8.0, 1e-5), (1e6, 1e-3)]:
        order, budget = renyi_order(epsilon, delta)
        assert order_epsilon(budget, order, delta) <= epsilon * (1 + 1e-9)
        assert renyi_delta(lambda a, b=budget: b if a < math.inf else a, epsilon) <= (
            delta * (1 + 1e-6)
        )
        assert order == float(f"{order:.12g}")

    def curve(order):
        return pure_renyi(1.0, order)

    assert renyi_delta(curve, 1.0) == 0.0
    assert renyi_delta(lambda order: gaussian_renyi(9.0, order), 0.0) == 1.0
