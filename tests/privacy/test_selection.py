"""The price of a private choice, against the exact distribution of small choices."""

import math

import numpy as np
import pytest
from scipy import stats

from tests import world
from tests.cases import every


def law_of(trials, largest=4000):
    """Probabilities of 0, 1, 2, ... trials."""
    k = np.arange(1, largest)
    weight = (1.0 - trials.gamma) ** k / k
    return np.append(0.0, weight / weight.sum())


def law_of_best(base, law):
    """Distribution of the best of K draws from `base`, whose outcomes are in rising order."""
    below = np.concatenate([[0.0], np.cumsum(base)])
    generating = np.array([(law * b ** np.arange(len(law))).sum() for b in below])
    return np.diff(generating)


def renyi(p, q, order):
    kept = p > 0
    return math.log((p[kept] ** order * q[kept] ** (1.0 - order)).sum()) / (order - 1.0)


def test_a_choice_among_pure_trials_costs_two_of_one():
    rng = np.random.default_rng(0)
    trials = world.LogarithmicTrials(0.05)
    law, worst = law_of(trials), 0.0
    for _ in range(200):
        base = 0.01 + rng.dirichlet(np.full(4, 0.5))
        base /= base.sum()
        other = base * np.exp(rng.permutation([0.0, 1.0, *rng.choice([0.0, 1.0], size=2)]))
        other /= other.sum()
        one = np.abs(np.log(base / other)).max()
        all_ = np.abs(np.log(law_of_best(base, law) / law_of_best(other, law))).max()
        worst = max(worst, all_ / one)
    assert worst <= 2.0 + 1e-9
    assert worst > 1.2  # a choice does cost more than one trial


@every("mean", [8, 100])
def test_renyi_bound_holds_whatever_is_seen_of_gaussian_trials(mean):
    rng = np.random.default_rng(mean)
    trials = world.LogarithmicTrials.of_mean(mean)
    law, closest = law_of(trials), 0.0
    for _ in range(150):
        edges = np.concatenate([[-np.inf], np.sort(rng.normal(0.5, 2.0, size=3)), [np.inf]])
        rising = rng.permutation(4)  # which outcome of a trial is preferred to which
        base, other = np.diff(stats.norm.cdf(edges))[rising], np.diff(stats.norm.cdf(edges - 1.0))
        p, q = law_of_best(base, law), law_of_best(other[rising], law)
        if min(p.min(), q.min()) > 1e-12:  # the differences above are exact to 1e-15
            for order in (1.5, 3.0):
                closest = max(closest, renyi(p, q, order) / trials.gaussian_renyi(1.0, order))
    assert 0.4 < closest <= 1.0
    assert trials.gaussian_renyi(1.0, math.inf) == math.inf


def test_selection_mu_is_the_largest_that_fits():
    trials = world.LogarithmicTrials.of_mean(10)
    mu = world.selection_mu(trials, 1.0, 1e-6)
    assert world.renyi_delta(lambda a: trials.gaussian_renyi(mu, a), 1.0) <= 1e-6
    assert world.renyi_delta(lambda a: trials.gaussian_renyi(1.01 * mu, a), 1.0) > 1e-6
    assert mu < world.gaussian_mu(1.0, 1e-6)


def test_numbers_of_trials_follow_their_law_and_have_its_mean():
    trials = world.LogarithmicTrials.of_mean(4)
    noise = world.noise_generator(3)
    drawn = np.array([trials.draw(noise) for _ in range(4000)])
    law = law_of(trials)
    cut = int(np.searchsorted(np.cumsum(law), 0.98))
    expected = np.append(law[:cut], law[cut:].sum())
    observed = np.bincount(np.minimum(drawn, cut), minlength=cut + 1)
    kept = expected > 0
    assert observed[~kept].sum() == 0
    assert stats.chisquare(observed[kept], 4000 * expected[kept]).pvalue > 1e-3
    off = np.roll(expected, 1) * 0.5 + expected * 0.5
    off = np.where(kept, off, 0.0) / off[kept].sum()
    assert stats.chisquare(observed[kept], 4000 * np.maximum(off[kept], 1e-9)).pvalue < 1e-6
    trials = world.LogarithmicTrials.of_mean(12)
    law = law_of(trials)
    assert trials.mean == pytest.approx(12.0, rel=1e-6)
    assert (law * np.arange(len(law))).sum() == pytest.approx(12.0, rel=1e-4)


def test_a_pure_base_is_rounded_down():
    assert world.LogarithmicTrials(0.1).pure_base(1.0) == 0.5
