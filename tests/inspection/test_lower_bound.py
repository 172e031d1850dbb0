"""Empirical lower bounds: right for known mechanisms, and valid for what is private."""

import math

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.cluster import KMeans
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skdp_bary import BudgetAccountant, DomainScaler, PrivateKMeans, PrivateMeasure, RowByRow
from skdp_bary.inspection import epsilon_lower_bound
from skdp_bary.model_selection import PrivateSearchCV
from tests.cases import every
from tests.world import _log_ratio, lowest_bit, noise_generator

X = np.random.default_rng(0).random((20, 2))


SMALL = PrivateMeasure(bounds=(0, 1), depth=1, n_hint=20)


def float_laplace(data, rng):
    return data + rng.laplace(scale=1.0)


def integer_laplace(data, rng):
    p = 1 - math.exp(-1.0)
    return data + rng.geometric(p) - rng.geometric(p)


def exact_laplace(data, rng):
    noise = noise_generator(int(rng.integers(2**31))).discrete_laplace(1.0, ())
    return 0.1 * (data + int(noise))


def gaussian_vector(data, rng):
    """Rounded so that the low bits tell nothing; mu = 1, so epsilon(1e-3) is about 3.3."""
    return np.round(100 * (np.full(16, data / 4.0) + rng.normal(size=16)))


def test_correct_mechanisms_stay_below_their_epsilon():
    for mechanism in (integer_laplace, exact_laplace):
        report = epsilon_lower_bound(mechanism, 0, 1, n_runs=6000, random_state=0)
        assert 0.8 < report.epsilon <= 1.0


def test_low_bits_separate_float_noise_and_not_ours():
    """The sum of a float and float noise shows, in its low bits, what the noise was added to."""
    broken = epsilon_lower_bound(float_laplace, 0, 1, n_runs=4000, random_state=0)
    assert broken.epsilon > 3.0
    assert "lowest bit" in broken.event
    assert 0 in (broken.hits, broken.neighbor_hits)
    assert epsilon_lower_bound(exact_laplace, 0, 1, n_runs=4000, random_state=0).epsilon <= 1.0


def test_delta_is_subtracted():
    reports = [
        epsilon_lower_bound(gaussian_vector, 0, 1, n_runs=4000, delta=delta, random_state=0)
        for delta in (0.0, 1e-3, 0.2)
    ]
    bounds = [report.epsilon for report in reports]
    assert bounds[0] > bounds[1] > bounds[2]
    assert 0.7 < bounds[1] < 3.3
    assert bounds[2] < 0.8


def test_limits_are_those_of_clopper_and_pearson():
    low, high = beta.ppf(0.01, 40, 61), beta.ppf(0.99, 11, 90)
    assert _log_ratio(40, 10, 100, 0.05, 0.01) == pytest.approx(math.log((low - 0.05) / high))
    assert _log_ratio(100, 100, 100, 0.0, 0.01) == pytest.approx(math.log(0.01) / 100)
    assert _log_ratio(0, 50, 100, 0.0, 0.01) < -100


def test_lowest_bit_against_fractions():
    values = np.array([0.0, 1.0, -6.0, 0.1, 2.0**-1040, 1.5, 3e300, np.inf])
    for value, found in zip(values, lowest_bit(values), strict=True):
        if value == 0 or math.isinf(value):
            assert found == 2000.0
            continue
        numerator, denominator = abs(value).as_integer_ratio()
        power = (numerator & -numerator).bit_length() - denominator.bit_length()
        assert found == power


def test_a_shared_budget_is_not_touched():
    """A pipeline spent the whole of it, and then failed."""
    accountant = BudgetAccountant(1.0, neighbors="replace_one")
    measure = PrivateMeasure(bounds=(0, 1), depth=1, n_hint=20, accountant=accountant)
    kmeans = RowByRow(PrivateKMeans(2, bounds=(0, 1), accountant=accountant))
    kinds = [
        (measure, lambda fitted: fitted),
        (make_pipeline(DomainScaler((0, 1)), measure), lambda fitted: fitted[-1]),
        (make_pipeline(kmeans, measure), lambda fitted: fitted[-1]),
        (GridSearchCV(measure, {}, cv=2), lambda fitted: fitted.best_estimator_),
    ]
    for estimator, part in kinds:
        relations = []

        def released(fitted, part=part, relations=relations):
            relations.append(part(fitted).privacy_.relation)
            return part(fitted).weights_

        epsilon_lower_bound(estimator, X, X[1:], extract=released, n_runs=4, random_state=0)
        assert {*relations} == {"replace_one"} and accountant.entries == ()


def test_estimators_of_others_are_audited_through_extract():
    model = KMeans(n_clusters=1, n_init=1)
    report = epsilon_lower_bound(
        model, X, X[1:], extract=lambda fitted: fitted.cluster_centers_, n_runs=100
    )
    assert report.epsilon > 1.5  # no noise at all
    with pytest.raises(TypeError, match="extract must say"):
        epsilon_lower_bound(model, X, X[1:])
    accountant = BudgetAccountant(1.0, neighbors="replace_one")
    search = PrivateSearchCV(SMALL, {"depth": [1, 2]}, accountant=accountant)
    with pytest.raises(TypeError, match="extract must say"):  # whose worse trials stay unseen
        epsilon_lower_bound(search, X, X[1:])
    relations = []

    def score(fitted):
        relations.append(fitted.privacy_.relation)
        return fitted.best_score_

    assert epsilon_lower_bound(search, X, X, extract=score, n_runs=4).epsilon == 0.0
    assert {*relations} == {"replace_one"} and accountant.entries == ()


@every(
    "arguments, error, message",
    [
        ({"n_runs": 3}, ValueError, "n_runs must be an integer in"),
        ({"confidence": 1.0}, ValueError, "confidence must be a finite number in"),
        ({"delta": 1.0}, ValueError, "delta must be a finite number in"),
        ({"mechanism": 3}, TypeError, "mechanism must be a callable or an estimator, got 3"),
        ({"mechanism": lambda data, rng: "text"}, TypeError, "real numbers, got dtype"),
        (
            {"mechanism": PrivateMeasure(bounds=(0, 1), random_state=0)},
            ValueError,
            "must have random_state=None",
        ),
    ],
)
def test_bad_arguments(arguments, error, message):
    complete = {"mechanism": integer_laplace, "data": X, "neighbor": X[1:], "n_runs": 10}
    with pytest.raises(error, match=message):
        epsilon_lower_bound(**(complete | arguments))
