"""Races of picks: the closed profile against integrals, and against every small transcript."""

import math
from itertools import product

import mpmath
import numpy as np
import pytest

from tests.cases import every
from tests.distributions import hockey_stick
from tests.world import (
    RATE_OF_MU,
    DiscreteLaplace,
    Plan,
    RaceChoice,
    RoundedGaussian,
    Step,
    gaussian_delta,
    gaussian_mu,
    make_filter,
    race_delta,
    race_mu,
    race_plan,
    race_renyi,
)

RELATIONS = ("add_remove", "replace_one", "replace_any")


def clocks(rate):
    """Densities of the clocks without and with the row, and the growth of the rate."""
    a = mpmath.exp(rate)
    return (lambda t: mpmath.exp(-t)), (lambda t: a * mpmath.exp(-a * t)), a


def integral(f):
    return mpmath.quad(f, [0, 1, 3, 10, 30, 100, 300])


def profile(rate, epsilon, relation):
    """The profile of the clocks from its definition, by numerical integration."""
    without, with_row, a = clocks(rate)

    def over(p, q, cuts):
        return mpmath.quad(lambda t: max(p(t) - mpmath.exp(epsilon) * q(t), 0), cuts)

    if relation == "add_remove":
        first = (rate + epsilon) / (a - 1)
        second = max((rate - epsilon) / (a - 1), 0)
        return max(
            over(without, with_row, [first, first + 1, first + 10, first + 200]),
            over(with_row, without, [0, second / 2, second]) if second else 0,
        )
    # the difference of the clocks has an asymmetric Laplace law
    loss = a / (a + 1)
    tail = epsilon / (a - 1)
    return integral(lambda t: loss * mpmath.exp(-(t + tail)) * (1 - mpmath.exp(-(a - 1) * t)))


@every("relation", RELATIONS[:2])
@every("rate, epsilon", [(0.02, 0.2), (0.3, 0.1), (0.3, 1.0), (1.5, 0.0)])
def test_the_profile_is_that_of_the_clocks(rate, epsilon, relation):
    with mpmath.workdps(20):
        exact = profile(mpmath.mpf(rate), mpmath.mpf(epsilon), relation)
        ratio = mpmath.mpf(race_delta(rate, epsilon, relation)) / exact
    assert 1.0 <= ratio < 1.0 + 1e-11


@every("relation", RELATIONS[:2])
@every("rate, epsilon, mu", [(0.04, 1.0, 0.2), (0.1, 0.3, 0.05), (0.5, 1.0, 1.0), (0.2, 0.0, 1.0)])
def test_the_profile_beside_gaussians_is_a_mean_of_gaussian_profiles(rate, epsilon, mu, relation):
    with mpmath.workdps(20):
        rate_, epsilon_, mu_ = map(mpmath.mpf, (rate, epsilon, mu))
        without, with_row, a = clocks(rate_)

        def gaussian(e):
            upper = mpmath.ncdf(mu_ / 2 - e / mu_)
            return upper - mpmath.exp(e) * mpmath.ncdf(-mu_ / 2 - e / mu_)

        join = integral(lambda t: without(t) * gaussian(epsilon_ + rate_ - (a - 1) * t))
        leave = integral(lambda t: with_row(t) * gaussian(epsilon_ - rate_ + (a - 1) * t))
        more = integral(lambda t: without(t) * gaussian(epsilon_ - (a - 1) * t))
        less = integral(lambda t: mpmath.exp(-a * t) * gaussian(epsilon_ + (a - 1) * t))
        swap = a / (a + 1) * (more + less)
        exact = max(join, leave) if relation == "add_remove" else swap
        ratio = mpmath.mpf(race_delta(rate, epsilon, relation, mu)) / exact
    assert 1.0 <= ratio < 1.0 + 1e-11


@every("relation", RELATIONS)
def test_limits_of_the_composition(relation):
    alone = race_delta(0.1, 0.5, relation)
    assert race_delta(0.1, 0.5, relation, 1e-9) == pytest.approx(alone, rel=1e-10)
    assert race_delta(1e-9, 0.5, relation, 0.2) == pytest.approx(gaussian_delta(0.2, 0.5), rel=1e-6)
    assert race_delta(0.1, 0.5, relation, 0.2) > max(alone, gaussian_delta(0.2, 0.5))
    assert race_delta(1e-4, 700.0, relation, 1e-4) < 1e-300


# Every transcript of small races


def transcripts(covers, rows, rate):
    """Return the probabilities of all sequences of picks.

    ``covers[i][g]`` is the set of rows that point g covers at pick i.
    """
    law = {(): (1.0, frozenset(rows))}
    for family in covers:
        following = {}
        for seen, (chance, left) in law.items():
            weights = np.exp(rate * np.array([len(cover & left) for cover in family]))
            for g, weight in enumerate(weights / weights.sum()):
                following[(*seen, g)] = (chance * weight, left - family[g])
        law = following
    return np.array([chance for chance, _ in law.values()])  # in one order, whatever the rows are


def random_covers(rng):
    """Return covers of rows 0..5 by a few points, with a new grid every other pick."""
    n_picks, n_points = int(rng.integers(1, 6)), int(rng.integers(2, 5))
    covers = []
    for pick in range(n_picks):
        if pick % 2 == 0:
            member = rng.random((n_points, 6)) < rng.uniform(0.1, 0.7)
        covers.append([frozenset(np.flatnonzero(row).tolist()) for row in member])
    return covers


def test_no_transcript_law_exceeds_the_profile():
    """The delta of every transcript law over the profile, both ways, both relations."""
    rng = np.random.default_rng(0)
    ways = ("add_remove", 0, 1), ("add_remove", 1, 0), ("replace_one", 1, 2)
    for rate in [0.3, 1.0] * 60:
        covers = random_covers(rng)
        others = [row for row in range(2, 6) if rng.random() < 0.7]
        laws = [transcripts(covers, [*others, *extra], rate) for extra in ((), (0,), (1,))]
        for epsilon, (relation, p, q) in product((0.0, 0.1, 0.5, 1.0), ways):
            bound = race_delta(rate, epsilon, relation)
            assert hockey_stick(laws[p], laws[q], epsilon) <= bound * (1.0 + 1e-9)


@every("rate, epsilon", [(0.3, 0.2), (0.3, 1.0), (1.0, 0.5)])
def test_long_races_with_rare_covers_reach_the_profile(rate, epsilon):
    chance, n_picks = 2e-3, 10_000
    times = np.arange(n_picks)
    raised = math.exp(rate) * chance / (1.0 + math.expm1(rate) * chance)
    laws = [np.append(p * (1.0 - p) ** times, (1.0 - p) ** n_picks) for p in (chance, raised)]
    both = [hockey_stick(p, q, epsilon) for p, q in (laws, laws[::-1])]
    assert 0.98 < max(both) / race_delta(rate, epsilon, "add_remove") <= 1.0


# Renyi curves


@every("order", [1.001, 2.0, 10.0, 20.0])
def test_renyi_curves_are_those_of_the_clocks(order):
    rate = 0.04
    with mpmath.workdps(20):
        without, with_row, _ = clocks(mpmath.mpf(rate))
        divergences = [
            mpmath.log(integral(lambda t, p=p, q=q: p(t) ** order * q(t) ** (1 - order)))
            / (order - 1)
            for p, q in ((without, with_row), (with_row, without))
        ]
        joined = mpmath.mpf(race_renyi(rate, order, "add_remove")) / max(divergences)
        swapped = mpmath.mpf(race_renyi(rate, order, "replace_one")) / sum(divergences)
    assert 1.0 <= joined < 1.0 + 1e-8
    assert 1.0 <= swapped < 1.0 + 1e-8


def test_renyi_curves_end_and_filters_never_price_a_race_below_them():
    limit = math.exp(0.04) / math.expm1(0.04)
    assert race_renyi(0.04, 0.999 * limit, "add_remove") < math.inf
    assert race_renyi(0.04, limit, "add_remove") == race_renyi(0.04, math.inf, "replace_one")
    assert race_renyi(0.04, limit, "add_remove") == math.inf
    assert race_renyi(0.04, 1.0, "add_remove") == pytest.approx(math.expm1(0.04) - 0.04, rel=1e-6)
    # At large orders a race costs what its plan promises, at small ones its Renyi loss.
    plan = race_plan("add_remove", 0.5, 1e-6, {"cover": 1.0, "rounds": 1.0}, "cover")
    tight, wide = make_filter("renyi", 0.6, 1e-9), make_filter("renyi", 20.0, 1e-3)
    assert plan.renyi(tight.order) == math.inf
    assert tight.price_plan(plan) == tight.price(plan.epsilon, plan.delta)
    rates = {type(step.mechanism): step.mechanism for step in plan.steps}
    loss = race_renyi(rates[RaceChoice].rate, wide.order, "add_remove")
    loss += rates[RoundedGaussian].mu ** 2 * wide.order / 2.0
    assert wide.price_plan(plan).delta == 0
    assert loss * 1e6 <= wide.price_plan(plan).loss <= loss * 1e6 + 2


# Calibration and plans


@every("relation", RELATIONS)
@every("epsilon, delta", [(0.1, 1e-7), (1.0, 1e-6), (4.0, 1e-3)])
def test_calibration_is_tight_and_costs_little(epsilon, delta, relation):
    mu = race_mu(epsilon, delta, relation)
    assert race_delta(RATE_OF_MU * mu, epsilon, relation, mu) <= delta
    more = mu * (1.0 + 1e-8)
    assert race_delta(RATE_OF_MU * more, epsilon, relation, more) > delta
    assert 0.92 < mu / gaussian_mu(epsilon, delta) < 0.97


def steps_of(rate, *mus):
    steps = [Step(f"step {i}", RoundedGaussian(mu)) for i, mu in enumerate(mus)]
    return (Step("cover", RaceChoice(rate)), *steps)


@every("relation", RELATIONS)
def test_a_plan_with_a_race_uses_up_its_budget(relation):
    shares = {"moments": 0.3, "cover": 1.0, "rounds": 0.7}
    plan = race_plan(relation, 1.0, 1e-6, shares, "cover")
    assert [step.name for step in plan.steps] == list(shares)
    mechanisms = {step.name: step.mechanism for step in plan.steps}
    assert mechanisms["cover"].rate == RATE_OF_MU * race_mu(1.0, 1e-6, relation)
    ratio = mechanisms["moments"].mu ** 2 / mechanisms["rounds"].mu ** 2
    assert ratio == pytest.approx(3 / 7)
    with pytest.raises(ValueError, match="more than the"):
        Plan(relation, 1.0, 0.999e-6, plan.steps)
    bigger = (Step("more", RaceChoice(1.001 * mechanisms["cover"].rate)), *plan.steps[::2])
    with pytest.raises(ValueError, match="more than the"):
        Plan(relation, 1.0, 1e-6, bigger)


def test_a_plan_of_a_race_alone_or_beside_pure_steps():
    rate, pure = 0.02, DiscreteLaplace(0.25)
    delta = race_delta(rate, 0.25, "add_remove")
    Plan("add_remove", 0.25, delta, steps_of(rate))
    Plan("add_remove", 0.5, delta, (*steps_of(rate), Step("count", pure)))
    with pytest.raises(ValueError, match="delta"):
        Plan("add_remove", 0.25, 0.0, steps_of(rate))
    with pytest.raises(ValueError, match="delta"):
        Plan("add_remove", 0.499, delta, (*steps_of(rate), Step("count", pure)))
    twice = (*steps_of(0.001), Step("again", RaceChoice(0.001)))
    with pytest.raises(ValueError, match="priced jointly"):
        Plan("add_remove", 1.0, 0.1, twice)


@every("rate", [0.0, -1.0, math.inf, math.nan, 31.0])
def test_rates_are_checked(rate):
    with pytest.raises(ValueError, match="rate"):
        RaceChoice(rate)
    with pytest.raises(ValueError, match="rate"):
        race_delta(rate, 1.0, "add_remove")
    for units, right in product((1, 3, 1 << 16), (0.1, 0.04321, 1 / 3)):
        exact = mpmath.mpf(RaceChoice(right).unit_rate(units)) * units
        assert exact <= mpmath.mpf(right)  # never adds up to more
