"""Clusters on a line: against all cuts of few points, and the starts of scikit-learn."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from tests.cases import every
from tests.world import clusters_on_line, nearest


def cost(points, masses, centers):
    return masses @ nearest(points, centers)[1]


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


def test_many_starts_find_nothing_better():
    rng = np.random.default_rng(0)
    points, masses = rng.standard_t(3.0, size=(2000, 1)), rng.exponential(size=2000)
    peer = KMeans(20, n_init=20, random_state=0).fit(points, sample_weight=masses)
    assert cost(points, masses, clusters_on_line(points, masses, 20)) < peer.inertia_
