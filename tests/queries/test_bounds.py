"""Questions that buy public facts: rows of every magnitude, and what is made of noisy answers."""

import math

import numpy as np
import pytest

from skdp_bary.base import ClippedSum
from tests import world
from tests.cases import every
from tests.world import answer, released, sketch

LENGTH = 1 << 20
EXTREMES = [0.0, 5e-324, 1e-310, 2.0**-64, 1e-9, 1.0, 3.7, 1e30, 1e155, 1.3e304, 1.79e308]


def hostile_rows(d, n=300):
    """Rows of every magnitude, along axes, diagonals and at random."""
    rng = np.random.default_rng(0)
    rows = [sign * np.full(d, v) for sign in (1, -1) for v in EXTREMES]
    rows += [v * np.eye(d)[i % d] for i, v in enumerate(EXTREMES)]
    directions = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 1, size=(n, d))
    with np.errstate(over="ignore"):
        rows += list(np.clip(directions * rng.choice(EXTREMES, size=(n, 1)), -1.7e308, 1.7e308))
    return np.array(rows)


@every("d", [1, 2, 3, 17, 50])
def test_no_row_is_longer_than_the_lattice_says_and_some_row_is_as_long(d):
    """Exact integers: a float bound on the norm failed by 18 % at (radius 2**-64, row 1.3e304)."""
    for radius in (2.0**-64, 1e-3, 1.0, 2.0**63):
        query = ClippedSum(radius, d)
        l1 = query.sensitivity("add_remove").l1[0][0]
        assert l1 == math.isqrt(d * LENGTH**2)
        for row in hostile_rows(d, 60):
            total, mass = (block.tolist() for block in answer(query, row))
            assert mass == [1]
            assert sum(n * n for n in total) <= LENGTH**2 and sum(map(abs, total)) <= l1
        corner = answer(query, np.full(d, 1e60))[0].astype(float)
        assert (corner**2).sum() > 0.9999 * LENGTH**2 and np.abs(corner).sum() > 0.9999 * l1


def test_many_whole_persons_do_not_overflow():
    """Mass times coordinate would need 40 bits a row: 2**23 persons would wrap around."""
    query, masses = ClippedSum(1.0, 1, world.PERSON_UNITS), np.full(1000, world.PERSON_UNITS)
    counted = sketch(query)
    for _ in range(10):
        counted.merge(sketch(query, np.ones((1000, 1)), None, masses))
    total, mass = counted.exact_blocks()
    assert int(total[0]) < 2**34  # room for half a billion times as many
    assert total[0] == pytest.approx(10_000 * LENGTH, rel=1e-5)
    assert mass[0] == 10_000 * world.PERSON_UNITS


@pytest.mark.filterwarnings("error")
def test_distances_of_every_magnitude():
    X, edges = hostile_rows(3), tuple(2.0**e for e in range(-64, 64))
    bins = np.searchsorted(edges[:-1], [math.hypot(*row) for row in X.tolist()])
    counted = answer(world.DistanceHistogram((0.0,) * 3, edges), X)[0]
    assert counted.tolist() == np.bincount(bins, minlength=len(edges)).tolist()


def test_histogram_bins_are_closed_above_and_the_last_takes_the_rest():
    query = world.DistanceHistogram((0.0,), (0.5, 1.0, 2.0))
    X = np.array([0.0, 0.5, 0.500001, 1.0, 1.1, 2.0, 7.0, 1e308])[:, None]
    assert answer(query, X)[0].tolist() == [2, 2, 4]


def noisy_histogram(counts, seed, epsilon=0.1, mechanism=world.DiscreteLaplace):
    class Fixed(world.DistanceHistogram):
        def blocks(self, state):
            return (np.array(counts, dtype=np.int64),)

    query = Fixed((0.0,), tuple(2.0**e for e in range(len(counts))))
    return released(query, mechanism(epsilon), relation="replace_one", seed=seed)


@every("mechanism", [world.DiscreteLaplace, world.RoundedGaussian])
def test_noise_alone_rarely_stands_out(mechanism):
    empty = [noisy_histogram([0] * 64, seed, mechanism=mechanism) for seed in range(300)]
    assert sum(world.top_bin(r) is not None for r in empty) <= 4
    assert sum(world.tail_bin(r) is not None for r in empty) <= 40


def center(query, epsilon, *given, seed=1):
    return query.center(released(query, world.DiscreteLaplace(epsilon), *given, seed=seed))


def test_center_is_the_weighted_mean_or_the_origin():
    X = np.random.default_rng(0).normal([3.0, -4.0], 0.1, size=(20_000, 2))
    for epsilon, expected in ((1.0, [3.0, -4.0]), (1e-5, [0.0, 0.0])):
        assert center(ClippedSum(8.0, 2), epsilon, X) == pytest.approx(expected, abs=0.02)
    X = np.array([[1.0], [-1.0]]).repeat(5000, axis=0)
    masses = np.array([world.PERSON_UNITS, world.PERSON_UNITS // 2]).repeat(5000)
    query = ClippedSum(1.0, 1, world.PERSON_UNITS)
    assert center(query, 1.0, X, None, masses) == pytest.approx([1 / 3], abs=0.01)


def test_a_center_that_is_mostly_noise_stays_near_the_origin():
    """Noise of hundreds of features adds up to a length that no row has."""
    rows = np.random.default_rng(0).uniform(0, 0.1, size=(2000, 200))
    found, mean = center(ClippedSum(2.0, 200), 0.1, rows, seed=0), rows.mean(axis=0)
    assert np.linalg.norm(found) <= 2.0
    assert np.linalg.norm(found - mean) < 1.5 * np.linalg.norm(mean)
