"""Masses rebuilt from noisy splits, and pruning."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from skdp_bary.base import CellTree
from skdp_bary.geometry import Ball, Box
from tests.cases import every
from tests.world import home, prune, rebuild_masses, split_mean

splits = home("split_mean")
DOMAINS = [Box([0.0], [1.0]), Box([0.0, -1.0], [2.0, 1.0]), Ball([0.0, 0.0, 0.0], 1.0)]


def exact_answer(tree, seed=0, n=400):
    """Counts of all levels and their differences, for random rows."""
    rng = np.random.default_rng(seed)
    leaf = rng.integers(tree.n_cells, size=n) // 2
    leaf = leaf[tree.prior[leaf] > 0]
    levels = [np.bincount(leaf, minlength=tree.n_cells).astype(float)]
    differences = []
    for level in range(tree.depth - 1, -1, -1):
        first, second = tree.halves(levels[0], level)
        levels.insert(0, first + second)
        differences.insert(0, first - second)
    return levels, differences


def noisy(differences, scale, seed=1):
    rng = np.random.default_rng(seed)
    return [d + rng.laplace(0, scale, d.shape) for d in differences]


@every("domain", DOMAINS)
def test_without_noise_the_masses_are_the_counts(domain):
    tree = CellTree(domain, 6)
    levels, differences = exact_answer(tree)
    rebuilt = rebuild_masses(tree, levels[0][0], differences, [0.0] * 6, tree.prior)
    for got, truth in zip(rebuilt, levels, strict=True):
        assert got == pytest.approx(truth, abs=1e-4)


@every("domain", DOMAINS)
@every("scale", [0.5, 20.0, 1e7])
@every("total", [-50.0, 0.0, 1.0, 400.0])
def test_masses_add_up_and_are_never_negative(domain, scale, total):
    tree = CellTree(domain, 6)
    _, differences = exact_answer(tree)
    masses = rebuild_masses(tree, total, noisy(differences, scale), [scale * 1.4] * 6, tree.prior)
    assert masses[0].tolist() == [max(total, 0.0)]
    for level in range(6):
        first, second = tree.halves(masses[level + 1], level)
        assert first + second == pytest.approx(masses[level], rel=1e-12, abs=1e-9)
        assert (masses[level + 1] >= 0).all()
    assert (masses[-1][tree.prior == 0] == 0).all()


def test_all_noise_gives_the_public_prior_and_nothing_is_lost_far_out():
    tree = CellTree(DOMAINS[2], 6)
    _, differences = exact_answer(tree)
    masses = rebuild_masses(tree, 100.0, noisy(differences, 1.0), [1e9] * 6, tree.prior)
    assert masses[-1] == pytest.approx(100.0 * tree.prior, rel=1e-6)
    differences, mass = np.array([1e9, -1e9, 5.0, 0.0]), np.array([50.0, 50.0, 0.0, 0.0])
    with np.errstate(all="raise", under="ignore"):
        mean = split_mean(differences, 1.0, mass, np.zeros(4))
    assert mean.tolist() == [50.0, -50.0, 0.0, 0.0]


def posterior_mean_by_quadrature(difference, sd, mass, expected):
    """The same mixture, integrated over the true split."""
    cases = [
        (splits.SMOOTH, expected, splits.SMOOTH_SPREAD * mass**2 + splits.SCATTER * mass),
        (splits.UNEVEN, expected, splits.UNEVEN_SPREAD * mass**2),
    ]
    evidence = first = 0.0
    for weight, center, variance in cases:
        law = norm(center, np.sqrt(variance))

        def integrand(x, power, law=law):
            return x**power * law.pdf(x) * norm.pdf(difference, x, sd)

        span = (-12 * mass - 12 * sd, 12 * mass + 12 * sd)
        points = sorted({center, difference})
        evidence += weight * quad(integrand, *span, args=(0,), points=points, limit=400)[0]
        first += weight * quad(integrand, *span, args=(1,), points=points, limit=400)[0]
    for center in (mass, -mass):
        weight = splits.EMPTY * (1 + expected / center) / 2
        density = norm.pdf(difference, center, sd) * weight
        evidence, first = evidence + density, first + center * density
    return float(np.clip(first / evidence, -mass, mass))


@every("difference", [-30.0, 0.0, 22.0, 60.0])
@every("sd", [3.0, 14.0])
def test_posterior_mean_is_that_of_the_mixture(difference, sd):
    mass, expected = 25.0, 4.0
    truth = posterior_mean_by_quadrature(difference, sd, mass, expected)
    found = split_mean(np.array([difference]), sd, np.array([mass]), np.array([expected]))
    assert found[0] == pytest.approx(truth, rel=1e-5, abs=1e-5)


# Pruning


@every("least", [0.0, 3.0, 30.0, 1e9])
def test_pruned_cells_are_a_partition_of_the_mass(least):
    tree = CellTree(Box([0.0, 0.0], [1.0, 1.0]), 6)
    levels, _ = exact_answer(tree)
    cells = prune(tree, list(levels), [least] * 6)
    assert cells.mass.sum() == levels[0][0] and (cells.mass > 0).all()
    covered = np.zeros(tree.n_cells, dtype=int)
    for level, index, mass in zip(cells.level, cells.index, cells.mass, strict=True):
        own = tree.ancestor(np.arange(tree.n_cells), level) == index
        covered += own
        assert levels[-1][own].sum() == mass
        assert level == 6 or mass <= least
        if level:
            parents = tree.ancestor(np.flatnonzero(own)[:1], level - 1)
            assert levels[level - 1][parents[0]] > least
    assert covered.max() == 1
    assert levels[-1][covered == 0].sum() == 0
    assert (np.diff(cells.level) >= 0).all()
