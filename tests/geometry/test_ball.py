import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import integrate, stats

from skdp_bary.geometry import Ball
from tests.cases import every

finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=150, deadline=None)
@given(
    X=arrays(np.float64, (7, 3), elements=finite),
    center=arrays(np.float64, 3, elements=st.floats(-1e6, 1e6)),
    radius=st.floats(1e-3, 1e6),
)
def test_clipped_rows_pass_the_same_test(X, center, radius):
    ball = Ball(center, radius)
    clipped = ball.clip(X)
    assert ball.contains(clipped).all()
    assert np.isfinite(clipped).all()
    assert ball.clip(clipped).tobytes() == clipped.tobytes()


@every("d", [1, 2, 3, 5, 17, 100, 784])
def test_clip_finds_the_nearest_point(d):
    rng = np.random.default_rng(d)
    center = rng.normal(size=d)
    ball = Ball(center, 2.0)
    X = center + rng.normal(size=(50, d)) * np.geomspace(0.01, 100, 50)[:, None]
    offset = X - center
    norms = np.linalg.norm(offset, axis=1)
    expected = center + offset * np.minimum(1, 2.0 / norms)[:, None]
    np.testing.assert_allclose(ball.clip(X), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(ball.contains(X), norms <= 2.0)


def test_huge_and_tiny_rows_keep_their_direction():
    ball = Ball([0.0, 0.0], 1.0)
    X = np.array([[3e307, 4e307], [3e-320, 4e-320], [1.7e308, 0.0], [5e-324, 5e-324]])
    clipped = ball.clip(X)
    np.testing.assert_allclose(clipped[0], [0.6, 0.8])
    np.testing.assert_array_equal(clipped[[1, 3]], X[[1, 3]])
    np.testing.assert_array_equal(clipped[2], [1, 0])
    tiny = Ball([0.0, 0.0], 1e-100)
    np.testing.assert_allclose(tiny.clip([[3e-90, 4e-90]]), [[6e-101, 8e-101]])
    large = Ball([0.0, 0.0], 1e100)
    np.testing.assert_allclose(large.clip([[3e200, 4e200]]), [[6e99, 8e99]])


@every("d", [2, 3, 33, 784])
def test_rows_on_the_surface_do_not_depend_on_their_block(d):
    # These rows are within rounding of the surface, where the order of a sum decides.
    rng = np.random.default_rng(0)
    unit = rng.normal(size=(999, d))
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    ball = Ball(np.full(d, 0.1), 1.0)
    X = 0.1 + unit * (1 + 1e-16 * rng.integers(-8, 8, (999, 1)))
    inside = ball.contains(X)
    assert 0.1 < inside.mean() < 0.9
    whole = ball.clip(X)
    for size in (1, 2, 7, 64):
        parts = [X[i : i + size] for i in range(0, 99, size)]
        np.testing.assert_array_equal(
            np.concatenate([ball.clip(p) for p in parts])[:99], whole[:99]
        )
        flags = np.concatenate([ball.contains(np.asfortranarray(p)) for p in parts])[:99]
        np.testing.assert_array_equal(flags, inside[:99])


def test_the_norm_of_a_clipped_row_exceeds_the_radius_by_rounding_only():
    rng = np.random.default_rng(1)
    ball = Ball(np.zeros(20), 1.0)
    for row in ball.clip(rng.normal(size=(50, 20))):
        assert sum(Fraction(x) ** 2 for x in row) <= 1 + Fraction(1, 2**50)


def test_measures():
    ball = Ball([1.0, 1.0, 1.0, 1.0], 3.0)
    assert ball.diameter() == ball.diameter(np.inf) == 6.0
    assert ball.diameter(1) == 12.0
    np.testing.assert_array_equal(ball.low, np.full(4, -2.0))
    assert ball.radius_about(np.ones(4)) == 3.0
    assert 5.0 <= ball.radius_about(np.zeros(4)) < 5.0 + 1e-12


@every("d", [1, 2, 5, 30])
def test_samples_have_the_right_radii(d):
    ball = Ball(np.full(d, 4.0), 2.0)
    points = ball.sample(4000, np.random.default_rng(d))
    assert ball.contains(points).all()
    level = (np.linalg.norm(points - 4.0, axis=1) / 2.0) ** d
    assert stats.kstest(level, "uniform").pvalue > 1e-3
    assert stats.kstest(level**1.3, "uniform").pvalue < 1e-3
    assert abs((points - 4.0).mean(axis=0)).max() < 4 * 2.0 / math.sqrt(4000)


def test_prior_approximates_areas():
    prior = Ball([0.0, 0.0], 1.0).cell_prior((64, 64))
    corner = prior[:20, :20].sum() * math.pi
    # Area of the disc with x and y below -3/8 (half of a cell row is no part of the comparison).
    x = np.linspace(-1, -0.375, 400_001)
    exact = integrate.trapezoid(np.maximum(np.sqrt(1 - x**2) - 0.375, 0), x)
    assert abs(corner - exact) < 2e-4
    assert prior[0, 0] == 0
    np.testing.assert_allclose(prior, prior[::-1, ::-1])


@every("d, shape", [(1, (5,)), (3, (6, 5, 4)), (7, (2,) * 7), (9, (3,) * 9)])
def test_every_cell_that_meets_the_ball_has_a_share_and_a_point(d, shape):
    ball = Ball(np.arange(d, dtype=float), 1.5)
    prior = ball.cell_prior(shape).ravel()
    points = ball.clip(np.arange(d) + 1.49 * np.random.default_rng(0).uniform(-1, 1, (2000, d)))
    cells = np.floor((points - ball.low) / 3.0 * shape).astype(int).clip(0, np.array(shape) - 1)
    assert (prior[np.ravel_multi_index(tuple(cells.T), shape)] > 0).all()
    assert ball.contains(ball.cell_centroids(shape).reshape(-1, d)).all()


def test_cells_outside_fall_back_to_a_near_point():
    ball = Ball([0.0, 0.0], 1.0)
    shape = (100, 100)
    points = ball.sample_in_cells(np.array([[0, 0]]), shape, np.random.default_rng(0))
    np.testing.assert_allclose(points, [[-math.sqrt(0.5)] * 2], atol=1e-9)
