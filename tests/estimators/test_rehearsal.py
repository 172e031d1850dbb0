"""Noise that is too large for a later step is found before the charge."""

import numpy as np
import pytest
from sklearn.base import clone

from skdp_bary import (
    BudgetAccountant,
    PrivateGenerator,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
)
from skdp_bary.estimators import _base
from skdp_bary.inspection._recording import record_fit
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.privacy.noise.sampler import MAX_SCALE

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
X = np.random.default_rng(0).random((40, 6))
PAIRS = np.arange(40) // 2
SETTINGS = {"bounds": (0, 1), "n_hint": 100}
ESTIMATORS = [
    PrivateKMeans(2, n_init=1, **SETTINGS),
    PrivateKMeans(2, n_init=1, delta=1e-6, **SETTINGS),
    PrivateGenerator(**SETTINGS),
    PrivateMeasure(delta=1e-6),
    PrivateWassersteinBarycenter(2, n_init=1, n_rounds=2, **SETTINGS),
    PrivateWassersteinBarycenter(2, n_init=1, delta=1e-6, **SETTINGS),
]


@pytest.mark.parametrize("groups", [None, PAIRS], ids=["rows", "persons"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_a_budget_too_small_for_a_later_step_is_refused_unpaid(estimator, groups):
    for exponent in range(1, 7):
        accountant = BudgetAccountant(1.0, 0.1)
        small = clone(estimator).set_params(epsilon=10.0**-exponent, accountant=accountant)
        try:
            small.fit(X, groups=groups)
        except ValueError as error:
            assert "epsilon is too small for step" in str(error)
            assert accountant.entries == ()
        else:
            assert len(accountant.entries) == 1


def test_some_steps_after_the_first_are_too_small():
    accountant = BudgetAccountant(1.0)
    small = PrivateKMeans(2, epsilon=0.1, n_init=1, accountant=accountant, **SETTINGS)
    with pytest.raises(ValueError, match="for step '(fill|residual|ambient_1|low_1)'"):
        small.fit(X, groups=PAIRS)
    assert accountant.entries == ()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_steps_that_are_not_rehearsed_can_be_drawn(estimator):
    for groups in (None, PAIRS):
        for record in record_fit(clone(estimator), {"X": X, "groups": groups}).records:
            for case in record.sensitivity.l1 + record.sensitivity.l2_squared:
                assert max(case) / _base._SURE <= MAX_SCALE or case in record.sensitivity.l2_squared
                assert max(case) ** 0.5 / _base._SURE <= MAX_SCALE


def test_a_rehearsal_changes_nothing_of_a_seeded_fit(monkeypatch):
    fits = []
    for sure in (0.0, np.inf):
        monkeypatch.setattr(_base, "_SURE", sure)
        fits.append(PrivateKMeans(2, random_state=np.random.RandomState(3), **SETTINGS).fit(X))
    assert (fits[0].cluster_centers_ == fits[1].cluster_centers_).all()


@pytest.mark.parametrize(
    ("settings", "rows", "told"),
    [
        ({"score_share": 1e-6}, X, "too small"),  # the least that is allowed
        ({"epsilon": 1e-3}, X, "too small|epsilon must"),
        ({"param_grid": {"init": [np.zeros((2, 3)), "grid"]}}, X, "init must"),
        ({}, np.where(X > 0.9, np.nan, X), "NaN"),
    ],
)
def test_a_trial_that_would_fail_is_found_before_a_search_is_charged(settings, rows, told):
    accountant = BudgetAccountant(5.0)
    given = {"param_grid": {"n_init": [1, 2]}, "accountant": accountant} | settings
    with pytest.raises(ValueError, match=told):
        PrivateSearchCV(PrivateKMeans(2, **SETTINGS), **given).fit(rows, groups=PAIRS)
    assert accountant.entries == ()
