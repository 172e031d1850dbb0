"""How often rows meet on slices and planes: counted by cells, the same as over all pairs."""

import numpy as np
import pytest

from skdp_bary.geometry import Box
from tests import world
from tests.cases import every
from tests.world import answer, sketch

WIDTHS = (90, 180)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return 0.3 * rng.standard_normal((50, 2)), np.repeat([0, 1], [20, 30])


@pytest.fixture(scope="module")
def slices():
    return world.unit_slices(Box([-1.0, -1.0], [1.0, 1.0]), world.slicing_directions(2))


@pytest.fixture(scope="module")
def planes(slices):
    return world.unit_planes(slices, 0.25)


def levels_of(lattice, X):
    found = np.empty((lattice.n_directions, len(X)), dtype=np.int64)
    for rows, some, levels in lattice.levels(X):
        found[some, rows] = levels
    return found


def kernel(planes, X):
    """Return the kernel of all pairs of rows."""
    product = 1.0
    for pieces in divmod(levels_of(planes, X), planes.side):
        apart = np.abs(pieces[:, :, None] - pieces[:, None, :])
        apart = np.minimum(apart, planes.side - apart)  # numbers begin anew
        product = product * np.maximum(0.0, 1.0 - apart / world.CELL)
    return product.mean(axis=0)


def questions(slices, planes, *others):
    yield world.CohortGap(planes, *others)
    yield world.PairLaw(planes, *others)
    yield world.PairSpreads(slices, *others, widths=WIDTHS)


@every("d", [1, 2])
@every("octave", range(7))
def test_opposite_ends_do_not_meet_where_numbers_of_pieces_begin_anew(d, octave):
    slices = world.unit_slices(Box([-1.0] * d, [1.0] * d), world.slicing_directions(d))
    ends = np.array([[-1.0] * d, [1.0] * d])
    assert kernel(world.unit_planes(slices, 0.25 * 2.0**-octave), ends)[0, 1] < 0.1


def test_gap_and_law_are_those_of_all_pairs_and_a_reference_is_a_cohort(rows, planes):
    X, y = rows
    K = kernel(planes, X)
    square = K[:20, :20].mean() + K[20:, 20:].mean() - 2 * K[:20, 20:].mean()
    sizes, gap = answer(world.CohortGap(planes, None, 2), X, y)
    assert sizes.tolist() == [20, 30]
    assert gap == np.floor(np.sqrt(square) * 20 * world.FRACTION)
    X, y = rows
    query = world.CohortGap(planes, None, 2)
    alone = world.CohortGap(planes, None, 1, reference=sketch(query, X, y)._state[0][1])
    assert answer(alone, X[y == 0], None)[1] == answer(query, X, y)[1]
    X, y = rows
    query = world.PairLaw(planes, None, 2)
    _, trace, norm = answer(query, X, y)
    assert trace == np.floor((1.0 - kernel(planes, X).mean()) * 50 * world.FRACTION)
    cells = query._cells(levels_of(planes, X))
    hot = np.zeros((50, 24 * 16))
    hot[np.arange(50), cells] = 1.0
    blocks = np.cov(hot.T, bias=True).reshape(24, 16, 24, 16)
    squares = (blocks**2).sum(axis=(1, 3))
    group = np.arange(24)
    one_plane = group[:, None] // 2 == group // 2
    places = one_plane & (group[:, None] != group)
    expected = squares[places].mean() / 120 + squares[~one_plane].mean() * 119 / 120
    assert norm == np.floor(np.sqrt(expected) * 50 * world.FRACTION)


def test_few_are_filled_up_with_the_center(rows, slices, planes):
    X, y = rows
    filled = np.vstack([X, np.zeros((15, 2))]), np.append(y, [0] * 5 + [1] * 10)
    few, all_there = (questions(slices, planes, n_min, 2) for n_min in ((25, 40), None))
    for padded, whole in zip(few, all_there, strict=True):
        expected = [int(block[0]) for block in answer(whole, *filled)[1:]]
        assert [int(block[0]) for block in answer(padded, X, y)] == expected


@every("n_min", [(1 << 30, 3), (1 << 29, 1 << 29)])
def test_padding_to_the_most_persons_is_exact(rows, slices, planes, n_min):
    """Units of a person are no part of the answer, however large the mass that they make."""
    X, y = rows
    masses = np.full(50, 1 << 20)
    units = (questions(slices, planes, n_min, 2, unit) for unit in (1, 1 << 20))
    for light, heavy in zip(*units, strict=True):
        expected = [int(block[0]) for block in answer(light, X, y)]
        assert [int(block[0]) for block in answer(heavy, X, y, masses)] == expected


def test_sums_beyond_float64_are_exact():
    """Windows of masses whose products leave 53 bits."""
    histogram = np.zeros((1, 9), dtype=np.int64)
    histogram[0, [2, 3, 7]] = (1 << 41) + 1, (1 << 40) + 3, 5
    whole = [int(x) for x in histogram[0]]
    expected = sum(
        a * b * max(0, 4 - abs(i - j)) for i, a in enumerate(whole) for j, b in enumerate(whole)
    )
    assert world.meetings(histogram, histogram, (4,)) * 4 == expected
