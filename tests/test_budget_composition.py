"""One budget for many fits: whatever scikit-learn does with an estimator, every fit is paid for."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from skdp_bary import BudgetAccountant, PrivateMeasure
from skdp_bary.exceptions import PrivacyWarning, ReadOnlyLedgerError

X = np.random.default_rng(0).random((80, 2))
GRID = {"depth": [1, 2, 3]}


def measure(accountant, epsilon=0.1, **params):
    """A small private measure that spends from `accountant`."""
    return PrivateMeasure(
        epsilon, bounds=(0, 1), depth=2, n_hint=80, accountant=accountant, **params
    )


def spent(accountant):
    """Number of fits and epsilon in the ledger."""
    return len(accountant.entries), accountant.total()[0]


@pytest.fixture
def accountant():
    return BudgetAccountant(epsilon=2.0)


@pytest.fixture
def filed(tmp_path):
    return BudgetAccountant(epsilon=2.0, ledger=tmp_path / "budget.db")


def test_grid_search_over_processes_pays_for_every_fit_with_a_ledger_file(filed):
    GridSearchCV(measure(filed), GRID, cv=2, n_jobs=2, error_score="raise").fit(X)
    assert spent(filed) == (3 * 2 + 1, 0.7)


def test_worker_processes_never_fit_for_free_on_a_budget_in_memory(accountant):
    """The advice comes before any worker fails, first in the error, and nothing else is said."""
    search = GridSearchCV(measure(accountant), GRID, cv=2, n_jobs=2, error_score="raise")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with pytest.raises(ReadOnlyLedgerError, match="^Give the accountant a file .*budget.db"):
            search.fit(X)
    assert spent(accountant) == (0, 0.0)
    (told,) = [str(w.message) for w in said if w.category is PrivacyWarning]
    assert told.startswith("Give the accountant a file")


def test_a_search_beyond_the_budget_spends_what_fits_and_says_so():
    accountant = BudgetAccountant(epsilon=0.4)
    search = GridSearchCV(measure(accountant), GRID, cv=2, refit=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X)
    assert spent(accountant) == (4, 0.4)
    assert np.isnan(search.cv_results_["mean_test_score"]).sum() == 1
    categories = [w.category for w in caught]
    assert FitFailedWarning in categories
    assert categories.count(PrivacyWarning) == 1


def test_the_warning_about_refusals_comes_once_per_budget():
    for _ in range(2):
        accountant = BudgetAccountant(epsilon=0.05)
        with pytest.warns(PrivacyWarning, match='error_score="raise"'), pytest.raises(ValueError):
            cross_val_score(measure(accountant), X, cv=2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(3):
                with pytest.raises(ValueError, match="fits failed"):
                    cross_val_score(measure(accountant), X, cv=2)
