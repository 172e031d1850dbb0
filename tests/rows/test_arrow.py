"""Arrow streams: read in batches, they are the rows that they are in memory, bit for bit."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skdp_bary import BudgetAccountant, PrivateMeasure
from skdp_bary.schema import Category, Number, Schema
from tests import world
from tests.cases import every
from tests.rows.containers import Capsule, arrow, dataset, parquet, reader
from tests.world import home, read

source_for, distinct_labels = home("open_source").source_for, home("open_source").distinct_labels

COLUMNS = {
    "a": np.array([0.1, -2.5, 3e300, 4.0, 5.5, 6.0]),
    "b": np.array([1, 2**62 + 1, -3, 4, 5, 6]),
    "label": np.array(list("xyxxyz")),
    "weight": np.array([0.5, 1.0, 0.25, 1.0, 0.75, 0.1]),
}
TABLE = arrow.table(COLUMNS)
X = np.column_stack([COLUMNS["a"], COLUMNS["b"].astype(np.float64)])


def read_all(source):
    chunks = read(source)
    parts = (("X", np.float64), ("codes", np.int64), ("masses", np.int64))
    return [np.concatenate([getattr(c, p) for c in chunks]).astype(t) for p, t in parts]


def opened(X, **beside):
    classes = np.array(["x", "y", "z"])
    return world.open_rows(X, **beside, find_classes=lambda y: classes).source


class Made(Capsule):
    """A stream of batches that are made when they are read."""

    def __init__(self, schema, make):
        self.schema, self.make = schema, make

    def __arrow_c_stream__(self, requested_schema=None):
        stream = arrow.RecordBatchReader.from_batches(self.schema, self.make())
        return stream.__arrow_c_stream__(requested_schema)


@every("cut", [1, 2, 4])
@every("n_rows", [1, 3, 6])
def test_batches_are_cut_anew(cut, n_rows):
    batches = world.Batches(TABLE.schema, lambda rows: iter(TABLE.to_batches(max_chunksize=cut)))
    batches._n_rows = n_rows
    tables = list(batches)
    assert max(len(table) for table in tables) <= n_rows
    assert min(len(table) for table in tables[:-1] or tables) > 0
    assert arrow.concat_tables(tables).equals(TABLE)


def table_of(values, kind):
    return arrow.table({"a": arrow.array(values, kind)})


@every("precision", [1, 9, 15, 16, 38])
def test_decimals_are_the_nearest_floats(precision):
    rng = np.random.default_rng(precision)
    scale = int(rng.integers(precision + 1))
    digits = ["".join(map(str, rng.integers(10, size=precision))) for _ in range(60)]
    values = [
        Decimal(f"{sign}{d}").scaleb(-scale) for d, sign in zip(digits, "+-" * 30, strict=True)
    ]
    table = table_of([*values, None, Decimal(0)], arrow.decimal128(precision, scale))
    assert world.as_numbers(table.schema.empty_table()).shape == (0, 1)
    for given in (table.slice(3), arrow.concat_tables([table.slice(3, 20), table.slice(23)])):
        numbers = world.as_numbers(given)[:, 0]
        assert np.isnan(numbers[-2])
        assert np.delete(numbers, -2).tolist() == [float(v) for v in [*values[3:], Decimal(0)]]


def random_table(rng, n):
    coded = arrow.array(rng.integers(3, size=n)).dictionary_encode()
    cents = [Decimal(int(c)).scaleb(-2) for c in rng.integers(-(10**6), 10**6, size=n)]
    columns = {
        "half": rng.normal(size=n).astype(np.float16),
        "single": rng.normal(size=n).astype(np.float32),
        "double": rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, size=n),
        "large": rng.integers(2**63, 2**64, size=n, dtype=np.uint64),
        "small": rng.integers(-128, 128, size=n).astype(np.int8),
        "flag": rng.random(n) < 0.5,
        "coded": coded,
        "cents": arrow.array(cents, arrow.decimal128(12, 2)),
        "money": arrow.array(cents, arrow.decimal128(38, 6)),
        "label": arrow.array(rng.choice(["x", "y", "z"], size=n)).dictionary_encode(),
        "weight": rng.random(n),
    }
    return arrow.table(columns)


@every("seed", range(4))
def test_no_row_moves_another(seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng, 9)
    rows = [table.slice(i, 1) for i in range(9)]
    names = {"y": "label", "sample_weight": "weight"}
    apart = [read_all(opened(Capsule(row), **names)) for row in rows]
    expected = [np.concatenate(parts).tobytes() for parts in zip(*apart, strict=True)]
    streams = Capsule(table), Capsule(table, 2), reader(table)
    for given in (*streams, table, rows, lambda: iter(rows)):
        assert [part.tobytes() for part in read_all(opened(given, **names))] == expected
    other = random_table(rng, 9)  # a stream of the same types, in which other rows come first
    found = read_all(opened(Capsule(arrow.concat_tables([other, table]), 4), **names))
    assert [part[9:].tobytes() for part in found] == expected


def test_an_older_polars_is_told_apart(monkeypatch):
    monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)
    with pytest.raises(ValueError, match="polars 1.34 or later. Give rows in memory"):
        world.open_rows(pl.LazyFrame({"a": [1.0]}))


REFUSED = {
    "string": ["1", "2"],
    "date32": [date(2020, 1, 1)],
    "timestamp[us]": [datetime(2020, 1, 1)],
    "duration[s]": [1],
    "binary": [b"1"],
    "null": [None],
    "list": [[1.0]],
    "struct": [{"inner": 1.0}],
    "dictionary": ["1", "2"],
}


@every("kind", REFUSED)
@every("n_rows", [0, 1])
def test_types_are_judged_before_a_row_is_read(kind, n_rows):
    made = {"list": None, "struct": None, "dictionary": None}
    table = table_of(REFUSED[kind], made.get(kind, kind))
    if kind == "dictionary":
        table = arrow.table({"a": table["a"].dictionary_encode()})

    def unread():
        raise AssertionError("a row was read")
        yield

    stream = Made(table.schema, unread if n_rows else lambda: iter(()))
    for given in (stream, table[:n_rows]):
        with pytest.raises(ValueError, match="'a' of X must hold real numbers, got the Arrow"):
            world.open_rows(given)


def test_what_has_no_names_of_its_own_is_refused():
    for part in ("y", "groups", "sample_weight"):
        with pytest.raises(ValueError, match=f"{part} must be the name of a column of X"):
            world.open_rows(Capsule(TABLE), **{part: np.ones(6)})
    with pytest.raises(ValueError, match="several columns of one name: .'a'."):
        world.open_rows(
            Capsule(arrow.Table.from_arrays([TABLE["a"], TABLE["b"]], names=["a", "a"]))
        )
    with pytest.raises(ValueError, match="chunks must be tables, not tuples"):
        world.open_rows([(X, None)], "label")
    with pytest.raises(TypeError, match=r"such as database\.sql\('select"):
        PrivateMeasure(bounds=(0, 1)).fit(pytest.importorskip("duckdb").connect())


def test_streams_that_change_or_end_are_refused():
    class Growing(Capsule):
        def __arrow_c_stream__(self, requested_schema=None):
            self.table = arrow.concat_tables([self.table, TABLE])
            return super().__arrow_c_stream__(requested_schema)

    source = world.open_rows(Growing(TABLE), "label", sample_weight="weight").source
    list(source.read(0))
    with pytest.raises(ValueError, match="got another number of rows"):
        list(source.read(0))
    with pytest.raises(ValueError, match="X must be readable .*, got an iterator"):
        PrivateMeasure(bounds=(0, 1)).fit(reader(TABLE.select(["a", "b"])))


def test_errors_of_engines_are_not_quoted():
    def broken():
        yield TABLE.to_batches()[0]
        raise RuntimeError("secret value 12345")

    source = world.open_rows(Made(TABLE.schema, broken), "label", sample_weight="weight").source
    with pytest.raises(ValueError, match="its source raised") as caught:
        list(source.read(0))
    assert "12345" not in str(caught.value)
    assert caught.value.__cause__ is None


@every("part", ["y", "groups"])
def test_text_that_is_not_utf8_is_refused_without_quoting_it(part):
    words = arrow.array([b"known", b"Jos\xe9"], arrow.binary())
    words = arrow.Array.from_buffers(arrow.string(), 2, words.buffers())
    table = arrow.table({"x": [0.1, 0.2], "who": words})
    with pytest.raises(ValueError, match="text may quote rows and is not shown") as caught:
        PrivateMeasure(bounds=(0, 1), n_hint=5).fit(table, **{part: "who"})
    assert caught.value.__context__ is None


@every("kind", ["array", "pandas", "with __array__"])
def test_other_chunks_may_be_written_over(kind):
    class Shared:
        shape, ndim = (2, 2), 2

        def __init__(self, rows):
            self._rows = rows

        def __len__(self):
            return 2

        def __array__(self, dtype=None, copy=None):
            return self._rows

    def one_buffer():
        rows = np.empty((2, 2))
        for value in (0.1, 0.2):
            rows[:] = value
            yield make(rows)

    make = {"array": lambda rows: rows, "with __array__": Shared}.get(kind)
    make = make or (lambda rows: pd.DataFrame(rows, columns=["a", "b"], copy=False))
    read = list(world.open_rows(one_buffer).source.read(0))
    assert [float(chunk.X[0, 0]) for chunk in read] == [0.1, 0.2]


@pytest.mark.parametrize(
    "query",
    [
        "select a, Random () as b from t",
        "select a, a as b from t where random() < 0.5",
        "from t using sample 50%",
        "select a, 'it''s' as b, uuid() as c from t",
    ],
)
def test_queries_that_change_are_refused_before_the_charge(query):
    """One was refused after the charge where the number of rows changed, and read where not."""
    database = pytest.importorskip("duckdb").connect()
    database.execute("create table t as select range / 9.0 as a from range(9)")
    budget = BudgetAccountant(1.0)
    measure = PrivateMeasure(bounds=(0, 1), n_hint=9, accountant=budget)
    with pytest.raises(ValueError, match="its rows differ on every read"):
        measure.fit(database.sql(query))
    assert budget.entries == ()
    calm = "select a, a as \"random()\" from t where 'random()' <> 'uuid()' -- using sample"
    quoted = r"select a, a as b from t where 'a' <> $$random()$$ and 'a' <> e'it\'s random()'"
    for query in (calm, quoted):
        model = PrivateMeasure(bounds=(0, 1), n_hint=9)
        assert model.fit(database.sql(query)).n_features_in_ == 2


FILES = {
    "polars": (pl.scan_csv, lambda path: pl.scan_csv(path, infer_schema=False)),
    "casts": (lambda path: pl.scan_csv(path).cast({"zip": pl.String}), None),
    "arrow": (
        lambda path: dataset.dataset(path, format="csv"),
        lambda path: dataset.dataset(path, format="csv", schema=arrow.schema(ZIPS)),
    ),
    "duckdb": (
        lambda path: sql(f"from read_csv('{path}', types={{'zip': 'bigint'}})"),
        lambda path: sql(f"from read_csv('{path}', all_varchar=true)"),
    ),
}
ZIPS = [("zip", arrow.string()), ("x", arrow.float64())]


def sql(query):
    return pytest.importorskip("duckdb").sql(query)


# an older polars reads no batches
OF_POLARS = () if hasattr(pl.LazyFrame, "collect_batches") else ("polars", "casts")


@every("kind", [kind for kind in FILES if kind not in OF_POLARS])
def test_types_that_lines_decide_are_refused(tmp_path, kind):
    """One line of text made text of all ids and categories, and "02139" was no more 2139."""
    infer, declare = FILES[kind]
    path = str(tmp_path / "rows.csv")
    pd.DataFrame({"zip": ["02139", "07140"], "x": [0.1, 0.9]}).to_csv(path, index=False)
    cells = world.TableCells(Schema({"zip": Category(["02139"]), "x": Number(0, 1)}))
    for given in ({"groups": "zip"}, {"recode": cells}):
        with pytest.raises(ValueError, match="'zip' must be declared as text"):
            world.open_rows(infer(path), **given)
        if declare is not None:
            numbers = None if "recode" in given else world.TableCells(Schema({"x": Number(0, 1)}))
            source = world.open_rows(declare(path), **{"recode": numbers} | given).source
            assert source.count_persons() == 2


def test_files_of_other_types_are_refused(tmp_path):
    """The first file decided which ids of all others were one: True, or floats beyond 2**53."""
    for odd in ([True, True], [0.5, 2.0**60], ["1", "2"]):
        for place, who in enumerate(([2**60, 1], odd)):
            table = arrow.table({"x": [0.1, 0.9], "who": arrow.array(who)})
            parquet.write_table(table, tmp_path / f"{place}.parquet")
        both = dataset.dataset(tmp_path)
        with pytest.raises(ValueError, match="'who' must have one type in all files"):
            world.open_rows(both, groups="who")
    parquet.write_table(
        table.set_column(1, "who", arrow.array([3, 4], "int8")), tmp_path / "1.parquet"
    )
    both = dataset.dataset(tmp_path)
    assert world.open_rows(both, groups="who").source.count_persons() == 4
    with pytest.raises(TypeError, match="the dataset itself"):
        world.open_rows(both.scanner(), groups="who")
    assert world.open_rows(both.scanner()).n_features == 2
