"""Counts on trees of cells and on partitions, against plain counts; what is no partition."""

import numpy as np
import pytest

from skdp_bary.base import CellTree
from skdp_bary.geometry import Ball, Box
from tests import world
from tests.cases import every
from tests.world import answer

SQUARE = Box([0.0, 0.0], [1.0, 1.0])
QUERIES = [world.LevelCounts, world.HaarDifferences]
HALVES = [0, 8, 16]


@every("domain", [SQUARE, Ball([0.5, 0.5, 0.5], 0.5), Box([-3.0], [7.0])])
@every("depth", [0, 1, 4, 5])
def test_blocks_are_the_counts_of_all_levels(domain, depth):
    tree, rng = CellTree(domain, depth), np.random.default_rng(depth)
    X = domain.low + (domain.high - domain.low) * rng.random((500, domain.n_features)) * 1.1
    codes, masses = rng.integers(3, size=500), rng.integers(1 << 20, size=500)
    counts, differences = (
        answer(kind(tree, 3, world.PERSON_UNITS), X, codes, masses) for kind in QUERIES
    )
    leaf = tree.leaf_index(X)
    for level in range(depth + 1):
        expected = np.zeros((3, 1 << level), dtype=np.int64)
        np.add.at(expected, (codes, tree.ancestor(leaf, level)), masses)
        assert (counts[level] == expected).all()
        if level < depth:
            first, second = tree.halves(counts[level + 1], level)
            assert (differences[level + 1] == first - second).all()
    assert (differences[0] == counts[0]).all()
    chosen = tuple(range(depth, -1, -3))[::-1]
    some = answer(world.LevelCounts(tree, 3, world.PERSON_UNITS, levels=chosen), X, codes, masses)
    assert [block.tolist() for block in some] == [counts[level].tolist() for level in chosen]


def test_every_class_has_runs_and_every_row_one_nested_cell_exactly():
    """The largest masses and many rows: sums stay integers."""
    n, query = 200_000, world.LevelCounts(CellTree(Box([0.0], [1.0]), 1), 1, world.PERSON_UNITS)
    blocks = answer(query, np.full((n, 1), 0.25), None, np.full(n, world.PERSON_UNITS - 1))
    assert blocks[1].tolist() == [[n * (world.PERSON_UNITS - 1), 0]]
    tree = CellTree(Box([0.0], [1.0]), 2)
    ways = (np.array([0, 4]), np.array([0, 4])), (np.array([0, 1, 4]), np.array([0, 2, 3, 4]))
    query = world.DisjointCounts(world.RunDivision(tree, ways), 1)
    X, codes = [[0.1], [0.1], [0.6], [0.9], [0.9]], [0, 1, 1, 0, 1]
    assert [b.tolist() for b in answer(query, X, codes)] == [[2, 3], [1, 1, 1, 1, 1]]
    X = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    cells = world.NestedCells.grid(Box(-np.ones(2), np.ones(2)), 5, 2)
    cells = cells.cut(np.arange(len(cells)) % 3)
    expected = np.bincount(cells.locate(X), minlength=len(cells))
    np.testing.assert_array_equal(
        answer(world.DisjointCounts(world.NestedDivision(cells)), X)[0], expected
    )


@every("edges", [[0, 8], [1, 16], [0, 8, 8, 16], [0, 8, 4, 16], None])
def test_edges_that_are_no_partition_are_refused(edges):
    ways = [(edges, HALVES)] if edges else [(HALVES, HALVES), (HALVES,)]
    message = "edges must increase from 0 to 16" if edges else "edges for every class"
    with pytest.raises(ValueError, match=message):
        world.RunDivision(CellTree(SQUARE, 4), tuple(tuple(np.array(e) for e in w) for w in ways))
