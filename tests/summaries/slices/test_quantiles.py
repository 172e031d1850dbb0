"""Exact block means of quantised projections."""

from fractions import Fraction

import numpy as np
import pytest

from skdp_bary.geometry import Ball, tight_frame
from skdp_bary.geometry._slices import SliceLattice
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.rows.persons import Chunk
from skdp_bary.summaries.slices.quantiles import ProjectedQuantiles


@pytest.fixture
def lattice():
    return SliceLattice(Ball([0.0, 1.0], 2.0), tight_frame(2, 5, np.random.default_rng(0)))


@pytest.mark.parametrize("n, m", [(1, 1), (1, 4), (5, 2), (7, 3), (3, 8), (12, 4), (100, 33)])
def test_block_means_are_exact(lattice, n, m):
    """Against fractions of the sorted levels: no array_split and no interpolated quantile."""
    query = ProjectedQuantiles(lattice, None, n_quantiles=m)
    X = lattice.domain.sample(n, np.random.default_rng(n))
    X[n // 2] = X[0]
    _, sums = Sketch(query).update(Chunk(X, None, None)).exact_blocks()
    for line, levels in zip(sums[0], query.public_levels(X), strict=True):
        copies = sorted(levels.tolist() * m)  # n * m values of mass 1 / (n m), n in a block
        expected = [sum(copies[b * n : (b + 1) * n]) for b in range(m)]
        assert line.tolist() == expected


def test_weights_are_shares_of_mass(lattice):
    query = ProjectedQuantiles(lattice, None, n_quantiles=3)
    X = lattice.domain.sample(4, np.random.default_rng(1))
    counts = np.array([1, 3, 0, 2])
    once = query.level_means(query.public_levels(X), counts)
    np.testing.assert_array_equal(once, query.public_means(np.repeat(X, counts, axis=0)))


def test_public_means_are_those_of_the_distribution(lattice):
    query = ProjectedQuantiles(lattice, None, n_quantiles=4)
    X = lattice.domain.sample(1000, np.random.default_rng(2))
    sorted_projections = np.sort((X - lattice.domain.center) @ lattice.directions, axis=0)
    expected = sorted_projections.reshape(4, 250, 5).mean(axis=1).T
    np.testing.assert_allclose(query.public_means(X), expected, atol=lattice.step / 2)


def test_padded_answers_are_rounded_down(lattice):
    query = ProjectedQuantiles(lattice, (7,), n_quantiles=2)
    X = lattice.domain.sample(9, np.random.default_rng(3))
    (padded,) = Sketch(query).update(Chunk(X, None, None)).exact_blocks()
    public = ProjectedQuantiles(lattice, None, n_quantiles=2)
    _, sums = Sketch(public).update(Chunk(X, None, None)).exact_blocks()
    floors = [(Fraction(int(s), 9) * 7).__floor__() for s in sums.ravel()]
    assert padded.ravel().tolist() == floors
