"""The search for the atoms of a barycenter, and what pulls them."""

import numpy as np

from skdp_bary.transport import DiscreteMeasure, free_support_barycenter
from tests import world
from tests.cases import every
from tests.world import home

Level = home("_stalled").Level


@every("n_measures", [3, 7])
def test_measures_share_the_samples(n_measures):
    # With a sample each, what does not divide evenly and what is used up come out right too.
    rng = np.random.default_rng(1)
    shifts = rng.normal(size=(n_measures, 2))
    cloud = rng.random((3000, 2))
    measures = [DiscreteMeasure(cloud + shift) for shift in shifts]
    result = free_support_barycenter(measures, 11, random_state=0)
    spread = ((shifts - shifts.mean(axis=0)) ** 2).sum(axis=1).mean()
    alone = free_support_barycenter([DiscreteMeasure(cloud)], 11, random_state=0)
    # All measures are copies, so the barycenter is one of a copy, between the shifts.
    np.testing.assert_allclose(result.cost - spread, alone.cost, rtol=0.05)


def settled(p, offset=0.0):
    rng = np.random.default_rng(0)
    cloud, _ = world.order_points(rng.random((8000, 2)), np.ones(8000))
    atoms = rng.random((10, 2)) + offset
    problem = world.SemidualProblem(cloud, atoms, np.full(10, 0.1), p)
    return problem, world.settle(problem, world.solve_problem(problem).potentials, 0.1, 1e-4)


def test_pull_is_the_mean_of_what_is_received():
    problem, state = settled(2.0)
    pull = world.SmoothPull(problem, state)
    counts, sums = pull.counts, pull.sums
    np.testing.assert_allclose(counts, problem.target - state.gradient, atol=1e-12)
    np.testing.assert_allclose(counts.sum(), 1.0)
    np.testing.assert_allclose(
        sums.sum(axis=0), problem.cloud.weights @ problem.cloud.points, atol=1e-12
    )


@every("p", [1.0, 2.0])
def test_pull_is_the_gradient_of_the_smoothed_cost(p):
    problem, state = settled(p)
    pull = world.SmoothPull(problem, state)
    gradient = p * (pull.counts[:, None] * problem.atoms - pull.sums)
    direction = np.random.default_rng(1).standard_normal((10, 2))

    def value(t):
        moved = world.SemidualProblem(
            problem.cloud, problem.atoms + t * direction, problem.target, p
        )
        return world.Smoothed(moved, state.potentials, state.temperatures).value

    slope = (value(1e-5) - value(-1e-5)) / 2e-5
    np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-3)


@every("p, offset", [(2.0, 0.0), (2.0, 20.0), (1.0, 0.0)])
def test_predicted_potentials_balance_the_moved_atoms(p, offset):
    problem, state = settled(p, offset)
    pull = world.SmoothPull(problem, state)
    step = 0.01 * np.random.default_rng(2).standard_normal((10, 2))
    moved = world.SemidualProblem(problem.cloud, problem.atoms + step, problem.target, p)
    predicted = pull.potentials_after(pull.sums / pull.counts[:, None], step)
    before = world.Smoothed(moved, state.potentials, state.temperatures).imbalance
    after = world.Smoothed(moved, predicted, state.temperatures).imbalance
    assert after < 0.15 * before


def apart():
    """Clouds far apart with few points each, whose masses are not those of the atoms in them."""
    rng = np.random.default_rng(0)
    places = 10.0 * rng.random((6, 2))
    points = np.repeat(places, 20, axis=0) + 1e-3 * rng.normal(size=(120, 2))
    cloud, _ = world.order_points(points, np.repeat([1.0, 5.0, 0.01, 0.3, 2.0, 0.01], 20))
    return world.SemidualProblem(cloud, places + 0.1, np.full(6, 1 / 6), 2.0)


def test_exact_pull_is_that_of_the_exact_plan_and_points_that_touch_have_none():
    problem = apart()
    pull, exact = world.ExactPull(problem), world.solve_problem(problem)
    np.testing.assert_allclose(pull.counts, problem.target)
    np.testing.assert_allclose(pull.sums.sum(axis=0), problem.cloud.weights @ problem.cloud.points)
    squares = problem.cloud.weights @ (problem.cloud.points**2).sum(axis=1)
    np.testing.assert_allclose(pull.dual + squares, exact.cost, rtol=1e-9)
    rng = np.random.default_rng(0)
    cloud, _ = world.order_points(rng.random((200, 2)), np.ones(200))
    problem = world.SemidualProblem(cloud, rng.random((6, 2)), np.full(6, 1 / 6), 2.0)
    level = Level(40, max_iter=9, imbalance=0.01, tol=1e-3)
    assert not world.respond(level, problem, None, None).exact


def test_few_points_out_of_balance_are_planned_exactly_and_stay_so(monkeypatch):
    problem, level = apart(), Level(40, max_iter=9, imbalance=0.01, tol=1e-3)
    where = "skdp_bary.transport.barycenter.approach"
    monkeypatch.setattr(
        where, lambda problem, potentials, *_: world.heat(problem, potentials, 1e-3)
    )
    first = world.respond(level, problem, None, None)
    assert first.exact
    monkeypatch.setattr(where, None)
    assert world.respond(level, problem, first.potentials, first).exact
