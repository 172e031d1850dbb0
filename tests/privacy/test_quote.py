"""Quotes of pipelines, and of what does not fit."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    JLTransformer,
    PrivateKMeans,
    PrivateMeasure,
    PrivateTable,
    RowByRow,
    SchemaTransformer,
)
from skdp_bary.exceptions import RelationError
from skdp_bary.geometry import Ball
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.schema import Category, Integer, Schema


def measure(budget, epsilon=0.25, **settings):
    return PrivateMeasure(epsilon, bounds=(0, 1), n_hint=30, accountant=budget, **settings)


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


def test_quotes_are_shown_as_lines_and_as_a_table():
    budget = BudgetAccountant(1.0)
    quote = budget.quote(make_pipeline(DomainScaler((0, 2)), measure(budget)), 2)
    for text in (str(quote), quote._repr_html_()):
        for said in ("left now", "epsilon=0.75, delta=0", "privatemeasure", "every feature from 0"):
            assert said in text
    assert "it does not fit" in str(budget.quote(measure(budget, 3.0), 2))


def test_what_cannot_be_quoted_is_refused():
    budget = BudgetAccountant(1.0)
    with pytest.raises(TypeError, match="pipeline of some"):
        budget.quote(StandardScaler(), 2)
    with pytest.raises(ValueError, match="no private step"):
        budget.quote(make_pipeline(StandardScaler()), 2)
    private_first = make_pipeline(PrivateKMeans(2, bounds=(0, 1)), measure(budget))
    with pytest.raises(ValueError, match="'privatemeasure' is not known"):
        budget.quote(private_first, 2)
    with pytest.raises(RelationError, match="replace_any"):
        budget.quote(make_pipeline(measure(budget, neighbors="replace_any")), 2)


def test_the_number_of_columns_is_taken_from_public_parameters():
    budget, box = BudgetAccountant(1.0, 1e-6), {"x": (0, 1), "y": (0, 2)}
    by_name = PrivateMeasure(bounds=box, n_hint=30)
    assert budget.quote(by_name) == budget.quote(by_name, 2)
    search = PrivateSearchCV(by_name, {"depth": [2, 3]})
    assert budget.quote(search).plan == budget.quote(search, 2).plan
    table = PrivateTable(Schema({"age": Integer(18, 99), "job": Category(["cook", "nurse"])}))
    assert budget.quote(table).plan == table.privacy_plan(2)
    assert "job: category, values ['cook', 'nurse']" in budget.quote(table).bounds
    wide = PrivateTable(Schema({f"x{i}": Integer(0, 9) for i in range(30)}))
    assert budget.quote(wide).bounds.endswith("x4: integer, low 0, high 9; and 25 more")
    with pytest.raises(TypeError, match="n_features must be"):
        budget.quote(measure(budget))


@pytest.mark.parametrize(
    ("first", "width"),
    [
        (DomainScaler({"age": (0, 99), "pay": (0, 1e5)}), 2),
        (DomainScaler(([0, 0, 0], [1, 1, 1])), 3),
        (JLTransformer(2, bounds=Ball([0.0] * 5, 1.0)), 2),
        (JLTransformer(1, bounds={"age": (0, 99), "pay": (0, 1e5)}), 1),
        (SchemaTransformer(Schema({"age": Integer(0, 99), "pay": Integer(0, 9)})), 2),
        ("passthrough", None),
        (DomainScaler((0, 1)), None),
    ],
)
def test_the_first_step_of_a_pipeline_tells_its_width(first, width):
    budget = BudgetAccountant(1.0)
    pipeline = make_pipeline(first, measure(budget))
    search = PrivateSearchCV(
        make_pipeline(first, measure(None)), {"privatemeasure__method": ["haar"]}
    )
    for asked in (pipeline, search):
        if width is None:
            with pytest.raises(TypeError, match="n_features must be"):
                budget.quote(asked)
        else:
            assert budget.quote(asked).epsilon > 0
    if width is not None:
        assert budget.quote(pipeline).plan == measure(budget).privacy_plan(width)


def test_a_list_of_estimators_is_refused_without_showing_them():
    budget = BudgetAccountant(1.0)
    with pytest.raises(TypeError, match="got a list: quote estimators one by one") as caught:
        budget.quote([measure(budget), measure(budget)])
    assert "PrivateMeasure" not in str(caught.value)
