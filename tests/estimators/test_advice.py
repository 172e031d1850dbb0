"""Quotes and fits say where noise drowns a result, by the noise that is really drawn."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import skdp_bary
from skdp_bary import (
    BudgetAccountant,
    PrivateDomainAdapter,
    PrivateKMeans,
    PrivatePCA,
    PrivateStandardScaler,
)
from tests.cases import every
from tests.world import home

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

# people, features: drowned, and not
FEW, MANY = (569, 30), (30_000, 15)


def steps(n_hint, epsilon=1.0, **given):
    scaler = PrivateStandardScaler(epsilon / 4, bounds=(-15, 15), n_hint=n_hint, **given)
    pca = PrivatePCA(2, epsilon=epsilon / 4, bounds=(-5, 5), n_hint=n_hint, **given)
    return scaler, pca


def told_by(fit, *given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*given)
    return " ".join(str(each.message) for each in caught)


@every("size, drowned", [(FEW, True), (MANY, False)])
def test_pipelines_say_where_scales_and_axes_are_noise(size, drowned):
    budget, (n, d) = BudgetAccountant(1.0, delta=1e-5), size
    scaler, pca = steps(n, accountant=budget, random_state=0)
    kmeans = PrivateKMeans(2, epsilon=0.5, bounds=(-9, 9), n_hint=n, accountant=budget)
    pipeline = make_pipeline(scaler, pca, kmeans)
    advice = budget.quote(pipeline, n_features=d).advice
    assert ("scales are mostly noise" in advice) == ("most axes are noise" in advice) == drowned
    unhinted = make_pipeline(*(clone(step).set_params(n_hint=None) for step in (scaler, pca)))
    advice = budget.quote(unhinted, n_features=d).advice
    assert advice.count("Pass n_hint") == 1 and "privatestandardscaler, privatepca: " in advice
    rng = np.random.default_rng(0)
    told = told_by(pipeline.fit, rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)))
    assert ("scales are mostly noise" in told) == drowned
    assert "random directions" not in told or drowned


@every("place, words, enough", [(0, r"cell is ([\d.]+)", 0.03), (1, r"than ([\d.]+)", 0.15)])
@every("settings", [{}, {"delta": 1e-6}, {"delta": 0.0, "neighbors": "replace_any"}])
def test_what_is_said_to_be_enough_is(place, words, enough, settings):
    def level(advice):
        return float(re.search(words, advice)[1])

    n, d = FEW
    step = steps(n, **settings)[place]
    advice = step.privacy_advice(d)
    epsilon, persons = re.search(r"epsilon=([\d.]+) or ([\d,]+) people", advice).groups()
    step.set_params(epsilon=float(epsilon))
    assert level(step.privacy_advice(d)) == pytest.approx(enough, rel=0.1)
    more = steps(int(persons.replace(",", "")), **settings)[place]
    assert level(more.privacy_advice(d)) == pytest.approx(enough, rel=0.1)


@every("delta", [0.0, 1e-6])
def test_noise_of_a_cell_is_what_is_drawn(delta, monkeypatch):
    drawn, scaling = [], home("ScalerTuning")
    moments = scaling.moments

    def seen(edges, counts, sd, total):
        drawn.append(sd)
        return moments(edges, counts, sd, total)

    monkeypatch.setattr(scaling, "moments", seen)
    scaler = steps(1000, delta=delta)[0]
    scaler.fit(np.zeros((1000, 4)))
    said = re.search(r"cell is ([\d.]+)", scaler.privacy_advice(4))[1]
    assert float(said) == pytest.approx(drawn[-1] / 1000, rel=0.05)


def test_every_estimator_says_how_much_noise_there_is():
    for name in skdp_bary.__all__:
        kind, given = getattr(skdp_bary, name), {"n_hint": 1000, "bounds": (0, 1)}
        if name.startswith("Private") and hasattr(kind, "_noise_of") and name != "PrivateTable":
            estimator = kind(**{"n_clusters": 3} | given if name == "PrivateKMeans" else given)
            assert re.search(r"\d\.\d|\de", estimator.privacy_advice(2)), name


@every("method", ["self_training", "moments"])
@every("views", [None, lambda rows, draws: rows])
def test_adapters_say_when_noise_hides_all_moves(method, views):
    def advice(n_hint):
        return PrivateDomainAdapter(views=views, method=method, n_hint=n_hint).privacy_advice(10)

    assert re.search(r"adapting can harm|stays about as it was", advice(100))
    assert not re.search(r"adapting can harm|stays about as it was", advice(30_000))
    assert PrivateDomainAdapter()._bounds_in_words().startswith("not needed")
    assert "every feature" in PrivateDomainAdapter(bounds=(0, 1))._bounds_in_words()


def test_hidden_share_of_the_variance_is_what_is_drawn():
    """Of rows that fill bounds, where the clipping length is about right."""
    X = np.random.default_rng(0).normal(size=(5000, 20)).clip(-3, 3)
    pca = PrivatePCA(2, epsilon=1.0, bounds=(-3, 3), n_hint=5000).fit(X)
    said = float(re.search(r"than ([\d.]+)", pca.privacy_advice(20))[1])
    assert said == pytest.approx(2.0 * pca.noise_std_ * 20**0.5 / X.var(axis=0).sum(), rel=0.2)
