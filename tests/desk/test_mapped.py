"""Queries about images of rows are the queries about the images, each made from its row alone."""

import numpy as np

from skdp_bary.base import Moments
from skdp_bary.geometry import Ball, Box
from tests.cases import every
from tests.world import InWidths, Mapped, ProjectedQuantiles, RowMapped, SliceLattice, answer, same

COMPONENTS = np.array([[0.0, 1.0], [0.5, 0.5]])
BOX = Box([-1.0, -2.0], [1.0, 6.0])
X = np.random.default_rng(0).normal(size=(30, 2))


def turned(row):
    """A map that is careless about the number of rows it is given."""
    return np.tanh(row[:, ::-1] * len(row)) * 2.0


@every(
    "kind, how, images",
    [
        (RowMapped, turned, np.concatenate([turned(row[None]) for row in X])),
        (Mapped, COMPONENTS, X @ COMPONENTS.T),
        (InWidths, BOX, (BOX.clip(X) - BOX.low) / (BOX.high - BOX.low)),
    ],
)
def test_the_query_is_asked_about_the_images(kind, how, images):
    lattice = SliceLattice(Ball([0.0, 0.0], 2.0), np.eye(2))
    queries = Moments(np.full((1, 2), 0.1), 3.0), ProjectedQuantiles(lattice, n_quantiles=4)
    for query in queries:
        mapped = kind(how, query)
        assert same(answer(mapped, X), answer(query, images))
        assert mapped.sensitivity("replace_one") == query.sensitivity("replace_one")
        assert answer(mapped, X[:0])[0].tolist() == [0]
