"""Metrics of heatmaps: known values, another solver, and what is refused."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import entropy, pearsonr

from skdp_bary.metrics import earth_mover_distance, kl_divergence, pearson_correlation, similarity
from skdp_bary.transport import DiscreteMeasure
from tests.cases import every
from tests.world import home

_heatmaps = home("similarity")

RNG = np.random.default_rng(0)
METRICS = [similarity, pearson_correlation, kl_divergence, earth_mover_distance]


def heatmap(side=6, sparse=False):
    values = RNG.random((side, side))
    return values * (RNG.random((side, side)) < 0.3) + (0 if sparse else 0.01)


def flow_on_grid(p, q):
    """L1 earth mover's distance as a minimum cost flow along the edges of the grid."""
    side = len(p)
    number = np.arange(side * side).reshape(side, side)
    steps = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    tails = np.concatenate([np.r_[a.ravel(), b.ravel()] for a, b in steps])
    heads = np.concatenate([np.r_[b.ravel(), a.ravel()] for a, b in steps])
    balance = np.zeros((side * side, len(tails)))
    balance[tails, np.arange(len(tails))] = 1
    balance[heads, np.arange(len(tails))] = -1
    flow = linprog(
        np.full(len(tails), 1 / side), A_eq=balance, b_eq=(p / p.sum() - q / q.sum()).ravel()
    )
    return flow.fun


@every("sparse", [False, True])
def test_earth_mover_distance_is_the_flow_on_the_grid(sparse):
    for _ in range(5):
        p, q = heatmap(sparse=sparse), heatmap(sparse=sparse)
        assert earth_mover_distance(p, q) == pytest.approx(flow_on_grid(p, q), rel=1e-9)


@every("shape", [(32, 32), (31, 29), (7, 30)])
@every("max_side", [4, 16])
def test_block_sums_are_as_close_as_promised(shape, max_side):
    for _ in range(5):
        p, q = (RNG.random(shape) ** 8 for _ in range(2))
        exact, coarse = (earth_mover_distance(p, q, max_side=side) for side in (32, max_side))
        assert abs(exact - coarse) < sum(-(-side // max_side) / side for side in shape)
    point, other = np.zeros(shape), np.zeros(shape)
    point[0, 0] = other[-1, -1] = 1.0
    exact = sum(1 - 1 / side for side in shape)
    assert earth_mover_distance(point, other) == pytest.approx(exact)
    blocks = [-(-side // max_side) / side for side in shape]
    assert exact - sum(blocks) < earth_mover_distance(point, other, max_side=max_side) < exact


@pytest.mark.parametrize("shape", [(12, 12), (9, 14), (1, 20)])
def test_flow_and_plan_cost_the_same(shape, monkeypatch):
    """Two solvers of the same problem; uneven blocks make steps of uneven lengths."""
    for max_side in (5, 20):
        p, q = RNG.random(shape), RNG.random(shape) ** 3
        plan = earth_mover_distance(p, q, max_side=max_side)
        monkeypatch.setattr(_heatmaps, "_LARGEST_PLAN", 0)
        assert earth_mover_distance(p, q, max_side=max_side) == pytest.approx(plan, rel=1e-9)
        monkeypatch.undo()


def test_against_other_implementations():
    p, q = heatmap(), heatmap()
    assert kl_divergence(p, q) == pytest.approx(entropy(q.ravel(), p.ravel()), rel=1e-9)
    assert pearson_correlation(p, q) == pytest.approx(pearsonr(p.ravel(), q.ravel())[0], rel=1e-9)
    tv = np.abs(p / p.sum() - q / q.sum()).sum() / 2
    assert similarity(p, q) == pytest.approx(1 - tv, rel=1e-12)


def test_an_empty_cell_costs_the_regularizer():
    p, q = np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])
    expected = 0.5 * np.log(0.5) + 0.5 * np.log(0.5 / 1e-3)
    assert kl_divergence(p, q, regularizer=1e-3) == pytest.approx(expected, abs=2e-3)


@every("metric", METRICS)
def test_measures_are_compared_like_heatmaps(metric):
    p, q = heatmap(), heatmap()
    points = (np.indices(p.shape).reshape(2, -1).T + 0.5) / len(p)
    measures = DiscreteMeasure(points, p.ravel()), DiscreteMeasure(points[::-1], q.ravel()[::-1])
    assert metric(*measures) == pytest.approx(metric(p, q), rel=1e-9)


@every("metric", METRICS)
def test_equal_heatmaps(metric):
    best = 1.0 if metric in (similarity, pearson_correlation) else 0.0
    p = heatmap()
    assert metric(p, 3.0 * p) == pytest.approx(best, abs=1e-12)


@every("metric", METRICS)
@every(
    "bad",
    [np.zeros((6, 6)), -np.ones((6, 6)), np.ones(6), np.full((6, 6), np.nan), np.ones((5, 6))],
)
def test_bad_heatmaps_are_refused(metric, bad):
    with pytest.raises(ValueError, match="heatmap"):
        metric(bad, np.ones((6, 6)))


def test_a_heatmap_and_a_measure_do_not_compare():
    with pytest.raises(TypeError, match="one of each"):
        similarity(DiscreteMeasure(np.zeros((1, 2))), np.ones((2, 2)))
