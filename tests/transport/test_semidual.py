import numpy as np

from tests.cases import every
from tests.world import SemidualProblem, Smoothed, order_points, pairwise_cost


def make_problem(p, n_points=3000, n_atoms=9, n_features=2, seed=0):
    rng = np.random.default_rng(seed)
    cloud, _ = order_points(rng.random((n_points, n_features)), rng.random(n_points))
    target = rng.random(n_atoms) + 0.5
    return SemidualProblem(cloud, rng.random((n_atoms, n_features)), target / target.sum(), p)


@every("p", [1.0, 2.0, 3.0])
def test_blocks_never_drop_an_atom_that_matters(p):
    problem = make_problem(p, n_points=30_000, n_atoms=40)
    potentials = 0.05 * np.random.default_rng(1).random(40)
    matters = problem.candidates(potentials, np.full(len(problem.cloud.centers), 0.01))
    assert matters.mean() < 0.8  # and it does drop some
    costs = pairwise_cost(problem.atoms, problem.cloud.points, p) - potentials[:, None]
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
        return Smoothed(problem, potentials + t * direction, temperatures)

    h, state = 1e-4, at(0.0)
    slope = (at(h).value - at(-h).value) / (2 * h)
    # Soft points are cut at shares of exp(-14).
    np.testing.assert_allclose(state.gradient @ direction, slope, rtol=1e-4, atol=5e-6)
    bend = (at(h).gradient - at(-h).gradient) / (2 * h)
    np.testing.assert_allclose(-state.hessian @ direction, bend, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(state.hessian.sum(axis=0), 0.0, atol=1e-12)


def test_scales_follow_the_density():
    rng = np.random.default_rng(0)
    dense, sparse = 0.01 * rng.random((2000, 2)), 5.0 + rng.random((2000, 2))
    cloud, _ = order_points(np.concatenate([dense, sparse]), np.ones(4000))
    atoms = np.concatenate([dense[:3], sparse[:3]])
    scales = SemidualProblem(cloud, atoms, np.full(6, 1 / 6), 2.0).scales(np.zeros(6))
    assert scales[:3].max() < 0.01 * scales[3:].min()
