import numpy as np
import pytest

from skdp_bary.transport import DiscreteMeasure
from tests.cases import every


def test_copies_and_freezes():
    points, weights = np.zeros((3, 2)), np.ones(3)
    measure = DiscreteMeasure(points, weights)
    points[0, 0], weights[0] = 7.0, 7.0
    assert measure.support[0, 0] == 0.0
    assert measure.weights[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        measure.support[0, 0] = 1.0
    with pytest.raises(AttributeError):
        measure.weights = weights


def test_uniform_by_default_and_normalized():
    assert DiscreteMeasure([[0.0], [1.0]]).weights.tolist() == [0.5, 0.5]
    measure = DiscreteMeasure([[0.0], [1.0]], [1.0, 3.0])
    assert measure.mass == 4.0
    assert measure.normalized().weights.tolist() == [0.25, 0.75]
    assert measure.mean().tolist() == [0.75]


@every("support", [[], [1.0, 2.0], np.zeros((0, 2)), np.zeros((2, 0))])
def test_refuses_shapes(support):
    with pytest.raises(ValueError, match="support must be an array of shape"):
        DiscreteMeasure(support)


@every("value", [np.nan, np.inf])
def test_refuses_points_that_are_not_finite(value):
    with pytest.raises(ValueError, match="support must be finite"):
        DiscreteMeasure([[value]])


@every("weights", [[-1.0, 2.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_refuses_weights(weights):
    with pytest.raises(ValueError, match="weights must be finite and non-negative"):
        DiscreteMeasure([[0.0], [1.0]], weights)


def test_refuses_a_wrong_number_of_weights():
    with pytest.raises(ValueError, match="one entry for each of the 2 points"):
        DiscreteMeasure([[0.0], [1.0]], [1.0])
