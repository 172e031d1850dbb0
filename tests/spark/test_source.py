"""Spark frames: the same integers as in memory, whatever Spark does with its tasks."""

import datetime
import os
from types import SimpleNamespace

import numpy as np
import pytest

from skdp_bary.base import CellTree
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.geometry import Box
from tests.world import (
    LevelCounts,
    SparkColumn,
    collect,
    distinct_labels,
    home,
    keep_batch,
    open_rows,
)

spark_rows = home("SparkColumn")
spark_answers = home("of_group")

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")

N = 403
CLASSES = np.array(["a", "b"])
rng = np.random.default_rng(0)
X = rng.random((N, 2))
Y = CLASSES[rng.integers(2, size=N)]
W = rng.random(N)
WHO = rng.integers(60, size=N)
NAMES = np.array([["", "né", "ne", "x"][i % 4] for i in WHO], dtype=object)
COLUMNS = {"u": X[:, 0], "v": X[:, 1], "label": Y, "weight": W, "who": WHO, "name": NAMES}


def table(rows=slice(None), names=tuple(COLUMNS)):
    return pa.table({name: pa.array(COLUMNS[name][rows]) for name in names})


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(table()).repartition(3).cache()


def integers(X, mass_bounds=None, **beside):
    """Return the integers that are counted, and how many persons there are."""
    rows = open_rows(
        X, **beside, find_classes=lambda y: None if y is None else CLASSES, mass_bounds=mass_bounds
    )
    n_classes = 1 if rows.classes is None else 2
    query = LevelCounts(CellTree(Box([0.0] * 2, [1.0] * 2), 5), n_classes, rows.person_units)
    return [block.tolist() for block in collect(query, rows).exact_blocks()]


class TestTheSameIntegers:
    def test_rows(self, frame):
        assert integers(frame.select("u", "v")) == integers(X)

    def test_labels_weights_and_persons(self, frame):
        named = {"y": "label", "sample_weight": "weight", "groups": "who"}
        bounds = {"mass_bounds": (0.1, 0.9)}
        found = integers(frame.drop("name"), **named, **bounds)
        assert found == integers(X, y=Y, sample_weight=W, groups=WHO, **bounds)

    def test_ids_of_text(self, frame):
        found = integers(frame.select("u", "name", "v"), groups="name")
        assert found == integers(X, groups=NAMES)

    def test_missing_ids_are_refused(self, frame):
        some = frame.selectExpr("u", "v", "nullif(name, 'x') as name")
        with pytest.raises(ValueError, match="got missing ones"):
            integers(some, groups="name")

    def test_more_partitions_than_one_task_adds_up(self, frame):
        many = frame.select("u", "v").repartition(20)
        assert integers(many) == integers(X)

    def test_no_rows(self, frame):
        none = frame.where("u > 2")
        nothing = [np.zeros_like(block).tolist() for block in integers(X)]
        assert integers(none.select("u", "v")) == nothing
        assert integers(none.select("u", "v", "who"), groups="who") == nothing

    def test_other_types_of_numbers(self, frame):
        kinds = ("u", "cast(v as float)", "cast(u as decimal(20, 18))", "if(u > 0.5, true, null)")
        taken = frame.selectExpr(*(f"{kind} as x{i}" for i, kind in enumerate(kinds)))
        columns = spark_rows.SparkColumns(tuple("abcd"), False, False, False, None)
        rows = columns.part(taken.toArrow())[0]
        assert rows.dtype == np.float64 and np.isnan(rows[:, 3]).sum() == (rows[:, 0] <= 0.5).sum()
        np.testing.assert_allclose(rows[:, 1:3], rows[:, [1, 0]], atol=1e-7)

    def test_persons_and_labels_are_counted_by_executors(self, frame):
        of_classes = {"find_classes": lambda y: CLASSES, "y": "label", "groups": "who"}
        rows = open_rows(frame.select("u", "v", "label", "who"), **of_classes)
        assert rows.source.count_persons() == 60
        assert not rows.source.persons_have_one_class
        assert distinct_labels(SparkColumn(frame, "label")).tolist() == ["a", "b"]


def failing(how, folder):
    """Return a function of a user's frame that fails once a partition, after all rows."""

    def rows(batches):
        from pyspark import TaskContext

        yield from batches
        try:
            os.mkdir(f"{folder}/{TaskContext.get().partitionId()}")
        except FileExistsError:
            return
        if how == "exit":
            os._exit(9)
        raise OSError("the disk is full")

    return rows


@pytest.mark.parametrize(("how", "names"), [("raise", "u, v"), ("exit", "u, v, who")])
def test_tasks_that_fail_after_all_rows_count_once(frame, tmp_path, how, names):
    given = frame.selectExpr(*names.split(", ")).coalesce(2)
    broken = given.mapInArrow(failing(how, str(tmp_path)), given.schema)
    groups = {"groups": "who"} if "who" in names else {}
    assert integers(broken, **groups) == integers(X, **({"groups": WHO} if groups else {}))
    assert len(os.listdir(tmp_path)) == 2


class TestOneAnswerOfEachPartition:
    def test_two_are_refused_where_they_are_added_up(self):
        twice = pa.table({"number": [1, 0, 1], "answer": [b"1", b"2", b"3"]})
        with pytest.raises(RuntimeError, match="two results of one partition"):
            list(spark_answers.each_once([twice]))
        once = [twice.slice(0, 2), twice.slice(1, 0)]
        assert list(spark_answers.each_once(once)) == [b"2", b"1"]

    def test_on_executors(self, spark):
        answers = spark.createDataFrame([(1, b"3"), (40, b"4"), (3, b"5")], spark_answers.SCHEMA)
        assert spark_answers.merged(answers, lambda found: b"%d" % sum(map(int, found))) == b"12"
        with pytest.raises(RuntimeError, match="two results of one partition"):
            spark_answers.merged(answers.union(answers), max)

    def test_a_group_is_one_table_and_a_partition_is_some(self):
        """The rows of a person are in one table, however many batches they came in."""
        batches = table(names=("u", "v")).to_batches(max_chunksize=100)
        tables = list(spark_rows._tables(batches, 1 << 12))
        assert [len(found) for found in tables] == [300, 103]
        seen = []
        task = spark_answers.of_group(lambda tables: seen.extend(tables) or b"")
        task((pa.scalar(7),), pa.Table.from_batches(batches))
        assert [len(found) for found in seen] == [N]


class TestRefusedBeforeARowIsRead:
    @pytest.mark.parametrize(
        ("beside", "message"),
        [
            ({"y": Y}, "y must be the name of one of its columns, got ndarray"),
            ({"groups": "nobody"}, "groups='nobody' is not a column of X, which has"),
            ({"groups": "weight"}, "'weight' is of type double"),
            ({}, "The column 'label' of X must hold real numbers, and its type is string"),
        ],
    )
    def test_columns(self, frame, beside, message):
        with pytest.raises(ValueError, match=message):
            integers(frame, **beside)

    def test_dates(self, spark):
        days = spark.createDataFrame(pa.table({"day": [datetime.date(2026, 1, 1)]}))
        with pytest.raises(ValueError, match="type is date: count days from a public day"):
            integers(days)

    def test_names_that_come_twice(self, frame):
        with pytest.raises(ValueError, match="several columns of one name"):
            integers(frame.selectExpr("u", "v", "v"))

    def test_things_that_are_no_frames_with_an_end(self, spark, frame):
        with pytest.raises(
            TypeError, match=r"must be a pyspark.sql.DataFrame, got pyspark.*Column"
        ):
            integers(frame["u"])
        with pytest.raises(ValueError, match="got a streaming one"):
            integers(spark.readStream.format("rate").load())

    def test_batches_of_persons(self, frame):
        rows = open_rows(frame.select("u", "v"))
        with pytest.raises(ValueError, match="not as chunks or rows on a cluster"):
            keep_batch(rows, 0.5, "poisson", None)


def test_the_event_log_is_warned_of():
    """It holds exact numbers of rows."""

    def session(value):
        conf = SimpleNamespace(get=lambda name, default: value)
        return SimpleNamespace(sparkSession=SimpleNamespace(conf=conf))

    spark_rows._warn_of_event_log(session("false"))
    with pytest.warns(PrivacyWarning, match="exact numbers of rows"):
        spark_rows._warn_of_event_log(session("true"))


def test_names_with_dots_and_quotes(spark):
    odd = pa.table({"a.b": X[:, 0], "`c`": X[:, 1], "who is": WHO})
    assert integers(spark.createDataFrame(odd), groups="who is") == integers(X, groups=WHO)
