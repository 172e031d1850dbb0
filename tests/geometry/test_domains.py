"""Domains: clipping, measures and cells of boxes, balls and masks."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from skdp_bary.geometry import Ball, Box, Mask
from tests.cases import every
from tests.world import check_domain

SQUARE = [[0, 0], [2, 0], [2, 1], [0, 1]]
DOMAINS = [
    Box([-1.0, 0.0], [1.0, 3.0]),
    Ball([0.5, -0.5], 1.5),
    Mask([SQUARE, [[0.5, 0.25], [1.5, 0.25], [1.5, 0.75], [0.5, 0.75]]], resolution=64),
]
by_domain = pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: type(domain).__name__)
finite = st.floats(allow_nan=False, allow_infinity=False)
tables = arrays(np.float64, st.tuples(st.integers(1, 40), st.just(2)), elements=finite)


@every(
    "bounds, error, message",
    [
        ((1, 0), ValueError, "low < high.*feature 0"),
        (([0, 0], [1, 0]), ValueError, "feature 1"),
        (((0, 1), (0, 1)), ValueError, "all lows and all highs"),
        ((0, np.nan), ValueError, "finite"),
        ((0, np.inf), ValueError, "finite"),
        ((0, 1e200), ValueError, "finite numbers up to"),
        ((0, 1e-200), ValueError, "wide"),
        (([0, 0, 0], [1, 1, 1]), ValueError, r"per feature \(2\)"),
        (("a", "b"), ValueError, "finite"),
        ({"type": "Polygon", "coordinates": [SQUARE]}, ValueError, "give Mask.from_geojson"),
        *((wrong, TypeError, "pair") for wrong in ("ab", 3.0, [(0, 1)] * 3)),
        (None, TypeError, "Mask"),
    ],
)
def test_wrong_bounds_are_refused(bounds, error, message):
    with pytest.raises(error, match=message):
        check_domain(bounds, 2)


@every(
    "shape, arguments, message",
    [
        *((Ball, ([0.0], r), "radius must") for r in (0, -1, np.nan, np.inf, True, "1", None)),
        (Box, (0, 1), "one number per feature"),
        (Ball, (0.0, 1.0), "one number per feature"),
        (Box, ([], []), "at least one"),
        (Ball, ([1e30], 1.0), "low < high"),
    ],
)
def test_wrong_shapes_are_refused(shape, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        shape(*arguments)


@by_domain
def test_domains_are_values(domain):
    copied = pickle.loads(pickle.dumps(domain))
    assert copied == domain
    assert hash(copied) == hash(domain)
    assert copied is not domain
    assert copy.deepcopy(domain) is domain
    assert all(domain != other for other in DOMAINS if other is not domain)
    assert domain != "a string"
    assert "object at" not in repr(domain)
    with pytest.raises(ValueError, match="read-only"):
        domain.low[0] = 5.0
    with pytest.raises(AttributeError):
        domain.low = np.zeros(2)
    assert Box([-0.0, 0.0], [1, 1]) == Box([0.0, -0.0], [1, 1])


@by_domain
@settings(max_examples=60, deadline=None)
@given(X=tables, cut=st.integers(0, 40), seed=st.integers(0, 99))
def test_clip_is_a_function_of_each_row(domain, X, cut, seed):
    whole = domain.clip(X)
    assert whole.dtype == np.float64
    assert domain.contains(whole).all()
    order = np.random.default_rng(seed).permutation(len(X))
    chunks = np.concatenate([domain.clip(X[:cut]), domain.clip(X[cut:])])
    for other in (
        chunks,
        domain.clip(np.asfortranarray(X)),
        domain.clip(X[order])[np.argsort(order)],
        domain.clip(np.repeat(X, 2, axis=0)[::2]),
        domain.clip(X.tolist()),
    ):
        assert other.tobytes() == whole.tobytes()
    assert domain.clip(whole).tobytes() == whole.tobytes()
    kept = domain.contains(X)
    np.testing.assert_array_equal(whole[kept], X[kept])


def test_both_zeros_become_the_positive_one():
    X = np.resize([-0.0, 0.0, -1.0], (33, 2))
    for domain in (Box([0, 0], [1, 1]), Box([-1, -1], [1, 1]), Ball([0.0, 0.0], 1.0)):
        clipped = domain.clip(X)
        assert not np.signbit(clipped[clipped == 0]).any()


@by_domain
def test_rows_whose_sum_overflows_are_accepted(domain):
    assert domain.contains(domain.clip(np.full((4, 2), 1.7e308))).all()
    assert domain.clip(np.empty((0, 2))).shape == (0, 2)


@by_domain
def test_no_point_is_farther_than_the_radius(domain):
    X = domain.clip(np.random.default_rng(0).normal(0, 9, (2000, 2)))
    for center in (domain.center, [0.3, 0.9], [20.0, 0.0]):
        reach = np.linalg.norm(X - np.asarray(center), axis=1).max()
        radius = domain.radius_about(center)
        assert reach <= radius * (1 + 1e-12)
        assert domain.radius == domain.radius_about(domain.center)


def test_measures():
    box, ball = Box([0, 0, 0], [1, 2, 2]), Ball([1.0, 1.0, 1.0, 1.0], 3.0)
    assert (box.radius, box.radius_about([0, 0, 0])) == (1.5, 3)
    np.testing.assert_array_equal(ball.low, np.full(4, -2.0))
    assert ball.radius_about(np.ones(4)) == 3.0
    assert 5.0 <= ball.radius_about(np.zeros(4)) < 5.0 + 1e-12


@every("seed", range(20))
def test_the_radius_is_rounded_up(seed):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=7)
    box = Box(low, low + rng.exponential(size=7))
    sides = zip(*(map(Fraction, each) for each in (box.low, box.high, box.center)), strict=True)
    exact = sum(max(h - c, c - a) ** 2 for a, h, c in sides)
    assert Fraction(box.radius) ** 2 >= exact
    assert Fraction(np.nextafter(np.nextafter(box.radius, 0), 0)) ** 2 < exact


@by_domain
def test_samples_of_one_cell_are_uniform(domain):
    rng = np.random.default_rng(3)
    points = domain.sample_in_cells(np.zeros((20_000, 2), dtype=int), (1, 1), rng)
    assert domain.contains(points).all()
    prior = domain.cell_prior((4, 4)).ravel()
    edges = [np.linspace(a, b, 5) for a, b in zip(domain.low, domain.high, strict=True)]
    counts = np.histogram2d(*points.T, bins=edges)[0].ravel()
    hit = prior > 0
    assert counts[~hit].sum() == 0
    assert stats.chisquare(counts[hit], 20_000 * prior[hit]).pvalue > 1e-3
    shifted = np.histogram2d(*domain.clip(points + 0.05).T, bins=edges)[0].ravel()
    assert stats.chisquare(shifted[hit], 20_000 * prior[hit]).pvalue < 1e-6


@by_domain
def test_priors_and_points_of_cells(domain):
    shape = (16, 9)
    prior = domain.cell_prior(shape)
    assert prior.shape == shape
    assert abs(prior.sum() - 1) < 1e-12
    assert (prior >= 0).all()
    points = domain.cell_points(np.indices(shape).reshape(2, -1).T, shape)
    assert domain.contains(points).all()
    cells = np.argwhere(prior > 0)
    offset = (points[prior.ravel() > 0] - domain.low) / (domain.high - domain.low) * shape - cells
    assert ((offset >= 0) & (offset <= 1)).all()


@by_domain
@pytest.mark.parametrize("shape", [(4,), (4, 0), (4, 2.5), (4, 4, 4), "ab", (2**13, 2**12), 4])
def test_wrong_grids_are_refused(domain, shape):
    with pytest.raises(ValueError, match="shape"):
        domain.cell_prior(shape)


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


def test_clipped_rows_keep_their_direction_and_the_norm_of_the_ball():
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
    rng = np.random.default_rng(1)
    ball = Ball(np.zeros(20), 1.0)
    for row in ball.clip(rng.normal(size=(50, 20))):
        assert sum(Fraction(x) ** 2 for x in row) <= 1 + Fraction(1, 2**50)


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


@every("d, shape", [(1, (5,)), (3, (6, 5, 4)), (7, (2,) * 7), (9, (3,) * 9)])
def test_every_cell_that_meets_the_ball_has_a_share_and_a_point(d, shape):
    ball = Ball(np.arange(d, dtype=float), 1.5)
    prior = ball.cell_prior(shape).ravel()
    points = ball.clip(np.arange(d) + 1.49 * np.random.default_rng(0).uniform(-1, 1, (2000, d)))
    cells = np.floor((points - ball.low) / 3.0 * shape).astype(int).clip(0, np.array(shape) - 1)
    assert (prior[np.ravel_multi_index(tuple(cells.T), shape)] > 0).all()
    cells = np.indices(shape).reshape(d, -1).T
    assert ball.contains(ball.cell_points(cells, shape)).all()
