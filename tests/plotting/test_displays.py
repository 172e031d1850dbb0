"""Displays: what is drawn is the release, where it belongs, and what is not private says so."""

import sys

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skdp_bary import (
    BudgetAccountant,
    DPSlicedWasserstein,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateMeasure,
    PrivateTable,
    PrivateWassersteinBarycenter,
)
from skdp_bary.base import BasePrivateEstimator
from skdp_bary.geometry import Box, Mask
from skdp_bary.plotting import (
    BarycenterDisplay,
    BudgetDisplay,
    ClusterDisplay,
    HeatmapDisplay,
    MeasureDisplay,
    NumbersDisplay,
    SlicesDisplay,
)
from skdp_bary.schema import Boolean, Schema
from tests.discovery import private_estimators
from tests.estimators import PRIVATE
from tests.world import make_arguments

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

RNG = np.random.default_rng(0)
Y = RNG.choice(["north", "south"], size=600)
X = RNG.random((600, 3))
X[:, 1] += Y == "north"
SUBCLASSED = {"PrivateDomainAdapter"}  # by one that brings its public source
SETTINGS = {"bounds": (0.0, 2.0), "n_hint": 600}


def barycenter(n_features=2, classes=("north", "south"), **given):
    given = {"epsilon": 2.0, "n_init": 1, "random_state": 0} | SETTINGS | given
    y = Y if len(classes) > 1 else np.full(600, classes[0])
    return PrivateWassersteinBarycenter(3, classes=classes, **given).fit(X[:, :n_features], y)


def measure(n_features=2, **given):
    return PrivateMeasure(**({"epsilon": 2.0} | SETTINGS | given)).fit(X[:, :n_features])


def heatmap(bounds=Box([0.0, 20.0], [8.0, 24.0]), place=(7.0, 21.0)):  # noqa: B008
    rows = np.tile(place, (300, 1))
    return PrivateEMDHeatmap(5.0, bounds=bounds, resolution=32, random_state=0).fit(rows)


@pytest.fixture(scope="module")
def fitted():
    return {
        BarycenterDisplay: barycenter(delta=1e-6),
        MeasureDisplay: measure(),
        HeatmapDisplay: heatmap(),
        ClusterDisplay: PrivateKMeans(3, **SETTINGS).fit(X[:, :2]),
        SlicesDisplay: DPSlicedWasserstein(
            12, epsilon=100.0, bounds=(0, 2), n_min=500, random_state=0
        ).fit(X[:, :2]),
        BudgetDisplay: BudgetAccountant(1.0),
    }


class TestEveryDisplay:
    def test_it_draws_on_given_axes_as_many_as_it_has(self, fitted):
        ways = [
            *((kind, "from_estimator", (), {}) for kind in list(fitted)[:5]),
            (BarycenterDisplay, "from_comparison", (X[:, :2], Y), {}),
            (MeasureDisplay, "from_comparison", (X[:, :2],), {}),
            (HeatmapDisplay, "from_estimator", (), {"level": 0.9}),
            (BudgetDisplay, "from_accountant", (), {}),
        ]
        for kind, way, given, more in ways:
            n_axes = 2 if given or more else 1
            _, axes = pyplot.subplots(1, n_axes)
            display = getattr(kind, way)(fitted[kind], *given, ax=axes, **more)
            assert np.ravel(display.axes_)[0] is np.ravel(axes)[0], kind
            assert len(np.ravel(display.axes_)) == n_axes and display.plot(ax=axes) is display
            if n_axes == 2:
                with pytest.raises(ValueError, match="ax must hold 2 axes"):
                    display.plot(ax=axes[0])

    def test_rows_are_shown_where_asked_and_said_to_be_not_private(self, fitted):
        for kind, more in ((BarycenterDisplay, (Y,)), (MeasureDisplay, ())):
            released = kind.from_estimator(fitted[kind])
            assert released.rows is None and len(released.axes_) == 1
            seeded = fitted[kind].random_state is not None
            assert ("seeded: not private" in released.axes_[0].get_title()) == seeded
            rows, release = kind.from_comparison(fitted[kind], X[:, :2], *more).axes_
            assert "not private" in rows.get_title()
            assert release.get_title().startswith("release, epsilon=2")
            assert rows.get_xlim() == release.get_xlim() == (0.0, 2.0)
        one = MeasureDisplay.from_comparison(measure(1), X[:, :1])
        assert "not private" in one.axes_[0].get_title()
        assert one.axes_[0].get_ylim() == one.axes_[1].get_ylim()

    def test_titles_name_the_price_and_axes_the_columns(self, fitted):
        pandas = pytest.importorskip("pandas")
        named = pandas.DataFrame(X[:, :2], columns=["east", "north"])
        for kind, model in ((BarycenterDisplay, PrivateWassersteinBarycenter(2, n_init=1)),
                            (MeasureDisplay, PrivateMeasure())):  # fmt: skip
            axes = kind.from_estimator(model.set_params(**SETTINGS).fit(named)).axes_[0]
            assert (axes.get_xlabel(), axes.get_ylabel()) == ("east", "north")
        for kind, title in (
            (BarycenterDisplay, "epsilon=2, delta=1e-06"), (ClusterDisplay, "centers, epsilon=1"),
            (HeatmapDisplay, "epsilon=5"), (SlicesDisplay, "epsilon=100"),
        ):  # fmt: skip
            (axes,) = np.ravel(kind.from_estimator(fitted[kind]).axes_)
            assert title in axes.get_title()

    def test_what_cannot_be_drawn_is_refused(self, fitted):
        bary, plane = BarycenterDisplay, MeasureDisplay
        for kind, way, given, error, told in (
            (bary, "estimator", (PrivateWassersteinBarycenter(),), NotFittedError, "fitted"),
            (plane, "estimator", (PrivateMeasure(),), NotFittedError, "fitted"),
            (bary, "comparison", (X[:, :1], Y), ValueError, "X must have 2 features"),
            (bary, "comparison", (X[:, :2],), ValueError, "y must hold labels"),
            (plane, "comparison", (X,), ValueError, "X must have 2 features"),
            (HeatmapDisplay, "estimator", (PrivateMeasure(),), TypeError, "PrivateEMDHeatmap, got"),
            (NumbersDisplay, "estimator", (PrivateMeasure(),), TypeError, "numbers, got"),
        ):
            model = [fitted[kind]] if way == "comparison" else []
            with pytest.raises(error, match=told):
                getattr(kind, f"from_{way}")(*model, *given)

    def test_a_missing_matplotlib_names_its_extra(self, fitted, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
        for kind in (BarycenterDisplay, MeasureDisplay):
            with pytest.raises(ImportError, match=r'pip install "skdp_bary\[plot\]"'):
                kind.from_estimator(fitted[kind])


# the source of an adapter was trained briefly
@pytest.mark.filterwarnings("ignore:The source model is right on")
def test_every_estimator_draws_itself_and_reads_no_rows(monkeypatch):
    """On new axes and on one that is given, whatever its features; rows cannot be opened."""
    fitted = []
    for place, estimator in enumerate(PRIVATE):
        fitted.append(clone(estimator).set_params(random_state=0))
        fitted[-1].fit(**make_arguments(estimator, 80, seed=place))
    for name in ("_open", "_questions", "_finish", "_before_charge"):
        monkeypatch.setattr(BasePrivateEstimator, name, None)
    assert {type(each).__name__ for each in PRIVATE} >= set(private_estimators()) - SUBCLASSED
    for place, each in enumerate(fitted):
        pictures = getattr(each, "image_shape", None) is not None
        given = None if pictures or place % 2 else pyplot.subplots()[1]
        display = each.plot(ax=given)
        display.figure_.canvas.draw()
        assert np.ravel(display.axes_)[0].has_data(), each
        assert given is None or np.ravel(display.axes_).tolist() == [given]
        pyplot.close("all")
    with pytest.raises(NotFittedError):
        PrivateMeasure().plot()


def test_features_are_chosen_by_place_and_masses_are_those_of_the_release():
    for features in ((2, 0), 1):
        drawn = measure(3).plot(features=features)
        assert drawn.weights.sum() == pytest.approx(1.0)
    model = measure(3)
    drawn, (place, other) = model.plot(features=(2, 0)), (2, 0)
    mean = model.weights_ @ model.support_
    found = drawn.weights @ (drawn.low + drawn.high) / 2.0
    np.testing.assert_allclose(found, mean[[place, other]], atol=0.05)
    centers = barycenter(3)
    atoms = centers.plot(features=(2, 1)).atoms_[0].get_offsets()
    np.testing.assert_array_equal(atoms, centers.support_[:, [2, 1]])


def test_discs_are_flat_where_heights_are_weights_and_nowhere_else():
    """A feature may be called weight; what is drawn does not follow from what it is called."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :2], columns=["height", "weight"])
    means = PrivateKMeans(3, **SETTINGS).fit(frame)
    for features, is_flat in ((None, False), ("height", True)):
        (axes,) = means.plot(features=features).axes_
        (discs,) = (c for c in axes.collections if type(c).__name__ == "EllipseCollection")
        assert axes.get_ylabel() == "weight"
        assert (discs.get_widths() > 0).all()
        assert (discs.get_heights() == 0).all() == is_flat


def test_tables_draw_counts_of_columns_with_intervals():
    schema = Schema([Boolean(), Boolean()])
    model = PrivateTable(schema, n_components=2, max_iter=2).fit(X[:, :2] > 0.5)
    pair, one = model.plot(), model.plot(columns=1)
    np.testing.assert_allclose(pair.values.ravel(), model.query(*model.pairs_[0]).counts)
    np.testing.assert_array_equal(one.ends[0], model.query(1).low)


def test_a_basemap_is_read_from_geojson_and_degrees_shrink_to_the_north(fitted):
    """Arrays, features, collections, and polygons of several rings: all are lines."""
    ring = [[0.0, 20.0], [2.0, 20.0], [2.0, 22.0], [0.0, 20.0]]
    polygon = {"type": "Polygon", "coordinates": [ring, ring]}
    feature = {"type": "Feature", "properties": {}, "geometry": polygon}
    several = {"type": "MultiPolygon", "coordinates": [[ring], [ring]]}
    for given, count in (
        ([ring], 1), ([np.array(ring)] * 2, 2), ([feature, feature], 4), (several, 2),
        ({"type": "FeatureCollection", "features": [feature]}, 2), ([several, feature], 4),
        ({"type": "LineString", "coordinates": ring}, 1),
    ):  # fmt: skip
        axes = fitted[HeatmapDisplay].plot(basemap=given, level=None).axes_[0]
        assert len(axes.get_lines()) == count and axes.get_aspect() == 1.0
        np.testing.assert_array_equal(axes.get_lines()[-1].get_xydata(), ring)
    (axes,) = fitted[HeatmapDisplay].plot(degrees=True, level=None).axes_
    assert axes.get_aspect() == pytest.approx(1.0 / np.cos(np.radians(22.0)))


class TestBarycenters:
    def test_atoms_and_measures_are_those_of_the_release(self):
        model = barycenter(epsilon=20.0)
        display = BarycenterDisplay.from_estimator(model)
        np.testing.assert_array_equal(display.atoms_[0].get_offsets(), model.support_)
        for drawn, own in zip(display.groups_, model.private_measures_, strict=True):
            np.testing.assert_array_equal(drawn.get_offsets(), own.support)
            sizes = drawn.get_sizes()
            small = sizes < sizes.max()  # the largest marks are cut
            ratio = sizes[small] / own.weights[small]
            assert small.any()
            np.testing.assert_allclose(ratio, ratio.mean())
        legend = display.axes_[0].get_legend()
        assert [text.get_text() for text in legend.get_texts()] == ["north", "south"]
        colors = [tuple(group.get_facecolor()[0][:3]) for group in display.groups_]
        assert colors[0] != colors[1]

    def test_rows_are_shown_with_their_group_and_one_group_needs_no_labels(self, fitted):
        model = fitted[BarycenterDisplay]
        display = BarycenterDisplay.from_comparison(model, X[:, :2], Y)
        drawn = display.axes_[0].collections
        for label, group in zip(("north", "south"), drawn, strict=False):
            np.testing.assert_array_equal(group.get_offsets(), X[label == Y, :2])
        one = BarycenterDisplay.from_comparison(barycenter(classes=("all",)), X[:, :2])
        assert len(one.rows[0]) == 600 and one.axes_[0].get_legend() is None


class TestMeasures:
    def test_cells_carry_the_density_of_the_release_and_hold_their_points(self):
        model = measure(n_features=2, n_hint=3000)
        display = MeasureDisplay.from_estimator(model)
        areas = (display.high - display.low).prod(axis=1)
        assert display.weights.sum() == pytest.approx(1.0) and areas.sum() <= 4.0 + 1e-9
        drawn = display.cells_.get_array()
        np.testing.assert_allclose(drawn, model.weights_ / areas)
        reported = np.exp(model.score_samples(model.support_))  # with one uniform person
        np.testing.assert_allclose(drawn, reported, rtol=0.1, atol=0.1)
        for point, weight in zip(model.support_[:50], model.weights_[:50], strict=True):
            inside = ((display.low < point) & (point < display.high)).all(axis=1)
            assert inside.sum() == 1 and display.weights[inside][0] == weight

    def test_one_feature_is_drawn_as_a_density(self):
        model = measure(1)
        heights, edges, _ = MeasureDisplay.from_estimator(model).cells_.get_data()
        masses = heights * np.diff(edges)
        assert masses.sum() == pytest.approx(1.0)
        expected = np.histogram(model.support_[:, 0], edges, weights=model.weights_)[0]
        np.testing.assert_allclose(np.cumsum(masses), np.cumsum(expected), atol=0.02)


class TestHeatmaps:
    def test_the_heatmap_is_drawn_where_it_belongs_with_its_uncertainty(self, fitted):
        model = fitted[HeatmapDisplay]
        display = HeatmapDisplay.from_estimator(model, level=0.9)
        image = display.images_[0]
        drawn = np.asarray(image.get_array())
        np.testing.assert_allclose(drawn / drawn.sum(), model.heatmap_)
        assert drawn.sum() * 32.0 / 32**2 == pytest.approx(model.cells_.mass.sum())  # of the area
        assert image.origin == "lower" and image.get_extent() == [0.0, 8.0, 20.0, 24.0]
        row, column = np.unravel_index(image.get_array().argmax(), (32, 32))
        assert abs(20 + (row + 0.5) / 8 - 21.0) < 0.3 and abs((column + 0.5) / 4 - 7.0) < 0.6
        low, high = model.interval(0.9)
        assert set(np.round(np.unique(display.uncertainty), 9)) <= set(np.round(high - low, 9))
        assert display.uncertainty.max() == pytest.approx((high - low).max())
        assert not hasattr(HeatmapDisplay(np.ones((2, 2)), extent=(0, 1, 0, 1)), "axes_")

    def test_what_lies_outside_of_a_mask_is_blank(self):
        """The blur of the heatmap reaches over the water; the picture does not."""
        lake = [[0, 20], [2, 20], [2, 24], [0, 24]]
        land = Mask([[[0, 20], [8, 20], [8, 24], [0, 24]], lake])
        display = HeatmapDisplay.from_estimator(heatmap(land, (2.5, 21.0)), level=0.9)
        pictures = display.heatmap, display.uncertainty
        for image, picture in zip(display.images_, pictures, strict=True):
            shore = picture.shape[1] // 4
            assert np.isnan(picture[:, :shore]).all() and np.isfinite(picture[:, shore:]).all()
            assert np.isfinite(image.norm.vmax)
        assert np.nanargmax(display.heatmap) % 32 in range(8, 13)


def test_slices_are_those_of_the_release_and_chosen_by_public_rows(fitted):
    sliced = fitted[SlicesDisplay]
    display = SlicesDisplay.from_estimator(sliced, n_slices=3)
    assert len(display.lines_) == 3
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), sliced.quantiles_[0, 1])
    rows = np.random.default_rng(1).normal([0.5, 1.8], 0.01, size=(300, 2))
    chosen = SlicesDisplay.from_estimator(sliced, rows, n_slices=2)
    along = np.abs(sliced.directions_[1])
    assert set(chosen.slices) <= set(np.argsort(-along)[:5].tolist())
    assert len(chosen.axes_.lines) == 4


class TestBudgets:
    @staticmethod
    def spent(**given):
        accountant = BudgetAccountant(2.0, **given)
        for part, epsilon, who in (
            (None, 0.5, "one"), ("a", 0.3, "part"), ("b", 0.4, "part"), (None, 0.1, "two"),
            ("a", 0.2, "part"),
        ):  # fmt: skip
            (accountant if part is None else accountant.part(part)).spend(epsilon, who=who)
        return accountant

    def test_the_running_total_ends_where_the_accountant_does(self):
        for neighbors, running in (
            ("add_remove", [0.5, 0.8, 0.9, 1.0, 1.1]),
            ("replace_one", [0.5, 0.8, 0.9, 1.0, 1.1]),
            ("replace_any", [0.5, 0.8, 1.2, 1.3, 1.5]),
        ):
            accountant = self.spent(neighbors=neighbors)
            display = accountant.plot()
            np.testing.assert_allclose(display.running, running)
            assert display.running[-1] == pytest.approx(accountant.total()[0])

    def test_bars_show_the_entries_their_parts_and_their_names(self):
        display = BudgetDisplay.from_accountant(self.spent())
        assert [bar.get_height() for bar in display.bars_] == [0.5, 0.3, 0.4, 0.1, 0.2]
        colors = [bar.get_facecolor() for bar in display.bars_]
        assert colors[0] == colors[3] and colors[1] == colors[4] and len(set(colors)) == 3
        legend = sorted(text.get_text() for text in display.axes_.get_legend().get_texts())
        assert legend == ["a", "b", "ceiling", "total", "whole data"]  # each part once
        names = [text.get_text() for text in display.axes_.get_xticklabels()]
        assert names == ["one", "part", "part", "two", "part"]

    def test_many_no_and_renyi_entries(self):
        accountant = BudgetAccountant(1.0)
        empty = BudgetDisplay.from_accountant(accountant)
        assert len(empty.bars_) == 0 and empty.total == 0.0
        for _ in range(40):
            accountant.spend(0.01, who="survey")
        assert BudgetDisplay.from_accountant(accountant).axes_.get_xlabel() == "entry"
        renyi = self.spent(delta=1e-6, composition="renyi")
        display = BudgetDisplay.from_accountant(renyi)
        assert display.running is None and display.total == renyi.total()[0]
