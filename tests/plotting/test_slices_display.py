"""Pictures of slices."""

import numpy as np
import pytest
from matplotlib import pyplot

from skdp_bary import DPSlicedWasserstein
from skdp_bary.plotting import SlicesDisplay

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


@pytest.fixture(scope="module")
def sliced():
    X = np.random.default_rng(0).normal(0.5, 0.1, size=(500, 2))
    return DPSlicedWasserstein(12, epsilon=100.0, bounds=(0, 1), n_min=500, random_state=0).fit(X)


def test_slices_are_drawn_from_the_release(sliced):
    display = SlicesDisplay.from_estimator(sliced, n_slices=3)
    assert len(display.lines_) == 3
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), sliced.quantiles_[0, 1])
    assert "epsilon=100" in display.axes_.get_title()


def test_public_rows_choose_the_slices(sliced):
    Y = np.random.default_rng(1).normal([0.5, 0.9], 0.01, size=(300, 2))
    display = SlicesDisplay.from_estimator(sliced, Y, n_slices=2)
    along = np.abs(sliced.directions_[1])
    assert set(display.slices) <= set(np.argsort(-along)[:5].tolist())
    assert len(display.axes_.lines) == 4


def test_it_draws_on_given_axes(sliced):
    axes = pyplot.figure().add_subplot()
    assert SlicesDisplay.from_estimator(sliced, ax=axes).axes_ is axes
