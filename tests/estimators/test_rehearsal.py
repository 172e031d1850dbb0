"""What would fail after the charge is found before it: a fit is rehearsed with nobody's rows."""

import warnings
from weakref import WeakKeyDictionary

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
from skdp_bary.base import BasePrivateEstimator, Count, warn
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.model_selection import PrivateSearchCV
from tests.cases import every
from tests.discovery import private_estimators
from tests.estimators import start
from tests.world import Rehearsal, home

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
X = np.random.default_rng(0).random((40, 6))
PAIRS = np.arange(40) // 2
SETTINGS = {"bounds": (0, 1), "n_hint": 100}
ESTIMATORS = [
    PrivateKMeans(2, n_init=1, **SETTINGS),
    PrivateKMeans(2, n_init=1, delta=1e-6, **SETTINGS),
    PrivateGenerator(**SETTINGS),
    PrivateMeasure(delta=1e-6),
    PrivateWassersteinBarycenter(2, n_init=1, **SETTINGS),
    PrivateWassersteinBarycenter(2, n_init=1, delta=1e-6, **SETTINGS),
]
NEED_DELTA = (
    "DPSlicedWasserstein",
    "PrivateDomainAdapter",
    "PrivateDriftSketch",
    "PrivateGenerator",
)


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


@pytest.fixture
def not_rehearsed_yet(monkeypatch):
    monkeypatch.setattr(home("_REHEARSED"), "_REHEARSED", WeakKeyDictionary())


@pytest.mark.usefixtures("not_rehearsed_yet")
@pytest.mark.parametrize("name", [*private_estimators()])
def test_no_code_of_an_estimator_runs_first_after_the_charge(name, monkeypatch):
    """Whatever the last attribute needs has been computed once when the charge is made."""
    estimator = start(name)
    known = estimator.get_params()
    most = {"bounds": (0, 1)} if "bounds" in known and name != "PrivateDomainAdapter" else {}
    relation = estimator.neighbors or "add_remove"
    estimator.set_params(**most, accountant=BudgetAccountant(10.0, 0.1, neighbors=relation))
    if name in NEED_DELTA:
        estimator.set_params(delta=1e-6)
    done, finish = [], type(estimator)._finish

    def noted(actor, facts, result):
        finish(actor, facts, result)
        done.append((actor is estimator, len(estimator.accountant.entries)))

    monkeypatch.setattr(type(estimator), "_finish", noted)
    estimator.fit(X[:, :2])
    assert done == [(False, 0), (True, 1)]
    if name != "PrivateDomainAdapter":  # which is rehearsed for each public source
        estimator.fit(X[:, :2])
        assert done[2:] == [(True, 2)]


class Mean(BasePrivateEstimator):
    """The mean of rows, and what may go wrong at its end."""

    def __init__(
        self,
        broken=None,
        *,
        epsilon=1.0,
        delta=0.0,
        bounds=(0, 1),
        n_hint=40,
        neighbors=None,
        accountant=None,
        random_state=None,
    ):
        self.broken = broken
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.n_hint = n_hint
        self.neighbors = neighbors
        self.accountant = accountant
        self.random_state = random_state

    def _shares(self, n_features):
        return {"count": self.broken if isinstance(self.broken, float) else 1.0}

    def _questions(self, facts):
        released = yield "count", Count(facts.units)
        return int(released.values[0][0])

    def _finish(self, facts, result):
        self.count_ = result
        if self.broken == "error":
            raise ZeroDivisionError
        if self.broken == "warning":
            warn(f"counted {self.count_}")
        if self.broken == "draw":
            np.random.default_rng(self.random_state).random()


def test_no_question_can_write_into_the_rows_of_the_caller(monkeypatch):
    def careless(query, state, chunk):
        chunk.X[:] = 0.0

    monkeypatch.setattr(Count, "count", careless)
    given, accountant = X.copy(), BudgetAccountant(9.0)
    with pytest.raises(ValueError, match="read-only"):
        Mean(accountant=accountant).fit(given)
    assert (given == X).all() and accountant.entries == ()


@every("share", [-1.0, 0.0, float("nan"), float("inf")])
def test_shares_of_a_budget_are_positive(share):
    with pytest.raises(ValueError, match="Shares of a budget must be positive"):
        Mean(share).fit(X)


def test_what_a_rehearsal_warns_of_is_not_heard():
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        count = Mean("warning").fit(X).count_
    assert [str(one.message) for one in heard] == [f"counted {count}"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PrivacyWarning, match="counted"):
            Mean("warning", epsilon=2.0).fit(X)


@pytest.mark.usefixtures("not_rehearsed_yet")
@pytest.mark.parametrize(
    ("settings", "n_times"),
    [
        ([{}, {"random_state": 1}], 1),
        ([{"accountant": BudgetAccountant(9.0)}, {"accountant": BudgetAccountant(9.0)}], 1),
        ([{"epsilon": 1.0}, {"epsilon": 2.0}, {"bounds": (0, 2)}, {"n_hint": 30}], 4),
        ([{"broken": len}, {"broken": len}], 2),  # of a function the bytes are only a name
    ],
)
def test_a_setting_is_rehearsed_once(settings, n_times, monkeypatch):
    made = []

    class Counted(Rehearsal):
        def __init__(self, plan, covers):
            made.append(plan)
            super().__init__(plan, covers)

    monkeypatch.setattr(home("_REHEARSED"), "Rehearsal", Counted)
    for setting in settings:
        Mean(**setting).fit(X)
    assert len(made) == n_times


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
