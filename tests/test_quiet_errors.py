"""Errors about rows name no value of them, nor how many there are, anywhere in their chain."""

import io

import numpy as np
import pytest

from skdp_bary import (
    DomainScaler,
    JLTransformer,
    PrivateDriftSketch,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateMeasure,
    RowByRow,
    SchemaTransformer,
)
from skdp_bary.schema import Number
from tests.discovery import private_estimators
from tests.estimators import start

VALUE, COUNT = 0.4242, 31
ROWS = np.full(COUNT, VALUE)  # one dimension: the commonest slip with one column


def said(call):
    """Return all that the error of a call, and what it is chained to, could show."""
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    error, words = caught.value, []
    while error is not None:
        words += [repr(error), repr(vars(error)), str(getattr(error, "object", ""))]
        error = error.__cause__ or error.__context__
    return " ".join(words)


def assert_quiet(call):
    words = said(call)
    assert "4242" not in words and str(COUNT) not in words, words


@pytest.mark.parametrize("name", private_estimators())
def test_rows_in_one_dimension(name):
    estimator = start(name)
    if name == "PrivateDomainAdapter":
        assert_quiet(lambda: estimator.fit(ROWS))
        return
    assert_quiet(lambda: estimator.fit(ROWS, np.zeros(COUNT)))


@pytest.mark.parametrize(
    "step",
    [
        DomainScaler((0, 1)),
        JLTransformer(1),
        RowByRow(DomainScaler((0, 1))),
        SchemaTransformer(Number(0, 1)),
    ],
)
def test_transformers(step):
    for rows in (ROWS, ROWS.tolist(), ROWS[0]):
        assert_quiet(lambda rows=rows: step.fit(rows))
    step.fit(ROWS[:, None])
    assert_quiet(lambda: step.transform(ROWS))
    if hasattr(step, "inverse_transform"):
        assert_quiet(lambda: step.inverse_transform(ROWS))


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
@pytest.mark.parametrize(
    ("estimator", "methods"),
    [
        (PrivateMeasure(bounds=(0, 1), n_hint=9), ["score_samples", "score"]),
        (PrivateKMeans(1, bounds=(0, 1), n_hint=9), ["predict", "transform", "score"]),
        (PrivateEMDHeatmap(bounds=([0, 0], [1, 1]), n_hint=9, resolution=4), ["score_samples"]),
        (PrivateDriftSketch(delta=1e-6, bounds=(0, 1), n_hint=9), ["test"]),
    ],
)
def test_methods(estimator, methods):
    n_features = 2 if isinstance(estimator, PrivateEMDHeatmap) else 1
    estimator.fit(np.full((9, n_features), 0.5))
    text = np.full((COUNT, n_features), f"x{VALUE}")
    for name in methods:
        call = getattr(estimator, name)
        given = "public_rows" if name == "test" else "X"
        for rows in (ROWS, text, text.astype(object)):
            assert_quiet(lambda call=call, given=given, rows=rows: call(**{given: rows}))


@pytest.mark.parametrize("beside", ["groups", "sample_weight"])
def test_numbers_of_rows(beside):
    for values in (np.ones(COUNT - 1, dtype=int), np.ones(COUNT + 1, dtype=int)):
        call = PrivateMeasure(bounds=(0, 1)).fit
        assert_quiet(lambda call=call, v=values: call(ROWS[:, None], **{beside: v}))


@pytest.mark.parametrize("weights", [None, "b"])
def test_chunks_that_pandas_reads(weights):
    """Its errors quote the cell that is no number."""
    pandas = pytest.importorskip("pandas")
    text = "a,b\n" + "0.1,0.2\n" * COUNT + f"0.3,x{VALUE}\n"

    def read():
        return pandas.read_csv(io.StringIO(text), chunksize=9, dtype=float)

    call = PrivateMeasure(bounds=(0, 1), n_hint=9).fit
    assert_quiet(lambda: call(read, sample_weight=weights))
