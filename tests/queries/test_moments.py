"""Masses, sums and second moments of the rows of every class, against plain sums."""

import numpy as np

from skdp_bary.base import Moments, symmetric
from tests.world import PERSON_UNITS, answer


def test_moments_are_those_of_rows_images_and_weights():
    rng = np.random.default_rng(3)
    X, codes = rng.uniform(-0.3, 0.3, (500, 3)), rng.integers(2, size=500)
    query = Moments(np.zeros((2, 3)), 1.0, second="classes")
    masses, sums, diagonal, upper = answer(query, X, codes)
    for code in range(2):
        rows = X[codes == code]
        assert masses[code] == len(rows)
        np.testing.assert_allclose(sums[code] * query.step, rows.sum(axis=0), atol=0.02)
        scatter = symmetric(diagonal[code], upper[code]) * query.step**2
        np.testing.assert_allclose(scatter, rows.T @ rows, atol=0.02)
    rng = np.random.default_rng(5)
    X, components = rng.uniform(-0.3, 0.3, (500, 3)), rng.standard_normal((2, 3))
    query = Moments(np.full((1, 3), 0.1), 2.0, components, "pooled")
    (mass,), (sums,), diagonal, upper = answer(query, X)
    images = (X - 0.1) @ components.T
    assert mass == 500
    np.testing.assert_allclose(sums * query.step, images.sum(axis=0), atol=0.04)
    scatter = symmetric(diagonal[0], upper[0]) * query.step**2
    np.testing.assert_allclose(scatter, images.T @ images, atol=0.08)
    rng = np.random.default_rng(4)
    X, masses = rng.uniform(-0.5, 0.5, (3000, 2)), rng.integers(PERSON_UNITS + 1, size=3000)
    query = Moments(np.zeros((1, 2)), 1.0, second="pooled", units=PERSON_UNITS)
    rows = query._lattice.quantise(X).astype(object)
    truth = (rows * masses[:, None]).T @ rows
    _, _, diagonal, upper = answer(query, X, np.zeros(3000, dtype=np.int64), masses)
    assert diagonal[0].tolist() == [truth[0, 0], truth[1, 1]]
    assert upper[0].tolist() == [truth[0, 1]]
