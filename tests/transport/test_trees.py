"""Trees of cells: codes, least squares against dense algebra, and how they go deeper."""

import numpy as np
import pytest

from benchmarks.transport.trees import grow
from tests import world
from tests.cases import every


def random_tree(rng):
    tree = world.Tree((np.zeros(int(rng.integers(1, 3)), dtype=bool),), ())
    for _ in range(int(rng.integers(1, 4))):
        chosen = rng.random(tree.sizes[-1]) < 0.6
        chosen[0] = True
        tree = grow(tree, chosen, branching=int(rng.integers(2, 5)))
    return tree


def leaf_matrix(tree):
    """Rows: all cells, level by level. Columns: cells without listed children."""
    n = sum(np.count_nonzero(mask) for mask in tree.outer)
    column, rows = n, [None] * (tree.depth + 1)
    for k in reversed(range(tree.depth + 1)):
        rows[k] = np.zeros((tree.sizes[k], n))
        outer = np.flatnonzero(tree.outer[k])
        column -= len(outer)
        rows[k][outer, column + np.arange(len(outer))] = 1
        if k < tree.depth:
            below = rows[k + 1].reshape(-1, tree.branching[k], n).sum(axis=1)
            rows[k][tree.chosen[k]] = below
    return np.concatenate(rows)


def assert_adds_up(tree, masses, atol=1e-9):
    for k, b in enumerate(tree.branching):
        sums = masses[k + 1].reshape(-1, b).sum(axis=1)
        np.testing.assert_allclose(sums, masses[k][tree.chosen[k]], atol=atol)


@every("seed", range(40))
def test_equals_dense_weighted_least_squares(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    values = [rng.normal(size=n) * 5 for n in tree.sizes]
    variances = [10 ** rng.uniform(-2, 2, size=n) for n in tree.sizes]
    for k in range(tree.depth):  # inner cells may be unmeasured, leaves make the sums known
        variances[k][tree.chosen[k] & (rng.random(tree.sizes[k]) < 0.4)] = np.inf
    estimates, spreads = world.make_consistent(tree, values, variances)

    matrix = leaf_matrix(tree)
    precision = 1 / np.concatenate(variances)
    covariance = np.linalg.inv(matrix.T * precision @ matrix)
    expected = matrix @ covariance @ (matrix.T @ (precision * np.concatenate(values)))
    np.testing.assert_allclose(np.concatenate(estimates), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        np.concatenate(spreads), np.diag(matrix @ covariance @ matrix.T), rtol=1e-9
    )
    assert_adds_up(tree, estimates)


NAN, INF = np.nan, np.inf


@every(
    "values, variances, children, after",
    [
        ([1, NAN, 3, NAN], [0.5, INF, 0.25, INF], [1, 3, 3, 3], [0.5, INF, 0.25, INF]),
        ([1, 2, 3, NAN], [0.5, 0.25, 0.25, INF], [1, 2, 3, 4], [0.5, 0.25, 0.25, 3.0]),
    ],
)
def test_unmeasured_cells_share_what_is_left_of_their_sum(values, variances, children, after):
    """A sum of 10 with variance 2; the only unmeasured child is known as its sum is."""
    given = (np.array([10.0]), np.array(values)), (np.array([2.0]), np.array(variances))
    (_, found), (_, spread) = world.make_consistent(world.Tree.complete(1), *given)
    np.testing.assert_allclose(found, children)
    np.testing.assert_allclose(spread, after)


def test_what_is_known_exactly_stays_and_nothing_known_is_said_so():
    tree = world.Tree.complete(1, branching=2)
    values = np.array([10.0]), np.array([3.0, 5.0])
    (root, children), (_, spread) = world.make_consistent(tree, values, (np.zeros(1), np.ones(2)))
    assert root == 10
    np.testing.assert_allclose(children, [4, 6])
    np.testing.assert_allclose(spread, 0.5)
    (root, children), spreads = world.make_consistent(tree, values, (np.ones(1), np.zeros(2)))
    assert root == 8
    assert np.array_equal(children, values[1])
    assert not np.concatenate(spreads).any()
    tree = world.Tree.complete(1)
    estimates, spreads = world.make_consistent(
        tree, [np.full(n, np.nan) for n in tree.sizes], [np.full(n, np.inf) for n in tree.sizes]
    )
    assert not np.concatenate(estimates).any()
    assert np.isinf(np.concatenate(spreads)).all()


@every("scale", [1e-6, 1.0, 1e6])
def test_simplex_projection_satisfies_its_optimality_conditions(scale):
    rng = np.random.default_rng(4)
    rows = np.concatenate([rng.normal(size=(200, 5)), rng.integers(-2, 3, size=(200, 5))]) * scale
    totals = rng.exponential(size=400) * scale
    totals[::7] = 0
    out = world.project_simplex(rows, totals)
    assert (out >= 0).all()
    np.testing.assert_allclose(out.sum(axis=1), totals, atol=1e-14 * scale, rtol=1e-13)
    multiplier = np.where(out > 0, rows - out, -np.inf).max(axis=1, keepdims=True)
    shift = np.where(np.isfinite(multiplier), multiplier, rows.max(axis=1, keepdims=True))
    np.testing.assert_allclose(np.where(out > 0, rows - out, shift), shift + 0 * rows, rtol=1e-9)
    assert (np.where(out == 0, rows, -np.inf) <= shift + 1e-12 * scale).all()


def test_consistent_nonnegative_masses_are_kept_and_others_become_the_nearest():
    leaves = np.random.default_rng(7).exponential(size=64)
    masses = leaves.sum(keepdims=True), leaves.reshape(-1, 16).sum(axis=1)
    masses = (*masses, leaves.reshape(-1, 4).sum(axis=1), leaves)
    out = world.project_nonnegative(world.Tree.complete(3), masses)
    np.testing.assert_allclose(np.concatenate(out), np.concatenate(masses))
    values = np.array([6.0]), np.array([1.0, -5.0, 2.0, 0.0])
    np.testing.assert_allclose(
        world.project_nonnegative(world.Tree.complete(1), values)[1], [2, 0, 3, 1]
    )


def small_tree():
    masks = ([True, False, True], [False, True, False, False], [True, False, True, False])
    return world.Tree(tuple(np.array(m) for m in masks), (2, 4))


def interleave_by_hand(row, column, bits):
    code = 0
    for bit in reversed(range(bits)):
        code = 4 * code + 2 * (row >> bit & 1) + (column >> bit & 1)
    return code


def test_codes_follow_the_chosen_cells_and_leaves_have_no_children():
    tree = small_tree()
    assert tree.depth == 2
    assert tree.sizes == (3, 4, 4)
    assert [c.tolist() for c in tree.codes] == [[0, 1, 2], [0, 1, 4, 5], [4, 5, 6, 7]]
    values = np.arange(3.0), 10 + np.arange(4.0), 20 + np.arange(4.0)
    levels, codes, out = small_tree().leaves(values)
    assert levels.tolist() == [0, 1, 1, 1, 2, 2, 2, 2]
    assert codes.tolist() == [1, 0, 4, 5, 4, 5, 6, 7]
    assert out.tolist() == [1, 10, 12, 13, 20, 21, 22, 23]
    tree = world.Tree.complete(2, branching=3, top=1)
    assert tree.sizes == (3, 9, 27)
    assert all(np.array_equal(c, np.arange(len(c))) for c in tree.codes)
    assert all(mask.all() for mask in tree.chosen)


def test_malformed_trees_are_refused():
    with pytest.raises(ValueError, match=r"needs the \[4\] children"):
        world.Tree((np.ones(1, dtype=bool), np.ones(3, dtype=bool)), (4,))
    with pytest.raises(ValueError, match=r"`values` needs .* lengths \(3, 4, 4\)"):
        small_tree().check((np.ones(3), np.ones(4), np.ones(5)), "values")
    long = world.Tree((*[np.eye(1, 4, dtype=bool)[0]] * 32, np.zeros(4, dtype=bool)), (4,) * 32)
    with pytest.raises(ValueError, match="62 bits, got 6"):
        _ = long.codes


def test_cell_codes_interleave_bits():
    rng = np.random.default_rng(1)
    for bits in (1, 8, 24, 31):
        rows, columns = rng.integers(2**bits, size=(2, 200))
        expected = [
            interleave_by_hand(int(r), int(c), bits) for r, c in zip(rows, columns, strict=True)
        ]
        codes = world.cell_codes(rows, columns)
        assert codes.tolist() == expected
        assert np.array_equal(world.cell_positions(codes), (rows, columns))


def test_refine_splits_while_the_mass_shows():
    tree = world.Tree.complete(1)
    masses = (np.array([124.0]), np.array([0.0, 3.9, 20.0, 100.0]))
    refined = world.refine(tree, masses, 4.0, (4,) * 6)
    levels, codes, _ = refined.leaves([np.zeros(n) for n in refined.sizes])
    world.Partition(6, levels, codes)
    # 0 and 3.9 stay; 20, 5 are split and 1.25 not; 100, 25, 6.25 are split and 1.56 not
    assert dict(zip(*np.unique(levels, return_counts=True), strict=True)) == {1: 2, 3: 16, 4: 64}
    assert world.refine(tree, masses, 4.0, (4,) * 2).depth == 2


def test_refine_keeps_what_was_split_before_with_any_branching():
    tree = world.Tree((np.ones(1, bool), np.array([1, 0, 0, 0], bool), np.zeros(4, bool)), (4, 4))
    masses = (np.array([1.0]), np.array([0.0, 0.0, 1.0, 0.0]), np.array([0.0, 9.0, 0.0, 0.0]))
    refined = world.refine(tree, masses, 3.0, (4,) * 3)
    levels, codes, _ = refined.leaves([np.zeros(n) for n in refined.sizes])
    leaves = {k: codes[levels == k].tolist() for k in (1, 2, 3)}
    assert leaves == {1: [1, 2, 3], 2: [0, 2, 3], 3: [4, 5, 6, 7]}
    refined = world.refine(world.Tree.complete(0), (np.array([100.0]),), 20.0, (4, 2, 2))
    assert refined.sizes == (1, 4, 8)
    assert refined.branching == (4, 2)
