"""PrivateMeasure: every method, relation and domain gives a measure; its density and sample."""

import math

import numpy as np
import pytest

from skdp_bary import PrivateMeasure
from skdp_bary.geometry import Ball, Box, Mask
from tests.cases import every

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
LAND = Mask([[[0, 0], [4, 0], [4, 4], [0, 4]], [[1, 1], [3, 1], [3, 3], [1, 3]]], resolution=64)
DOMAINS = [Box([0.0, 0.0], [1.0, 2.0]), Ball([0.5, 0.5, 0.5], 0.5), LAND]


def cluster(n=2000, d=2, seed=0):
    return np.clip(np.random.default_rng(seed).normal(0.3, 0.08, size=(n, d)), 0.0, 1.0)


def fit(X, *arguments, groups=None, sample_weight=None, **parameters):
    model = PrivateMeasure(*arguments, **{"bounds": (0, 1), "random_state": 3} | parameters)
    return model.fit(X, groups=groups, sample_weight=sample_weight)


def check_measure(model, n_features):
    assert model.support_.shape == (model.weights_.size, n_features)
    assert np.isfinite(model.support_).all()
    assert (model.weights_ > 0).all() and model.weights_.sum() == pytest.approx(1.0)
    assert model.total_ >= 0.0 and model.cells_.mass.size == model.weights_.size
    X = model.sample(50, random_state=0)
    assert X.shape == (50, n_features)
    assert model.domain_.contains(np.vstack([X, model.support_])).all()
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@every("depth", ["auto", 0, 1, 7])
def test_every_domain(domain, depth):
    X = np.random.default_rng(0).normal(0.5, 0.4, size=(500, domain.n_features))
    model = fit(X, bounds=domain, depth=depth, n_hint=500)
    check_measure(model, domain.n_features)
    assert model.domain_ == domain


def test_weights_count_in_proportion():
    X = np.array([[0.1], [0.9]]).repeat(2000, axis=0)
    weights = np.array([1.0, 0.25]).repeat(2000)
    model = fit(X, 20.0, sample_weight=weights, depth=1)
    assert model.weights_ == pytest.approx([0.8, 0.2], abs=0.01)


# Density and sample


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
@every("depth", ["auto", 0, 5])
def test_the_density_integrates_to_one(depth, epsilon):
    box = Box([-1.0, 2.0], [3.0, 2.5])
    X = box.low + (box.high - box.low) * cluster(800)
    model = fit(X, epsilon, bounds=box, method="haar", depth=depth, n_hint=800)
    side = 1 << 8
    grid = (np.indices((side, side)).reshape(2, -1).T + 0.5) / side
    density = np.exp(model.score_samples(box.low + (box.high - box.low) * grid))
    assert model.tree_.depth <= 16
    assert density.mean() * 2.0 == pytest.approx(1.0, rel=1e-9)


def test_the_density_includes_one_person_of_the_public_prior():
    """So no row has density zero, and the score never reads anything but the release."""
    model = fit(np.full((5000, 2), 0.1), 100.0, depth=8)
    lowest = model.score_samples([[0.95, 0.95]])[0]
    assert lowest == pytest.approx(-math.log(model.total_ + 1.0))
    highest = model.score_samples([[0.1, 0.1]])[0]
    assert highest == pytest.approx(8 * math.log(2), abs=0.01)
    assert model.score([[0.95, 0.95], [0.1, 0.1]]) == pytest.approx((lowest + highest) / 2)


# As an object


@every(
    "parameters, n_features, looks",
    [
        *(({}, 4, 3), ({}, 5, 1), ({"depth": 6}, 2, 1), ({"delta": 1e-6}, 2, 1)),
        *(({"bounds": DOMAINS[0]}, 2, 3), ({"bounds": DOMAINS[2]}, 2, 1), ({"bounds": None}, 2, 1)),
        *(({"method": "haar"}, 2, 1), ({"method": "pyramid", "delta": 1e-6}, 5, 3)),
    ],
)
def test_what_is_measured_follows_from_public_facts(parameters, n_features, looks):
    given = {"bounds": (0, 1), "n_hint": 60} | parameters
    names = [step.name for step in PrivateMeasure(**given).privacy_plan(n_features).steps]
    names = [name for name in names if name not in ("scale", "center", "radius")]
    assert names == (["tree"] if looks == 1 else ["levels", "cells", "finer_cells"])


def test_samples_repeat_by_seed_are_shuffled_and_have_the_names_of_the_columns():
    pandas = pytest.importorskip("pandas")
    model = fit(pandas.DataFrame(cluster(), columns=["lon", "lat"]))
    first, again, other = (model.sample(500, random_state=s, as_frame=True) for s in (1, 1, 2))
    assert first.equals(again) and not first.equals(other) and list(first.columns) == ["lon", "lat"]
    assert (np.diff(model.tree_.leaf_index(first.to_numpy())) < 0).any()
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(0)
