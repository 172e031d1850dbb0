"""The compiled loops do what the plain ones do."""

from dataclasses import replace

import numpy as np
import pytest

from skdp_bary.transport import DiscreteMeasure, solve_semidiscrete
from tests import world
from tests.world import home

semidual = home("SemidualProblem")


LOOPS = {"compiled": 0, "plain": np.inf}  # points from which they are compiled


@pytest.fixture(params=LOOPS)
def small_worth_it(request, monkeypatch):
    """Run problems of any size with one kind of loops."""
    monkeypatch.setattr(semidual, "_WORTH_IT", LOOPS[request.param])


def _problem(n_features=2, n_points=3000, n_atoms=12):
    rng = np.random.default_rng(3)
    points, weights = rng.random((n_points, n_features)), rng.random(n_points) + 0.5
    cloud = world.OrderedPoints(points, weights / weights.sum(), n_points)
    return world.SemidualProblem(
        cloud, rng.random((n_atoms, n_features)), np.full(n_atoms, 1 / n_atoms), 2
    )


@pytest.mark.parametrize("temperature", [1e-4, 0.01, 0.3], ids=["cold", "warm", "hot"])
@pytest.mark.parametrize("n_features", [1, 2, 7])
def test_both_loops_smooth_alike(monkeypatch, n_features, temperature):
    temperatures, found = np.full(3000, temperature), []
    potentials = 0.05 * np.random.default_rng(4).standard_normal(12)
    for least in LOOPS.values():
        monkeypatch.setattr(semidual, "_WORTH_IT", least)
        found.append(world.Smoothed(_problem(n_features), potentials, temperatures))
    ours, theirs = found
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    np.testing.assert_array_equal(ours.soft, theirs.soft)
    for name in ("gradient", "hessian", "soft_counts", "soft_sums"):
        expected = getattr(theirs, name)
        np.testing.assert_allclose(
            getattr(ours, name), expected, rtol=1e-9, atol=1e-9 * abs(expected).max()
        )
    for name in ("value", "dual", "shared", "blur"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-10)


@pytest.fixture
def boxed_and_plain(monkeypatch, n_features, n_atoms=150):
    """Return one problem twice: in boxes, and in blocks by the plain loops."""
    monkeypatch.setattr(semidual, "_LARGE", 1)
    monkeypatch.setattr(semidual, "_WORTH_IT", 1000)
    problem = _problem(n_features, n_atoms=n_atoms)
    ordered, _ = world.order_points(problem.cloud.points, problem.cloud.weights)
    boxed = replace(problem, cloud=ordered)
    plain = replace(problem, cloud=replace(ordered, n_origin=0))
    assert boxed.boxed and not plain.boxed
    return boxed, plain


@pytest.mark.parametrize("temperature", [1e-5, 1e-3], ids=["cold", "warm"])
@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_boxes_leave_out_nothing_that_counts(boxed_and_plain, temperature):
    rng = np.random.default_rng(4)
    temperatures = temperature * (0.5 + rng.random(3000))
    temperatures[np.arange(3000) // 32 % 8 == 5] *= 30.0  # one run of each larger box
    potentials = 0.01 * rng.standard_normal(150)
    step = 1e-3 * rng.standard_normal(boxed_and_plain[0].atoms.shape)
    shift = 1e-4 * rng.standard_normal(150)
    ours, theirs = (world.Smoothed(each, potentials, temperatures) for each in boxed_and_plain)
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    np.testing.assert_array_equal(ours.soft, theirs.soft)
    assert ours.dual == pytest.approx(theirs.dual, rel=1e-12)
    assert ours.value == pytest.approx(theirs.value, abs=1e-4 * temperature)
    left_out = 1e-4  # shares below exp(-14) of any two atoms, over all atoms
    for name in ("gradient", "hessian", "soft_counts", "soft_sums"):
        expected = getattr(theirs, name)
        error = np.abs(getattr(ours, name) - expected).max()
        assert error <= left_out * np.abs(expected).max()
    boxed, plain = boxed_and_plain
    drift, expected = (
        world._mass_change(boxed, ours, step, shift),
        world._mass_change(plain, theirs, step, shift),
    )
    np.testing.assert_allclose(drift, expected, atol=left_out * abs(expected).max())
    np.testing.assert_allclose(boxed.scales(potentials), plain.scales(potentials), rtol=1e-9)


@pytest.mark.parametrize("n_features", [2])
def test_sparse_newton_steps_are_the_dense_ones(boxed_and_plain, monkeypatch):
    state = world.Smoothed(boxed_and_plain[0], np.zeros(150), np.full(3000, 2e-4))
    assert state._sparse is not None
    step = state.newton_step(30.0)
    monkeypatch.setattr(semidual, "_MANY", 1000)
    dense = world.Smoothed(boxed_and_plain[0], np.zeros(150), np.full(3000, 2e-4))
    assert dense._sparse is None
    np.testing.assert_allclose(step, dense.newton_step(30.0), atol=1e-9 * abs(step).max())


def test_what_one_atom_loses_by_drift_others_gain():
    rng = np.random.default_rng(5)
    entries, rises = rng.random((9, 500)), rng.standard_normal((9, 500))
    weights, temperatures = rng.random(500), 10.0 ** rng.uniform(-4, 0, 500)
    found = home("soft_shares").drift(entries, rises, weights, temperatures)
    assert abs(found.sum()) < 1e-9 * abs(found).max()


@pytest.mark.parametrize("n_features", [2, 6])
def test_both_loops_give_the_certified_optimum(small_worth_it, n_features):
    rng = np.random.default_rng(7)
    points = DiscreteMeasure(rng.standard_normal((6000, n_features)))
    atoms = DiscreteMeasure(rng.standard_normal((20, n_features)), rng.random(20) + 0.2)
    result = solve_semidiscrete(points, atoms)
    assert abs(result.gap) <= 1e-9 * result.cost
    costs = {2: 0.5720810432721776, 6: 4.756346227925156}  # of POT's network simplex
    assert result.cost == pytest.approx(costs[n_features], rel=1e-10)


def test_few_points_do_not_load_compiled_loops():
    problem = _problem()
    assert not problem.compiled
    assert replace(problem, cloud=replace(problem.cloud, n_origin=10**6)).compiled
