"""What new users tried, and what they are told: in words, by name, before anything is charged."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    DPSlicedWasserstein,
    JLTransformer,
    PrivateDriftSketch,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateMeasure,
    PrivateTable,
    PrivateTwoSampleTest,
    check_private,
)
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.schema import Number, Schema
from tests.cases import every

X = np.random.default_rng(0).random((60, 2))


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateEMDHeatmap(bounds=(0, 90)),
        PrivateKMeans(2, bounds=(0, 90)),
        PrivateMeasure(bounds=(0, 90)),
        PrivateTable({"age": Number(0, 90), "weight": Number(0, 90)}),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_one_correction_is_enough_for_text_in_a_column(estimator):
    """They were told to encode numbers, in words that led to the next error."""
    frame = pd.DataFrame({"age": ["30", "unknown", "", "N/A", "41"] * 20, "weight": 70.0})
    with pytest.raises((TypeError, ValueError), match="column, errors='coerce'|dropna") as told:
        estimator.fit(frame)
    assert "unknown" not in str(told.value)
    numbers = frame.assign(age=pd.to_numeric(frame["age"], errors="coerce"))
    with pytest.raises(ValueError, match="dropna"):
        estimator.fit(numbers)
    estimator.fit(numbers.dropna())


@pytest.mark.parametrize(
    ("rows", "told"),
    [(X + [139.0, 35.0], True), (1e-4 * X, True), (X, False), (0.2 * X, False)],
    ids=["outside", "other units", "fitting", "narrow"],
)
def test_cohorts_of_other_units_are_told_by_the_release(rows, told, recwarn):
    """The warning follows from how far apart rows lie: by one released number, or public rows."""
    rows, y = np.tile(rows, (50, 1)), np.tile(["north", "south"], 1500)
    test = PrivateTwoSampleTest(["north", "south"], bounds=(0, 1), n_resamples=19)
    test.fit(rows, y)
    PrivateTwoSampleTest(reference=rows, bounds=(0, 1), n_resamples=19).fit(rows)
    texts = [str(w.message) for w in recwarn if w.category is PrivacyWarning]
    assert [("check the units" in text) for text in texts] == [True] * told * 2


@pytest.mark.parametrize("shuffled", [False, True])
def test_ids_in_another_order_than_the_rows_are_told(shuffled, recwarn):
    frame = pd.DataFrame(X, columns=["a", "b"])
    ids = pd.Series(np.arange(60) // 2)
    given = ids.sample(frac=1.0, random_state=0) if shuffled else ids
    PrivateMeasure(bounds=(0, 1), n_hint=30).fit(frame, groups=given)
    PrivateMeasure(bounds=(0, 1), n_hint=30).fit(frame, groups=given.reset_index(drop=True))
    PrivateMeasure(bounds=(0, 1), n_hint=30).fit(frame[10:], groups=ids[:50])
    told = [str(w.message) for w in recwarn if "matched by position" in str(w.message)]
    assert ["groups.loc[X.index]" in text for text in told] == [True] * shuffled


def test_no_rows_and_no_files_are_told_as_such(tmp_path):
    measure = PrivateMeasure(bounds=(0, 1))
    with pytest.raises(ValueError, match="A list without rows has none: pass np.empty"):
        measure.fit([])
    pytest.importorskip("dask.dataframe")
    for name in ("none.parquet", "*.parquet", "none/"):
        with pytest.raises(FileNotFoundError, match="X names no Parquet file that exists"):
            measure.fit(f"{tmp_path}/{name}")
    (tmp_path / "rows[1].parquet").write_bytes(b"")
    with pytest.raises(Exception, match="could not be read|Parquet") as told:
        measure.fit(f"{tmp_path}/rows[1].parquet")
    assert not isinstance(told.value, FileNotFoundError)


def test_the_warning_about_noise_points_at_the_line_of_the_fit():
    with pytest.warns(PrivacyWarning, match="Noise level") as caught:
        PrivateKMeans(3, bounds=(0, 1), n_hint=20).fit(X[:20])
    assert caught[0].filename == __file__


class Tensor:
    """What a tensor of torch tells of itself where it cannot become an array."""

    def __init__(self, dtype="torch.float32", requires_grad=False):
        self.dtype, self.requires_grad, self.ndim, self.shape = dtype, requires_grad, 2, X.shape

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("in the words of torch")


Tensor.__module__ = "torch"
FRAME = pd.DataFrame(X, columns=["a", "b"])
LABELS = np.tile(["north", "south"], 30)
SCHEMA = Schema({"a": Number(0, 1), "b": Number(0, 1)})
NUMBERS = PrivateTable(Number(0, 1), n_components=2, max_iter=1)
KMEANS = PrivateKMeans(2, bounds=(0, 1))
MEASURE = PrivateMeasure(bounds=(0, 1), n_hint=60, accountant=BudgetAccountant(1.0))


def cohorts(classes):
    return PrivateTwoSampleTest(classes, bounds=(0, 1))


@every(
    "call, words",
    [
        # two tables are not the two arguments of a test, and one label is not those of rows
        (
            lambda: cohorts(["a", "b"]).fit(X, X),
            r"y must hold one label per row, got a table\. Both",
        ),
        (lambda: cohorts(None).fit(X, X), "y must hold one label per row, got a table"),
        (lambda: DPSlicedWasserstein(bounds=(0, 1)).fit(X, X), r"got a table.*fit\(A\)\.distance"),
        (lambda: PrivateDriftSketch(bounds=(0, 1)).fit(X, FRAME), r"got a table.*first\.test\("),
        (lambda: cohorts(["north"]).fit(X, LABELS), "classes must be two labels, got"),
        (lambda: cohorts(["a", "b", "c"]).fit(X, LABELS), "classes must be two labels, got"),
        # classes, text or nothing in the place of objects
        (lambda: BudgetAccountant(1.0).quote(PrivateMeasure), r"is a class: pass PrivateMeasure\("),
        (
            lambda: check_private(PrivateMeasure),
            r"PrivateMeasure is a class: pass PrivateMeasure\(",
        ),
        (lambda: check_private(None, strict=True), "estimator must be an estimator, got"),
        (lambda: check_private("passthrough", strict=True), "estimator must be an estimator, got"),
        (lambda: PrivateTable({"a": float}).fit(FRAME), "kinds by name as in"),
        # ids without an order, before a charge
        (lambda: MEASURE.fit(X, groups=set(range(60))), "must have one value per row, got a value"),
        (
            lambda: MEASURE.fit(X, groups=dict.fromkeys(range(60))),
            "must have one value per row, got",
        ),
        # images
        (
            lambda: KMEANS.fit(np.zeros((9, 4, 4))),
            r"X\.reshape\(len\(X\), -1\) makes a row of each",
        ),
        # what KMeans has
        (lambda: KMEANS.partial_fit(X), "Give all chunks to fit"),
        (lambda: PrivateKMeans(2, tol=1e-3), "tol"),
        (lambda: clone(KMEANS).set_params(tol=1e-3), "tol"),
        # tensors that are no arrays
        (lambda: MEASURE.fit(Tensor("torch.bfloat16")), r"pass X.float\(\)"),
        (lambda: MEASURE.fit(Tensor(requires_grad=True)), "X.detach"),
        (lambda: MEASURE.fit(X, sample_weight=Tensor(requires_grad=True)), "sample_weight.detach"),
        # columns of tables, and parameters of grids
        (lambda: clone(NUMBERS).fit(FRAME).query(["a", "b"]), r"as in query\('a', 'b'\)"),
        (lambda: PrivateTable(SCHEMA).fit(FRAME, groups="b"), "missing .'b'.*that groups, y or"),
        (
            lambda: PrivateSearchCV(KMEANS, {"n_cluster": [2]}).fit(FRAME),
            r"\['n_cluster'\], which are no parameters.*'n_clusters'",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_slips_are_answered_in_words(call, words):
    with pytest.raises((AttributeError, TypeError, ValueError), match=words) as caught:
        call()
    assert "Schema(" not in str(caught.value) and MEASURE.accountant.entries == ()
    assert not hasattr(KMEANS, "partial_fit")


def ids_told(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    texts = [str(told.message) for told in caught if told.category is PrivacyWarning]
    return [text for text in texts if " id" in text]


@pytest.mark.parametrize("step", [DomainScaler, JLTransformer])
def test_ids_before_a_public_step_are_told(step):
    """Behind it columns have no names, and the id would be a feature."""
    frame = pd.DataFrame(X, columns=["a", "patient_id"])
    first = step(bounds=(0, 1)) if step is DomainScaler else step(1, bounds=(0, 1))
    (text,) = ids_told(lambda: first.fit(frame))
    assert "'patient_id' is read as a feature" in text
    assert not ids_told(lambda: first.fit(frame.rename(columns={"patient_id": "b"})))
    named = first.set_params(bounds={"a": (0, 1), "patient_id": (0, 1)})
    assert not ids_told(lambda: named.fit(frame))


def test_ids_in_the_place_of_labels_are_told_by_their_name():
    model, ids = PrivateMeasure(bounds=(0, 1), n_hint=len(X)), np.arange(len(X)) // 2
    (text,) = ids_told(lambda: model.fit(X, pd.Series(ids, name="pid")))
    assert "y is named 'pid'" in text and "groups=" in text
    assert not ids_told(lambda: model.fit(X, pd.Series(ids, name="ward")))
    assert not ids_told(lambda: model.fit(X, pd.Series(ids, name="pid"), groups=ids))


@pytest.mark.parametrize("routed", [False, True])
def test_ids_that_a_search_keeps_to_itself_are_told(routed):
    model, ids = PrivateMeasure(bounds=(0, 1), n_hint=len(X)), np.arange(len(X)) // 2

    def search():
        with config_context(enable_metadata_routing=routed):
            asked = model.set_fit_request(groups=True) if routed else model
            GridSearchCV(asked, {"epsilon": [1.0]}, cv=GroupKFold(2)).fit(X, groups=ids)

    assert any("this fit does not see them" in text for text in ids_told(search)) != routed
    search = GridSearchCV(model, {"epsilon": [1.0]}, cv=2)
    assert not ids_told(lambda: search.fit(X))
