"""Block means, gradients and particles of slices."""

import numpy as np
import pytest

from tests.cases import every
from tests.world import block_matrix, fit_particles, monotone_rows, sliced_gradient, tight_frame


@every("n, m", [(1, 1), (7, 3), (3, 7), (12, 4), (5, 5)])
def test_blocks_take_fractions_of_points(n, m):
    values = np.sort(np.random.default_rng(n * m).normal(size=n))
    expected = np.repeat(values, m).reshape(m, n).mean(axis=1)  # m copies of n points, n a block
    np.testing.assert_allclose(block_matrix(n, m) @ values, expected, atol=1e-14)


def test_the_gradient_is_that_of_the_cost():
    rng = np.random.default_rng(0)
    points, directions = rng.normal(size=(7, 3)), tight_frame(3, 5, rng)
    quantiles = np.sort(rng.normal(size=(5, 4)), axis=1)
    _, gradient = sliced_gradient(points, directions, quantiles)
    for i, j in np.ndindex(*points.shape):
        shift = np.zeros_like(points)
        shift[i, j] = 1e-6
        above, below = (
            sliced_gradient(points + s * shift, directions, quantiles)[0] for s in (1, -1)
        )
        assert (above - below) / 2e-6 == pytest.approx(gradient[i, j], abs=1e-7)


def test_rows_become_monotone_and_stay_where_they_are():
    rows = np.array([[1.0, 3.0, 2.0], [0.0, 1.0, 2.0]])
    np.testing.assert_allclose(monotone_rows(rows), [[1.0, 2.5, 2.5], [0.0, 1.0, 2.0]])


@every("d, k", [(1, 1), (2, 100), (5, 100), (4, 3)])
def test_particles_have_the_slices_of_clusters(d, k):
    rng = np.random.default_rng(1)
    middles = rng.uniform(-1, 1, size=(3, d))
    X = middles[rng.integers(3, size=3000)] + 0.05 * rng.normal(size=(3000, d))
    directions = tight_frame(d, k, rng) if k >= d else np.linalg.qr(rng.normal(size=(d, k)))[0]
    quantiles = (block_matrix(len(X), 30) @ np.sort(X @ directions, axis=0)).T
    start = fit_particles(directions, quantiles, 300, np.random.default_rng(2), max_iter=0)
    points = fit_particles(directions, quantiles, 300, np.random.default_rng(2))
    before, after = (sliced_gradient(p, directions, quantiles)[0] for p in (start, points))
    assert after < 0.02 * before
