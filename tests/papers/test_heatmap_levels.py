"""Heatmaps level by level: the selection, and least absolute deviations against HiGHS."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, hstack, identity, vstack

from benchmarks.transport.trees import grow, l1_objective, select_top
from skdp_bary.papers import LevelwiseEMDHeatmap
from tests.cases import every
from tests.world import Tree, home, minimize_l1

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

_levels = home("minimize_l1")


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


def test_objective_equals_highs_on_300_instances():
    rng = np.random.default_rng(0)
    for i in range(300):
        tree = random_tree(rng)
        values = random_values(rng, tree, integers=i % 3 == 0)
        if not any(mask.any() for mask in tree.chosen):
            continue
        masses = minimize_l1(tree, values)
        assert_feasible(tree, values, masses)
        found, best = l1_objective(tree, values, masses), reduced_lp_optimum(tree, values)
        assert abs(found - best) <= 1e-12 * best


@pytest.fixture(params=["histograms", "segments"])
def engine(request, monkeypatch):
    limit = {"histograms": 2**40, "segments": -1}[request.param]
    monkeypatch.setattr(_levels, "_SMALL_BLOCK", limit)
    monkeypatch.setattr(_levels, "_BLOCK_FACTOR", 0)


@pytest.mark.usefixtures("engine")
class TestTies:
    """What each engine does with what costs the same."""

    def test_equal_children_get_equal_masses(self):
        tree = Tree.complete(3)
        for level in minimize_l1(tree, [np.full(n, 8.0) for n in tree.sizes]):
            np.testing.assert_allclose(level, 8 / len(level))

    @every(
        "values, chosen, leaves",
        [
            # tied capacity is shared in proportion
            ([6.0, [2.0, 4.0, 0.0, 6.0]], None, [1, 2, 0, 3]),
            # mass beyond all measurements goes to the left out, and evenly when there is none
            ([10.0, [3.0, 99.0, -1.0, -99.0]], [True, False, True, False], [3, 3.5, 0, 3.5]),
            ([10.0, [3.0, 1.0, 0.0, -2.0]], None, [4.5, 2.5, 1.5, 1.5]),
        ],
    )
    def test_what_is_left_is_shared(self, values, chosen, leaves):
        tree = Tree((np.array([True]), np.array(chosen or [True] * 4)), (4,))
        values = [np.atleast_1d(value) for value in values]
        np.testing.assert_allclose(minimize_l1(tree, values)[1], leaves)

    def test_deeper_slopes_come_first(self):
        """Mass that two levels want is placed before mass that one level wants."""
        tree = grow(Tree.complete(1, branching=2), np.array([True, True]), branching=2)
        tree = Tree((*tree.chosen[:-1], np.array([True, True, True, True])), tree.branching)
        values = np.array([5.0]), np.array([4.0, 4.0]), np.array([3.0, 0.0, 1.0, 0.0])
        _, middle, leaves = minimize_l1(tree, values)
        # 3 and 1 units are wanted twice; the unit left is shared 1 : 3, as what once-wanted is.
        np.testing.assert_allclose(middle, [3.25, 1.75])
        np.testing.assert_allclose(leaves, [3.125, 0.125, 1.375, 0.375])


def blobs(n=300):
    rng = np.random.default_rng(0)
    centers = np.array([[0.2, 0.3], [0.7, 0.8], [0.75, 0.2]])
    X = centers[rng.integers(3, size=n)] + 0.04 * rng.standard_normal((n, 2))
    return np.clip(X, 0.0, 1.0)


def heatmap(**parameters):
    return LevelwiseEMDHeatmap(**{"bounds": (0, 1), "random_state": 0} | parameters)


def test_paper_is_algorithm_two_on_the_noisy_pyramid():
    model = heatmap(resolution=32).fit(blobs())
    first = int(model.measurements_[0].level[0])
    assert first == 2
    pyramid = []
    for m in model.measurements_:  # cells that were never looked at could hold anything low
        pyramid.append(np.full(4 ** int(m.level[0]), -1e9))
        pyramid[-1][m.code] = m.mass
    tree, values = select_top(pyramid, 20, top=first)
    levels, codes, masses = tree.leaves(minimize_l1(tree, values))
    assert np.array_equal(codes, model.cells_.code)
    assert np.allclose(masses, model.cells_.mass)
    shares = [float(step.mechanism.epsilon) for step in model.privacy_.steps]
    assert np.allclose(np.diff(np.log2(shares)), -0.5)


@every("method", ["laplace", "topk"])
def test_methods_that_measure_every_cell_refuse_huge_grids(method):
    with pytest.raises(ValueError, match="resolution"):
        heatmap(method=method, resolution=2**13).fit(blobs())


def test_the_largest_cells_are_kept_and_of_equal_ones_the_first():
    top_cells = _levels.top_cells
    assert top_cells(np.array([1.0, 3.0, 3.0, 3.0, 2.0]), 2).tolist() == [0, 1, 1, 0, 0]
    assert top_cells(np.array([1.0, 2.0]), 5).all()
    model = heatmap(method="topk", top_share=0.25, resolution=8).fit(blobs())
    assert len(model.cells_) == 16
