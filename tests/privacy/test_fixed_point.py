"""Tails in fixed point: the errors that are proved, against high precision."""

import math

import mpmath
import numpy as np

from tests.cases import every
from tests.world import MAX_SCALE, _GaussianLaw, _LaplaceLaw, home

fixed_point = home("tails_of_nodes")
sampler = home("MAX_SCALE")

PROVED = mpmath.mpf(2) ** -165
SCALES = [0.3, 5.3, 2.0**16, 2.0**26, 1.37 * 2.0**36, np.nextafter(2.0**45, 0), MAX_SCALE]
LAWS = {_LaplaceLaw: 63, _GaussianLaw: 64}


def true_tail(law, magnitude, scale):
    if law is _LaplaceLaw:
        return mpmath.exp(-mpmath.mpf(magnitude) / mpmath.mpf(scale))
    score = (mpmath.mpf(magnitude) - mpmath.mpf(0.5)) / mpmath.mpf(scale)
    return mpmath.erfc(score / mpmath.sqrt(2)) / 2


@every("scale", SCALES)
@every("law", LAWS)
def test_tails_are_within_the_error_that_is_proved(law, scale):
    reach = 5.99 if law is _GaussianLaw else 43.0
    places = [*np.linspace(0.0, reach, 23), 1 / 2048, 3 / 2048, 0.5, 1.0, 4097 / 2048]
    errors = []
    with mpmath.workprec(320):
        for magnitude in {max(1, math.floor(place * scale)) for place in places}:
            found = law.tail(magnitude, scale)
            if found is not None:  # at small scales the first step may be beyond the nodes
                truth = true_tail(law, magnitude, scale)
                errors.append(abs(mpmath.mpf(found) / fixed_point.ONE - truth))
    assert errors
    assert max(errors) < PROVED < mpmath.mpf(fixed_point.SLACK) / fixed_point.ONE / 30


def test_nodes_are_within_the_error_that_is_proved():
    tails, densities = fixed_point.tails_of_nodes()
    assert len(tails) == len(densities) == 6145
    with mpmath.workprec(320):
        for j in (0, 1, 999, 1448, 4096, 6144):
            x = mpmath.mpf(j) / 1024
            tail = mpmath.erfc(x / mpmath.sqrt(2)) / 2
            assert abs(mpmath.mpf(tails[j]) / fixed_point.ONE - tail) < PROVED
            assert abs(mpmath.mpf(densities[j]) / fixed_point.ONE - mpmath.npdf(x)) < PROVED


@every("law", LAWS)
def test_the_first_step_and_those_out_of_reach(law):
    assert law.tail(0, 5.0) == law.tail(-(1 << 62), 2.0**40) == 2 * fixed_point.ONE
    far = {_LaplaceLaw: 0, _GaussianLaw: None}[law]
    assert law.tail(1 << 62, 2.0**45) == far
    assert law.tail(1, 5e-324) == far


@every("scale", [40.0, 2.0**31 + 0.1, 2.0**45])
@every("law", LAWS)
def test_whatever_is_guessed_the_answer_is_that_of_high_precision(law, scale):
    rng, digits = np.random.default_rng(0), LAWS[law]
    known = 0
    for key in rng.integers(1 << 40, 1 << 62, size=12).tolist():
        wide = (key << 64) | int(rng.integers(1 << 62))
        for tail, length in ((key, digits), (wide, digits + 64)):
            low, high = law(scale).bounds(tail, length)
            for guess in (low - 3, low - 2, low - 1, low, low + 1, -5, 1 << 62):
                steps = [law.tail(guess + more, scale) for more in range(3)]
                near = sampler._near(guess, steps, tail, length)
                assert near is None or low <= near[0] <= near[1] <= high
                known += near is not None
                if guess in (low - 1, low) and low == high:
                    assert near == (low, high)
    assert known > 20


@every("law", LAWS)
def test_tails_next_to_a_step_stay_open_until_digits_tell(law):
    scale, digits = 1.1 * 2.0**45, LAWS[law] + 64
    magnitude = math.floor(0.7 * scale)
    steps = [law.tail(magnitude - 1 + more, scale) for more in range(3)]
    key = steps[1] >> (fixed_point.DIGITS - digits)
    assert sampler._near(magnitude - 1, steps, key, digits) == (magnitude - 1, magnitude)
    assert sampler._near(magnitude - 1, steps, key - 1, digits) == (magnitude, magnitude)
    assert sampler._near(magnitude - 1, steps, key + 1, digits) == (magnitude - 1, magnitude - 1)
    assert sampler._near(magnitude - 1, steps, key << 64, digits + 64) is None
