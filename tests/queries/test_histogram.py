"""Quantiles and costs of projected rows, exactly; padding, and how far one person moves them."""

from fractions import Fraction

import numpy as np
import pytest

from skdp_bary.geometry import Ball
from skdp_bary.transport import DiscreteMeasure
from tests.cases import every
from tests.world import (
    ClassSizes,
    ProjectedCost,
    ProjectedQuantiles,
    SliceLattice,
    answer,
    coupling_cost,
    haar_frame,
    tight_frame,
    univariate_cost,
)

RADIUS = 2.0
RELATIONS = ("add_remove", "replace_one", "replace_any")
SHAPES = [(1, 1), (2, 5), (3, 4), (5, 2)]


def make_lattice(d, k, seed=0):
    """A ball at the origin and directions of any kind."""
    rng = np.random.default_rng(seed)
    if k < d:
        directions = haar_frame(d, k, rng)
    elif k == d + 1:
        directions = rng.normal(size=(d, k))
        directions /= np.linalg.norm(directions, axis=0)
    else:
        directions = tight_frame(d, k, rng)
    return SliceLattice(Ball(np.zeros(d), RADIUS), directions)


@pytest.fixture
def lattice():
    return SliceLattice(Ball([0.0, 1.0], 2.0), tight_frame(2, 5, np.random.default_rng(0)))


def flat(query, X, codes=None, masses=None):
    return np.concatenate([block.ravel() for block in answer(query, X, codes, masses)])


def hostile_rows(lattice, rng, n):
    """Rows at one place, at two, spread, or tied."""
    d, kind = lattice.domain.n_features, rng.integers(4)
    if kind == 0:
        return np.tile(lattice.domain.sample(1, rng), (n, 1))
    if kind == 1:
        return np.round(lattice.domain.sample(n, rng))
    line = rng.normal(size=d)
    line *= RADIUS / np.linalg.norm(line)
    if kind == 2:
        return np.where(rng.random((n, 1)) < rng.random(), line, -line)
    return lattice.domain.sample(n, rng)


def far_row(lattice, rng):
    """A row at the border of the domain, or beyond."""
    row = rng.normal(size=lattice.domain.n_features)
    return row / np.linalg.norm(row) * rng.choice([RADIUS, 1e6])


@every("d, k", SHAPES)
@every("n_min", [None, (6,), (11,), (40,)])
def test_one_person_moves_quantiles_no_further_than_stated(d, k, n_min):
    """Any n against m and n_min: blocks that do not divide, padding full, half full and empty."""
    lattice, rng = make_lattice(d, k), np.random.default_rng(d * 100)
    for trial in range(120):
        query = ProjectedQuantiles(lattice, n_min, n_quantiles=(1, 3, 8)[trial % 3])
        X = hostile_rows(lattice, rng, int(rng.integers(1, 25)))
        old, new = far_row(lattice, rng), far_row(lattice, rng)
        old = -new if rng.random() < 0.5 else old
        with_old, with_new = (flat(query, np.vstack([X, row])) for row in (old, new))
        for relation in RELATIONS if n_min else ["replace_one"]:
            one = flat(query, X) if relation == "add_remove" else with_old
            moved = int(((one - with_new) ** 2).sum())
            assert moved <= query.sensitivity(relation).l2_squared[0][-1], relation


def test_the_lattice_bound_is_reached_and_the_one_without_rounding_broken():
    """Rows at one end, one of them goes to the other: no bound below this would do."""
    lattice, m, n = make_lattice(3, 6), 5, 13  # m does not divide n
    query = ProjectedQuantiles(lattice, None, n_quantiles=m)
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


@every("p", [1, 2])
@every("d, k", SHAPES)
def test_one_person_moves_the_cost_no_further_than_stated(p, d, k):
    lattice, rng = make_lattice(d, k), np.random.default_rng(d * 10 + p)
    for trial in range(120):
        n_min = (None, (6,), (40,))[trial % 3]
        rows = hostile_rows(lattice, rng, int(rng.integers(1, 9)))
        reference = ProjectedQuantiles(lattice).public_histogram(rows)
        query = ProjectedCost(lattice, n_min, reference=reference, p=p)
        relation = "replace_one" if n_min is None else "add_remove"
        X, new = hostile_rows(lattice, rng, int(rng.integers(1, 25))), far_row(lattice, rng)
        before = X if n_min is not None else np.vstack([X, -new])
        moved = np.abs(flat(query, before) - flat(query, np.vstack([X, new])))
        assert moved.sum() <= query.sensitivity(relation).l1[0][-1]


def test_the_bound_for_squares_is_reached_on_the_line():
    """The reference at one end, one row from that end to the other."""
    line = SliceLattice(Ball([0.0], 1.0), np.array([[1.0]]))
    reference = ProjectedQuantiles(line).public_histogram(np.array([[1.0]]))
    query = ProjectedCost(line, None, reference=reference, p=2)
    old, new = (answer(query, [[end], [0.0]])[1][0, 0] for end in (1.0, -1.0))
    (_, bound), *_ = query.sensitivity("replace_one").l1
    assert 0.99 * bound < new - old <= bound
    assert query.cost(float(new - old), 1.0) == pytest.approx(4.0)
    assert Fraction(bound) < (2 * 2048 + 2) ** 2


def test_changing_the_class_moves_two_classes():
    """What is stated for one class would be too little, by the root of two."""
    query = ProjectedQuantiles(make_lattice(2, 4), (9, 9), n_classes=2, n_quantiles=3)
    line, codes = np.array([RADIUS, 0.0]), np.repeat([0, 1], 9)
    X = np.vstack([np.tile(line, (18, 1)), -line])
    old, new = (flat(query, X, np.append(codes, code)) for code in (0, 1))
    (within,), *_ = query.sensitivity("add_remove").l2_squared
    (across,), *_ = query.sensitivity("replace_any").l2_squared
    assert within < int(((old - new) ** 2).sum()) <= across


def test_few_persons_are_filled_up_at_the_center():
    lattice = make_lattice(2, 4)
    query = ProjectedQuantiles(lattice, (10,), n_quantiles=5)
    X = lattice.domain.sample(4, np.random.default_rng(0))
    filled = np.vstack([X, np.tile(lattice.domain.center, (6, 1))])
    np.testing.assert_array_equal(flat(query, X), flat(query, filled))
    assert (flat(query, X[:0]) == 10 * lattice.center_level).all()


def test_the_number_of_rows_does_not_show():
    """Twice the rows are the same distribution, and give the same integers."""
    query = ProjectedQuantiles(make_lattice(3, 9), (8,), n_quantiles=7)
    X = query.lattice.domain.sample(50, np.random.default_rng(1))
    np.testing.assert_array_equal(flat(query, X), flat(query, np.vstack([X, X])))


def test_sizes_are_counted_by_class():
    query = ClassSizes(3, 4)
    assert answer(query, np.zeros((4, 1)), [0, 2, 2, 0])[0].tolist() == [2, 0, 2]
    assert answer(query, np.zeros((2, 1)), [1, 1], [3, 4])[0].tolist() == [0, 7, 0]


def test_n_min_has_one_number_a_class():
    for n_min, n_classes in (((5,), 2), ((0,), 1)):
        with pytest.raises(ValueError, match=f"n_min must be {n_classes} numbers"):
            ProjectedQuantiles(make_lattice(2, 4), n_min, n_classes=n_classes)


@every("n_quantiles", [1, 3, 10_000])
def test_any_mass_is_answered_exactly(n_quantiles):
    """Products beyond 64 bits are Python integers: answers of equal distributions are equal."""
    query = ProjectedQuantiles(make_lattice(2, 3), (7,), 1, 1 << 20, n_quantiles)
    X = np.random.default_rng(0).random((50, 2))
    masses = np.random.default_rng(1).integers(1 << 28, 1 << 30, size=50)
    small, large = (answer(query, X, None, masses << shift) for shift in (0, 24))
    np.testing.assert_array_equal(small[0], large[0])


@pytest.mark.parametrize("n, m", [(1, 1), (1, 4), (5, 2), (7, 3), (3, 8), (12, 4), (100, 33)])
def test_block_means_are_exact(lattice, n, m):
    """Against fractions of the sorted levels: no array_split and no interpolated quantile."""
    query = ProjectedQuantiles(lattice, None, n_quantiles=m)
    X = lattice.domain.sample(n, np.random.default_rng(n))
    X[n // 2] = X[0]
    every_level = np.empty((lattice.n_directions, n), dtype=np.int64)
    for some, directions, levels in lattice.levels(X):
        every_level[directions, some] = levels
    for line, levels in zip(answer(query, X)[1][0], every_level, strict=True):
        copies = sorted(levels.tolist() * m)  # n * m values of mass 1 / (n m), n in a block
        assert line.tolist() == [sum(copies[b * n : (b + 1) * n]) for b in range(m)]


def test_public_means_are_those_of_the_distribution(lattice):
    query = ProjectedQuantiles(lattice, None, n_quantiles=4)
    X = lattice.domain.sample(1000, np.random.default_rng(2))
    places = np.sort((X - lattice.domain.center) @ lattice.directions, axis=0)
    expected = places.reshape(4, 250, 5).mean(axis=1).T
    np.testing.assert_allclose(query.public_means(X), expected, atol=lattice.step / 2)


def test_padded_answers_are_rounded_down(lattice):
    X = lattice.domain.sample(9, np.random.default_rng(3))
    (padded,) = answer(ProjectedQuantiles(lattice, (7,), n_quantiles=2), X)
    _, sums = answer(ProjectedQuantiles(lattice, None, n_quantiles=2), X)
    assert padded.ravel().tolist() == [int(s) * 7 // 9 for s in sums.ravel()]


@every("p", [1, 2])
def test_the_cost_is_that_of_the_monotone_coupling(p):
    rng, levels = np.random.default_rng(p), np.arange(30)[:, None].astype(float)
    for _ in range(20):
        first, second = rng.multinomial(17, np.ones(30) / 30), rng.integers(4, size=30)
        second[3] += 1
        total = coupling_cost(first, 17, second, int(second.sum()), p)
        sides = (DiscreteMeasure(levels, side / side.sum()) for side in (first, second))
        expected = univariate_cost(*sides, p=p)
        assert total / (17 * second.sum()) == pytest.approx(expected, rel=1e-12)


def test_large_masses_are_exact():
    first, second = np.array([0, 3, 2]), np.array([4, 0, 3])
    small = coupling_cost(first, 5, second, 7, 2)
    for scale in (1 << 20, 1 << 40):
        large = coupling_cost(first * scale, 5 * scale, second * scale, 7 * scale, 2)
        assert large == small * scale**2


@pytest.mark.parametrize("p", [1, 2])
def test_rows_of_any_number_are_compared(lattice, p):
    """Unequal numbers of rows need the exact coupling: none of them may be left out."""
    rng = np.random.default_rng(1)
    X, Y = lattice.domain.sample(50, rng), lattice.domain.sample(31, rng)
    reference = ProjectedQuantiles(lattice).public_histogram(Y)
    query = ProjectedCost(lattice, None, reference=reference, p=p)
    sizes, numbers = answer(query, X)
    lines = ((DiscreteMeasure(Z @ u[:, None]) for Z in (X, Y)) for u in lattice.directions.T)
    expected = np.mean([univariate_cost(*line, p=p) for line in lines])
    assert query.cost(numbers[0, 0], float(sizes[0])) == pytest.approx(expected, rel=5e-3)
