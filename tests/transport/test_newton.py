import numpy as np

from tests.world import SemidualProblem, order_points, settle, solve_problem


def make_problem(points, atoms):
    cloud, _ = order_points(points, np.ones(len(points)))
    return SemidualProblem(cloud, atoms, np.full(len(atoms), 1 / len(atoms)), 2.0)


def islands(n_points=6000):
    """Return a problem whose masses must cross a wide gap."""
    rng = np.random.default_rng(0)
    points = rng.random((n_points, 2))
    points[: n_points // 10, 0] += 30.0
    return make_problem(points, np.concatenate([points[:6], points[-6:]]))


def test_settle_balances_whatever_it_starts_from():
    problem = islands()
    good = solve_problem(problem).potentials
    rng = np.random.default_rng(1)
    for start in (good, good + 0.1 * rng.standard_normal(12)):
        assert settle(problem, start, 0.03, 0.02).imbalance <= 0.02
