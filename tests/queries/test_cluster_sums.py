"""Sums of the rows nearest to centers: exact labels, clipping, and what is read back."""

from dataclasses import replace
from math import isqrt

import numpy as np
import pytest

from skdp_bary.base import ClippedMeans, Frame
from skdp_bary.geometry import Box
from tests import world
from tests.cases import every
from tests.world import answer, released

CENTERS = np.array([[-2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 1.0]])
FRAME = Frame(Box([-4.0] * 3, [4.0] * 3), np.array([0.1, 0.0, -0.2]), 16)


def test_nearest_is_exact_and_ties_go_to_the_first():
    query = ClippedMeans(FRAME, CENTERS, np.ones(3), (0.3, 1.0), False)
    rows = FRAME.integer_rows(np.random.default_rng(0).uniform(-4, 4, (200, 3)))
    label, square = query.nearest(rows)
    centers = query.integer_centers.astype(int).tolist()
    for row, j, found in zip(rows.astype(int).tolist(), label, square, strict=True):
        squares = [sum((a - b) ** 2 for a, b in zip(row, c, strict=True)) for c in centers]
        assert (j, found) == (squares.index(min(squares)), min(squares))
    middle = query.integer_centers[:2].mean(axis=0, keepdims=True)
    assert query.nearest(middle)[0].tolist() == [0]


def test_sums_and_losses_are_those_of_clipped_residuals():
    X = np.random.default_rng(2).uniform(-3, 3, (500, 3))
    query = ClippedMeans(FRAME, CENTERS, np.array([0.5, 1.0, 0.7]), (0.3, 1.0), False)
    factors, sums = answer(query, X)
    residuals = X - FRAME.center
    label = ((residuals[:, None] - query.used_centers) ** 2).sum(axis=2).argmin(axis=1)
    residuals = residuals - query.used_centers[label]
    clip = np.minimum(1.0, query.used_radii[label] / np.linalg.norm(residuals, axis=1))
    expected = np.zeros((3, 3))
    np.add.at(expected, label, residuals * clip[:, None])
    np.testing.assert_allclose(sums * query.sum_units[:, None], expected, atol=0.02)
    np.testing.assert_allclose(factors / 2**16, np.bincount(label, weights=clip), atol=0.02)
    X = np.random.default_rng(0).uniform(-1.0, 2.0, size=(500, 3))
    points = np.array([[0.1, 0.2, 0.3], [0.7, 0.7, 0.7]])
    query = world.NearestLoss(points, 1.0)
    squares = ((X[:, None] - points) ** 2).sum(axis=2).min(axis=1)
    (found,) = answer(query, X)[0]
    assert found * query.unit == pytest.approx(np.minimum(squares, 1.0).sum(), rel=0.01)


@every("units", [1, world.PERSON_UNITS])
def test_moments_are_read_back_in_persons_and_lengths(units):
    X = np.array([[2.0, 0.5, 0.0], [2.0, -0.5, 0.0], [-2.0, 0.0, 0.25]])
    frame = Frame(FRAME.domain, FRAME.center, world.digits_of(units).rows)
    radii = np.array([1.0, 1.5, 2.0])
    query = world.ClusterMoments(frame, CENTERS, radii, (0.3, 1.0, 0.4), False, units)
    masses = None if units == 1 else [units] * 3
    read = query.read(released(query, world.Exact(), X, None, masses))
    residual = X - frame.center - query.used_centers[[1, 1, 0]]
    squares = [(residual[2] ** 2).sum(), (residual[:2] ** 2).sum(), 0.0]
    assert read.mass.tolist() == [1, 2, 0]
    np.testing.assert_allclose(read.spread, squares, atol=4e-3)
    np.testing.assert_allclose(read.sums[1], residual[:2].sum(axis=0), atol=4e-3)
    sds = query.read(replace(released(query, world.Exact(), X), scales=(1.0, 2.0, 3.0)))
    assert sds.mass_sd == 1.0 / units
    np.testing.assert_allclose(sds.sums_sd, 2.0 * query.sum_units / units)
    np.testing.assert_allclose(sds.spread_sd, 3.0 * query.used_radii**2 / 2**20 / units)


@every("reach", [1, 2**14, 2**31])
def test_clip_factors_are_the_largest_allowed(reach):
    more = np.random.default_rng(3).integers(1, 2**34, 300)
    squares = np.r_[np.arange(1, 50), more, 2**34, np.arange(1, 60) ** 2]
    squares = squares[squares <= min(reach**2, 2**34)].astype(float)
    for f, square in zip(world.clip_factors(squares, reach), squares, strict=True):
        assert int(f) == isqrt(reach**2 // int(square))


@every("units", [1, world.PERSON_UNITS >> 9])
@every("mechanism", [world.DiscreteLaplace, world.RoundedGaussian])
def test_noise_of_sums_can_be_drawn_whatever_the_radii(mechanism, units):
    """Radii follow released spreads, and what a rehearsal releases of nobody may be small."""
    frame = Frame(Box([-1.0] * 30, [1.0] * 30), np.zeros(30), world.digits_of(units).rows)
    pure = mechanism is world.DiscreteLaplace
    about = np.zeros((2, 30)), np.array([0.1, 1e9]), (0.25, 1.0), pure, units
    for amount in (1e-5, 1e-3, 1.0):
        query = ClippedMeans(frame, *about, least=amount)
        widest = max(mechanism(amount).scales(query.sensitivity("replace_one"), query.weights()))
        assert 16 * widest < world.MAX_SCALE
    assert query.reach == replace(query, least=np.inf).reach
