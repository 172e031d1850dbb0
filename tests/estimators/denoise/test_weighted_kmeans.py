"""Weighted k-means on releases copes with whatever noise leaves; on a line it is exact."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from tests.cases import every
from tests.world import best_of_starts, clusters_on_line, lloyd, nearest, weighted_kmeans


def cost(points, masses, centers):
    return masses @ nearest(points, centers)[1]


def test_few_points_and_no_mass():
    rng = np.random.default_rng(0)
    points = np.array([[0.0, 1.0], [2.0, 3.0]])
    centers = weighted_kmeans(points, np.zeros(2), 5, 2, rng)
    assert centers.shape == (5, 2) and np.isin(centers, points).all()
    many = rng.random((5000, 2))
    assert np.isfinite(weighted_kmeans(many, np.zeros(5000), 2000, 1, rng)).all()
    three = np.zeros((3, 2))
    assert lloyd(points, np.ones(2), three, rounds=2) is three


def test_nearest_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    points, centers = rng.random((9000, 3)), rng.random((7, 3))
    label, squares = nearest(points, centers)
    full = ((points[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(label, full.argmin(axis=1))
    np.testing.assert_allclose(squares, full.min(axis=1), atol=1e-12)


@every("n_points", [40, 400])
def test_all_starts_at_once_cost_no_more_than_those_of_scikit_learn(n_points):
    ratios = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        places = 3.0 * rng.normal(size=(6, 2))
        points = 50.0 + places[rng.integers(6, size=n_points)] + rng.normal(size=(n_points, 2))
        masses = rng.exponential(size=n_points)
        peer = KMeans(6, n_init=10, random_state=seed).fit(points, sample_weight=masses)
        centers = best_of_starts(points, masses, 6, 10, 100, rng)
        ratios.append(cost(points, masses, centers) / peer.inertia_)
    assert np.mean(ratios) < 1.01 and max(ratios) < 1.04


@every("rounds", [1, 2, 30])
def test_rounds_from_given_centers_are_those_of_scikit_learn(rounds):
    rng = np.random.default_rng(0)
    points, masses = rng.random((60, 3)), rng.exponential(size=60)
    given = points[:5]
    peer = KMeans(5, init=given, n_init=1, max_iter=rounds).fit(points, sample_weight=masses)
    np.testing.assert_allclose(lloyd(points, masses, given, rounds), peer.cluster_centers_)


def test_a_center_that_nothing_is_near_moves_to_where_most_costs():
    points = np.array([[0.0], [1.0], [5.0], [9.0]])
    far = np.array([[0.4], [7.0], [1e3]])
    centers = lloyd(points, np.ones(4), far, rounds=20)
    np.testing.assert_allclose(np.sort(centers[:, 0]), [0.5, 5.0, 9.0])


# On a line: against all cuts of few points, and the starts of scikit-learn


def least_of_all_cuts(points, masses, n_clusters):
    order = np.argsort(points[:, 0])
    points, masses = points[order], masses[order]
    costs = []
    for cuts in combinations(range(1, len(points)), n_clusters - 1):
        parts = np.split(np.arange(len(points)), cuts)
        means = [np.average(points[part], axis=0, weights=masses[part]) for part in parts]
        costs.append(cost(points, masses, np.array(means)))
    return min(costs)


@every("ties", [False, True])
@every("n_points", range(1, 9))
def test_no_cut_costs_less(n_points, ties):
    for seed in range(20):
        rng = np.random.default_rng([seed, n_points])
        points = 1e3 + rng.normal(size=(n_points, 1))
        points = np.round(points) if ties else points
        masses = rng.exponential(size=n_points)
        n_clusters = int(rng.integers(1, n_points + 1))
        centers = clusters_on_line(points, masses, n_clusters)
        assert centers.shape == (n_clusters, 1) and (np.diff(centers[:, 0]) > -1e-9).all()
        best = least_of_all_cuts(points, masses, n_clusters)
        assert cost(points, masses, centers) == pytest.approx(best, abs=1e-9)
