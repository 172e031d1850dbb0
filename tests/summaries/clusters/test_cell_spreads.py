import numpy as np
import pytest

from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.clusters.cell_spreads import CellSpreads
from skdp_bary.summaries.rows.persons import Chunk

N_CLASSES, N_FEATURES, N_ATOMS = 2, 3, 3
RELATIONS = ("add_remove", "replace_one", "replace_any")


def spreads(rng, pooled, n_atoms=N_ATOMS, **settings):
    return CellSpreads(
        rng.standard_normal((n_atoms, N_FEATURES)),
        rng.standard_normal((N_CLASSES, n_atoms)),
        rng.standard_normal((N_CLASSES, n_atoms, N_FEATURES)),
        1.0,
        rng.random((N_CLASSES, n_atoms)) if pooled else None,
        pooled=pooled,
        **settings,
    )


def blocks_of(query, X, codes, masses=None):
    return Sketch(query).update(Chunk(X, codes, masses)).exact_blocks()


def ratio_of(query, relation, one, other, rng, power):
    """Largest realised over stated loss for random scales of the blocks, in one norm."""
    changes = [
        (a - b).astype(object)
        for a, b in zip(blocks_of(query, *one), blocks_of(query, *other), strict=True)
    ]
    stated = query.sensitivity(relation)
    cases = stated.l1 if power == 1 else stated.l2_squared
    moved = [int((abs(change) ** power).sum()) for change in changes]
    worst = 0.0
    for _ in range(3):
        scales = np.array(query.weights()) * rng.uniform(0.2, 1.0, 3)
        loss = max(sum(n / s**power for n, s in zip(c, scales, strict=True)) for c in cases)
        worst = max(worst, sum(n / s**power for n, s in zip(moved, scales, strict=True)) / loss)
    return worst


def neighbors(query, rng, relation, trial):
    """One row against none, its opposite about the origin of its cell, or another row."""
    zero, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    if trial % 4 == 0:
        direction = np.ones(N_FEATURES) * rng.choice([-1.0, 1.0], N_FEATURES)  # largest in L1
    else:
        direction = rng.standard_normal(N_FEATURES)
    x = 0.6 * direction[None] * rng.choice([0.3, 1.0, 10.0])
    cell = query.cells_of(x, zero)[0]
    x = query.origins[0, cell] + x
    if relation == "add_remove":
        return (x, zero), (x[:0], zero[:0])
    shrink = rng.choice([0.0, 0.3, 1.0, 1.0])
    label = one if relation == "replace_any" and trial % 2 else zero
    there = query.origins[label[0], cell]
    mirrored = there - shrink * (x - query.origins[0, cell])
    return (x, zero), (mirrored, label)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("n_atoms", [1, N_ATOMS])
def test_one_person_moves_no_more_than_stated_and_nearly_as_much(relation, pooled, n_atoms):
    rng = np.random.default_rng(0)
    worst = {1: 0.0, 2: 0.0}
    for trial in range(300):
        # sizes that a neighbor could change would hide what moves inside a cell
        query = spreads(rng, pooled, n_atoms, total_public=relation != "add_remove")
        one, other = neighbors(query, rng, relation, trial)
        for power in (1, 2):
            ratio = ratio_of(query, relation, one, other, rng, power)
            worst[power] = max(worst[power], ratio)
    assert max(worst.values()) <= 1.0 + 1e-9
    assert min(worst.values()) > 0.9


def test_a_person_of_several_rows_moves_no_more_than_one_row():
    rng = np.random.default_rng(1)
    for _ in range(100):
        query = spreads(rng, True, units=1 << 20)
        rows, codes = 5.0 * rng.standard_normal((6, N_FEATURES)), np.zeros(6, dtype=np.int64)
        masses = rng.multinomial(1 << 20, np.full(3, 1 / 3)).astype(np.int64)
        one, other = (rows[:3], codes[:3], masses), (rows[3:], codes[3:], masses)
        for power in (1, 2):
            assert ratio_of(query, "replace_one", one, other, rng, power) <= 1.0 + 1e-9


def test_blocks_do_not_depend_on_the_cut_into_chunks():
    rng = np.random.default_rng(2)
    query = spreads(rng, True)
    X, codes = rng.standard_normal((503, N_FEATURES)), rng.integers(2, size=503)
    pieces = Sketch(query)
    for start in range(0, 503, 17):
        part = slice(start, start + 17)
        pieces.update(Chunk(np.asfortranarray(X[part]), codes[part], None))
    for a, b in zip(blocks_of(query, X, codes), pieces.exact_blocks(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_rows_on_a_border_go_to_the_same_cell_alone_and_beside_others():
    rng = np.random.default_rng(4)
    atoms = rng.standard_normal((2, N_FEATURES)) * 1e3
    query = CellSpreads(atoms, np.zeros((1, 2)), atoms[None], 1.0)
    across = atoms[1] - atoms[0]
    X = rng.standard_normal((400, N_FEATURES))
    X += atoms.mean(axis=0) - (X @ across / (across @ across))[:, None] * across
    codes = np.zeros(400, dtype=np.int64)
    together = query.cells_of(X, codes)
    alone = [query.cells_of(X[i : i + 1], codes[:1])[0] for i in range(400)]
    moved = query.cells_of(np.asfortranarray(X[::-1]), codes)[::-1]
    assert together.tolist() == alone == moved.tolist()


def test_sums_and_squares_are_those_of_the_residuals():
    rng = np.random.default_rng(3)
    atoms = np.array([[-2.0, 0.0], [2.0, 0.0]])
    X = np.repeat(atoms, 500, axis=0) + rng.uniform(-0.2, 0.4, (1000, 2))
    query = CellSpreads(atoms, np.zeros((1, 2)), atoms[None], 1.0)
    masses, sums, squares = blocks_of(query, X, np.zeros(1000, dtype=np.int64))
    assert masses.tolist() == [[500, 500]]
    residuals = [X[:500] - atoms[0], X[500:] - atoms[1]]
    means = [each.mean(axis=0) for each in residuals]
    np.testing.assert_allclose(sums[0] * query.row_step / 500, means, atol=1e-4)
    lengths = [(each**2).sum(axis=1).mean() for each in residuals]
    np.testing.assert_allclose(squares[0] * query.square_step / 500, lengths, atol=1e-3)


def test_factors_need_pooled_sums():
    with pytest.raises(ValueError, match="pooled"):
        CellSpreads(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1, 1)), 1.0, np.ones((1, 1)))
