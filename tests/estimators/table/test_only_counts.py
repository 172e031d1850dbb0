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


class Pandas:
    """Columns as a frame of pandas."""

    table = staticmethod(pandas.DataFrame)

    @staticmethod
    def floats(values):
        return pandas.Series(values, dtype=float)

    @staticmethod
    def nothing(n_rows):
        return [pandas.Series([None] * n_rows, dtype=t) for t in (object, float, "Int64")]

    @staticmethod
    def categories(values, listed):
        return pandas.Categorical(values, categories=listed)


class Polars:
    """Columns as a frame of polars."""

    table = staticmethod(polars.DataFrame)

    @staticmethod
    def floats(values):
        return polars.Series(values, dtype=polars.Float64)

    @staticmethod
    def nothing(n_rows):
        types = (polars.Null, polars.Float64, polars.Int64, polars.String)
        return [polars.Series([None] * n_rows, dtype=t) for t in types]

    @staticmethod
    def categories(values, listed):
        return polars.Series(values, dtype=polars.Enum(listed))


class Arrow:
    """Columns as an Arrow table."""

    table = staticmethod(arrow.table)

    @staticmethod
    def floats(values):
        return arrow.array(values, arrow.float64())

    @staticmethod
    def nothing(n_rows):
        types = (arrow.null(), arrow.float64(), arrow.int64(), arrow.string())
        return [arrow.array([None] * n_rows, t) for t in types]

    @staticmethod
    def categories(values, listed):
        codes = arrow.array([None if v is None else listed.index(v) for v in values])
        return arrow.DictionaryArray.from_arrays(codes, listed)


LIBRARIES = pytest.mark.parametrize("library", [Pandas, Polars, Arrow])


def released(table):
    """Return the releases of a fit as bytes, drawn with one seed."""
    recording = record_fit(PrivateTable(SCHEMA, "member", **SMALL), {"X": table})
    assert recording.error is None, recording.error
    return [values.tobytes() for r in recording.records for values in r.released.values]


@pytest.fixture(scope="module")
def expected():
    """Return the releases of the table as it is."""
    return released(pandas.DataFrame(COLUMNS))


@LIBRARIES
def test_types_lists_of_categories_and_order(library, expected):
    floats = library.floats([float(age) for age in COLUMNS["age"]])
    turned = {name: COLUMNS[name][::-1] for name in reversed(COLUMNS)}
    words = {
        "age": [str(age) for age in COLUMNS["age"]],
        "member": [i % 2 ^ 1 for i in range(N_ROWS)],
    }
    tables = [COLUMNS, COLUMNS | {"age": floats}, turned, COLUMNS | words]
    for listed in (["nurse", "cook"], ["spy", "cook", "nurse"]):
        tables.append(COLUMNS | {"job": library.categories(COLUMNS["job"], listed)})
    for columns in tables:
        assert released(library.table(columns)) == expected


@LIBRARIES
def test_a_value_that_is_not_listed_is_like_any_other(library):
    one, other = (
        library.table(COLUMNS | {"job": ["cook", name] * (N_ROWS // 2)}) for name in ("spy", "king")
    )
    assert released(one) == released(other)


@LIBRARIES
def test_a_column_that_is_all_missing(library):
    found = [released(library.table(COLUMNS | {"age": a})) for a in library.nothing(N_ROWS)]
    assert all(values == found[0] for values in found)


@LIBRARIES
def test_one_missing_value_that_makes_floats_changes_its_row_only(library):
    ages = [None if i == 7 else float(age) for i, age in enumerate(COLUMNS["age"])]
    gone = library.table(COLUMNS | {"age": library.floats(ages)})
    model = PrivateTable(SCHEMA, "member", neighbors="replace_one", **SMALL)
    steps = replay(model, {"X": library.table(COLUMNS)}, {"X": gone}).steps
    d = 3  # columns beside the label: a count of each, and of each pair of them
    for step in steps:
        assert 0 < max(step.l1) <= 2 * d
