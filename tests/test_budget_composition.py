"""One budget for many fits: whatever scikit-learn does with an estimator, every fit is paid for."""

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from skdp_bary import BudgetAccountant, DomainScaler, PrivateMeasure
from skdp_bary.exceptions import BudgetError, PrivacyWarning, ReadOnlyLedgerError

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


def assert_unfitted(estimator):
    with pytest.raises(NotFittedError):
        check_is_fitted(estimator)


@pytest.fixture
def accountant():
    return BudgetAccountant(epsilon=2.0)


@pytest.fixture
def filed(tmp_path):
    return BudgetAccountant(epsilon=2.0, ledger=tmp_path / "budget.db")


def test_three_tenths_fit_into_three_tenths():
    accountant = BudgetAccountant(epsilon=0.3)
    for _ in range(3):
        measure(accountant).fit(X)
    assert spent(accountant) == (3, 0.3)
    with pytest.raises(BudgetError):
        measure(accountant).fit(X)
    assert spent(accountant) == (3, 0.3)


@pytest.mark.parametrize("duplicate", [clone, copy.copy, copy.deepcopy])
def test_copies_and_refits_add_up(accountant, duplicate):
    estimator = measure(accountant)
    for fits in range(1, 6):
        estimator = duplicate(estimator).fit(X)
        assert spent(accountant) == (fits, pytest.approx(0.1 * fits))
        assert estimator.accountant is accountant


def test_refitting_one_estimator_adds_up(accountant):
    estimator = measure(accountant)
    for _ in range(5):
        estimator.fit(X)
    assert spent(accountant) == (5, 0.5)


def test_set_params_keeps_the_budget(accountant):
    measure(accountant).fit(X).set_params(depth=3).fit(X)
    assert spent(accountant) == (2, 0.2)


def test_pipelines_and_their_clones_add_up(accountant):
    pipeline = make_pipeline(DomainScaler(bounds=(0, 1)), measure(accountant))
    for fits, estimator in enumerate((pipeline, clone(pipeline), copy.deepcopy(pipeline)), 1):
        estimator.fit(X)
        assert spent(accountant) == (fits, pytest.approx(0.1 * fits))


def test_grid_search_in_one_process_pays_for_every_fit(accountant):
    search = GridSearchCV(measure(accountant), GRID, cv=2, error_score="raise").fit(X)
    assert spent(accountant) == (3 * 2 + 1, 0.7)
    assert search.best_estimator_.accountant is accountant


def test_grid_search_with_threads_pays_for_every_fit(accountant):
    from joblib import parallel_config

    with parallel_config("threading"):
        GridSearchCV(measure(accountant), GRID, cv=2, n_jobs=2, error_score="raise").fit(X)
    assert spent(accountant) == (3 * 2 + 1, 0.7)


def test_grid_search_over_processes_pays_for_every_fit_with_a_ledger_file(filed):
    GridSearchCV(measure(filed), GRID, cv=2, n_jobs=2, error_score="raise").fit(X)
    assert spent(filed) == (3 * 2 + 1, 0.7)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cross_validation_pays_for_every_fit_with_a_ledger_file(filed, n_jobs):
    scores = cross_val_score(measure(filed), X, cv=4, n_jobs=n_jobs, error_score="raise")
    assert np.isfinite(scores).all()
    assert spent(filed) == (4, 0.4)


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


def test_a_copy_that_is_asked_to_spend_is_not_said_to_be_used_up(accountant):
    copied = pickle.loads(pickle.dumps(measure(accountant)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ReadOnlyLedgerError):
            copied.fit(X)


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_worker_processes_never_fit_for_free_when_errors_become_scores(accountant):
    search = GridSearchCV(measure(accountant), GRID, cv=2, n_jobs=2)
    with pytest.raises(ValueError, match="All the 6 fits failed"):
        search.fit(X)
    assert spent(accountant) == (0, 0.0)


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


def test_a_search_beyond_the_budget_raises_when_asked_to():
    accountant = BudgetAccountant(epsilon=0.4)
    search = GridSearchCV(measure(accountant), GRID, cv=2, error_score="raise")
    with pytest.warns(PrivacyWarning), pytest.raises(BudgetError, match="Nothing was charged"):
        search.fit(X)
    assert spent(accountant) == (4, 0.4)


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


def test_a_refused_fit_outside_of_a_search_is_an_error_and_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(BudgetError):
            measure(BudgetAccountant(epsilon=0.05)).fit(X)


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_a_refused_fit_leaves_no_trace():
    estimator = measure(BudgetAccountant(epsilon=0.05))
    before = dict(vars(estimator))
    with pytest.raises(BudgetError):
        estimator.fit(X)
    assert vars(estimator) == before
    assert_unfitted(estimator)
    assert spent(estimator.accountant) == (0, 0.0)


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_a_fitted_estimator_keeps_its_paid_release_when_a_refit_is_refused():
    accountant = BudgetAccountant(epsilon=0.1)
    estimator = measure(accountant).fit(X)
    weights = estimator.weights_.copy()
    with pytest.raises(BudgetError):
        estimator.fit(X[:40])
    np.testing.assert_array_equal(estimator.weights_, weights)


def test_pickles_can_be_used_but_do_not_spend(accountant):
    estimator = measure(accountant).fit(X)
    copied = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(copied.weights_, estimator.weights_)
    assert copied.sample(3).shape == (3, 2)
    with pytest.raises(ReadOnlyLedgerError):
        clone(copied).fit(X)
    assert spent(accountant) == (1, 0.1)
    estimator.fit(X)
    assert spent(accountant) == (2, 0.2)


def test_an_old_pickle_sees_what_was_spent_since(filed):
    old = pickle.dumps(measure(filed))
    for _ in range(19):
        measure(filed).fit(X)
    reloaded = pickle.loads(old).fit(X)
    assert spent(filed) == spent(reloaded.accountant) == (20, 2.0)
    with pytest.raises(BudgetError):
        pickle.loads(old).fit(X)


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_eight_threads_race_for_one_fit(kind, tmp_path):
    ledger = None if kind == "memory" else tmp_path / "budget.db"
    accountant = BudgetAccountant(epsilon=0.1, ledger=ledger)
    barrier = threading.Barrier(8)
    outcomes = []

    def race():
        estimator = measure(accountant)
        barrier.wait()
        try:
            outcomes.append(estimator.fit(X))
        except BudgetError:
            assert_unfitted(estimator)
            outcomes.append(None)

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 8
    assert sum(outcome is not None for outcome in outcomes) == 1
    assert spent(accountant) == (1, 0.1)


def test_quotes_cost_nothing(accountant):
    quote = accountant.quote(measure(accountant), n_features=2)
    assert (quote.epsilon, quote.fits, quote.remaining) == (0.1, True, (1.9, 0.0))
    assert spent(accountant) == (0, 0.0)


def test_fits_on_disjoint_parts_compose_in_parallel(accountant):
    for part in ("north", "south", "east"):
        measure(accountant.part(part), epsilon=1.5).fit(X.copy())  # other people's rows
    assert spent(accountant) == (3, 1.5)


def test_gaussian_and_pure_fits_share_a_budget():
    accountant = BudgetAccountant(epsilon=1.0, delta=1e-5)
    measure(accountant, 0.5).fit(X)
    measure(accountant, 0.5, delta=1e-5).fit(X)
    assert accountant.total() == (1.0, 1e-5)
    assert accountant.remaining() == (0.0, 0.0)


def test_without_an_accountant_nothing_adds_up():
    estimator = measure(None)
    for _ in range(3):
        estimator.fit(X)
    assert estimator.accountant is None
