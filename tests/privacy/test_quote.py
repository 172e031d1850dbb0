"""Quotes of pipelines, and of what does not fit."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, LeaveOneOut, RandomizedSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    JLTransformer,
    PrivateKMeans,
    PrivateMeasure,
    RowByRow,
)
from skdp_bary.exceptions import BudgetError, RelationError


def measure(budget, epsilon=0.25, **settings):
    return PrivateMeasure(epsilon, bounds=(0, 1), n_hint=300, accountant=budget, **settings)


@pytest.mark.filterwarnings("ignore:Noise level")
def test_a_pipeline_costs_what_its_fit_charges():
    budget = BudgetAccountant(1.0)
    both = FeatureUnion(
        [
            ("means", PrivateKMeans(2, epsilon=0.1, bounds=(0, 1), n_hint=30, accountant=budget)),
            ("places", PrivateKMeans(2, epsilon=0.2, bounds=(0, 1), n_hint=30, accountant=budget)),
        ]
    )
    pipeline = make_pipeline(DomainScaler((0, 2)), JLTransformer(3), both)
    quote = budget.quote(pipeline, n_features=5)
    assert (quote.epsilon, quote.now, quote.after) == (0.3, (1.0, 0.0), (0.7, 0.0))
    assert [name for name, _ in quote.plans] == ["featureunion__means", "featureunion__places"]
    assert quote.plan == both.transformer_list[0][1].privacy_plan(3)
    assert budget.entries == ()
    pipeline.fit(np.random.default_rng(0).random((30, 5)))
    assert budget.remaining() == quote.after
    columns = ColumnTransformer([("two", measure(budget), [0, 3])])
    assert budget.quote(columns, 9).plan == measure(budget).privacy_plan(2)


class Charging(TransformerMixin, BaseEstimator):
    """A private step of another library, whose cost nobody can ask for."""

    def __init__(self, accountant=None):
        self.accountant = accountant

    def fit(self, X, y=None):
        self.accountant.spend(0.1)
        return self

    def transform(self, X):
        return X


def test_a_quote_charges_nothing_and_leaves_nothing_out():
    budget = BudgetAccountant(1.0)
    alone = RowByRow(PrivateKMeans(2, epsilon=0.1, bounds=(0, 1), n_hint=30, accountant=budget))
    quote = budget.quote(make_pipeline(DomainScaler(), alone), 3)
    assert quote.epsilon == 0.1 and [name for name, _ in quote.plans] == ["rowbyrow__step"]
    assert budget.quote(alone, 3).epsilon == 0.1
    with pytest.raises(ValueError, match="'privatemeasure' is not known before a fit"):
        budget.quote(make_pipeline(alone, measure(budget)), 3)
    for step in (Charging(budget), RowByRow(Charging(budget))):
        with pytest.raises(ValueError, match="is not known before a fit"):
            budget.quote(make_pipeline(step, measure(budget)), 3)
    assert budget.entries == ()


def test_what_does_not_fit_is_told_what_would():
    budget = BudgetAccountant(0.5)
    quote = budget.quote(measure(budget, 2.0), 2)
    assert (quote.fits, quote.now, quote.after, quote.remaining) == (
        False,
        *[(0.5, 0.0), None],
        (0.5, 0.0),
    )
    assert "admits epsilon=0.5" in quote.advice
    union = FeatureUnion([("a", measure(budget, 0.5)), ("b", measure(budget, 0.5))])
    assert "every epsilon times 0.5" in budget.quote(union, 2).advice
    assert "no delta left" in budget.quote(measure(budget, 0.5, delta=1e-6), 2).advice
    budget.spend(0.5)
    assert "Nothing is left" in budget.quote(measure(budget), 2).advice


def test_quotes_are_shown_as_lines():
    budget = BudgetAccountant(1.0)
    quote = budget.quote(make_pipeline(DomainScaler((0, 2)), measure(budget)), 2)
    for text in (str(quote), quote._repr_html_()):
        for said in ("left now", "epsilon=0.75, delta=0", "privatemeasure", "every feature from 0"):
            assert said in text
    assert "it does not fit" in str(budget.quote(measure(budget, 3.0), 2))


def test_what_cannot_be_quoted_or_counted_is_refused():
    budget = BudgetAccountant(1.0)
    with pytest.raises(TypeError, match="pipeline of some"):
        budget.quote(StandardScaler(), 2)
    with pytest.raises(TypeError, match="got a list: quote estimators one by one"):
        budget.quote([measure(budget), measure(budget)])
    with pytest.raises(ValueError, match="no private step"):
        budget.quote(make_pipeline(StandardScaler()), 2)
    private_first = make_pipeline(PrivateKMeans(2, bounds=(0, 1)), measure(budget))
    with pytest.raises(ValueError, match="'privatemeasure' is not known"):
        budget.quote(private_first, 2)
    with pytest.raises(RelationError, match="replace_any"):
        budget.quote(make_pipeline(measure(budget, neighbors="replace_any")), 2)
    budget = BudgetAccountant(6.0)
    drawn = RandomizedSearchCV(measure(budget), {"epsilon": [0.1, 3.0]}, n_iter=1)
    one_left_out = GridSearchCV(measure(budget), {"depth": [1]}, cv=LeaveOneOut())
    for search in (drawn, one_left_out):
        with pytest.raises(ValueError, match="number of fits of 'privatemeasure|SearchCV'"):
            budget.quote(search, 2)


@pytest.mark.parametrize("composition", ["sum", "renyi"])
def test_a_grid_search_costs_what_all_its_fits_charge(composition):
    budget = BudgetAccountant(6.0, 1e-6, composition=composition)
    pipeline = make_pipeline(DomainScaler((0, 1)), measure(budget, method="haar"))
    grid = {"privatemeasure__epsilon": [0.1, 0.3], "privatemeasure__depth": [2, 3]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise")
    quote = budget.quote(search, 2)
    assert quote.epsilon == pytest.approx(3 * 2 * (0.1 + 0.3) + 0.3)
    assert [name for name, _ in quote.plans] == [
        *(f"privatemeasure (candidate {i}, 3 folds)" for i in (1, 2, 3, 4)),
        "privatemeasure (final fit)",
    ]
    by_name = GridSearchCV(measure(budget).set_params(bounds={"x": (0, 1)}), {"depth": [2]})
    assert budget.quote(by_name).epsilon == pytest.approx(6 * 0.25)
    drawn = RandomizedSearchCV(measure(budget), {"depth": [1, 2, 3]}, n_iter=2, refit=False, cv=2)
    assert budget.quote(drawn, 2).epsilon == 1.0
    assert "every epsilon times" in BudgetAccountant(1.0).quote(search, 2).advice
    X = np.random.default_rng(0).random((60, 2))
    search.fit(X)
    assert len(budget.entries) == 13
    assert budget.remaining()[0] >= quote.after[0] * (1 - 1e-9)


@pytest.mark.filterwarnings("ignore:Budget exceeded")
def test_a_budget_that_ends_within_a_search_says_how_many_fits_there_are():
    search = GridSearchCV(
        measure(BudgetAccountant(1.0), 0.3), {"depth": [2, 3]}, cv=5, error_score="raise"
    )
    with pytest.raises(BudgetError, match=r"GridSearchCV asks for 11 fits.*epsilon=0.1\)"):
        search.fit(np.random.default_rng(0).random((60, 2)))
