"""Rows with noise: what is released, in which order, for which relation, and what it is worth."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kstest

from skdp_bary import BudgetAccountant, DPSlicedWasserstein
from skdp_bary.exceptions import BudgetError
from skdp_bary.geometry import Ball
from skdp_bary.inspection import replay_sensitivity
from skdp_bary.privacy import calibrate_sigma
from tests.cases import every
from tests.world import gaussian_delta

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
SHAPES = [(1, None), (3, 8), (6, 2), (4, 4)]


def sliced(d, k=None, **changes):
    settings = {
        "method": "rows",
        "neighbors": "replace_one",
        "bounds": Ball(np.arange(d, dtype=float), 2.0),
        "epsilon": 1.0,
        "delta": 1e-5,
        "random_state": 0,
    }
    return DPSlicedWasserstein(k, **(settings | changes))


def rows(n, d, seed=0):
    return np.arange(d) + 0.5 * np.random.default_rng(seed).standard_normal((n, d))


@every("d, k", SHAPES)
def test_one_noisy_row_a_person(d, k):
    X = rows(200, d)
    fitted = sliced(d, k).fit(X)
    (release,) = fitted.releases_
    width = k if k is not None and k <= d else d
    assert release.rows.shape == (200, width)
    assert fitted.quantiles_ is None
    assert fitted.directions_.shape[0] == d
    assert np.abs(np.linalg.norm(fitted.directions_, axis=0) - 1).max() < 1e-5
    assert release.directions is fitted.directions_


@every("d, k", SHAPES)
def test_the_noise_is_that_of_the_diameter(d, k):
    """Also with more directions than features, whose projections would need more."""
    fitted = sliced(d, k).fit(rows(50, d))
    diameter = 4.0
    frame = calibrate_sigma(1.0, 1e-5, n_features=d, n_projections=min(k or 1, d))
    assert fitted.noise_std_[0] == pytest.approx(diameter * frame, rel=2e-3)
    assert fitted.noise_std_[0] >= diameter * frame * (1 - 1e-4)


@every("d, k", [(3, 8), (6, 2)])
def test_the_noise_is_gaussian_of_the_stated_size(d, k):
    center = np.arange(d, dtype=float)
    fitted = sliced(d, k).fit(np.tile(center, (3000, 1)))
    values = fitted.releases_[0].rows / fitted.noise_std_[0]
    assert kstest(values.ravel(), "norm").pvalue > 0.01
    assert kstest(1.3 * values.ravel(), "norm").pvalue < 1e-6
    on_slices = fitted.releases_[0].projections() / fitted.noise_std_[0]
    assert on_slices.shape == (3000, k)
    assert kstest(on_slices[:, -1], "norm").pvalue > 0.01


@every("directions", ["tight", "iid"])
@every("d, k", SHAPES)
def test_a_replaced_row_is_covered_and_hardly_more(d, k, directions):
    estimator = sliced(d, k, directions=directions)
    fitted = sliced(d, k, directions=directions).fit(rows(30, d))
    along = np.linalg.svd(fitted.directions_)[0][:, 0]
    X, center = rows(30, d), np.arange(d)
    neighbor = X.copy()
    X[4], neighbor[4] = center + 99 * along, center - 99 * along
    report = replay_sensitivity(estimator, X, neighbor)
    assert report.holds, str(report)
    assert 0.95 < report.tightness <= 1.0


def test_classes_have_rows_of_their_own():
    X, y = rows(40, 3), np.repeat([0, 1, 1, 1], 10)
    fitted = sliced(3, 2, classes=[0, 1]).fit(X, y)
    assert [len(release.rows) for release in fitted.releases_] == [10, 30]
    neighbor = X.copy()
    neighbor[25] = np.arange(3) - 50.0
    report = replay_sensitivity(sliced(3, 2, classes=[0, 1]), X, neighbor, y=y, neighbor_y=y)
    assert report.holds, str(report)


def test_chunks_are_read_like_an_array():
    X = rows(40, 3)
    whole, parts = (sliced(3, 8).fit(data) for data in (X, [X[:7], X[7:]]))
    np.testing.assert_array_equal(whole.releases_[0].rows, parts.releases_[0].rows)


@every(
    "changes, message",
    [
        ({"neighbors": "add_remove"}, "shows how many rows"),
        ({"neighbors": "replace_any"}, "shows how many rows"),
        ({"neighbors": None}, "shows how many rows"),
        ({"delta": 0.0}, "delta must be above zero"),
    ],
)
def test_what_would_not_be_private_is_refused_before_it_is_charged(changes, message):
    accountant = BudgetAccountant(5.0, 1e-3, neighbors=changes.get("neighbors") or "add_remove")
    estimator = sliced(3, 2, **changes).set_params(accountant=accountant)
    with pytest.raises(ValueError, match=message):
        estimator.fit(rows(20, 3))
    assert accountant.total() == (0.0, 0.0)


@every("given", [{"groups": np.arange(20) // 2}, {"sample_weight": np.full(20, 0.5)}])
def test_persons_of_several_rows_or_less_than_one_are_refused(given):
    accountant = BudgetAccountant(5.0, 1e-3, neighbors="replace_one")
    with pytest.raises(ValueError, match="one row a person"):
        sliced(3, 2, bounds=None, accountant=accountant).fit(rows(20, 3), **given)
    assert accountant.total() == (0.0, 0.0)


def test_the_whole_release_is_charged():
    accountant = BudgetAccountant(1.5, 2e-5, neighbors="replace_one")
    sliced(3, 8, accountant=accountant).fit(rows(20, 3))
    assert accountant.total() == (1.0, 1e-5)
    with pytest.raises(BudgetError):
        sliced(3, 8, accountant=accountant).fit(rows(20, 3))


def test_no_place_belongs_to_a_person():
    """With hardly any noise one row stands out: it is in every place alike."""
    X = np.zeros((4, 1))
    X[2] = 2.0
    estimator = sliced(1, epsilon=1e6, random_state=None, bounds=Ball([0.0], 2.0))
    places = [int(estimator.fit(X).releases_[0].rows[:, 0].argmax()) for _ in range(240)]
    counts = np.bincount(places, minlength=4)
    assert counts.sum() == 240 and ((counts - 60) ** 2 / 60).sum() < 21.1  # p-value 1e-4


EDGES = np.linspace(-9.0, 10.0, 191)


def cells(center):
    return np.diff(ndtr(EDGES - center))


def batch_law(values, ordered):
    """Law of two noisy rows out of all, in the order of the data or shuffled."""
    laws = [cells(value) for value in values]
    places = (itertools.combinations if ordered else itertools.permutations)(range(len(values)), 2)
    return np.mean([np.outer(laws[i], laws[j]) for i, j in places], axis=0)


def test_batches_in_the_order_of_the_data_lose_more_than_batches_without_order():
    """What sampling gains is proved for sets, and an order breaks it. A replaced row moves by one
    standard deviation."""
    rate, epsilon = 0.5, 2.0
    bound = rate * gaussian_delta(1.0, math.log1p(math.expm1(epsilon) / rate))

    def delta(ordered):
        p, q = (batch_law(values, ordered) for values in ([1, 0, 0, 1], [1, 0, 0, 0]))
        return np.maximum(p - math.exp(epsilon) * q, 0.0).sum()

    assert delta(ordered=True) > 1.05 * bound
    assert delta(ordered=False) <= bound


def test_smoothed_distances_compare_smoothed_laws():
    """The same law on both sides costs what sampling costs; noise on one side alone, much more."""
    d, k, n = 2, 6, 20_000
    fitted = sliced(d, k, epsilon=8.0).fit(rows(n, d))
    noise = fitted.noise_std_[0]
    same = fitted.smoothed_distance(rows(4000, d, seed=1)) ** 2
    assert same < 0.01 * noise**2
    moved = fitted.smoothed_distance(rows(4000, d, seed=1) + [0.5, 0.0]) ** 2
    assert moved == pytest.approx(0.25 / d, rel=0.3)
    # nothing is drawn for the public side
    assert fitted.smoothed_distance(rows(50, d)) == fitted.smoothed_distance(rows(50, d))


def test_distances_without_noise_are_not_claimed():
    fitted = sliced(2, 6).fit(rows(30, 2))
    for method in (fitted.cost, fitted.distance, fitted.score):
        with pytest.raises(ValueError, match="smoothed distances only"):
            method(rows(30, 2))
    with pytest.raises(ValueError, match="method='sketch'|'sketch' releases"):
        fitted.gradient(rows(30, 2))
