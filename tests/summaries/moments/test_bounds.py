"""Queries that buy public facts: norms on the lattice, sensitivities, noise alone."""

import itertools
import math

import numpy as np
import pytest

from skdp_bary.privacy._neighbors import ADD_REMOVE, RELATIONS, REPLACE_ONE
from skdp_bary.privacy.accounting.plans import Step
from skdp_bary.privacy.noise.mechanisms import DiscreteLaplace, RoundedGaussian
from skdp_bary.privacy.noise.sampler import noise_generator
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.asking.release import release
from skdp_bary.summaries.moments.bounds import (
    ClippedSum,
    Count,
    DistanceHistogram,
    row_distances,
    tail_bin,
    top_bin,
)
from skdp_bary.summaries.rows.persons import PERSON_UNITS, Chunk, person_masses

LENGTH = 1 << 20
EXTREMES = [0.0, 5e-324, 1e-310, 2.0**-64, 1e-9, 1.0, 3.7, 1e30, 1e155, 1.3e304, 1.79e308]


def answer(query, X, masses=None):
    masses = None if masses is None else np.asarray(masses)
    return Sketch(query).update(Chunk(np.atleast_2d(X).astype(float), None, masses)).exact_blocks()


def hostile_rows(d, n=300):
    """Rows of every magnitude, along axes, diagonals and at random."""
    rng = np.random.default_rng(0)
    rows = [np.full(d, v) for v in EXTREMES] + [-np.full(d, v) for v in EXTREMES]
    rows += [v * np.eye(d)[i % d] for i, v in enumerate(EXTREMES)]
    directions = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 1, size=(n, d))
    with np.errstate(over="ignore"):
        rows += list(np.clip(directions * rng.choice(EXTREMES, size=(n, 1)), -1.7e308, 1.7e308))
    return np.array(rows)


# Clipped sums


@pytest.mark.parametrize("d", [1, 2, 3, 17, 50])
@pytest.mark.parametrize("radius", [2.0**-64, 1e-3, 1.0, 2.0**63])
def test_no_row_is_longer_than_the_lattice_says(radius, d):
    """Exact integers: a float bound on the norm failed by 18 % at (radius 2**-64, row 1.3e304)."""
    query = ClippedSum(radius, d)
    l1 = query.sensitivity(ADD_REMOVE).l1[0][0]
    assert l1 == math.isqrt(d * LENGTH**2)
    for row in hostile_rows(d, 60):
        total, mass = answer(query, row)
        assert mass.tolist() == [1]
        numbers = total.tolist()
        assert sum(n * n for n in numbers) <= LENGTH**2
        assert sum(map(abs, numbers)) <= l1


@pytest.mark.parametrize("d", [1, 2, 9])
def test_the_bounds_are_reached(d):
    total, _ = answer(ClippedSum(0.7, d), np.full(d, 1e9))
    assert np.abs(total).sum() > 0.9999 * math.isqrt(d * LENGTH**2)
    assert (total.astype(float) ** 2).sum() > 0.9999 * LENGTH**2


@pytest.mark.parametrize("total_public", [False, True])
@pytest.mark.parametrize("relation", RELATIONS)
def test_changes_of_one_person_with_several_rows(relation, total_public):
    """Mass and sum together, for persons of up to four rows and any mass up to one."""
    if total_public and relation == ADD_REMOVE:
        return
    d = 3
    query = ClippedSum(1.0, d, PERSON_UNITS, total_public)
    sensitivity = query.sensitivity(relation)
    rng = np.random.default_rng(2)
    rows = hostile_rows(d)

    def person():
        X = rows[rng.integers(len(rows), size=rng.integers(1, 5))]
        masses = person_masses(X, None, np.zeros(len(X), dtype=int), None)
        if not total_public:
            masses = masses * int(rng.integers(17)) // 16
        return answer(query, X, masses)

    factors = np.exp(20.0 * rng.standard_normal((200, 2)))
    l1_limit, l2_limit = (
        (factors @ np.array(cases, dtype=float).T).max(axis=1)
        for cases in (sensitivity.l1, sensitivity.l2_squared)
    )
    nothing = query.blocks(query.zeros())
    for _ in range(400):
        other = nothing if relation == ADD_REMOVE else person()
        change = [a - b for a, b in zip(person(), other, strict=True)]
        l1 = np.array([float(np.abs(c).sum()) for c in change])
        l2 = np.array([float((c.astype(float) ** 2).sum()) for c in change])
        assert (factors @ l1 <= l1_limit * (1 + 1e-12)).all()
        assert (factors @ l2 <= l2_limit * (1 + 1e-12)).all()


def test_a_public_mass_gets_no_noise_only_where_it_is_public():
    for relation in RELATIONS:
        scales = DiscreteLaplace(1.0).scales(ClippedSum(1.0, 2, 1, True).sensitivity(relation))
        assert (scales[1] == 0.0) == (relation != ADD_REMOVE)
        (scale,) = DiscreteLaplace(1.0).scales(Count(1, True).sensitivity(relation))
        assert (scale == 0.0) == (relation != ADD_REMOVE)


def test_many_whole_persons_do_not_overflow():
    """Mass times coordinate would need 40 bits a row: 2**23 persons would wrap around."""
    query = ClippedSum(1.0, 1, PERSON_UNITS)
    masses = np.full(1000, PERSON_UNITS)
    sketch = Sketch(query)
    chunk = Chunk(np.ones((1000, 1)), None, masses)
    for _ in range(10):
        sketch.update(chunk)
    total, mass = sketch.exact_blocks()
    assert int(total[0]) < 2**34  # room for half a billion times as many
    assert total[0] == pytest.approx(10_000 * LENGTH, rel=1e-5)
    assert mass[0] == 10_000 * PERSON_UNITS


# The rounding of rows


@pytest.mark.parametrize("layout", ["fortran", "strided", "one by one"])
def test_rows_are_rounded_on_their_own(layout):
    X = hostile_rows(7)
    query, center = ClippedSum(1.3, 7), (0.1,) * 7
    other = {
        "fortran": np.asfortranarray(X),
        "strided": np.repeat(X, 3, axis=1)[:, ::3],
        "one by one": X,
    }[layout]
    if layout == "one by one":
        sums = [answer(query, row)[0] for row in X]
        assert (np.sum(sums, axis=0) == answer(query, X)[0]).all()
        apart = np.concatenate([row_distances(row[None], center) for row in X])
    else:
        assert (answer(query, other)[0] == answer(query, X)[0]).all()
        apart = row_distances(other, center)
    assert (apart == row_distances(X, center)).all()


@pytest.mark.filterwarnings("error")
def test_distances_of_every_magnitude():
    X = hostile_rows(3)
    found = row_distances(X, (0.0,) * 3)
    for row, value in zip(X.tolist(), found.tolist(), strict=True):
        truth = math.hypot(*row)
        assert value == pytest.approx(truth, rel=1e-14, abs=1e-300)


# Histograms and counts


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("units", [1, PERSON_UNITS])
def test_histogram_moves_by_what_it_says(relation, units):
    edges = (0.5, 1.0, 2.0)
    query = DistanceHistogram((0.0, 0.0), edges, units)
    rows = np.array([[0.0, 0.1], [0.5, 0.0], [0.8, 0.1], [1.0, 1.5], [1e308, 1e308]])
    masses = [None] if units == 1 else [np.array([m]) for m in (0, units // 3, units)]
    people = [answer(query, row, mass)[0] for row in rows for mass in masses]
    nobody = np.zeros(3, dtype=np.int64)
    pairs = itertools.combinations([*people, nobody] if relation == ADD_REMOVE else people, 2)
    if relation == ADD_REMOVE:
        pairs = ((person, nobody) for person in people)
    changes = [a - b for a, b in pairs]
    sensitivity = query.sensitivity(relation)
    assert max(int(np.abs(c).sum()) for c in changes) == sensitivity.l1[0][0]
    assert max(int((c**2).sum()) for c in changes) == sensitivity.l2_squared[0][0]


def test_histogram_bins_are_closed_above_and_the_last_takes_the_rest():
    query = DistanceHistogram((0.0,), (0.5, 1.0, 2.0))
    counts = answer(
        query, np.array([[0.0], [0.5], [0.500001], [1.0], [1.1], [2.0], [7.0], [1e308]])
    )
    assert counts[0].tolist() == [2, 2, 4]


def test_person_count_adds_masses():
    assert answer(Count(), np.zeros((5, 2)))[0].tolist() == [5]
    assert answer(Count(100), np.zeros((3, 2)), [100, 7, 0])[0].tolist() == [107]


# What is made of the releases


def noisy_histogram(counts, seed, epsilon=0.1, mechanism=DiscreteLaplace):
    class Fixed(DistanceHistogram):
        def blocks(self, state):
            return (np.array(counts, dtype=np.int64),)

    query = Fixed((0.0,), tuple(2.0**e for e in range(len(counts))))
    step = Step("scale", mechanism(epsilon))
    return release(Sketch(query), step, REPLACE_ONE, noise_generator(seed))


@pytest.mark.parametrize("mechanism", [DiscreteLaplace, RoundedGaussian])
def test_noise_alone_rarely_stands_out(mechanism):
    empty = [noisy_histogram([0] * 64, seed, mechanism=mechanism) for seed in range(300)]
    assert sum(top_bin(r) is not None for r in empty) <= 4
    assert sum(tail_bin(r) is not None for r in empty) <= 40


def test_bins_with_rows_stand_out():
    counts = [0] * 20 + [5000, 3000] + [0] * 20
    for seed in range(20):
        released = noisy_histogram(counts, seed, 1.0)
        assert top_bin(released) == 21
        assert tail_bin(released) >= 21


def test_center_is_the_mean_or_the_origin_when_there_is_too_little():
    rng = np.random.default_rng(0)
    X = rng.normal([3.0, -4.0], 0.1, size=(20_000, 2))
    query = ClippedSum(8.0, 2)
    for epsilon, expected in ((1.0, [3.0, -4.0]), (1e-5, [0.0, 0.0])):
        sketch = Sketch(query).update(Chunk(X, None, None))
        released = release(
            sketch, Step("c", DiscreteLaplace(epsilon)), ADD_REMOVE, noise_generator(1)
        )
        assert query.center(released) == pytest.approx(expected, abs=0.02)


def test_a_center_that_is_mostly_noise_stays_near_the_origin():
    """Noise of hundreds of features adds up to a length that no row has."""
    rows = np.random.default_rng(0).uniform(0, 0.1, size=(2000, 200))
    query = ClippedSum(2.0, 200)
    sketch = Sketch(query).update(Chunk(rows, None, None))
    step = Step("center", DiscreteLaplace(0.1))
    released = release(sketch, step, "add_remove", noise_generator(0))
    center = query.center(released)
    assert np.linalg.norm(center) <= 2.0
    assert np.linalg.norm(center - rows.mean(axis=0)) < 1.5 * np.linalg.norm(rows.mean(axis=0))


def test_weighted_rows_pull_the_center_by_their_weight():
    X = np.array([[1.0], [-1.0]]).repeat(5000, axis=0)
    masses = np.array([PERSON_UNITS, PERSON_UNITS // 2]).repeat(5000)
    query = ClippedSum(1.0, 1, PERSON_UNITS)
    sketch = Sketch(query).update(Chunk(X, None, masses))
    released = release(sketch, Step("c", DiscreteLaplace(1.0)), ADD_REMOVE, noise_generator(1))
    assert query.center(released) == pytest.approx([1 / 3], abs=0.01)
