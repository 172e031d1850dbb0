"""Belief propagation on trees: against enumeration, sampling and the model itself."""

import itertools
from functools import reduce

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import kstest

from benchmarks.transport.trees import grow
from tests import world
from tests.cases import every
from tests.world import home

messages_module = home("log_polya_weights")
posterior_module = home("infer_masses")

PRIOR = ((0.7, 0.1), (0.3, 1.0))


def log_weight(units, a):
    return gammaln(units + a) - gammaln(a) - gammaln(units + 1)


def log_split(children, prior=PRIOR):
    """Log probability of a split into the children on the last axis."""
    total, b = children.sum(axis=-1), children.shape[-1]
    parts = [
        np.log(w) + log_weight(children, a).sum(axis=-1) - log_weight(total, b * a)
        for w, a in prior
    ]
    return np.logaddexp.reduce(parts, axis=0)


def uneven_tree():
    """A root with two children, of which the first has three and the second none."""
    tree = grow(world.Tree((np.zeros(1, dtype=bool),), ()), np.array([True]), branching=2)
    return grow(tree, np.array([True, False]), branching=3)


def enumerate_posterior(rounds, step, n_units):
    """All masses of `uneven_tree` up to a bound: their units by level, and probabilities."""
    leaves = np.array(list(itertools.product(range(n_units), repeat=3)))
    leaves = np.repeat(leaves, 2 * n_units, axis=0)
    other = np.tile(np.arange(2 * n_units), n_units**3)
    middle = np.stack([leaves.sum(axis=1), other], axis=1)
    units = middle.sum(axis=1, keepdims=True), middle, leaves
    log = log_split(leaves) + log_split(middle) + np.log(step)
    for values, rates in rounds:
        for k in range(3):
            density = np.log(np.asarray(rates[k]) / 2) - rates[k] * np.abs(
                values[k] - step * units[k]
            )
            log += np.where(np.asarray(rates[k]) > 0, density, 0.0).sum(axis=1)
    return units, np.exp(log - np.logaddexp.reduce(log))


def marginal(posterior, level, cell):
    """Possible masses of one cell and their probabilities."""
    grid = posterior.grids[level]
    window = slice(grid.starts[cell], grid.starts[cell] + grid.sizes[cell])
    return posterior.step * grid.units[window], posterior.probabilities[level][window]


def variances(posterior, level):
    found = [marginal(posterior, level, cell) for cell in range(posterior.tree.sizes[level])]
    return np.array([p @ (masses - p @ masses) ** 2 for masses, p in found])


def random_rounds(rng):
    """Two rounds, the second of the leaves only."""
    truth = np.array([1.0, 0.0, 2.5]), 1.5
    masses = np.array([5.0]), np.array([3.5, truth[1]]), truth[0]
    rates = (
        [np.full(1, 2.0), np.array([0.0, 3.0]), np.array([3.0, 4.0, 2.5])],
        [np.zeros(1), np.array([0.0, 2.0]), np.full(3, 3.0)],
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        values = [
            [
                m + np.where(r > 0, rng.laplace(size=len(r)) / r, np.nan)
                for m, r in zip(masses, rs, strict=True)
            ]
            for rs in rates
        ]
    return list(zip(values, rates, strict=True))


@pytest.fixture(scope="module", params=range(3))
def enumerated(request):
    rounds = random_rounds(np.random.default_rng(request.param))
    cleaned = [([np.nan_to_num(v) for v in values], rates) for values, rates in rounds]
    with np.errstate(divide="ignore"):
        exact = enumerate_posterior(cleaned, 0.25, 28)
    return rounds, exact


class TestAgainstEnumeration:
    """Every posterior number on a lattice that can be written out."""

    @every("width, off", [(20.0, 1e-6), (9.0, 1e-3)])  # windows by default lose hardly anything
    def test_moments(self, enumerated, width, off):
        rounds, (units, probabilities) = enumerated
        posterior = world.infer_masses(uneven_tree(), rounds, step=0.25, width=width)
        for k in range(3):
            mean = 0.25 * probabilities @ units[k]
            variance = 0.25**2 * probabilities @ units[k] ** 2 - mean**2
            np.testing.assert_allclose(posterior.mean[k], mean, rtol=off, atol=off)
            np.testing.assert_allclose(variances(posterior, k), variance, rtol=10 * off)

    def test_marginals_and_quantiles(self, enumerated):
        rounds, (units, probabilities) = enumerated
        posterior = world.infer_masses(uneven_tree(), rounds, step=0.25, width=20)
        for level, cell in ((0, 0), (1, 0), (1, 1), (2, 2)):
            masses, found = marginal(posterior, level, cell)
            exact = np.bincount(units[level][:, cell], probabilities, minlength=200)
            np.testing.assert_allclose(found, exact[np.rint(masses / 0.25).astype(int)], atol=1e-6)
            for q in (0.05, 0.5, 0.95):
                expected = 0.25 * np.searchsorted(np.cumsum(exact), q)
                assert posterior.quantile(q)[level][cell] == pytest.approx(expected)

    @every("coverage", [0.5, 0.9])
    def test_intervals_are_the_shortest_or_start_at_zero(self, enumerated, coverage):
        posterior = world.infer_masses(uneven_tree(), enumerated[0], step=0.25, width=20)
        low, high = posterior.interval(coverage)
        upper = posterior.quantile(0.5 + coverage / 2)
        for level in range(3):
            for cell in range(posterior.tree.sizes[level]):
                masses, p = marginal(posterior, level, cell)
                found = low[level][cell], high[level][cell]
                if p[masses <= 0].sum() >= 0.5:
                    assert found == (0.0, upper[level][cell])
                    continue
                total = np.r_[0.0, np.cumsum(p)]
                i, j = np.triu_indices(len(p))
                enough = total[j + 1] - total[i] >= coverage - 1e-6
                inside = (masses >= found[0] - 1e-9) & (masses <= found[1] + 1e-9)
                assert p[inside].sum() >= coverage - 1e-6
                assert found[1] - found[0] == pytest.approx((masses[j] - masses[i])[enough].min())


def draw_splits(rng, units, prior=PRIOR, branching=4):
    weights, concentrations = np.array(prior).T
    a = rng.choice(concentrations, p=weights, size=len(units))[:, None]
    gamma = rng.gamma(a, size=(len(units), branching)) + 1e-300
    return rng.multinomial(units, gamma / gamma.sum(axis=1, keepdims=True))


def probability_transforms(rng, posterior, truth):
    """Randomized posterior distribution functions of the last level at the truth: uniform."""
    grid, p = posterior.grids[-1], posterior.probabilities[-1]
    below = grid.sum(p * (grid.units < grid.spread(truth)))
    at = grid.sum(p * (grid.units == grid.spread(truth)))
    return below + at * rng.random(len(truth))


def test_posterior_is_calibrated_and_wrong_rates_are_not():
    """Masses drawn from the prior fall uniformly in their posteriors: 6000 trees at once."""
    rng = np.random.default_rng(1)
    step, rates, n = 0.5, (1.0, 0.7), 6000
    total = rng.integers(100, 300, size=n)
    children = draw_splits(rng, total).ravel()
    tree = world.Tree((np.ones(n, dtype=bool), np.zeros(4 * n, dtype=bool)), (4,))
    values = [
        step * units + rng.laplace(size=len(units)) / rate
        for units, rate in zip((total, children), rates, strict=True)
    ]
    posterior = world.infer_masses(tree, [(values, rates)], step=step)
    transforms = probability_transforms(rng, posterior, children)[::4]
    assert kstest(transforms, "uniform").pvalue > 0.01
    wrong = world.infer_masses(tree, [(values, (1.3, 0.91))], step=step)
    assert kstest(probability_transforms(rng, wrong, children)[::4], "uniform").pvalue < 1e-3
    low, high = posterior.interval(0.9)
    covered = (low[1] <= step * children) & (step * children <= high[1])
    assert 0.9 < covered.mean() < 0.98  # whole units only: at least 0.9


def random_problem(rng):
    """A tree, masses on it drawn from shares like the prior's, and noisy rounds of rates."""
    tree = world.Tree((np.zeros(int(rng.integers(1, 3)), dtype=bool),), ())
    masses = [10 ** rng.uniform(0, 4, size=tree.sizes[0])]
    for _ in range(int(rng.integers(1, 4))):
        b = int(rng.integers(2, 5))
        tree = grow(tree, rng.random(tree.sizes[-1]) < 0.7, b)
        parents = masses[-1][tree.chosen[-2]]
        a = rng.choice([0.1, 1.0], p=[0.7, 0.3], size=(len(parents), 1))
        gamma = rng.gamma(a, size=(len(parents), b)) + 1e-300
        shares = gamma / gamma.sum(axis=1, keepdims=True)
        masses.append((parents[:, None] * shares).ravel())
    rounds = []
    for _ in range(int(rng.integers(1, 4))):
        rates = [10 ** rng.uniform(-1, 0.5) * (rng.random(n) < 0.7) for n in tree.sizes]
        rates[0] = np.maximum(rates[0], 0.3)
        noise = [
            rng.laplace(size=n) / np.where(r > 0, r, 1)
            for n, r in zip(tree.sizes, rates, strict=True)
        ]
        rounds.append(([m + e for m, e in zip(masses, noise, strict=True)], rates))
    return tree, masses, rounds


@every("seed", range(30))
def test_random_trees(seed):
    """Means add up, wider windows change nothing; unmeasured cells and several roots included."""
    tree, _, rounds = random_problem(np.random.default_rng(seed))
    posterior = world.infer_masses(tree, rounds)
    wider = world.infer_masses(tree, rounds, width=16)
    for k, b in enumerate(tree.branching):
        sums = posterior.mean[k + 1].reshape(-1, b).sum(axis=1)
        np.testing.assert_allclose(sums, posterior.mean[k][tree.chosen[k]], rtol=1e-9, atol=1e-5)
    for mean, other in zip(posterior.mean, wider.mean, strict=True):
        assert (mean >= 0).all()
        np.testing.assert_allclose(mean, other, atol=0.05 * posterior.step)
    for p, grid in zip(posterior.probabilities, posterior.grids, strict=True):
        np.testing.assert_allclose(grid.sum(p), 1)
        assert (p >= 0).all()


@pytest.mark.parametrize(
    ("seed", "shift"), [*((seed, 100.0) for seed in range(8)), (1, 1e3), (2, 3e3)]
)
def test_sums_and_transforms_agree(seed, shift, monkeypatch):
    """Also where measurements contradict each other, and where sums repair transforms."""
    rng = np.random.default_rng(seed)
    tree, _, rounds = random_problem(rng)
    far = [[v + rng.choice([0.0, shift], size=v.shape) for v in values] for values, _ in rounds]
    rounds = [(values, rates) for values, (_, rates) in zip(far, rounds, strict=True)]
    found = []
    for few, longest in ((1 << 25, 1 << 12), (0, 1 << 12), (0, 0)):
        monkeypatch.setattr(messages_module, "_FEW_PRODUCTS", few)
        monkeypatch.setattr(messages_module, "_LONGEST", longest)
        found.append(world.infer_masses(tree, rounds))
    for other in found[1:]:
        for mean, same in zip(found[0].mean, other.mean, strict=True):
            np.testing.assert_allclose(mean, same, rtol=1e-6, atol=1e-3)


def test_cells_of_which_nothing_is_known_may_hold_anything():
    """Beside a measured sibling, under a parent that is not measured either."""
    tree = world.Tree.complete(2, branching=2)
    values = 365.0, 0.0, np.array([0.0, 60.0, 0.0, 0.0])
    rates = 2.5, 0.0, np.array([0.0, 0.3, 0.0, 0.0])
    posterior = world.infer_masses(tree, [(values, rates)])
    root, leaves = posterior.grids[0], posterior.grids[2]
    assert leaves.lo[[0, 2, 3]].tolist() == [0, 0, 0]
    assert leaves.lo[1] > 0
    assert leaves.hi[2] == leaves.hi[3] == root.hi[0] - leaves.lo[1]
    assert posterior.mean[2][2] == pytest.approx(posterior.mean[2][3])


def test_measurements_that_disagree_are_not_lost_in_rounding():
    """A total 40 noise scales from the sum of its parts: the tails of all of them decide."""
    tree = world.Tree.complete(1)
    values, rates = (np.array([200.0]), np.array([40.0, 40.0, 40.0, 40.0])), (2.0, 1.0)
    found = world.infer_masses(tree, [(values, rates)], step=0.5)
    # The total's rate is larger than each part's, so all parts give way.
    assert found.mean[0] == pytest.approx(200, abs=1)
    np.testing.assert_allclose(found.mean[1], np.full(4, found.mean[0][0] / 4), rtol=1e-9)
    values = np.array([200.0]), np.array([40.0, 40.0, 40.0, 0.5])
    whole = world.infer_masses(tree, [(values, (1.0, 4.0))], step=0.25, width=100)
    part = world.infer_masses(tree, [(values, (1.0, 4.0))], step=0.25)
    np.testing.assert_allclose(part.mean[1], whole.mean[1], atol=0.02)
    assert part.mean[0] == pytest.approx(120.5, abs=2)


@pytest.fixture
def passes(monkeypatch):
    """Steps of the grids on which posteriors were made."""
    steps, propagate = [], posterior_module._propagate
    monkeypatch.setattr(
        posterior_module, "_propagate", lambda *a: steps.append(a[4]) or propagate(*a)
    )
    return steps


def test_trees_without_splits_and_impossible_measurements():
    single = world.infer_masses(
        world.Tree((np.zeros(2, dtype=bool),), ()), [((np.array([5.0, -3.0]),), (1.0,))]
    )
    assert single.mean[0][0] == pytest.approx(5, abs=0.05)
    assert 0 < single.mean[0][1] < 1.5
    bare = world.infer_masses(
        grow(world.Tree((np.zeros(1, dtype=bool),), ()), np.array([False])),
        [((5.0, None), (1.0, None))],
    )
    assert bare.mean[1].size == bare.quantile(0.5)[1].size == 0
    values = np.array([0.0]), np.full(4, 1e5)
    with pytest.raises(FloatingPointError, match="contradict"):
        world.infer_masses(world.Tree.complete(1), [(values, (4.0, 1.0))])


def test_weights_of_large_masses_and_tails_keep_their_digits():
    units = np.concatenate([np.arange(2000), 10 ** np.arange(4, 9)])
    for a in (0.05, 0.4, 1.0, 2.5, 4.0, 16.0):
        exact = np.cumsum(np.log1p((a - 1) / np.arange(1, 2000)))
        found = world.log_polya_weights(units, a)
        assert found[0] == 0
        np.testing.assert_allclose(found[1:2000], exact, rtol=1e-11, atol=1e-12)
        limit = (a - 1) * np.log(units[-1] + a / 2) - gammaln(a)
        assert found[-1] == pytest.approx(limit, abs=1e-12)
    factors = np.exp(-3.0 * np.arange(40.0)) * np.ones((1, 4, 1))
    found = world.convolve_all(factors)[0]
    ways = [(k + 1) * (k + 2) * (k + 3) / 6 for k in range(40)]
    np.testing.assert_allclose(found[:40], ways * np.exp(-3.0 * np.arange(40.0)), rtol=1e-12)


@every(
    "measurements, arguments, message",
    [
        ([((1.0, 1.0), (-1.0, 1.0))], {}, "`rates` must be non-negative"),
        ([((1.0, 1.0), (np.inf, 1.0))], {}, "`rates` must be non-negative and finite"),
        ([((np.nan, 1.0), (1.0, 1.0))], {}, "`values` must be finite"),
        ([((1.0, np.ones(3)), (1.0, 1.0))], {}, "`values` needs one flat array"),
        ([((None, None), (None, None))], {}, "at least one cell with a positive rate"),
        ([], {}, "at least one cell with a positive rate"),
        ([((None, np.ones(4)), (None, np.array([1.0, 1, 1, 0])))], {}, "must determine"),
        ([((1.0, 1.0), (1.0, 1.0))], {"step": 0.0}, "step must be a finite number in"),
        ([((1.0, 1.0), (1.0, 1.0))], {"width": -1.0}, "width must be a finite number in"),
    ],
)
def test_bad_arguments_are_refused(measurements, arguments, message):
    with pytest.raises(ValueError, match=message):
        world.infer_masses(world.Tree.complete(1), measurements, **arguments)


@every("q", [0.0, 1.0, -1.0, np.nan])
def test_bad_probabilities_are_refused(q):
    posterior = world.infer_masses(world.Tree.complete(1), [((1.0, 1.0), (1.0, 1.0))])
    with pytest.raises(ValueError, match="q must be"):
        posterior.quantile(q)
    with pytest.raises(ValueError, match="coverage must be"):
        posterior.interval(q)


def test_a_parent_of_whom_little_is_known_has_the_mean_of_sums_in_logs():
    """It stands between a certain total and uncertain children."""
    prior, units = ((0.4, 0.08), (0.3, 1.0), (0.3, 100.0)), np.arange(260)
    tree = world.Tree.complete(2, branching=2)
    values = [np.full(n, 200.0 / n) for n in tree.sizes]
    values[2][::3] *= 0.3
    rates = [np.full(n, r) for n, r in zip(tree.sizes, (2.0, 0.0, 0.05), strict=True)]
    posterior = world.infer_masses(tree, [(values, rates)], step=1.0, prior=prior)
    left, right = np.meshgrid(units, units, indexing="ij")
    split = log_split(np.stack([left, right], axis=-1), prior)
    likelihood = [-0.05 * np.abs(units - v) for v in values[2]]
    below = []
    for a, b in (likelihood[:2], likelihood[2:]):
        terms = split + a[:, None] + b
        by_sum = [np.flipud(terms).diagonal(k) for k in range(-259, 1)]
        below.append(np.array([np.logaddexp.reduce(diagonal) for diagonal in by_sum]))
    log = split + below[0][:, None] + below[1] - 2.0 * np.abs(left + right - 200.0)
    p = np.exp(log - log.max())
    expected = [(p * side).sum() / p.sum() for side in (left, right)]
    np.testing.assert_allclose(posterior.mean[1], expected, rtol=1e-6)
    sums = posterior.mean[2].reshape(-1, 2).sum(axis=1)
    np.testing.assert_allclose(sums, expected, rtol=1e-6)


@every("n", [1, 2, 3, 4, 7])
@every("length", [5, 12, 60])
def test_correlations_are_sums_over_the_others(n, length):
    rng = np.random.default_rng(n)
    factors, known = rng.random((2, n, 5)), rng.random((2, length))
    found = world.correlate_others(known, factors)
    assert found.shape == factors.shape
    for row in range(2):
        for child in range(n):
            others = reduce(np.convolve, np.delete(factors[row], child, axis=0), np.ones(1))
            filled = np.append(known[row], np.zeros(5 + len(others)))
            sums = [filled[place : place + len(others)] @ others for place in range(5)]
            np.testing.assert_allclose(found[row, child], sums)
