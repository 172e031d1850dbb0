"""Plans of many batches: the composed loss is what is charged, and other computations agree."""

import math
from functools import cache, partial

import numpy as np
import pytest

from skdp_bary.exceptions import RelationError
from tests.cases import every
from tests.world import (
    BatchedPlan,
    RoundedGaussian,
    Step,
    amplified_delta,
    amplify,
    batched_plan,
    exact,
    gaussian_delta,
    gaussian_epsilon,
    renyi_delta,
)

library = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")

PLANS = [
    (10.0, 1e-5, 300, 128, 7291),
    (1.0, 1e-5, 50, 128, 10000),
    (3.0, 1e-3, 20, 32, 497),
    (1.0, 1e-5, 4, 50, 50),
]


@cache  # several tests look at one plan, which nothing can change
def make(epsilon, delta, n_batches, batch_size, n_persons):
    settings = {"n_batches": n_batches, "batch_size": batch_size, "n_persons": n_persons}
    return batched_plan("replace_one", epsilon, delta, {"batch": 1.0}, **settings)


def composed_epsilon(plan, step=1e-3):
    """Compose the amplified profile of one batch by dp_accounting, both directions alike."""
    rule = (plan.rate, "without_replacement", "replace_one")
    reach = amplify(gaussian_epsilon(plan.mu, 1e-15), 0.0, *rule)[0]
    losses = step * np.arange(math.ceil(reach / step) + 2)
    upper = np.array(
        [amplified_delta(partial(gaussian_delta, plan.mu), loss, *rule) for loss in losses]
    )
    lower = -np.expm1(-losses[1:]) + np.exp(-losses[1:]) * upper[1:]
    deltas = np.minimum(np.concatenate([lower[::-1], upper]), 1.0)
    deltas = np.maximum.accumulate(deltas[::-1])[::-1]
    top = len(losses) - 1
    single = library.PrivacyLossDistribution(
        library.pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -top, top, deltas)
    )
    return single.self_compose(plan.n_batches).get_epsilon_for_delta(plan.delta)


@every("numbers", PLANS)
def test_another_composition_agrees(numbers):
    """The losses of one batch are put on a grid and convolved by other code."""
    plan = make(*numbers)
    assert composed_epsilon(plan) == pytest.approx(plan.epsilon, rel=0.02)


@every("numbers", PLANS)
def test_renyi_losses_are_above_the_exact_ones(numbers):
    plan = make(*numbers)
    losses = [renyi_delta(plan.renyi, times * plan.epsilon) for times in (0.999, 3.0)]
    assert losses[0] >= plan.delta > losses[1]


def test_noise_of_the_adaptation_study():
    """Standard deviations computed by other code for USPS and MNIST as private rows."""
    assert 1.0 / make(10.0, 1e-5, 300, 128, 7291).mu == pytest.approx(0.561, abs=2e-3)
    assert 1.0 / make(1.0, 1e-5, 300, 128, 10000).mu == pytest.approx(1.258, abs=2e-3)


@every("batch_size", [1, 3, 7, 10, 49])
def test_the_rate_reads_as_the_share_of_a_batch(batch_size):
    rate = make(1.0, 1e-5, 2, batch_size, 49).rate
    assert int(exact(rate) * 49) == batch_size
    assert rate <= math.nextafter(batch_size / 49, 2.0)


def test_plans_that_cost_more_than_they_promise_are_refused():
    plan = make(1.0, 1e-5, 20, 32, 497)
    louder = Step("batch", RoundedGaussian(plan.mu * 1.01))
    for step, n_batches, batch_size in (
        (louder, 20, 32),
        (plan.steps[0], 21, 32),
        (plan.steps[0], 20, 33),
    ):
        with pytest.raises(ValueError, match="more than the"):
            BatchedPlan("replace_one", 1.0, 1e-5, (step,), n_batches, batch_size, 497)


def test_other_relations_and_batches_of_more_than_the_rows_are_refused():
    for relation in ("add_remove", "replace_any"):
        with pytest.raises(RelationError, match="replace_one"):
            batched_plan(relation, 1, 1e-5, {"batch": 1.0}, n_batches=2, batch_size=3, n_persons=9)
    for batch_size in (0, 10, 2.5):
        with pytest.raises((ValueError, TypeError), match="batch_size"):
            make(1.0, 1e-5, 2, batch_size, 9)
