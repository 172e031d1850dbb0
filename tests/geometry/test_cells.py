"""Trees of cells and cells that are cut again: where rows fall, one by one."""

import pickle

import numpy as np
import pytest

from skdp_bary.base import CellTree
from skdp_bary.geometry import Ball, Box, Mask
from tests.cases import every
from tests.world import NestedCells, home

MAX_DEPTH = home("CellTree").MAX_DEPTH

RING = Mask([[[0, 0], [4, 0], [4, 4], [0, 4]], [[1, 1], [3, 1], [3, 3], [1, 3]]], resolution=64)
DOMAINS = [
    Box([0.0], [1.0]),
    Box([-1.0, 5.0], [3.0, 6.0]),
    Box([0.0] * 5, [1.0] * 5),
    Box([0.0] * 40, [1.0] * 40),
    Ball([0.5, 0.5, 0.5], 0.5),
    RING,
]


def random_rows(domain, n, stretch=1.3, seed=0):
    rng = np.random.default_rng(seed)
    middle = (domain.low + domain.high) / 2
    return (
        middle + (rng.random((n, domain.n_features)) - 0.5) * (domain.high - domain.low) * stretch
    )


@every("domain", DOMAINS)
@every("depth", [0, 1, 3, 8])
def test_rows_fall_into_the_cell_whose_box_holds_them(domain, depth):
    tree = CellTree(domain, depth)
    X = domain.clip(random_rows(domain, 300))
    places = tree.positions(tree.leaf_index(X), depth)
    sides = np.array(tree.full_shape(depth))
    assert ((places >= 0) & (places < sides)).all()
    width = (domain.high - domain.low) / sides
    low = domain.low + places * width
    above = X - low
    assert (above >= -1e-12).all()
    assert (above <= width + 1e-12).all()


@every("domain", DOMAINS)
@every("depth", [1, 6, 9])
def test_levels_nest(domain, depth):
    tree = CellTree(domain, depth)
    leaves = np.arange(tree.n_cells)
    assert (tree.ancestor(leaves, depth) == leaves).all()
    assert (tree.ancestor(leaves, 0) == 0).all()
    for level in range(depth):
        cells = np.arange(1 << (level + 1))
        first, second = tree.halves(cells, level)
        assert (tree.join(first, second, level) == cells).all()
        parent = np.empty_like(cells)
        parent[first] = parent[second] = np.arange(1 << level)
        assert (parent[tree.ancestor(leaves, level + 1)] == tree.ancestor(leaves, level)).all()
        axis = tree.split_axis(level)
        ours, upper = tree.positions(cells, level + 1), tree.positions(parent, level)
        shift = np.arange(domain.n_features) == axis
        assert (ours >> shift == upper).all()
        assert (ours[first][:, axis] % 2 == 0).all()


@pytest.mark.filterwarnings("error")
@every("domain", [DOMAINS[0], DOMAINS[1], DOMAINS[4], RING])
def test_far_rows_go_to_the_border(domain):
    tree = CellTree(domain, 5)
    far = np.array([1e30, -1e30, 1.79e308, -1.79e308, 5e-324, -5e-324, 0.0, -0.0])
    X = np.repeat(far[:, None], domain.n_features, axis=1)
    kept = X.copy()
    leaf = tree.leaf_index(X)
    assert ((leaf >= 0) & (leaf < 32)).all()
    assert (leaf == tree.leaf_index(domain.clip(X))).all()
    assert leaf[6] == leaf[7]
    assert np.array_equal(X, kept)
    with pytest.raises(ValueError, match=r"depth must be .* \[0, 26\]"):
        CellTree(domain, MAX_DEPTH + 1)


@pytest.mark.filterwarnings("error")
@every("bounds", [(-1e100, 1e100), (0.0, 1e-100), (1e99, 1e100)])
def test_widest_and_narrowest_boxes(bounds):
    tree = CellTree(Box(*([b, b] for b in bounds)), 6)
    X = np.array([[bounds[0]] * 2, [bounds[1]] * 2, [0.0, 1.79e308], [-1.79e308, 5e-324]])
    leaf = tree.leaf_index(X)
    assert (leaf[:2] == [0, 63]).all()
    assert ((leaf >= 0) & (leaf < 64)).all()


@every("domain", DOMAINS)
@every("depth", [0, 4, 7])
def test_prior_and_points(domain, depth):
    tree = CellTree(domain, depth)
    assert tree.prior.shape == (tree.n_cells,)
    assert tree.prior.sum() == pytest.approx(1.0)
    assert (tree.prior >= 0).all()
    with pytest.raises(ValueError, match="read-only"):
        tree.prior[0] = 1.0
    for level in range(depth + 1):
        share = tree.share(level)
        assert share.sum() == pytest.approx(1.0)
        index = np.flatnonzero(share > 0)
        points = tree.centroids(level, index)
        assert domain.contains(points).all()
        inside = tree.ancestor(tree.leaf_index(points), level) == index
        assert inside.mean() > 0.99  # slivers of masks may be represented by a near point


def test_trees_travel_without_what_they_cached():
    tree = CellTree(DOMAINS[4], 12)
    size = len(pickle.dumps(tree))
    tree.leaf_index(tree.centroids(12, np.arange(5)))
    assert tree.prior.size == 4096
    assert len(pickle.dumps(tree)) == size
    assert pickle.loads(pickle.dumps(tree)) == tree


def nested(domain, depth=6, seed=0):
    rng = np.random.default_rng(seed)
    cells = NestedCells.grid(domain, depth, 2)
    for _ in range(2):
        cells = cells.cut(rng.integers(0, 3, len(cells)))
    return cells


@every("n_features", [1, 2, 3])
def test_rows_lie_in_their_cells_and_those_in_coarser_ones(n_features):
    domain = Box(np.full(n_features, -1.0), np.linspace(1.0, 3.0, n_features))
    cells = nested(domain)
    rows = np.random.default_rng(1).uniform(-1.5, 3.5, (2000, n_features))
    found = cells.locate(rows)
    away = np.abs(domain.clip(rows) - cells.middles[found])
    assert (away <= cells.widths[found] / 2 + 1e-12).all()
    assert not cells.outside[found].any()
    np.testing.assert_array_equal(cells.parents[found], cells.coarser.locate(rows))
    np.testing.assert_array_equal(cells.locate(rows[:1]), found[:1])
    assert np.isclose(cells.widths.prod(axis=1).sum(), (domain.high - domain.low).prod())


@every("depth", [3, 12])
def test_no_edge_of_cells_is_near_the_center_of_the_domain(depth):
    cells = NestedCells.grid(Box(np.array([-3.0]), np.array([5.0])), depth, depth)
    (found,) = cells.locate(np.array([[1.0]]))
    assert abs(cells.middles[found, 0] - 1.0) < cells.widths[found, 0] / 5
