"""Loss distributions of batches without replacement against other constructions of them."""

import math

import mpmath
import numpy as np
import pytest

from tests.cases import every
from tests.world import _CANCELLATION, amplified_delta, gaussian_delta, step_losses

ONE = np.array([1.0])


def profile(losses, epsilon):
    """Delta at epsilon of the masses themselves."""
    count = losses.masses.size // 2
    grid = losses.step * np.arange(-count, count + 1)
    above = grid > epsilon
    return losses.infinite - np.expm1(epsilon - grid[above]) @ losses.masses[above]


def amplified(mus, weights, epsilon, rate):
    def plain(loss):
        return sum(w * gaussian_delta(mu, loss) for mu, w in zip(mus, weights, strict=True))

    if epsilon >= 0:
        return amplified_delta(plain, epsilon, rate, "without_replacement", "replace_one")
    return -math.expm1(epsilon) + math.exp(epsilon) * amplified(mus, weights, -epsilon, rate)


SETTINGS = [
    (ONE * 1.3, ONE, 0.0128),
    (ONE * 0.2, ONE, 0.3),
    (ONE * 0.7, ONE, 1.0),
    (np.array([0.5, 1.0, 3.0]), np.array([0.6, 0.3, 0.1]), 0.05),
]


@every("mus, weights, rate", SETTINGS)
@every("step", [1e-2, 1e-4])
def test_masses_have_the_amplified_profile(mus, weights, rate, step):
    """At points of the grid the profile is met; between them it is passed above, by chords."""
    losses = step_losses(mus, weights, rate, 1, step)
    assert math.fsum(losses.masses) + losses.infinite == pytest.approx(1.0, abs=1e-12)
    reach = losses.masses.size // 2 * step
    for share in (-0.5, -0.01, 0.0, 0.01, 0.2, 0.7):
        point = round(share * reach / step) * step
        exact = amplified(mus, weights, point, rate)
        assert profile(losses, point) == pytest.approx(exact, rel=1e-5, abs=1e-12)
        between = point + step / 3
        assert profile(losses, between) >= amplified(mus, weights, between, rate) - 1e-13


def test_masses_are_those_of_second_differences():
    """Where second differences still have digits, they are the same masses."""
    library = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    mus, weights, rate, step = ONE * 1.0, ONE, 0.2, 1e-2
    ours = step_losses(mus, weights, rate, 1, step)
    count = ours.masses.size // 2
    deltas = [amplified(mus, weights, step * i, rate) for i in range(-count, count + 1)]
    theirs = library.pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
        step, -count, count, np.minimum.accumulate(deltas)
    )
    np.testing.assert_allclose(ours.masses[1:-1], theirs._probs[1:-1], rtol=1e-4, atol=1e-10)


def test_the_stated_error_covers_the_cancellation_in_a_cell():
    rate, mu, step = 0.0128, 1.3, 1e-4
    losses = step_losses(ONE * mu, ONE, rate, 1, step)
    count = losses.masses.size // 2
    with mpmath.workdps(40):

        def tails(i):
            loss = i * mpmath.mpf(step)
            plain = mpmath.log(1 + mpmath.expm1(loss) / rate)
            p, q = (mpmath.ncdf(sign * mpmath.mpf(mu) / 2 - plain / mu) for sign in (1, -1))
            return (1 - rate) * q + rate * p, q

        for i in (1, 50, 1000, 5000, 20_000):
            points = [tails(j) for j in (i - 1, i, i + 1)]
            up = [points[j][0] - points[j + 1][0] for j in (0, 1)]
            down = [points[j][1] - points[j + 1][1] for j in (0, 1)]
            width = -mpmath.expm1(-mpmath.mpf(step))
            shares = [
                (up[j] - mpmath.exp((i - 1 + j) * mpmath.mpf(step)) * down[j]) / width
                for j in (0, 1)
            ]
            exact = shares[0] + up[1] - shares[1]
            assert abs(losses.masses[count + i] / exact - 1) < 2 * _CANCELLATION


def test_compositions_stay_above_an_attainable_pair():
    """A batch of one row, and a row that is nowhere else: the release has exactly this pair."""
    library = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    for mu, rate, n_steps in [(1.0, 0.05, 200), (2.0, 0.01, 1000)]:
        ours = step_losses(ONE * mu, ONE, rate, n_steps, 2e-4).compose(n_steps, "test")
        pair = library.from_gaussian_mechanism(
            1.0 / mu, value_discretization_interval=2e-4, sampling_prob=rate
        ).self_compose(n_steps)
        for epsilon in (0.5, 1.0, 3.0):
            exact = pair.get_delta_for_epsilon(epsilon)  # to several digits, rounded up
            assert exact * (1 - 1e-3) <= ours.get_delta_for_epsilon(epsilon) <= 5 * exact


def test_everybody_in_the_batch_composes_to_one_gaussian():
    pytest.importorskip("dp_accounting")
    composed = step_losses(ONE * 0.3, ONE, 1.0, 25, 2e-4).compose(25, "test")
    for epsilon in (0.5, 2.0, 5.0):
        exact = gaussian_delta(1.5, epsilon)
        assert exact <= composed.get_delta_for_epsilon(epsilon) + 1e-11 <= exact * (1 + 1e-4)


def test_noise_that_hides_nothing_is_refused():
    with pytest.raises(ValueError, match="sigma must be larger"):
        step_losses(ONE * 1e4, ONE, 0.1, 10, 2e-4)
