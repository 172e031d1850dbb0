"""Counts on partitions of a quadtree: what they count, and how far one person moves them."""

import numpy as np
import pytest

from skdp_bary.geometry import Ball, Box
from skdp_bary.privacy._neighbors import ADD_REMOVE, RELATIONS
from skdp_bary.privacy.noise.mechanisms import DiscreteLaplace
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.rows.arrays import ArraySource
from skdp_bary.summaries.rows.opening import open_source
from skdp_bary.summaries.rows.persons import PERSON_UNITS, Chunk
from skdp_bary.summaries.trees.disjoint_counts import DisjointCounts
from skdp_bary.summaries.trees.divisions import GridDivision
from skdp_bary.summaries.trees.partition import Partition, QuadGrid

SQUARE = Box([0.0, 0.0], [1.0, 1.0])
RNG = np.random.default_rng(0)
# one quarter whole, one split into four, two left out
MIXED = Partition(3, np.array([1, 2, 2, 2, 2]), np.array([2, 4, 5, 6, 7]))


def counts_of(grid, *partitions, units=1):
    return DisjointCounts(GridDivision(grid, partitions), units)


def answer(query, X, masses=None):
    masses = None if masses is None else np.asarray(masses)
    return Sketch(query).update(Chunk(np.atleast_2d(X), None, masses)).exact_blocks()


def test_counts_are_those_of_a_histogram():
    X = RNG.random((500, 2))
    masses = RNG.integers(0, 5, size=500)
    grid = QuadGrid(SQUARE, 3)
    query = counts_of(grid, Partition.complete(3, 3), Partition.complete(3, 1))
    fine, coarse = answer(query, X, masses)
    expected, *_ = np.histogram2d(*X.T, bins=8, range=[[0, 1], [0, 1]], weights=masses)
    low, high = grid.corners(np.full(64, 3), np.arange(64))
    places = np.rint(low * 8).astype(int)
    assert np.array_equal(fine, expected[places[:, 0], places[:, 1]])
    assert np.allclose(high - low, 1 / 8)
    assert np.array_equal(coarse, fine.reshape(4, 16).sum(axis=1))


def test_rows_in_cells_that_were_not_asked_about_are_left_out():
    X = np.array([[0.9, 0.1], [0.6, 0.1], [0.1, 0.1], [0.1, 0.9], [0.9, 0.9]])
    (counts,) = answer(counts_of(QuadGrid(SQUARE, 3), MIXED), X)
    low, high = QuadGrid(SQUARE, 3).corners(MIXED.levels, MIXED.codes)
    expected = [((a <= X) & (b > X)).all(axis=1).sum() for a, b in zip(low, high, strict=True)]
    assert counts.tolist() == expected
    assert counts.sum() == 3


def test_many_rows_are_located_as_few_are():
    """With many rows cells are looked up in a table; codes one by one are searched."""
    codes = np.arange(4**3)
    assert MIXED.locate(codes).tolist() == [int(MIXED.locate(codes[[i]])[0]) for i in codes]
    starts, ends = MIXED.intervals()
    inside = (starts <= codes[:, None]) & (codes[:, None] < ends)
    assert np.array_equal(MIXED.locate(codes), np.where(inside.any(1), inside.argmax(1), -1))


@pytest.mark.parametrize("domain", [SQUARE, Ball([0.5, 0.5], 0.5)])
def test_rows_outside_carry_no_mass(domain):
    query = counts_of(QuadGrid(domain, 2), Partition.complete(2, 2))
    outside = [[1.5, 0.5], [-1e-9, 0.5], [0.5, 1e300], [np.nextafter(1, 2), 1.0]]
    assert answer(query, outside)[0].sum() == 0
    assert answer(query, [[0.5, 0.5], [0.5, 0.999]])[0].sum() == 2


def test_upper_borders_belong_to_the_last_cell():
    query = counts_of(QuadGrid(SQUARE, 2), Partition.complete(2, 2))
    assert answer(query, [[1.0, 1.0]])[0].tolist() == [0] * 15 + [1]


@pytest.mark.parametrize("depth", [8, 16, 24])
def test_the_state_is_as_long_as_the_cells_asked_about(depth):
    codes = np.array([0, 4**depth - 1])
    query = counts_of(QuadGrid(SQUARE, depth), Partition(depth, [depth] * 2, codes))
    assert [len(part) for part in query.zeros()] == [2]
    corner = 1.0 - 2.0 ** -(depth + 1)
    assert answer(query, [[0.0, 0.0], [corner, corner], [0.5, 0.5]])[0].tolist() == [1, 1]


@pytest.mark.parametrize(
    "levels, codes",
    [([1, 2], [0, 0]), ([2, 1], [3, 0]), ([0, 3], [0, 63]), ([1, 1], [2, 2])],
)
def test_overlapping_cells_are_refused(levels, codes):
    """One person would move two of them."""
    with pytest.raises(ValueError, match="contain another"):
        Partition(3, np.array(levels), np.array(codes))


@pytest.mark.parametrize("levels, codes", [([4], [0]), ([-1], [0]), ([1], [4]), ([], [])])
def test_cells_that_do_not_exist_are_refused(levels, codes):
    with pytest.raises(ValueError, match=r"levels|codes"):
        Partition(3, np.array(levels, dtype=int), np.array(codes, dtype=int))


def persons(query):
    """Answers for persons of one row anywhere, of rows spread out, of no row inside."""
    places = [[0.1, 0.6], [0.9, 0.1], [0.6, 0.1], [0.9, 0.9], [2.0, 2.0]]
    yield answer(query, np.empty((0, 2)), [])
    for place in places:
        yield answer(query, [place], [query.units])
    half = query.units // 2
    yield answer(query, places[:2], [half, query.units - half])


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("units", [1, PERSON_UNITS])
def test_sensitivity_covers_every_change_and_is_reached(relation, units):
    grid = QuadGrid(SQUARE, 3)
    query = counts_of(grid, Partition.complete(3, 1), MIXED, units=units)
    everyone = list(persons(query))
    nobody = everyone[0]
    others = [nobody] if relation == ADD_REMOVE else everyone
    moved = [
        ([int(np.abs(a - b).sum()) for a, b in zip(p, q, strict=True)], p, q)
        for p in everyone
        for q in others
    ]
    sensitivity = query.sensitivity(relation)
    for l1, p, q in moved:
        square = [int(((a - b) ** 2).sum()) for a, b in zip(p, q, strict=True)]
        assert all(x <= s for x, s in zip(l1, sensitivity.l1[0], strict=True))
        assert all(x <= s for x, s in zip(square, sensitivity.l2_squared[0], strict=True))
    assert max(l1 for l1, *_ in moved) == list(sensitivity.l1[0])
    scales = DiscreteLaplace(0.7).scales(sensitivity)
    assert 0.999 < float(DiscreteLaplace(0.7).loss(sensitivity, scales)) / 0.7 <= 1.0


def test_a_person_is_normalised_over_the_rows_inside():
    X = np.array([[0.1, 0.1], [5.0, 5.0], [0.9, 0.9], [7.0, 7.0], [8.0, 8.0]])
    source = open_source(X, groups=[0, 0, 0, 1, 0], mass_bounds=(0.0, 1.0))
    masses = np.concatenate([chunk.masses for chunk in source.read(0)])
    assert masses.tolist() == [PERSON_UNITS // 2, 0, PERSON_UNITS // 2, 0, 0]
    weights = [0.25, 1.0, 0.75, 1.0, 1.0]
    source = ArraySource(X, None, [0, 0, 0, 1, 0], weights, None, (0.0, 1.0))
    masses = np.concatenate([chunk.masses for chunk in source.read(0)])
    assert masses.tolist() == [PERSON_UNITS // 4, 0, 3 * PERSON_UNITS // 4, 0, 0]


def test_units_of_a_person_depend_on_that_person_alone():
    """A float running sum over all rows once moved other people when a heavy one left."""
    X, groups = RNG.random((4000, 2)), RNG.integers(0, 90, size=4000)
    weights = RNG.random(4000)
    whole, part = (
        open_source(X[keep], groups=groups[keep], sample_weight=weights[keep], mass_bounds=(0, 0.8))
        for keep in (np.ones(4000, dtype=bool), groups != 17)
    )
    before, after = (np.concatenate([c.masses for c in s.read(0)]) for s in (whole, part))
    assert np.array_equal(before[groups != 17], after)
    assert np.bincount(groups, before)[17] == PERSON_UNITS
    order = RNG.permutation(4000)
    shuffled = open_source(
        X[order], groups=groups[order], sample_weight=weights[order], mass_bounds=(0, 0.8)
    )
    assert np.array_equal(before[order], np.concatenate([c.masses for c in shuffled.read(0)]))
