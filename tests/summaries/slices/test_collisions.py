"""How often rows meet: counted by cells, the same as over all pairs."""

import numpy as np
import pytest

from skdp_bary.geometry import Ball, Box
from skdp_bary.geometry._unit_slices import slicing_directions, unit_slices
from skdp_bary.summaries.rows.persons import Chunk
from skdp_bary.summaries.slices.collisions import (
    FRACTION,
    CohortGap,
    PairLaw,
    PairSpreads,
    meetings,
)

WIDTHS = (90, 180)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return 0.3 * rng.standard_normal((50, 2)), np.repeat([0, 1], [20, 30])


@pytest.fixture(scope="module")
def slices():
    return unit_slices(Box([-1.0, -1.0], [1.0, 1.0]), slicing_directions(2))


def levels_of(slices, X):
    found = np.empty((slices.n_directions, len(X)), dtype=np.int64)
    for rows, some, levels in slices.levels(X):
        found[some, rows] = levels
    return found


def kernel(slices, X):
    """Return the kernel of all pairs of rows."""
    levels = levels_of(slices, X)
    apart = np.abs(levels[:, :, None] - levels[:, None, :])
    return np.mean([np.maximum(0.0, 1.0 - apart / w).mean(axis=0) for w in WIDTHS], axis=0)


def answers(query, X, y, masses=None):
    state = query.zeros()
    query.count(state, Chunk(X, y, masses))
    return query.blocks(state)


def test_the_gap_is_that_of_all_pairs(rows, slices):
    X, y = rows
    K = kernel(slices, X)
    square = K[:20, :20].mean() + K[20:, 20:].mean() - 2 * K[:20, 20:].mean()
    sizes, gap = answers(CohortGap(slices, None, 2, widths=WIDTHS), X, y)
    assert sizes.tolist() == [20, 30]
    assert gap == np.floor(np.sqrt(square) * 20 * FRACTION)


def test_a_reference_is_a_cohort(rows, slices):
    X, y = rows
    query = CohortGap(slices, None, 2, widths=WIDTHS)
    state = query.zeros()
    query.count(state, Chunk(X, y, None))
    alone = CohortGap(slices, None, 1, widths=WIDTHS, reference=state[0][1])
    assert answers(alone, X[y == 0], None)[1] == answers(query, X, y)[1]


def test_the_law_is_that_of_all_pairs(rows, slices):
    X, y = rows
    query = PairLaw(slices, None, 2, widths=WIDTHS)
    _, trace, norm = answers(query, X, y)
    assert trace == np.floor((1.0 - kernel(slices, X).mean()) * 50 * FRACTION)
    hot = np.zeros((50, query.n_groups * query.n_cells))
    hot[np.arange(50), query._cells(levels_of(slices, X))] = 1.0
    covariance = np.cov(hot.T, bias=True) / query.n_groups
    assert norm == np.floor(np.linalg.norm(covariance) * 50 * FRACTION)


def test_spreads_are_sums_over_widths(rows, slices):
    X, y = rows
    single = [answers(PairLaw(slices, None, 2, widths=(w,)), X, y)[1] for w in WIDTHS]
    spread = answers(PairSpreads(slices, None, 2, widths=WIDTHS), X, y)[1]
    assert abs(int(spread[0]) - int(sum(single)[0])) <= 2  # each is rounded down


def test_few_are_filled_up_with_the_center(rows, slices):
    X, y = rows
    filled = np.vstack([X, np.zeros((15, 2))]), np.append(y, [0] * 5 + [1] * 10)
    for cls in (CohortGap, PairLaw, PairSpreads):
        padded = answers(cls(slices, (25, 40), 2, widths=WIDTHS), X, y)
        whole = answers(cls(slices, None, 2, widths=WIDTHS), *filled)[1:]
        assert [int(b[0]) for b in padded] == [int(b[0]) for b in whole]


def test_masses_of_many_persons_are_counted_exactly(rows, slices):
    """Large masses take another way through the same integers."""
    X, y = rows
    for cls in (CohortGap, PairLaw, PairSpreads):
        plain = answers(cls(slices, None, 2, 1, widths=WIDTHS), X, y)
        masses = np.full(50, 1 << 20)
        heavy = answers(cls(slices, None, 2, 1 << 20, widths=WIDTHS), X, y, masses)
        assert [int(b[0]) for b in plain[1:]] == [int(b[0]) for b in heavy[1:]]


@pytest.mark.parametrize("n_min", [(1 << 30, 3), (1 << 29, 1 << 29)])
def test_padding_to_the_most_persons_is_exact(rows, slices, n_min):
    """Units of a person are no part of the answer, however large the mass that they make."""
    X, y = rows
    for cls in (CohortGap, PairLaw, PairSpreads):
        plain = answers(cls(slices, n_min, 2, 1, widths=WIDTHS), X, y)
        masses = np.full(50, 1 << 20)
        heavy = answers(cls(slices, n_min, 2, 1 << 20, widths=WIDTHS), X, y, masses)
        assert [int(b[0]) for b in plain] == [int(b[0]) for b in heavy]


def test_sums_beyond_float64_are_exact():
    """Windows of masses whose products leave 53 bits."""
    histogram = np.zeros((1, 9), dtype=np.int64)
    histogram[0, [2, 3, 7]] = (1 << 41) + 1, (1 << 40) + 3, 5
    whole = [int(x) for x in histogram[0]]
    expected = sum(
        a * b * max(0, 4 - abs(i - j)) for i, a in enumerate(whole) for j, b in enumerate(whole)
    )
    assert meetings(histogram, histogram, (4,)) * 4 == expected


@pytest.mark.parametrize("domain", [Box([0.0, -5.0], [1.0, 1e4]), Ball([3.0, 1.0], 7.0)])
def test_levels_do_not_depend_on_units_or_other_rows(domain):
    slices = unit_slices(domain, slicing_directions(2))
    rng = np.random.default_rng(1)
    X = domain.center + 2.0 * (domain.high - domain.low) * (rng.random((40, 2)) - 0.5)
    X[0] = 1e300
    levels = levels_of(slices, X)
    assert levels.min() >= 0 and levels.max() < slices.n_levels
    for i in range(len(X)):
        assert np.array_equal(levels_of(slices, X[i : i + 1])[:, 0], levels[:, i])
    np.testing.assert_allclose(slices.scaled(slices.unscaled(X[1:] * 0.0 + 0.3)), 0.3)
