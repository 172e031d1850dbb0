"""Arithmetic of rows and grids of cells."""

import math

import numpy as np
import pytest

from tests import world
from tests.cases import every
from tests.world import home

row_distances = home("as_rows").row_distances


@every("d", [1, 2, 3, 7, 64, 785])
def test_norms_are_accurate_and_independent_of_layout(d):
    X = np.random.default_rng(d).uniform(-1, 1, (20, d))
    norms = world.row_norms(X)
    expected = [math.sqrt(math.fsum(x * x for x in row)) for row in X]
    np.testing.assert_allclose(norms, expected, rtol=1e-14)
    assert world.row_norms(np.asfortranarray(X)).tobytes() == norms.tobytes()
    assert world.row_norms(X[3:4]).tobytes() == norms[3:4].tobytes()


@every("d", [1, 3, 64, 70_000])
def test_distances_are_accurate_and_independent_of_other_rows(d):
    rng = np.random.default_rng(d)
    X, points = rng.normal(size=(30, d)), rng.normal(size=(4, d))
    distances = row_distances(X, points)
    expected = [[math.dist(row, point) for point in points] for row in X]
    np.testing.assert_allclose(distances, expected, rtol=1e-14)
    for rows in (slice(3, 4), slice(10, 30, 3)):
        assert row_distances(X[rows], points).tobytes() == distances[rows].tobytes()
        assert row_distances(np.asfortranarray(X[rows]), points).tobytes() == (
            distances[rows].tobytes()
        )
    nearest, least = world.nearest_points(X, points)
    np.testing.assert_array_equal(nearest, distances.argmin(axis=1))
    np.testing.assert_array_equal(least, distances.min(axis=1))


def test_rows_are_checked_and_units_exact_over_the_whole_range():
    assert world.as_rows([[1, 2]], 2).dtype == np.float64
    assert world.as_rows([[1.7e308, 1.7e308]], 2).shape == (1, 2)
    for bad in ([[1.7e308, 1.7e308], [np.nan, 0.0]], [[np.inf, -np.inf]]):
        with pytest.raises(ValueError, match="contains NaN|contains infinity"):
            world.as_rows(bad, 2)
    nearest, least = world.nearest_points(np.array([[0.0], [1e300]]), np.array([[1.0], [-1.0]]))
    assert nearest.tolist() == [0, 0]  # the first of two, and no distance is nan
    assert least.tolist() == [1.0, math.inf]
    X = np.array([[5e-324, 0.0], [1e-300, 3e-301], [0.0, 0.0], [3.0, -5.0], [1.79e308, 1e308]])
    unit, exponent = world.unit_rows(X)
    assert (abs(unit) <= 1).all()
    np.testing.assert_array_equal(np.ldexp(unit, exponent[:, None]), X)
    assert (abs(unit[1:2]).max(axis=1) >= 0.5).all()
    assert (abs(unit[3:]).max(axis=1) >= 0.5).all()


@every("offset", [0.0, 1e9])
@every("d", [1, 2, 30])
def test_a_shortlist_by_products_changes_no_nearest_point(d, offset):
    """Rows halfway between two points, and rows far from zero, are decided point by point."""
    rng = np.random.default_rng(d)
    points = offset + np.repeat(rng.integers(-3, 4, size=(9, d)).astype(float), 2, axis=0)
    halfway = (points[rng.integers(18, size=400)] + points[rng.integers(18, size=400)]) / 2
    X = np.concatenate([halfway, halfway + rng.normal(0, 1e-12, halfway.shape)])
    nearest, least = world.nearest_points(X, points)
    distances = row_distances(X, points)
    np.testing.assert_array_equal(nearest, distances.argmin(axis=1))
    assert least.tobytes() == distances.min(axis=1).tobytes()


LOW, HIGH = np.array([-1.0, 10.0]), np.array([2.0, 11.0])


def test_cells_and_boxes_agree_and_are_checked():
    x = np.sort(np.random.default_rng(0).uniform(-1, 2, 100_000))
    cells = world.cell_indices(x[:, None], LOW[:1], HIGH[:1], (997,))[:, 0]
    assert (np.diff(cells) >= 0).all()
    cells = world.all_cells((5, 7))
    assert cells.shape == (35, 2)
    lower, upper = world.cell_boxes(cells, LOW, HIGH, (5, 7))
    np.testing.assert_array_equal(world.cell_indices((lower + upper) / 2, LOW, HIGH, (5, 7)), cells)
    np.testing.assert_array_equal(lower[0], LOW)
    np.testing.assert_array_equal(upper[-1], HIGH)
    ends = np.array([[-50.0, 11.0], [2.0, 10.0], [50.0, 10.5]])
    np.testing.assert_array_equal(
        world.cell_indices(ends, LOW, HIGH, (4, 2)), [[0, 1], [3, 0], [3, 1]]
    )
    assert world.check_shape(np.array([2, 3]), 2) == (2, 3)
    with pytest.raises(ValueError, match="at most"):
        world.check_shape((2**13, 2**13), 2)
    assert world.check_shape((2**40, 2**13), 2, max_cells=None) == (2**40, 2**13)
    with pytest.raises(ValueError, match="resolution must hold 2"):
        world.check_shape((True, 2), 2, name="resolution")
    assert world.check_cells([[1, 2]], (2, 3)).dtype == np.int64
    with pytest.raises(ValueError, match="within the grid"):
        world.check_cells([[2, 0]], (2, 3))
