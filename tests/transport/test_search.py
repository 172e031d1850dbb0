import numpy as np

from skdp_bary.transport import DiscreteMeasure, free_support_barycenter
from tests.cases import every
from tests.world import SemidualProblem, Smoothed, _stalled, home, order_points, soft_shares

Level = home("_stalled").Level


def test_plans_are_eased_only_while_atoms_move_far():
    level = Level(40, warmth=0.1, max_iter=5, imbalance=0.01, tol=1e-3)
    assert level.eased(0.0) == level
    first, later = level.eased(np.inf), level.eased(0.5)
    assert first.warmth > later.warmth == 0.5
    assert first.imbalance > later.imbalance > level.imbalance


def test_a_level_stalls_when_nothing_beats_an_early_movement():
    assert not _stalled([1.0] * 8)
    assert not _stalled([3.0, 2.0] + [1.5] * 8)
    assert _stalled([3.0, 1.0] + [1.5] * 8)


def test_shares_far_below_rounding_change_nothing():
    entries = np.array([[0.0, 5.0], [1.0, 0.0], [1e6, 1e6]])
    shares, divisors = soft_shares(entries.copy(), np.zeros(2), np.array([1.0, 1e-3]))
    exact = np.exp(-entries / [1.0, 1e-3])
    np.testing.assert_allclose(shares, exact / exact.sum(axis=0), atol=1e-20)
    np.testing.assert_allclose(divisors, exact.sum(axis=0), rtol=1e-15)


def test_dual_bounds_the_cost_at_any_warmth():
    rng = np.random.default_rng(0)
    cloud, _ = order_points(rng.random((2000, 2)), rng.random(2000))
    problem = SemidualProblem(cloud, rng.random((6, 2)), np.full(6, 1 / 6), 2.0)
    potentials = 0.01 * rng.random(6)
    duals = [Smoothed(problem, potentials, np.full(2000, t)).dual for t in (1e-4, 1e-1)]
    np.testing.assert_allclose(duals[0], duals[1], rtol=1e-12)
    assert Smoothed(problem, potentials, np.full(2000, 0.1)).value < duals[0]


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


def test_heavy_points_end_near_a_minimum():
    rng = np.random.default_rng(2)
    cells = np.stack(np.meshgrid(np.arange(50.0), np.arange(50.0)), axis=-1).reshape(-1, 2)
    measure = DiscreteMeasure(cells, rng.pareto(1.2, len(cells)))
    result = free_support_barycenter([measure], 20, random_state=0)
    longer = free_support_barycenter([measure], 20, init=result.support, max_iter=100, tol=1e-7)
    assert result.cost <= 1.03 * longer.cost
