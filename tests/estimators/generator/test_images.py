"""Smoothness of images, and covariances without their noise."""

import numpy as np
import pytest

from tests.cases import every
from tests.world import image_basis, lag_sums, spiked, stationary


def symmetric_noise(d, sd, rng):
    """A symmetric matrix of noise, sqrt(2) times as large on the diagonal."""
    noise = sd * rng.standard_normal((d, d)) / np.sqrt(2)
    return noise + noise.T


@every("shape", [(4, 6), (3, 5, 3), (1, 7)])
def test_the_cosine_basis_is_orthonormal_and_smooth_first(shape):
    basis = image_basis(shape)
    np.testing.assert_allclose(basis @ basis.T, np.eye(len(basis)), atol=1e-12)
    images = basis.reshape(-1, *(*shape, 1)[:3])
    rough = (np.diff(images, axis=1) ** 2).sum(axis=(1, 2, 3))
    rough += (np.diff(images, axis=2) ** 2).sum(axis=(1, 2, 3))
    assert rough[0] < 1e-12 and rough[-1] == pytest.approx(rough.max(), rel=0.1)
    assert image_basis(None) is None


def test_lags_of_a_stationary_covariance_are_read_back():
    shape, rng = (6, 7, 2), np.random.default_rng(0)
    scales = rng.uniform(0.5, 2.0, 84)
    lags = lag_sums(np.eye(84), shape)
    values = rng.random(len(lags))
    matrix = stationary(values, scales, shape)
    np.testing.assert_allclose(matrix, matrix.T)
    found = lag_sums(matrix, shape) / lag_sums(np.outer(scales, scales), shape)
    np.testing.assert_allclose(found, values)


def test_axes_stand_out_of_the_noise_and_the_trace_is_kept():
    rng = np.random.default_rng(2)
    exact = np.diag(np.r_[20.0, 10.0, np.full(198, 0.5)])
    noisy = exact + symmetric_noise(200, 0.2, rng)
    found = spiked(noisy, 0.2)
    assert np.trace(found) == pytest.approx(np.trace(exact), rel=0.05)
    assert np.linalg.norm(found - exact) < 0.5 * np.linalg.norm(noisy - exact)
    assert np.linalg.eigvalsh(found).min() > -1e-9
    few = np.diag([4.0, 1.0])
    np.testing.assert_allclose(spiked(few, 1e-9), few, atol=1e-6)
