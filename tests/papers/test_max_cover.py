"""MaxCoverKMeans: clusters, plans, what is refused, replay, planted bugs."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from skdp_bary import BudgetAccountant
from skdp_bary.inspection import replay_sensitivity
from skdp_bary.papers import MaxCoverKMeans
from tests.cases import every
from tests.world import RaceChoice, home

_replay_checks = home("check_sensitivity_of_rows")

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

SMALL = {"bounds": (-1, 1), "n_hint": 60, "epsilon": 1.0}


def blobs(n_rows=4000, n_features=2, n_clusters=3, sd=0.05, seed=0):
    rng = np.random.default_rng(seed)
    centers = 0.7 * np.sign(rng.standard_normal((n_clusters, n_features)))
    centers[:, 0] = np.linspace(-0.8, 0.8, n_clusters)
    rows = centers[rng.integers(n_clusters, size=n_rows)]
    return np.clip(rows + sd * rng.standard_normal(rows.shape), -1, 1)


def cover(n_clusters=3, **settings):
    return MaxCoverKMeans(n_clusters, **{**SMALL, "delta": 1e-6, "random_state": 0, **settings})


@every("neighbors", ["add_remove", "replace_one"])
@every("n_features", [1, 2, 3, 6, 40])
def test_separated_clusters_are_found(n_features, neighbors):
    X = blobs(n_features=n_features)
    kmeans = cover(epsilon=20.0, n_hint=len(X), neighbors=neighbors).fit(X)
    best = -KMeans(3, n_init=3, random_state=0).fit(X).score(X) / len(X)
    assert -kmeans.score(X) / len(X) < 1.1 * best
    np.testing.assert_allclose(kmeans.cluster_weights_.sum(), len(X), rtol=0.05)


# Budget


def test_no_cover_without_delta():
    with pytest.raises(ValueError, match="delta must be above 0"):
        cover(delta=0.0).privacy_plan(2)
    with pytest.raises(ValueError, match="delta must be above 0"):
        cover(delta=0.0).fit(blobs(100))


@every("n_features", [2, 6])
@every(
    "arguments, settings, message",
    [
        ({"groups": np.repeat(np.arange(50), 2)}, {}, "one row each"),
        ({"groups": np.repeat(np.arange(50), 2)}, {"bounds": None}, "one row each"),
        ({"sample_weight": np.ones(100)}, {"neighbors": "replace_one"}, "add_remove"),
    ],
)
def test_rows_without_a_proof_are_refused_before_the_charge(
    arguments, settings, message, n_features
):
    accountant = BudgetAccountant(5.0, 1e-3, neighbors=settings.get("neighbors", "add_remove"))
    estimator = cover(accountant=accountant, **settings)
    with pytest.raises(ValueError, match=message):
        estimator.fit(blobs(100, n_features), **arguments)
    assert not accountant.entries


# Replay


def test_centers_in_five_features_follow_from_the_release_alone():
    """The contract looks at two features."""
    _replay_checks.check_state_is_post_processing(
        cover(2, bounds=([-1.0] * 5, [1.0] * 5), max_iter=2, n_init=1)
    )


def test_a_replay_reports_the_race_and_two_rows_are_too_many():
    X = blobs(80)
    report = replay_sensitivity(cover(), X, X[1:])
    assert report.holds
    steps = {step.name: step for step in report.steps}
    assert steps["cover"].ratio == pytest.approx(1.0) and steps["cover"].l1 == (1,)
    assert isinstance(steps["cover"].mechanism, RaceChoice)
    X = blobs(80)
    report = replay_sensitivity(cover(), np.vstack([X, [[0.31, 0.3]] * 2]), X)
    assert any("one person has" in text for text in report.violations)
