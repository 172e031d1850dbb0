"""Rows that are not there: under add_remove no row is fitted like one row, whatever holds it."""

import warnings
from collections import deque

import dask
import dask.array
import dask.dataframe
import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
import xarray
from sklearn.base import clone

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    JLTransformer,
    PrivateKMeans,
    PrivateMeasure,
    PrivateTable,
    RowByRow,
    SchemaTransformer,
    SortedPersons,
    SpilledPersons,
)
from skdp_bary.schema import Category, Number
from tests.cases import every
from tests.world import make_arguments

from .estimators import PRIVATE

pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = ["x", "y"]
BOX = ([0.0, 0.0], [1.0, 1.0])


def outcome(estimator, **arguments):
    """Return what a fit says and charges: nothing of it may depend on whether a row is there."""
    budget = BudgetAccountant(1e6, 0.9, neighbors=estimator.neighbors or "add_remove")
    fitted = clone(estimator).set_params(accountant=budget)
    try:
        fitted.fit(**arguments)
    except Exception as error:
        return type(error), str(error), len(budget.entries)
    return fitted.n_features_in_, [(e.epsilon, e.delta, e.note) for e in budget.entries]


PRIVATE_SIZES = [
    estimator
    for estimator in PRIVATE
    if estimator.neighbors in (None, "add_remove") and "Adapter" not in type(estimator).__name__
]


@pytest.mark.parametrize("kind", ["rows", "persons", "weights"])
@every("estimator", PRIVATE_SIZES)
def test_no_row_is_fitted_like_one(estimator, kind):
    whole = make_arguments(estimator, kind=kind)
    none, one = ({k: np.asarray(v)[:n] for k, v in whole.items()} for n in (0, 1))
    assert outcome(estimator, **none) == outcome(estimator, **one)


def _frame(X):
    return pd.DataFrame(X, columns=NAMES)


def _table(X):
    return pyarrow.table(dict(zip(NAMES, X.T.copy(), strict=True)))


IN_MEMORY = {
    "array": lambda X: X,
    "objects": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "tuple": lambda X: tuple(map(tuple, X)),
    "frame": _frame,
    "frame of objects": lambda X: _frame(X).astype(object),
    "arrow": _table,
    "polars": lambda X: polars.DataFrame(_table(X)),
    "xarray": lambda X: xarray.DataArray(X),
}
STREAMS = {
    "chunk": lambda X: [X],
    "function": lambda X: lambda: iter([X]),
    "function without chunks": lambda X: lambda: iter([X] if len(X) else []),
    "list of chunks": lambda X: [X] if len(X) else [],
    "tuples": lambda X: [(X,)],
    "frames": lambda X: [_frame(X)],
    "lazy": lambda X: polars.DataFrame(_table(X)).lazy(),
    "query": lambda X: duckdb.from_arrow(_table(X)),
    "dask array": lambda X: dask.array.from_array(X, chunks=(1, 2)),
    "dask frame": lambda X: dask.dataframe.from_pandas(_frame(X), npartitions=1),
    "delayed": lambda X: [dask.delayed(X)],
}
IDS = {
    "numbers": lambda n: np.arange(n),
    "texts": lambda n: [f"p{i}" for i in range(n)],
    "objects": lambda n: np.array([f"p{i}" for i in range(n)], dtype=object),
    "series": lambda n: pd.Series([f"p{i}" for i in range(n)], dtype=str),
    "polars": lambda n: polars.Series([f"p{i}" for i in range(n)], dtype=polars.String),
}
MEASURE = PrivateMeasure(bounds=BOX, n_hint=10, depth=2)
TABLE = PrivateTable({"x": Number(0, 1), "y": Number(0, 1)}, n_components=1, max_iter=1)
ONE = np.array([[0.25, 0.75]])


@pytest.mark.parametrize("estimator", [MEASURE, PrivateKMeans(2, bounds=BOX), TABLE])
@every("kind", IN_MEMORY | STREAMS)
def test_no_row_is_fitted_like_one_in_every_container(kind, estimator):
    make = (IN_MEMORY | STREAMS)[kind]
    none, one = (outcome(estimator, X=make(X)) for X in (ONE[:0], ONE))
    assert none == one and len(one) == 2


@pytest.mark.parametrize("beside", ["groups", "sample_weight"])
@pytest.mark.parametrize("kind", IN_MEMORY)
@every("ids", IDS)
def test_nobody_has_ids_and_weights(kind, ids, beside):
    values = IDS[ids] if beside == "groups" else np.ones
    found = [outcome(MEASURE, X=IN_MEMORY[kind](ONE[:n]), **{beside: values(n)}) for n in (0, 1)]
    assert found[0] == found[1] and len(found[0]) == 2


@every("rule", [SortedPersons(), SpilledPersons(), "id", "delayed"])
def test_nobody_is_in_a_stream_of_persons(rule):
    def given(n):
        if rule == "delayed":
            return {"X": [dask.delayed(ONE[:n])], "groups": [dask.delayed(np.arange(n))]}
        if rule == "id":
            return {"X": lambda: iter([_frame(ONE[:n]).assign(id=range(n))]), "groups": rule}
        return {"X": lambda: iter([(ONE[:n], None, None, np.arange(n))]), "groups": rule}

    found = [outcome(MEASURE, **given(n)) for n in (0, 1)]
    assert found[0] == found[1] and len(found[0]) == 2


@pytest.mark.parametrize(
    "step",
    [
        DomainScaler((0, 1)),
        DomainScaler((0, 1), target="ball"),
        JLTransformer(1, bounds=(0, 1)),
        RowByRow(DomainScaler((0, 1))),
        SchemaTransformer(Number(0, 1)),
        SchemaTransformer({"x": Category([1, 2]), "y": Number(0, 1)}),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", IN_MEMORY)
def test_steps_pass_no_row_on(step, kind):
    if kind == "xarray" and isinstance(step, SchemaTransformer):
        pytest.skip("takes tables")
    rows = IN_MEMORY[kind]
    without_width = kind in ("list", "tuple") and not isinstance(getattr(step, "schema", 0), dict)
    fitted = clone(step).fit(rows(ONE if without_width else ONE[:0]))
    assert fitted.transform(rows(ONE)).shape[0] == 1
    assert fitted.transform(rows(ONE[:0])).shape == (0, *fitted.transform(rows(ONE)).shape[1:])


@every("X", [[], (), lambda: iter([]), iter([])])
def test_what_has_no_columns_says_so(X):
    with pytest.raises(ValueError, match=r"np.empty\(\(0, n_features\)\)"):
        PrivateMeasure(bounds=(0, 1), n_hint=10).fit(X)


@every("relation", ["replace_one", "replace_any"])
@every("X", [ONE[:0], [ONE[:0]], _frame(ONE[:0])])
def test_where_the_number_is_public_none_is_refused_for_free(relation, X):
    budget = BudgetAccountant(1.0, neighbors=relation)
    with pytest.raises(ValueError, match="at least one row under neighbors="):
        PrivateKMeans(2, bounds=(0, 1), accountant=budget).fit(X)
    assert not budget.entries


COUNT = 7919


def ragged(n):
    return [[0.25, 0.5]] * (n - 1) + [[0.25]]


ODD = {
    "ragged list": ragged,
    "ragged tuples": lambda n: [tuple(row) for row in ragged(n)],
    "ragged arrays": lambda n: [np.array(row) for row in ragged(n)],
    "ragged deque": lambda n: deque(ragged(n)),
    "a word among rows": lambda n: [[0.25, 0.5]] * (n - 1) + ["row"],
    "a number among rows": lambda n: [[0.25, 0.5]] * (n - 1) + [0.5],
    "nothing among rows": lambda n: [[0.25, 0.5]] * (n - 1) + [None],
    "ragged chunk": lambda n: [ragged(n)],
    "second chunk ragged": lambda n: [np.ones((n, 2)), ragged(n)],
    "delayed": lambda n: [dask.delayed(ragged(n))],
    "no columns": lambda n: np.empty((n, 0)),
    "lists without columns": lambda n: [[]] * n,
    "frame without columns": lambda n: pd.DataFrame(index=range(n)),
    "three dimensions": lambda n: np.ones((n, 2, 2)),
    "one dimension": lambda n: np.ones(n),
    "lists in cells": lambda n: pd.DataFrame({"x": [[1, 2]] * n}),
    "lists of Arrow": lambda n: pyarrow.table({"x": [[1, 2]] * n}),
    "words": lambda n: np.full((n, 2), "x"),
    "dates": lambda n: np.zeros((n, 2), "M8[s]"),
    "fields": lambda n: np.zeros(n, dtype=[("x", float)]),
    "a set": lambda n: set(range(n)),
    "a range": range,
    "bytes": bytes,
}


@pytest.mark.parametrize("estimator", [MEASURE, PrivateKMeans(2, bounds=(0, 1)), TABLE])
@every("kind", ODD)
def test_no_error_tells_how_many_rows_there_are(kind, estimator):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = [outcome(estimator, X=ODD[kind](n)) for n in (COUNT, COUNT + 2)]
    assert found[0] == found[1], found
    assert str(COUNT) not in f"{found} {[str(each.message) for each in warned]}"


@every("beside", ["groups", "sample_weight"])
@every("odd", [[[1, 2]], [1, 2], ["a", "b", [1]]])
def test_ragged_values_beside_rows(beside, odd):
    found = []
    for n in (COUNT, COUNT + 2):
        values = [1] * (n - len(odd)) + odd
        found.append(outcome(MEASURE, X=np.ones((n, 2)), **{beside: values}))
    assert found[0] == found[1] and str(COUNT) not in str(found)


class Odd:
    """An array of another library, whose own words quote rows."""

    shape = (COUNT, 2)

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError(f"{COUNT} rows, the first is 0.4242")


def test_words_of_other_libraries_are_not_passed_on():
    found = str(outcome(MEASURE, X=Odd()))
    assert str(COUNT) not in found and "4242" not in found and "RuntimeError" in found
