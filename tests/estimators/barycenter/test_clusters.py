"""Barycenters of private k-means: a class by itself, and one mean where noise hides the rest."""

import numpy as np
import pytest

from skdp_bary import PrivateKMeans, PrivateWassersteinBarycenter
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.inspection import replay_sensitivity
from skdp_bary.transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete
from tests.cases import every
from tests.world import Apart, record_fit

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
WIDTH = 6
RELATIONS = ("add_remove", "replace_one", "replace_any")


def rows(sizes=(4000, 2000), spread=0.03):
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(len(sizes)), sizes)
    centers = rng.uniform(0.1, 0.9, (len(sizes), 4, WIDTH))
    X = centers[y, rng.integers(4, size=len(y))] + spread * rng.standard_normal((len(y), WIDTH))
    return np.clip(X, 0.0, 1.0), y


def make(**settings):
    defaults = {"n_atoms": 4, "method": "clusters", "n_init": 2, "bounds": (0, 1)}
    defaults |= {"classes": [0, 1], "n_hint": 6000, "random_state": 0}
    return PrivateWassersteinBarycenter(**(defaults | settings))


def mean_cost(X, y, support):
    atoms = DiscreteMeasure(support)
    clouds = [DiscreteMeasure(X[y == code]) for code in np.unique(y)]
    return np.mean([solve_semidiscrete(cloud, atoms).cost for cloud in clouds])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.filterwarnings("error:All atoms are at one place")
def test_cost_is_near_that_of_the_rows(delta):
    X, y = rows()
    clouds = [DiscreteMeasure(X[y == code]) for code in (0, 1)]
    best = mean_cost(X, y, free_support_barycenter(clouds, 4, n_init=5, random_state=0).support)
    fitted = make(epsilon=4.0, delta=delta).fit(X, y)
    assert mean_cost(X, y, fitted.support_) < 1.05 * best
    assert [len(measure.support) for measure in fitted.private_measures_] == [4, 4]


@every("delta", [0.0, 1e-6])
def test_few_persons_get_one_mean(delta):
    X, _ = rows(sizes=(150,), spread=0.1)
    with pytest.warns(PrivacyWarning, match="All atoms are at one place"):
        fitted = make(classes=None, n_hint=150, epsilon=0.3, delta=delta).fit(X)
    np.testing.assert_allclose(fitted.support_, np.tile(fitted.support_[0], (4, 1)), atol=1e-9)
    mean = PrivateKMeans(
        1, bounds=(0, 1), n_hint=150, epsilon=0.3, delta=delta, random_state=0
    ).fit(X)
    one = np.tile(mean.cluster_centers_, (4, 1))
    assert mean_cost(X, np.zeros(150), fitted.support_) < 1.2 * mean_cost(X, np.zeros(150), one)


@every("delta", [0.0, 1e-6])
@every("relation", ["add_remove", "replace_one"])
def test_a_class_has_the_noise_that_it_would_have_alone(relation, delta):
    X, y = rows()
    both = record_fit(make(neighbors=relation, delta=delta, n_hint=8000), {"X": X, "y": y})
    alone = record_fit(
        make(neighbors=relation, delta=delta, classes=[0], n_hint=4000),
        {"X": X[y == 0], "y": y[y == 0]},
    )
    assert both.error is None and alone.error is None
    assert len(both.records) == len(alone.records)
    first, second = both.records[0].released, alone.records[0].released
    assert isinstance(first.query, Apart)
    np.testing.assert_allclose(first.scales[: len(second.scales)], second.scales, rtol=1e-9)


@every("relation", RELATIONS)
@every("n, name", [(200, "fill"), (6000, "models")])
def test_without_a_hint_the_method_follows_the_size(relation, n, name):
    X, y = rows(sizes=(n, n))
    model = make(method="auto", n_hint=None, delta=1e-6, neighbors=relation, epsilon=1.0)
    assert "models" in {step.name for step in model.privacy_plan(WIDTH).steps}
    fitted = model.fit(X, y)
    assert name in {step.name for step in fitted.privacy_.steps}
    assert fitted.privacy_.epsilon == 1.0


@every("relation", RELATIONS)
def test_guarantee_holds_where_the_method_follows_the_size(relation):
    X, y = rows(sizes=(100, 100))
    other = X.copy()
    X[0], other[0] = 9.0, -9.0
    last = slice(None) if relation != "add_remove" else slice(1, None)
    model = make(method="auto", n_hint=None, delta=1e-6, neighbors=relation)
    report = replay_sensitivity(model, X, other[last], y=y, neighbor_y=y[last])
    assert report.holds, report
