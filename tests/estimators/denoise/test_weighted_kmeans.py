"""Weighted k-means on releases copes with whatever noise leaves."""

import numpy as np

from skdp_bary.estimators._denoise.weighted_kmeans import lloyd, nearest, weighted_kmeans


def test_weights_decide():
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    masses = np.array([3.0, 1.0, 1.0, 0.0])
    centers = weighted_kmeans(points, masses, 2, 3, np.random.default_rng(0))
    np.testing.assert_allclose(np.sort(centers[:, 0]), [0.25, 10.0])


def test_few_points_and_no_mass():
    rng = np.random.default_rng(0)
    points = np.array([[0.0, 1.0], [2.0, 3.0]])
    centers = weighted_kmeans(points, np.zeros(2), 5, 2, rng)
    assert centers.shape == (5, 2) and np.isin(centers, points).all()
    three = np.zeros((3, 2))
    assert lloyd(points, np.ones(2), three, rounds=2) is three


def test_nearest_is_that_of_all_pairs():
    rng = np.random.default_rng(0)
    points, centers = rng.random((9000, 3)), rng.random((7, 3))
    label, squares = nearest(points, centers)
    full = ((points[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(label, full.argmin(axis=1))
    np.testing.assert_allclose(squares, full.min(axis=1), atol=1e-12)
