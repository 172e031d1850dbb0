import numpy as np
import pytest

from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.clusters.cell_sums import CellSums
from skdp_bary.summaries.moments.moments import Moments, symmetric
from skdp_bary.summaries.rows.persons import PERSON_UNITS, Chunk

N_CLASSES, N_FEATURES, N_ATOMS = 2, 3, 4
RELATIONS = ("add_remove", "replace_one", "replace_any")


def moments(rng, second, mapped, **settings):
    components = rng.standard_normal((2, N_FEATURES)) if mapped else None
    centers = 0.1 * rng.standard_normal((N_CLASSES, N_FEATURES))
    return Moments(centers, 1.0, components, second, **settings)


def cell_sums(rng, factors, mapped, **settings):
    components = rng.standard_normal((2, N_FEATURES)) if mapped else None
    return CellSums(
        rng.standard_normal((N_ATOMS, 2 if mapped else N_FEATURES)),
        rng.standard_normal((N_CLASSES, N_ATOMS)),
        rng.standard_normal((N_ATOMS, N_FEATURES)),
        1.0,
        rng.random((N_CLASSES, N_ATOMS)) if factors else None,
        components,
        **settings,
    )


def blocks_of(query, X, codes, masses=None):
    return Sketch(query).update(Chunk(X, codes, masses)).exact_blocks()


def largest_ratio(query, relation, one, other, rng):
    """Largest realised loss over stated loss, over random block scales and both norms."""
    changes = [
        (a - b).astype(object)
        for a, b in zip(blocks_of(query, *one), blocks_of(query, *other), strict=True)
    ]
    stated = query.sensitivity(relation)
    worst = 0.0
    for power, cases in ((1, stated.l1), (2, stated.l2_squared)):
        moved = [int((abs(change) ** power).sum()) for change in changes]
        for _ in range(3):
            scales = np.array(query.weights()) * rng.uniform(0.1, 1.0, len(changes))
            loss = max(sum(n / s**power for n, s in zip(c, scales, strict=True)) for c in cases)
            worst = max(worst, sum(n / s**power for n, s in zip(moved, scales, strict=True)) / loss)
    return worst


def neighbors(rng, relation, trial):
    """One far row against none, its opposite, another one, or another class."""
    x = 3.0 * rng.standard_normal((1, N_FEATURES))
    zero, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    if relation == "add_remove":
        return (x, zero), (x[:0], zero[:0])
    y = (-x, 3.0 * rng.standard_normal((1, N_FEATURES)), 0.0 * x)[trial % 3]
    return (x, zero), (y, one if relation == "replace_any" and trial % 2 else zero)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("second", ["none", "pooled", "classes"])
def test_moments_never_move_by_more_than_stated(relation, second):
    rng = np.random.default_rng(0)
    ratios = [
        largest_ratio(
            moments(rng, second, trial % 2), relation, *neighbors(rng, relation, trial), rng
        )
        for trial in range(120)
    ]
    assert 0.9 < max(ratios) <= 1.0 + 1e-9


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("factors", [False, True])
def test_cell_sums_never_move_by_more_than_stated(relation, factors):
    rng = np.random.default_rng(1)
    ratios = [
        largest_ratio(
            cell_sums(rng, factors, trial % 2), relation, *neighbors(rng, relation, trial), rng
        )
        for trial in range(200)
    ]
    assert 0.9 < max(ratios) <= 1.0 + 1e-9


def test_one_person_with_many_rows_moves_no_more_than_one_row():
    rng = np.random.default_rng(2)
    masses = np.full(4, PERSON_UNITS // 4)
    for trial in range(50):
        rows, codes = 3.0 * rng.standard_normal((4, N_FEATURES)), rng.integers(2, size=4)
        nobody = (rows[:0], codes[:0], masses[:0])
        for query in (
            moments(rng, "classes", False, units=PERSON_UNITS),
            cell_sums(rng, True, False, units=PERSON_UNITS),
        ):
            person = (rows, codes, masses)
            assert largest_ratio(query, "add_remove", person, nobody, rng) <= 1.0 + 1e-9, trial


def test_moments_are_those_of_the_rows():
    rng = np.random.default_rng(3)
    X, codes = rng.uniform(-0.3, 0.3, (500, N_FEATURES)), rng.integers(2, size=500)
    query = Moments(np.zeros((2, N_FEATURES)), 1.0, second="classes")
    masses, sums, diagonal, upper = blocks_of(query, X, codes)
    for code in range(2):
        rows = X[codes == code]
        assert masses[code] == len(rows)
        np.testing.assert_allclose(sums[code] * query.step, rows.sum(axis=0), atol=0.02)
        scatter = symmetric(diagonal[code], upper[code]) * query.step**2
        np.testing.assert_allclose(scatter, rows.T @ rows, atol=0.02)


def test_weighted_moments_are_exact_integers():
    rng = np.random.default_rng(4)
    X, masses = rng.uniform(-0.5, 0.5, (3000, 2)), rng.integers(PERSON_UNITS + 1, size=3000)
    query = Moments(np.zeros((1, 2)), 1.0, second="pooled", units=PERSON_UNITS)
    rows = query._lattice.quantise(X).astype(object)
    truth = (rows * masses[:, None]).T @ rows
    _, _, diagonal, upper = blocks_of(query, X, np.zeros(3000, dtype=np.int64), masses)
    assert diagonal[0].tolist() == [truth[0, 0], truth[1, 1]]
    assert upper[0].tolist() == [truth[0, 1]]


def test_cells_and_sums_do_not_depend_on_the_cut_into_chunks():
    rng = np.random.default_rng(5)
    query = cell_sums(rng, True, True)
    X, codes = rng.standard_normal((1003, N_FEATURES)), rng.integers(2, size=1003)
    whole = blocks_of(query, X, codes)
    pieces = Sketch(query)
    for start in range(0, 1003, 17):
        part = slice(start, start + 17)
        pieces.update(Chunk(np.asfortranarray(X[part]), codes[part], None))
    for a, b in zip(whole, pieces.exact_blocks(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_cell_sums_recover_the_mean_residual():
    rng = np.random.default_rng(6)
    atoms = np.array([[-2.0, 0.0], [2.0, 0.0]])
    X = np.repeat(atoms, 500, axis=0) + rng.uniform(-0.2, 0.4, (1000, 2))
    query = CellSums(atoms, np.zeros((1, 2)), atoms, 1.0)
    masses, sums = blocks_of(query, X, np.zeros(1000, dtype=np.int64))
    assert masses.tolist() == [[500, 500]]
    np.testing.assert_allclose(
        sums * query.row_step / 500,
        [X[:500].mean(0) - atoms[0], X[500:].mean(0) - atoms[1]],
        atol=1e-4,
    )
