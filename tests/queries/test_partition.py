"""Counts on partitions of a quadtree, against plain histograms."""

import numpy as np
import pytest

from skdp_bary.geometry import Ball, Box
from tests.cases import every
from tests.world import DisjointCounts, GridDivision, Partition, QuadGrid, answer

SQUARE = Box([0.0, 0.0], [1.0, 1.0])
RNG = np.random.default_rng(0)
# one quarter whole, one split into four, two left out
MIXED = Partition(3, np.array([1, 2, 2, 2, 2]), np.array([2, 4, 5, 6, 7]))


def counts_of(grid, *partitions, units=1):
    return DisjointCounts(GridDivision(grid, partitions), units)


def test_counts_are_those_of_a_histogram_where_they_were_asked_about():
    X = RNG.random((500, 2))
    masses = RNG.integers(0, 5, size=500)
    grid = QuadGrid(SQUARE, 3)
    query = counts_of(grid, Partition.complete(3, 3), Partition.complete(3, 1))
    fine, coarse = answer(query, X, None, masses)
    expected, *_ = np.histogram2d(*X.T, bins=8, range=[[0, 1], [0, 1]], weights=masses)
    low, high = grid.corners(np.full(64, 3), np.arange(64))
    places = np.rint(low * 8).astype(int)
    assert np.array_equal(fine, expected[places[:, 0], places[:, 1]])
    assert np.allclose(high - low, 1 / 8)
    assert np.array_equal(coarse, fine.reshape(4, 16).sum(axis=1))
    X = np.array([[0.9, 0.1], [0.6, 0.1], [0.1, 0.1], [0.1, 0.9], [0.9, 0.9]])
    (counts,) = answer(counts_of(QuadGrid(SQUARE, 3), MIXED), X)
    low, high = QuadGrid(SQUARE, 3).corners(MIXED.levels, MIXED.codes)
    expected = [((a <= X) & (b > X)).all(axis=1).sum() for a, b in zip(low, high, strict=True)]
    assert counts.tolist() == expected
    assert counts.sum() == 3
    # With many rows cells are looked up in a table; codes one by one are searched.
    codes = np.arange(4**3)
    assert MIXED.locate(codes).tolist() == [int(MIXED.locate(codes[[i]])[0]) for i in codes]
    starts, ends = MIXED.intervals()
    inside = (starts <= codes[:, None]) & (codes[:, None] < ends)
    assert np.array_equal(MIXED.locate(codes), np.where(inside.any(1), inside.argmax(1), -1))


@every("domain", [SQUARE, Ball([0.5, 0.5], 0.5)])
def test_rows_outside_carry_no_mass_and_those_on_upper_borders_do(domain):
    query = counts_of(QuadGrid(domain, 2), Partition.complete(2, 2))
    outside = [[1.5, 0.5], [-1e-9, 0.5], [0.5, 1e300], [np.nextafter(1, 2), 1.0]]
    assert answer(query, outside)[0].sum() == 0
    assert answer(query, [[0.5, 0.5], [0.5, 0.999]])[0].sum() == 2
    assert answer(query, [[1.0, 1.0]])[0].tolist() == [0] * 15 + [int(domain is SQUARE)]


OVERLAPPING = [([1, 2], [0, 0]), ([2, 1], [3, 0]), ([0, 3], [0, 63]), ([1, 1], [2, 2])]
NOWHERE = [([4], [0]), ([-1], [0]), ([1], [4]), ([], [])]


@every("levels, codes", OVERLAPPING + NOWHERE)
def test_cells_that_overlap_or_do_not_exist_are_refused(levels, codes):
    """One person would move two of them."""
    message = "contain another" if (levels, codes) in OVERLAPPING else "^(levels|codes)"
    with pytest.raises(ValueError, match=message):
        Partition(3, np.array(levels, dtype=int), np.array(codes, dtype=int))


@every("partitions", [(), (Partition.complete(2, 1),)])
def test_partitions_of_another_grid_are_refused(partitions):
    with pytest.raises(ValueError, match="partitions must be partitions of the grid"):
        GridDivision(QuadGrid(SQUARE, 3), partitions)
