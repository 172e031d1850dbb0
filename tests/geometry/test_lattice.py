"""Integer rows, and levels of their projections: exact, bounded, of each row alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skdp_bary.geometry import Ball, Box, Mask
from tests.cases import every
from tests.world import CentredLattice, SliceLattice, haar_frame, home, tight_frame

DOMAINS = [
    Box([-1.0, 0.0], [1.0, 3.0]),
    Box([1e5, -3e-7], [1e5 + 1, 1.0]),
    Ball([0.3, -0.7], 1.1),
    Ball([1e9, 0.0], 1e-3),
    Mask([[0, 0], [3, 0], [0, 3]], resolution=32),
]
by_domain = pytest.mark.parametrize("domain", DOMAINS, ids=repr)
finite = st.floats(allow_nan=False, allow_infinity=False)
tables = arrays(np.float64, st.tuples(st.integers(1, 30), st.just(2)), elements=finite)


def points_in(domain, n, rng):
    """Draw points of a domain, some of them on its border."""
    width = domain.high - domain.low
    return domain.clip(domain.low + width * rng.random((n, domain.n_features)))


@by_domain
@pytest.mark.parametrize("bits", [20, 7])
@settings(max_examples=20, deadline=None)
@given(X=tables, cut=st.integers(0, 30), seed=st.integers(0, 99))
def test_integers_are_a_function_of_each_row(domain, bits, X, cut, seed):
    lattice = CentredLattice(domain, bits)
    whole = lattice.quantise(X)
    assert whole.dtype == np.int64
    order = np.random.default_rng(seed).permutation(len(X))
    chunks = np.concatenate([lattice.quantise(X[:cut]), lattice.quantise(X[cut:])])
    np.testing.assert_array_equal(chunks, whole)
    np.testing.assert_array_equal(lattice.quantise(np.asfortranarray(X)), whole)
    np.testing.assert_array_equal(lattice.quantise(X[order]), whole[order])
    np.testing.assert_array_equal(lattice.quantise(domain.clip(X)), whole)


@by_domain
@pytest.mark.parametrize("bits", [1, 4, 20, 26])
def test_integer_rows_obey_the_stated_bounds_exactly(domain, bits):
    rng = np.random.default_rng(bits)
    spread = np.geomspace(1e-3, 1e300, 3000)[:, None]
    X = domain.center + rng.normal(size=(3000, 2)) * domain.radius * spread
    X = np.vstack([X, domain.low, domain.high, points_in(domain, 1000, rng)])
    lattice = CentredLattice(domain, bits)
    units = [[int(u) for u in row] for row in lattice.quantise(X)]
    squares = [u * u + v * v for u, v in units]
    assert max(squares) <= lattice.row_l2_squared <= 4**bits
    assert max(abs(u) + abs(v) for u, v in units) <= lattice.row_l1
    for j in range(2):
        assert max(abs(row[j]) for row in units) <= lattice.row_linf[j] <= 2**bits


@every("d", [1, 2, 10, 300])
def test_bounds_are_attained(d):
    box = CentredLattice(Box(np.zeros(d), np.ones(d)), 12)
    assert (box.quantise(np.ones((1, d))) ** 2).sum() == box.row_l2_squared
    assert box.quantise(np.ones((1, d))).sum() == box.row_l1
    ball = CentredLattice(Ball(np.full(d, 5.0), 0.3), 12)
    axis = np.full((1, d), 5.0)
    axis[0, 0] = 9.0
    assert abs(ball.quantise(axis)).max() >= 2**12 - 1
    assert (2**12 - 1) ** 2 <= ball.row_l2_squared <= 4**12
    for bits in (0, 27, 2.5):
        with pytest.raises((TypeError, ValueError), match="bits must be"):
            CentredLattice(DOMAINS[0], bits)


def test_offsets_are_rounded_toward_zero_and_within_the_ball():
    lattice = CentredLattice(Box([-3, -5], [5, 3]), 3)
    X = np.random.default_rng(0).uniform([-3, -5], [5, 3], (2000, 2))
    units = lattice.quantise(X)
    offset = X - np.array([1.0, -1.0])
    assert (abs(units * lattice.step) <= abs(offset) * (1 + 1e-15)).all()
    assert (abs(units * lattice.step - offset) < lattice.step * (1 + 1e-12)).all()
    assert (units * offset >= 0).all()
    np.testing.assert_allclose(lattice.restore(units), lattice.step * units + [1.0, -1.0])
    # Many rows on the surface of a ball, with steps so fine that rounding up would be seen.
    rng = np.random.default_rng(0)
    ball = Ball(np.full(50, 1 / 3), 1 / 7)
    lattice = CentredLattice(ball, 26)
    units = lattice.quantise(1 / 3 + rng.normal(size=(5000, 50))).astype(object)
    squares = (units * units).sum(axis=1)
    assert max(squares) <= 4**26
    assert max(squares) > 4**26 * (1 - 1e-5)


@by_domain
@pytest.mark.parametrize("bits", [3, 20, 26])
def test_integers_are_those_of_clipped_rows(domain, bits):
    """Boxes are cut after the rounding, and rows well inside of a ball are not clipped at all."""
    rng = np.random.default_rng(bits)
    turns = rng.normal(size=(3000, 2))
    turns /= np.sqrt((turns**2).sum(axis=1, keepdims=True))
    lengths = rng.choice([0.0, 0.3, 0.9994, 0.9996, 1.0, 1.0 + 1e-15, 2.0, 1e290], (3000, 1))
    X = np.vstack([domain.center + domain.radius * lengths * turns, domain.low, domain.high])
    X[::7, 0] = X[::5, 1] = -0.0
    lattice = CentredLattice(domain, bits)
    expected = lattice._bounded(lattice._offsets(domain.clip(X)))
    np.testing.assert_array_equal(lattice.quantise(X), expected)
    floats = lattice.quantise_into(X, np.empty(X.shape))
    np.testing.assert_array_equal(floats, expected)


@every("d", [1, 2, 3, 50, 784])
@every("bits", [1, 10, 16, 26])
def test_rows_pulled_into_a_ball_about_the_origin_are_those_of_clipped_rows(d, bits):
    """Most are pulled in at once; whole numbers, surfaces and rows beyond floats in all detail."""
    rng = np.random.default_rng(bits)
    turns = rng.standard_normal((400, d))
    turns[::3] = rng.integers(-3, 4, (len(turns[::3]), d))  # some land on whole numbers
    turns[::3, 0] += np.abs(turns[::3]).sum(axis=1) == 0.0
    turns[1::9, 1:] = 0.0
    turns /= np.sqrt((turns**2).sum(axis=1, keepdims=True))
    near = 1.0 + np.array([-2e-3, -1e-7, -1e-15, 0.0, 1e-15, 1e-7, 2e-6, 1e-3])
    lengths = rng.choice([*near, 1.5, 2.0, 8.0, 1e40, 1e200], (400, 1))
    for radius in (1.0, 0.7, 1e-90, 1e90):
        lattice = CentredLattice(Ball(np.zeros(d), radius), bits)
        X = radius * lengths * turns
        X[5] = 1e308
        expected = lattice._bounded(lattice._offsets(lattice.domain.clip(X)))
        np.testing.assert_array_equal(lattice.quantise(X), expected)


def test_rows_over_a_bound_by_rounding_are_moved_inside():
    # The float norm of this row rounds to 1, but 4**26 + 1 is above the stated bound.
    lattice = CentredLattice(Ball([0.0, 0.0], 1.0), 26)
    row = [[1.0, 2.0**-26]]
    assert lattice.domain.contains(row)[0]
    np.testing.assert_array_equal(lattice.quantise(row), [[2**26 - 1, 0]])
    # Accepted by the ball although above the rounded upper corner of its bounding box.
    ball = Ball([-0.21079224210085443, 0.0], 0.184172964555451)
    lattice = CentredLattice(ball, 22)
    row = [[-0.02661927754540341, 0.0]]
    assert row[0][0] > ball.high[0]
    assert ball.contains(row)[0]
    assert abs(lattice.quantise(row)[0, 0]) == lattice.row_linf[0]


def all_levels(lattice, X):
    """Levels of all rows, one line a direction."""
    levels = np.empty((lattice.n_directions, len(X)), dtype=np.int64)
    for rows, directions, block in lattice.levels(X):
        levels[directions, rows] = block
    return levels


@pytest.fixture
def lattice():
    return SliceLattice(Ball([1.0, 0.0, -1.0], 2.0), tight_frame(3, 7, np.random.default_rng(0)))


def test_levels_are_the_projections_rounded_and_stay_on_the_grid(lattice):
    X = points_in(lattice.domain, 500, np.random.default_rng(1))
    projections = (X - lattice.domain.center) @ lattice.directions
    restored = lattice.restore(all_levels(lattice, X)).T
    # a row is truncated to 2**-24 of the radius before it is rounded
    assert np.abs(restored - projections).max() <= lattice.step * (0.5 + 1e-3)
    assert (all_levels(lattice, lattice.domain.center[None]) == lattice.center_level).all()
    far = np.random.default_rng(2).normal(size=(200, 3)) * 10.0 ** np.arange(-3, 17, 0.1)[:, None]
    levels = all_levels(lattice, far)
    assert levels.min() >= 0 and levels.max() < lattice.n_levels


def test_products_are_exact(lattice):
    """Against 64-bit integers: rows a hair from the next level are where they should be."""
    domain = lattice.domain
    X = points_in(domain, 20000, np.random.default_rng(3))
    units = np.trunc((domain.clip(X) - domain.center) / (domain.radius / 2**24)).astype(np.int64)
    directions = np.rint(lattice.directions * 2**24).astype(np.int64)
    np.testing.assert_array_equal(directions / 2**24, lattice.directions)
    assert ((directions**2).sum(axis=0) <= 2**48).all()
    products = units @ directions  # below 2**49
    expected = ((products + (1 << 36)) >> 37) + lattice.center_level
    np.testing.assert_array_equal(all_levels(lattice, X), expected.T)


def test_a_row_has_its_levels_in_every_block(lattice, monkeypatch):
    X = points_in(lattice.domain, (1 << 16) + 1003, np.random.default_rng(4))  # two blocks
    whole = all_levels(lattice, X)
    parts = [all_levels(lattice, X[start : start + 9973]) for start in range(0, len(X), 9973)]
    assert (np.hstack(parts) == whole).all()
    monkeypatch.setattr(home("SliceLattice"), "_BLOCK_VALUES", 1 << 17)  # two directions
    assert (all_levels(lattice, np.asfortranarray(X[::-1]))[:, ::-1] == whole).all()


@every("d, k", [(1, 1), (3, 3), (3, 8), (50, 100), (50, 7)])
def test_norm_bounds_what_a_row_can_reach(d, k):
    rng = np.random.default_rng(5)
    frame = tight_frame(d, k, rng) if k >= d else haar_frame(d, k, rng)
    lattice = SliceLattice(Box([-1.0] * d, [1.0] * d), frame)
    exact = np.linalg.svd(lattice.directions, compute_uv=False)[0]
    assert exact <= lattice.norm <= exact + 1e-6
    assert lattice.norm == pytest.approx(max(1.0, (k / d) ** 0.5), abs=1e-5)
    # the root of k / d would be wrong where directions are not tight: two equal ones
    twice = SliceLattice(Ball([0.0, 0.0], 1.0), np.array([[1.0, 1.0], [0.0, 0.0]]))
    assert twice.norm == pytest.approx(2**0.5)


def test_spread_and_reach_bound_rows_at_the_ends(lattice):
    rng = np.random.default_rng(6)
    line = rng.normal(size=(2000, 3))
    line /= np.linalg.norm(line, axis=1)[:, None]
    far = [all_levels(lattice, lattice.domain.center + s * 2.0 * line) for s in (1, -1)]
    lengths = np.sqrt(((far[0] - far[1]) ** 2).sum(axis=0))
    # without the rounding, the bound would be broken
    assert 2.0 * lattice.norm * lattice.center_level < lengths.max() <= lattice.spread
    assert np.sqrt(((far[0] - lattice.center_level) ** 2).sum(axis=0)).max() <= lattice.reach


@every("directions", [np.eye(2), np.ones(3), np.zeros((3, 0)), 2 * np.eye(3), np.eye(3) * np.nan])
def test_directions_must_be_unit_columns(directions):
    with pytest.raises(ValueError, match="directions must"):
        SliceLattice(Ball([0.0] * 3, 1.0), directions)
