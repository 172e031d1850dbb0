"""Counts of several looks: against dense least squares, and masses that add up."""

import numpy as np
import pytest

from tests.cases import every
from tests.world import least_squares, nonnegative

PARENTS = [np.repeat(np.arange(3), [1, 4, 2]), np.repeat(np.arange(7), [1, 2, 1, 3, 1, 1, 2])]
SIZES = (3, 7, 11)


def measured(seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(2.0, 3.0, n) for n in SIZES], [rng.uniform(0.5, 2.0, n) for n in SIZES]


def infinite(sizes):
    return [np.full(n, np.inf) for n in sizes]


def sums():
    """Return the matrices that add the last look's cells up to those of each look."""
    first, second = (np.eye(n)[:, p] for n, p in zip(SIZES, PARENTS, strict=False))
    return [first @ second, second, np.eye(SIZES[2])]


def test_estimates_are_those_of_dense_least_squares():
    values, variances = measured()
    matrix, weights = np.vstack(sums()), 1.0 / np.concatenate(variances)
    covariance = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    best = covariance @ (matrix.T @ (weights * np.concatenate(values)))
    estimates, spread = least_squares(PARENTS, values, variances)
    for found, noise, adding in zip(estimates, spread, sums(), strict=True):
        np.testing.assert_allclose(found, adding @ best)
        np.testing.assert_allclose(noise, np.diag(adding @ covariance @ adding.T))


@every("seed", range(5))
def test_masses_add_up_and_are_not_negative(seed):
    values, _ = measured(seed)
    masses = nonnegative(PARENTS, values)
    for above, below, parent in zip(masses, masses[1:], PARENTS, strict=False):
        np.testing.assert_allclose(np.bincount(parent, below), above, atol=1e-12)
    assert min(m.min() for m in masses) >= 0
    assert masses[0].sum() == pytest.approx(max(values[0].sum(), 0.0))


def test_the_nearest_masses_are_found():
    found = nonnegative([], [np.array([3.0, -1.0, 0.5])])[0]
    np.testing.assert_allclose(found, [2.5, 0.0, 0.0])


def test_what_is_not_alive_leaves_its_mass_to_its_siblings():
    values, _ = measured()
    alive = [np.ones(n, dtype=bool) for n in SIZES]
    alive[1][[1, 3]] = False
    alive[2][:3] = False  # all parts of two cells: nobody is left to take what they hold
    masses = nonnegative(PARENTS, [np.abs(v) for v in values], alive, infinite(SIZES))
    assert not masses[1][[1, 3]].any()
    np.testing.assert_allclose(np.bincount(PARENTS[0], masses[1]), masses[0])
    np.testing.assert_allclose(np.bincount(PARENTS[1], masses[2]), masses[1])


def test_the_noise_of_cells_that_are_not_alive_goes_to_no_other():
    estimates = [np.array([50.0, 3.0, -2.0, 9.0])]
    alive = [np.array([True, False, False, False])]
    found = nonnegative([], estimates, alive, infinite([4]))[0]
    np.testing.assert_array_equal(found, [50.0, 0.0, 0.0, 0.0])


@every("held, kept", [(6.0, 6.0), (2.0, 0.0)])
def test_parts_that_are_not_alive_keep_what_is_beyond_doubt_together(held, kept):
    """No such part stands out of its noise, and all of them do: a tail beside a cluster."""
    parents, estimates = [np.zeros(4, dtype=np.int64)], [np.array([20.0]), np.empty(4)]
    estimates[1][:] = [20.0 - held, *np.full(3, held / 3.0)]
    alive = [np.ones(1, dtype=bool), np.arange(4) < 1]
    doubts = [np.ones(1), np.full(4, 3.0)]  # the square root of nine is between the two
    masses = nonnegative(parents, estimates, alive, doubts)
    np.testing.assert_allclose(masses[1], [20.0 - kept, *np.full(3, kept / 3.0)])
    first = nonnegative([], estimates[1:], alive[1:], doubts[1:])[0]
    np.testing.assert_allclose(first, [20.0 - held, *np.full(3, kept / 3.0)])
