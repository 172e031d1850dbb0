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
def test_block_sums_are_as_close_as_promised(shape, max_side, monkeypatch):
    """Heatmaps that are summed over blocks, next to the same ones that are not."""
    heatmaps = [(RNG.random(shape) ** 8, RNG.random(shape) ** 8) for _ in range(5)]
    corners = np.zeros((2, *shape))
    corners[0, 0, 0] = corners[1, -1, -1] = 1.0
    monkeypatch.setattr(_heatmaps, "_MAX_SIDE", 32)
    exact = [earth_mover_distance(*pair) for pair in (*heatmaps, corners)]
    monkeypatch.setattr(_heatmaps, "_MAX_SIDE", max_side)
    coarse = [earth_mover_distance(*pair) for pair in (*heatmaps, corners)]
    off = sum(-(-side // max_side) / side for side in shape)
    assert np.abs(np.subtract(exact, coarse)).max() < off
    assert exact[-1] == pytest.approx(sum(1 - 1 / side for side in shape))
    assert exact[-1] - off < coarse[-1] < exact[-1]


def test_against_other_implementations():
    p, q = heatmap(), heatmap()
    assert kl_divergence(p, q) == pytest.approx(entropy(q.ravel(), p.ravel()), rel=1e-9)
    assert pearson_correlation(p, q) == pytest.approx(pearsonr(p.ravel(), q.ravel())[0], rel=1e-9)
    tv = np.abs(p / p.sum() - q / q.sum()).sum() / 2
    assert similarity(p, q) == pytest.approx(1 - tv, rel=1e-12)


def test_an_empty_cell_costs_the_regularizer():
    p, q = np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])
    expected = 0.5 * np.log(0.5) + 0.5 * np.log(0.5 * 2.0**52)
    assert kl_divergence(p, q) == pytest.approx(expected, rel=1e-12)


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
