"""Points in order, and the smoothed dual from them to few atoms."""

import numpy as np

from tests import world
from tests.cases import every


def make_problem(p, n_points=3000, n_atoms=9, n_features=2, seed=0):
    rng = np.random.default_rng(seed)
    cloud, _ = world.order_points(rng.random((n_points, n_features)), rng.random(n_points))
    target = rng.random(n_atoms) + 0.5
    return world.SemidualProblem(cloud, rng.random((n_atoms, n_features)), target / target.sum(), p)


@every("p", [1.0, 2.0, 3.0])
def test_blocks_never_drop_an_atom_that_matters(p):
    problem = make_problem(p, n_points=30_000, n_atoms=40)
    potentials = 0.05 * np.random.default_rng(1).random(40)
    matters = problem.candidates(potentials, np.full(len(problem.cloud.centers), 0.01))
    assert matters.mean() < 0.8  # and it does drop some
    costs = world.pairwise_cost(problem.atoms, problem.cloud.points, p) - potentials[:, None]
    close = costs <= costs.min(axis=0) + 0.01
    for block, start in enumerate(problem.cloud.starts[:-1]):
        needed = close[:, start : problem.cloud.starts[block + 1]].any(axis=1)
        assert np.all(matters[block][needed])
    np.testing.assert_array_equal(problem.labels(potentials), costs.argmin(axis=0))


@every("p", [1.0, 2.0, 1.5])
def test_derivatives_agree_with_differences(p):
    problem = make_problem(p)
    rng = np.random.default_rng(3)
    potentials, direction = 0.01 * rng.random(9), rng.standard_normal(9)
    temperatures = 0.02 + 0.02 * rng.random(len(problem.cloud.points))

    def at(t):
        return world.Smoothed(problem, potentials + t * direction, temperatures)

    h, state = 1e-4, at(0.0)
    slope = (at(h).value - at(-h).value) / (2 * h)
    # Soft points are cut at shares of exp(-14).
    np.testing.assert_allclose(state.gradient @ direction, slope, rtol=1e-4, atol=5e-6)
    bend = (at(h).gradient - at(-h).gradient) / (2 * h)
    np.testing.assert_allclose(-state.hessian @ direction, bend, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(state.hessian.sum(axis=0), 0.0, atol=1e-12)


def test_scales_follow_the_density_and_points_a_rounding_apart_stay_apart():
    rng = np.random.default_rng(0)
    dense, sparse = 0.01 * rng.random((2000, 2)), 5.0 + rng.random((2000, 2))
    cloud, _ = world.order_points(np.concatenate([dense, sparse]), np.ones(4000))
    atoms = np.concatenate([dense[:3], sparse[:3]])
    scales = world.SemidualProblem(cloud, atoms, np.full(6, 1 / 6), 2.0).scales(np.zeros(6))
    assert scales[:3].max() < 0.01 * scales[3:].min()
    points = np.array([[0.3, 1.0], [0.3 + 1e-16, 1.0], [0.3 + 1e-15, 1.0], [0.3, 1.0]])
    cloud, inverse = world.order_points(points, np.ones(4))
    assert len(cloud.points) == len(np.unique(points, axis=0))
    np.testing.assert_array_equal(cloud.points[inverse], points)
    cloud, _ = world.order_points(np.array([[0.0, 1.0], [-0.0, 1.0]]), np.ones(2))
    assert len(cloud.points) == 1


def test_settle_balances_whatever_it_starts_from():
    points = np.random.default_rng(0).random((6000, 2))
    points[:600, 0] += 30.0  # masses must cross a wide gap
    cloud, _ = world.order_points(points, np.ones(6000))
    atoms = np.concatenate([points[:6], points[-6:]])
    problem = world.SemidualProblem(cloud, atoms, np.full(12, 1 / 12), 2.0)
    good = world.solve_problem(problem).potentials
    rng = np.random.default_rng(1)
    for start in (good, good + 0.1 * rng.standard_normal(12)):
        assert world.settle(problem, start, 0.03, 0.02).imbalance <= 0.02


def test_merges_equal_rows_only_and_knows_the_way_back():
    rng = np.random.default_rng(0)
    for n_features in (1, 2, 3, 6):
        points = rng.integers(0, 3, (400, n_features)).astype(float)
        weights, given = rng.random(400), points.copy()
        cloud, inverse = world.order_points(points, weights)
        np.testing.assert_array_equal(points, given)  # the order is found on a copy
        np.testing.assert_array_equal(cloud.points[inverse], points)
        assert len(np.unique(cloud.points, axis=0)) == len(cloud.points)
        np.testing.assert_allclose(
            cloud.weights, np.bincount(inverse, weights) / weights.sum(), rtol=1e-12
        )


def test_blocks_lie_in_their_boxes_and_neighbors_are_close():
    points = np.random.default_rng(1).random((20_000, 2))
    cloud, _ = world.order_points(points, np.ones(len(points)))
    for block, start in enumerate(cloud.starts[:-1]):
        inside = np.abs(cloud.points[start : cloud.starts[block + 1]] - cloud.centers[block])
        assert np.all(inside <= cloud.widths[block] + 1e-12)
    jumps = np.linalg.norm(np.diff(cloud.points, axis=0), axis=1)
    assert jumps.mean() < 0.05  # in random order it would be 0.52


def test_coarse_samples_keep_regional_masses():
    rng = np.random.default_rng(2)
    points = rng.random((50_000, 2))
    weights = rng.random(50_000) ** 4 * (1.0 + 5.0 * points[:, 0])
    cloud, _ = world.order_points(points, weights)
    coarse = cloud.coarse(1000)
    assert abs(coarse.weights.sum() - 1.0) < 1e-12
    left = cloud.weights[cloud.points[:, 0] < 0.5].sum()
    # A random sample would be off by 0.016 on average.
    assert abs(coarse.weights[coarse.points[:, 0] < 0.5].sum() - left) < 0.005
    assert cloud.coarse(60_000) is cloud
