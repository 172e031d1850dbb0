"""Barycenters from pyramids: the box is cut to where the rows are, and who gets one by default."""

import numpy as np
import pytest

from skdp_bary import PrivateWassersteinBarycenter
from skdp_bary.geometry import Ball
from skdp_bary.inspection import replay_sensitivity
from skdp_bary.transport import DiscreteMeasure, solve_semidiscrete
from tests.cases import every

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
RELATIONS = ("add_remove", "replace_one", "replace_any")


def rows(n, width, scale=1.0):
    rng = np.random.default_rng(1)
    centers = rng.uniform(-0.9, 0.9, (5, width))
    X = centers[rng.integers(5, size=n)] + 0.05 * rng.standard_normal((n, width))
    return scale * np.clip(X, -1.0, 1.0)


def make(**settings):
    defaults = {"n_atoms": 8, "bounds": (-1, 1), "n_init": 2, "random_state": 0}
    return PrivateWassersteinBarycenter(**(defaults | settings))


def steps_of(model):
    return {step.name for step in model.privacy_.steps}


def cost(X, model):
    return solve_semidiscrete(DiscreteMeasure(X), model.to_measure()).cost


@every("delta", [0.0, 1e-6])
@every("width", [2, 4])
def test_bounds_ten_times_too_wide_cost_little(width, delta):
    X = rows(4000, width)
    tight, wide = (make(bounds=(-b, b), delta=delta, n_hint=4000).fit(X) for b in (1, 10))
    assert {"place", "reach", "levels"} <= steps_of(wide)
    assert cost(X, wide) < 2.0 * cost(X, tight)


def test_few_rows_in_six_features_show_their_shape():
    """A fifth of what one point costs in every fit, and less than clusters on average."""
    X = rows(800, 6)
    costs = {"auto": [], "clusters": []}
    for method, found in costs.items():
        for seed in range(4):
            model = make(n_hint=800, method=method, random_state=seed)
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
    model = make(**({"n_hint": 300} | settings)).fit(rows(300, width))
    assert step in steps_of(model)


@every("n, step", [(300, "levels"), (30_000, "fill")])
def test_without_a_hint_the_size_decides(n, step):
    model = make(epsilon=0.5 if n < 1000 else 1.0)
    assert "levels" in {each.name for each in model.privacy_plan(5).steps}
    assert step in steps_of(model.fit(rows(n, 5)))


@every("delta", [0.0, 1e-6])
@every("relation", RELATIONS)
@every("width", [2, 5])
def test_guarantee_holds_for_a_person_far_outside_of_the_cut_box(width, relation, delta):
    X, y = rows(80, width, scale=0.1), np.repeat([0, 1], 40)
    other, classes = X.copy(), y.copy()
    X[0], other[0] = 9.0, -9.0
    if relation == "replace_any":
        classes[0] = 1
    last = slice(None) if relation != "add_remove" else slice(1, None)
    model = make(classes=[0, 1], method="pyramid", neighbors=relation, delta=delta, n_hint=80)
    report = replay_sensitivity(model, X, other[last], y=y, neighbor_y=classes[last])
    assert report.holds, report
