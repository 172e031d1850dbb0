"""check_private finds what leaks, in scikit-learn's own transformers and in how steps are put."""

import numpy as np
import pytest
from sklearn import preprocessing, random_projection
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    JLTransformer,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
    RowByRow,
    SchemaTransformer,
    check_private,
)
from skdp_bary.exceptions import LeakError
from skdp_bary.geometry import Ball, Box
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.schema import Integer, Number, Text
from tests.cases import every
from tests.world import search_parts


def verdicts(estimator):
    return {step.name: step.verdict for step in check_private(estimator).steps}


SCHEMA = SchemaTransformer(Number(0, 1))


def measure(**settings):
    return PrivateMeasure(bounds=(0, 1), **settings)


@every(
    "step",
    [
        preprocessing.StandardScaler(),
        preprocessing.StandardScaler(with_mean=False, with_std=False),  # keeps the row count
        preprocessing.MinMaxScaler(),
        preprocessing.QuantileTransformer(),
        preprocessing.OneHotEncoder(),
        preprocessing.OneHotEncoder(categories=[[0, 1]], min_frequency=3),
        preprocessing.KBinsDiscretizer(),
        random_projection.GaussianRandomProjection(),
        RBFSampler(gamma="scale"),
        PCA(),
        KMeans(),
    ],
)
def test_steps_that_learn_from_rows_leak(step):
    report = check_private(make_pipeline(step, measure()))
    assert [found.verdict for found in report.steps] == ["leaks", "private"]
    assert report.steps[0].advice
    assert not report.ok
    with pytest.raises(LeakError, match="LEAKS"):
        check_private(make_pipeline(step, measure()), strict=True)


def test_behind_a_private_step_rows_pass_alone():
    budget = BudgetAccountant(epsilon=2.0)
    first = PrivateKMeans(2, bounds=(0, 1), accountant=budget)
    (_, found) = check_private(make_pipeline(first, measure(accountant=budget))).steps
    assert found.verdict == "unknown" and "RowByRow" in found.advice
    alone = RowByRow(first)
    report = check_private(make_pipeline(alone, measure(accountant=budget)), strict=True)
    assert [step.verdict for step in report.steps] == ["private", "private"]
    apart = check_private(
        make_pipeline(alone, measure(accountant=BudgetAccountant(epsilon=2.0)))
    ).steps
    assert [step.verdict for step in apart] == ["leaks", "leaks"]
    with pytest.raises(ValueError, match="must learn nothing.*fit it first"):
        search_parts(make_pipeline(alone, PrivateKMeans(2, bounds=(0, 1))))


class OwnScaler(preprocessing.PolynomialFeatures):
    """A subclass may learn anything."""


BUDGET = BudgetAccountant(epsilon=2.0)
NORTH, SOUTH = BUDGET.part("north"), BUDGET.part("south")
INNER = PrivateWassersteinBarycenter(bounds=(0, 1), n_hint=100)
GRID = {"n_atoms": [2, 4]}


def both(one, other):
    return FeatureUnion([("a", measure(accountant=one)), ("b", measure(accountant=other))])


def scaled(columns):
    """A pipeline that scales some columns, chosen by place or by a function."""
    step = ColumnTransformer([("one", DomainScaler((0, 1)), columns)])
    return Pipeline([("schema", SCHEMA), ("columns", step)])


@every(
    "estimator, expected",
    [
        # private steps must share one budget, and one part of it
        *((both(*pair), {"a": "private", "b": "private"})
          for pair in ((BUDGET, BUDGET), (NORTH, BUDGET), (NORTH, NORTH))),
        *((both(*pair), {"a": "leaks", "b": "leaks"})
          for pair in ((BUDGET, None), (BUDGET, BudgetAccountant(2.0)), (None, None),
                       (NORTH, SOUTH))),
        (Pipeline([("f", both(NORTH, NORTH)), ("end", measure(accountant=SOUTH))]),
         {"f__a": "leaks", "f__b": "leaks", "end": "leaks"}),
        # seeds, searches, and what is not known
        (measure(random_state=0), {"privatemeasure": "leaks"}),
        (GridSearchCV(INNER, GRID), {"search": "leaks", "estimator": "private"}),
        (PrivateSearchCV(INNER, GRID), {"privatesearchcv": "private"}),
        (PrivateSearchCV(Pipeline([("p", PCA()), ("end", INNER)]), {"end__n_atoms": [2]}),
         {"privatesearchcv": "private", "estimator__p": "leaks"}),
        (Pipeline([("f", preprocessing.FunctionTransformer(np.log1p)), ("end", measure())]),
         {"f": "unknown", "end": "private"}),
        (OwnScaler(), {"ownscaler": "unknown"}),
        # columns are walked; types of columns, and what functions see in them, are private
        (scaled([0]), {"schema": "public", "columns__one": "public"}),
        (scaled(make_column_selector(pattern="x")), {"schema": "public", "columns__one": "public"}),
        (scaled(make_column_selector(dtype_include=float)),
         {"schema": "public", "columns": "unknown", "columns__one": "public"}),
        (scaled(lambda X: X.columns[X.mean() > 0]),
         {"schema": "public", "columns": "unknown", "columns__one": "public"}),
        (Pipeline([*scaled([0]).steps, ("more", ColumnTransformer([("s", PCA(), [0])]))]),
         {"schema": "public", "columns__one": "public", "more__s": "leaks"}),
    ],
)  # fmt: skip
def test_verdicts(estimator, expected):
    assert verdicts(estimator) == expected
    if set(expected.values()) != {"private"} and "public" not in expected.values():
        with pytest.raises(LeakError):
            check_private(estimator, strict=True)


@every("base", [Pipeline, FeatureUnion, ColumnTransformer, make_column_selector])
def test_what_a_subclass_does_with_its_parts_is_not_known(base):
    class Own(base):
        """It may look at all rows."""

    made = {
        Pipeline: lambda: Own([("a", DomainScaler((0, 1)))]),
        FeatureUnion: lambda: Own([("a", DomainScaler((0, 1)))]),
        ColumnTransformer: lambda: Own([("a", DomainScaler((0, 1)), [0])]),
        make_column_selector: lambda: ColumnTransformer([("a", DomainScaler((0, 1)), Own())]),
    }[base]()
    assert not check_private(make_pipeline(SCHEMA, made, measure())).ok


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
@pytest.mark.filterwarnings("ignore:Persisting input arguments took")  # of joblib, by load
def test_what_a_pipeline_keeps_on_disk_leaks(tmp_path):
    scaler, X = DomainScaler((0, 1)), np.linspace(0.1, 0.9, 500)[:, None]
    pipeline = Pipeline([("scale", scaler), ("map", measure())], memory=str(tmp_path))
    assert verdicts(pipeline)["pipeline"] == "leaks"
    assert "pipeline" not in verdicts(pipeline.set_params(memory=None))
    inside = Pipeline([("all", pipeline.set_params(memory=str(tmp_path)))])
    assert verdicts(inside)["all"] == "leaks"
    accountant = BudgetAccountant(epsilon=9.0, ledger=tmp_path / "ledger.db")
    clusters = PrivateKMeans(2, bounds=(0, 1), accountant=accountant)
    kept = Pipeline([("clusters", clusters), ("scale", scaler)], memory=str(tmp_path))
    for rows in (X, X, X**2):
        kept.fit(rows)
    assert len(accountant.entries) == 2  # it shows that two fits had the same rows


def test_the_best_of_a_search_costs_the_search():
    inner = PrivateWassersteinBarycenter(bounds=(0, 1), n_hint=100)
    accountant = BudgetAccountant(1.0)
    X = np.random.default_rng(0).random((100, 2))
    search = PrivateSearchCV(inner, {"n_init": [1]}, mean_trials=2, accountant=accountant).fit(X)
    (found,) = check_private(search.best_estimator_).steps
    assert found.verdict == "private" and found.advice == ""
    assert "epsilon=1, delta=0 for the whole search, best of a random number" in found.reason
    assert found.reason == check_private(search).steps[0].reason
    union = FeatureUnion([("a", search.best_estimator_), ("b", measure(accountant=accountant))])
    assert verdicts(union) == {"a": "private", "b": "private"}  # one budget pays for both


@every(
    "before, bounds, advised",
    [
        (DomainScaler((0, 9)), (0, 1), None),
        (DomainScaler((0, 9)), ([0, 0], [1, 1]), None),
        (DomainScaler((0, 9)), Box([0, 0, 0], [1, 1, 1]), None),
        (DomainScaler((0, 9)), (0, 9), "output bounds of DomainScaler, (0, 1), not (0, 9)"),
        (DomainScaler((0, 9)), (-1, 1), "(0, 1)"),
        (DomainScaler((0, 9)), None, "(0, 1), not None"),
        (DomainScaler((0, 9)), Ball([0, 0], 1.0), "(0, 1)"),
        (DomainScaler((0, 9)), Ball([0, 0], 1.0), "or let DomainScaler(target='ball') output"),
        (DomainScaler((0, 9), target="ball"), Ball([0, 0], 1.0), None),
        (DomainScaler((0, 9), target="ball"), (0, 1), "Ball"),
        (DomainScaler((0, 9), clip=False), (0, 9), None),
        (JLTransformer(2, bounds=([0] * 5, [1] * 5)), (-2, 2), "Ball"),
        (JLTransformer(2, bounds=Ball([0] * 5, 1)), Ball([0, 0], 1), None),
        (JLTransformer(2, bounds=(0, 1)), (-2, 2), "unknown until it has been fitted"),
        (JLTransformer(n_hint=9), (-2, 2), None),
        (preprocessing.FunctionTransformer(), (-1, 1), None),
        (SCHEMA, (0, 1), None),
        (SCHEMA, (-1, 1), "(0, 1)"),
        (SchemaTransformer([Number(0, 1), Integer(0, 9)]), ([0, 0], [1, 9]), None),
        (SchemaTransformer(Text()), (-1, 1), None),
    ],
)
def test_bounds_that_differ_from_those_handed_on_are_named(before, bounds, advised):
    """They leak nothing, so the verdict stays; but they cost accuracy."""
    accountant = BudgetAccountant(1.0)
    end = PrivateMeasure(bounds=bounds, accountant=accountant)
    for pipeline in (make_pipeline(before, end), make_pipeline(before, "passthrough", end)):
        report = check_private(pipeline, strict=True)
        found = report.steps[-1]
        assert found.verdict == "private"
        assert (found.advice == "") if advised is None else (advised in found.advice)


def test_notebooks_show_the_text_of_the_report():
    columns = ColumnTransformer([("<b>one</b>", preprocessing.StandardScaler(), [0])])
    html = check_private(make_pipeline(columns, measure()))._repr_html_()
    assert "LEAKS" in html and "measure (PrivateMeasure): epsilon=1" in html
    assert "not private, or not known to be" in html
    assert "&lt;b&gt;one&lt;/b&gt;" in html and "<b>one</b>" not in html
    good = check_private(make_pipeline(DomainScaler((0, 1)), measure()))
    assert "every step keeps the guarantee" in good._repr_html_()
