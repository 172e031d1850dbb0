"""Calibrated noise of random projections: exact profiles, published settings, and every trap."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from skdp_bary.papers import calibrate_sigma
from tests.cases import every
from tests.world import (
    FixedLaw,
    FrameLaw,
    IndependentLaw,
    gaussian_delta,
    projection_delta,
    projection_epsilon,
    projection_law,
    tight_frame,
)

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
needs_library = pytest.mark.usefixtures("library")
OFFICE = {"sampling_rate": 32 / 497, "n_steps": 800}
MNIST = {"sampling_rate": 100 / 60000, "n_steps": 60100}


@pytest.fixture
def library():
    return pytest.importorskip("dp_accounting")


@every("d, k, sigma", [(784, 200, 0.26), (10, 3, 0.5)])
def test_profile_of_a_frame_is_the_mean_over_the_beta_law(d, k, sigma):
    law = FrameLaw(d, k)
    with mpmath.workdps(20):
        norm = mpmath.beta(k / 2, (d - k) / 2)

        def density(h):
            weight = h ** (k / 2 - 1) * (1 - h) ** ((d - k) / 2 - 1) / norm
            return weight * gaussian_delta(math.sqrt(float(h)) / sigma, 4.0)

        mean, sd = law.mean, law.standard_deviation
        points = [x for x in (mean - 6 * sd, mean, mean + 6 * sd, mean + 12 * sd) if 0 < x < 1]
        exact = float(mpmath.quad(density, [0, *points, 1]))
    found = projection_delta(law, sigma, 4.0)
    assert exact <= found <= exact * 1.02


@every(
    "d, k, tight, independent",
    [(10, 50, 8.344, 8.75), (784, 200, 1.91, 1.92), (50, 100, 5.28, 5.46)],
)
def test_one_release_needs_the_noise_of_the_research(d, k, tight, independent):
    found = [
        calibrate_sigma(
            1.0,
            1e-5,
            n_features=d,
            n_projections=k,
            directions=directions,
            direction_privacy="average",
        )
        for directions in ("tight", "iid")
    ]
    assert tight * 0.998 < found[0] <= tight
    assert independent * 0.995 < found[1] <= independent
    assert found[0] <= found[1]


@every(
    "law, setting",
    [
        (projection_law(10, 20), {}),
        (projection_law(10, 20), {"n_steps": 9}),
        (FrameLaw(30, 4), {"sampling_rate": 0.1}),
        (IndependentLaw(8, 12), {}),
    ],
)
def test_epsilon_is_the_inverse_of_delta(law, setting):
    epsilon = projection_epsilon(law, 1.5, 1e-5, **setting)
    assert projection_delta(law, 1.5, epsilon, **setting) <= 1e-5
    assert projection_delta(law, 1.5, epsilon * 0.9999, **setting) > 1e-5
    assert projection_epsilon(law, 1e4, 0.1, **setting) == 0.0


CHEAP = [
    (projection_law(7, 20), {"n_features": 7, "n_projections": 20}),
    (FixedLaw(1.0), {"n_features": 20, "n_projections": 7}),
]
FRAME = (FrameLaw(20, 7), {"n_features": 20, "n_projections": 7, "direction_privacy": "average"})
SAMPLED = {"sampling_rate": 0.03}


@every(
    "case, setting, epsilon",
    [
        *itertools.product(CHEAP, ({}, SAMPLED), (0.3, 3.0)),
        (FRAME, {}, 3.0),  # which takes seconds
        (FRAME, SAMPLED, 0.3),
    ],
)
def test_sigma_is_rounded_up_and_no_further(case, setting, epsilon):
    law, arguments = case
    sigma = calibrate_sigma(epsilon, 1e-6, **arguments, **setting)
    assert projection_epsilon(law, sigma, 1e-6, **setting) <= epsilon
    assert projection_epsilon(law, sigma * 0.999, 1e-6, **setting) > epsilon
    assert float(f"{sigma:.5g}") == sigma


@needs_library
@pytest.mark.parametrize(
    ("d", "k", "delta", "setting", "printed", "limit"),
    [(50, 100, 1e-3, OFFICE, 1.560, 1.561), (784, 1000, 1e-5, MNIST, 0.694, 0.695)],
)
def test_published_training_is_rounded_up(d, k, delta, setting, printed, limit):
    """The third digit rounded to nearest costs more than ten; rounded up, it does not."""
    law = projection_law(d, k)
    assert projection_epsilon(law, printed, delta, **setting) > 10.0
    sigma = calibrate_sigma(10.0, delta, n_features=d, n_projections=k, **setting)
    assert printed < sigma <= limit
    assert projection_epsilon(law, sigma, delta, **setting) <= 10.0


@needs_library
def test_steps_compose_as_more_independent_directions():
    """Without sampling, steps along fresh directions are one release along all of them."""
    together = IndependentLaw(20, 60)
    apart = IndependentLaw(20, 15)
    for sigma, epsilon in [(2.0, 1.0), (1.0, 5.0)]:
        exact = projection_delta(together, sigma, epsilon)
        found = projection_delta(apart, sigma, epsilon, n_steps=4)
        assert found == pytest.approx(exact, rel=0.02)


@needs_library
@pytest.mark.parametrize("law", [FixedLaw(0.7), FrameLaw(30, 12)])
def test_less_is_paid_for_less(law):
    """More noise, fewer steps and smaller batches never cost more, nor does a larger epsilon."""
    base = {"sampling_rate": 0.1, "n_steps": 20}

    def delta(sigma=1.5, epsilon=1.0, **changes):
        return projection_delta(law, sigma, epsilon, **(base | changes))

    middle = delta()
    assert delta(sigma=1.6) < middle < delta(sigma=1.4)
    assert delta(epsilon=1.1) < middle < delta(epsilon=0.9)
    assert delta(n_steps=18) < middle < delta(sampling_rate=0.12)


def test_given_and_few_directions_are_paid_for_in_full():
    U = tight_frame(5, 8, np.random.default_rng(0))
    shape = {"n_features": 5, "n_projections": 8}
    given = calibrate_sigma(1.0, 1e-5, directions=U, **shape)
    assert given == pytest.approx(calibrate_sigma(1.0, 1e-5, **shape), rel=1e-4)
    with pytest.raises(ValueError, match="over unseen ones"):
        calibrate_sigma(1.0, 1e-5, directions=U, direction_privacy="average", **shape)
    with pytest.raises(ValueError, match="must have shape"):
        calibrate_sigma(1.0, 1e-5, directions=U.T, **shape)
    # A row along the longest projection is the worst case, whatever the ratio of the numbers.
    d, k, epsilon, delta = 40, 10, 1.0, 1e-5
    shape = {"n_features": d, "n_projections": k}
    frame = calibrate_sigma(epsilon, delta, **shape)
    assert gaussian_delta(1.0 / frame, epsilon) <= delta
    assert gaussian_delta(1.0 / (frame * math.sqrt(k / d)), epsilon) > 1000 * delta
    U = np.random.default_rng(1).standard_normal((d, k))
    U /= np.linalg.norm(U, axis=0)
    longest = np.linalg.svd(U)[1][0]
    given = calibrate_sigma(epsilon, delta, directions=U, **shape)
    assert (
        gaussian_delta(longest / given, epsilon) <= delta < gaussian_delta(longest / frame, epsilon)
    )


def test_calibrations_that_mean_nothing_are_refused():
    shape = {"n_features": 5, "n_projections": 8}
    for wrong, message in [
        ({"delta": 0.0}, "delta must be in"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"sampling_rate": 1.1}, "sampling_rate must be"),
        ({"n_steps": 0}, "n_steps must be"),
        ({"diameter": 0.0}, "diameter must be"),
    ]:
        arguments = {"epsilon": 1.0, "delta": 1e-5} | shape | wrong
        with pytest.raises(ValueError, match=message):
            calibrate_sigma(**arguments)
