"""How far one person moves the answer to a query about a tree of cells, by trying."""

import itertools

import numpy as np

from skdp_bary.geometry import Box
from skdp_bary.geometry._cell_tree import CellTree
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.rows.persons import Chunk

TREE = CellTree(Box([0.0, 0.0], [1.0, 1.0]), 4)
CLASSES = 2
CELLS = (0, 1, 3, 5, 15)


def answer(query, person):
    """Exact blocks of one person: (cell, class, mass), or of nobody."""
    cell, code, mass = person
    X = TREE.centroids(4, np.array([cell]))
    chunk = Chunk(X, np.array([code]), np.array([mass]))
    return Sketch(query).update(chunk).exact_blocks()


def neighbors_of(relation, total_public, units):
    """Pairs of persons that replace each other; a mass of 0 is nobody."""
    masses = [units] if total_public else range(units + 1)
    persons = list(itertools.product(CELLS, range(CLASSES), masses))
    for first, second in itertools.combinations(persons, 2):
        moves = first[2] and second[2]
        if relation == "add_remove" and moves:
            continue
        if relation == "replace_one" and moves and first[1] != second[1]:
            continue
        yield first, second


def largest_and_stated(query, relation, n_blocks):
    """Weighted changes, over random weights, of all neighbors; and what the query states."""
    weights = np.random.default_rng(0).uniform(0.1, 1.0, size=(20, n_blocks))
    sensitivity = query.sensitivity(relation)
    cases = np.array(sensitivity.l1), np.array(sensitivity.l2_squared)
    largest = np.zeros((2, len(weights)))
    for first, second in neighbors_of(relation, query.total_public, query.units):
        changes = [a - b for a, b in zip(answer(query, first), answer(query, second), strict=True)]
        moved = [abs(c).sum() for c in changes], [(c**2).sum() for c in changes]
        largest = np.maximum(largest, [weights @ each for each in moved])
    return largest, np.array([(weights @ case.T).max(axis=1) for case in cases])
