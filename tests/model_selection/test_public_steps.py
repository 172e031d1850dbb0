"""Public steps: one row moves no bit of another one, or the check says so."""

import inspect
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, special
from sklearn import feature_extraction, preprocessing, random_projection
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import FeatureAgglomeration
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import NMF
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, PairwiseKernel
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.utils import all_estimators

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    JLTransformer,
    PrivateKMeans,
    PrivateMeasure,
    RowByRow,
    SchemaTransformer,
    check_private,
)
from skdp_bary.exceptions import LeakError
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.schema import Category, Integer, Number, Ordinal, Schema, Text
from tests.cases import every
from tests.world import KNOWN, RULES, Form, form_after, search_parts

from .row_independence import (
    counting,
    numeric_steps,
    steps_alone,
    steps_of_functions,
    steps_that_meet_rows,
    stream_trial,
    table_steps,
    trial,
)

NUMBERS = SchemaTransformer(Number(-10, 10))
JOBS = SchemaTransformer(Category(["a", "b"]))
TABLE = SchemaTransformer(
    Schema({"job": Category(["a", "b"]), "age": Integer(0, 9), "note": Text()})
)
ONE_HOT = preprocessing.OneHotEncoder(categories=[["a", "b"]], handle_unknown="ignore")
ORDINAL = preprocessing.OrdinalEncoder(
    categories=[["a", "b"]], handle_unknown="use_encoded_value", unknown_value=-1
)
ROWS = np.random.default_rng(0).random((9, 2))
FROZEN = FrozenEstimator(preprocessing.StandardScaler().fit(ROWS))
MODEL = Ridge().fit(ROWS, ROWS[:, 0])
KMEANS = PrivateKMeans(2, bounds=(0, 1))


def weighted(weight):
    return FeatureUnion([("a", "passthrough")], transformer_weights={"a": weight})


def fault(*steps):
    """What is said against a pipeline of public steps, or "" where it is public."""
    pipeline = make_pipeline(*steps, PrivateKMeans(2, bounds=(0, 1)))
    found = [s for s in check_private(pipeline).steps if s.verdict not in ("public", "private")]
    try:
        search_parts(pipeline)
    except ValueError:
        assert found, "the search and the check disagree"
    else:
        assert not found, "the search and the check disagree"
    return "; ".join(f"{step.reason}: {step.advice}" for step in found)


@every("steps", [
    (DomainScaler(), JLTransformer(2)),
    (NUMBERS, preprocessing.PolynomialFeatures(), preprocessing.Binarizer()),
    (JOBS, ONE_HOT, preprocessing.Binarizer(), JLTransformer(2)),
    (NUMBERS, random_projection.SparseRandomProjection(2)),
    (NUMBERS, SimpleImputer(strategy="constant", fill_value=0.0, keep_empty_features=True)),
    (TABLE, ColumnTransformer([("job", ONE_HOT, ["job"])], sparse_threshold=0)),
    (TABLE, ColumnTransformer([("job", ORDINAL, ["job"]), ("age", "passthrough", ["age"])])),
    (TABLE, ColumnTransformer([("n", HashingVectorizer(), "note")], sparse_threshold=0)),
    (TABLE, ColumnTransformer([("a", preprocessing.Binarizer(), ["age"])])),
    (TABLE, ColumnTransformer([("job", ORDINAL, ["job"]), ("note", "drop", ["note"])],
     remainder="passthrough"), preprocessing.Binarizer()),
    (),
    (RowByRow(preprocessing.Normalizer()),),
])  # fmt: skip
def test_public_behind_a_declared_form(steps):
    assert fault(*steps) == ""


@every("step", [
    ONE_HOT, ORDINAL, preprocessing.Binarizer(), preprocessing.PolynomialFeatures(),
    random_projection.SparseRandomProjection(2),
    feature_extraction.FeatureHasher(input_type="string"), HashingVectorizer(),
    SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True),
    ColumnTransformer([("a", DomainScaler(), [0])]),
    FeatureUnion([("a", preprocessing.PolynomialFeatures()), ("b", DomainScaler())]),
])  # fmt: skip
def test_steps_of_scikit_learn_need_the_declared_form(step):
    assert "put SchemaTransformer" in fault(step)
    late = Pipeline([("step", step), ("schema", NUMBERS)])
    assert "put SchemaTransformer" in fault(late)


@every(
    "steps, advice",
    [
        # a dense product
        ((NUMBERS, random_projection.SparseRandomProjection(2, density=1)), "density below 1"),
        ((NUMBERS, random_projection.SparseRandomProjection(2, density=1.0)), "density below 1"),
        ((NUMBERS, random_projection.GaussianRandomProjection(2)), "RowByRow"),
        # learned from rows
        ((NUMBERS, random_projection.SparseRandomProjection()), "n_components"),
        ((NUMBERS, SimpleImputer()), "public value"),
        ((NUMBERS, SimpleImputer(strategy="constant", fill_value=0)), "keep_empty_features"),
        ((NUMBERS, SimpleImputer(strategy="constant", fill_value=np.nan)), "finite"),
        ((NUMBERS, SimpleImputer(strategy="constant", fill_value=np.inf)), "finite"),
        ((RowByRow(NMF(verbose=1)),), "verbose=0"),
        # functions, and numbers added up in an order that depends on other rows
        ((TABLE, HashingVectorizer(tokenizer=str.split)), "tokenizer"),
        ((TABLE, HashingVectorizer(preprocessor=str.lower)), "preprocessor"),
        ((TABLE, HashingVectorizer(analyzer=list)), "analyzer"),
        ((TABLE, HashingVectorizer(strip_accents=str.lower)), "strip_accents"),
        ((TABLE, HashingVectorizer(input="filename")), "content"),
        ((TABLE, feature_extraction.FeatureHasher()), "string"),
        ((TABLE, feature_extraction.FeatureHasher(input_type="pair")), "string"),
        # errors and warnings that name values
        ((TABLE, preprocessing.OneHotEncoder(categories=[["a"]])), 'handle_unknown="ignore"'),
        ((TABLE, preprocessing.OrdinalEncoder(categories=[["a"]])), "use_encoded_value"),
        ((TABLE, preprocessing.OneHotEncoder(categories=[["a"]], handle_unknown="warn")), "ignore"),
        ((TABLE, ONE_HOT.__class__(categories=[["a"]], drop="first")), "drop=None"),
        # what the caller fitted, or code of others, in a parameter
        ((FROZEN,), "RowByRow(step, X_public)"),
        ((NUMBERS, preprocessing.Binarizer(threshold=FROZEN)), "RowByRow(step, X_public)"),
        ((NUMBERS, weighted(FROZEN)), "X_"),
        ((NUMBERS, preprocessing.PolynomialFeatures(degree=[Fraction(2)])), "cannot be checked"),
        ((preprocessing.MultiLabelBinarizer(classes=["a"]),), "public labels"),
        # errors on words among numbers, and on what is no text among texts
        ((TABLE, preprocessing.PolynomialFeatures()), "numeric columns"),
        ((TABLE, ColumnTransformer([("j", preprocessing.Binarizer(), ["job"])])), "numeric"),
        ((TABLE, ColumnTransformer([("j", preprocessing.Binarizer(), slice(1))])), "numeric"),
        (
            (
                TABLE,
                ColumnTransformer([("a", DomainScaler(), ["age"])], remainder="passthrough"),
                preprocessing.Binarizer(),
            ),
            "numeric columns",
        ),
        ((TABLE, ColumnTransformer([("a", HashingVectorizer(), "age")])), "columns of Text"),
        (
            (
                SchemaTransformer(Category(["a"], missing=True)),
                feature_extraction.FeatureHasher(input_type="string"),
            ),
            "without missing values",
        ),
        # types that a library chose for what was put together anew
        ((TABLE, preprocessing.FunctionTransformer(), ONE_HOT), "directly behind"),
        ((TABLE, ColumnTransformer([("a", "passthrough", [0])]), ONE_HOT), "directly behind"),
        # sparse by the number of zeros
        ((JOBS, ONE_HOT, ColumnTransformer([("a", "passthrough", [0])])), "sparse_threshold=0"),
        (
            (JOBS, ONE_HOT, ColumnTransformer([("a", preprocessing.Binarizer(), [0])])),
            "sparse_threshold",
        ),
        ((TABLE, ColumnTransformer([("a", ONE_HOT, [0])])), "sparse_threshold=0"),
    ],
)
def test_parameters_that_let_rows_meet_are_named(steps, advice):
    assert advice in fault(*steps)


def test_every_step_that_can_be_public_is_tried():
    """Those that are never public round rows together."""
    together = {name for name, rule in RULES.items() if rule.fault.__name__ == "_together"}
    steps = numeric_steps() + table_steps()
    tried = {type(part).__name__ for step in steps for part in parts(step)}
    assert set(RULES) - together <= tried | {"FeatureHasher"}  # which takes lists


def parts(step):
    """A step and all steps in it."""
    return [step] + [v for v in step.get_params().values() if hasattr(v, "fit")]


@pytest.mark.filterwarnings("ignore:This Pipeline instance is not fitted")  # before 1.8
def test_trials_find_no_row_that_moves_another():
    for seed in range(20):
        violations, worst = trial(np.random.default_rng(seed))
        assert (violations, worst) == ([], 0), seed


class TestWhatOneRowCouldDo:
    """Every case was found to move other rows, or to be an answer about them."""

    @every("hostile", [0.5, "x", None])
    @every("encoder", [ONE_HOT, ORDINAL])
    def test_categories_given_as_text_are_known_whatever_the_others_hold(self, encoder, hostile):
        encoder = type(encoder)(**encoder.get_params() | {"categories": [["1", "2"]]})
        rows = pd.DataFrame({"job": [1, 2, 1]})
        more = pd.DataFrame({"job": [1, 2, 1, hostile]})
        assert fault(encoder)
        schema = SchemaTransformer(Schema({"job": Category(["1", "2"], missing=True)}))
        pipeline = make_pipeline(schema, encoder)
        assert not fault(schema, ColumnTransformer([("a", encoder, [0])], sparse_threshold=0))
        found = [pipeline.fit(X).transform(X)[:3] for X in (rows, more)]
        found = [f.toarray() if sparse.issparse(f) else f for f in found]
        assert (found[0] == found[1]).all()
        assert len(np.unique(found[0], axis=0)) == 2  # known


GAPS = SchemaTransformer(Schema({"a": Number(0, 1, missing=True), "b": Category(["x"])}))


@every("mark", [-1, "x", None, np.nan])
@every("schema", [GAPS, SchemaTransformer(Number(0, 1, missing=True))])
def test_an_imputer_must_know_the_missing_numbers_that_a_schema_allows(schema, mark):
    filler = SimpleImputer(
        missing_values=mark, strategy="constant", fill_value=0.5, keep_empty_features=True
    )
    rows = pd.DataFrame({"a": [0.25, None], "b": ["x", "x"]})
    if isinstance(mark, float):
        assert fault(schema, filler) == ""
        filler.fit(schema.fit_transform(rows if schema is GAPS else rows[["a"]]))
        return
    assert "missing_values=np.nan" in fault(schema, filler)
    assert "missing_values" in fault(schema, FeatureUnion([("a", filler)]))
    assert "missing_values" in fault(
        schema, ColumnTransformer([("a", filler, [0])], sparse_threshold=0)
    )


@every("step", [
    preprocessing.Binarizer(), preprocessing.PolynomialFeatures(2),
    random_projection.SparseRandomProjection(1), DomainScaler((0, 1)),
    JLTransformer(1, bounds=(0, 1)), RowByRow(preprocessing.Normalizer()),
    FeatureUnion([("a", preprocessing.Binarizer())]),
])  # fmt: skip
def test_steps_that_raise_on_missing_numbers_are_not_public_where_there_may_be_some(step):
    gaps, full = (SchemaTransformer(Number(0, 1, missing=missing)) for missing in (True, False))
    with pytest.raises(ValueError, match="NaN"):
        make_pipeline(gaps, step).fit([[0.5], [None]])
    assert "missing numbers" in fault(gaps, step)
    assert "missing" not in fault(full, step)
    filler = SimpleImputer(strategy="constant", fill_value=0.5, keep_empty_features=True)
    assert "missing" not in fault(gaps, filler, step)


@every(
    "kind, own, other",
    [
        (Category([1, 2]), 1, 99),
        (Category([True, False]), True, "maybe"),
        (Ordinal([1.5, 2.5], missing=True, outside="refuse"), 1.5, None),
    ],
)
@every("step", [None, DomainScaler((0, 9)), JLTransformer(1, bounds=(0, 9))])
def test_nothing_answers_unpaid_whether_a_number_is_off_its_list(kind, own, other, step):
    filler = SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True)
    table = SchemaTransformer(Schema({"v": kind}))
    for before in (
        [table],
        [table, filler],  # fills NaN, and leaves None
        [table, ColumnTransformer([("v", "passthrough", ["v"])])],
        [table, FeatureUnion([("v", preprocessing.FunctionTransformer())])],
    ):
        budget = BudgetAccountant(1.0)
        end = PrivateMeasure(bounds=(0, 9), n_hint=9, accountant=budget)
        pipeline = make_pipeline(*before, step or "passthrough", end)
        with pytest.raises(ValueError, match="NaN"):
            clone(pipeline).fit(pd.DataFrame({"v": [own] * 9 + [other]}))
        assert budget.total()[0] == 0.0
        with pytest.raises(LeakError, match="not listed are missing: encode them"):
            check_private(pipeline, strict=True)
    coded = preprocessing.OneHotEncoder(categories=[[own]], handle_unknown="ignore")
    coded.set_params(sparse_output=False)
    pipeline = make_pipeline(table, coded, step or "passthrough", end)
    check_private(pipeline, strict=True)
    pipeline.fit(pd.DataFrame({"v": [own] * 9 + [other]}))


@every(
    "step, most",
    [
        (preprocessing.PolynomialFeatures(2), 1e153),
        (preprocessing.PolynomialFeatures((1, 3)), 1e102),
        (make_pipeline(DomainScaler(clip=True), preprocessing.PolynomialFeatures(9)), 1e300),
        (make_pipeline(*[preprocessing.PolynomialFeatures(2)] * 2), 1e76),
        (FeatureUnion([("a", preprocessing.PolynomialFeatures(2))]), 1e153),
        (random_projection.SparseRandomProjection(2), 1e280),
    ],
)
def test_declared_numbers_that_a_step_could_blow_up_are_found(step, most):
    assert fault(SchemaTransformer(Number(0, most)), step) == ""
    if type(step) is Pipeline and type(step[0]) is DomainScaler:
        return
    assert "smaller range" in fault(SchemaTransformer(Number(0, min(most * 1e25, 1.7e308))), step)


TWICE = weighted(2.0)


@every(
    "steps",
    [
        (JLTransformer(2), preprocessing.PolynomialFeatures(2)),
        (DomainScaler(clip=False), preprocessing.PolynomialFeatures(2)),
        (RowByRow(preprocessing.Normalizer()), preprocessing.PolynomialFeatures(2)),
        (SchemaTransformer(Number(0, 1e300)), DomainScaler((0, 1e-9), clip=False), TWICE),
        *((JLTransformer(2), TWICE), (JLTransformer(2), weighted(np.array([0.5, -2.0])))),
        (JLTransformer(2), random_projection.SparseRandomProjection(2)),
    ],
)
def test_numbers_of_unknown_size_are_not_blown_up(steps):
    """A neighbor with large numbers would make a step, or the next one, raise."""
    assert "DomainScaler" in fault(*steps)


@every(
    "steps",
    [
        (JLTransformer(2, bounds=(-1, 1)), preprocessing.PolynomialFeatures(9)),
        (NUMBERS, JLTransformer(2), preprocessing.PolynomialFeatures(3)),
        (NUMBERS, DomainScaler((0, 1), clip=False), preprocessing.PolynomialFeatures(9)),
        (JLTransformer(2), preprocessing.PolynomialFeatures(1), preprocessing.Binarizer()),
        (NUMBERS, weighted(np.array([0.5, 9.0]))),
    ],
)
def test_numbers_of_known_size_may_grow(steps):
    assert fault(*steps) == ""


@every("step", [
    DomainScaler((0, 0.5), clip=False), DomainScaler((1, 1.5), clip=False, target="ball"),
    JLTransformer(2, random_state=0),
    JLTransformer(2, bounds=(-2, 1), random_state=0), preprocessing.PolynomialFeatures(3),
])  # fmt: skip
@every("size", [0.5, 1e3, 1e40])
def test_no_number_is_larger_than_was_foreseen(step, size):
    rows = np.random.default_rng(0).uniform(-size, size, (99, 3))
    rows[:9] = size * np.sign(rows[:9])
    foreseen = form_after(step, Form("numbers", largest=size)).largest
    assert np.abs(step.fit_transform(rows)).max() <= foreseen


@pytest.mark.filterwarnings("error")
@every(
    "step",
    [
        DomainScaler((0, 1e-3), clip=False),
        JLTransformer(2, random_state=0),
        RowByRow(preprocessing.FunctionTransformer(np.exp)),
    ],
)
def test_our_own_steps_cut_off_what_is_beyond_all_floats(step):
    rows = np.random.default_rng(0).choice([1.7e308, -1.7e308], (9, 8))
    with np.errstate(over="raise", invalid="raise"):
        images = step.fit(np.zeros((1, 8))).transform(rows)
    assert np.isfinite(images).all() and np.abs(images).max() > 1e307


class Largest(TransformerMixin, BaseEstimator):
    """Keeps the largest number of all rows in its class, where no copy of an object forgets it."""

    seen = 0.0

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        type(self).seen = max(self.seen, X.max())
        return X + self.seen


class Strict(preprocessing.Normalizer):
    """A subclass may do anything."""


def function(made, **more):
    return preprocessing.FunctionTransformer(made, **more)


def listed(*levels):
    return np.array(levels, dtype=object)


REFUSED = {  # by the fit, too
    "X_public": [  # learned elsewhere
        *(FROZEN, make_pipeline(DomainScaler((0, 1)), FROZEN), RowByRow(FROZEN)),
        FeatureUnion([("a", preprocessing.Normalizer()), ("b", FROZEN)]),
        ColumnTransformer([("a", "drop", [0])], remainder=make_pipeline(FROZEN)),
        SelectFromModel(FrozenEstimator(MODEL), prefit=True),
        *(SelectFromModel(MODEL, prefit=True), FrozenEstimator(KMEANS)),
        make_pipeline(function(counting), FROZEN),
    ],
    "a private step": [
        *(make_pipeline(DomainScaler((0, 1)), KMEANS), FeatureUnion([("a", KMEANS)])),
        ColumnTransformer([("a", RowByRow(KMEANS), [0])]),
        *(RowByRow(RowByRow(KMEANS)), GridSearchCV(KMEANS, {}), make_pipeline(Largest(), KMEANS)),
    ],
}


@every("told, step", [(told, step) for told, steps in REFUSED.items() for step in steps])
def test_what_is_fitted_elsewhere_or_charged_is_refused_inside_of_row_by_row(told, step):
    """A scaler that was fitted on all rows moved a release 240 times as far as was stated."""
    alone = RowByRow(step)
    (verdict, _) = check_private(make_pipeline(alone, PrivateMeasure(bounds=(0, 1)))).steps
    assert verdict.verdict == "unknown" and fault(alone)
    assert "unknown: every row" in alone._repr_html_()
    with pytest.raises(ValueError, match="X_public|with a private step inside"):
        alone.fit(ROWS)
    if not isinstance(step, Pipeline):  # whose first step may have more to say
        assert told in fault(alone)


BY_ROWS = {
    "": [  # public one row at a time: functions of numpy and scipy, and plain parameters
        *map(function, [None, np.log1p, np.tanh, np.sort, special.expit, special.erf]),
        make_pipeline(function(special.erf)),
        FeatureAgglomeration(),
        SimpleImputer(missing_values=pd.NA, strategy="constant", fill_value=0.5),
        preprocessing.OneHotEncoder(categories=[listed(0.5, "a", None)]),
        preprocessing.OneHotEncoder(categories=[["a"]], dtype=np.float32),
        preprocessing.OrdinalEncoder(categories=[["a"]], dtype=np.dtype("f4")),
        random_projection.GaussianRandomProjection(2, random_state=np.random.RandomState(0)),
        ColumnTransformer([("a", preprocessing.Normalizer(), slice(0, 1)), ("b", "drop", [1])]),
        IterativeImputer(estimator=GaussianProcessRegressor(2.0 * RBF(0.5))),
        make_pipeline(DomainScaler((0, 1)), RowByRow(preprocessing.Normalizer())),
        make_pipeline(SchemaTransformer(Number(0, 1)), preprocessing.Normalizer()),
    ],
    "numpy or scipy.special": [  # functions that may keep rows elsewhere
        function(counting),
        *steps_that_meet_rows(),
        function(np.apply_along_axis, kw_args={"func1d": counting, "axis": 1}),
        make_pipeline(function(counting)),
    ],
    "cannot be checked": [  # classes that may
        *(Largest(), Strict(), make_pipeline(Largest())),
        FeatureUnion([("a", preprocessing.Normalizer()), ("b", make_pipeline(Largest()))]),
        ColumnTransformer([("a", Largest(), [0])]),
    ],
    ":": [  # code of others in what parameters hold
        preprocessing.OneHotEncoder(categories=[listed(0.5, Fraction(1, 2))]),
        IterativeImputer(estimator=GaussianProcessRegressor(PairwiseKernel(metric=np.dot))),
        FeatureUnion([("a", RowByRow(function(np.empty_like)))]),
        IterativeImputer(estimator=Ridge(alpha=Largest)),
        Nystroem(kernel_params={"where": listed(len)}),
    ],
}


@every("told, step", [(told, step) for told, steps in BY_ROWS.items() for step in steps])
def test_what_is_public_one_row_at_a_time(told, step, monkeypatch):
    found = fault(RowByRow(step))
    assert told in found and bool(found) == bool(told)
    (verdict, _) = check_private(make_pipeline(RowByRow(step), PrivateMeasure(bounds=(0, 1)))).steps
    assert verdict.verdict == ("unknown" if told else "public")
    with monkeypatch.context() as patch:  # under a known name a function is not known
        patch.setattr(np, "counting", counting, raising=False)
        patch.setattr(counting, "__module__", "numpy")
        assert fault(RowByRow(function(counting)))


def test_functions_called_public_make_of_a_row_what_they_make_of_it_alone():
    tried = [
        stream_trial(step, np.random.default_rng(0), fitted_on_zeros=True)
        for step in steps_of_functions()
        if not fault(RowByRow(step))
    ]
    assert len(tried) == len(list(steps_of_functions())) > 100
    assert all(found == [] for found in tried), tried


@every("name", KNOWN)
def test_no_parameter_of_a_listed_step_was_added_unseen(name):
    public = dict(all_estimators()) | {"HashingVectorizer": HashingVectorizer}
    public["FeatureHasher"] = feature_extraction.FeatureHasher
    cls = {"Pipeline": Pipeline, "FeatureUnion": FeatureUnion}.get(name) or public[name]
    assert set(inspect.signature(cls).parameters) <= KNOWN[name]


def test_every_listed_step_has_its_parameters_listed():
    assert set(KNOWN) == set(RULES) | {"ColumnTransformer", "FeatureUnion", "Pipeline"}


@pytest.mark.parametrize(
    ("name", "parameter", "step", "changed"),
    [
        ("Binarizer", "threshold", preprocessing.Binarizer(), {"threshold": 0.5}),
        ("Pipeline", "verbose", make_pipeline(DomainScaler()), {"verbose": True}),
        ("FeatureUnion", "n_jobs", FeatureUnion([("a", DomainScaler())]), {"n_jobs": 2}),
    ],
)
def test_a_new_parameter_is_taken_at_its_default_alone(monkeypatch, name, parameter, step, changed):
    monkeypatch.setitem(KNOWN, name, KNOWN[name] - {parameter})
    assert fault(NUMBERS, step) == ""
    told = f"at their defaults: {parameter}"
    assert told in fault(NUMBERS, clone(step).set_params(**changed))


NOT_OF_NUMBERS = {
    "DictVectorizer",
    "FeatureHasher",
    "HashingVectorizer",
    "LabelBinarizer",
    "LabelEncoder",
}
NEED_LABELS = {"CCA", "GenericUnivariateSelect", "IsotonicRegression", "LinearDiscriminantAnalysis",
               "PLSCanonical", "PLSRegression", "PLSSVD", "SelectFdr", "SelectFpr", "SelectFwe",
               "SelectKBest", "SelectPercentile"}  # fmt: skip
NEED_KERNELS_OR_LISTS = {"KernelCenterer", "OrdinalEncoder"}


def test_no_row_moves_what_a_step_makes_of_another():
    tried = {}
    for step in steps_alone():
        found = stream_trial(step, np.random.default_rng(0))
        tried.setdefault(type(step).__name__, []).append(found)
        assert not found, found
    refused = {name for name, found in tried.items() if not found.count([])}
    assert refused <= NOT_OF_NUMBERS | NEED_LABELS | NEED_KERNELS_OR_LISTS, refused
    assert len(tried) - len(refused) > 40, tried


def test_a_blank_answer_moves_no_later_draw():
    """The share of a public step's images that is released moved from 1 to a half."""
    rng = np.random.default_rng(0)
    public = rng.random((40, 2))
    public[::3, 1] = -1.0
    for stream in (0, np.random.RandomState(0), None):
        imputer = IterativeImputer(missing_values=-1.0, sample_posterior=True, random_state=stream)
        step = RowByRow(imputer, public).fit(public)
        rows = np.array([[0.5, -1.0]] * 6)
        blank = step.transform(np.r_[[[0.1, -1.0]], rows])[1:]
        assert blank.tobytes() == step.transform(rows).tobytes()
        assert (blank == blank[0]).all()


def _subclass(cls, **methods):
    return type(cls.__name__, (cls,), {"__module__": cls.__module__, **methods})


def _patched(step, name="transform"):
    setattr(step, name, lambda X, y=None: X)
    return step


def _fit(self, X, y=None, **beside):
    return self


@every("step", [
    _patched(preprocessing.Normalizer()), _patched(RowByRow(preprocessing.Normalizer())),
    RowByRow(_patched(preprocessing.Normalizer())),
    RowByRow(make_pipeline(_patched(preprocessing.Normalizer()))), _patched(DomainScaler((0, 1))),
    _patched(make_pipeline(preprocessing.FunctionTransformer()), "fit_transform"),
    _subclass(preprocessing.FunctionTransformer)(), _subclass(DomainScaler)((0, 1)),
    RowByRow(_subclass(preprocessing.Normalizer)()),
    RowByRow(preprocessing.FunctionTransformer(_subclass(preprocessing.Normalizer)().transform)),
    _subclass(PrivateKMeans, fit=_fit)(2, bounds=(0, 1)),
    type("Mine", (PrivateKMeans,), {"fit": _fit})(2, bounds=(0, 1)),
    type("Mine", (PrivateKMeans,), {"_before_charge": _fit})(2, bounds=(0, 1)),
    type("Mine", (PrivateSearchCV,), {"fit": _fit})(PrivateKMeans(2, bounds=(0, 1)), {}),
    _patched(PrivateKMeans(2, bounds=(0, 1)), "fit"),
    RowByRow(type("Mine", (PrivateKMeans,), {"transform": _fit})(2, bounds=(0, 1))),
    _patched(RowByRow(PrivateKMeans(2, bounds=(0, 1)))),
    type("Model", (TransformerMixin, BaseEstimator), {"__module__": "diffprivlib.models"})(),
])  # fmt: skip
def test_code_of_others_under_a_known_name_is_unknown(step):
    pipeline = make_pipeline(step, PrivateMeasure(bounds=(0, 1)))
    verdict = check_private(pipeline).steps[0]
    assert verdict.verdict == "unknown", verdict
    with pytest.raises(LeakError):
        check_private(pipeline, strict=True)
