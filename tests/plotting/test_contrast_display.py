"""Where two sketches differ: more here, less there, and nothing where samples are of one law."""

import warnings

import numpy as np
import pytest

from skdp_bary import PrivateDriftSketch, PrivateMeasure
from skdp_bary.plotting import ContrastDisplay
from tests.cases import every

pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def sketch(shift, width, seed=0):
    rows = np.random.default_rng(seed).normal(0.0, 0.25, size=(2000, width))
    rows[:, 0] += shift
    settings = {"epsilon": 2.0, "bounds": (-1, 1), "random_state": seed}
    return PrivateDriftSketch(**settings).fit(rows)


@pytest.fixture(scope="module")
def maps():
    here, there, again = sketch(0.3, 3), sketch(-0.3, 3, seed=1), sketch(0.3, 3, seed=2)
    return [ContrastDisplay.from_estimator(here, other, n_points=17) for other in (there, again)]


def test_a_map_shows_more_and_less(maps):
    apart, _ = maps
    ratios = apart.differences / apart.errors
    assert ratios.shape == (17, 17)
    assert ratios[12, 8] > 5 and ratios[4, 8] < -5  # at 0.5 and at -0.5 of the first feature
    assert np.allclose(apart.drawn_.get_array().reshape(17, 17), apart.differences.T)
    assert (apart.axes_.get_xlabel(), apart.axes_.get_ylabel()) == ("feature 0", "feature 1")


def test_a_curve_of_one_feature_beside_public_rows():
    rows = np.random.default_rng(3).normal(0.0, 0.25, size=(2000, 1))
    display = ContrastDisplay.from_estimator(sketch(0.3, 1), public_rows=rows, n_points=9)
    below, _, above = display.differences[[3, 4, 6]]
    assert below < 0 < above
    assert display.axes_.get_ylabel() == "difference of smoothed densities"
    assert np.allclose(display.drawn_.get_ydata(), display.differences)


def test_maps_are_pale_and_have_no_lines_where_hardly_anybody_is(maps):
    apart, _ = maps
    assert apart.held[8, 8] and not apart.held[[0, 0, 16, 16], [0, 16, 0, 16]].any()
    ratios = np.abs(apart.differences / apart.errors)
    assert (ratios[~apart.held] > 2.0).any()  # the waves of a sketch reach there
    bare = ContrastDisplay(apart.points, apart.differences, apart.errors, feature_names=["a", "b"])
    assert len(bare.plot().axes_.collections) < len(apart.axes_.collections)  # nothing is pale


def test_pictures_cut_through_where_persons_are_or_where_asked():
    rows = np.random.default_rng(0).normal(-0.6, 0.1, size=(2000, 3))
    table = pd.DataFrame(rows, columns=["age", "pressure", "crp"])
    settings = {"epsilon": 2.0, "bounds": (-1, 1), "random_state": 0}
    one, other = (PrivateDriftSketch(**settings).fit(part) for part in (table[:900], table[900:]))
    asked = {"features": ("crp", "age"), "n_points": 5}
    found = ContrastDisplay.from_estimator(one, other, **asked)
    assert found.feature_names == ["crp", "age"]
    assert abs(float(found.title.split("pressure = ")[1]) + 0.6) < 0.2
    given = ContrastDisplay.from_estimator(one, other, at=[0.0, 0.5, 0.0], **asked)
    assert given.title.endswith("pressure = 0.5")
    assert not np.allclose(given.differences, found.differences)
    with pytest.raises(ValueError, match="at must be 3 finite numbers"):
        ContrastDisplay.from_estimator(one, other, at=[0.0, 0.5])


@every("features", [(0, 3), (1, 1), (), ("x",)])
def test_features_are_places(features):
    with pytest.raises(ValueError, match="one or two different places below 3"):
        ContrastDisplay.from_estimator(sketch(0.0, 3), sketch(0.1, 3), features=features)


def test_points_need_no_names_and_rows_of_other_widths_are_refused():
    """A grid of public points is an array, also where the rows were a frame."""
    rows = np.random.default_rng(0).normal(0.0, 0.25, size=(500, 2))
    here, there = (
        PrivateDriftSketch(bounds=(-1, 1)).fit(pd.DataFrame(rows + shift, columns=["a", "b"]))
        for shift in (0.0, 0.2)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = here.contrast(rows[:5], there)[0]
    named = here.contrast(pd.DataFrame(rows[:5], columns=["a", "b"]), there)[0]
    assert np.array_equal(plain, named)
    with pytest.raises(ValueError, match="must have 2 features, got 3"):
        here.contrast(np.zeros((1, 3)), there)
    with pytest.raises(ValueError, match="feature names should match"):
        here.contrast(pd.DataFrame(rows[:5], columns=["b", "a"]), there)


def test_other_estimators_are_refused_in_words():
    with pytest.raises(TypeError, match="a picture of a PrivateDriftSketch, got PrivateMeasure"):
        ContrastDisplay.from_estimator(PrivateMeasure())
