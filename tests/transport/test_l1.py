"""Least absolute deviations on trees: against HiGHS, with ties spread evenly."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack, identity, vstack

from benchmarks.transport.trees import grow, l1_objective, select_top
from tests.cases import every
from tests.world import Tree, home, minimize_l1

_tree_l1 = home("minimize_l1")


def random_tree(rng, max_depth=4):
    depth = int(rng.integers(1, max_depth + 1))
    tree = Tree((rng.random(int(rng.integers(1, 5))) < 0.9,), (), int(rng.integers(0, 3)))
    density = rng.choice([0.3, 0.6, 1.0])
    for _ in range(depth):
        tree = grow(tree, tree.chosen[-1], int(rng.integers(2, 5)))
        n = tree.sizes[-1]
        chosen = rng.random(n) < min(density, 20 / max(n, 1))
        tree = Tree((*tree.chosen[:-1], chosen), tree.branching, tree.top)
    return tree


def random_values(rng, tree, integers):
    if integers:
        return tuple(rng.integers(-2, 6, size=n).astype(float) for n in tree.sizes)
    scale = 10 ** rng.uniform(-6, 6)
    return tuple(scale * rng.laplace(1, 3, size=n) * 10 ** rng.uniform(-1, 1) for n in tree.sizes)


def membership(tree):
    """For each level: cells by variables, which are the cells without listed children."""
    counts = [np.count_nonzero(mask) for mask in tree.outer]
    n, end = sum(counts), sum(counts)
    levels = [None] * (tree.depth + 1)
    for k in reversed(range(tree.depth + 1)):
        end -= counts[k]
        cells = np.flatnonzero(tree.outer[k])
        ones = np.ones(counts[k])
        levels[k] = csr_matrix((ones, (cells, end + np.arange(counts[k]))), (tree.sizes[k], n))
        if k < tree.depth:
            b, parents = tree.branching[k], np.flatnonzero(tree.chosen[k])
            entries = np.repeat(parents, b), np.arange(tree.sizes[k + 1])
            sums = csr_matrix(
                (np.ones(tree.sizes[k + 1]), entries), (tree.sizes[k], tree.sizes[k + 1])
            )
            levels[k] = levels[k] + sums @ levels[k + 1]
    return levels


def reduced_lp_optimum(tree, values):
    """Optimum by HiGHS; costs in units of the last weight and masses of about one, so exact."""
    scale = max(np.abs(v).max(initial=0) for v in values) or 1.0
    last = tree.depth
    levels = membership(tree)
    weights = [2.0 ** (last - k) for k in range(last + 1)]
    measured = vstack([m[np.flatnonzero(c)] for m, c in zip(levels, tree.chosen, strict=True)])
    target = np.concatenate([v[c] for v, c in zip(values, tree.chosen, strict=True)]) / scale * 1e3
    deviation = np.concatenate(
        [np.full(np.count_nonzero(c), w) for w, c in zip(weights, tree.chosen, strict=True)]
    )
    slack = sum(
        (2 * w - 1) * np.asarray(m[np.flatnonzero(~c)].sum(axis=0)).ravel()
        for w, m, c in zip(weights, levels, tree.chosen, strict=True)
    )
    eye = identity(len(target))
    matrix = vstack([hstack([measured, -eye]), hstack([-measured, -eye])])
    result = linprog(
        np.append(slack, deviation), A_ub=matrix, b_ub=np.append(target, -target), method="highs"
    )
    assert result.status == 0
    return result.fun * scale / 1e3 * 2.0 ** -(tree.top + last)


def assert_feasible(tree, values, masses):
    scale = sum(np.maximum(v, 0).sum() for v in values)
    assert all((m >= 0).all() for m in masses)
    for k, b in enumerate(tree.branching):
        sums = masses[k + 1].reshape(-1, b).sum(axis=1)
        np.testing.assert_allclose(sums, masses[k][tree.chosen[k]], atol=1e-14 * scale, rtol=1e-13)
    assert not masses[0][~tree.chosen[0]].any()


def check_instances(seed, n_instances):
    rng = np.random.default_rng(seed)
    for i in range(n_instances):
        tree = random_tree(rng)
        values = random_values(rng, tree, integers=i % 3 == 0)
        if not any(mask.any() for mask in tree.chosen):
            continue
        masses = minimize_l1(tree, values)
        assert_feasible(tree, values, masses)
        found, best = l1_objective(tree, values, masses), reduced_lp_optimum(tree, values)
        assert abs(found - best) <= 1e-12 * best


def test_objective_equals_highs_on_300_instances():
    check_instances(0, 300)


@pytest.mark.slow
def test_objective_equals_highs_on_10000_instances():
    check_instances(1, 10_000)


@every("seed", range(4))
def test_objective_is_that_of_the_full_pyramid(seed):
    """The definition, over all pixels and all cells: y is 0 outside the selection."""
    rng = np.random.default_rng(seed)
    top, depth = seed % 2, 3
    pyramid = [rng.laplace(1, 2, size=4 ** (top + k)) for k in range(depth)]
    tree, values = select_top(pyramid, 5, top=top)
    masses = minimize_l1(tree, values)

    side = 4 ** (top + depth - 1)
    pixels, transform, target = np.zeros(side), [], []
    for k in range(depth):
        size = 4 ** (top + k)
        cells = np.kron(np.eye(size), np.ones(side // size))
        measured = np.zeros(size)
        measured[tree.codes[k][tree.chosen[k]]] = values[k][tree.chosen[k]]
        outer = tree.outer[k]
        pixels += masses[k][outer] @ cells[tree.codes[k][outer]] * size / side
        transform.append(2.0 ** -(top + k) * cells)
        target.append(2.0 ** -(top + k) * measured)
    transform, target = np.concatenate(transform), np.concatenate(target)
    found = np.abs(target - transform @ pixels).sum()
    assert found == pytest.approx(l1_objective(tree, values, masses), rel=1e-13)

    eye = np.eye(len(target))
    matrix = np.block([[transform, -eye], [-transform, -eye]])
    cost = np.append(np.zeros(side), np.ones(len(target)))
    naive = linprog(cost, A_ub=matrix, b_ub=np.append(target, -target), method="highs")
    assert found == pytest.approx(naive.fun, rel=1e-12)


@every("integers", [False, True])
def test_dense_pyramid_equals_highs(integers):
    rng = np.random.default_rng(5)
    for depth in (1, 2, 3):
        tree = Tree.complete(depth)
        values = random_values(rng, tree, integers)
        found = l1_objective(tree, values, minimize_l1(tree, values))
        assert found == pytest.approx(reduced_lp_optimum(tree, values), rel=1e-12)


def test_both_engines_give_the_same_masses():
    rng = np.random.default_rng(7)
    for i in range(300):
        tree = random_tree(rng, max_depth=6)
        values = random_values(rng, tree, integers=i % 3 == 0)
        targets = _tree_l1._targets(tree, values)
        blocks = _tree_l1._minimize_by_histograms(tree, targets)
        lists = _tree_l1._minimize_by_segments(tree, targets)
        scale = max(np.abs(v).max(initial=0) for v in values)
        for a, b in zip(blocks, lists, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12 * scale)


@pytest.fixture(params=["histograms", "segments"])
def engine(request, monkeypatch):
    limit = {"histograms": 2**40, "segments": -1}[request.param]
    monkeypatch.setattr(_tree_l1, "_SMALL_BLOCK", limit)
    monkeypatch.setattr(_tree_l1, "_BLOCK_FACTOR", 0)


@pytest.mark.usefixtures("engine")
class TestTies:
    """What each engine does with what costs the same."""

    def test_equal_children_get_equal_masses(self):
        tree = Tree.complete(3)
        masses = minimize_l1(tree, [np.full(n, 8.0) for n in tree.sizes])
        for level in masses:
            np.testing.assert_allclose(level, 8 / len(level))

    def test_tied_capacity_is_shared_in_proportion(self):
        tree = Tree.complete(1)
        values = np.array([6.0]), np.array([2.0, 4.0, 0.0, 6.0])
        np.testing.assert_allclose(minimize_l1(tree, values)[1], [1, 2, 0, 3])

    def test_mass_beyond_all_measurements_goes_to_the_left_out(self):
        tree = Tree((np.array([True]), np.array([True, False, True, False])), (4,))
        values = np.array([10.0]), np.array([3.0, 99.0, -1.0, -99.0])
        np.testing.assert_allclose(minimize_l1(tree, values)[1], [3, 3.5, 0, 3.5])

    def test_mass_beyond_all_measurements_is_even_when_none_is_left_out(self):
        tree = Tree.complete(1)
        values = np.array([10.0]), np.array([3.0, 1.0, 0.0, -2.0])
        np.testing.assert_allclose(minimize_l1(tree, values)[1], [4.5, 2.5, 1.5, 1.5])

    def test_deeper_slopes_come_first(self):
        """Mass that two levels want is placed before mass that one level wants."""
        tree = grow(Tree.complete(1, branching=2), np.array([True, True]), branching=2)
        tree = Tree((*tree.chosen[:-1], np.array([True, True, True, True])), tree.branching)
        values = np.array([5.0]), np.array([4.0, 4.0]), np.array([3.0, 0.0, 1.0, 0.0])
        _, middle, leaves = minimize_l1(tree, values)
        # 3 and 1 units are wanted twice; the unit left is shared 1 : 3, as what once-wanted is.
        np.testing.assert_allclose(middle, [3.25, 1.75])
        np.testing.assert_allclose(leaves, [3.125, 0.125, 1.375, 0.375])

    @every("seed", range(10))
    def test_the_order_of_children_does_not_matter(self, seed):
        rng = np.random.default_rng(seed)
        tree = Tree((np.array([True]), rng.random(4) < 0.7), (4,))
        n = np.count_nonzero(tree.chosen[1])
        leaves, values = rng.random((n, 4)) < 0.6, rng.integers(0, 6, size=(n, 4)).astype(float)
        middle = rng.integers(0, 8, size=4).astype(float)

        def solve(order):
            """Masses after permuting the children of the root, in their first order again."""
            place = np.cumsum(tree.chosen[1]) - 1
            rows = place[order[tree.chosen[1][order]]]
            shuffled = Tree((tree.chosen[0], tree.chosen[1][order], leaves[rows].ravel()), (4, 4))
            given = np.array([9.0]), middle[order], values[rows].ravel()
            _, upper, lower = minimize_l1(shuffled, given)
            out_upper, out_lower = np.empty(4), np.empty((n, 4))
            out_upper[order], out_lower[rows] = upper, lower.reshape(n, 4)
            return out_upper, out_lower

        first = solve(np.arange(4))
        for _ in range(5):
            again = solve(rng.permutation(4))
            for a, b in zip(first, again, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-12)


def test_the_first_level_keeps_its_positive_parts():
    tree = Tree.complete(2, top=1)
    rng = np.random.default_rng(8)
    values = [rng.normal(size=n) * 4 for n in tree.sizes]
    assert np.array_equal(minimize_l1(tree, values)[0], np.maximum(values[0], 0))


def test_resolution_two_to_the_24():
    """A selection of 20 cells a level down to 2**24 by 2**24, solved as by HiGHS."""
    rng = np.random.default_rng(9)
    tree = Tree.complete(0, top=2)
    for _ in range(22):
        keep = np.sort(rng.permutation(tree.sizes[-1])[:20])
        chosen = np.zeros(tree.sizes[-1], dtype=bool)
        chosen[keep] = True
        tree = grow(tree, chosen)
    tree = Tree((*tree.chosen[:-1], np.arange(80) < 20), tree.branching, tree.top)
    values = [rng.exponential(10, size=n) for n in tree.sizes]
    masses = minimize_l1(tree, values)
    assert_feasible(tree, values, masses)
    best = reduced_lp_optimum(tree, values)
    assert l1_objective(tree, values, masses) == pytest.approx(best, rel=1e-12)


def test_left_out_values_are_ignored():
    tree = Tree((np.array([True]), np.array([True, False, True, False])), (4,))
    values = np.array([4.0]), np.array([1.0, np.nan, 1.0, np.inf])
    np.testing.assert_allclose(minimize_l1(tree, values)[1], 1.0)


def test_values_of_chosen_cells_must_be_finite():
    tree = Tree.complete(1)
    with pytest.raises(ValueError, match="`values` must be finite"):
        minimize_l1(tree, (np.array([4.0]), np.array([1.0, np.nan, 1.0, 1.0])))


def test_trees_without_anything_below():
    lone = Tree((np.array([True, False]),), ())
    assert minimize_l1(lone, (np.array([3.0, 5.0]),))[0].tolist() == [3, 0]
    bare = Tree((np.array([False]), np.zeros(0, dtype=bool)), (4,))
    assert [m.tolist() for m in minimize_l1(bare, (np.ones(1), np.zeros(0)))] == [[0], []]
