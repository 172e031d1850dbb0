"""Kummer's function against 40-digit arithmetic."""

import math

import mpmath
import numpy as np
import pytest

from tests.cases import every
from tests.world import home, log_kummer

_hypergeometric = home("log_kummer")


def exact(a, b, t):
    with mpmath.workdps(40):
        return mpmath.log(mpmath.hyp1f1(mpmath.mpf(a), mpmath.mpf(b), t, maxterms=10**6))


def settings(n):
    rng = np.random.default_rng(0)
    for _ in range(n):
        b = 10.0 ** rng.uniform(-0.3, 3.7)
        yield b * rng.uniform(0.001, 1.0), b, 10.0 ** rng.uniform(-12, 4)


def test_series_is_a_tight_upper_bound():
    for a, b, t in settings(120):
        truth = exact(a, b, t)
        assert truth <= log_kummer(a, b, t) <= truth * (1 + 1e-9), (a, b, t)


def test_the_stated_rounding_error_covers_log_gamma():
    for x in [0.5, 1.5, 7.0, 392.0, 4096.5, 1e5]:
        with mpmath.workdps(40):
            error = abs(mpmath.loggamma(x) - float(_hypergeometric.gammaln(x)))
            assert error <= _hypergeometric._ROUNDING / 2 * (abs(mpmath.loggamma(x)) + 1)


@every("t", [2.0**17, 2.0**17 + 1, 1e6, 1e300])
def test_beyond_the_series_the_bound_stays_above(t):
    value = log_kummer(0.5, 392.0, t)
    assert value <= t
    with mpmath.workdps(40):  # Kummer's expansion at infinity, first term and then some
        leading = mpmath.loggamma(392) - mpmath.loggamma(0.5) + t - 391.5 * mpmath.log(t)
    assert value >= leading
    assert log_kummer(0.5, 392.0, 0.0) == 0.0
    assert log_kummer(0.5, 0.5, 30.0) == pytest.approx(30.0, rel=1e-12)
    assert math.isfinite(log_kummer(4096.0, 4096.5, 1e5))
