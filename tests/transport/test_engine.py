"""The engine behind exact transport: what it keeps true, and what the certificate sees."""

import numpy as np
import pytest

from tests import world
from tests.cases import every
from tests.world import home

certificate = home("certify")
exact = home("solve_problem")
levels = home("solve_levels")

SHAPES = (
    "tight clusters, specks, grid, places, line, unequal, far atom, one side, heavy point, twins"
)


def problem_of(shape, n, m, d, seed, p=2.0):
    """Return a problem meant to break the search."""
    rng = np.random.default_rng(seed)
    points, weights = rng.random((n, d)), np.ones(n)
    atoms = rng.random((m, d))
    if shape in ("tight clusters", "specks"):
        width = 1e-3 if shape == "tight clusters" else 1e-8
        centers = rng.random((12, d))
        points = centers[rng.integers(0, 12, n)] + width * rng.standard_normal((n, d))
        atoms = points[rng.choice(n, m, replace=False)]
    elif shape == "grid":
        points, atoms = rng.integers(0, 9, (n, d)) / 8.0, rng.integers(0, 9, (m, d)) / 8.0
    elif shape == "places":
        points = points[rng.integers(0, 40, n)]
    elif shape == "line":
        points[:, 1:], atoms[:, 1:] = 0.0, 0.0
    elif shape == "unequal":
        weights = rng.pareto(1.1, n) + 1e-9
    elif shape == "far atom":
        atoms[0] += 1e6
    elif shape == "one side":
        atoms -= 5.0
    elif shape == "heavy point":
        weights[n // 2] = n
    elif shape == "twins":
        atoms[m // 2 :] = atoms[: m - m // 2] + 1e-9
    cloud, _ = world.order_points(points, weights / weights.sum())
    return world.SemidualProblem(cloud, atoms, np.full(m, 1 / m), p)


@pytest.fixture
def engine_only(monkeypatch):
    """Send problems of any size to the engine, and fail when POT has to help."""

    def refuse(problem):
        raise AssertionError("the engine found no proven optimum")

    for name in ("_TINY", "_SMALL", "_MOST"):
        monkeypatch.setattr(exact, name, 0)
    monkeypatch.setattr(exact, "network_simplex", refuse)
    monkeypatch.setattr(exact, "axis_of_line", lambda problem: None)


SIZES = [(4000, 60, 2, 0, 2.0), (1500, 48, 3, 0, 1.0), (1500, 30, 6, 0, 2.0)]
LARGER = [(20_000, 100, 2), (3_000, 48, 3), (20_000, 100, 1)]
SIZES += [pytest.param(*s, seed, 2.0, marks=pytest.mark.slow) for s in LARGER for seed in range(5)]


@pytest.mark.parametrize("shape", SHAPES.split(", "))
@pytest.mark.parametrize(("n", "m", "d", "seed", "p"), SIZES)
def test_hostile_problems_are_proven_without_help(engine_only, shape, n, m, d, seed, p):
    assert exact.solve_problem(problem_of(shape, n, m, d, seed, p)).proven


@every("fault", ["potential", "label", "share", "mass"])
def test_the_certificate_sees_planted_faults(fault):
    problem = problem_of("unequal", 3000, 20, 2, 3)
    found = levels.solve_levels(problem, None)
    assert found.proven
    potentials, labels, shares = found.potentials.copy(), found.labels.copy(), found.shares.copy()
    whole = np.setdiff1d(np.arange(3000), found.split)
    if fault == "potential":
        potentials[3] += 1e-3
    elif fault == "label":  # two points change places
        first, second = whole[labels[whole] == 0][0], whole[labels[whole] == 1][0]
        labels[[first, second]] = labels[[second, first]]
    elif fault == "share":
        shares[:, 0] = shares[::-1, 0]
    else:
        labels[whole[0]] = (labels[whole[0]] + 1) % 20
    assert not certificate.certify(problem, potentials, labels, found.split, shares).proven


@every(
    "weights", [np.ones(10**6), np.random.default_rng(0).pareto(1.1, 10**5), np.array([1.0, 1e-30])]
)
def test_units_add_up_and_rounding_is_spread(weights):
    units = certificate.to_units(weights)
    assert units.sum() == certificate.UNITS and units.min() >= 0
    exactly = weights / weights.sum() * certificate.UNITS
    assert np.abs(units - exactly).max() <= 2.0 + 1e-15 * certificate.UNITS


def test_without_a_place_to_keep_code_it_is_compiled_in_the_process(monkeypatch, caplog):
    compiling = home("compiled")
    compile_, cached = compiling.numba.njit, []

    def no_folder(*given, **options):
        cached.append(options.get("cache", False))
        if options.pop("cache", False):
            raise RuntimeError("cannot cache function: no locator available")
        return compile_(*given, **options)

    monkeypatch.setattr(compiling.numba, "njit", no_folder)
    compiling.say_so.cache_clear()
    twice = compiling.compiled("f8", returns="f8")(lambda x: 2.0 * x)
    assert twice(4.0) == 8.0
    assert cached == [True, False]
    assert [record.getMessage() for record in caplog.records] == [
        "skdp_bary: compiling exact transport, once on this machine; takes up to a minute ..."
    ]


def entries(flow):
    """Return points, atoms and units of the positive entries of a flow."""
    atoms, points = np.nonzero(flow)
    return points, atoms, flow[atoms, points]
