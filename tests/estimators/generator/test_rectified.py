"""Rectified Gaussians have the moments they were made for."""

import numpy as np

from tests.world import RectifiedGaussian, clipped_moments, latent_parameters


def hard_moments(n, seed=0):
    """Means down to the bounds, variances from next to nothing to nearly those of two values."""
    rng = np.random.default_rng(seed)
    mean = np.r_[rng.random(n), 10.0 ** rng.uniform(-4, -1, n), 1 - 10.0 ** rng.uniform(-4, -1, n)]
    share = np.r_[rng.uniform(1e-3, 0.95, 2 * n), 10.0 ** rng.uniform(-4, -0.03, n)]
    return mean, share * mean * (1 - mean)


def test_latent_parameters_give_the_moments_however_hard():
    mean, variance = hard_moments(4000)
    location, scale = latent_parameters(mean, variance)
    found, spread, _ = clipped_moments(location, scale)
    np.testing.assert_allclose(found, mean, rtol=1e-6)
    np.testing.assert_allclose(spread, variance, rtol=1e-6)


def test_draws_have_mean_and_covariance_and_stay_in_the_cube():
    rng = np.random.default_rng(2)
    root = 0.15 * rng.standard_normal((6, 6)) / np.sqrt(6)
    mean = np.array([0.15, 0.2, 0.5, 0.8, 0.3, 0.6])
    covariance = root @ root.T + 0.001 * np.eye(6)
    rows = RectifiedGaussian.of_moments(mean, covariance).draw(200_000, rng)
    assert rows.min() >= 0.0 and rows.max() <= 1.0
    np.testing.assert_allclose(rows.mean(axis=0), mean, atol=2e-3)
    np.testing.assert_allclose(np.cov(rows.T), covariance, atol=1e-3)
