"""Shrinkage: nothing is lost without noise, and noise alone shrinks to nothing."""

import numpy as np
import pytest
from scipy.stats import truncnorm

from tests.cases import every
from tests.world import NoisyMeans, Readout, mean_within, shrink_steps, shrink_together


def test_blocks_keep_the_axes_that_carry_signal():
    rng = np.random.default_rng(0)
    truth = np.zeros((8, 60))
    truth[:, :4] = 5.0 * rng.standard_normal((8, 4))
    steps = truth + rng.standard_normal(truth.shape)
    known, noise = np.ones(8, dtype=bool), np.ones(8)
    shrunk = shrink_steps(steps, noise, known, np.eye(60))
    assert ((shrunk - truth) ** 2).sum() < 0.4 * ((steps - truth) ** 2).sum()


def test_means_of_clusters_whose_mass_is_noise_stay_where_they_were():
    mass, sums = np.array([100.0, 1.9, -5.0]), np.array([[50.0, 0.0], [9.0, 9.0], [9.0, 9.0]])
    means = NoisyMeans(np.zeros((3, 2)), Readout(mass, sums, 1.0, np.full(3, 4.0)))
    assert means.known.tolist() == [True, False, False]
    np.testing.assert_array_equal(means.weight, [100.0, 2.0, 2.0])
    np.testing.assert_allclose(means.noise, [0.0016, 4.0, 4.0])
    np.testing.assert_array_equal(means.of_known(means.steps), [[0.5, 0.0], [0, 0], [0, 0]])
    shrunk = means.shrunk()
    assert 0.48 < shrunk[0, 0] < 0.5 and not shrunk[1:].any()


REACHING = [
    lambda rows, noise: shrink_together(rows, noise, 1.0),
    lambda rows, noise: shrink_together(rows, np.full((6, 1), noise), 1.0),
    lambda rows, noise: shrink_steps(rows, np.full(6, noise), np.ones(6), reach=1.0),
]


@every("shrink", REACHING)
def test_noise_alone_moves_nothing_far_and_exact_rows_stay_below_their_reach(shrink):
    for rows in (np.full((6, 5), 3e4), 3e4 * np.random.default_rng(0).standard_normal((6, 5))):
        assert np.linalg.norm(shrink(rows, 1e8), axis=1).max() < 1e-2
    exact = np.full((6, 5), 0.2)
    np.testing.assert_allclose(shrink(exact, 1e-12), exact, rtol=1e-6)


@every("place", [-3.0, -0.5, 0.0, 0.4, 1.0, 2.5])
def test_a_number_between_two_ends_has_the_mean_of_its_posterior(place):
    assert mean_within(place, 0.01, 0.0, 1.0) == pytest.approx(min(max(place, 0.0), 1.0), abs=0.01)
    assert mean_within(place, 1e4, 0.0, 1.0) == pytest.approx(0.5, abs=0.01)
    expected = truncnorm.mean(-place / 0.7, (1.0 - place) / 0.7, place, 0.7)
    assert mean_within(place, 0.7, 0.0, 1.0) == pytest.approx(expected, abs=1e-3)
