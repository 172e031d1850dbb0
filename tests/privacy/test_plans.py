"""Plans, splits and the exact arithmetic from a privacy amount to a scale of noise."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from skdp_bary.base import Sensitivity
from tests.cases import every
from tests.world import (
    DiscreteLaplace,
    Plan,
    RoundedGaussian,
    Step,
    divided_anew,
    exact,
    gaussian_delta,
    gaussian_renyi,
    pure_renyi,
    split_epsilon,
    split_mu,
)

amounts = st.floats(-6, 4).map(lambda x: 10.0**x)
shares = st.lists(st.floats(-3, 3).map(lambda x: 10.0**x), min_size=1, max_size=8).map(
    lambda values: {f"step {i}": value for i, value in enumerate(values)}
)


@st.composite
def blocks(draw):
    """A sensitivity of a few blocks and cases, with weights of any ratio."""
    width = draw(st.integers(1, 4))
    number = st.integers(0, 2**40)
    case = st.tuples(*[number] * width)
    l1 = draw(st.lists(case, min_size=1, max_size=3))
    if not any(map(any, l1)):
        l1.append((1,) * width)
    weights = draw(st.lists(amounts, min_size=width, max_size=width))
    return Sensitivity(tuple(l1), tuple(tuple(n * n for n in c) for c in l1)), weights


def pure_plan(epsilon, *parts, delta=0.0, relation="add_remove"):
    steps = tuple(Step(f"step {i}", DiscreteLaplace(part)) for i, part in enumerate(parts))
    return Plan(relation, epsilon, delta, steps)


def gaussian_plan(epsilon, delta, *mus):
    steps = tuple(Step(f"step {i}", RoundedGaussian(mu)) for i, mu in enumerate(mus))
    return Plan("add_remove", epsilon, delta, steps)


# From an amount to a scale


@pytest.mark.parametrize("mechanism", [DiscreteLaplace, RoundedGaussian])
@settings(max_examples=150, deadline=None, derandomize=True)
@given(blocks=blocks(), amount=amounts)
def test_scales_never_cost_more_than_the_amount_and_hardly_less(mechanism, blocks, amount):
    sensitivity, weights = blocks
    scales = mechanism(amount).scales(sensitivity, weights)
    loss = mechanism(amount).loss(sensitivity, scales)
    allowed = exact(amount) if mechanism is DiscreteLaplace else Fraction(amount) ** 2
    assert isinstance(loss, Fraction)
    assert allowed * (1 - Fraction(1, 10**12)) <= loss <= allowed


def test_scales_take_the_worst_case_and_blocks_add_up():
    sensitivity = Sensitivity.single(3, 5)
    assert DiscreteLaplace(0.1).scales(sensitivity) == (30.0,)
    assert RoundedGaussian(2.0).scales(sensitivity)[0] == pytest.approx(math.sqrt(5) / 2)
    sensitivity = Sensitivity(((2, 0), (0, 3), (1, 1)), ((4, 0), (0, 9), (2, 2)))
    assert DiscreteLaplace(1.0).scales(sensitivity) == (3.0, 3.0)
    assert DiscreteLaplace(1.0).loss(sensitivity, (1.0, 3.0)) == 2
    assert DiscreteLaplace(1.0).loss(sensitivity, (2.0, 1.5)) == 2
    assert RoundedGaussian(1.0).loss(sensitivity, (1.0, 1.0)) == 9
    assert RoundedGaussian(1.0).loss(sensitivity, (0.5, 100.0)) == 16
    joint = Sensitivity(((2, 3),), ((4, 9),))
    assert DiscreteLaplace(1.0).scales(joint) == (5.0, 5.0)


@every("mechanism", [DiscreteLaplace, RoundedGaussian])
def test_a_block_that_nobody_moves_gets_no_noise_and_missing_noise_is_infinite(mechanism):
    fixed = Sensitivity(((0, 1), (0, 2)), ((0, 1), (0, 4)))
    scales = mechanism(1.0).scales(fixed)
    assert scales[0] == 0.0
    assert scales[1] > 0.0
    assert mechanism(1.0).loss(fixed, scales) <= 1
    assert mechanism(1.0).loss(fixed, (1.0, 0.0)) == math.inf


@every("weights", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, math.nan]])
def test_weights_are_positive_one_a_block(weights):
    with pytest.raises(ValueError, match="weights must be 2 positive numbers"):
        DiscreteLaplace(1.0).scales(Sensitivity(((1, 1),), ((1, 1),)), weights)


@every(
    "l1, l2_squared",
    [
        (((1,), (1, 2)), ((1,),)),
        (((1,),), ((1, 1),)),
        (((-1,),), ((1,),)),
        (((1.0,),), ((1,),)),
        (((1,),), ((math.inf,),)),
        (((1, 1), (0, 1)), ((1, 0), (0, 0))),  # no noise on the second block
        (((0,),), ((1,),)),
    ],
)
def test_sensitivities_are_integers_of_one_width(l1, l2_squared):
    with pytest.raises(ValueError, match="Sensitivity needs cases of equal length|must both be 0"):
        Sensitivity(l1, l2_squared)


# Plans


def test_decimals_add_up_as_people_add_them():
    assert pure_plan(0.3, 0.1, 0.1, 0.1).pure_epsilon == Fraction(3, 10)
    with pytest.raises(ValueError, match=r"cost epsilon=0.3\d*, more than the 0.3 it promises"):
        pure_plan(0.3, 0.1, 0.1, 0.1 + 1e-12)


def test_gaussian_steps_compose_exactly_and_need_a_delta():
    plan = gaussian_plan(1.0, 1e-3, 0.18, 0.24)
    assert plan.mu == pytest.approx(0.3, rel=1e-15)
    assert plan.mu >= 0.3
    delta = gaussian_delta(plan.mu, 1.0)
    gaussian_plan(1.0, delta, 0.18, 0.24)
    with pytest.raises(ValueError, match="cost delta="):
        gaussian_plan(1.0, delta * (1 - 1e-6), 0.18, 0.24)
    with pytest.raises(ValueError, match="more than the 0.0 it promises"):
        gaussian_plan(1.0, 0.0, 1e-3)


def test_the_composed_mu_is_rounded_up():
    rng = np.random.default_rng(0)
    for mus in rng.uniform(1e-3, 0.1, (50, 7)):
        square = sum(Fraction(float(mu)) ** 2 for mu in mus)
        composed = Fraction(gaussian_plan(2.0, 0.5, *map(float, mus)).mu) ** 2
        assert square <= composed <= square * (1 + Fraction(1, 2**50))


@every("epsilon", [0.8, 1.5])
def test_pure_and_gaussian_together_by_summation(epsilon):
    """All pairs of outputs of a pure release and a Gaussian one, in cells."""
    mechanisms = (Step("pure", DiscreteLaplace(0.4)), Step("gaussian", RoundedGaussian(0.5)))
    yes = 1 / (1 + math.exp(-0.4))
    edges = np.linspace(-9, 10, 3001)
    up, down = (np.diff(ndtr(edges - c)) for c in (0.5, 0.0))
    p = np.outer([yes, 1 - yes], up)
    q = np.outer([1 - yes, yes], down)
    truth = np.maximum(p - math.exp(epsilon) * q, 0).sum()
    charged = gaussian_delta(0.5, epsilon - 0.4)
    assert truth < charged
    assert gaussian_delta(0.5, epsilon) < truth  # leaving the pure step out would be false
    Plan("add_remove", epsilon, charged * (1 + 1e-9), mechanisms)
    with pytest.raises(ValueError, match="cost delta="):
        Plan("add_remove", epsilon, gaussian_delta(0.5, epsilon), mechanisms)


def test_pure_steps_may_use_all_of_epsilon_beside_a_gaussian_one():
    steps = (Step("pure", DiscreteLaplace(1.0)), Step("gaussian", RoundedGaussian(0.01)))
    at_zero = gaussian_delta(0.01, 0.0)
    assert Plan("add_remove", 1.0, at_zero, steps).pure_epsilon == 1
    with pytest.raises(ValueError, match="cost delta="):
        Plan("add_remove", 1.0, at_zero * 0.999, steps)


def test_renyi_curve_covers_every_step():
    steps = (
        Step("a", DiscreteLaplace(0.2)),
        Step("b", RoundedGaussian(0.3)),
        Step("c", DiscreteLaplace(0.1)),
    )
    plan = Plan("replace_one", 2.0, 1e-2, steps)
    for order in (1.0, 1.5, 4.0, 60.0):
        single = pure_renyi(0.2, order) + pure_renyi(0.1, order) + gaussian_renyi(0.3, order)
        assert single <= plan.renyi(order) * (1 + 1e-12)
        assert plan.renyi(order) <= (pure_renyi(0.3, order) + gaussian_renyi(0.3, order)) * 1.001
    assert plan.renyi(math.inf) == math.inf
    assert pure_plan(0.3, 0.1, 0.2).renyi(math.inf) == pytest.approx(0.3)


@every("names", [(), ("a", "a")])
def test_names_of_steps_are_unique(names):
    steps = tuple(Step(name, DiscreteLaplace(0.1)) for name in names)
    with pytest.raises(ValueError, match="steps with unique names"):
        Plan("add_remove", 1.0, 0.0, steps)


# Splits


@settings(max_examples=200, deadline=None, derandomize=True)
@given(amounts, shares)
def test_split_epsilon_always_makes_a_plan(epsilon, shares):
    parts = split_epsilon(epsilon, shares)
    assert list(parts) == list(shares)
    total = sum(exact(part) for part in parts.values())
    assert total <= exact(epsilon)
    assert total >= exact(epsilon) - len(shares) * (Fraction(1, 10**12) + exact(epsilon) / 2**50)
    if min(parts.values()) > 0:
        pure_plan(epsilon, *parts.values())


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.floats(-3, 3).map(lambda x: 10.0**x), st.floats(-12, -0.3).map(lambda x: 10.0**x), shares)
def test_split_mu_always_makes_a_plan_and_wastes_nothing(epsilon, delta, shares):
    parts = split_mu(epsilon, delta, shares)
    plan = gaussian_plan(epsilon, delta, *parts.values())
    assert gaussian_delta(plan.mu * (1 + 1e-6), epsilon) > delta * (1 - 1e-9)


@pytest.mark.parametrize("pure", [False, True])
@given(shares, shares, st.integers(0, 3))
def test_steps_divided_anew_cost_no_more(pure, old, new, n_done):
    if pure:
        delta, of, parts = 0.0, DiscreteLaplace, split_epsilon(1.0, old)
    else:
        delta, of, parts = 1e-6, RoundedGaussian, split_mu(1.0, 1e-6, old)
    steps = tuple(Step(name, of(amount)) for name, amount in parts.items())
    plan = Plan("add_remove", 1.0, delta, steps)
    n_done = min(n_done, len(steps) - 1)
    again = divided_anew(plan, n_done, renamed(new), lambda plan: True)
    assert again.steps[:n_done] == plan.steps[:n_done] and len(again.steps) == n_done + len(new)
    cost, paid = (
        p.pure_epsilon if pure else sum(Fraction(s.mechanism.mu) ** 2 for s in p.steps)
        for p in (again, plan)
    )
    assert paid * (1 - Fraction(1, 10**9)) < cost <= paid


def test_steps_of_two_kinds_or_that_nothing_pays_for_are_not_divided_anew():
    steps = (Step("a", DiscreteLaplace(0.5)), Step("b", RoundedGaussian(0.01)))
    with pytest.raises(ValueError, match="divided anew"):
        divided_anew(Plan("add_remove", 1.0, 1e-6, steps), 0, {"b": 1.0}, lambda plan: True)
    with pytest.raises(ValueError, match="epsilon"):
        divided_anew(pure_plan(1.0, 0.5, 0.5), 0, {"b": 1.0}, lambda plan: False)


def renamed(shares):
    return {f"new {name}": share for name, share in shares.items()}


@pytest.mark.parametrize("order", [1.0, 1.5, 6.35, 100.0])
@given(shares, shares, st.integers(0, 3), st.sampled_from([0.1, 1.0, 30.0]))
def test_steps_divided_anew_use_what_a_renyi_loss_pays_for(order, old, new, n_done, epsilon):
    """Nearly all of it: either their sum is as before, or their loss is."""
    steps = [Step(name, DiscreteLaplace(e)) for name, e in split_epsilon(epsilon, old).items()]
    plan = Plan("add_remove", epsilon, 0.0, tuple(steps))
    n_done, paid = min(n_done, len(steps) - 1), plan.renyi(order)
    given = sum(step.mechanism.epsilon for step in steps[n_done:])
    assume(given * min(new.values()) / sum(new.values()) > 1e-9)  # a step gets at least 1e-12
    again = divided_anew(plan, n_done, renamed(new), lambda plan: plan.renyi(order) <= paid)
    assert again.renyi(order) <= paid and again.pure_epsilon <= plan.pure_epsilon
    later = sum(pure_renyi(step.mechanism.epsilon, order) for step in steps[n_done:])
    left = (paid - again.renyi(order)) / later
    assert left < 1e-2 or float(again.pure_epsilon / plan.pure_epsilon) > 1 - 1e-4
