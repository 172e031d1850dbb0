import numpy as np

from tests.world import balanced_split


def test_pieces_have_the_target_masses():
    rng = np.random.default_rng(0)
    points, weights = rng.random((997, 3)), rng.random(997)
    target = rng.random(13) + 0.1
    target /= target.sum()
    means = balanced_split(points, weights / weights.sum(), target, rng)
    # Means of a partition with those masses average to the mean of all points.
    np.testing.assert_allclose(target @ means, weights @ points / weights.sum(), rtol=1e-10)
    assert len(np.unique(means, axis=0)) == 13


def test_fewer_points_than_atoms():
    points = np.array([[0.0], [1.0]])
    means = balanced_split(points, np.array([0.5, 0.5]), np.full(5, 0.2), np.random.default_rng(0))
    assert np.isfinite(means).all()
    np.testing.assert_allclose(means.mean(), 0.5)
