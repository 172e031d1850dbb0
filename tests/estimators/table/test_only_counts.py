"""No type, list of categories, missing value or order of a table reaches a release by itself."""

import pytest

from skdp_bary import PrivateTable
from skdp_bary.schema import Boolean, Category, Integer, Number, Schema
from tests.world import record_fit, replay

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
arrow = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
SMALL = {"n_components": 2, "max_iter": 1, "random_state": 0}
AGES = Integer(18, 99, missing=True)
JOBS = Category(["cook", "nurse"], missing=True)
SCHEMA = Schema({"age": AGES, "job": JOBS, "income": Number(0, 1e5), "member": Boolean()})
N_ROWS = 24
COLUMNS = {
    "age": [20 + i for i in range(N_ROWS)],
    "job": ["cook", "nurse", None] * (N_ROWS // 3),
    "income": [1000.0 * i for i in range(N_ROWS)],
    "member": [i % 2 == 0 for i in range(N_ROWS)],
}


def listed_of_arrow(values, listed):
    codes = arrow.array([None if v is None else listed.index(v) for v in values])
    return arrow.DictionaryArray.from_arrays(codes, listed)


# By library: a table, a column of a type, types of columns without values, a list of categories.
LIBRARIES = {
    "pandas": (
        pandas.DataFrame,
        lambda values, dtype: pandas.Series(values, dtype=dtype),
        (float, object, "Int64"),
        lambda values, listed: pandas.Categorical(values, categories=listed),
    ),
    "polars": (
        polars.DataFrame,
        lambda values, dtype: polars.Series(values, dtype=dtype),
        (polars.Float64, polars.Null, polars.Int64, polars.String),
        lambda values, listed: polars.Series(values, dtype=polars.Enum(listed)),
    ),
    "arrow": (
        arrow.table,
        arrow.array,
        (arrow.float64(), arrow.null(), arrow.int64(), arrow.string()),
        listed_of_arrow,
    ),
}
IN_ANY = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)


def released(table):
    """Return the releases of a fit as bytes, drawn with one seed."""
    recording = record_fit(PrivateTable(SCHEMA, "member", **SMALL), {"X": table})
    assert recording.error is None, recording.error
    return [values.tobytes() for r in recording.records for values in r.released.values]


@pytest.fixture(scope="module")
def expected():
    """Return the releases of the table as it is."""
    return released(pandas.DataFrame(COLUMNS))


@IN_ANY
def test_types_lists_of_categories_and_order(library, expected):
    make, column, (floats, *_), categories = library
    turned = {name: COLUMNS[name][::-1] for name in reversed(COLUMNS)}
    ages, members = [str(age) for age in COLUMNS["age"]], [i % 2 ^ 1 for i in range(N_ROWS)]
    changes = [{}, {"age": column([float(age) for age in COLUMNS["age"]], floats)}, turned]
    changes.append({"age": ages, "member": members})
    for listed in (["nurse", "cook"], ["spy", "cook", "nurse"]):
        changes.append({"job": categories(COLUMNS["job"], listed)})
    for change in changes:
        columns = change if change is turned else COLUMNS | change
        assert released(make(columns)) == expected


@IN_ANY
def test_what_is_not_listed_or_missing_is_like_any_other(library):
    make, column, types, _ = library
    one, other = (make(COLUMNS | {"job": ["cook", n] * (N_ROWS // 2)}) for n in ("spy", "king"))
    assert released(one) == released(other)
    nothing = [column([None] * N_ROWS, dtype) for dtype in types]
    found = [released(make(COLUMNS | {"age": ages})) for ages in nothing]
    assert all(values == found[0] for values in found)


@IN_ANY
def test_one_missing_value_that_makes_floats_changes_its_row_only(library):
    make, column, (floats, *_), _ = library
    ages = [None if i == 7 else float(age) for i, age in enumerate(COLUMNS["age"])]
    gone = make(COLUMNS | {"age": column(ages, floats)})
    model = PrivateTable(SCHEMA, "member", neighbors="replace_one", **SMALL)
    d = 3  # columns beside the label: a count of each, and of each pair of them
    for step in replay(model, {"X": make(COLUMNS)}, {"X": gone}).steps:
        assert 0 < max(step.l1) <= 2 * d
