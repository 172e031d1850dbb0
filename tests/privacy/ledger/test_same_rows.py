"""Rows under two parts of one budget: refused where the charge can see it."""

import gc
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion

from skdp_bary import BudgetAccountant, PrivateKMeans, PrivateMeasure, PrivateWassersteinBarycenter
from skdp_bary.exceptions import BudgetError, LeakError
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.privacy.ledger import same_rows as _same_rows

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


@pytest.fixture
def budget():
    return BudgetAccountant(2.0)


@pytest.fixture
def X():
    return np.random.default_rng(0).random((60, 2))


def measure(accountant, epsilon=0.5):
    return PrivateMeasure(epsilon, bounds=(0, 1), n_hint=60, accountant=accountant)


def clusters(accountant):
    return PrivateKMeans(2, epsilon=0.5, bounds=(0, 1), n_hint=60, accountant=accountant)


def union(budget, second="b"):
    return FeatureUnion([("a", clusters(budget.part("a"))), ("b", clusters(budget.part(second)))])


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_two_parts_in_one_union_are_refused(budget, X, kind):
    with pytest.raises(LeakError, match="part 'a' of this budget, and are now given under part"):
        union(budget).fit(kind(X))
    assert [entry.part for entry in budget.entries] == ["a"]


def test_one_part_or_the_whole_adds_up(budget, X):
    union(budget, second="a").fit(X)
    measure(budget).fit(X)
    assert budget.total()[0] == 1.5


def test_columns_of_the_same_rows_are_the_same_rows(budget, X):
    steps = [
        ("a", clusters(budget.part("a")), slice(0, 1)),
        ("b", clusters(budget.part("b")), slice(1, 2)),
    ]
    with pytest.raises(LeakError):
        ColumnTransformer(steps).fit(X)


def test_a_search_is_seen_too(budget, X):
    measure(budget.part("a")).fit(X)
    inner = PrivateWassersteinBarycenter(bounds=(0, 1), n_hint=60)
    search = PrivateSearchCV(inner, {"n_init": [1]}, mean_trials=2, accountant=budget.part("b"))
    with pytest.raises(LeakError):
        search.fit(X)


def test_other_rows_are_not(budget, X):
    north = np.arange(60) % 2 == 0
    measure(budget.part("north")).fit(X[north])
    measure(budget.part("south")).fit(X[~north])
    measure(budget.part("first")).fit(X[:30])
    measure(budget.part("second")).fit(X[30:])
    measure(budget.part("north")).fit(X.copy())
    assert budget.total()[0] == 1.0


def test_another_budget_is_none_of_its_business(budget, X):
    measure(budget.part("a")).fit(X)
    measure(BudgetAccountant(1.0).part("b")).fit(X)


def test_a_refused_fit_is_forgotten(budget, X):
    with pytest.raises(BudgetError):
        measure(budget.part("a"), epsilon=3.0).fit(X)
    measure(budget.part("b")).fit(X)
    with pytest.raises(LeakError):
        measure(budget.part("a")).fit(X)
    measure(budget.part("b")).fit(X)


def test_nothing_is_kept_of_rows_that_are_gone(budget, X):
    _same_rows._SEEN.clear()
    measure(budget.part("a")).fit(X.copy())
    gc.collect()
    assert not _same_rows._SEEN
    measure(budget.part("a")).fit(X)
    assert len(_same_rows._SEEN) == 1


def test_of_two_threads_at_most_one_is_charged(budget, X):
    barrier, refused = threading.Barrier(2), []

    def fit(part):
        barrier.wait()
        try:
            measure(budget.part(part)).fit(X)
        except LeakError:
            refused.append(part)

    threads = [threading.Thread(target=fit, args=(part,)) for part in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) >= 1
    assert len({entry.part for entry in budget.entries}) <= 1


@pytest.mark.parametrize("rows", [[[0.5, 0.5]] * 60, None])
def test_what_cannot_be_remembered_is_not(budget, rows):
    with _same_rows.under_one_part("budget", "a", rows):
        pass
    with _same_rows.under_one_part("budget", "b", rows):
        pass
