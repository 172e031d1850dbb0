import numpy as np
import pytest

from tests.world import all_cells, cell_boxes, cell_indices, check_cells, check_shape

LOW, HIGH = np.array([-1.0, 10.0]), np.array([2.0, 11.0])


def test_cells_and_boxes_agree():
    cells = all_cells((5, 7))
    assert cells.shape == (35, 2)
    lower, upper = cell_boxes(cells, LOW, HIGH, (5, 7))
    np.testing.assert_array_equal(cell_indices((lower + upper) / 2, LOW, HIGH, (5, 7)), cells)
    np.testing.assert_array_equal(lower[0], LOW)
    np.testing.assert_array_equal(upper[-1], HIGH)


def test_indices_stay_on_the_grid():
    X = np.array([[-50.0, 11.0], [2.0, 10.0], [50.0, 10.5]])
    np.testing.assert_array_equal(cell_indices(X, LOW, HIGH, (4, 2)), [[0, 1], [3, 0], [3, 1]])


def test_indices_never_decrease():
    x = np.sort(np.random.default_rng(0).uniform(-1, 2, 100_000))
    cells = cell_indices(x[:, None], LOW[:1], HIGH[:1], (997,))[:, 0]
    assert (np.diff(cells) >= 0).all()


def test_shapes_are_checked():
    assert check_shape(np.array([2, 3]), 2) == (2, 3)
    with pytest.raises(ValueError, match="at most"):
        check_shape((2**13, 2**13), 2)
    assert check_shape((2**40, 2**13), 2, max_cells=None) == (2**40, 2**13)
    with pytest.raises(ValueError, match="resolution must hold 2"):
        check_shape((True, 2), 2, name="resolution")


def test_cells_are_checked():
    assert check_cells([[1, 2]], (2, 3)).dtype == np.int64
    with pytest.raises(ValueError, match="within the grid"):
        check_cells([[2, 0]], (2, 3))
