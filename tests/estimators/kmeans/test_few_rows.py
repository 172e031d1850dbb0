"""A few hundred rows in more than three features: about one private mean, with wide bounds too."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from skdp_bary import BudgetAccountant, PrivateKMeans

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def mean_cost(X, n_clusters, seeds=20, **settings):
    """Mean over seeded fits, relative to the cost of the exact mean of all rows."""
    fits = (PrivateKMeans(n_clusters, random_state=i, **settings).fit(X) for i in range(seeds))
    return np.mean([-fitted.score(X) for fitted in fits]) / (len(X) * X.var(axis=0).sum())


@pytest.mark.parametrize("n_clusters", [3, 8])
def test_pure_noise_in_bounds_that_are_ten_times_too_wide(n_clusters):
    X = load_iris().data
    X = 2.0 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 1.0
    assert mean_cost(X, n_clusters, bounds=(-10, 10), n_hint=150) < 1.5


def test_rows_aside_from_the_center_are_not_moved_by_the_noise_of_their_number():
    """A mean over a noisy number, 23 % of it, cost twice as much."""
    rng = np.random.default_rng(0)
    X = 5.0 + 0.3 * rng.normal(size=(355, 2)) @ rng.normal(size=(2, 12))
    settings = {"epsilon": 0.3, "delta": 1e-6, "bounds": (-10, 10)}
    assert mean_cost(X, 6, n_hint=355, **settings) < 18.0


@pytest.mark.parametrize("hint", [2500, 10_000])
def test_a_wrong_hint_moves_no_center_further_than_noise_does(hint):
    X = 0.6 + 0.1 * np.random.default_rng(0).normal(size=(5000, 5))
    for seed in range(5):
        settings = {"epsilon": 2.0, "bounds": (-1, 1), "n_hint": hint, "random_state": seed}
        center = PrivateKMeans(1, **settings).fit(X).cluster_centers_[0]
        assert np.abs(center - X.mean(axis=0)).max() < 0.005


def test_noisy_rounds_are_few_with_laplace_noise():
    settings = {"bounds": (-1, 1), "n_hint": 1000}
    rounds = [
        sum(step.name.startswith(("low", "ambient")) for step in kmeans.privacy_plan(8).steps)
        for kmeans in (PrivateKMeans(8, epsilon=e, **settings) for e in (0.1, 1.0, 30.0))
    ]
    assert rounds[0] == 1 and rounds == sorted(rounds) and rounds[-1] >= 4


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n_features", [4, 10])
def test_a_tiny_budget_is_enough_whatever_the_noise_says(n_features, delta):
    """Noise says how far sums reach; none of it is too wide to be drawn, after a charge above all.

    Ten features were refused at 3e-4, by what noise said of nobody before the charge.
    """
    rng = np.random.default_rng(0)
    for seed, epsilon in enumerate(np.geomspace(1e-4, 3e-3, 20)):
        X = rng.uniform(-1, 1, (40, n_features)) if seed % 2 else np.ones((40, n_features))
        accountant = BudgetAccountant(1.0, 0.1)
        settings = {"epsilon": float(epsilon), "delta": delta, "accountant": accountant}
        kmeans = PrivateKMeans(4, bounds=(-1, 1), n_hint=40, random_state=seed, **settings)
        assert np.isfinite(kmeans.fit(X).cluster_centers_).all()
        assert len(accountant.entries) == 1


def test_no_fit_is_charged_and_refused():
    """What noise says of these rows is 30 times what it says of nobody, before the charge."""
    X = np.sign(np.random.default_rng(3).uniform(-1, 1, (30, 9)))
    accountant = BudgetAccountant(1.0, 0.1)
    settings = {"epsilon": 2.801836406211827e-05, "delta": 1e-6, "accountant": accountant}
    settings |= {"bounds": (-1, 1), "n_hint": 12693, "max_iter": 30, "random_state": 3}
    assert np.isfinite(PrivateKMeans(1, **settings).fit(X).cluster_centers_).all()
    assert len(accountant.entries) == 1
