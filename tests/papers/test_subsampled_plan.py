import math
from dataclasses import replace

import pytest

from skdp_bary.exceptions import RelationError
from tests.cases import every
from tests.world import amplified_delta, amplify, gaussian_delta, sampling_for, subsampled_plan

RELATIONS = ("add_remove", "replace_one")
SHARES = {"first": 0.3, "second": 0.7}


@every("relation", RELATIONS)
@every("epsilon", [1e-3, 0.1, 1.0, 5.0, 300.0])
@every("rate", [1e-4, 0.1, 0.9, 1.0])
def test_pure_steps_cost_what_is_charged_after_amplification(relation, epsilon, rate):
    plan = subsampled_plan(relation, epsilon, 0.0, SHARES, rate)
    loss, _ = amplify(float(plan.pure_epsilon), 0.0, rate, plan.sampling, relation)
    assert 0.999 * epsilon < loss <= epsilon
    assert plan.batch_epsilon == pytest.approx(
        epsilon - math.log(rate) + math.log1p(-(1 - rate) * math.exp(-epsilon)), rel=1e-6
    )


@every("relation", RELATIONS)
@every("rate", [0.01, 0.5, 1.0])
def test_gaussian_steps_cost_what_is_charged_after_amplification(relation, rate):
    plan = subsampled_plan(relation, 1.0, 1e-6, SHARES, rate)
    delta = amplified_delta(
        lambda e: gaussian_delta(plan.mu, e), 1.0, rate, plan.sampling, relation
    )
    assert 0.99e-6 < delta <= 1e-6


@every("delta", [0.0, 1e-6])
def test_a_plan_that_promises_too_much_is_refused(delta):
    plan = subsampled_plan("add_remove", 1.0, delta, SHARES, 0.1)
    for change in ({"epsilon": 0.999}, {"rate": 0.101}, {"batch_epsilon": 2.0}):
        with pytest.raises(ValueError, match="more than"):
            replace(plan, **change)


@every("relation", RELATIONS)
@every("delta", [0.0, 1e-6])
def test_the_renyi_curve_is_below_that_of_all_rows(relation, delta):
    plan = subsampled_plan(relation, 1.0, delta, SHARES, 0.1)
    for order in (1.5, 8.0, 40.0):
        assert 0.0 < plan.renyi(order) < super(type(plan), plan).renyi(order)


def test_sampling_follows_from_the_relation():
    assert [sampling_for(relation) for relation in RELATIONS] == ["poisson", "without_replacement"]
    with pytest.raises(RelationError, match="no amplification"):
        sampling_for("replace_any")
    with pytest.raises(RelationError):
        replace(subsampled_plan("add_remove", 1.0, 0.0, SHARES, 0.1), relation="replace_any")


@every("rate", [0.0, -0.1, 1.5, math.nan])
def test_the_rate_is_a_probability(rate):
    with pytest.raises(ValueError, match="subsample"):
        subsampled_plan("add_remove", 1.0, 0.0, SHARES, rate)
