"""Levels of projections: exact, bounded, a function of each row alone."""

import numpy as np
import pytest

from skdp_bary.geometry import Ball, Box
from tests.cases import every
from tests.world import SliceLattice, haar_frame, home, tight_frame


def all_levels(lattice, X):
    """Levels of all rows, one line a direction."""
    levels = np.empty((lattice.n_directions, len(X)), dtype=np.int64)
    for rows, directions, block in lattice.levels(X):
        levels[directions, rows] = block
    return levels


@pytest.fixture
def lattice():
    return SliceLattice(Ball([1.0, 0.0, -1.0], 2.0), tight_frame(3, 7, np.random.default_rng(0)))


def test_levels_are_the_projections_rounded(lattice):
    X = lattice.domain.sample(500, np.random.default_rng(1))
    projections = (X - lattice.domain.center) @ lattice.directions
    restored = lattice.restore(all_levels(lattice, X)).T
    # a row is truncated to 2**-24 of the radius before it is rounded
    assert np.abs(restored - projections).max() <= lattice.step * (0.5 + 1e-3)
    assert (all_levels(lattice, lattice.domain.center[None]) == lattice.center_level).all()


def test_rows_beyond_the_domain_stay_on_the_levels(lattice):
    X = np.random.default_rng(2).normal(size=(200, 3)) * 10.0 ** np.arange(-3, 17, 0.1)[:, None]
    levels = all_levels(lattice, X)
    assert levels.min() >= 0 and levels.max() < lattice.n_levels


def test_products_are_exact(lattice):
    """Against 64-bit integers: rows a hair from the next level are where they should be."""
    domain = lattice.domain
    X = domain.sample(20000, np.random.default_rng(3))
    units = np.trunc((domain.clip(X) - domain.center) / (domain.radius / 2**24)).astype(np.int64)
    directions = np.rint(lattice.directions * 2**24).astype(np.int64)
    np.testing.assert_array_equal(directions / 2**24, lattice.directions)
    assert ((directions**2).sum(axis=0) <= 2**48).all()
    products = units @ directions  # below 2**49
    expected = ((products + (1 << 36)) >> 37) + lattice.center_level
    np.testing.assert_array_equal(all_levels(lattice, X), expected.T)


def test_a_row_has_its_levels_in_every_block(lattice, monkeypatch):
    X = lattice.domain.sample((1 << 16) + 1003, np.random.default_rng(4))  # two blocks
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


def test_directions_that_are_not_tight_have_a_larger_norm():
    """The root of k / d would be wrong: two equal directions see a row twice."""
    directions = np.array([[1.0, 1.0], [0.0, 0.0]])
    assert SliceLattice(Ball([0.0, 0.0], 1.0), directions).norm == pytest.approx(2**0.5)


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
