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
from skdp_bary.model_selection import PrivateSearchCV
from tests.cases import every
from tests.world import RoundedGaussian, record_fit

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
WIDE = [
    PrivateKMeans(2, n_init=1, delta=delta, neighbors=neighbors, **SETTINGS)
    for delta in (0.0, 1e-6)
    for neighbors in ("add_remove", "replace_one")
]


@every("groups", [None, PAIRS])
@every("estimator", ESTIMATORS)
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
    small = PrivateKMeans(2, epsilon=1e-3, n_init=1, accountant=accountant, **SETTINGS)
    with pytest.raises(ValueError, match="for step '(fill|residual|ambient_1|low_1)'"):
        small.fit(X, groups=PAIRS)
    assert accountant.entries == ()


@pytest.mark.parametrize("groups", [None, PAIRS], ids=["rows", "persons"])
@pytest.mark.parametrize("estimator", [*ESTIMATORS, *WIDE], ids=str)
def test_no_noise_is_larger_than_what_spares_a_rehearsal(estimator, groups, monkeypatch):
    limits, most_noise = [], type(estimator)._most_noise

    def noted(self, facts):
        limits.append(most_noise(self, facts))
        return limits[-1]

    monkeypatch.setattr(type(estimator), "_most_noise", noted)
    rows = X if estimator not in WIDE else np.random.default_rng(0).random((40, 300))
    ample = clone(estimator).set_params(epsilon=100.0)
    recording = record_fit(ample, {"X": rows, "groups": groups})
    assert recording.error is None
    for record in recording.records:
        mechanism = record.released.mechanism
        amount = mechanism.mu if isinstance(mechanism, RoundedGaussian) else mechanism.epsilon
        assert max(record.released.scales) * amount <= limits[0]


def test_a_rehearsal_changes_nothing_of_a_seeded_fit(monkeypatch):
    fits = []
    for most in (0.0, np.inf):
        monkeypatch.setattr(PrivateKMeans, "_most_noise", lambda self, facts, most=most: most)
        fits.append(PrivateKMeans(2, random_state=np.random.RandomState(3), **SETTINGS).fit(X))
    assert (fits[0].cluster_centers_ == fits[1].cluster_centers_).all()


def test_small_fits_of_k_means_are_not_rehearsed(monkeypatch):
    monkeypatch.setattr(PrivateKMeans, "_rehearse", lambda *_: pytest.fail("rehearsed"))
    PrivateKMeans(2, **SETTINGS).fit(X)


@every(
    "settings, rows, told",
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
