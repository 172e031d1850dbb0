"""Convolutions and correlations by their definition, against numpy's."""

from functools import reduce

import numpy as np

from tests.cases import every
from tests.world import convolve_all, correlate_others


@every("n", [1, 2, 3, 4, 7])
def test_convolutions_are_those_of_numpy(n):
    factors = np.random.default_rng(n).random((2, 3, n, 5))
    found = convolve_all(factors)
    for part in range(2):
        for row in range(3):
            np.testing.assert_allclose(found[part, row], reduce(np.convolve, factors[part, row]))


@every("n", [1, 2, 3, 4, 7])
@every("length", [5, 12, 60])
def test_correlations_are_sums_over_the_others(n, length):
    rng = np.random.default_rng(n)
    factors, known = rng.random((2, n, 5)), rng.random((2, length))
    found = correlate_others(known, factors)
    assert found.shape == factors.shape
    for row in range(2):
        for child in range(n):
            others = reduce(np.convolve, np.delete(factors[row], child, axis=0), np.ones(1))
            filled = np.append(known[row], np.zeros(5 + len(others)))
            sums = [filled[place : place + len(others)] @ others for place in range(5)]
            np.testing.assert_allclose(found[row, child], sums)


def test_tails_keep_their_digits():
    factors = np.exp(-3.0 * np.arange(40.0)) * np.ones((1, 4, 1))
    found = convolve_all(factors)[0]
    ways = [(k + 1) * (k + 2) * (k + 3) / 6 for k in range(40)]
    np.testing.assert_allclose(found[:40], ways * np.exp(-3.0 * np.arange(40.0)), rtol=1e-12)
