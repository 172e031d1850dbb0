"""Rows from anything with the Arrow C stream interface, or that makes such streams, in batches.

What a column holds is told by the schema of the stream, before a row is read and whatever the rows
are. Values pass one by one, so it does not matter how they are cut into batches or encoded.
"""

import re
from contextlib import closing, nullcontext

from ..._optional import import_optional
from ..._values import unquoted
from .chunks import ChunkSource
from .grouping import declared

_BATCH_VALUES = 1 << 20  # of all columns: small ones cost calls, large ones memory
_BATCH_ROWS = 1 << 17
_LEAST_ROWS = 1 << 10
# In the text of a query alone: plans depend on what tables hold, so refusals by them would tell.
_QUOTED = re.compile(
    r"\be'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""
    r"|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*.*?\*/",
    re.DOTALL | re.IGNORECASE,
)
_CHANGING = re.compile(
    r"\b(random|uuid|uuidv4|uuidv7|gen_random_uuid|nextval)\s*\(|\b(using\s+sample|tablesample)\b",
    re.IGNORECASE,
)
_OF_DATASETS = {"batch_readahead": 2, "fragment_readahead": 1, "use_threads": False}


class ArrowSource(ChunkSource):
    """Rows that come as batches of Arrow: from an engine, a dataset, or a reader.

    What can make a new stream is read anew for every step of a fit.
    """

    @staticmethod
    def takes(X):
        """Whether `X` makes Arrow streams; frames and tables in memory are left to arrays."""
        kind = type(X)  # an engine may find columns among the attributes of what it returns
        home = kind.__module__.split(".")[0]
        if home == "pyspark" or hasattr(kind, "iloc"):  # Spark's would bring all to the driver
            return False
        if _is_lazy(X) or _is_dataset(X) or _is_connection(X):
            return True
        if home in ("polars", "pyarrow") and not hasattr(kind, "__next__"):
            return False
        if hasattr(kind, "__array__") and hasattr(kind, "ndim") and not hasattr(kind, "columns"):
            return False  # of xarray, whose streams have a row for every entry of an array
        return hasattr(kind, "__arrow_c_stream__")

    @staticmethod
    def columns(X, **beside):
        """Return the batches of rows, with the columns that `beside` names taken out."""
        for part, values in beside.items():
            if values is not None and getattr(declared(values), "ids", None) is None:
                raise ValueError(
                    f"{part} must be the name of a column of X, which is read as a stream, got "
                    f"{type(values).__name__}. Values of one's own stand beside rows in memory "
                    "only, such as pyarrow.table(X)."
                )
        return ChunkSource.columns(batches_of(X), **beside)

    def __init__(self, X, *arguments, **named):
        super().__init__(batches_of(X) if ArrowSource.takes(X) else X, *arguments, **named)


def _is_lazy(X):
    return type(X).__name__ == "LazyFrame" and hasattr(type(X), "collect_schema")


def _is_dataset(X):
    kind = type(X)
    home = kind.__module__.split(".")[0]
    return home == "pyarrow" and (hasattr(kind, "scanner") or hasattr(kind, "projected_schema"))


def _is_relation(X):
    return type(X).__module__.split(".")[0] in ("duckdb", "_duckdb")


def _is_connection(X):
    return type(X).__name__ == "DuckDBPyConnection"


def _refuse_changing(query):
    """Raise where a query of DuckDB says by itself that it finds others whenever it is read."""
    found = _CHANGING.search(_QUOTED.sub(" ", getattr(query, "sql_query", str)()))
    if found:
        raise ValueError(
            f"The query of X has {found[0].rstrip('( ').lower()!r}, so its rows are others "
            "whenever it is read, and a fit needs the same at every reading. Write them to a table "
            "first, as in database.sql('create table picked as ...')."
        )


def batches_of(X):
    """Return an iterable of Arrow tables: an iterator where `X` can be read once only."""
    kind = type(X)
    if _is_connection(X):
        raise TypeError(
            "X is a connection of DuckDB, which is what execute returns. Pass a query of it, such "
            "as database.sql('select lon, lat from visits'), or a table, database.table('visits')."
        )
    if _is_lazy(X):
        return batches_of(X.to_native()) if hasattr(kind, "to_native") else _of_lazy_frame(X)
    if _is_dataset(X):
        if hasattr(kind, "scanner"):
            return Batches(X.schema, lambda rows: _dataset_reader(X, rows))
        return Batches(X.projected_schema, lambda rows: X.to_reader())
    if hasattr(kind, "__next__") or hasattr(kind, "get_next"):
        reader = _stream(X)
        return iter(Batches(reader.schema, lambda rows: reader))
    if _is_relation(X):  # of which older versions give one result each
        _refuse_changing(X)
        return Batches(_schema_of(X.limit(0)), lambda rows: _stream(X.project("*")))
    return Batches(_schema_of(X), lambda rows: _stream(X))


def _of_lazy_frame(X):
    if not hasattr(X, "collect_batches"):
        raise ValueError(
            "A LazyFrame is read in batches by polars 1.34 or later. Give rows in memory instead, "
            "X.collect(), or a function that returns an iterator of frames."
        )
    schema = unquoted(lambda: X.clear().collect().to_arrow().schema)
    return Batches(schema, lambda rows: X.collect_batches(chunk_size=rows))


def _dataset_reader(X, rows):
    return X.scanner(batch_size=rows, **_OF_DATASETS).to_reader()


def _stream(X):
    arrow = import_optional("pyarrow", "arrow", "rows as an Arrow stream")
    return unquoted(arrow.RecordBatchReader.from_stream, X)


def _schema_of(X):
    """Return the schema of streams of `X`, of which no row is read."""
    if hasattr(type(X), "__arrow_c_schema__"):
        return import_optional("pyarrow", "arrow", "rows as an Arrow stream").schema(X)
    with closing(_stream(X)) as reader:
        return reader.schema


class Batches:
    """Tables of Arrow, from a new stream whenever they are iterated.

    Parameters
    ----------
    schema : pyarrow.Schema
    read : callable
        Given a number of rows that suits, returns an iterator of batches.

    Attributes
    ----------
    before_rows : pyarrow.Table
        Of no rows.
    """

    def __init__(self, schema, read):
        twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
        if twice:
            raise ValueError(f"X has several columns of one name: {twice}.")
        self.before_rows = schema.empty_table()
        self._read = read
        values = _BATCH_VALUES // max(len(schema), 1)
        self._n_rows = min(max(values, _LEAST_ROWS), _BATCH_ROWS)

    def __iter__(self):
        arrow = import_optional("pyarrow", "arrow", "rows as an Arrow stream")
        stream = unquoted(self._read, self._n_rows)
        with closing(stream) if hasattr(stream, "close") else nullcontext():
            held, n_held = [], 0
            while (batch := unquoted(next, stream, None)) is not None:
                held.append(_as_table(arrow, batch))
                n_held += len(held[-1])
                if n_held >= self._n_rows:
                    yield from self._cut(arrow.concat_tables(held))
                    held, n_held = [], 0
            if n_held:
                yield from self._cut(arrow.concat_tables(held))

    def _cut(self, table):
        for start in range(0, len(table), self._n_rows):
            yield table.slice(start, self._n_rows)


def _as_table(arrow, batch):
    """Return a batch of an engine as a table of Arrow."""
    if isinstance(batch, arrow.RecordBatch):
        return arrow.Table.from_batches([batch])
    return batch.to_arrow()  # polars has frames of its own
