"""Measures, and transport on a line and on slices."""

import numpy as np
import pytest

from skdp_bary.transport import DiscreteMeasure, solve_semidiscrete
from tests.cases import every
from tests.world import block_matrix, monotone_rows, sliced_gradient, tight_frame, univariate_cost


def test_measures_are_frozen_copies_and_uniform_by_default():
    points, weights = np.zeros((3, 2)), np.ones(3)
    measure = DiscreteMeasure(points, weights)
    points[0, 0], weights[0] = 7.0, 7.0
    assert measure.support[0, 0] == 0.0
    assert measure.weights[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        measure.support[0, 0] = 1.0
    with pytest.raises(AttributeError):
        measure.weights = weights
    assert DiscreteMeasure([[0.0], [1.0]]).weights.tolist() == [0.5, 0.5]
    measure = DiscreteMeasure([[0.0], [1.0]], [1.0, 3.0])
    assert measure.normalized().weights.tolist() == [0.25, 0.75]
    assert measure.mean().tolist() == [0.75]


SHAPES = [], [1.0, 2.0], np.zeros((0, 2)), np.zeros((2, 0))
WEIGHTS = [-1.0, 2.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]


@every(
    "support, weights, message",
    [
        *((support, None, "support must be an array of shape") for support in SHAPES),
        *(([[value]], None, "support must be finite") for value in (np.nan, np.inf)),
        *(([[0.0], [1.0]], w, "weights must be finite and non-negative") for w in WEIGHTS),
        ([[0.0], [1.0]], [1.0], "one entry for each of the 2 points"),
    ],
)
def test_wrong_measures_are_refused(support, weights, message):
    with pytest.raises(ValueError, match=message):
        DiscreteMeasure(support, weights)


def random_measure(rng, size, ties=False):
    points = rng.integers(0, 5, (size, 1)) if ties else rng.standard_normal((size, 1))
    weights = rng.random(size)
    weights[rng.random(size) < 0.2] = 0.0
    weights[0] = 1.0
    return DiscreteMeasure(points, weights)


@every("ties", [False, True])
@every("p", [1, 1.5, 2, 4])
def test_agrees_with_the_general_solver(p, ties):
    rng = np.random.default_rng(0)
    for _ in range(5):
        first, second = random_measure(rng, 60, ties), random_measure(rng, 25, ties)
        expected = solve_semidiscrete(first, second, p=p).cost
        np.testing.assert_allclose(univariate_cost(first, second, p=p), expected, rtol=1e-9)


def test_costs_on_the_line_are_for_one_feature():
    line, plane = DiscreteMeasure([[0.0]]), DiscreteMeasure([[0.0, 0.0]])
    with pytest.raises(ValueError, match="second must have one feature, got 2"):
        univariate_cost(line, plane)


@every("n, m", [(1, 1), (7, 3), (3, 7), (12, 4), (5, 5)])
def test_blocks_take_fractions_of_points(n, m):
    values = np.sort(np.random.default_rng(n * m).normal(size=n))
    expected = np.repeat(values, m).reshape(m, n).mean(axis=1)  # m copies of n points, n a block
    np.testing.assert_allclose(block_matrix(n, m) @ values, expected, atol=1e-14)


def test_the_gradient_is_that_of_the_cost_and_rows_become_monotone():
    rng = np.random.default_rng(0)
    points, directions = rng.normal(size=(7, 3)), tight_frame(3, 5, rng)
    quantiles = np.sort(rng.normal(size=(5, 4)), axis=1)
    _, gradient = sliced_gradient(points, directions, quantiles)
    for i, j in np.ndindex(*points.shape):
        shift = np.zeros_like(points)
        shift[i, j] = 1e-6
        above, below = (
            sliced_gradient(points + s * shift, directions, quantiles)[0] for s in (1, -1)
        )
        assert (above - below) / 2e-6 == pytest.approx(gradient[i, j], abs=1e-7)
    rows = np.array([[1.0, 3.0, 2.0], [0.0, 1.0, 2.0]])
    np.testing.assert_allclose(monotone_rows(rows), [[1.0, 2.5, 2.5], [0.0, 1.0, 2.0]])
