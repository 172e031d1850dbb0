"""CoresetBarycenter: costs, rounds, sensitivity, what is refused."""

import numpy as np
import pytest

from skdp_bary import PrivateWassersteinBarycenter
from skdp_bary.geometry import Ball
from skdp_bary.papers import CoresetBarycenter
from skdp_bary.transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete
from tests.cases import every

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def mixture(n=6000, d=6, seed=0):
    rng = np.random.default_rng(seed)
    centers = 0.2 + 0.6 * rng.random((4, d))
    return centers[rng.integers(4, size=n)] + 0.04 * rng.standard_normal((n, d))


def make(cls=CoresetBarycenter, **settings):
    defaults = {
        "n_atoms": 4,
        "n_init": 2,
        "bounds": (0, 1),
        "n_hint": 6000,
        "delta": 1e-6,
        "random_state": 0,
    }
    return cls(**(defaults | settings))


def cost_of(model, X):
    return solve_semidiscrete(DiscreteMeasure(X), model.to_measure()).cost


@every(
    "settings", [{}, {"method": "projected", "n_components": 3}, {"bounds": Ball([0.5] * 6, 1.5)}]
)
def test_in_six_dimensions_it_is_far_better_than_the_coreset(settings):
    X = mixture()
    best = free_support_barycenter([DiscreteMeasure(X)], 4, n_init=5, random_state=0).cost
    assert cost_of(make(**settings).fit(X), X) < 1.1 * best
    assert cost_of(make(PrivateWassersteinBarycenter, method="coreset").fit(X), X) > 1.5 * best


@every(
    "settings, match",
    [
        ({"n_rounds": 0}, "n_rounds"),
        ({"init": [[0.5] * 6]}, "init must be 4"),
        ({"init": np.full((4, 6), np.nan)}, "init must be public points"),
        ({"method": "projected"}, "n_components or distortion"),
        ({"method": "projected", "n_components": 7}, "n_components"),
        ({"method": "projected", "distortion": 1.0}, "distortion"),
        ({"method": "projected", "n_components": 2, "init": np.zeros((4, 6))}, "init must be None"),
    ],
)
def test_bad_settings_are_refused_before_any_charge(settings, match):
    with pytest.raises(ValueError, match=match):
        make(**settings).privacy_plan(6)
