"""Frames, public directions, and how many of them there are."""

import numpy as np
import pytest
from scipy import stats
from sklearn.random_projection import johnson_lindenstrauss_min_dim

from tests import world
from tests.cases import every


def test_haar_frames_have_the_law_of_haar():
    # Every entry squared is Beta(1/2, (d-1)/2), signs are fair, and so is the determinant's.
    rng = np.random.default_rng(1)
    frames = np.array([world.haar_frame(3, 3, rng) for _ in range(3000)])
    law = stats.beta(0.5, 1.0)
    for i, j in [(0, 0), (2, 2), (0, 2), (1, 1)]:
        entries = frames[:, i, j]
        assert stats.kstest(entries**2, law.cdf).pvalue > 1e-3
        assert stats.binomtest(int((entries > 0).sum()), 3000).pvalue > 1e-3
    assert stats.binomtest(int((np.linalg.det(frames) > 0).sum()), 3000).pvalue > 1e-3
    # Eigenvalue angles of a Haar orthogonal matrix repel; without the sign fix of the QR routine
    # the trace has another variance (1 for Haar).
    assert abs(np.trace(frames, axis1=1, axis2=2).var() - 1) < 0.1


SMALL = [(1, 1), (1, 5), (2, 2), (2, 3), (2, 7), (3, 4), (5, 9), (8, 15), (8, 16), (9, 10)]


@every("d, k", [*SMALL, (64, 100), (101, 202), (128, 333), (301, 450)])
def test_tight_frames_are_tight(d, k):
    U = world.tight_frame(d, k, np.random.default_rng(k))
    assert U.shape == (d, k)
    assert abs((U**2).sum(axis=0) - 1).max() < 1e-12
    assert abs(U @ U.T - k / d * np.eye(d)).max() < 1e-12


def test_wrong_sizes_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="n_directions must be .* in .1, 3"):
        world.haar_frame(3, 4, rng)
    with pytest.raises(ValueError, match="n_directions must be .* in .3, inf"):
        world.tight_frame(3, 2, rng)
    with pytest.raises(TypeError, match="n_features"):
        world.haar_frame(2.0, 1, rng)


def test_distance_rule_is_that_of_scikit_learn():
    for n in (2, 100, 10**6):
        for distortion in (0.1, 0.5, 0.9):
            known = johnson_lindenstrauss_min_dim(n, eps=distortion)
            assert world.distance_dimension(n, distortion) in (known, known + 1)


@every("bad", [0, 1, -0.5, np.nan, "0.5", None])
def test_wrong_numbers_are_refused(bad):
    with pytest.raises((TypeError, ValueError), match="distortion must be"):
        world.distance_dimension(10, bad)
    with pytest.raises(ValueError, match="n_points"):
        world.distance_dimension(1, 0.5)


@every("d, k", [(1, 1), (3, 5), (5, 3), (4, 8)])
def test_names_stand_for_the_same_directions_in_every_fit(d, k):
    for name in ("tight", "iid"):
        directions = world.public_directions(name, k, d)
        np.testing.assert_allclose(np.linalg.norm(directions, axis=0), 1.0)
        assert directions.shape == (d, k)
        np.testing.assert_array_equal(directions, world.public_directions(name, k, d))
    tight = world.public_directions("tight", k, d)
    both = tight @ tight.T if k >= d else tight.T @ tight
    np.testing.assert_allclose(both, max(k / d, 1.0) * np.eye(min(d, k)), atol=1e-12)
    assert world.direction_count("iid", k, d) == k


def test_whole_frames_are_counted_and_given_directions_used():
    for d, k in ((1, 1), (2, 100), (3, 102), (50, 100), (784, 784), (1001, 1000)):
        assert world.direction_count("tight", None, d) == k
    np.testing.assert_array_equal(world.public_directions(np.eye(2), None, 2), np.eye(2))
    for given, count, message in ((1, 3, "n_projections must be None or 2"), (2, None, "unit")):
        with pytest.raises(ValueError, match=message):
            world.public_directions(given * np.eye(2), count, 2)
