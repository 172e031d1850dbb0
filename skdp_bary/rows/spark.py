"""Rows in a Spark frame, read on its executors; only sums of integers come back."""

import re
import warnings
from dataclasses import dataclass, replace

import numpy as np

from ..exceptions import PrivacyWarning, import_optional
from ..geometry.bounds import in_order
from ..values import as_floats, column_names, no_column, refuse_equal_names
from .partitions import PartReader, WorkerSource
from .persons import MISSING_IDS, in_batches

# Rows in a Spark frame, read on its executors; only sums of integers come to the driver.

_TABLE_VALUES = 1 << 20  # of features, at least, before a table is counted
_NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal", "boolean")
_IDS = ("byte", "short", "integer", "long", "string")
_SECONDS = "count seconds, for example unix_timestamp(column)"
_HINTS = {
    "date": "count days from a public day, for example datediff(column, lit('2020-01-01'))",
    "timestamp": _SECONDS,
    "timestamp_ntz": _SECONDS,
}
_LOGGED = (
    "Spark writes its event log (spark.eventLog.enabled): exact numbers of rows, and texts of "
    "errors, stand there and in the history server, which is not private under add_remove. Start "
    "the session with spark.eventLog.enabled=false, or show the log to owners of the rows only."
)


@dataclass(frozen=True, eq=False)
class SparkColumn:
    """A column of a Spark frame, by name."""

    frame: object
    name: str


@dataclass(frozen=True, eq=False)
class SparkTable:
    """A Spark frame and what its columns are: public facts, next to the frame itself.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    features : list of str
    recode : callable or None
        Makes numbers of a table of the features, on the executors.
    """

    frame: object
    features: list
    recode: object = None

    @property
    def columns(self):
        """Names of the features, as frames have them."""
        return self.features

    def kind(self, name):
        """Return the type of a column, in a word of Spark."""
        return self.frame.schema[name].dataType.typeName()

    def column(self, name):
        """Return a column by its exact name, which may hold dots."""
        functions = import_optional("pyspark.sql.functions", "spark", "rows in Spark")
        return functions.col("`" + name.replace("`", "``") + "`")

    def select(self, names, **more):
        """Return the frame of some columns, in order; they are called by their places."""
        columns = [self.column(name).alias(f"c{i}") for i, name in enumerate(names)]
        return self.frame.select(*columns, *(more[name].alias(name) for name in more))


class SparkSource(WorkerSource):
    """Rows of a Spark frame; every partition is counted where it is.

    Without person IDs partitions are counted as they lie. With them rows are grouped by a hash of
    the ID first: that the rows of one group come together is what ``groupBy`` means.
    """

    @staticmethod
    def takes(X):
        """Whether `X` is a Spark frame, or a column of one."""
        home = type(X).__module__.split(".")[0]  # without importing it
        return isinstance(X, (SparkColumn, SparkTable)) or home == "pyspark"

    @staticmethod
    def columns(X, **beside):
        """Tell features from the columns that `beside` names.

        Returns
        -------
        X : SparkTable
        beside : dict
        """
        if not hasattr(type(X), "mapInArrow"):  # a column claims to have all attributes
            raise TypeError(
                f"X must be a pyspark.sql.DataFrame, got {type(X).__module__}.{type(X).__name__}. "
                "A frame of pyspark.pandas has to_spark()."
            )
        if X.isStreaming:
            raise ValueError(
                "X must be a frame that ends, got a streaming one. Write its rows to a table and "
                "pass that, for example spark.table('visits')."
            )
        names = list(X.columns)
        refuse_equal_names(names, "X")
        given = {part: name for part, name in beside.items() if name is not None}
        for part, name in given.items():
            if not isinstance(name, str):
                raise ValueError(
                    f"With X as a Spark frame, {part} must be the name of one of its columns, got "
                    f"{type(name).__name__}. For example {part}={names[0]!r}."
                )
            if name not in names:
                raise ValueError(no_column(part, name, names))
        columns = {part: SparkColumn(X, name) for part, name in given.items()}
        features = [name for name in names if name not in given.values()]
        return SparkTable(X, features), beside | columns

    @staticmethod
    def distinct_labels(y):
        """Return the different labels in order, found on the executors."""
        table = SparkTable(y.frame, [y.name])
        found = computed(table.select(table.features).distinct()).column(0)
        return np.unique(np.asarray(found.to_pylist()))

    @staticmethod
    def recoded(X, recode):
        """Return the table with a function that makes numbers of its rows."""
        return replace(X, recode=recode)

    def __init__(self, X, y, groups, sample_weight, classes, mass_bounds=None):
        table = X if isinstance(X, SparkTable) else self.columns(X)[0]
        self._table = table
        given = (y, sample_weight, groups)
        self._columns = SparkColumns(
            tuple(table.features), *(column is not None for column in given), table.recode
        )
        self._beside = [column.name for column in given if column is not None]
        self.grouped, self.weighted = groups is not None, sample_weight is not None
        _check_types(table, sample_weight, groups)
        self.named = self._columns.no_rows(table.features)
        self.n_features = self.named.shape[1]
        within = in_order(mass_bounds, column_names(self.named)) if self.grouped else None
        self.reader = PartReader(
            self.n_features, classes, self.weighted, self.grouped, within, None
        )
        _warn_of_event_log(table.frame)

    def answers(self, count, merge):
        """Return the answer about all rows, as bytes; None where there is no partition."""
        names = [*self._table.features, *self._beside]
        reader, columns = self.reader, self._columns

        def answer(tables):
            return count(reader, map(columns.part, tables))

        if not self.grouped:
            task = of_partition(lambda batches: answer(_tables(batches, reader.n_features)))
            counted = self._table.select(names).mapInArrow(task, SCHEMA)
        else:
            # equal ids go to one group, of as many as shuffles have
            functions = import_optional("pyspark.sql.functions", "spark", "groups of a Spark frame")
            conf = self._table.frame.sparkSession.conf
            n_groups = functions.lit(int(conf.get("spark.sql.shuffle.partitions")))
            hashed = functions.xxhash64(self._table.column(self._beside[-1]))
            rows = self._table.select(names, bucket=functions.pmod(hashed, n_groups))
            counted = rows.groupBy("bucket").applyInArrow(of_group(answer), SCHEMA)
        return merged(counted, merge)


@dataclass(frozen=True)
class SparkColumns:
    """How executors tell columns apart: by place, features first, then those that are given."""

    features: tuple
    has_labels: bool
    has_weights: bool
    has_ids: bool
    recode: object

    def part(self, table):
        """Return rows, labels, weights, IDs and limits of an Arrow table, see ``PartReader``."""
        place = len(self.features)
        X = table.select(list(range(place)))
        X = as_floats(X) if self.recode is None else self.recode(X.rename_columns(self.features))
        beside = []
        for is_given in (self.has_labels, self.has_weights, self.has_ids):
            beside.append(table.column(place) if is_given else None)
            place += is_given
        y, weights, ids = beside
        if ids is not None:  # equal integers for equal ids of one group of rows
            if ids.null_count:
                raise ValueError(MISSING_IDS)
            if str(ids.type).startswith("dictionary<"):  # which may hold one value twice
                ids = ids.cast(ids.type.value_type)
            ids = ids.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
        return X, y, weights, ids, None

    def no_rows(self, names):
        """Return the frame of no rows, with the columns that rows have once they are numbers."""
        pandas = import_optional("pandas", "spark", "fit on a Spark frame")
        if self.recode is None:
            return pandas.DataFrame(columns=names, dtype=np.float64)
        rows = self.recode(pandas.DataFrame(columns=names))
        return pandas.DataFrame(rows, columns=self.recode.names or names)


def _tables(batches, n_features):
    """Yield Arrow tables of some batches each: what is counted at once is worth its calls."""
    arrow = import_optional("pyarrow", "spark", "rows in Spark")
    least_rows = -(-_TABLE_VALUES // max(n_features, 1))
    yield from map(arrow.Table.from_batches, in_batches(batches, least_rows))


def _check_types(table, weights, groups):
    """Refuse columns that hold no numbers, and IDs that are not compared exactly."""
    if groups is not None and table.kind(groups.name) not in _IDS:
        raise ValueError(
            f"groups must name a column of integers or strings, and {groups.name!r} is of type "
            f"{table.kind(groups.name)}. Cast it, for example column.cast('string')."
        )
    of_rows = [] if table.recode is not None else table.features
    for name in [*of_rows, *([weights.name] if weights else [])]:
        kind = table.kind(name)
        if kind not in _NUMBERS:
            raise ValueError(
                f"The column {name!r} of X must hold real numbers, and its type is {kind}: "
                f"{_HINTS.get(kind, f'leave it out, X.drop({name!r}), or pass y={name!r}')}."
            )


def _warn_of_event_log(frame):
    if str(frame.sparkSession.conf.get("spark.eventLog.enabled", "false")).lower() == "true":
        warnings.warn(_LOGGED, PrivacyWarning, stacklevel=5)


# Answers of partitions on their way through Spark: a tree adds them up, and each counts once.

SCHEMA = "number long, answer binary"
FAN_IN = 16  # answers that are added up by one task
LEVELS = 2  # of such tasks; four thousand answers of a million partitions are left for the last
_KINDS = {kind.__name__: kind for kind in (ValueError, TypeError, RuntimeError)}
_MARK = "skdp_bary says: "  # of errors that quote no value
_OURS = re.compile(f"^({'|'.join(_KINDS)}): {_MARK}(.*)$", re.MULTILINE)


def of_partition(answer):
    """Function for ``mapInArrow``: ``answer(batches)``, bytes, of every partition."""

    def task(batches):
        from pyspark import TaskContext

        yield from _arrow(TaskContext.get().partitionId(), _marked(answer, batches)).to_batches()

    return task


def of_group(answer):
    """Function for ``applyInArrow``: ``answer([table])``, bytes, of every group."""

    def task(key, table):
        return _arrow(key[0].as_py(), _marked(answer, [table]))

    return task


def merged(answers, merge):
    """Return the sum of all answers, as bytes; None where there is no partition.

    Parameters
    ----------
    answers : pyspark.sql.DataFrame
        Of numbers and answers.
    merge : callable
        Returns the sum of an iterable of answers.
    """
    functions = import_optional("pyspark.sql.functions", "spark", "rows in Spark")

    def added(tables):
        return merge(each_once(tables))

    for _ in range(LEVELS):
        place = functions.shiftright("number", FAN_IN.bit_length() - 1)
        answers = answers.groupBy(place.alias("place")).applyInArrow(of_group(added), SCHEMA)
    answers = answers.repartition(1).mapInArrow(of_partition(added), SCHEMA)
    found = computed(answers).column("answer").to_pylist()
    return found[0] if found else None


def each_once(tables):
    """Yield the answers of tables, or batches, of numbers and answers; no number comes twice."""
    seen = set()
    for table in tables:
        number, answer = (table.column(name).to_pylist() for name in ("number", "answer"))
        for i in sorted(range(len(number)), key=number.__getitem__):
            if number[i] in seen:
                raise RuntimeError(
                    "Spark returned two results of one partition, so its rows would count "
                    "twice. Nothing was released."
                )
            seen.add(number[i])
            yield answer[i]


def _arrow(number, answer):
    arrow = import_optional("pyarrow", "spark", "rows in Spark")
    return arrow.table({"number": [number], "answer": [answer]})


def _marked(answer, tables):
    """Return an answer; errors that the package itself raises on a worker can be told from others.

    Those of engines and of other people's functions quote values of rows.
    """
    try:
        return answer(tables)
    except Exception as error:
        if type(error) not in _KINDS.values():
            raise
        problem = type(error)(f"{_MARK}{error}")
    raise problem


def computed(frame):
    """Return a frame as an Arrow table; what is wrong with rows is raised as it is elsewhere."""
    try:
        return frame.toArrow()
    except Exception as error:
        ours, kind = _OURS.findall(str(error)), type(error).__name__
    if ours:
        found, words = ours[-1]
        raise _KINDS[found](words)
    raise RuntimeError(
        f"Spark raised {kind} when it computed the rows. Its text may quote them and is not "
        "shown. Compute the frame without a fit to see it, X.toArrow(). Nothing was released."
    )
