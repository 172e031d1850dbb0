"""What the ways to measure a tree release and what they make of it."""

import numpy as np
import pytest

from benchmarks.measure.published import PublishedCounts
from skdp_bary.base import CellTree, Chunk
from skdp_bary.geometry import Ball, Box
from tests.cases import every
from tests.world import BlockCountsMethod, CellMasses, HaarMethod, Sketch, cell_support, home

SQUARE = Box([0.0, 0.0], [1.0, 1.0])
TREES = {
    "haar": HaarMethod(),
    "block_counts": BlockCountsMethod(step=4),
    "published": PublishedCounts(),
}


def noisy_blocks(method, tree, n, scale, seed=0):
    rng = np.random.default_rng(seed)
    query = method.query(tree, 1, 1, False)
    X = tree.domain.clip(rng.normal(0.4, 0.2, size=(n, tree.domain.n_features)))
    exact = Sketch(query).update(Chunk(X, None, None)).exact_blocks()
    noisy = [b[0] + np.rint(rng.laplace(0, scale, b[0].shape)) for b in exact]
    leaves = np.bincount(tree.leaf_index(X), minlength=tree.n_cells)
    return noisy, [1.5 * scale] * len(noisy), leaves


@pytest.mark.parametrize("domain", [SQUARE, Ball([0.5, 0.5, 0.5], 0.5), Box([0.0], [1.0])])
@every("scale", [0.0, 3.0, 1e4])
@every("name", TREES)
def test_masses_are_a_measure_on_every_level(name, scale, domain):
    tree = CellTree(domain, 6)
    blocks, noise_sd, leaves = noisy_blocks(TREES[name], tree, 500, scale)
    if blocks[0].size == 1:
        blocks[0] = np.maximum(blocks[0], 1.0)
    masses = TREES[name].masses(tree, blocks, noise_sd)
    assert [m.size for m in masses] == [1 << level for level in range(7)]
    for level in range(6):
        first, second = tree.halves(masses[level + 1], level)
        assert first + second == pytest.approx(masses[level], rel=1e-9, abs=1e-6)
        assert (masses[level + 1] >= 0).all()
    if scale == 0.0:
        assert masses[-1] == pytest.approx(leaves, abs=1e-3)


def test_levels_have_the_published_ratios():
    """He, Vershynin and Zhu (2023): sigma_j proportional to 2**(-(1 - 1/d) j / 2)."""
    weights = (
        TREES["published"].query(CellTree(Box([0.0] * 3, [1.0] * 3), 9), 1, 1, False).weights()
    )
    ratios = np.divide(weights[2:], weights[1:-1])
    assert ratios == pytest.approx(2.0 ** (-(1 - 1 / 3) / 2))
    assert set(TREES["haar"].level_scales(3, 9)) == {1.0}
    assert HaarMethod(power=1.0).level_scales(2, 3) == pytest.approx(2.0 ** -(np.arange(3) / 6))


def test_depth_and_levels_of_counts():
    counts, haar = TREES["block_counts"], TREES["haar"]
    for signal in (8.0, 10.0, 14.0):
        assert counts.depth(signal, 20.0) >= haar.depth(signal, 20.0)
    assert counts.depth(30.0, 12.0) == haar.depth(30.0, 12.0) + 2
    assert [counts.levels(depth) for depth in (3, 7, 9, 13)] == [(3,), (4, 7), (5, 9), (5, 9, 13)]


@pytest.mark.parametrize("total_public", [False, True])
def test_noise_of_splits_is_that_of_sums_of_counts(total_public, monkeypatch):
    method, tree = BlockCountsMethod(step=3), CellTree(SQUARE, 6)
    query = method.query(tree, 1, 1, total_public)
    assert query.levels == ((0, 3, 6) if total_public else (3, 6))
    rng = np.random.default_rng(0)
    seen = []
    monkeypatch.setattr(
        home("HaarMethod"),
        "rebuild_masses",
        lambda tree, total, differences, *rest: seen.append((total, differences)),
    )
    sds = [0.0, 2.0, 5.0][-len(query.levels) :]
    for _ in range(400):
        method.masses(
            tree,
            [rng.normal(0, sd, 1 << at) for at, sd in zip(query.levels, sds, strict=True)],
            sds,
        )
    stated = method.split_noise(tree, sds)
    assert len(stated) == tree.depth
    for level, sd in enumerate(stated):
        found = np.std([differences[level] for _, differences in seen])
        assert sd == pytest.approx(found, rel=0.15)
    totals = np.std([total for total, _ in seen])
    assert totals == pytest.approx(0.0 if total_public else 2.0 * 8**0.5, rel=0.15)


def test_support_is_a_point_in_each_cell():
    tree = CellTree(SQUARE, 4)
    cells = CellMasses(np.array([1, 2, 2, 4]), np.array([0, 2, 3, 5]), np.ones(4))
    support = cell_support(tree, cells)
    assert support[:3].tolist() == [[0.25, 0.5], [0.75, 0.25], [0.75, 0.75]]
    assert tree.leaf_index(support[3:]).tolist() == [5]
