"""Schemas: what is declared, and that every value is read by itself."""

import datetime
import json
import pickle
import re
import zoneinfo
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from skdp_bary import SchemaTransformer
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.schema import Boolean, Category, Date, Integer, Number, Ordinal, Schema, Text
from tests.cases import every

SCHEMA = Schema(
    {
        "age": Integer(0, 120),
        "income": Number(1, 1e6, resolution=0.5, log=True, special=(0, -9.5), missing=True),
        "member": Boolean(missing=True),
        "job": Category(["cook", "12"], missing=True),
        "grade": Category([1, 2]),
        "size": Ordinal(["S", "M", "L"], outside="refuse"),
        "since": Date("2020-01-01", datetime.date(2021, 1, 1), missing=True),
        "note": Text(missing=True),
    }
)


def read(kind, *values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return kind.read(column, "Column 'x'").tolist()


@every(
    "kind, value, expected",
    [
        (Number(0, 9), "3.5", 3.5),
        (Number(0, 9), True, 1.0),
        (Number(0, 9), Decimal("0.1"), 0.1),
        (Number(0, 9), 10**400, 9.0),
        (Number(0, 9), -np.inf, 0.0),
        (Number(-9, 9), -0.0, 0.0),
        (Number(0, 9, missing=True), "", np.nan),
        (Number(0, 9, missing=True), pd.NA, np.nan),
        (Number(0, 9, missing=True), Decimal("sNaN"), np.nan),
        (Integer(0, 9), 2.7, 3.0),
        (Integer(0, 9, special=(99,)), 99.4, 99.0),
        (Integer(0, 9, special=(99,)), 98, 9.0),
        (Number(1, 9, special=(0, 99)), "0", 0.0),
        (Number(1, 9, special=(0, 99)), -1, 1.0),
        (Number(1, 9, special=(0, 99)), 98.9, 9.0),
        (Number(0, 9, special=(99.9,), outside="refuse"), 99.9, 99.9),
        (Boolean(), "No", 0.0),
        (Boolean(), np.True_, 1.0),
        (Boolean(missing=True), None, np.nan),
        (Category(["3", "x"]), 3, "3"),
        (Category(["3", "x"]), 3.0, "3"),
        (Category(["3", "x"]), "3", "3"),
        (Category(["3", "x"]), "y", "other"),
        (Category(["3", "x"]), 3.5, "other"),
        (Category(["3", "x"], missing=True), np.nan, None),
        (Category([3, 4]), "3", 3),
        (Category([3, 4]), 3.0, 3),
        (Category([3, 4]), 5, None),
        (Category([3, 4]), "1e999999999", None),
        (Category([3, 4]), Decimal("1e999999999"), None),
        (Category([0.5]), "0.5", 0.5),
        (Category([True, False]), "true", True),
        (Date("2020-01-01", "2021-01-01"), "2020-01-03T23:59", 2.0),
        (Date("2020-01-01", "2021-01-01"), "2020-01-03T23:59-02:00", 3.0),
        (Date("2020-01-01", "2021-01-01"), datetime.date(1990, 1, 1), 0.0),
        (Date("2020-01-01", "2021-01-01"), "0001-01-01T00:00+05:00", 0.0),
        (Date("2020-01-01", "2021-01-01"), pd.Timestamp("2020-01-03"), 2.0),
        (Date("2020-01-01", "2021-01-01", resolution="hour"), np.datetime64("2020-01-02"), 24.0),
        (Text(), 5, "5"),
        (Text(missing=True), None, ""),
        (Text(), "half \ud83d", "half ?"),
    ],
)
def test_a_value_is_read_as_declared_beside_any_others(kind, value, expected):
    (alone,) = read(kind, value)
    assert repr(alone) == repr(expected)
    kind = type(kind)(**{**vars(kind), "missing": True})
    for other in (None, "1", 0.5, 7):
        if not (isinstance(kind, Date) and other is not None):
            if isinstance(kind, Boolean) and other in (0.5, 7):
                continue
            assert repr(read(kind, value, other)[0]) == repr(expected)


@every(
    "kind, value, message",
    [
        (Number(0, 9), "Mallory", "not numbers"),
        (Number(0, 9), None, "missing"),
        (Number(0, 9), 1j, "not numbers"),
        (Number(0, 9), np.timedelta64(1, "s"), "not numbers"),
        (Number(0, 9), datetime.date(2020, 1, 1), "not numbers"),
        (Number(0, 9, outside="refuse"), 4711, r"outside \[0, 9\]"),
        (Number(1, 9, special=(0,), outside="refuse"), 4711, r"\[1, 9\] and none of \[0\]"),
        (Boolean(), 4711, r"true, yes, 1, false, no, 0 nor empty \(missing"),
        (Category(["a"], outside="refuse"), "Mallory", "not in its schema"),
        (Category(["a"]), None, "missing"),
        (Category(["4711", "02139"]), 4711, "text, as its schema lists '02139'"),
        (Category(["a", "true"]), True, "text, as its schema lists 'true'"),
        (Date("2020-01-01", "2021-01-01"), "Mallory", "not dates"),
        (Date("2020-01-01", "2021-01-01"), 4711, "not dates"),
        (Text(), 1j, "not text"),
    ],
)
def test_errors_name_the_column_and_no_value(kind, value, message):
    with pytest.raises(ValueError, match=f"Column 'x' (has|must hold) .*{message}") as caught:
        read(kind, value)
    assert "Mallory" not in str(caught.value) and "4711" not in str(caught.value)


ROWS = {
    "age": [3, 500],
    "income": [2.5, None],
    "member": [True, None],
    "job": ["12", "spy"],
    "grade": [1, 9],
    "size": ["L", "S"],
    "since": [datetime.date(2020, 2, 1), None],
    "note": ["x", None],
}
READ = [
    [3.0, 120.0], [2.5, np.nan], [1.0, np.nan], ["12", "other"], [1, None], ["L", "S"],
    [31.0, np.nan], ["x", ""],
]  # fmt: skip


@every("table", [
    pd.DataFrame(ROWS), pd.DataFrame(ROWS)[list(ROWS)[::-1]], pd.DataFrame(ROWS).convert_dtypes(),
    pd.DataFrame(ROWS).astype({"job": "category", "grade": "category", "size": "category"}),
    pd.DataFrame(ROWS, dtype=object), pl.DataFrame(ROWS), list(zip(*ROWS.values(), strict=True)),
    np.array(list(zip(*ROWS.values(), strict=True)), dtype=object), pa.table(ROWS),
])  # fmt: skip
def test_any_table_is_read_alike(table):
    assert repr([values.tolist() for values in SCHEMA.read(table)]) == repr(READ)


def test_special_values_are_found_among_rounded_numbers_and_others_are_not():
    values = np.array([0.1, 0.7, 99.9, 5.0], dtype=np.float32)
    kind = Number(0.1, 0.7, outside="refuse", special=(99.9, 5))
    assert kind.read(values, "x").tolist() == [0.1, 0.7, 99.9, 5.0]
    close = float(np.float32(0.1))
    kind = Number(0, 2**25, special=(0.1, close, 16777217, 99999999))
    given = [0.1, close, 16777216.0, 16777217.0, 1e8, 1e-50]
    assert kind.read(np.array(given), "x").tolist() == [*given[:4], 2.0**25, 1e-50]


@every("more", [np.float32(0.5), 0.5, "0.5", Decimal("0.5"), None])
def test_no_row_changes_how_a_number_that_32_bits_rounded_is_read(more):
    kind = Number(0.3, 0.7, outside="refuse", special=(0.1, 16777217, 99.9), missing=True)
    schema, short = Schema({"a": kind}), np.array([0.1, 0.7, 99.9], dtype=np.float32)
    column = pd.concat([pd.Series(short), pd.Series([more])], ignore_index=True)
    wide, objects = column.to_frame("a"), np.array([[*short, more]], dtype=object).T
    alone = [pd.DataFrame({"a": column[place : place + 1]}) for place in range(4)]
    numbers = pl.Series("a", [*short.tolist(), more if more is None else 0.5])
    tables = [wide, objects, numbers.to_frame(), numbers.cast(pl.Float32).to_frame()]
    tables += [pa.table({"a": numbers.to_arrow()}), pa.table({"a": numbers.to_list()})]
    tables.append(pd.DataFrame({"a": column.astype("Float64" if more is None else object)}))
    expected = [0.1, 0.7, 99.9, np.nan if more is None else 0.5]
    for table in tables:
        np.testing.assert_array_equal(schema.read(table)[0], expected)
    np.testing.assert_array_equal([schema.read(row)[0][0] for row in alone], expected)


def test_bounds_hold_special_values():
    assert Number(0, 1, 0.25, special=[0.75, -0.1]).special == (-0.1, 0.75)
    low, high = Schema([Number(1, 9, special=(0, 99)), Integer(0, 5)]).ranges(2)
    assert low.tolist() == [0.0, 0.0] and high.tolist() == [99.0, 5.0]
    rows = SchemaTransformer(Number(1, 9, special=(0, 99))).fit_transform([[0, 98, 99, -3]])
    assert rows.tolist() == [[0.0, 9.0, 99.0, 1.0]]


LONG = 2**53 + 1  # no float


def with_a_missing_one():
    """Return tables of two long integers and a missing one, in which they are still told apart."""
    values = [LONG, LONG - 1, None]
    tables = [pl.DataFrame({"x": values})]
    for dtype in ("Int64", "int64[pyarrow]", pd.CategoricalDtype([LONG - 1, LONG])):
        tables.append(pd.DataFrame({"x": pd.Series(values, dtype=dtype)}))
    return [*tables, pytest.importorskip("pyarrow").table({"x": values})]


@every("place", range(5))
def test_a_missing_value_makes_no_floats_of_long_integers(place):
    schema = Schema({"x": Category([LONG - 1, LONG], missing=True)})
    assert schema.read(with_a_missing_one()[place])[0].tolist() == [LONG, LONG - 1, None]


def test_an_hour_that_is_there_twice_is_read_as_itself_beside_the_other():
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    first = datetime.datetime(2020, 10, 25, 2, 30, tzinfo=zone)
    second = first.replace(fold=1)
    assert first == second  # to Python
    kind = Date("2020-10-25", "2020-10-26", resolution="hour")
    assert read(kind, second) == [1.0]
    assert read(kind, first, second) == [0.0, 1.0]


def test_masked_entries_are_missing():
    X = np.ma.array([[1.0, 2.0]], mask=[[True, False]])
    assert repr(SchemaTransformer(Number(0, 9, missing=True)).fit_transform(X).tolist()) == (
        "[[nan, 2.0]]"
    )
    with pytest.raises(ValueError, match="Column 0 has missing"):
        SchemaTransformer(Number(0, 9)).fit_transform(X)


@every(
    "change, message",
    [
        (lambda f: f.drop(columns="age"), r"missing \['age'\]"),
        (lambda f: f.rename(columns={"age": "extra"}), r"missing \['age'\], not known \['extra'\]"),
        (lambda f: pd.concat([f, f[["age"]]], axis=1), "several columns of one name"),
        (lambda f: f.to_numpy()[:, :3], "X must have 8 columns"),
        (lambda f: np.empty((9, 0)), "at least one column"),
        (lambda f: [1, 2], "two dimensions"),
        (lambda f: [[1], [1, 2]], "the same number of values"),
    ],
)
def test_tables_of_another_form_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        SCHEMA.read(change(pd.DataFrame(ROWS)))


def test_columns_that_a_schema_does_not_name_are_left_out_with_one_line():
    frame = pd.DataFrame(ROWS)
    wide = frame.assign(patient_id=1)[["patient_id", *frame.columns[::-1]]]
    with pytest.warns(PrivacyWarning, match=re.escape("not read: ['patient_id']")) as heard:
        made = SchemaTransformer(SCHEMA).fit_transform(wide)
    assert len(heard) == 1 and "Pass groups='patient_id'" in str(heard[0].message)
    pd.testing.assert_frame_equal(made, SchemaTransformer(SCHEMA).fit_transform(frame))


def test_a_template_names_columns_and_nothing_else(tmp_path):
    frame = pd.DataFrame({"age": [93], "yes": [77]})
    text = Schema.template(frame)
    assert "NOT public" in text and "93" not in text and "77" not in text
    assert all(text.splitlines()) and text == Schema.template(pa.table(frame))
    path = tmp_path / "s.yaml"
    path.write_text(text.replace("kind:\n", "kind: boolean\n"))
    assert Schema.from_yaml(path).names == ("age", "yes")
    with pytest.raises(TypeError, match="columns have names"):
        Schema.template(np.zeros((2, 2)))


def test_types_of_the_result_follow_from_the_schema():
    for rows in (ROWS, {name: values[:1] for name, values in ROWS.items()}):
        frame = SchemaTransformer(SCHEMA).fit_transform(pd.DataFrame(rows))
        kinds = [dtype.kind for dtype in frame.dtypes]
        assert kinds == ["f" if kind.numeric else "O" for kind in SCHEMA.kinds(8)]
        array = SchemaTransformer(SCHEMA).fit_transform(pl.DataFrame(rows))
        assert array.dtype == object and array.flags.c_contiguous
    numbers = SchemaTransformer([Integer(0, 9), Boolean()])
    X = numbers.fit_transform(pd.DataFrame({"a": [1], "b": [True]}))
    assert X.dtype == np.float64 and X.flags.c_contiguous
    framed = clone(numbers.set_output(transform="pandas")).fit_transform([[1, 0]])
    assert list(framed.dtypes) == [np.float64] * 2


def test_sparse_rows_are_read_like_dense_ones():
    entries = ([5.0, 1.0, 2.0, 0.5], ([0, 0, 0, 1], [2, 0, 2, 1]))
    dense = SchemaTransformer(Number(0, 6)).fit_transform(sparse.coo_array(entries, shape=(2, 3)))
    assert dense.tolist() == [[1.0, 0.0, 6.0], [0.0, 0.5, 0.0]]


def test_schemas_are_values():
    assert Schema.from_dict(json.loads(json.dumps(SCHEMA.to_dict()))) == SCHEMA
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
    assert hash(SCHEMA) == hash(Schema(dict(SCHEMA.columns)))
    assert clone(SchemaTransformer(SCHEMA)).schema == Schema(SCHEMA) == SCHEMA
    for other in (Schema(Number(0, 1)), Schema([Number(0, 1), Text()])):
        assert Schema.from_dict(other.to_dict()) == other != SCHEMA
    with pytest.raises(AttributeError):
        SCHEMA.columns = Number(0, 1)
    kind = Number(0, 9)
    vars(kind).pop("special")
    again = pickle.loads(pickle.dumps(kind))
    assert again.special == () and again.range == (0.0, 9.0) and again == Number(0, 9)


def test_schemas_are_read_from_files(tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA.to_dict()))
    assert Schema.from_yaml(path) == SCHEMA
    yaml = pytest.importorskip("yaml")
    path = tmp_path / "schema.yaml"
    path.write_text(yaml.safe_dump(SCHEMA.to_dict(), sort_keys=False))
    assert Schema.from_yaml(path) == SCHEMA


def test_a_schema_describes_itself_and_codes_tell_others_from_missing():
    lines = SCHEMA.describe().splitlines()
    assert lines[0] == "age: integer, low 0, high 120"
    assert lines[1].endswith("resolution 0.5, log, special [-9.5, 0]")
    assert lines[3] == "job: category, missing, values ['cook', '12']"
    assert Schema(Number(0, 1)).describe() == "all columns: number, low 0, high 1"
    assert SCHEMA.levels("job", "grade") == [["cook", "12", "other", None], [1, 2, None]]
    assert SCHEMA.levels()[2] == ["S", "M", "L"]
    assert SCHEMA.ranges(8) is None
    codes = Category([1, 2], missing=True).codes(np.array([2, 1, 7, None], dtype=object), "x")
    assert codes.tolist() == [1, 0, 2, -1]


@every("make, error, message", [
    (lambda: Number(1, 1), ValueError, "low must be below high"),
    (lambda: Number(0, np.inf), ValueError, "moderate size"),
    (lambda: Number("0", 1), TypeError, "low must be a number"),
    (lambda: Number(0, 1, log=True), ValueError, "log=True needs low above 0"),
    (lambda: Number(0, 1, resolution=0), ValueError, "resolution"),
    (lambda: Number(0, 1, outside="other"), ValueError, "outside must be one of"),
    (lambda: Number(0, 1, missing="yes"), TypeError, "missing must be True or False"),
    (lambda: Integer(0, 9, special=999), TypeError, "special must be a list"),
    (lambda: Integer(0, 9, special="999"), TypeError, "special must be a list"),
    (lambda: Integer(0, 9, special=[1.5]), TypeError, "special must hold integers only"),
    (lambda: Integer(0, 9, special=[True]), TypeError, "special must hold integers only"),
    (lambda: Integer(0, 9, special=[2**60]), ValueError, "special must be of moderate size"),
    (lambda: Integer(0, 9, special=[10**400]), ValueError, "special must be of moderate size"),
    (lambda: Integer(0, 9, special=[5, 5]), ValueError, "special must hold different numbers"),
    (lambda: Number(0, 1, 0.25, special=[0.3]), ValueError, "special must hold whole steps"),
    (lambda: Integer(0, 2**60), ValueError, "moderate size"),
    (lambda: Integer(0, 1.5), TypeError, "integers"),
    (lambda: Category("abc"), TypeError, "a list"),
    (lambda: Category([]), TypeError, "one or more, all of one type"),
    (lambda: Category([1, "1"]), TypeError, "one type"),
    (lambda: Category([1, 1]), ValueError, "different"),
    (lambda: Category(["a", "\ud800"]), ValueError, "text that UTF-8 can write"),
    (lambda: Schema({"\udcff": Text()}), ValueError, "text that UTF-8 can write"),
    (lambda: Number(np.timedelta64(1), 2), TypeError, "low must be a number"),
    (lambda: Number(0, 1, resolution=np.timedelta64(1)), ValueError, "resolution"),
    (lambda: Category(["other"]), ValueError, "represents all others"),
    (lambda: Date("May", "June"), ValueError, "must be a date"),
    (lambda: Date("2021-01-01", "2020-01-01"), ValueError, "low must be below"),
    (lambda: Date("2020-01-01", "2021-01-01", resolution="week"), ValueError, "resolution"),
    (lambda: Schema({}), TypeError, "dict of kinds"),
    (lambda: Schema({"a": 1}), TypeError, "dict of kinds"),
    (lambda: Schema({1: Text()}), ValueError, "different strings"),
    (lambda: Schema.from_dict({"rows": 1}), ValueError, "mapping with the key .* got .'rows'"),
    (lambda: Schema.from_dict([1]), ValueError, "mapping with the key .* got list"),
    (lambda: SCHEMA.levels("agee"), ValueError, "no column 'agee'; it has .'age'"),
    (lambda: SCHEMA.levels("age"), ValueError, "'age' is declared as integer: only categories"),
])  # fmt: skip
def test_wrong_declarations_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_words_in_lists_of_values_are_text(tmp_path):
    pytest.importorskip("yaml")
    path = tmp_path / "schema.yaml"
    path.write_text(
        "columns:\n  paid: {kind: category, values: [yes, No, unknown]}\n"
        "  left: {kind: category, values: [on, off], missing: yes}\n"
        "  flag: {kind: category, values: [true, False], outside: refuse}\n"
        "  zip: {kind: category, values: [01234, 10115]}\n"
        "  time: {kind: category, values: [12:30, 13:45]}\n"
        "  code: {kind: category, values: [0, 7, -12]}\n"
    )
    paid, left, flag, place, time, code = Schema.from_yaml(path).kinds(6)
    assert place.values == ("01234", "10115") and time.values == ("12:30", "13:45")
    assert code.values == (0, 7, -12)
    assert paid.values == ("yes", "No", "unknown") and left.values == ("on", "off")
    assert left.missing is True and flag.values == (True, False)
    path.write_text("columns: &a [*a]")  # leads in a circle
    with pytest.raises(ValueError, match="needs a kind"):
        Schema.from_yaml(path)


@every("given, said", [
    ({"kind": None}, "out of the schema"),
    ({"kind": "float"}, "'a' must"),
    ({"kind": "text", "low": 0}, r"'a': a column of kind text has no \['low'\]"),
    ({"kind": "categorical", "values": ["x"]}, "got 'categorical'. It is called category here"),
    ({"kind": ["integer"]}, "must have a kind that is one of"),
    ({"kind": "integer", "low": 0}, "of kind integer needs high"),
    ({"kind": "category"}, "of kind category needs values"),
])  # fmt: skip
def test_what_is_wrong_with_a_kind_is_told(given, said):
    with pytest.raises(ValueError, match=said):
        Schema.from_dict({"columns": {"a": given}})
