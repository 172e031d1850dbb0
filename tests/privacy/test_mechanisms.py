"""What mechanisms draw: the law at the scale they state. Scale arithmetic is in test_plan."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from skdp_bary.base import Sensitivity
from tests.cases import every
from tests.distributions import gaussian_pmf, laplace_pmf
from tests.world import DiscreteLaplace, RoundedGaussian, noise_generator

LAWS = [(DiscreteLaplace(0.5), laplace_pmf), (RoundedGaussian(0.5), gaussian_pmf)]


@every("mechanism, pmf", LAWS)
def test_draws_are_those_of_the_scale_that_was_computed(mechanism, pmf):
    (scale,) = mechanism.scales(Sensitivity.single(3, 9))
    draws = mechanism.draw(scale, (500, 400), noise_generator(2))
    assert draws.shape == (500, 400)
    assert draws.dtype == np.int64
    k = np.arange(-12, 13)
    seen = np.bincount(np.clip(draws, -13, 13).ravel() + 13, minlength=27)
    for factor, accepted in ((1.0, True), (1.3, False), (0.98, False)):
        expected = pmf(k, factor * scale) * draws.size
        tail = (draws.size - expected.sum()) / 2
        law = np.r_[tail, expected, tail]
        p = chisquare(seen, law * (np.sum(seen) / law.sum())).pvalue
        assert (p > 1e-3) if accepted else (p < 1e-6)


@every("scale", [0.6, 2.0, 37.5, 3e3])
@every("mechanism, pmf", LAWS)
def test_standard_deviation_is_that_of_the_integers(mechanism, pmf, scale):
    reach = math.ceil(60 * scale)
    k = np.arange(-reach, reach + 1.0)
    p = pmf(k, scale)
    assert p.sum() == pytest.approx(1.0, rel=1e-9)
    tolerance = 1e-9 if mechanism is LAWS[0][0] else 0.02 / scale**2
    assert mechanism.standard_deviation(scale) == pytest.approx(
        math.sqrt((p * k**2).sum()), rel=tolerance
    )


@every("mechanism", [m for m, _ in LAWS])
def test_standard_deviation_of_no_noise_and_of_next_to_none(mechanism):
    assert mechanism.standard_deviation(0.0) == 0.0
    assert 0.0 <= mechanism.standard_deviation(1e-4) < 0.3
