"""PrivateEMDHeatmap: what it answers, and the conditions without which it would not be private."""

import json
import re
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

from skdp_bary import BudgetAccountant, PrivateEMDHeatmap
from skdp_bary.geometry import Ball, Mask
from skdp_bary.metrics import earth_mover_distance, similarity
from skdp_bary.papers import LevelwiseEMDHeatmap
from tests.cases import every
from tests.world import blur

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

SQUARE = ((0.0, 0.0), (1.0, 1.0))
CLASSES = {name: cls for cls in (PrivateEMDHeatmap, LevelwiseEMDHeatmap) for name in cls._methods}
METHODS = list(CLASSES)


def blobs(n=300, seed=0):
    rng = np.random.default_rng(seed)
    centers = np.array([[0.2, 0.3], [0.7, 0.8], [0.75, 0.2]])
    X = centers[rng.integers(3, size=n)] + 0.04 * rng.standard_normal((n, 2))
    return np.clip(X, 0.0, 1.0)


def heatmap(method="adaptive", *, epsilon=1.0, resolution=32, seed=0, n_hint=300, **parameters):
    shared = {"resolution": resolution, "method": method, "n_hint": n_hint, "random_state": seed}
    return CLASSES[method](epsilon, bounds=SQUARE, **shared, **parameters)


def true_picture(X, side, bandwidth):
    counts, *_ = np.histogram2d(X[:, 1], X[:, 0], bins=side, range=[[0, 1], [0, 1]])
    return blur(counts / len(X), bandwidth)


@pytest.fixture(scope="module")
def fitted():
    return heatmap().fit(blobs())


# What it answers


@every("method", METHODS)
def test_with_much_budget_every_method_finds_the_truth(method):
    X = blobs(3000)
    keeping = {"paper": {"n_kept": 500}, "topk": {"top_share": 0.5}}.get(method, {})
    model = heatmap(method, epsilon=200.0, n_hint=3000, **keeping).fit(X)
    truth = true_picture(X, 32, model.bandwidth)
    assert model.heatmap_.shape == (32, 32)
    assert model.heatmap_.sum() == pytest.approx(1.0)
    assert similarity(model.heatmap_, truth) > 0.95
    assert model.total_ == pytest.approx(3000, rel=0.01)
    persons, std = model.count_persons(return_std=True)
    assert abs(persons - 3000) < 20.0 * std


def test_the_default_beats_the_paper_and_plain_noise():
    X = blobs(200)
    errors = {"adaptive": 0.0, "paper": 0.0, "laplace": 0.0}
    for method in errors:
        for seed in range(4):
            model = heatmap(method, resolution=64, seed=seed, n_hint=200).fit(X)
            truth = true_picture(X, 64, model.bandwidth)
            errors[method] += earth_mover_distance(model.heatmap_, truth)
    assert errors["adaptive"] < 0.9 * errors["paper"] < errors["laplace"]


def test_cells_cover_the_map_once_and_rendering_keeps_their_mass(fitted):
    areas = np.prod(fitted.cells_.high - fitted.cells_.low, axis=1)
    assert areas.sum() == pytest.approx(1.0) and len(fitted.cells_) == len(areas)
    plain = fitted.render(32, bandwidth=0)
    low = np.rint(fitted.cells_.low * 32).astype(int)
    high = np.rint(fitted.cells_.high * 32).astype(int)
    mass = [plain[a[1] : b[1], a[0] : b[0]].sum() for a, b in zip(low, high, strict=True)]
    assert np.allclose(np.array(mass) * fitted.cells_.mass.sum(), fitted.cells_.mass)


def test_intervals_need_a_posterior_and_hold_the_released_mass():
    model = heatmap(epsilon=5.0, resolution=64, n_hint=2000).fit(blobs(2000))
    low, high = model.interval(0.9)
    assert ((low <= model.cells_.mass) & (model.cells_.mass <= high)).all()
    with pytest.raises(ValueError, match="posterior"):
        heatmap("paper").fit(blobs()).interval()


def test_k_median_of_blobs():
    X = blobs(2000)
    model = heatmap(epsilon=5.0, n_hint=2000).fit(X)
    centers, cost = model.k_median(3, random_state=0)
    best = np.array([[0.2, 0.3], [0.7, 0.8], [0.75, 0.2]])
    gap = np.abs(centers[:, None] - best).sum(axis=2).min(axis=0)
    assert gap.max() < 0.05
    points, weights = model.coreset_.support, model.coreset_.weights
    distances = np.abs(points[:, None] - centers).sum(axis=2).min(axis=1)
    assert cost == pytest.approx(weights @ distances)


def test_geojson(fitted):
    collection = json.loads(json.dumps(fitted.to_geojson(period="2026-05")))
    masses = [f["properties"]["mass"] for f in collection["features"]]
    assert np.allclose(masses, fitted.cells_.mass)
    for feature in collection["features"]:
        ring = np.array(feature["geometry"]["coordinates"][0])
        assert (ring[0] == ring[-1]).all() and len(ring) == 5
        told, area = feature["properties"], np.ptp(ring, axis=0).prod()
        assert set(told) == {"mass", "density", "low", "high", "interval_level"}
        assert told["density"] * area == pytest.approx(told["mass"])
    plan, stated = fitted.privacy_, collection["release"]
    assert stated["epsilon"] == plan.epsilon and stated["relation"] == plan.relation
    assert stated["period"] == "2026-05"
    assert fitted.to_geojson(epsilon=0.0)["release"]["epsilon"] == plan.epsilon


def test_geojson_files_are_not_replaced_unasked(fitted, tmp_path):
    path = tmp_path / "map.geojson"
    fitted.save_geojson(path, period="2026-05", unit="person")
    with pytest.raises(FileExistsError, match="overwrite=True.* saving again is not charged"):
        fitted.save_geojson(path)
    about = {"period": "2026-05", "unit": "person"}
    assert json.loads(path.read_text()) == fitted.to_geojson(**about)
    fitted.save_geojson(str(path), overwrite=True)
    assert "period" not in json.loads(path.read_text())["release"]


# The conditions without which it would not be private


def test_what_a_map_cannot_have_is_refused():
    for given, told in (
        ({"bounds": None}, "bounds"), ({"delta": 1e-6}, "delta"), ({"bounds": (0, 1)}, "=3"),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=told):
            heatmap().set_params(**given).fit(np.zeros((5, 3 if told == "=3" else 2)))


# Huge grids


# Trees of measured cells, their posterior, and densities


TRIANGLE = Mask([[(0.0, 0.0), (3.0, 0.0), (0.0, 1.5)]], resolution=32)


@every("bounds", [(0, 2), TRIANGLE, Ball([1.0, 0.5], 0.8)])
def test_densities_are_those_of_every_cell_alone(bounds):
    """Also on masks and balls; and a row has the same bits beside any others."""
    model = PrivateEMDHeatmap(bounds=bounds, resolution=32, epsilon=5.0, random_state=0)
    model.fit(np.random.default_rng(0).beta(2, 5, size=(500, 2)))
    cells, domain = model.cells_, model.domain_
    X = np.random.default_rng(1).uniform(-1.0, 4.0, (20, 2))
    inside, widths = np.clip(X, domain.low, domain.high), domain.high - domain.low
    mass = cells.mass / np.prod((cells.high - cells.low) / widths, axis=1)
    found = model.transform(X)
    for column, scale in enumerate((0.5, 1.0, 2.0, 4.0)):
        shares = np.ones((20, len(cells)))
        for axis in (0, 1):
            sd = scale * model.bandwidth * widths[axis]
            ends = (inside[:, axis, None] - side[:, axis] for side in (cells.low, cells.high))
            left, right = (ndtr(end / sd) for end in ends)
            shares *= left - right
        expected = np.log((shares @ mass + 1) / (cells.mass.sum() + 1)) - np.log(widths).sum()
        np.testing.assert_allclose(found[:, column], expected, rtol=0, atol=1e-10)
    assert (found[:, 1] == model.score_samples(X)).all()
    assert model.score(X) == pytest.approx(found[:, 1].mean())
    for row, x in zip(found, X, strict=True):
        assert (model.transform(x[None]) == row).all()


@every(
    "method, epsilon, n_hint, neighbors",
    product(["adaptive", "one_shot"], [0.1, 2.0], [20, 2000], ["add_remove", "replace_one"]),
)
def test_quotes_say_the_noise_of_a_cell(method, epsilon, n_hint, neighbors):
    heatmap = PrivateEMDHeatmap(
        epsilon, bounds=(0, 1), method=method, n_hint=n_hint, neighbors=neighbors, random_state=0
    )
    quote = str(BudgetAccountant(9.0, neighbors=neighbors).quote(heatmap, 2))
    heatmap.fit(np.random.default_rng(0).random((200, 2)))
    said = float(re.search("standard deviation about ([0-9.e-]+) people[.]", quote).group(1))
    assert said == pytest.approx(2.0**0.5 / heatmap.measurements_[-1].rate, rel=0.05)
