"""The exact cost of histograms against other solvers."""

from fractions import Fraction

import numpy as np
import pytest

from skdp_bary.geometry import Ball, tight_frame
from skdp_bary.geometry._slices import SliceLattice
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.rows.persons import Chunk
from skdp_bary.summaries.slices.cost import ProjectedCost, coupling_cost
from skdp_bary.summaries.slices.quantiles import ProjectedQuantiles
from skdp_bary.transport import DiscreteMeasure, univariate_cost


@pytest.mark.parametrize("p", [1, 2])
def test_the_cost_is_that_of_the_monotone_coupling(p):
    rng = np.random.default_rng(p)
    levels = np.arange(30)[:, None].astype(float)
    for _ in range(20):
        first, second = rng.multinomial(17, np.ones(30) / 30), rng.integers(4, size=30)
        second[3] += 1
        total = coupling_cost(first, 17, second, int(second.sum()), p)
        ours, theirs = (DiscreteMeasure(levels, side / side.sum()) for side in (first, second))
        expected = univariate_cost(ours, theirs, p=p)
        assert total / (17 * second.sum()) == pytest.approx(expected, rel=1e-12)


def test_large_masses_are_exact():
    first, second = np.array([0, 3, 2]), np.array([4, 0, 3])
    small = coupling_cost(first, 5, second, 7, 2)
    for scale in (1 << 20, 1 << 40):
        large = coupling_cost(first * scale, 5 * scale, second * scale, 7 * scale, 2)
        assert large == small * scale**2


@pytest.mark.parametrize("p", [1, 2])
def test_rows_of_any_number_are_compared(p):
    """Unequal numbers of rows need the exact coupling: none of them may be left out."""
    lattice = SliceLattice(Ball([0.0, 1.0], 2.0), tight_frame(2, 5, np.random.default_rng(0)))
    rng = np.random.default_rng(1)
    X, Y = lattice.domain.sample(50, rng), lattice.domain.sample(31, rng)
    reference = ProjectedQuantiles(lattice).public_histogram(Y)
    query = ProjectedCost(lattice, None, reference=reference, p=p)
    sizes, numbers = Sketch(query).update(Chunk(X, None, None)).exact_blocks()
    expected = np.mean(
        [
            univariate_cost(DiscreteMeasure(X @ u[:, None]), DiscreteMeasure(Y @ u[:, None]), p=p)
            for u in lattice.directions.T
        ]
    )
    assert query.cost(numbers[0, 0], float(sizes[0])) == pytest.approx(expected, rel=5e-3)


def test_the_bound_for_squares_is_reached_on_the_line():
    """The reference at one end, one row from that end to the other."""
    lattice = SliceLattice(Ball([0.0], 1.0), np.array([[1.0]]))
    reference = ProjectedQuantiles(lattice).public_histogram(np.array([[1.0]]))
    query = ProjectedCost(lattice, None, reference=reference, p=2)
    old, new = (
        Sketch(query).update(Chunk(np.array([[end], [0.0]]), None, None)).exact_blocks()[1][0, 0]
        for end in (1.0, -1.0)
    )
    (_, bound), *_ = query.sensitivity("replace_one").l1
    assert 0.99 * bound < new - old <= bound
    assert query.cost(float(new - old), 1.0) == pytest.approx(4.0)
    assert Fraction(bound) < (2 * 2048 + 2) ** 2
