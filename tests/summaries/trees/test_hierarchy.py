"""Tree queries: what they count, and how far one person moves them, by enumeration."""

import itertools

import numpy as np
import pytest

from skdp_bary.geometry import Ball, Box
from skdp_bary.geometry._cell_tree import CellTree
from skdp_bary.privacy._neighbors import ADD_REMOVE, RELATIONS, REPLACE_ANY, REPLACE_ONE
from skdp_bary.privacy.noise.mechanisms import DiscreteLaplace, RoundedGaussian
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.rows.persons import PERSON_UNITS, WEIGHT_UNITS, Chunk, person_masses
from skdp_bary.summaries.trees.hierarchy import CellCounts, HaarDifferences

QUERIES = [CellCounts, HaarDifferences]
SQUARE = Box([0.0, 0.0], [1.0, 1.0])
RNG = np.random.default_rng(0)


def leaf_points(tree):
    index = np.arange(tree.n_cells)
    return tree.centroids(tree.depth, index)


def answer(query, X, codes=None, masses=None):
    codes = None if codes is None else np.asarray(codes)
    masses = None if masses is None else np.asarray(masses)
    return Sketch(query).update(Chunk(np.atleast_2d(X), codes, masses)).exact_blocks()


def norms(first, second):
    """L1 and squared L2 change of every block."""
    changes = [a - b for a, b in zip(first, second, strict=True)]
    return (
        [int(np.abs(c).sum()) for c in changes],
        [int((c.astype(object) ** 2).sum()) for c in changes],
    )


def check_changes(query, relation, pairs, tight=0.9):
    """Every change is within the stated cases for all noise scales, and some change nearly is."""
    sensitivity = query.sensitivity(relation)
    l1, l2 = (np.array(n, dtype=float) for n in zip(*pairs, strict=True))
    width = l1.shape[1]
    factors = np.exp(3.0 * RNG.standard_normal((300, width)))
    factors = np.vstack([factors, np.ones(width), np.eye(width) + 1e-9])
    for found, cases in ((l1, sensitivity.l1), (l2, sensitivity.l2_squared)):
        stated = (factors @ np.array(cases, dtype=float).T).max(axis=1)
        seen = (factors @ found.T).max(axis=1)
        assert (seen <= stated * (1 + 1e-12)).all()
        assert (seen >= tight * (1 - 1e-12) * stated).all()


def persons_of_one_row(query, n_classes, masses=(None,)):
    """Answers for every person of one row: (label, mass, blocks)."""
    points = leaf_points(query.tree)
    return [
        (label, mass, answer(query, x, [label], None if mass is None else [mass]))
        for label in range(n_classes)
        for x in points
        for mass in masses
    ]


def neighbor_pairs(persons, relation, nobody):
    if relation == ADD_REMOVE:
        return [norms(blocks, nobody) for _, _, blocks in persons]
    pairs = itertools.combinations(persons, 2)
    return [norms(a[2], b[2]) for a, b in pairs if relation == REPLACE_ANY or a[0] == b[0]]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("n_classes", [1, 2])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", QUERIES)
def test_all_pairs_of_positions_of_one_row(kind, depth, n_classes, relation):
    public = relation == REPLACE_ONE or (relation == REPLACE_ANY and n_classes == 1)
    query = kind(CellTree(SQUARE, depth), n_classes, 1, public)
    persons = persons_of_one_row(query, n_classes)
    nobody = query.blocks(query.zeros())
    check_changes(query, relation, neighbor_pairs(persons, relation, nobody), tight=1.0)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("n_classes", [1, 2])
@pytest.mark.parametrize("kind", QUERIES)
def test_all_pairs_of_positions_and_weights(kind, n_classes, relation):
    query = kind(CellTree(SQUARE, 3), n_classes, WEIGHT_UNITS, False)
    masses = (0, 1, WEIGHT_UNITS // 3, WEIGHT_UNITS)
    persons = persons_of_one_row(query, n_classes, masses)
    nobody = query.blocks(query.zeros())
    check_changes(query, relation, neighbor_pairs(persons, relation, nobody), tight=1.0)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", QUERIES)
def test_persons_of_several_rows_in_several_classes(kind, relation):
    """Random persons of up to five rows; under replace_one each row keeps its label."""
    tree = CellTree(SQUARE, 3)
    public = relation == REPLACE_ONE
    query = kind(tree, 2, PERSON_UNITS, public)
    points = leaf_points(tree)
    rng = np.random.default_rng(1)

    def person(labels):
        X = points[rng.integers(len(points), size=len(labels))]
        masses = person_masses(X, labels, np.zeros(len(labels), dtype=np.int64), None)
        assert masses.sum() == PERSON_UNITS
        return labels, None, answer(query, X, labels, masses)

    pairs = []
    nobody = query.blocks(query.zeros())
    for _ in range(1500):
        first = person(rng.integers(2, size=rng.integers(1, 6)))
        if relation == ADD_REMOVE:
            pairs.append(norms(first[2], nobody))
            continue
        labels = first[0]
        if relation == REPLACE_ANY:
            labels = rng.integers(2, size=rng.integers(1, 6))
        pairs.append(norms(first[2], person(labels)[2]))
    check_changes(query, relation, pairs, tight=0.6)


def test_a_wrong_sensitivity_would_be_seen():
    """The paths of a Haar move are not all alike: leaving a case out must fail the check."""

    class TooSmall(HaarDifferences):
        def _moves(self):
            return super()._moves()[1:]

    query = TooSmall(CellTree(SQUARE, 3), 1, 1, True)
    pairs = neighbor_pairs(persons_of_one_row(query, 1), REPLACE_ONE, None)
    with pytest.raises(AssertionError):
        check_changes(query, REPLACE_ONE, pairs)


def test_replace_moves_across_classes_only_under_replace_any():
    query = CellCounts(CellTree(SQUARE, 2), 2, 1, False)
    within, across = (query.sensitivity(r) for r in (REPLACE_ONE, REPLACE_ANY))
    assert max(case[0] for case in within.l1) == 1
    assert max(case[0] for case in across.l1) == 2


@pytest.mark.parametrize("kind", QUERIES)
def test_total_public_is_no_excuse_under_add_remove(kind):
    query = kind(CellTree(SQUARE, 2), 1, 1, True)
    assert all(scale > 0 for scale in DiscreteLaplace(1.0).scales(query.sensitivity(ADD_REMOVE)))
    scales = RoundedGaussian(1.0).scales(query.sensitivity(REPLACE_ONE))
    assert scales[0] == 0.0
    assert all(scale > 0 for scale in scales[1:])


@pytest.mark.parametrize("kind", QUERIES)
def test_depth_zero(kind):
    query = kind(CellTree(SQUARE, 0), 1, 1, True)
    assert query.sensitivity(ADD_REMOVE).l1 == ((1,),)
    assert query.sensitivity(REPLACE_ONE).l1 == ((0,),)
    assert [b.tolist() for b in answer(query, [[0.2, 0.3], [0.9, 0.1]])] == [[[2]]]


# What is counted


@pytest.mark.parametrize("domain", [SQUARE, Ball([0.5, 0.5, 0.5], 0.5), Box([-3.0], [7.0])])
@pytest.mark.parametrize("depth", [0, 1, 4, 5])
def test_blocks_are_the_counts_of_all_levels(domain, depth):
    tree = CellTree(domain, depth)
    rng = np.random.default_rng(depth)
    X = domain.low + (domain.high - domain.low) * rng.random((500, domain.n_features)) * 1.1
    codes = rng.integers(3, size=500)
    masses = rng.integers(1 << 20, size=500)
    counts = answer(CellCounts(tree, 3, PERSON_UNITS), X, codes, masses)
    differences = answer(HaarDifferences(tree, 3, PERSON_UNITS), X, codes, masses)
    leaf = tree.leaf_index(X)
    for level in range(depth + 1):
        expected = np.zeros((3, 1 << level), dtype=np.int64)
        np.add.at(expected, (codes, tree.ancestor(leaf, level)), masses)
        assert (counts[level] == expected).all()
        if level < depth:
            first, second = tree.halves(counts[level + 1], level)
            assert (differences[level + 1] == first - second).all()
    assert (differences[0] == counts[0]).all()


def test_masses_above_float_precision_are_added_exactly():
    """The largest masses and many rows: sums stay integers."""
    query = CellCounts(CellTree(Box([0.0], [1.0]), 1), 1, PERSON_UNITS)
    n = 200_000
    masses = np.full(n, PERSON_UNITS - 1)
    blocks = answer(query, np.full((n, 1), 0.25), None, masses)
    assert blocks[1].tolist() == [[n * (PERSON_UNITS - 1), 0]]


def test_sketches_add_up_and_share_nothing():
    tree = CellTree(SQUARE, 3)
    rng = np.random.default_rng(0)
    X = rng.random((100, 2))
    for kind in QUERIES:
        whole = answer(kind(tree), X)
        parts = [Sketch(kind(tree)).update(Chunk(x, None, None)) for x in np.split(X, [7, 7, 60])]
        merged = parts[0]
        for part in parts[1:]:
            merged.merge(part)
        again = merged.exact_blocks()
        assert all((a == b).all() for a, b in zip(whole, again, strict=True))


def test_queries_compare_by_value_and_hash():
    first, second = (CellCounts(CellTree(Box([0.0], [1.0]), 2), 1, 1, True) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
