"""What the ways to measure a tree release and make of it; masses of counts of several looks."""

import numpy as np
import pytest

from benchmarks.measure.published import PublishedCounts
from skdp_bary.base import CellTree, Chunk
from skdp_bary.geometry import Ball, Box
from tests.cases import every
from tests.world import BlockCountsMethod, HaarMethod, Sketch, home, least_squares, nonnegative

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


@every("total_public", [False, True])
def test_noise_of_splits_is_that_of_sums_of_counts(total_public, monkeypatch):
    method, tree = BlockCountsMethod(step=3), CellTree(SQUARE, 6)
    query = method.query(tree, 1, 1, total_public)
    assert query.levels == ((0, 3, 6) if total_public else (3, 6))
    rng, seen = np.random.default_rng(0), []
    monkeypatch.setattr(
        home("HaarMethod"), "rebuild_masses", lambda *given: seen.append(given[1:3])
    )
    sds = [0.0, 2.0, 5.0][-len(query.levels) :]
    for _ in range(400):
        counts = zip(query.levels, sds, strict=True)
        method.masses(tree, [rng.normal(0, sd, 1 << at) for at, sd in counts], sds)
    stated = method.split_noise(tree, sds)
    assert len(stated) == tree.depth
    for level, sd in enumerate(stated):
        found = np.std([differences[level] for _, differences in seen])
        assert sd == pytest.approx(found, rel=0.15)
    totals = np.std([total for total, _ in seen])
    assert totals == pytest.approx(0.0 if total_public else 2.0 * 8**0.5, rel=0.15)


# Counts of several looks: against dense least squares, and masses that add up

PARENTS = [np.repeat(np.arange(3), [1, 4, 2]), np.repeat(np.arange(7), [1, 2, 1, 3, 1, 1, 2])]
SIZES = (3, 7, 11)


def measured(seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(2.0, 3.0, n) for n in SIZES], [rng.uniform(0.5, 2.0, n) for n in SIZES]


def infinite(sizes):
    return [np.full(n, np.inf) for n in sizes]


def sums():
    """Return the matrices that add the last look's cells up to those of each look."""
    first, second = (np.eye(n)[:, p] for n, p in zip(SIZES, PARENTS, strict=False))
    return [first @ second, second, np.eye(SIZES[2])]


def test_estimates_are_those_of_dense_least_squares():
    values, variances = measured()
    matrix, weights = np.vstack(sums()), 1.0 / np.concatenate(variances)
    covariance = np.linalg.inv(matrix.T @ (weights[:, None] * matrix))
    best = covariance @ (matrix.T @ (weights * np.concatenate(values)))
    estimates, spread = least_squares(PARENTS, values, variances)
    for found, noise, adding in zip(estimates, spread, sums(), strict=True):
        np.testing.assert_allclose(found, adding @ best)
        np.testing.assert_allclose(noise, np.diag(adding @ covariance @ adding.T))


@every("seed", range(5))
def test_masses_add_up_and_are_not_negative(seed):
    values, _ = measured(seed)
    masses = nonnegative(PARENTS, values)
    for above, below, parent in zip(masses, masses[1:], PARENTS, strict=False):
        np.testing.assert_allclose(np.bincount(parent, below), above, atol=1e-12)
    assert min(m.min() for m in masses) >= 0
    assert masses[0].sum() == pytest.approx(max(values[0].sum(), 0.0))


def test_what_is_not_alive_leaves_its_mass_to_its_siblings():
    values, _ = measured()
    alive = [np.ones(n, dtype=bool) for n in SIZES]
    alive[1][[1, 3]] = False
    alive[2][:3] = False  # all parts of two cells: nobody is left to take what they hold
    masses = nonnegative(PARENTS, [np.abs(v) for v in values], alive, infinite(SIZES))
    assert not masses[1][[1, 3]].any()
    np.testing.assert_allclose(np.bincount(PARENTS[0], masses[1]), masses[0])
    np.testing.assert_allclose(np.bincount(PARENTS[1], masses[2]), masses[1])


def test_the_noise_of_cells_that_are_not_alive_goes_to_no_other():
    estimates = [np.array([50.0, 3.0, -2.0, 9.0])]
    alive = [np.array([True, False, False, False])]
    found = nonnegative([], estimates, alive, infinite([4]))[0]
    np.testing.assert_array_equal(found, [50.0, 0.0, 0.0, 0.0])


@every("held, kept", [(6.0, 6.0), (2.0, 0.0)])
def test_parts_that_are_not_alive_keep_what_is_beyond_doubt_together(held, kept):
    """No such part stands out of its noise, and all of them do: a tail beside a cluster."""
    parents, estimates = [np.zeros(4, dtype=np.int64)], [np.array([20.0]), np.empty(4)]
    estimates[1][:] = [20.0 - held, *np.full(3, held / 3.0)]
    alive = [np.ones(1, dtype=bool), np.arange(4) < 1]
    doubts = [np.ones(1), np.full(4, 3.0)]  # the square root of nine is between the two
    masses = nonnegative(parents, estimates, alive, doubts)
    np.testing.assert_allclose(masses[1], [20.0 - kept, *np.full(3, kept / 3.0)])
    first = nonnegative([], estimates[1:], alive[1:], doubts[1:])[0]
    np.testing.assert_allclose(first, [20.0 - held, *np.full(3, kept / 3.0)])
