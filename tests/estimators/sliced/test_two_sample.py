"""Two-sample tests on a release: level and power."""

import numpy as np
import pytest

from skdp_bary import DPSlicedWasserstein
from skdp_bary.geometry import Ball
from tests.cases import every
from tests.world import released_levels

pytestmark = [
    pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning"),
    pytest.mark.filterwarnings("ignore:DPSlicedWasserstein.test is deprecated:FutureWarning"),
]

BALL = Ball([0.0, 0.0], 1.0)


def pvalue(seed, shift=0.0, epsilon=1.0, n=400):
    rng = np.random.default_rng(seed)
    X = 0.2 * rng.normal(size=(n, 2))
    Y = 0.2 * rng.normal(size=(n, 2)) + [shift, 0.0]
    sliced = DPSlicedWasserstein(
        6, bounds=BALL, epsilon=epsilon, n_min=n, n_quantiles=8, random_state=seed
    )
    return sliced.fit(X).test(Y, n_resamples=39, random_state=seed).pvalue


@every("epsilon", [1.0, 1000.0])
def test_the_level_holds_whether_noise_or_sampling_dominates(epsilon):
    """39 resamples: p <= 0.1 has probability 0.1; 60 runs give 6, and 16 once in ten thousand."""
    pvalues = np.array([pvalue(seed, epsilon=epsilon) for seed in range(60)])
    assert (pvalues <= 0.1).sum() <= 16
    assert 0.3 <= pvalues.mean() <= 0.7


def rare_values(rng, n):
    return (rng.random((n, 2)) < 0.01) * 0.7


def heavy_tails(rng, n):
    return BALL.clip(0.05 * rng.standard_t(1.2, size=(n, 2)))


@every("law, n, m", [(rare_values, 10000, 50), (heavy_tails, 500, 50)])
def test_the_level_holds_where_public_rows_miss_part_of_the_law(law, n, m):
    """p <= 0.05 has probability 0.05; 30 runs give 1.5, and 7 once in a thousand. A null drawn from
    the public rows alone rejects in 13 and 4 of them."""
    rejected = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        sliced = DPSlicedWasserstein(
            4, bounds=BALL, epsilon=50.0, delta=1e-3, n_min=n, random_state=seed
        ).fit(law(rng, n))
        result = sliced.test(law(rng, m), n_resamples=39, random_state=seed)
        rejected += result.pvalue <= 0.05
    assert rejected <= 6


@every("n_quantiles", [1, 2, 16])
def test_draws_from_a_release_have_its_means_and_more_spread(n_quantiles):
    rng = np.random.default_rng(0)
    X = BALL.clip(0.2 * rng.standard_t(3, size=(2000, 2)))
    sliced = DPSlicedWasserstein(
        6, bounds=BALL, epsilon=1e4, n_min=2000, n_quantiles=n_quantiles, random_state=0
    ).fit(X)
    query = sliced.sketch().query
    levels = released_levels(sliced.sketch(), 1600, rng)
    true = query.public_levels(X)
    means = query.level_means(levels, np.ones(1600)).mean(axis=1)
    reference = query.level_means(true, np.ones(2000)).mean(axis=1)
    np.testing.assert_allclose(means, reference, atol=0.02)
    assert (levels.var(axis=1) >= 0.95 * true.var(axis=1)).all()


def test_a_shift_is_found():
    assert np.mean([pvalue(seed, shift=0.4) for seed in range(10)]) <= 0.06


def test_the_result_says_what_was_simulated():
    X = np.random.default_rng(0).normal(size=(100, 2)) * 0.1
    sliced = DPSlicedWasserstein(6, bounds=BALL, n_min=100, random_state=0).fit(X)
    result = sliced.test(X, n_resamples=19, random_state=3)
    assert result.statistic == sliced.cost(X)
    assert result.null.shape == (19,)
    assert result.pvalue == (1 + (result.null >= result.statistic).sum()) / 20
    again = sliced.test(X, n_resamples=19, random_state=3)
    np.testing.assert_array_equal(result.null, again.null)
    many = np.tile(X, (60, 1))
    assert 0 < sliced.test(many, n_resamples=3, random_state=0).pvalue <= 1


def test_it_says_what_to_use_instead():
    sliced = DPSlicedWasserstein(2, bounds=BALL, n_min=20, n_quantiles=2, random_state=0)
    X = np.zeros((20, 2))
    with pytest.warns(FutureWarning, match="PrivateDriftSketch"):
        sliced.fit(X).test(X, n_resamples=1)
