import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from skdp_bary.transport import DiscreteMeasure, solve_semidiscrete
from tests.cases import every
from tests.world import certify, home

certificate = home("certify")
exact = home("_SMALL")
levels = home("solve_levels")

KINDS = [
    "uniform",
    "grid",
    "duplicates",
    "islands",
    "far",
    "one place",
    "rounded",
    "speck",
    "twins",
]


def hostile_instance(seed):
    """Return points, weights, atoms, masses and power of a small problem meant to break solvers."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.choice([1, 2, 3, 5, 10])), int(rng.choice([1, 2, 5, 30, 200, 1000]))
    m = int(rng.choice([1, 2, 3, 8, 20, 40]))
    kind = KINDS[rng.integers(len(KINDS))]
    x, y = rng.random((n, d)), rng.random((m, d))
    if kind == "grid":
        x, y = rng.integers(0, 4, (n, d)).astype(float), rng.integers(0, 4, (m, d)).astype(float)
    elif kind == "duplicates":
        x = x[rng.integers(0, max(1, n // 10), n)]
    elif kind == "islands":
        x, y = x + 100.0 * rng.integers(0, 3, (n, 1)), y + 100.0 * rng.integers(0, 3, (m, 1))
    elif kind == "far":
        x = 1e8 + 1e6 * rng.standard_normal((n, d))
        y = x[rng.integers(0, n, m)]
    elif kind == "one place":
        x = np.zeros((n, d))
    elif kind == "rounded":
        x, y = np.round(rng.standard_normal((n, d)), 1), np.round(rng.standard_normal((m, d)), 1)
    elif kind == "twins":
        y = y[rng.integers(0, max(1, m // 4), m)]
    elif kind == "speck":
        x = 1e-8 * rng.standard_normal((n, d))
    return x, masses(rng, n), y, masses(rng, m), float(rng.choice([1, 2, 2, 1.5, 3]))


def masses(rng, size):
    """Return equal, random, very unequal or partly zero masses."""
    kind = rng.integers(4)
    weights = [np.ones(size), rng.random(size), rng.exponential(size=size) ** 4]
    weights = weights[kind] if kind < 3 else rng.integers(0, 3, size).astype(float)
    if weights.sum() == 0:
        weights[0] = 1.0
    return weights / weights.sum()


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_points_on_a_line_are_matched_in_order(monkeypatch, p):
    import ot

    rng = np.random.default_rng(9)
    points, atoms = rng.integers(0, 40, (300, 1)) / 7.0, rng.random((12, 1)) * 8.0
    weights, target = masses(rng, 300), masses(rng, 12)
    best = ot.emd2(weights, target, cdist(points, atoms) ** p)
    monkeypatch.setattr(exact, "network_simplex", refuse)
    monkeypatch.setattr(levels, "solve_levels", refuse)
    for other in (None, 0.5):  # in one dimension, and along one of two axes
        if other is not None:
            points, atoms = (np.insert(each, 0, other, axis=1) for each in (points, atoms))
        result = solve_semidiscrete(
            DiscreteMeasure(points, weights), DiscreteMeasure(atoms, target), p=p
        )
        assert result.cost == pytest.approx(best, rel=1e-12)
        assert result.gap <= 1e-12 * result.cost
        np.testing.assert_allclose(result.masses, target, atol=1e-14)


@pytest.fixture(params=["engine", "network simplex"])
def solver(request, monkeypatch):
    """Send problems of any size to one of the solvers, and fail when the other one has to help."""
    small = 0 if request.param == "engine" else np.inf
    for name in ("_TINY", "_SMALL", "_MOST"):
        monkeypatch.setattr(exact, name, small)
    other = (levels, "solve_levels") if small else (exact, "network_simplex")
    monkeypatch.setattr(*other, refuse)


def test_few_points_an_atom_are_not_for_the_engine(monkeypatch):
    """It took 57 seconds for 1,200 points and 500 atoms, where the network simplex takes 0.1."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr(exact, "is_kept", lambda *given: True)
    monkeypatch.setattr(levels, "solve_levels", refuse)
    points, atoms = DiscreteMeasure(rng.random((600, 2))), DiscreteMeasure(rng.random((250, 2)) + 1)
    result = solve_semidiscrete(points, atoms)
    assert result.gap <= 1e-9 * result.cost


def refuse(*arguments):
    """Stand in for the solver that is not asked."""
    raise AssertionError("the first solver found no proven optimum")


def check_against_pot(seed):
    """Solve one instance both ways and check cost, plan and certificate."""
    import ot

    x, a, y, b, p = hostile_instance(seed)
    costs = cdist(x, y, "sqeuclidean") if p == 2 else cdist(x, y) ** p
    expected = ot.emd2(a, b, costs, numItermax=10**8)
    result = solve_semidiscrete(DiscreteMeasure(x, a), DiscreteMeasure(y, b), p=p)
    scale = max(expected, 1e-12 * costs.max())
    plan = result.plan.toarray()
    assert abs(result.cost - expected) <= 1e-10 * scale
    assert abs((plan * costs).sum() - expected) <= 1e-10 * scale
    np.testing.assert_allclose(plan.sum(axis=1), a, atol=1e-14)
    np.testing.assert_allclose(plan.sum(axis=0), b, atol=1e-13)
    assert plan.min() >= 0
    assert result.plan.nnz <= len(x) + len(y) - 1
    # The dual value is what the potentials give, so the certificate is not taken on trust.
    dual = a @ (costs - result.potentials).min(axis=1) + b @ result.potentials
    assert abs(dual - result.dual) <= 1e-9 * scale
    assert result.gap <= 1e-9 * scale


BLOCKS = [*range(8), *(pytest.param(block, marks=pytest.mark.slow) for block in range(8, 100))]


@pytest.mark.parametrize("block", BLOCKS)
def test_agrees_with_pot_on_hostile_instances(solver, block):
    for seed in range(10 * block, 10 * block + 10):
        check_against_pot(seed)


def test_projections_are_means_of_what_is_received_if_anything():
    points = DiscreteMeasure([[0.0], [1.0], [2.0], [3.0]])
    result = solve_semidiscrete(points, DiscreteMeasure([[0.0], [3.0], [9.0]], [1.0, 1.0, 0.0]))
    assert result.projections.ravel().tolist() == [0.5, 2.5, 9.0]
    assert result.plan.toarray()[:, 2].tolist() == [0.0] * 4
    left = cdist(points.support, [[0.0], [3.0], [9.0]], "sqeuclidean") - result.potentials
    assert np.all(left[:, 2] >= left[:, :2].min(axis=1) - 1e-12)  # attracts no point
    points, atoms = np.array([[0.0], [1.0]]), np.array([[0.0], [1.0], [3.0], [3.0]])
    target = DiscreteMeasure(atoms, [0.5, 0.5, 1e-19, 1e-19])
    result = solve_semidiscrete(DiscreteMeasure(points), target)
    assert result.cost < 1e-15
    np.testing.assert_allclose(result.masses, [0.5, 0.5, 0.0, 0.0], atol=1e-15)


def unbalanced(problem, potentials):
    """Return the plan that sends every point to the nearest atom, as if it were exact."""
    potentials, empty = np.zeros(len(problem.target)), np.empty(0, dtype=int)
    shares = np.empty((len(problem.target), 0))
    return certify(problem, potentials, problem.labels(potentials), empty, shares)


def test_a_plan_with_wrong_masses_is_no_proof_and_the_network_simplex_takes_over(monkeypatch):
    x, a, y, b, _ = hostile_instance(5)
    measure, atoms = DiscreteMeasure(x, a), DiscreteMeasure(y, b)
    expected = solve_semidiscrete(measure, atoms)
    for name in ("_TINY", "_SMALL", "_MOST"):
        monkeypatch.setattr(exact, name, 0)
    monkeypatch.setattr(levels, "solve_levels", unbalanced)
    result = solve_semidiscrete(measure, atoms)
    np.testing.assert_allclose(result.cost, expected.cost, rtol=1e-9)
    np.testing.assert_allclose(result.masses, b, atol=1e-13)
    assert result.gap <= 1e-9 * result.cost


def test_says_when_a_plan_is_not_proven(monkeypatch):
    monkeypatch.setattr(certificate, "_sums", lambda *given: (1.0, -1.0))
    with pytest.warns(ConvergenceWarning, match="not solved to a proven optimum"):
        result = solve_semidiscrete(DiscreteMeasure([[0.0], [2.0]]), DiscreteMeasure([[0.5]]))
    assert result.gap > result.cost


@every(
    "kwargs, message",
    [
        *(({"p": p}, "p must be a finite number in") for p in (0.5, np.inf, True)),
        ({"atoms": DiscreteMeasure([[0.0, 1.0]])}, "same number of features, got 1 and 2"),
        ({"atoms": [[0.0]]}, "atoms must be a DiscreteMeasure"),
    ],
)
def test_refuses_arguments(kwargs, message):
    measure = DiscreteMeasure([[0.0], [1.0]])
    with pytest.raises((TypeError, ValueError), match=message):
        solve_semidiscrete(measure, **{"atoms": measure, **kwargs})
