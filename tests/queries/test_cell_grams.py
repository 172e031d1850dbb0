"""Matrices of cells, one question a class: what they hold, and how they are read back."""

import numpy as np
import pytest

from skdp_bary.geometry import Ball, Box
from tests import world
from tests.world import answer, released

DOMAIN = Box([-4.0] * 3, [4.0] * 3)
CLASS_CENTERS = np.array([[0.1, 0.0, -0.2], [-1.5, 0.5, 0.0]])
CELLS = np.array([[-1.5, 0.0, 0.0], [1.5, 0.0, 0.0]])


def ask(cls=world.CellGrams, *, radius=0.6, units=1, n_classes=2):
    frames = world.frames_of(DOMAIN, CLASS_CENTERS[:n_classes], world.digits_of(units).rows)
    arguments = (CELLS, np.full(2, radius), (1.0, 0.3), False, units)
    return world.ByClass(tuple(cls(frame, *arguments) for frame in frames))


def test_matrices_are_mass_sum_and_scatter():
    rng = np.random.default_rng(0)
    codes, cell = rng.integers(2, size=(2, 3000))
    X = CLASS_CENTERS[codes] + CELLS[cell] + 0.1 * rng.standard_normal((3000, 3))
    query = ask()
    for code, read in enumerate(query.read(released(query, world.Exact(), X, codes))):
        for k in (0, 1):
            rows = X[(codes == code) & (cell == k)] - CLASS_CENTERS[code]
            rows -= query.queries[code].used_centers[k]
            assert read.mass[k] == pytest.approx(len(rows), rel=1e-3)
            np.testing.assert_allclose(read.sums[k], rows.sum(axis=0), atol=0.1)
            np.testing.assert_allclose(read.scatters[k], rows.T @ rows, atol=0.05)


def test_the_first_of_two_cells_takes_a_row_and_classes_have_one_question():
    tied = answer(ask(), CLASS_CENTERS[0], [0])[0]
    assert tied[0, 0, -1] > 0 and tied[0, 1, -1] == 0
    one, other = ask().queries[0], ask(n_classes=1).queries[0]
    assert world.ByClass((one, other)).weights() == one.weights()
    with pytest.raises(ValueError, match="one sensitivity"):
        world.ByClass(
            (ask(world.ClippedMeans).queries[0], ask(world.ClippedMeans, radius=1.2).queries[0])
        )


def test_frames_of_classes_share_one_unit():
    ball = Ball([0.0, 0.0], 1.0)
    frames = world.frames_of(ball, np.array([[0.0, 0.0], [0.9, 0.0], [0.0, -0.3]]), 16)
    assert len({frame.step for frame in frames}) == 1
    rows = ball.clip(np.random.default_rng(0).uniform(-1, 1, (200, 2)))
    for frame in frames:
        assert (frame.integer_rows(rows) ** 2).sum(axis=1).max() <= 2.0**33
