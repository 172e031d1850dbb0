import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from tests.world import home, pairwise_cost, sparse_cost

_costs = home("pairwise_cost")


def test_close_points_far_from_the_origin_keep_their_distance():
    points = np.array([[1e8, 0.0]])
    assert pairwise_cost(points, points + [[0.5, 0.0]], 2)[0, 0] == 0.25


@pytest.mark.parametrize("entries", [3, 10, 1000])
@pytest.mark.parametrize("density", [0.0, 0.1, 0.5, 1.0])
def test_a_plan_costs_what_its_entries_cost_in_blocks_of_any_size(monkeypatch, entries, density):
    monkeypatch.setattr(_costs, "_ENTRIES", entries)
    rng = np.random.default_rng(2)
    points, atoms = rng.random((40, 3)), rng.random((5, 3))
    plan = rng.random((40, 5)) * (rng.random((40, 5)) < density)
    plan[10:20] = np.eye(5)[rng.integers(0, 5, 10)]  # whole points, whose rows are not copied
    expected = (plan * cdist(points, atoms) ** 3).sum()
    cost = sparse_cost(points, atoms, sparse.csr_array(plan), 3)
    assert cost == pytest.approx(expected, rel=1e-13)
