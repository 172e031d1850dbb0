"""Cells that are cut again and again: where rows lie, and that nothing overlaps."""

import numpy as np

from skdp_bary.geometry import Ball, Box
from tests.cases import every
from tests.world import NestedCells


def nested(domain, depth=6, seed=0):
    rng = np.random.default_rng(seed)
    cells = NestedCells.grid(domain, depth, 2)
    for _ in range(2):
        cells = cells.cut(rng.integers(0, 3, len(cells)))
    return cells


@every("n_features", [1, 2, 3])
def test_rows_lie_in_their_cells_and_those_in_coarser_ones(n_features):
    domain = Box(np.full(n_features, -1.0), np.linspace(1.0, 3.0, n_features))
    cells = nested(domain)
    rows = np.random.default_rng(1).uniform(-1.5, 3.5, (2000, n_features))
    found = cells.locate(rows)
    away = np.abs(domain.clip(rows) - cells.middles[found])
    assert (away <= cells.widths[found] / 2 + 1e-12).all()
    assert not cells.outside[found].any()
    np.testing.assert_array_equal(cells.parents[found], cells.coarser.locate(rows))
    np.testing.assert_array_equal(cells.locate(rows[:1]), found[:1])
    assert np.isclose(cells.widths.prod(axis=1).sum(), (domain.high - domain.low).prod())


def test_nothing_is_cut_below_the_depth():
    cells = nested(Box(np.zeros(2), np.ones(2)), depth=3)
    assert cells.levels.max() == 3


def test_middles_lie_in_the_domain():
    ball = Ball(np.zeros(2), 1.0)
    np.testing.assert_allclose(ball.clip(nested(ball).middles), nested(ball).middles)


@every("depth", [3, 12])
def test_no_edge_of_cells_is_near_the_center_of_the_domain(depth):
    cells = NestedCells.grid(Box(np.array([-3.0]), np.array([5.0])), depth, depth)
    (found,) = cells.locate(np.array([[1.0]]))
    assert abs(cells.middles[found, 0] - 1.0) < cells.widths[found, 0] / 5


def test_cells_beside_the_domain_are_known_and_have_no_width():
    domain = Box(np.zeros(2), np.array([1.0, 4.0]))
    cells = NestedCells.grid(domain, 5, 2)
    assert cells.outside.sum() == 16 - 9
    assert (cells.widths[cells.outside].min(axis=1) == 0).all()
    assert np.isclose(cells.widths.prod(axis=1).sum(), 4.0)
    found = cells.locate(np.array([[0.0, 0.0], [1.0, 4.0], [9.0, 9.0]]))
    np.testing.assert_array_equal(cells.outside[found], False)
