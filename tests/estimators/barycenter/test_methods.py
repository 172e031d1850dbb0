"""Barycenters of clusters and of pyramids: what they find, and who gets which by default."""

import numpy as np
import pytest

from skdp_bary import PrivateKMeans, PrivateWassersteinBarycenter
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.geometry import Ball
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
    mean = PrivateKMeans(1, bounds=(0, 1), n_hint=150, epsilon=0.3, delta=delta, random_state=0)
    one = np.tile(mean.fit(X).cluster_centers_, (4, 1))
    assert mean_cost(X, np.zeros(150), fitted.support_) < 1.2 * mean_cost(X, np.zeros(150), one)


@every("delta", [0.0, 1e-6])
@every("relation", ["add_remove", "replace_one"])
def test_a_class_has_the_noise_that_it_would_have_alone(relation, delta):
    X, y = rows()
    settings, first = {"neighbors": relation, "delta": delta}, {"X": X[y == 0], "y": y[y == 0]}
    both = record_fit(make(**settings, n_hint=8000), {"X": X, "y": y})
    alone = record_fit(make(**settings, classes=[0], n_hint=4000), first)
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


# Pyramids: the box is cut to where the rows are.


def clusters_of_one(n, width, scale=1.0):
    rng = np.random.default_rng(1)
    centers = rng.uniform(-0.9, 0.9, (5, width))
    X = centers[rng.integers(5, size=n)] + 0.05 * rng.standard_normal((n, width))
    return scale * np.clip(X, -1.0, 1.0)


def pyramid(**settings):
    defaults = {"n_atoms": 8, "bounds": (-1, 1), "n_init": 2, "random_state": 0}
    return PrivateWassersteinBarycenter(**(defaults | settings))


def steps_of(model):
    return {step.name for step in model.privacy_.steps}


def cost(X, model):
    return solve_semidiscrete(DiscreteMeasure(X), model.to_measure()).cost


@every("delta", [0.0, 1e-6])
@every("width", [2, 4])
def test_bounds_ten_times_too_wide_cost_little(width, delta):
    X = clusters_of_one(4000, width)
    tight, wide = (pyramid(bounds=(-b, b), delta=delta, n_hint=4000).fit(X) for b in (1, 10))
    assert {"place", "reach", "levels"} <= steps_of(wide)
    assert cost(X, wide) < 2.0 * cost(X, tight)


def test_few_rows_in_six_features_show_their_shape():
    """A fifth of what one point costs in every fit, and less than clusters on average."""
    X = clusters_of_one(800, 6)
    costs = {"auto": [], "clusters": []}
    for method, found in costs.items():
        for seed in range(4):
            model = pyramid(n_hint=800, method=method, random_state=seed)
            found.append(cost(X, model.fit(X)))
    assert max(costs["auto"]) < 0.2 * X.var(axis=0).sum()
    assert np.mean(costs["auto"]) < 0.85 * np.mean(costs["clusters"])


@every(
    "width, settings, step",
    [
        (6, {}, "levels"),
        (6, {"n_hint": 100_000}, "fill"),
        (7, {}, "fill"),
        (6, {"delta": 1e-6}, "fill"),
        (6, {"bounds": Ball(np.zeros(6), 3.0)}, "fill"),
        (6, {"p": 1}, "levels"),
        (2, {"bounds": Ball(np.zeros(2), 3.0)}, "tree"),
    ],
)
def test_who_gets_one(width, settings, step):
    model = pyramid(**({"n_hint": 300} | settings)).fit(clusters_of_one(300, width))
    assert step in steps_of(model)


@every("n, step", [(300, "levels"), (30_000, "fill")])
def test_without_a_hint_the_size_decides(n, step):
    model = pyramid(epsilon=0.5 if n < 1000 else 1.0)
    assert "levels" in {each.name for each in model.privacy_plan(5).steps}
    assert step in steps_of(model.fit(clusters_of_one(n, 5)))
