"""Barycenters of clusters and of pyramids: what they find, and who gets which by default."""

import numpy as np
import pytest

from skdp_bary import PrivateWassersteinBarycenter
from skdp_bary.geometry import Ball
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
