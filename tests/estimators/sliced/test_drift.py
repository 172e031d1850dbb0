"""PrivateDriftSketch: releases that differ are told apart, wrong comparisons are refused."""

import warnings

import numpy as np
import pytest

from skdp_bary import PrivateDriftSketch
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.geometry import Ball, Box
from tests.cases import every
from tests.world import _question

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def sketch(shift=0.0, seed=0, n=2000, **given):
    X = 0.3 * np.random.default_rng(seed).standard_normal((n, 2)) + shift
    return PrivateDriftSketch(**{"bounds": (-1, 1), "random_state": seed} | given).fit(X)


def test_a_shift_is_found_and_nothing_is_not():
    before = sketch()
    drifted = before.test(sketch(0.2, seed=1), n_resamples=199, random_state=0)
    assert drifted.pvalue == 1 / 200 and drifted.interval[0] > 0
    same = before.test(sketch(seed=2), n_resamples=199, random_state=0)
    assert same.pvalue > 0.05 and same.distance < drifted.distance


def test_p_values_and_intervals_agree():
    """Intervals of sketches that hardly differ held 0 in most tests with p below 0.05."""
    said = []
    for seed in range(24):
        before, after = sketch(n=1000, seed=seed), sketch(0.05, n=1000, seed=seed + 100)
        found = before.test(after, n_resamples=199, random_state=seed)
        said.append(found.pvalue <= 0.05)
        assert (found.interval[0] > 0) == said[-1]
        assert found.interval[0] <= found.distance <= found.interval[1]
    assert 4 < sum(said) < 24


def test_intervals_hold_the_distance():
    """Of the means of the same waves over many rows; 95 of 100 hold it."""
    question, rows = _question(Box([-1.0] * 2, [1.0] * 2), 1, False), np.random.default_rng(0)
    many = 0.3 * rows.standard_normal((100_000, 2))
    means = [question.features(np.clip(many + shift, -1, 1)).mean(axis=0) for shift in (0, 0.05)]
    true, held = np.linalg.norm(means[1] - means[0]), 0
    for seed in range(40):
        after = sketch(0.05, n=1000, seed=seed + 100)
        low, high = sketch(n=1000, seed=seed).test(after, n_resamples=499, random_state=0).interval
        held += low <= true <= high
    assert held >= 35


def test_public_rows_are_given_by_name():
    before, rows = sketch(), 0.3 * np.random.default_rng(5).standard_normal((2000, 2))
    assert before.test(public_rows=rows, n_resamples=199, random_state=0).pvalue > 0.05
    assert before.test(public_rows=rows + 0.2, n_resamples=199).pvalue < 0.05
    with pytest.raises(TypeError, match="private rows need a sketch of their own"):
        before.test(rows)


def test_what_cannot_be_compared_is_refused():
    before = sketch()
    with pytest.raises(ValueError, match="other must be another sketch"):
        before.test()
    with pytest.raises(ValueError, match="got a copy of this one"):
        before.test(before)
    with pytest.raises(ValueError, match="the same bounds.* columns in the same order"):
        before.test(sketch(seed=1, bounds=(-2, 2)))
    with pytest.raises(ValueError, match="delta must be above 0"):
        sketch(delta=0.0)


@every("domain", [Box([0.0, -5.0], [1.0, 1e4]), Ball([3.0, 1.0], 7.0)])
def test_waves_of_a_row_are_its_own_and_of_norm_at_most_one(domain):
    question = _question(domain, 1, False)
    X = np.random.default_rng(0).normal(size=(30, 2)) * 1e3
    waves = question.features(X)
    assert all(
        np.array_equal(question.features(row[None])[0], w) for row, w in zip(X, waves, strict=True)
    )
    squares = (question.table**2).sum(axis=0)
    assert squares.max() * question.slices.n_directions <= 1.0
    assert squares.max() * question.slices.n_directions > 1.0 - 1e-9


def test_moments_without_noise_are_those_of_the_rows():
    X = 0.3 * np.random.default_rng(0).standard_normal((500, 2))
    made = PrivateDriftSketch(1e6, bounds=(-1, 1), random_state=0, delta=1e-2).fit(X).moments_
    waves = _question(Box([-1.0, -1.0], [1.0, 1.0]), 1, False).features(X)
    assert abs(made.persons - 500) <= 1
    np.testing.assert_allclose(made.mean, waves.mean(axis=0), atol=2e-3)
    np.testing.assert_allclose(made.second, waves.T @ waves / 500, atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_level_is_kept(epsilon):
    """Of 300 pairs of releases about one law 5 % are told apart, give or take four errors."""
    rejected = sum(
        sketch(seed=2 * i, n=1000, epsilon=epsilon)
        .test(sketch(seed=2 * i + 1, n=1000, epsilon=epsilon), n_resamples=399, random_state=i)
        .pvalue
        <= 0.05
        for i in range(300)
    )
    assert 0.01 * 300 <= rejected <= 0.1 * 300


def test_a_sketch_of_so_few_that_noise_drowns_them_says_so():
    """By what was released; persons many enough tell laws apart, and warn of nothing."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    sketch = PrivateDriftSketch(epsilon=0.05, bounds=(-4, 4))
    told = "Noise dominates their means at epsilon=0.05"
    with pytest.warns(PrivacyWarning, match=f"about 60 people[.] {told}"):
        PrivateDriftSketch(epsilon=0.05, bounds=(-4, 4), neighbors="replace_one").fit(X)
    with pytest.warns(PrivacyWarning, match=f", by a noisy count[.] {told}"):
        sketch.fit(X)
    assert sketch.moments_.mean_sd > 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateDriftSketch(epsilon=0.05, bounds=(-4, 4)).fit(np.tile(X, (200, 1)))


@every("given", [{}, {"neighbors": "replace_one"}, {"neighbors": "replace_any", "bounds": None}])
def test_quotes_say_the_noise(given):
    fitted = sketch(n_hint=2000, **given)
    said = float(fitted.privacy_advice(2).split("about ")[1].split(";")[0])
    assert said == pytest.approx(fitted.moments_.mean_sd, rel=0.1)
    assert "Pass n_hint" in PrivateDriftSketch(bounds=(-1, 1)).privacy_advice(2)
