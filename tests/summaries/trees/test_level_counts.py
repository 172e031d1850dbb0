"""How far one person moves counts on some levels of a tree."""

import itertools

import numpy as np
import pytest

from skdp_bary.geometry import Box
from skdp_bary.geometry._cell_tree import CellTree
from skdp_bary.privacy._neighbors import RELATIONS
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.rows.persons import Chunk
from skdp_bary.summaries.trees.level_counts import LevelCounts

TREE = CellTree(Box([0.0, 0.0], [1.0, 1.0]), 4)
CLASSES = 2


def answer(query, person):
    """Exact blocks of one person: (cell, class, mass), or of nobody."""
    cell, code, mass = person
    X = TREE.centroids(4, np.array([cell]))
    chunk = Chunk(X, np.array([code]), np.array([mass]))
    return Sketch(query).update(chunk).exact_blocks()


def neighbors_of(relation, total_public, units):
    """Pairs of persons that replace each other; a mass of 0 is nobody."""
    masses = [units] if total_public else range(units + 1)
    persons = list(itertools.product((0, 1, 5, 15), range(CLASSES), masses))
    for first, second in itertools.combinations(persons, 2):
        moves = first[2] and second[2]
        if relation == "add_remove" and moves:
            continue
        if relation == "replace_one" and moves and first[1] != second[1]:
            continue
        yield first, second


@pytest.mark.parametrize("levels", [(0, 2, 4), (2, 4), (0, 4)])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("total_public", [False, True])
def test_no_neighbor_moves_more_than_stated_and_some_do(relation, levels, total_public):
    if total_public and relation != "replace_one":
        pytest.skip("sizes of classes are private")
    units = 2
    query = LevelCounts(TREE, CLASSES, units, total_public, levels=levels)
    sensitivity = query.sensitivity(relation)
    cases = np.array(sensitivity.l1), np.array(sensitivity.l2_squared)
    largest = np.zeros((2, len(cases[0])))
    weights = np.random.default_rng(0).uniform(0.1, 1.0, size=(20, len(levels)))
    stated = [(weights @ case.T).max(axis=1) for case in cases]
    largest = np.zeros((2, len(weights)))
    for first, second in neighbors_of(relation, total_public, units):
        changes = [a - b for a, b in zip(answer(query, first), answer(query, second), strict=True)]
        moved = [abs(c).sum() for c in changes], [(c**2).sum() for c in changes]
        largest = np.maximum(largest, [weights @ each for each in moved])
    np.testing.assert_array_less(largest, np.array(stated) * (1 + 1e-12))
    np.testing.assert_allclose(largest, stated)
