"""Slow black-box audits of tests of two samples: what is published shows no more than epsilon."""

import numpy as np
import pytest

from skdp_bary import PrivateDriftSketch, PrivateTwoSampleTest
from skdp_bary.inspection import epsilon_lower_bound

pytestmark = pytest.mark.filterwarnings("ignore:delta=")
NEAR, FAR = np.full((30, 1), -0.9), np.full((1, 1), 0.9)


def statistic(fitted):
    return fitted.statistic_


def moments(fitted):
    """The numbers that one person of two moves most, of all that are published."""
    found = fitted.moments_
    return np.concatenate([[found.persons], found.mean * found.persons])


def against_public():
    """One row that is far from everybody: the distance is moved by all that is stated."""
    test = PrivateTwoSampleTest(
        reference=NEAR, n_min=30, n_resamples=1, bounds=(-1, 1), neighbors="replace_one"
    )
    return test, {"X": NEAR}, {"X": np.vstack([NEAR[1:], FAR])}, statistic, 0.0


def two_cohorts():
    test = PrivateTwoSampleTest([0, 1], n_min=30, n_resamples=1, bounds=(-1, 1))
    y = np.repeat([0, 1], 30)
    X = np.vstack([NEAR, NEAR])
    return test, {"X": X, "y": y}, {"X": np.vstack([X, FAR]), "y": np.append(y, 1)}, None, 0.0


def one_sketch():
    sketch = PrivateDriftSketch(epsilon=2.0, delta=0.05, bounds=(-1, 1))
    return sketch, {"X": NEAR[:2]}, {"X": np.vstack([NEAR[:2], FAR])}, moments, 0.05


def lower_bound(case, n_runs):
    estimator, data, neighbor, extract, delta = case()
    return epsilon_lower_bound(
        estimator, data, neighbor, extract=extract, n_runs=n_runs, delta=delta, confidence=0.999
    ).epsilon


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "epsilon", "power"),
    [(against_public, 1.0, 0.2), (two_cohorts, 1.0, 0.0), (one_sketch, 2.0, 0.02)],
)
def test_runs_never_show_more_than_epsilon(case, epsilon, power):
    assert power <= lower_bound(case, 800) <= epsilon
