import numpy as np
import pytest
from matplotlib import pyplot

from skdp_bary.plotting import PrivacyUtilityDisplay
from tests.cases import every
from tests.world import PrivacyUtilityCurve

CURVE = PrivacyUtilityCurve(np.array([1.0, 0.1]), np.array([[0.7, 0.9], [0.2, 0.4]]))


def test_means_are_drawn_over_epsilon_in_order():
    display = PrivacyUtilityDisplay.from_comparison(CURVE, score_name="minus cost")
    (line,) = display.lines_
    assert line.get_xdata().tolist() == [0.1, 1.0]
    np.testing.assert_allclose(line.get_ydata(), [0.3, 0.8])
    single = display.axes_.get_lines()[1]
    assert sorted(single.get_ydata()) == [0.2, 0.4, 0.7, 0.9]
    assert display.axes_.get_xscale() == "log"
    assert display.axes_.get_ylabel() == "minus cost"


def test_the_picture_says_that_it_is_not_private():
    assert "not private" in PrivacyUtilityDisplay.from_comparison(CURVE).axes_.get_title()


def test_several_curves_are_named():
    display = PrivacyUtilityDisplay.from_comparison({"grid": CURVE, "other": CURVE})
    texts = [text.get_text() for text in display.axes_.get_legend().get_texts()]
    assert texts == ["grid: mean", "single fits", "other: mean"]
    assert len(display.lines_) == 2


@every("curves", [{}, {"a": 3.0}])
def test_other_objects_are_refused(curves):
    with pytest.raises(TypeError, match="PrivacyUtilityCurve"):
        PrivacyUtilityDisplay.from_comparison(curves)


def test_given_axes_are_used():
    _, axes = pyplot.subplots()
    display = PrivacyUtilityDisplay.from_comparison(CURVE, ax=axes)
    assert display.axes_ is axes and display.plot(ax=axes) is display
