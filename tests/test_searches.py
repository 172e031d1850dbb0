"""Searches of scikit-learn without an accountant: said once, with the sum, and marked in fits."""

import pickle
import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    LeaveOneOut,
    RandomizedSearchCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import FeatureUnion, make_pipeline

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateMeasure,
    check_private,
)
from skdp_bary.exceptions import LeakError, PrivacyWarning
from skdp_bary.model_selection import PrivateSearchCV
from tests.cases import every
from tests.world import home

X = np.random.default_rng(0).random((60, 2))
GRID = {"epsilon": [0.1, 0.5, 1.0]}
ALONE = "one of several fits of a search, which nothing adds up"
CHOSEN = "chosen by a search on exact scores of the rows, which no budget pays for"


def measure(**settings):
    return PrivateMeasure(bounds=(0, 1), depth=2, n_hint=60, **settings)


def kmeans(**settings):
    return PrivateKMeans(2, n_init=1, bounds=(0, 1), n_hint=60, **settings)


def chain(**settings):
    return make_pipeline(DomainScaler((0, 1)), measure(**settings))


def said(call, words="without an accountant"):
    """Warnings with some words while something runs; they point to who called it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    found = [w for w in caught if words in str(w.message)]
    assert all((w.category, w.filename) == (PrivacyWarning, __file__) for w in found)
    return [str(warning.message) for warning in found]


def grid(estimator, params, **settings):
    return lambda: GridSearchCV(estimator, params, **settings).fit(X)


def folds(estimator, **settings):
    return lambda: cross_val_score(estimator, X, **settings)


def no_score(estimator, X, y=None):
    return 0.0


def privately():
    return PrivateSearchCV(measure(), {"depth": [1, 2]}, epsilon=0.5)


@pytest.mark.parametrize(
    "call, sum_",
    [
        (grid(measure(), GRID, cv=3), "Its 10 fits together spend up to epsilon=5.8, delta=0,"),
        (grid(measure(), GRID, cv=3, n_jobs=2), "Its 10 fits .* epsilon=5.8, delta=0,"),
        (grid(measure(), GRID, cv=3, refit=False), "Its 9 fits .* epsilon=4.8, delta=0,"),
        (grid(measure(), [GRID, {"depth": [1]}], cv=2), "Its 9 fits .* epsilon=6.2, delta=0,"),
        (grid(chain(), {"privatemeasure__epsilon": [0.1, 0.5]}), "Its 11 fits .* epsilon=3.5,"),
        (grid(measure(), {"delta": [0.0, 1e-7]}, cv=2), "epsilon=5, delta=3e-07,"),
        (folds(measure()), "cross_val_score fits PrivateMeasure .* Its 5 fits .* epsilon=5,"),
        (folds(measure(), cv=4, n_jobs=2), "Its 4 fits .* epsilon=4, delta=0,"),
        (folds(FeatureUnion([("a", kmeans()), ("b", kmeans(epsilon=0.5))]), cv=2,
               scoring=no_score), "Its 4 fits .* epsilon=3, delta=0,"),
        (folds(GridSearchCV(measure(), GRID, cv=3), cv=2), "Its 20 fits .* epsilon=11.6,"),
        (folds(privately(), cv=2, scoring=no_score), "PrivateSearchCV .* Its 2 fits .* epsilon=1,"),
        (lambda: RandomizedSearchCV(measure(), {"depth": [1, 2, 3]}, n_iter=2, cv=2).fit(X),
         "Its 5 fits .* epsilon=5,"),
        (lambda: RandomizedSearchCV(measure(), GRID, n_iter=2, cv=2).fit(X), "Every candidate"),
        (lambda: HalvingGridSearchCV(measure(), {"depth": [1, 2]}, cv=2).fit(X),
         "Every candidate and fold spends epsilon again, and nothing adds that up"),
        (folds(measure(), cv=LeaveOneOut()), "Every candidate and fold spends epsilon again"),
    ],
)  # fmt: skip
def test_the_price_of_all_fits_is_said_once_before_the_first(call, sum_):
    told = said(call)
    assert len(told) == 1
    assert re.search(sum_, told[0])
    assert "PrivateSearchCV(estimator, param_grid, epsilon=...)" in told[0]
    assert "public or generated rows" in told[0]


@pytest.mark.filterwarnings("ignore:Parts of bounds")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_searches_that_an_accountant_adds_up_are_silent(tmp_path, n_jobs):
    budget = BudgetAccountant(100.0, ledger=tmp_path / "budget.db")
    paid = measure(accountant=budget)
    assert said(grid(paid, GRID, cv=2, n_jobs=n_jobs)) == []
    assert said(folds(chain(accountant=budget), cv=2, n_jobs=n_jobs)) == []
    search = privately().set_params(accountant=budget)
    assert said(folds(search, cv=2, n_jobs=n_jobs, scoring=no_score)) == []
    fitted = GridSearchCV(paid, GRID, cv=2, n_jobs=n_jobs).fit(X).best_estimator_
    assert fitted.privacy_.one_of_several  # of its choice nothing is added up
    assert f"delta=0.0; {CHOSEN}" in fitted._repr_html_()
    with pytest.raises(LeakError, match=CHOSEN):
        check_private(pickle.loads(pickle.dumps(fitted)), strict=True)
    results = cross_validate(paid, X, cv=2, n_jobs=n_jobs, return_estimator=True)
    assert all(check_private(each, strict=True).ok for each in results["estimator"])
    paid_once = search.fit(X)
    assert check_private(paid_once, strict=True).ok and check_private(paid_once.best_estimator_).ok


@every("accountant", [None, BudgetAccountant(100.0)])
@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_what_a_search_chose_says_so_in_files_and_pictures(accountant):
    heatmap = PrivateEMDHeatmap(bounds=(0, 1), accountant=accountant)
    best = GridSearchCV(heatmap, {}, cv=2, scoring=no_score).fit(X).best_estimator_
    assert best.to_geojson()["release"]["private"] is False
    assert "search: not private" in home("title_of").title_of(best)
    assert "not private" not in home("title_of").title_of(heatmap.fit(X))


def test_a_report_states_the_price_of_a_search_for_its_own_parameters_alone():
    best = privately().fit(X).best_estimator_
    for told in (best, pickle.loads(pickle.dumps(best))):
        assert "for the whole search" in str(check_private(told))
        report = str(check_private(told.set_params(epsilon=50.0)))
        assert "epsilon=50" in report and "search" not in report


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("estimator", [measure(), chain()], ids=["alone", "in a pipeline"])
def test_fits_of_a_search_say_that_they_are_some_of_several(estimator, n_jobs):
    search = GridSearchCV(estimator, {}, cv=2, n_jobs=n_jobs)
    results = cross_validate(
        estimator, X, cv=2, n_jobs=n_jobs, return_estimator=True, error_score="raise"
    )
    for best in (search.fit(X).best_estimator_, *results["estimator"]):
        fitted = best[-1] if hasattr(best, "steps") else best
        assert fitted.privacy_.one_of_several and "one_of_several=True" in repr(fitted.privacy_)
        assert ALONE in fitted._repr_html_()
        found = check_private(best).steps[-1]
        assert (found.verdict, f"for this fit alone, {ALONE}" in found.reason) == ("leaks", True)
        assert "PrivateSearchCV" in found.advice
        with pytest.raises(LeakError, match=ALONE):
            check_private(pickle.loads(pickle.dumps(best)), strict=True)
        assert not clone(fitted).fit(X).privacy_.one_of_several  # a fit of its own
        assert check_private(clone(best)).ok
