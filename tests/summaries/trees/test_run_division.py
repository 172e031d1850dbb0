"""How far one person moves counts on partitions of a tree of cells."""

import numpy as np
import pytest

from skdp_bary.geometry import Box
from skdp_bary.geometry._cell_tree import CellTree
from skdp_bary.privacy._neighbors import RELATIONS
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.rows.persons import Chunk
from skdp_bary.summaries.trees.disjoint_counts import DisjointCounts
from skdp_bary.summaries.trees.divisions import RunDivision
from tests.summaries.trees.moved import TREE, largest_and_stated

ROOT, HALVES, UNEVEN = ([0, 16], [0, 8, 16], [0, 1, 2, 4, 8, 12, 16])
PARTITIONS = {
    "one": ((HALVES, HALVES),),
    "two": ((HALVES, HALVES), (UNEVEN, HALVES)),
    "with the totals": ((ROOT, ROOT), (UNEVEN, ROOT)),
}


class Forgetful(DisjointCounts):
    """A planted bug: who moves is said to leave one cell and to enter none."""

    def sensitivity(self, relation):
        return super().sensitivity("add_remove")


def query_of(partitions, total_public=False, kind=DisjointCounts):
    edges = tuple(tuple(np.array(e) for e in block) for block in partitions)
    return kind(RunDivision(TREE, edges), 2, total_public)


@pytest.mark.parametrize("name", PARTITIONS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("total_public", [False, True])
def test_no_neighbor_moves_more_than_stated_and_some_do(relation, name, total_public):
    if total_public and relation != "replace_one":
        pytest.skip("sizes of classes are private")
    query = query_of(PARTITIONS[name], total_public)
    largest, stated = largest_and_stated(query, relation, len(query.cells.sizes))
    np.testing.assert_allclose(largest, stated)


def test_a_planted_bug_is_found():
    query = query_of(PARTITIONS["two"], True, Forgetful)
    largest, stated = largest_and_stated(query, "replace_one", 2)
    assert (largest > stated).all()


@pytest.mark.parametrize("edges", [[0, 8], [1, 16], [0, 8, 8, 16], [0, 8, 4, 16]])
def test_edges_that_are_no_partition_are_refused(edges):
    with pytest.raises(ValueError, match="edges must increase from 0 to 16"):
        query_of(((edges, HALVES),))


def test_every_class_needs_edges():
    with pytest.raises(ValueError, match="edges for every class"):
        query_of(((HALVES, HALVES), (HALVES,)))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_runs_are_cells(d):
    tree = CellTree(Box([0.0] * d, [1.0] * d), 5)
    X = np.random.default_rng(d).random((200, d))
    paths = np.array([0, 5, 6, 7])  # of level 3
    edges = np.array([0, 4, 20, 24, 28, 32])
    query = DisjointCounts(RunDivision(tree, ((edges,),)))
    (block,) = Sketch(query).update(Chunk(X, None, None)).exact_blocks()
    above = tree.ancestor(tree.leaf_index(X), 3)
    counts = np.bincount(above, minlength=8)[tree.index_of_paths(paths, 3)]
    assert block[[0, 2, 3, 4]].tolist() == counts.tolist()
    assert block.sum() == 200
