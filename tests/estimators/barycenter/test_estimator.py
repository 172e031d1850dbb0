import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateWassersteinBarycenter
from skdp_bary.geometry import Mask
from skdp_bary.transport import DiscreteMeasure, solve_semidiscrete
from tests.cases import every

TRIANGLE = Mask([[(0.0, 0.0), (4.0, 0.0), (0.0, 3.0)]])


def two_blobs(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 2)) * 0.05 + np.where(y[:, None] == 0, 0.3, 0.7), y


def make(**settings):
    defaults = {"n_atoms": 4, "n_init": 2, "classes": [0, 1], "bounds": (0, 1), "n_hint": 4000}
    return PrivateWassersteinBarycenter(**(defaults | settings))


@pytest.fixture(scope="module")
def fitted():
    X, y = two_blobs()
    return make(epsilon=50.0).fit(X, y), X, y


def test_the_atoms_lie_between_the_distributions(fitted):
    model, _, _ = fitted
    np.testing.assert_allclose(model.support_.mean(axis=0), 0.5, atol=0.05)
    np.testing.assert_allclose(model.weights_.sum(), 1.0)
    assert model.classes_.tolist() == [0, 1]


def test_cost_on_the_release_is_that_of_its_measures(fitted):
    model, _, _ = fitted
    atoms = model.to_measure()
    costs = [solve_semidiscrete(measure, atoms).cost for measure in model.private_measures_]
    np.testing.assert_allclose(np.mean(costs), model.release_cost_, rtol=1e-6)


def test_rows_move_to_the_atoms_in_equal_parts(fitted):
    model, X, y = fitted
    for label in (0, 1):
        atoms = model.predict(X[y == label], np.full((y == label).sum(), label))
        shares = np.bincount(atoms, minlength=4) / atoms.size
        np.testing.assert_allclose(shares, 0.25, atol=0.12)  # of the release they are exact
        np.testing.assert_array_equal(model.map(X[y == label], label), model.support_[atoms])


def test_score_is_minus_the_exact_cost_of_the_rows(fitted):
    model, X, y = fitted
    clouds = [DiscreteMeasure(X[y == label]) for label in (0, 1)]
    costs = [solve_semidiscrete(cloud, model.to_measure()).cost for cloud in clouds]
    np.testing.assert_allclose(model.score(X, y), -np.mean(costs), rtol=1e-9)


@every(
    "settings, match",
    [
        ({"class_weights": [1.0], "n_hint": None}, "class_weights must be 2"),
        ({"p": 1.5}, "1 or 2"),
        ({"classes": None, "neighbors": "add_remove"}, "classes must name the public set"),
        ({"classes": None, "neighbors": "replace_any"}, "classes must name the public set"),
    ],
)
def test_bad_settings_are_refused_before_the_charge(settings, match):
    accountant = BudgetAccountant(1.0, neighbors=settings.get("neighbors", "add_remove"))
    with pytest.raises(ValueError, match=match):
        make(accountant=accountant, **settings).fit(*two_blobs(100))
    assert accountant.entries == ()


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_a_pyramid_finds_a_thin_shape_of_few_persons():
    n, rng = 640, np.random.default_rng(0)
    X = 0.1 + 0.8 * rng.random((n, 1)) * [1.0, 0.5] + 0.002 * rng.normal(size=(n, 2))
    settings = {"n_atoms": 8, "classes": None, "epsilon": 0.5, "n_hint": n, "random_state": 0}
    models = [make(method=method, **settings).fit(X) for method in ("coreset", "pyramid")]
    assert models[1].score(X) > 0.5 * models[0].score(X)  # minus the costs


def test_pyramids_keep_classes_apart_in_any_domain():
    X, y = two_blobs(2000)
    model = make(method="pyramid", bounds=TRIANGLE, epsilon=20.0, n_hint=2000).fit(X, y)
    means = [measure.mean() for measure in model.private_measures_]
    np.testing.assert_allclose(means, [[0.3, 0.3], [0.7, 0.7]], atol=0.1)
    assert all(TRIANGLE.contains(m.support).all() for m in model.private_measures_)


def test_the_quote_says_when_noise_drowns_the_persons():
    budget = BudgetAccountant(10.0)
    many = make(n_hint=100_000, epsilon=1.0)
    assert "n_hint is 1e+02 times" in budget.quote(many, n_features=20).advice
    assert "mostly noise" not in budget.quote(many, n_features=20).advice
    few = budget.quote(make(n_hint=500, epsilon=0.1), n_features=20).advice
    assert "mostly noise" in few and "cheapest fix is" in few
    assert "Pass n_hint" in budget.quote(make(n_hint=None), n_features=20).advice
    assert "mostly noise" not in budget.quote(many, n_features=2).advice
