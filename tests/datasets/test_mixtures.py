"""Mixtures of Gaussians are where they are said to be, and inside their public bounds."""

import numpy as np
import pytest

from skdp_bary.datasets import make_corners, make_gaussian_images
from tests.cases import every


def test_corners_are_four_equal_gaussians():
    X, y = make_corners(40_000, n_features=5, random_state=0)
    means = np.array([X[y == corner].mean(axis=0) for corner in range(4)])
    assert {tuple(mean) for mean in np.sign(means[:, :2])} == {(1, 1), (1, -1), (-1, 1), (-1, -1)}
    np.testing.assert_allclose(abs(means[:, :2]), 0.25, atol=0.01)
    np.testing.assert_allclose(means[:, 2:], 0.0, atol=0.01)
    np.testing.assert_allclose(X[y == 0].std(axis=0), 0.1, rtol=0.05)
    assert abs(np.bincount(y) / len(y) - 0.25).max() < 0.02
    assert abs(make_corners(1000, scale=1.0, random_state=0)[0]).max() == 0.75


def test_images_are_in_the_unit_square_and_differ():
    X, y = make_gaussian_images(5, n_rows=1000, random_state=0)
    assert X.min() >= 0.0 and X.max() <= 1.0
    assert np.bincount(y).tolist() == [1000] * 5
    means = np.array([X[y == image].mean(axis=0) for image in range(5)])
    assert len(np.unique(means.round(2), axis=0)) == 5
    spreads = np.array([np.cov(X[y == image].T) for image in range(5)])
    widths = np.sqrt(np.linalg.eigvalsh(spreads))
    assert widths.min() > 0.015 and widths.max() < 0.12
    assert abs(spreads[:, 0, 1]).max() > 1e-4  # turned


def test_fewer_spots_leave_more_of_an_image_empty():
    def empty(n_spots):
        X, _ = make_gaussian_images(1, n_rows=5000, n_spots=n_spots, random_state=1)
        return (np.histogram2d(*X.T, bins=20, range=[[0, 1], [0, 1]])[0] == 0).mean()

    assert empty(1) > empty(4) > empty(30)


@every("make", [make_corners, make_gaussian_images])
def test_the_seed_decides(make):
    for first, second in zip(make(3, random_state=7), make(3, random_state=7), strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.array_equal(make(3, random_state=7)[0], make(3, random_state=8)[0])


@every(
    "make, wrong",
    [
        (make_corners, {"n_features": 1}),
        (make_corners, {"scale": -1.0}),
        (make_corners, {"n_samples": 0}),
        (make_gaussian_images, {"n_images": 0}),
        (make_gaussian_images, {"n_rows": 2.5}),
        (make_gaussian_images, {"n_spots": 0}),
    ],
)
def test_bad_numbers_are_named(make, wrong):
    with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
        make(**wrong)
