"""Second moments, grids and distances in a frame, against plain counts."""

import numpy as np

from skdp_bary.base import Axes, Frame, Gram, Histogram
from skdp_bary.geometry import Ball
from tests.cases import every
from tests.world import PERSON_UNITS, FrameDistances, answer


def frame(bits=16, axes=None):
    return Frame(Ball([0.0, 0.0, 0.0], 2.0), np.array([0.1, 0.2, 0.0]), bits, axes)


def test_second_moments_and_histograms_in_a_frame():
    X = 0.3 * np.random.default_rng(0).standard_normal((400, 3))
    query = Gram(frame(), 5.0)
    diagonal, upper = answer(query, X)
    centered = X - query.frame.center
    expected = centered.T @ centered
    np.testing.assert_allclose(diagonal * query.unit, np.diag(expected), rtol=0.01)
    np.testing.assert_allclose(upper * query.unit, expected[np.triu_indices(3, 1)], atol=0.3)
    axes = Axes(np.eye(3), np.array([0.25, 0.04]))
    query = Histogram(frame(axes=axes), np.array([1.0, 0.4]), (2, 1))
    X = query.frame.center + np.array([[-1.2, -0.1, 0.0], [0.1, 0.3, 0.0], [0.1, 0.2, 1.0]])
    assert answer(query, X)[0].tolist() == [1, 0, 0, 0, 0, 2, 0, 0]
    np.testing.assert_allclose(query.cell_centers(np.array([5])), [[0.25, 0.2]])


@every("units, mass", [(1, 1), (PERSON_UNITS, 7)])
def test_distances_in_a_frame_are_counted_about_any_point_of_it(units, mass):
    rng = np.random.default_rng(0)
    X = np.vstack([0.6 * rng.standard_normal((300, 3)), np.full((2, 3), 9.0)])
    place, edges = np.array([0.3, -0.5, 0.1]), (0.25, 0.5, 1.0, 1.5)
    query = FrameDistances(frame(16 if units == 1 else 12), place, edges, units)
    (found,) = answer(query, X, None, None if units == 1 else np.full(len(X), mass))
    inside = query.frame.domain.clip(X)
    apart = np.linalg.norm(inside - query.frame.center - place, axis=1)
    expected = np.bincount(np.searchsorted(edges[:-1], apart), minlength=4)
    assert np.abs(found - expected * mass).sum() <= (2 if units == 1 else 28)
    assert found.sum() == len(X) * mass
