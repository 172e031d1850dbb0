import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from tests.cases import every
from tests.world import home, paired_cost, pairwise_cost, sparse_cost

_costs = home("pairwise_cost")
two_cheapest = home("pairwise_cost").two_cheapest


@every("n_rows", [1, 2, 3, 5, 8, 31, 48, 65])
def test_two_cheapest_agrees_with_sorting(n_rows):
    costs = np.random.default_rng(n_rows).standard_normal((n_rows, 500))
    expected = np.sort(costs, axis=0)
    labels, lowest, second = two_cheapest(costs.copy())
    np.testing.assert_array_equal(labels, costs.argmin(axis=0))
    np.testing.assert_allclose(lowest, expected[0], rtol=1e-13)
    if n_rows == 1:
        assert np.all(second == np.inf)
    else:
        np.testing.assert_allclose(second, expected[1], rtol=1e-13)


@every("p", [1, 1.5, 2, 3])
def test_costs_are_powers_of_distances(p):
    rng = np.random.default_rng(0)
    points, atoms = rng.random((7, 3)), rng.random((4, 3))
    distances = np.linalg.norm(points[None] - atoms[:, None], axis=2)
    np.testing.assert_allclose(pairwise_cost(atoms, points, p), distances**p)
    np.testing.assert_allclose(
        paired_cost(points[:4], atoms, p), distances[range(4), range(4)] ** p
    )


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
