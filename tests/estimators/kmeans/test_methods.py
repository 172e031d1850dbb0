"""Weighted points that stand for the rows: clusters of them, spreads and noise."""

import numpy as np

from tests.cases import every
from tests.world import KMeansSetting, WeightedPoints, standing_out

POINTS = np.array([[0.0, 0.0], [0.2, 0.0], [0.0, 0.4], [1.0, 1.0], [1.2, 1.0]])


def points(masses, sd=0.0, within=0.01):
    return WeightedPoints(POINTS, np.asarray(masses, dtype=float), sd, within)


def test_spreads_add_what_is_within_a_point():
    found = points([1, 1, 0, 3, 1]).spread_about(np.array([[0.0, 0.0], [1.0, 1.0], [9.0, 9.0]]))
    np.testing.assert_allclose(found, [0.03, 0.02, 0.01 + 0.08 / 6])


def test_noise_of_centers_is_what_noise_of_the_masses_does_to_them():
    rng, masses, sd = np.random.default_rng(0), np.array([40.0, 30.0, 50.0, 60.0, 20.0]), 0.5
    labels = np.array([0, 0, 0, 1, 1])
    centers = np.stack([np.average(POINTS[labels == j], 0, masses[labels == j]) for j in (0, 1)])
    _, noise = points(masses, sd).masses_about(centers)
    moved = []
    for _ in range(4000):
        noisy = masses + sd * rng.standard_normal(len(masses))
        moved.append([np.average(POINTS[labels == j], 0, noisy[labels == j]) for j in (0, 1)])
    measured = ((np.array(moved) - centers) ** 2).mean(axis=(0, 2))
    np.testing.assert_allclose(noise, measured, rtol=0.1)


def test_without_points_every_cluster_is_empty():
    nothing = WeightedPoints(np.empty((0, 2)), np.empty(0), 2.0, 0.5)
    masses, noise = nothing.masses_about(np.zeros((3, 2)))
    assert not masses.any() and not noise.any()
    np.testing.assert_array_equal(nothing.spread_about(np.zeros((3, 2))), [0.5] * 3)


@every("sd, kept", [(1.0, [3, 1, 0]), (10.0, [3, 1]), (0.0, [3, 1, 0, 2])])
def test_counts_stand_out_of_their_noise(sd, kept):
    setting = KMeansSetting(2, 2, "grid", 1, "auto", None, 1.0, 0.0, None)
    counts = np.array([4.0, 9.0, 1.0, 20.0, -3.0])
    assert standing_out(setting, counts, sd).tolist() == kept
