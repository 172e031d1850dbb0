"""Sizes, padding, sensitivities and merging of projected histograms."""

import numpy as np
import pytest

from skdp_bary.geometry import Ball, haar_frame, tight_frame
from skdp_bary.geometry._slices import SliceLattice
from skdp_bary.privacy._neighbors import RELATIONS
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.rows.persons import Chunk
from skdp_bary.summaries.slices.cost import ProjectedCost
from skdp_bary.summaries.slices.histogram import ClassSizes
from skdp_bary.summaries.slices.quantiles import ProjectedQuantiles

RADIUS = 2.0


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


def answer(query, X, codes=None, masses=None):
    """The blocks of a query as Python integers, in one flat list."""
    blocks = Sketch(query).update(Chunk(X, codes, masses)).exact_blocks()
    return np.concatenate([block.ravel() for block in blocks])


def hostile_rows(lattice, rng, n):
    """Rows at one place, at two, spread, or tied."""
    d = lattice.domain.n_features
    kind = rng.integers(4)
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


@pytest.mark.parametrize("d, k", [(1, 1), (2, 5), (3, 4), (5, 2)])
@pytest.mark.parametrize("m", [1, 3, 8])
@pytest.mark.parametrize("n_min", [None, (6,), (11,), (40,)])
def test_one_person_moves_quantiles_no_further_than_stated(d, k, m, n_min):
    """Any n against m and n_min: blocks that do not divide, padding full, half full and empty."""
    lattice = make_lattice(d, k)
    query = ProjectedQuantiles(lattice, n_min, n_quantiles=m)
    relations = ["replace_one"] if n_min is None else RELATIONS
    bounds = {relation: query.sensitivity(relation).l2_squared[0][-1] for relation in relations}
    rng = np.random.default_rng(d * 100 + m)
    for _ in range(60):
        X = hostile_rows(lattice, rng, int(rng.integers(1, 25)))
        old, new = far_row(lattice, rng), far_row(lattice, rng)
        old = -new if rng.random() < 0.5 else old
        with_old, with_new = (answer(query, np.vstack([X, row])) for row in (old, new))
        for relation, bound in bounds.items():
            one = answer(query, X) if relation == "add_remove" else with_old
            moved = int(((one - with_new) ** 2).sum())
            assert moved <= bound, relation


def test_the_lattice_bound_is_reached_and_the_one_without_rounding_broken():
    """Rows at one end, one of them goes to the other: no bound below this would do."""
    lattice = make_lattice(3, 6)
    m, n = 5, 13  # m does not divide n
    query = ProjectedQuantiles(lattice, None, n_quantiles=m)
    naive = (m * lattice.norm * 2 * lattice.center_level) ** 2
    (_, bound), *_ = query.sensitivity("replace_one").l2_squared
    moved = []
    for seed in range(200):
        line = far_row(lattice, np.random.default_rng(seed))
        line *= RADIUS / np.linalg.norm(line)
        X = np.tile(line, (n, 1))
        changed = np.vstack([X[1:], -line])
        moved.append(int(((answer(query, X) - answer(query, changed)) ** 2).sum()))
    assert naive < max(moved) <= bound
    assert max(moved) > 0.998 * bound


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("d, k", [(1, 1), (2, 5), (3, 4), (5, 2)])
@pytest.mark.parametrize("n_min", [None, (6,), (40,)])
def test_one_person_moves_the_cost_no_further_than_stated(p, d, k, n_min):
    lattice = make_lattice(d, k)
    rng = np.random.default_rng(d * 10 + p)
    for _ in range(40):
        rows = hostile_rows(lattice, rng, int(rng.integers(1, 9)))
        reference = ProjectedQuantiles(lattice).public_histogram(rows)
        query = ProjectedCost(lattice, n_min, reference=reference, p=p)
        relation = "replace_one" if n_min is None else "add_remove"
        bound = query.sensitivity(relation).l1[0][-1]
        X = hostile_rows(lattice, rng, int(rng.integers(1, 25)))
        new = far_row(lattice, rng)
        before = X if n_min is not None else np.vstack([X, -new])
        moved = np.abs(answer(query, before) - answer(query, np.vstack([X, new])))
        assert moved.sum() <= bound


def test_changing_the_class_moves_two_classes():
    """What is stated for one class would be too little, by the root of two."""
    lattice = make_lattice(2, 4)
    query = ProjectedQuantiles(lattice, (9, 9), n_classes=2, n_quantiles=3)
    line = np.array([RADIUS, 0.0])
    X, codes = np.tile(line, (18, 1)), np.repeat([0, 1], 9)
    X = np.vstack([X, -line])
    old, new = (answer(query, X, np.append(codes, code)) for code in (0, 1))
    moved = int(((old - new) ** 2).sum())
    (within,), *_ = query.sensitivity("add_remove").l2_squared
    (across,), *_ = query.sensitivity("replace_any").l2_squared
    assert within < moved <= across


def test_a_person_of_many_rows_counts_once():
    lattice = make_lattice(2, 4)
    units = 1 << 20
    query = ProjectedQuantiles(lattice, (5,), units=units, n_quantiles=3)
    (bound,), *_ = query.sensitivity("add_remove").l2_squared
    rng = np.random.default_rng(0)
    for _ in range(30):
        X = hostile_rows(lattice, rng, 6)
        theirs = np.vstack([far_row(lattice, rng) for _ in range(3)])
        masses = np.full(6, units)
        shares = np.array([units // 2, units // 4, units // 4])
        old = answer(query, X, None, masses)
        new = answer(query, np.vstack([X, theirs]), None, np.append(masses, shares))
        assert int(((old - new) ** 2).sum()) <= bound


def test_few_persons_are_filled_up_at_the_center():
    lattice = make_lattice(2, 4)
    query = ProjectedQuantiles(lattice, (10,), n_quantiles=5)
    X = lattice.domain.sample(4, np.random.default_rng(0))
    filled = np.vstack([X, np.tile(lattice.domain.center, (6, 1))])
    np.testing.assert_array_equal(answer(query, X), answer(query, filled))
    assert (answer(query, X[:0]) == 10 * lattice.center_level).all()


def test_the_number_of_rows_does_not_show():
    """Twice the rows are the same distribution, and give the same integers."""
    query = ProjectedQuantiles(make_lattice(3, 9), (8,), n_quantiles=7)
    X = query.lattice.domain.sample(50, np.random.default_rng(1))
    np.testing.assert_array_equal(answer(query, X), answer(query, np.vstack([X, X])))


@pytest.mark.parametrize("n_min", [None, (30, 50)])
def test_merged_chunks_give_the_integers_of_rows_in_memory(n_min):
    query = ProjectedQuantiles(make_lattice(3, 100), n_min, n_classes=2, n_quantiles=7)
    rng = np.random.default_rng(2)
    X, codes = rng.normal(size=(1003, 3)), rng.integers(2, size=1003)
    whole = answer(query, X, codes)
    for size in (91, 500):
        total = Sketch(query)
        for start in range(0, len(X), size):
            part = slice(start, start + size)
            total.merge(Sketch(query).update(Chunk(X[part], codes[part], None)))
        merged = np.concatenate([block.ravel() for block in total.exact_blocks()])
        np.testing.assert_array_equal(merged, whole)


def test_sizes_are_counted_by_class():
    query = ClassSizes(3, 4)
    state = Sketch(query).update(Chunk(np.zeros((4, 1)), np.array([0, 2, 2, 0]), None))
    np.testing.assert_array_equal(state.exact_blocks()[0], [2, 0, 2])
    weighted = Sketch(query).update(Chunk(np.zeros((2, 1)), np.array([1, 1]), np.array([3, 4])))
    np.testing.assert_array_equal(weighted.exact_blocks()[0], [0, 7, 0])
    assert query.sensitivity("add_remove").l2_squared == ((16,),)
    assert query.sensitivity("replace_any").l2_squared == ((32,),)


def test_n_min_has_one_number_a_class():
    with pytest.raises(ValueError, match="n_min must be 2 numbers"):
        ProjectedQuantiles(make_lattice(2, 4), (5,), n_classes=2)
    with pytest.raises(ValueError, match="n_min must be 1 numbers"):
        ProjectedQuantiles(make_lattice(2, 4), (0,))


@pytest.mark.parametrize("n_quantiles", [1, 3, 10_000])
def test_any_mass_is_answered_exactly(n_quantiles):
    """Products beyond 64 bits are Python integers: answers of equal distributions are equal."""
    query = ProjectedQuantiles(make_lattice(2, 3), (7,), 1, 1 << 20, n_quantiles)
    X = np.random.default_rng(0).random((50, 2))
    masses = np.random.default_rng(1).integers(1 << 28, 1 << 30, size=50)
    small, large = (
        Sketch(query).update(Chunk(X, None, masses << shift)).exact_blocks() for shift in (0, 24)
    )
    np.testing.assert_array_equal(small[0], large[0])
