"""Laws of random projections against exact distributions, simulations and 40-digit arithmetic."""

import math

import mpmath
import numpy as np
import pytest

from skdp_bary.papers import bernstein_bound, clt_bound
from tests.cases import every
from tests.world import (
    FixedLaw,
    FrameLaw,
    IndependentLaw,
    haar_frame,
    operator_law,
    projection_law,
    tight_frame,
)


def unit_columns(d, k, rng):
    U = rng.standard_normal((d, k))
    return U / np.linalg.norm(U, axis=0)


def simulated(law, n, seed=0):
    """Draw H for directions that are really drawn."""
    rng = np.random.default_rng(seed)
    d, k = law.n_features, law.n_projections
    draw = haar_frame if isinstance(law, FrameLaw) else unit_columns
    return np.array([(draw(d, k, rng)[0] ** 2).sum() for _ in range(n)])


def at_least(law, count, points):
    """P(H' > point) of the law that atoms make of H."""
    values, weights = law.atoms(count)
    return np.array([weights[values > point].sum() for point in points])


SMOOTH = [FrameLaw(10, 3), IndependentLaw(3, 2), IndependentLaw(20, 30)]
SPREAD = [*SMOOTH, FrameLaw(2, 1), IndependentLaw(2, 2)]


@every("law", SPREAD)
@every("count", [32, 512])
def test_atoms_are_a_distribution_above_the_mean(law, count):
    values, weights = law.atoms(count)
    assert (weights >= 0).all() and math.fsum(weights) == pytest.approx(1.0, abs=1e-12)
    assert (np.diff(values) >= 0).all() and values[-1] == law.largest
    assert weights @ values >= law.mean


@every("count", [16, 300])
def test_frame_atoms_are_stochastically_larger(count):
    law = FrameLaw(784, 200)
    points = np.linspace(0.2, 0.5, 13)
    with mpmath.workdps(40):
        truth = [mpmath.betainc(100, 292, h, 1, regularized=True) for h in points]
    found = at_least(law, count, points)
    assert all(float(t) <= f for t, f in zip(truth, found, strict=True))
    # densely placed atoms are close where the mass is
    if count == 300:
        assert found[2] <= float(truth[2]) * 1.2


def test_independent_laws_are_stochastically_larger_and_tails_exact():
    """Two directions in three dimensions: H is the sum of two squared uniform numbers."""
    law = IndependentLaw(3, 2)
    points = np.linspace(0.01, 0.99, 25)
    truth = 1 - math.pi * points / 4
    assert (at_least(law, 400, points) >= truth).all()
    survival = law.survival(points)
    assert (survival >= truth).all()
    np.testing.assert_allclose(survival, truth, atol=1e-4)
    # P(H > 0.37) by inversion of the characteristic function with 30 digits.
    law = IndependentLaw(784, 200)
    truth = 3.0935e-5
    assert truth * 0.9999 <= law.survival(np.array([0.37]))[0] <= truth * 1.01
    assert law.chernoff(np.array([0.37]))[0] >= truth
    assert law.quantile(5e-6) == pytest.approx(0.4023, abs=1e-4)
    for law in (IndependentLaw(784, 200), IndependentLaw(8192, 2000), IndependentLaw(20, 30)):
        _, tail = law._tail
        assert abs(tail[0] - 1.0) < 5e-13
        assert np.abs(tail[-1000:]).max() < 5e-13


@every("law", SPREAD)
def test_chernoff_is_above_what_is_drawn(law):
    draws = simulated(law, 2000)
    points = np.quantile(draws, [0.5, 0.9, 0.99])
    shares = (draws[:, None] > points).mean(axis=0)
    assert (law.chernoff(points) >= shares).all()


@every("d, k", [(1, 3), (5, 5), (5, 12), (7, 50)])
def test_tight_frames_carry_every_change_alike(d, k):
    rng = np.random.default_rng(0)
    U = tight_frame(d, k, rng)
    law = projection_law(d, k)
    assert law.value == pytest.approx(k / d)
    for z in np.eye(d):
        assert (U.T @ z) @ (U.T @ z) <= law.value * (1 + 1e-12)
    assert operator_law(U).value == pytest.approx(k / d, rel=1e-6)
    assert projection_law(d, k, direction_privacy="average") == law


def test_fewer_directions_than_features_never_count_less_than_one():
    """A row may point along a direction, so the share k / d of features is no worst case."""
    law = projection_law(50, 5)
    U = haar_frame(50, 5, np.random.default_rng(0))
    along = U[:, 0]
    assert (U.T @ along) @ (U.T @ along) <= law.value + 1e-12
    assert law.value == 1.0


@every("d, k", [(20, 4), (20, 60), (3, 3)])
def test_given_directions_count_by_their_operator_norm(d, k):
    U = unit_columns(d, k, np.random.default_rng(3))
    longest = np.linalg.svd(U)[1][0] ** 2
    law = operator_law(U)
    assert longest <= law.value <= longest * (1 + 1e-9)
    assert longest > max(1.0, k / d) * 1.05  # neither one nor the ratio would do


def test_the_published_bounds_are_far_off_on_both_sides():
    """d = 784, k = 200: Bernstein's is far above H, the normal one is exceeded too often."""
    law, failure = IndependentLaw(784, 200), 5e-6
    assert clt_bound(784, 200, failure) == pytest.approx(0.3676, abs=1e-4)
    assert bernstein_bound(784, 200, failure) == pytest.approx(8.518, abs=1e-3)
    assert law.survival(np.array([clt_bound(784, 200, failure)]))[0] > 6 * failure
    assert bernstein_bound(784, 200, failure) > 20 * law.quantile(failure)


@every(
    "arguments, message",
    [
        ((10, 5, "haar"), "directions must be one of"),
        ((10, 5, "tight", "both"), "direction_privacy must be one of"),
        ((10, 5, "iid"), "depends on the draw"),
        ((0, 5), "n_features"),
        ((10, 0), "n_projections"),
        ((10, 1 << 20, "iid", "average"), "n_projections with"),
        *(((U,), "finite matrix") for U in (np.ones(3), np.empty((0, 3)), np.full((2, 2), np.nan))),
    ],
)
def test_wrong_laws_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        (operator_law if len(arguments) == 1 else projection_law)(*arguments)
    assert projection_law(1, 4, "iid", "average") == FixedLaw(4.0)
    assert projection_law(6, 1, "iid", "average") == FrameLaw(6, 1)
