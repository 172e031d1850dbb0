"""Points in order, and the smoothed dual from them to few atoms."""

import numpy as np

from tests import world
from tests.cases import every


def make_problem(p, n_points=3000, n_atoms=9, n_features=2, seed=0):
    rng = np.random.default_rng(seed)
    cloud, _ = world.order_points(rng.random((n_points, n_features)), rng.random(n_points))
    target = rng.random(n_atoms) + 0.5
    return world.SemidualProblem(cloud, rng.random((n_atoms, n_features)), target / target.sum(), p)


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
