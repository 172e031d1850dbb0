import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.exceptions import NotFittedError

from skdp_bary import PrivateMeasure
from skdp_bary.geometry import Ball
from skdp_bary.plotting import MeasureDisplay


def fit(n_features=2, bounds=(0.0, 2.0), **parameters):
    X = np.random.default_rng(0).beta(2, 6, size=(3000, n_features)) * 2
    return PrivateMeasure(epsilon=2.0, bounds=bounds, n_hint=3000, **parameters).fit(X), X


def test_cells_carry_the_density_of_the_release():
    measure, _ = fit()
    display = MeasureDisplay.from_estimator(measure)
    areas = (display.high - display.low).prod(axis=1)
    assert display.weights.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(display.cells_.get_array(), measure.weights_ / areas)
    # the density that is drawn is the one the estimator reports, up to its uniform person
    drawn = display.cells_.get_array()
    reported = np.exp(measure.score_samples(measure.support_))
    np.testing.assert_allclose(drawn, reported, rtol=0.05, atol=0.05)


def test_cells_do_not_overlap_and_hold_their_points():
    measure, _ = fit()
    display = MeasureDisplay.from_estimator(measure)
    assert (display.low <= measure.support_).all() and (measure.support_ <= display.high).all()
    assert (display.high - display.low).prod(axis=1).sum() <= 4.0 + 1e-9
    for point, weight in zip(measure.support_[:50], measure.weights_[:50], strict=True):
        inside = ((display.low < point) & (point < display.high)).all(axis=1)
        assert inside.sum() == 1 and display.weights[inside][0] == weight


def test_the_corners_of_a_cell_go_around_it():
    display = MeasureDisplay.from_estimator(fit(depth=3)[0])
    corners = display.cells_.get_paths()[0].vertices
    np.testing.assert_allclose(corners.min(axis=0), display.low[0])
    np.testing.assert_allclose(corners.max(axis=0), display.high[0])
    assert len(np.unique(corners, axis=0)) == 4
    steps = np.abs(np.diff(corners, axis=0))
    assert ((steps[:4] > 0).sum(axis=1) == 1).all()  # one side after another, no diagonal


def test_one_feature_is_drawn_as_a_density():
    measure, _ = fit(n_features=1)
    display = MeasureDisplay.from_estimator(measure)
    heights, edges, _ = display.cells_.get_data()
    assert (heights * np.diff(edges)).sum() == pytest.approx(1.0)
    expected = np.histogram(measure.support_[:, 0], edges, weights=measure.weights_)[0]
    np.testing.assert_allclose(np.cumsum(heights * np.diff(edges)), np.cumsum(expected), atol=0.02)


def test_from_comparison_shows_rows_and_says_so():
    measure, X = fit()
    display = MeasureDisplay.from_comparison(measure, X)
    assert len(display.axes_) == 2
    assert "not private" in display.axes_[0].get_title()
    assert "release, epsilon=2" in display.axes_[1].get_title()
    assert "not private" not in display.axes_[1].get_title()
    norms = {id(artist.norm) for artist in (display.axes_[0].collections[0], display.cells_)}
    assert len(norms) == 1  # one scale for both


def test_from_estimator_keeps_no_rows():
    measure, _ = fit()
    display = MeasureDisplay.from_estimator(measure)
    assert display.rows is None and len(display.axes_) == 1


def test_one_feature_can_be_compared_too():
    measure, X = fit(n_features=1)
    display = MeasureDisplay.from_comparison(measure, X)
    assert "not private" in display.axes_[0].get_title()
    assert display.axes_[0].get_ylim() == display.axes_[1].get_ylim()


def test_given_axes_are_used():
    measure, X = fit()
    figure, axes = pyplot.subplots(1, 2)
    display = MeasureDisplay.from_comparison(measure, X, ax=axes)
    assert display.figure_ is figure and display.axes_[0] is axes[0]
    again = display.plot(ax=axes)
    assert again is display
    with pytest.raises(ValueError, match="ax must hold 2 axes"):
        display.plot(ax=axes[0])


def test_names_of_columns_become_labels():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.default_rng(0).random((500, 2)), columns=["east", "north"])
    measure = PrivateMeasure(epsilon=1.0, bounds=(0, 1), n_hint=500, delta=1e-6).fit(X)
    axes = MeasureDisplay.from_estimator(measure).axes_[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("east", "north")
    assert axes.get_title() == "release, epsilon=1, delta=1e-06"


def test_a_ball_is_drawn_in_its_bounding_box():
    measure, _ = fit(bounds=Ball([0.0, 0.0], 2.0))
    axes = MeasureDisplay.from_estimator(measure).axes_[0]
    assert axes.get_xlim() == (-2.0, 2.0)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(NotFittedError):
        MeasureDisplay.from_estimator(PrivateMeasure())
    with pytest.raises(ValueError, match="one or two features, the estimator has 3"):
        MeasureDisplay.from_estimator(fit(n_features=3)[0])
    with pytest.raises(ValueError, match="X must have 2 features"):
        MeasureDisplay.from_comparison(fit()[0], np.zeros((5, 3)))


def test_a_missing_matplotlib_names_its_extra(monkeypatch):
    measure, _ = fit()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "skdp_bary\[plot\]"'):
        MeasureDisplay.from_estimator(measure)


def test_importing_the_pictures_does_not_import_matplotlib():
    code = "import sys, skdp_bary.plotting; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
