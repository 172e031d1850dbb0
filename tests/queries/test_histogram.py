"""Quantiles and costs of projected rows, exactly; padding, and how far one person moves them."""

from fractions import Fraction

import numpy as np
import pytest

from skdp_bary.geometry import Ball
from skdp_bary.transport import DiscreteMeasure
from tests import world
from tests.cases import every
from tests.world import answer

RADIUS = 2.0


def make_lattice(d, k, seed=0):
    """A ball at the origin and directions of any kind."""
    rng = np.random.default_rng(seed)
    if k < d:
        directions = world.haar_frame(d, k, rng)
    elif k == d + 1:
        directions = rng.normal(size=(d, k))
        directions /= np.linalg.norm(directions, axis=0)
    else:
        directions = world.tight_frame(d, k, rng)
    return world.SliceLattice(Ball(np.zeros(d), RADIUS), directions)


def points_in(ball, n, seed):
    """Draw points of a ball, some of them on its surface."""
    low, high = ball.low, ball.high
    return ball.clip(np.random.default_rng(seed).uniform(low, high, (n, ball.n_features)))


@pytest.fixture
def lattice():
    return world.SliceLattice(
        Ball([0.0, 1.0], 2.0), world.tight_frame(2, 5, np.random.default_rng(0))
    )


def flat(query, X, codes=None, masses=None):
    return np.concatenate([block.ravel() for block in answer(query, X, codes, masses)])


def far_row(lattice, rng):
    """A row at the border of the domain, or beyond."""
    row = rng.normal(size=lattice.domain.n_features)
    return row / np.linalg.norm(row) * rng.choice([RADIUS, 1e6])


def test_the_lattice_bound_is_reached_and_the_one_without_rounding_broken():
    """Rows at one end, one of them goes to the other: no bound below this would do."""
    lattice, m, n = make_lattice(3, 6), 5, 13  # m does not divide n
    query = world.ProjectedQuantiles(lattice, None, n_quantiles=m)
    naive = (m * lattice.norm * 2 * lattice.center_level) ** 2
    (_, bound), *_ = query.sensitivity("replace_one").l2_squared
    moved = []
    for seed in range(200):
        line = far_row(lattice, np.random.default_rng(seed))
        line *= RADIUS / np.linalg.norm(line)
        X = np.tile(line, (n, 1))
        moved.append(int(((flat(query, X) - flat(query, np.vstack([X[1:], -line]))) ** 2).sum()))
    assert naive < max(moved) <= bound
    assert max(moved) > 0.998 * bound


def test_the_bound_for_squares_is_reached_on_the_line():
    """The reference at one end, one row from that end to the other."""
    line = world.SliceLattice(Ball([0.0], 1.0), np.array([[1.0]]))
    reference = world.ProjectedQuantiles(line).public_histogram(np.array([[1.0]]))
    query = world.ProjectedCost(line, None, reference=reference, p=2)
    old, new = (answer(query, [[end], [0.0]])[1][0, 0] for end in (1.0, -1.0))
    (_, bound), *_ = query.sensitivity("replace_one").l1
    assert 0.99 * bound < new - old <= bound
    assert query.cost(float(new - old), 1.0) == pytest.approx(4.0)
    assert Fraction(bound) < (2 * 2048 + 2) ** 2


@every("n_quantiles", [1, 3, 10_000])
def test_any_mass_is_answered_exactly(n_quantiles):
    """Products beyond 64 bits are Python integers: answers of equal distributions are equal."""
    query = world.ProjectedQuantiles(make_lattice(2, 3), (7,), 1, 1 << 20, n_quantiles)
    X = np.random.default_rng(0).random((50, 2))
    masses = np.random.default_rng(1).integers(1 << 28, 1 << 30, size=50)
    small, large = (answer(query, X, None, masses << shift) for shift in (0, 24))
    np.testing.assert_array_equal(small[0], large[0])


@pytest.mark.parametrize("n, m", [(1, 1), (1, 4), (5, 2), (7, 3), (3, 8), (12, 4), (100, 33)])
def test_block_means_are_exact(lattice, n, m):
    """Against fractions of the sorted levels: no array_split and no interpolated quantile."""
    query = world.ProjectedQuantiles(lattice, None, n_quantiles=m)
    X = points_in(lattice.domain, n, n)
    X[n // 2] = X[0]
    every_level = np.empty((lattice.n_directions, n), dtype=np.int64)
    for some, directions, levels in lattice.levels(X):
        every_level[directions, some] = levels
    for line, levels in zip(answer(query, X)[1][0], every_level, strict=True):
        copies = sorted(levels.tolist() * m)  # n * m values of mass 1 / (n m), n in a block
        assert line.tolist() == [sum(copies[b * n : (b + 1) * n]) for b in range(m)]


@every("p", [1, 2])
def test_the_cost_is_that_of_the_monotone_coupling(p):
    rng, levels = np.random.default_rng(p), np.arange(30)[:, None].astype(float)
    for _ in range(20):
        first, second = rng.multinomial(17, np.ones(30) / 30), rng.integers(4, size=30)
        second[3] += 1
        total = world.coupling_cost(first, 17, second, int(second.sum()), p)
        sides = (DiscreteMeasure(levels, side / side.sum()) for side in (first, second))
        expected = world.univariate_cost(*sides, p=p)
        assert total / (17 * second.sum()) == pytest.approx(expected, rel=1e-12)


def test_large_masses_are_exact():
    first, second = np.array([0, 3, 2]), np.array([4, 0, 3])
    small = world.coupling_cost(first, 5, second, 7, 2)
    for scale in (1 << 20, 1 << 40):
        large = world.coupling_cost(first * scale, 5 * scale, second * scale, 7 * scale, 2)
        assert large == small * scale**2
