import numpy as np
import pytest

from skdp_bary import PrivateWassersteinBarycenter
from skdp_bary.geometry import Ball
from skdp_bary.transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete
from tests.cases import every

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def mixtures(n_features=10, sizes=(3000, 3000), seed=0):
    """Rows of two classes, each a mixture of four clusters, and labels."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], sizes)
    centers = rng.uniform(0.25, 0.75, size=(2, 4, n_features))
    noise = 0.05 * rng.standard_normal((y.size, n_features))
    return np.clip(centers[y, rng.integers(4, size=y.size)] + noise, 0.0, 1.0), y


def make(**settings):
    defaults = {"n_atoms": 4, "method": "subspace", "n_init": 1, "classes": [0, 1]}
    defaults |= {"bounds": (0, 1), "n_hint": 6000, "delta": 1e-6, "epsilon": 8.0}
    return PrivateWassersteinBarycenter(**(defaults | settings))


def mean_cost(X, y, support):
    atoms, clouds = DiscreteMeasure(support), [DiscreteMeasure(X[y == c]) for c in (0, 1)]
    return np.mean([solve_semidiscrete(cloud, atoms).cost for cloud in clouds])


@pytest.fixture(scope="module")
def data():
    return mixtures()


@pytest.fixture(scope="module")
def fitted(data):
    return make(random_state=1, n_init=2).fit(*data)


def test_cost_is_near_that_of_the_rows(data, fitted):
    X, y = data
    clouds = [DiscreteMeasure(X[y == code]) for code in (0, 1)]
    best = free_support_barycenter(clouds, 4, n_init=5, random_state=0)
    assert mean_cost(X, y, fitted.support_) < 1.05 * best.cost


@every(
    "settings, match",
    [
        ({"p": 1}, "p must be 2"),
        ({"delta": 0.0}, "delta must be above zero"),
        ({"n_components": 11}, "n_components"),
        ({"n_components": 0}, "n_components"),
    ],
)
def test_settings_without_a_sound_form_are_refused(settings, match):
    with pytest.raises(ValueError, match=match):
        make(**settings).privacy_plan(10)


@every(
    "settings, n_features, method",
    [
        ({}, 10, "subspace"),
        ({}, 4, "pyramid"),
        ({"bounds": Ball([0.0] * 4, 1.0)}, 4, "subspace"),
        ({}, 3, "pyramid"),
        ({}, 1, "coreset"),
        ({"delta": 0.0}, 10, "clusters"),
        ({"delta": 0.0}, 4, "pyramid"),
        ({"delta": 0.0}, 3, "pyramid"),
        ({"delta": 0.0, "bounds": None}, 3, "coreset"),
        ({"delta": 0.0, "bounds": Ball([0.0] * 3, 1.0)}, 3, "coreset"),
        ({"delta": 0.0, "p": 1}, 4, "pyramid"),
        ({"delta": 0.0, "p": 1}, 5, "coreset"),
        ({"delta": 0.0, "n_hint": 60, "epsilon": 1.0}, 4, "pyramid"),
        ({"p": 1}, 10, "coreset"),
        ({"n_hint": 60}, 10, "clusters"),
        ({"n_hint": 1000, "epsilon": 1.0}, 10, "subspace"),
        ({"n_hint": 900, "epsilon": 1.0}, 20, "clusters"),
        ({"n_hint": 900, "epsilon": 1.0, "classes": None}, 20, "subspace"),
        ({"n_hint": 60, "bounds": None, "delta": 0.0, "epsilon": 1.0}, 10, "clusters"),
        ({"n_hint": None, "epsilon": 1.0}, 10, "subspace"),
    ],
)
def test_auto_chooses_by_public_parameters(settings, n_features, method):
    chosen, named = (make(method=m, **settings).privacy_plan(n_features) for m in ("auto", method))
    assert chosen == named
