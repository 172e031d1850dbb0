import numpy as np
import pytest

from skdp_bary.transport._barycenter.received import moved_potentials, received_sums
from skdp_bary.transport._newton import settle
from skdp_bary.transport._points import order_points
from skdp_bary.transport._semidiscrete.exact import solve_problem
from skdp_bary.transport._semidual import SemidualProblem, smooth


def settled(p, offset=0.0):
    rng = np.random.default_rng(0)
    cloud, _ = order_points(rng.random((8000, 2)), np.ones(8000))
    atoms = rng.random((10, 2)) + offset
    problem = SemidualProblem(cloud, atoms, np.full(10, 0.1), p)
    return problem, settle(problem, solve_problem(problem).potentials, 0.1, 1e-4)


def test_pull_is_the_mean_of_what_is_received():
    problem, state = settled(2.0)
    counts, sums = received_sums(problem, state)
    np.testing.assert_allclose(counts, problem.target - state.gradient, atol=1e-12)
    np.testing.assert_allclose(counts.sum(), 1.0)
    np.testing.assert_allclose(
        sums.sum(axis=0), problem.cloud.weights @ problem.cloud.points, atol=1e-12
    )


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_pull_is_the_gradient_of_the_smoothed_cost(p):
    problem, state = settled(p)
    counts, sums = received_sums(problem, state)
    gradient = p * (counts[:, None] * problem.atoms - sums)
    direction = np.random.default_rng(1).standard_normal((10, 2))

    def value(t):
        moved = SemidualProblem(problem.cloud, problem.atoms + t * direction, problem.target, p)
        return smooth(moved, state.potentials, state.temperatures).value

    slope = (value(1e-5) - value(-1e-5)) / 2e-5
    np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-3)


@pytest.mark.parametrize(("p", "offset"), [(2.0, 0.0), (2.0, 20.0), (1.0, 0.0)])
def test_predicted_potentials_balance_the_moved_atoms(p, offset):
    problem, state = settled(p, offset)
    counts, sums = received_sums(problem, state)
    step = 0.01 * np.random.default_rng(2).standard_normal((10, 2))
    moved = SemidualProblem(problem.cloud, problem.atoms + step, problem.target, p)
    predicted = moved_potentials(problem, state, sums / counts[:, None], step)
    before = smooth(moved, state.potentials, state.temperatures).imbalance
    after = smooth(moved, predicted, state.temperatures).imbalance
    assert after < 0.15 * before
