"""The face of DPSlicedWasserstein: every method, on one release."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest

from skdp_bary import BudgetAccountant, DPSlicedWasserstein
from skdp_bary.geometry import Ball
from tests.cases import every
from tests.world import sliced_gradient

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

BALL = Ball([0.0, 0.0], 1.0)


def make(**parameters):
    settings = {"bounds": BALL, "n_min": 400, "random_state": 0, "epsilon": 100.0}
    return DPSlicedWasserstein(**(settings | parameters))


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 500)
    middles = np.where(y[:, None] == "a", [-0.4, 0.0], [0.4, 0.2])
    return middles + 0.1 * rng.normal(size=(1000, 2)), y


@pytest.fixture(scope="module")
def fitted(groups):
    return make(classes=["a", "b"]).fit(*groups)


def test_one_release_answers_about_every_class(groups, fitted):
    X, y = groups
    assert fitted.quantiles_.shape == (2, 100, fitted.quantiles_.shape[2])
    assert fitted.distance(X[y == "a"], label="a") < 0.05
    assert fitted.distance(X[y == "a"], label="b") > 0.4
    for label in (None, "c"):
        with pytest.raises(ValueError, match="label must be one of"):
            fitted.distance(X, label=label)


def test_distances_between_classes_and_fits(groups, fitted):
    X, y = groups
    expected = np.hypot(0.8, 0.2) / 2**0.5
    distance, std = fitted.distance_between(fitted, label="a", other_label="b", return_std=True)
    assert distance == pytest.approx(expected, rel=0.05) and 0 < std < 0.01
    shape = {"n_quantiles": fitted.quantiles_.shape[2]}
    alone = make(random_state=1, **shape).fit(X[y == "b"])
    assert alone.distance_between(fitted, other_label="a") == pytest.approx(expected, rel=0.05)
    with pytest.raises(ValueError, match="^other_label must be one of .* For example other_label="):
        alone.distance_between(fitted)
    with pytest.raises(TypeError, match="other must .*other_label='b'"):
        fitted.distance_between("a", label="b")
    copy = pickle.loads(pickle.dumps(fitted))
    for same in (fitted, copy):
        with pytest.raises(ValueError, match="two distributions"):
            fitted.distance_between(same, label="a", other_label="a")
    assert fitted.distance_between(copy, label="a", other_label="b") == distance
    for others in ({"n_projections": 8}, {"directions": fitted.directions_[::-1].copy(), **shape}):
        with pytest.raises(ValueError, match="same directions"):
            make(**others).fit(X).distance_between(fitted, other_label="a")


def test_barycenters_lie_between(groups, fitted):
    for weights, middle in ((None, [0.0, 0.1]), ([3.0, 1.0], [-0.2, 0.05])):
        barycenter = fitted.barycenter(weights)
        points = barycenter.sample(200, random_state=0)
        np.testing.assert_allclose(points.mean(axis=0), middle, atol=0.02)
        assert points.std(axis=0).max() < 0.15
    assert barycenter.noise_std == pytest.approx(fitted.noise_std_[0] * 10**0.5 / 4)
    with pytest.raises(ValueError, match="weights must be 2"):
        fitted.barycenter([1.0])


def test_a_release_twice_in_a_barycenter_has_its_noise_once(fitted):
    alone = fitted.barycenter()
    for other in (fitted, pickle.loads(pickle.dumps(fitted))):
        both = fitted.barycenter(others=[other])
        np.testing.assert_allclose(both.quantiles, alone.quantiles)
        assert both.noise_std == pytest.approx(alone.noise_std)
    unequal = fitted.barycenter([1, 0, 2, 1], others=[fitted])
    assert unequal.noise_std == pytest.approx(fitted.barycenter([3, 1]).noise_std)


def test_ranks_are_shares_of_the_private_distribution(groups):
    X, y = groups
    sliced = make(epsilon=1e4).fit(X[y == "a"])
    ranks = sliced.transform(X[y == "a"])
    assert ranks.shape == (500, 100) and ranks.min() >= 0 and ranks.max() <= 1
    np.testing.assert_allclose(ranks.mean(axis=0), 0.5, atol=0.03)
    expected = (
        np.argsort(np.argsort(X[y == "a"] @ sliced.directions_, axis=0), axis=0) + 0.5
    ) / 500
    assert np.abs(ranks - expected).mean() < 0.02
    names = sliced.get_feature_names_out()
    assert list(names[:2]) == ["dpslicedwasserstein0", "dpslicedwasserstein1"] and len(names) == 100
    assert list(make().fit(X).set_output(transform="default").transform(X[:1]).shape) == [1, 100]


def test_score_is_minus_the_distance(groups, fitted):
    X, y = groups
    one = make().fit(X)
    assert one.score(X[:100]) == -one.distance(X[:100])
    mean = np.mean([fitted.distance(X[y == label], label=label) for label in "ab"])
    assert fitted.score(X, y) == pytest.approx(-mean)


def test_the_gradient_pulls_points_to_the_release(groups, fitted):
    X, _ = groups
    Z = np.zeros((50, 2))
    expected = sliced_gradient(Z, fitted.directions_, fitted.quantiles_[1])[1]
    np.testing.assert_allclose(fitted.gradient(Z, label="b"), expected)
    moved = Z - 25 * fitted.gradient(Z, label="b")
    np.testing.assert_allclose(moved.mean(axis=0), [0.2, 0.1], atol=0.02)


REFERENCE = np.random.default_rng(5).random((40, 2))


@every(
    "given",
    [
        {"n_min": 300},
        {"n_hint": 1000},
        {"n_hint": 1000, "neighbors": "replace_one", "n_min": 300},
        {"n_hint": 1000, "neighbors": "replace_any", "classes": ["a", "b"]},
        {"n_min": [300, 400], "classes": ["a", "b"], "n_quantiles": 20, "p": 1},
        {"n_min": 300, "bounds": {"x": (-1, 1), "y": (-2, 2)}, "directions": "iid"},
        {"n_min": 300, "method": "scalar", "delta": 0.0, "reference": REFERENCE},
        {"n_hint": 1000, "method": "scalar", "delta": 0.0, "reference": REFERENCE, "p": 1},
    ],
)
def test_quotes_say_the_noise(groups, given):
    sliced = make(**({"n_min": None, "epsilon": 50.0} | given))
    relation = {"neighbors": given.get("neighbors", "add_remove")}
    quote = str(BudgetAccountant(99.0, 1e-5, **relation).quote(sliced, 2))
    said = [float(number.rstrip(".")) for number in re.findall(r"about ([0-9.e-]+)", quote)]
    X, y = groups
    sliced.fit(pd.DataFrame(X, columns=["x", "y"]), y)
    assert said[0] == pytest.approx(sliced.noise_std_.max(), rel=0.06)
    if len(said) > 1:
        label = sliced.classes_[sliced.noise_std_.argmax()]
        far = pd.DataFrame([[9.0, 9.0]], columns=["x", "y"])
        distance, std = sliced.distance(far, label=label, return_std=True)
        assert distance > said[0] and std == pytest.approx(said[1], rel=0.06)


def test_quotes_ask_for_what_the_noise_depends_on():
    assert "Pass n_hint, a public number" in make(n_min=None).privacy_advice(2)
    assert "Pass bounds, to see" in make(bounds=None).privacy_advice(2)
