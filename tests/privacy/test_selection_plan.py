"""The plan of a search promises no less than all trials and the choice cost."""

import math
from dataclasses import replace

import pytest

from tests.world import (
    DiscreteLaplace,
    LogarithmicTrials,
    RoundedGaussian,
    SelectionPlan,
    Step,
    selection_mu,
)

TRIALS = LogarithmicTrials.of_mean(8)


def pure(fit=0.4, score=0.1, epsilon=1.0):
    steps = Step("fit", DiscreteLaplace(fit)), Step("score", DiscreteLaplace(score))
    return SelectionPlan("add_remove", epsilon, 0.0, steps, TRIALS)


def gaussian(factor):
    mu = factor * selection_mu(TRIALS, 1.0, 1e-6) / math.sqrt(2.0)
    steps = Step("fit", RoundedGaussian(mu)), Step("score", RoundedGaussian(mu))
    return SelectionPlan("replace_one", 1.0, 1e-6, steps, TRIALS)


def test_pure_trials_cost_twice_one_of_them():
    assert pure().epsilon == 1.0
    with pytest.raises(ValueError, match="costs more than the epsilon=1.0"):
        pure(fit=0.41)


def test_gaussian_trials_cost_their_renyi_bound():
    plan = gaussian(1.0 - 1e-9)
    with pytest.raises(ValueError, match="costs more"):
        gaussian(1.01)
    with pytest.raises(ValueError, match="costs more"):
        replace(plan, delta=0.0)


def test_kinds_of_noise_are_not_mixed():
    steps = Step("fit", DiscreteLaplace(0.1)), Step("score", RoundedGaussian(0.01))
    for delta in (0.0, 1e-6):
        with pytest.raises(ValueError, match="one kind"):
            SelectionPlan("add_remove", 1.0, delta, steps, TRIALS)
