"""The paper's pipeline under exact accounting: clusters, plan, replay."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from benchmarks.kmeans.paper import PaperKMeans
from skdp_bary.inspection import replay_sensitivity
from tests.world import RaceChoice, record_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def blobs(n_rows=3000, n_features=2, sd=0.05, seed=0):
    rng = np.random.default_rng(seed)
    centers = 0.7 * np.sign(rng.standard_normal((3, n_features)))
    centers[:, 0] = [-0.8, 0.0, 0.8]
    rows = centers[rng.integers(3, size=n_rows)]
    return np.clip(rows + sd * rng.standard_normal(rows.shape), -1, 1)


def paper(**settings):
    base = {"epsilon": 50.0, "delta": 1e-6, "bounds": (-1, 1), "n_hint": 3000, "random_state": 0}
    return PaperKMeans(3, **(base | settings))


@pytest.mark.parametrize("n_features", [2, 8])
def test_separated_clusters_are_found(n_features):
    X = blobs(n_features=n_features)
    kmeans = paper().fit(X)
    best = -KMeans(3, n_init=3, random_state=0).fit(X).score(X)
    assert -kmeans.score(X) < 1.3 * best
    assert kmeans.n_iter_ == 1


def test_rows_are_projected_from_six_features_on():
    for n_features, n_hint, width in ((5, 300, 5), (6, 2981, 4)):
        recording = record_fit(paper(n_hint=n_hint), {"X": blobs(20, n_features)})
        assert recording.records[0].query.frame.width == width


def test_the_plan_holds_one_race_and_needs_delta():
    plan = paper().privacy_plan(8)
    assert [step.name for step in plan.steps] == ["cover", "cells", "average", "lloyd"]
    assert isinstance(plan.steps[0].mechanism, RaceChoice)
    with pytest.raises(ValueError, match="delta"):
        paper(delta=0.0).privacy_plan(8)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace_one"])
def test_neighbors_move_no_answer_too_far(neighbors):
    X = blobs(60, 6)
    rows = [X[0], np.zeros(6), np.full(6, 9.0), -np.eye(6)[0]]
    for row in rows:
        other = np.vstack([X, [row]]) if neighbors == "add_remove" else np.vstack([[row], X[1:]])
        report = replay_sensitivity(paper(neighbors=neighbors, n_hint=60), X, other)
        assert report.holds, report
