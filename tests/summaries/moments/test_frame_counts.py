"""Second moments and grid histograms in a frame, and counts on levels of a tree."""

from fractions import Fraction

import numpy as np
import pytest

from skdp_bary.geometry import Ball, Box
from skdp_bary.geometry._cell_tree import CellTree
from skdp_bary.privacy.noise.mechanisms import Sensitivity
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.moments.frame_counts import FrameDistances, Gram, Histogram
from skdp_bary.summaries.moments.frames import Axes, Frame
from skdp_bary.summaries.rows.persons import PERSON_UNITS, Chunk
from skdp_bary.summaries.trees.level_counts import LevelCounts

RELATIONS = ("add_remove", "replace_one", "replace_any")


def frame(bits=16, axes=None):
    return Frame(Ball([0.0, 0.0, 0.0], 2.0), np.array([0.1, 0.2, 0.0]), bits, axes)


def blocks_of(query, X, masses=None):
    return Sketch(query).update(Chunk(np.atleast_2d(X), None, masses)).exact_blocks()


def gram_loss(query, before, after):
    diagonal, upper = ((a - b).astype(object) for a, b in zip(before, after, strict=True))
    return (diagonal**2).sum() + 2 * (upper**2).sum()


@pytest.mark.parametrize("units", [1, PERSON_UNITS])
@pytest.mark.parametrize("relation", RELATIONS)
def test_gram_sensitivity_holds_and_is_reached(relation, units):
    query = Gram(frame(16 if units == 1 else 12), 0.7, units)
    rows = query.frame.center + np.vstack([0.71 * np.eye(3), -np.eye(3), np.ones((1, 3)) * 9])
    mass = None if units == 1 else np.array([units])
    answers = [blocks_of(query, row, mass) for row in rows]
    others = answers if relation != "add_remove" else [blocks_of(query, np.zeros((0, 3)))]
    cases = query.sensitivity(relation).l2_squared
    allowed = max(case[0] + 2 * case[1] for case in cases)
    worst = max(gram_loss(query, a, b) for a in answers for b in others)
    assert 0.99 < Fraction(int(worst), allowed) <= 1


def test_gram_is_the_second_moment():
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((400, 3))
    query = Gram(frame(), 5.0)
    diagonal, upper = blocks_of(query, X)
    centred = X - query.frame.center
    expected = centred.T @ centred
    np.testing.assert_allclose(diagonal * query.unit, np.diag(expected), rtol=0.01)
    np.testing.assert_allclose(upper * query.unit, expected[np.triu_indices(3, 1)], atol=0.3)


def test_gram_of_weighted_rows_counts_their_mass():
    X = np.array([[0.5, 0.0, 0.0], [0.0, 0.5, 0.3]])
    query = Gram(frame(12), 5.0, PERSON_UNITS)
    both = blocks_of(query, X, np.array([PERSON_UNITS, 3]))
    first = blocks_of(query, X[:1], np.array([PERSON_UNITS]))
    second = blocks_of(query, X[1:], np.array([1]))
    for whole, a, b in zip(both, first, second, strict=True):
        np.testing.assert_array_equal(whole, a + 3 * b)


def test_histogram_cells_and_their_centers():
    axes = Axes(np.eye(3), np.array([0.25, 0.04]))
    query = Histogram(frame(axes=axes), np.array([1.0, 0.4]), (2, 1))
    X = query.frame.center + np.array([[-1.2, -0.1, 0.0], [0.1, 0.3, 0.0], [0.1, 0.2, 1.0]])
    (counts,) = blocks_of(query, X)
    assert counts.tolist() == [1, 0, 0, 0, 0, 2, 0, 0]
    np.testing.assert_allclose(query.cell_centers(np.array([5])), [[0.25, 0.2]])
    assert query.sensitivity("add_remove").l1 == ((1,),)
    assert query.sensitivity("replace_one").l2_squared == ((2,),)


def test_level_counts_are_those_of_the_tree():
    tree = CellTree(Box([0.0, 0.0], [1.0, 1.0]), 6)
    query = LevelCounts(tree, levels=(2, 6))
    X = np.random.default_rng(1).random((100, 2))
    coarse, fine = blocks_of(query, X)
    assert coarse.shape == (1, 4) and fine.shape == (1, 64)
    leaf = tree.leaf_index(X)
    np.testing.assert_array_equal(fine[0], np.bincount(leaf, minlength=64))
    np.testing.assert_array_equal(coarse[0], np.bincount(tree.ancestor(leaf, 2), minlength=4))
    assert query.sensitivity("add_remove").l1 == ((1, 1),)
    assert (2, 2) in query.sensitivity("replace_one").l1


def test_frames_map_each_row_alone():
    rng = np.random.default_rng(2)
    axes = Axes(np.linalg.qr(rng.standard_normal((3, 3)))[0], np.ones(2))
    for shape in (
        frame(),
        frame(axes=axes),
        Frame(Box([-1.0] * 3, [1.0, 2.0, 3.0]), np.zeros(3), 16),
    ):
        X = 3 * rng.standard_normal((50, 3))
        together = shape.integer_rows(X)
        alone = np.vstack([shape.integer_rows(row[None]) for row in X])
        np.testing.assert_array_equal(together, alone)
        assert (together == np.rint(together)).all()
        assert (together**2).sum(axis=1).max() <= 2.0 ** (2 * shape.bits + 1)


@pytest.mark.parametrize("units", [1, PERSON_UNITS])
def test_distances_in_a_frame_are_counted_about_any_point_of_it(units):
    rng = np.random.default_rng(0)
    X = np.vstack([0.6 * rng.standard_normal((300, 3)), np.full((2, 3), 9.0)])
    place, edges = np.array([0.3, -0.5, 0.1]), (0.25, 0.5, 1.0, 1.5)
    query = FrameDistances(frame(16 if units == 1 else 12), place, edges, units)
    masses = None if units == 1 else np.full(len(X), 7)
    (found,) = blocks_of(query, X, masses)
    inside = query.frame.domain.clip(X)
    apart = np.linalg.norm(inside - query.frame.center - place, axis=1)
    expected = np.bincount(np.searchsorted(edges[:-1], apart), minlength=4)
    assert np.abs(found - expected * (1 if masses is None else 7)).sum() <= (
        2 if units == 1 else 28
    )
    assert found.sum() == len(X) * (1 if masses is None else 7)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_row_has_one_distance(relation):
    query = FrameDistances(frame(), np.zeros(3), (0.5, 1.0, 4.0))
    rows = np.array([[0.1, 0.2, 0.0], [0.9, 0.2, 0.0], [-2.0, 0.0, 0.0], [99.0, 0.0, 0.0]])
    answers = [blocks_of(query, row)[0] for row in rows]
    others = answers if relation != "add_remove" else [blocks_of(query, np.zeros((0, 3)))[0]]
    worst = max(int(np.abs(a - b).sum()) for a in answers for b in others)
    assert query.sensitivity(relation) == Sensitivity.single(worst, worst)
