"""PrivateGenerator: what it draws, what it asks, and what bugs would show."""

import warnings

import numpy as np
import pytest

from skdp_bary import PrivateGenerator
from tests.cases import every
from tests.world import InWidths, record_fit, replay_after

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
RELATIONS = ("add_remove", "replace_one", "replace_any")


def two_classes(n_rows=6000, n_features=4, seed=0):
    """Rows of two correlated classes, the second one in two clusters, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    mix = np.eye(n_features) + 0.5 * np.eye(n_features, k=1)
    X = 0.05 * rng.standard_normal((n_rows, n_features)) @ mix
    X = np.where(y == 0, 0.35, 0.6)[:, None] + X
    X[:, 0] += np.where((y == 1) & (rng.random(n_rows) < 0.5), 0.3, 0.0)
    return np.clip(X, 0.0, 1.0), y


def blobs(n_rows=3000, side=8, seed=0):
    """Images of two classes: a bright spot left or right that moves a little, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    rows, columns = np.mgrid[:side, :side]
    x0 = np.where(y == 0, 2.0, 5.0) + 0.4 * rng.standard_normal(n_rows)
    y0 = 3.5 + 0.8 * rng.standard_normal(n_rows)
    square = (columns - x0[:, None, None]) ** 2 + (rows - y0[:, None, None]) ** 2
    return np.exp(-square / 3.0).reshape(n_rows, -1), y


def make(**settings):
    defaults = {"epsilon": 20.0, "classes": [0, 1], "bounds": (0, 1), "n_hint": 6000}
    return PrivateGenerator(**(defaults | settings))


@pytest.fixture(scope="module")
def data():
    return two_classes()


def test_labels_follow_the_release_or_the_public_prior(data):
    X, y = data
    kept = (y == 0) | (np.arange(len(y)) % 3 == 0)
    fit = make(n_components=1).fit(X[kept], y[kept])
    assert fit.sample(20_000, random_state=0)[1].mean() == pytest.approx(0.25, abs=0.02)
    fit = make(n_components=1, class_prior=[1, 4]).fit(X[kept], y[kept])
    assert fit.sample(20_000, random_state=0)[1].mean() == pytest.approx(0.8, abs=0.02)
    with pytest.raises(ValueError, match="class_prior"):
        make(class_prior=[1.0]).fit(X, y)


def test_rows_without_labels_are_one_class(data):
    fit = make(classes=None).fit(data[0])
    rows, labels = fit.sample(5)
    assert rows.shape == (5, 4) and labels.tolist() == [0] * 5
    assert not np.array_equal(rows, fit.sample(5)[0])
    with pytest.raises(ValueError, match="y must be one of"):
        fit.sample(5, y="maybe")
    with pytest.raises(ValueError, match="classes must name"):
        make(classes=None).fit(*data)
    fit = make(classes=None, neighbors="replace_one").fit(*data)
    assert fit.classes_.tolist() == [0, 1]


@every(
    "settings, told",
    [
        ({"delta": 0.0}, "delta > 0"),
        ({"image_shape": (2, 3)}, "image_shape"),
        ({"covariance_type": "tied", "n_components": 3}, "n_components must be .*, got 3"),
    ],
)
def test_what_has_no_sound_form_is_refused(settings, told):
    with pytest.raises(ValueError, match=told):
        make(**settings).privacy_plan(4)


def test_number_of_cells_is_a_public_rule():
    many, few = make(n_hint=10**6), make(n_hint=10**6, epsilon=1e-3)
    assert [m._method_setting(4, 2, 10**6).n_cells for m in (many, few)] == [5, 1]
    assert many._method_setting(3000, 10, 10**6).n_cells == 1
    with pytest.raises(ValueError, match="n_components must leave at most .* got 1 for 2 classes"):
        many.privacy_plan(12_000)
    names = [step.name for step in many.privacy_plan(4).steps]
    assert names == ["means", "scatter", "cells_1", "cells_2", "cells_3", "grams"]
    assert [step.name for step in few.privacy_plan(4).steps] == ["means", "scatter", "grams"]


def test_images_are_smooth_and_dark_pixels_stay_dark():
    X, y = blobs()
    fit = make(image_shape=(8, 8), epsilon=5.0, n_hint=3000, random_state=0).fit(X, y)
    for label in (0, 1):
        rows, _ = fit.sample(4000, y=label, random_state=0)
        mean, real = rows.mean(axis=0), X[y == label].mean(axis=0)
        assert np.abs(mean - real).max() < 0.06
        pixels = [19 + 3 * label, 27 + 3 * label]
        near, wanted = (np.corrcoef(Z[:, pixels].T) for Z in (rows, X[y == label]))
        assert near[0, 1] == pytest.approx(wanted[0, 1], abs=0.2)
    dark = fit.means_[0, 0] < 0.005
    assert dark.any() and fit.sample(500, y=0)[0][:, dark].std(axis=0).max() < 1e-3


@every("relation", ["replace_one", "replace_any"])
def test_a_row_that_changes_its_cell_costs_what_is_paid_for_it(relation, data):
    """Replayed: two rows on the clipping spheres of two cells, of one class or of two."""
    X, y = data
    settings = {"n_components": 2, "class_spread": 0.03, "epsilon": 300.0, "delta": 1e-5}
    candidate = make(neighbors=relation, random_state=0, **settings)
    base = record_fit(candidate, {"X": X, "y": y})
    queries = base.records[-1].query.query.queries
    other = 1 if relation == "replace_any" else 0
    directions = np.eye(X.shape[1])[2:]
    pair = []
    for code, cell, direction in zip((0, other), (0, 1), directions, strict=True):
        query = queries[code]
        row = query.used_centers[cell] + query.used_radii[cell] * direction
        pair.append({"X": np.vstack([X, query.frame.center + row]), "y": np.append(y, code)})
    before = record_fit(candidate, pair[0], base.records)
    report = replay_after(before, candidate, pair[1])
    assert report.holds, report
    assert {step.name: step.ratio for step in report.steps}["grams"] > 0.9


def test_advice_says_when_classes_are_too_small():
    def advice(**settings):
        return make(**({"epsilon": 1.0} | settings)).privacy_advice(30)

    assert "Pass n_hint" in advice(n_hint=None)
    assert "can be mostly noise" in advice(n_hint=300)
    assert "mostly signal" in advice(n_hint=30_000)
    assert "class of 15000 people" in advice(n_hint=30_000)
    assert "can be mostly noise" in advice(n_hint=30_000, classes=range(300))
    assert "PrivateTable" in advice() and "PrivateTable" not in make().privacy_advice(4)


def test_features_of_an_unequal_box_are_counted_in_its_widths(data):
    """As if they were scaled by hand; a box of equal widths is left as it is."""
    X, y = data
    low, width = np.array([0.0, -3.0, 10.0, 5.0]), np.array([1.0, 2000.0, 1e-3, 7.0])
    settings = {"n_components": 2, "epsilon": 3.0, "random_state": 0}
    by_hand = make(**settings).fit(X, y)
    fit = make(bounds=(low, low + width), **settings).fit(low + width * X, y)
    np.testing.assert_allclose(fit.means_, low + width * by_hand.means_, rtol=1e-5)
    expected = by_hand.covariances_ * np.outer(width, width)
    np.testing.assert_allclose(fit.covariances_ / expected, 1.0, rtol=1e-3)
    rows, own = (each.sample(500, random_state=1)[0] for each in (fit, by_hand))
    np.testing.assert_allclose((rows - low) / width, own, atol=1e-3)
    equal = record_fit(make(**settings), {"X": X, "y": y}).records
    assert not any(isinstance(r.query, InWidths) for r in equal)


@every(
    "settings, warned",
    [({}, False), ({"class_spread": 1.0}, True), ({"image_shape": (1, 2)}, True)],
)
def test_unequal_widths_that_are_not_scaled_are_told(settings, warned):
    X = np.random.default_rng(0).random((60, 2))
    generator = PrivateGenerator(1, bounds=([0.0, 0.0], [1.0, 4.0]), n_hint=60, **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        generator.fit(X)
    assert any("The widths of bounds" in str(w.message) for w in caught) == warned


def tied(**settings):
    return make(covariance_type="tied", random_state=0, **settings)


@every("relation", RELATIONS)
def test_tied_classes_share_the_covariance_within_them(data, relation):
    X, y = data
    fit = tied(neighbors=relation).fit(X, y)
    assert [step.name for step in fit.privacy_.steps] == ["means", "scatter"]
    own = [X[y == label] for label in (0, 1)]
    within = sum(np.cov(rows.T, bias=True) * len(rows) for rows in own) / len(X)
    for code, rows in enumerate(own):
        np.testing.assert_allclose(fit.covariances_[code, 0], within, atol=2e-3)
        np.testing.assert_allclose(fit.means_[code, 0], rows.mean(axis=0), atol=5e-3)
    drawn, labels = fit.sample(20_000, random_state=0)
    np.testing.assert_allclose(np.cov(drawn[labels == 0].T), within, atol=3e-3)


@every("kind, n_components", [("full", 1), ("full", 3), ("tied", 1)])
def test_constant_and_doubled_columns_and_sums_stay_what_they_are(kind, n_components):
    rng = np.random.default_rng(0)
    free = 0.5 + 0.08 * np.clip(rng.standard_normal((6000, 2)), -3, 3)
    X = np.column_stack([free, free[:, 0], 1.5 - free.sum(axis=1), np.full(6000, 0.3)])
    X = np.column_stack([X, np.zeros(6000), np.ones(6000)])
    settings = {"covariance_type": kind, "n_components": n_components}
    with np.errstate(all="raise", under="ignore"):
        model = make(epsilon=200.0, classes=None, random_state=0, **settings).fit(X)
        drawn, _ = model.sample(4000, random_state=0)
    assert np.isfinite(model.covariances_).all()
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(drawn.std(axis=0)[:4], X.std(axis=0)[:4], atol=0.02)
    assert (drawn[:, 4:].std(axis=0) < 0.01).all()
    assert (drawn[:, 0] - drawn[:, 2]).std() < 0.01
    assert (drawn[:, 0] + drawn[:, 1] + drawn[:, 3]).std() < 0.01
