"""HeatmapDisplay: what is drawn, where, and from what."""

import numpy as np
import pytest

from skdp_bary import PrivateEMDHeatmap, PrivateMeasure
from skdp_bary.geometry import Box, Mask
from skdp_bary.plotting import HeatmapDisplay

pytest.importorskip("matplotlib").use("Agg")
pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


@pytest.fixture(scope="module")
def fitted():
    X = np.tile([7.0, 21.0], (300, 1))
    bounds = Box([0.0, 20.0], [8.0, 24.0])
    return PrivateEMDHeatmap(5.0, bounds=bounds, resolution=32, random_state=0).fit(X)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_the_heatmap_is_drawn_where_it_belongs(fitted):
    display = HeatmapDisplay.from_estimator(fitted)
    (image,) = display.images_
    assert np.array_equal(image.get_array(), fitted.heatmap_)
    assert image.origin == "lower" and image.get_extent() == [0.0, 8.0, 20.0, 24.0]
    row, column = np.unravel_index(image.get_array().argmax(), (32, 32))
    assert abs(20 + (row + 0.5) / 8 - 21.0) < 0.3 and abs((column + 0.5) / 4 - 7.0) < 0.6
    assert "epsilon=5" in display.axes_[0].get_title()


def test_uncertainty_beside_it(fitted):
    display = HeatmapDisplay.from_estimator(fitted, level=0.9)
    low, high = fitted.interval(0.9)
    assert len(display.axes_) == 2
    assert display.uncertainty.max() == pytest.approx((high - low).max())
    assert set(np.round(np.unique(display.uncertainty), 9)) <= set(np.round(high - low, 9))


def test_outlines_are_drawn_on_every_picture(fitted):
    border = [[0.0, 20.0], [8.0, 24.0]]
    display = HeatmapDisplay.from_estimator(fitted, outlines=[border], level=0.5)
    for axes in display.axes_:
        (line,) = axes.get_lines()
        assert np.array_equal(line.get_xydata(), border)


def test_axes_can_be_given(fitted):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert HeatmapDisplay.from_estimator(fitted, ax=ax).axes_[0] is ax
    with pytest.raises(ValueError, match="2 axes"):
        HeatmapDisplay.from_estimator(fitted, level=0.9, ax=ax)


def test_storing_only():
    display = HeatmapDisplay(np.ones((2, 2)), extent=(0, 1, 0, 1))
    assert not hasattr(display, "axes_")


def test_what_lies_outside_of_a_mask_is_blank():
    """The blur of the heatmap reaches over the water; the picture does not."""
    border = [[0, 20], [8, 20], [8, 24], [0, 24]]
    lake = [[0, 20], [2, 20], [2, 24], [0, 24]]
    land = Mask([border, lake])
    X = np.tile([2.5, 21.0], (300, 1))
    model = PrivateEMDHeatmap(5.0, bounds=land, resolution=32, random_state=0).fit(X)
    display = HeatmapDisplay.from_estimator(model, level=0.9)
    for image, picture in zip(display.images_, (display.heatmap, display.uncertainty), strict=True):
        columns = picture.shape[1]
        assert np.isnan(picture[:, : columns // 4]).all()
        assert np.isfinite(picture[:, columns // 4 :]).all()
        assert np.isfinite(image.norm.vmax)
    assert np.nanargmax(display.heatmap) % 32 in range(8, 13)


def test_other_estimators_are_refused_in_words():
    with pytest.raises(TypeError, match="a picture of a PrivateEMDHeatmap, got PrivateMeasure"):
        HeatmapDisplay.from_estimator(PrivateMeasure())
