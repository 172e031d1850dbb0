"""Two-sample tests on a release: level and power."""

import numpy as np
import pytest

from skdp_bary import DPSlicedWasserstein
from skdp_bary.geometry import Ball

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

BALL = Ball([0.0, 0.0], 1.0)


def pvalue(seed, shift=0.0, epsilon=1.0, n=400):
    rng = np.random.default_rng(seed)
    X = 0.2 * rng.normal(size=(n, 2))
    Y = 0.2 * rng.normal(size=(n, 2)) + [shift, 0.0]
    sliced = DPSlicedWasserstein(
        6, bounds=BALL, epsilon=epsilon, n_min=n, n_quantiles=8, random_state=seed
    )
    return sliced.fit(X).test(Y, n_resamples=39, random_state=seed).pvalue


@pytest.mark.parametrize("epsilon", [1.0, 1000.0])
def test_the_level_holds_whether_noise_or_sampling_dominates(epsilon):
    """39 resamples: p <= 0.1 has probability 0.1; 60 runs give 6, and 16 once in ten thousand."""
    pvalues = np.array([pvalue(seed, epsilon=epsilon) for seed in range(60)])
    assert (pvalues <= 0.1).sum() <= 16
    assert 0.3 <= pvalues.mean() <= 0.7


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
