"""Barycenters: what they cost, where they start, and few points."""

import numpy as np
import pytest

from skdp_bary.transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete
from tests.cases import every
from tests.world import home, univariate_cost


def clusters(seed, n_points=4000, n_features=2, shift=0.0):
    rng = np.random.default_rng(seed)
    centers = rng.random((6, n_features)) + shift
    noise = 0.05 * rng.standard_normal((n_points, n_features))
    return DiscreteMeasure(centers[rng.integers(0, 6, n_points)] + noise)


def test_cost_and_plans_are_those_of_the_support():
    measures = [clusters(0), clusters(1, shift=1.0)]
    result = free_support_barycenter(measures, 10, measure_weights=[1.0, 3.0], random_state=0)
    atoms = DiscreteMeasure(result.support, result.weights)
    costs = [solve_semidiscrete(measure, atoms).cost for measure in measures]
    np.testing.assert_allclose(result.cost, 0.25 * costs[0] + 0.75 * costs[1], rtol=1e-10)
    assert result.gap <= 1e-9 * result.cost
    for transport in result.transports:
        np.testing.assert_allclose(transport.masses, 0.1, atol=1e-12)


def test_atoms_are_where_their_points_pull_them():
    measures = [clusters(0), clusters(1, shift=1.0)]
    result = free_support_barycenter(measures, 8, max_iter=60, tol=1e-9, random_state=0)
    pulled = np.mean([t.projections for t in result.transports], axis=0)
    movement = ((pulled - result.support) ** 2).sum(axis=1).mean()
    assert movement <= 1e-4 * result.cost


def test_one_atom_is_the_mean_or_the_geometric_median():
    rng = np.random.default_rng(0)
    points, weights = rng.exponential(size=(501, 3)), rng.random(501)
    measure = DiscreteMeasure(points, weights)
    mean = free_support_barycenter([measure], 1, max_iter=50, tol=1e-12)
    np.testing.assert_allclose(mean.support[0], weights @ points / weights.sum(), atol=1e-6)
    median = free_support_barycenter([measure], 1, p=1, max_iter=200, tol=1e-12)
    pull = points - median.support[0]
    pull /= np.linalg.norm(pull, axis=1)[:, None]
    assert np.linalg.norm(weights @ pull) < 1e-4 * weights.sum()


def test_on_the_line_it_averages_quantiles():
    rng = np.random.default_rng(1)
    measures = [DiscreteMeasure(rng.normal(c, s, (3000, 1))) for c, s in ((0, 1), (10, 3))]
    result = free_support_barycenter(measures, 30, random_state=0)
    atoms = np.sort(result.support.ravel())
    sorted_points = [np.sort(m.support.ravel()).reshape(30, 100) for m in measures]
    exact = np.mean([s.mean(axis=1) for s in sorted_points], axis=0)
    best = np.mean([univariate_cost(m, DiscreteMeasure(exact[:, None])) for m in measures])
    assert result.cost <= best * 1.0001
    np.testing.assert_allclose(atoms, exact, atol=0.2)


@every(
    "change, message",
    [
        ({"n_atoms": 0}, "n_atoms must be an integer in"),
        ({"n_atoms": 2.5}, "n_atoms must be an integer in"),
        ({"p": 3}, "p must be 1 or 2"),
        ({"measure_weights": [1.0, 2.0]}, "measure_weights must be 1 finite numbers"),
        ({"init": [[0.0]]}, "init must be finite of shape"),
        ({"n_init": 0}, "n_init must be an integer in"),
        ({"tol": 0.0}, "tol must be a finite number in"),
        ({"measures": []}, "measures must be non-empty"),
    ],
)
def test_refuses_arguments(change, message):
    arguments = {"measures": [DiscreteMeasure([[0.0], [1.0]])], "n_atoms": 2, **change}
    with pytest.raises((TypeError, ValueError), match=message):
        free_support_barycenter(**arguments)


free_support = home("free_support_barycenter")


def clouds(seed, n_points, n_measures=2, n_features=2):
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(4, n_features))
    return [
        DiscreteMeasure(
            middles[rng.integers(4, size=n_points)] + rng.normal(size=(n_points, n_features)),
            rng.exponential(size=n_points),
        )
        for _ in range(n_measures)
    ]


@pytest.mark.parametrize(("n_points", "n_atoms"), [(4, 3), (40, 8)])
def test_costs_are_those_of_smoothed_plans(monkeypatch, n_points, n_atoms):
    ratios = []
    for seed in range(4):
        measures = clouds(seed, n_points)
        found = free_support_barycenter(measures, n_atoms, n_init=2, random_state=seed)
        with monkeypatch.context() as patch:
            patch.setattr(free_support, "_LARGEST", 0)
            smoothed = free_support_barycenter(measures, n_atoms, n_init=2, random_state=seed)
        ratios.append(found.cost / smoothed.cost)
    assert np.mean(ratios) < 1.01 and max(ratios) < 1.03
