"""Residuals of the rows in their cells: sums, squares, and rows between two cells."""

import numpy as np
import pytest

from tests.world import CellSpreads, answer


def test_sums_and_squares_are_those_of_the_residuals():
    atoms = np.array([[-2.0, 0.0], [2.0, 0.0]])
    X = np.repeat(atoms, 500, axis=0) + np.random.default_rng(3).uniform(-0.2, 0.4, (1000, 2))
    residuals = (X - np.repeat(atoms, 500, axis=0)).reshape(2, 500, 2)
    query = CellSpreads(atoms, np.zeros((1, 2)), atoms[None], 1.0)
    masses, sums, squares = answer(query, X, np.zeros(1000, dtype=np.int64))
    means = sums[0] * query.row_step / 500
    np.testing.assert_allclose(means, residuals.mean(axis=1), atol=1e-4)
    assert masses.tolist() == [[500, 500]]
    lengths = (residuals**2).sum(axis=2).mean(axis=1)
    np.testing.assert_allclose(squares[0] * query.square_step / 500, lengths, atol=1e-3)
    with pytest.raises(ValueError, match="pooled"):
        CellSpreads(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1, 1)), 1.0, np.ones((1, 1)))
