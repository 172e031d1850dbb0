"""Queries about images of rows: every image is made from its row alone."""

import numpy as np
import pytest

from skdp_bary.geometry import Ball
from skdp_bary.geometry._slices import SliceLattice
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.asking.row_mapped import RowMapped
from skdp_bary.summaries.rows.persons import Chunk
from skdp_bary.summaries.slices.quantiles import ProjectedQuantiles

RELATION = "replace_one"


def turned(row):
    """A map that is careless about the number of rows it is given."""
    return np.tanh(row[:, ::-1] * len(row)) * 2.0


@pytest.fixture
def query():
    lattice = SliceLattice(Ball([0.0, 0.0], 1.0), np.eye(2))
    return RowMapped(turned, ProjectedQuantiles(lattice, n_quantiles=4))


def answer(query, X):
    return Sketch(query).update(Chunk(X, None, None)).exact_blocks()


def test_the_query_is_asked_about_the_image_of_every_row(query):
    X = np.random.default_rng(0).normal(size=(30, 2))
    images = np.concatenate([turned(row[None]) for row in X])
    for found, expected in zip(answer(query, X), answer(query.query, images), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert query.sensitivity(RELATION) == query.query.sensitivity(RELATION)
    assert answer(query, X[:0])[0].tolist() == [0]


def test_no_replaced_row_moves_the_answer_further_than_stated(query):
    rng = np.random.default_rng(1)
    (_, most), largest = query.sensitivity(RELATION).l2_squared[0], 0.0
    for X in (rng.normal(size=(40, 2)), np.zeros((40, 2))):
        for old, new in ([1e6, 1e6], [-1e6, -1e6]), ([0.0, 0.0], [9.0, -9.0]):
            X[0] = old
            other = X.copy()
            other[0] = new
            moved = answer(query, X)[1] - answer(query, other)[1]
            largest = max(largest, float((moved**2).sum()))
    assert 0.25 * most < largest <= most
