"""The clipped loss of released points: its value, its sensitivity, and that rows stand alone."""

import numpy as np
import pytest

from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.clusters.losses import NearestLoss
from skdp_bary.summaries.rows.persons import Chunk

POINTS = np.array([[0.1, 0.2, 0.3], [0.7, 0.7, 0.7]])


def total(query, X, masses=None):
    return int(Sketch(query).update(Chunk(X, None, masses)).exact_blocks()[0][0])


def test_it_is_the_clipped_loss():
    X = np.random.default_rng(0).uniform(-1.0, 2.0, size=(500, 3))
    query = NearestLoss(POINTS, 1.0)
    squares = ((X[:, None] - POINTS) ** 2).sum(axis=2).min(axis=1)
    expected = np.minimum(squares, 1.0).sum()
    assert total(query, X) * query.unit == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("units", [1, 1 << 20])
def test_one_row_moves_it_by_at_most_the_sensitivity_and_nearly_so(units):
    query = NearestLoss(POINTS, 0.5, units)
    far = np.array([[1e300, -1e300, 0.0]])
    near = POINTS[:1]
    masses = np.array([units])
    bound = query.sensitivity("add_remove").l1[0][0]
    moved = total(query, far, masses) - total(query, near, masses)
    assert 0.99 * bound < moved <= bound
    assert query.sensitivity("replace_one").l2_squared[0][0] == bound**2


def test_a_row_counts_the_same_in_every_block():
    X = np.random.default_rng(1).normal(0.5, 0.3, size=(257, 3))
    query = NearestLoss(POINTS, 2.0)
    assert total(query, X) == sum(total(query, X[i : i + 1]) for i in range(len(X)))
