"""PrivateTwoSampleTest: what differs is found, what is equal is not, and refusals are in words."""

import re

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateTwoSampleTest
from skdp_bary.geometry import Box
from tests.cases import every
from tests.world import (
    MeanLaw,
    NoisyNumber,
    _gaussian_spread,
    _planes,
    compare_means,
    home,
    slicing_directions,
    unit_slices,
)

TUNED = home("SlicedTuning").TUNED

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
SEEDED = {"bounds": (-1, 1), "random_state": 0, "n_resamples": 199}


def cohorts(shift, n=600, d=2, seed=0, spread=0.3):
    rng = np.random.default_rng(seed)
    X = spread * rng.standard_normal((2 * n, d))
    X[n:] += shift
    return X, np.repeat([0, 1], n)


@every("neighbors", ["add_remove", "replace_one", "replace_any"])
def test_a_shift_is_found_and_nothing_is_not(neighbors):
    test = PrivateTwoSampleTest([0, 1], neighbors=neighbors, **SEEDED)
    result = test.fit(*cohorts(0.2)).result_
    assert result.pvalue == test.pvalue_ == 1 / 200
    assert 0 < result.interval[0] <= result.distance <= result.interval[1]
    equal = test.fit(*cohorts(0.0)).result_
    assert equal.pvalue > 0.05 and equal.interval[0] < 0.1


def test_cells_halve_with_the_rows():
    slices = unit_slices(Box([-1.0], [1.0]), slicing_directions(1))
    found = [_planes(slices, _gaussian_spread(octave)).width for octave in range(TUNED.octaves)]
    assert found == [512, 256, 128, 64, 32, 16, 8]
    assert _planes(slices, 100.0).width == 512


@every(
    "given, y, words",
    [
        ({"classes": [0, 1, 2]}, 1, "classes must be two labels"),
        ({"neighbors": "replace_one"}, 3, "y must hold two labels, there are 3"),
        ({"neighbors": "replace_one"}, None, "y must hold the labels of two cohorts"),
        ({"reference": np.zeros((3, 5))}, 1, "reference must be public rows"),
        ({"classes": [0, 1], "n_min": [3, 4, 5]}, 1, "n_min must be one number or 2"),
        ({}, 2, "classes must name the public set"),
        ({"classes": [0, 1], "reference": np.zeros((5, 2))}, 2, "classes must be None with a ref"),
    ],
)
def test_refusals_are_in_words(given, y, words):
    X = np.random.default_rng(0).random((12, 2))
    y = None if y is None else np.arange(12) % y
    test = PrivateTwoSampleTest(**SEEDED | given)
    with pytest.raises(ValueError, match=words):
        test.fit(X, y)
    assert not hasattr(test, "result_")


def test_intervals_hold_the_distance():
    """Of two means in ten dimensions with noise: 95 of 100 hold how far apart they are."""
    rng = np.random.default_rng(0)
    size, spread, true, runs = 400, 0.05, 0.15, 100
    held = 0
    sizes, about = (NoisyNumber(size),) * 2, (NoisyNumber(x * spread) for x in (10, 10**0.5))
    law = MeanLaw(sizes, (size, size), *about, 1e9)
    for _ in range(runs):
        gap = rng.normal(0.0, (2.0 * spread / size) ** 0.5, 10)
        gap[0] += true
        value = np.linalg.norm(gap) + rng.laplace(0.0, 0.01)
        low, high = compare_means(NoisyNumber(value, 0.01), law, 999, rng).interval
        held += low <= true <= high
    assert held >= 88


@pytest.mark.parametrize(
    "given",
    [
        {"n_min": 300},
        {"n_min": 300, "delta": 1e-6},
        {"n_min": 300, "neighbors": "replace_any"},
        {"n_hint": 600, "neighbors": "replace_one"},
        {"n_hint": 600, "epsilon": 2.0},
        {"n_min": 300, "reference": np.random.default_rng(5).random((40, 2))},
        {"n_min": [300, 400]},
    ],
)
def test_quotes_say_the_noise_of_the_distance(given, monkeypatch):
    seen = []
    module = "skdp_bary.estimators.two_sample.compare_means"
    monkeypatch.setattr(module, lambda gap, *_: seen.append(gap) or compare_means(gap, *_))
    classes = {} if "reference" in given else {"classes": [0, 1]}
    test = PrivateTwoSampleTest(bounds=(0, 1), n_resamples=9, random_state=0, **classes, **given)
    relation = {"neighbors": given.get("neighbors", "add_remove")}
    quote = str(BudgetAccountant(9.0, 1e-5, **relation).quote(test, 2))
    X = np.random.default_rng(0).random((600, 2))
    test.fit(X, None if "reference" in given else np.arange(600) % 2)
    said = float(re.search("standard deviation about ([0-9.e-]+)[.]$", quote, re.M).group(1))
    assert said == pytest.approx(seen[-1].variance ** 0.5, rel=0.06)


@pytest.mark.parametrize("n_draws", [1, 18, 19, 999])
def test_p_values_and_intervals_agree(n_draws):
    """0 is in the interval exactly if the p-value is above 0.05; for p near 0.04 both were so."""
    law = MeanLaw((NoisyNumber(400),) * 2, (400, 400), NoisyNumber(0.5), NoisyNumber(0.2), 1e9)
    for value in np.linspace(0.0, 0.2, 101):
        found = compare_means(NoisyNumber(value, 0.01), law, n_draws, np.random.default_rng(0))
        low, high = found.interval
        assert (low > 0) == (found.pvalue <= 0.05) and low <= found.distance <= high
        assert found.pvalue == (1 + (found.null >= value).sum()) / (1 + n_draws)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "epsilon", "neighbors"),
    [(2, 0.1, "replace_one"), (2, 1.0, "replace_one"), (10, 1.0, "add_remove")],
)
def test_the_level_is_kept(d, epsilon, neighbors):
    """400 tests of equal cohorts: between .02 and .09 of them reject, four standard errors."""
    rejected = 0
    for seed in range(400):
        test = PrivateTwoSampleTest(
            [0, 1], neighbors=neighbors, epsilon=epsilon, **SEEDED | {"random_state": seed}
        )
        rejected += test.fit(*cohorts(0.0, n=300, d=d, seed=seed)).pvalue_ <= 0.05
    assert 0.02 * 400 <= rejected <= 0.09 * 400
