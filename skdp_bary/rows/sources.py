"""Rows in memory, in chunks and in Arrow streams."""

import re
import warnings
from collections.abc import Iterable
from contextlib import closing, nullcontext
from functools import partial
from itertools import chain, filterfalse

import numpy as np

from ..exceptions import PrivacyWarning, import_optional
from ..geometry.bounds import in_order
from ..values import (
    array_of,
    as_numbers,
    becomes_a_new_array,
    check_floats,
    column_names,
    refuse_equal_names,
    refuse_other_shapes,
    refuse_sparse,
    unquoted,
)
from .columns import chunk_of, mapped, quiet_items, recoded_chunk, taken_out
from .grouping import SpilledPersons, declared, name_of
from .partitions import PartReader
from .persons import (
    CHUNK_ROWS,
    PERSON_UNITS,
    WEIGHT_UNITS,
    Chunk,
    are_texts,
    encode_labels,
    encode_persons,
    encode_weights,
    have_one_class,
    in_batches,
    same_kind,
    shared_masses,
    some_without,
    split_chunk,
)

# Rows that come in chunks, and what chunks and arrays do alike.

_CHUNK_MESSAGES = {
    "y": "With chunked X, y must be None: give labels inside the chunks, as tuples (X, y).",
    "sample_weight": "With chunked X, sample_weight must be None: give it inside the chunks, as "
    "tuples (X, y, sample_weight).",
    "groups": "With chunked X, groups must be the name of a column, SortedPersons(...) or "
    "SpilledPersons(...): give ids inside the chunks, as tuples (X, y, sample_weight, groups).",
}


_NO_IDS = (
    "groups={}(...) needs person ids: name their column, or give them inside the chunks, as tuples "
    "(X, y, sample_weight, groups)."
)


def refuse_beside_chunks(**given):
    """Raise where labels, IDs or weights stand next to chunks, which carry their own."""
    for name, values in given.items():
        if values is not None:
            raise ValueError(_CHUNK_MESSAGES[name])


def distinct_values(y):
    """Return the different labels in order."""
    return np.unique(array_of(y, "y"))


class LabelsInChunks:
    """Labels that stand inside of chunks ``(X, y, ...)``.

    Parameters
    ----------
    chunks : iterator, iterable or function
    """

    def __init__(self, chunks):
        self._chunks = chunks

    def distinct(self):
        """Return the different labels in order."""
        if hasattr(self._chunks, "__next__"):
            raise ValueError(
                "X can be read once only, so classes must name the labels of y, for example "
                "classes=[0, 1]."
            )
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        return np.unique(np.concatenate([distinct_values(split_chunk(c, 4)[1]) for c in chunks]))


class ChunkSource:
    """Rows that come in chunks, from an iterator or from something that can be read again."""

    n_parts = 1

    @staticmethod
    def takes(X):
        """Whether `X` is an iterator, a function returning one, or a list of 2-d chunks."""
        if isinstance(X, LabelsInChunks):
            return True
        if hasattr(X, "__next__") or (callable(X) and not hasattr(X, "__array__")):
            return True
        if not isinstance(X, (list, tuple)) or not X:
            return False
        first = X[0][0] if isinstance(X[0], tuple) and X[0] else X[0]
        if isinstance(first, (list, tuple)):
            return bool(first) and isinstance(first[0], (list, tuple, np.ndarray))
        return column_names(first) is not None or getattr(first, "ndim", 0) == 2

    @staticmethod
    def columns(X, **beside):
        """Take the columns that `beside` names out of every chunk."""
        rule = declared(beside["groups"])
        names = beside | {"groups": None if rule is None else rule.ids}
        named = {part: name for part, name in names.items() if isinstance(name, str)}
        if not named:
            return X, beside
        X = mapped(X, partial(chunk_of, named=named))
        inside = {"y": LabelsInChunks(X), "groups": rule, "sample_weight": None}
        return X, beside | {part: inside[part] for part in named}

    @staticmethod
    def distinct_labels(y):
        """Return the different labels in order, of an array or inside of chunks."""
        return y.distinct() if isinstance(y, LabelsInChunks) else distinct_values(y)

    @staticmethod
    def recoded(X, recode):
        """Return chunks of numbers, which can be read as often as those given."""
        return mapped(X, partial(recoded_chunk, recode=recode))

    def __init__(self, chunks, y, groups, sample_weight, classes, mass_bounds=None, width=None):
        y = None if isinstance(y, LabelsInChunks) else y
        rule = declared(groups)
        ids = groups if rule is None else None
        refuse_beside_chunks(y=y, groups=ids, sample_weight=sample_weight)
        self._classes = classes
        self._is_spent = False  # read, where that can be done once
        self.reopenable = not hasattr(chunks, "__next__")
        self._chunks = chunks
        self._n_rows = None  # of a whole reading
        self._ids_are_text = None
        first = getattr(chunks, "before_rows", None)
        if first is None:
            first = self._first()
        if first is None:  # a chunk instead of none
            if width is None or not self.reopenable:
                raise ValueError(
                    "X must have a chunk, or its number of columns is unknown. Pass "
                    "np.empty((0, n_features)), or bounds with a low and a high end per "
                    "feature. An iterator is empty once read: pass a list of chunks."
                )
            no_ids = None if rule is None else np.empty(0, dtype=np.int64)
            first = np.empty((0, width)), None, None, no_ids
        X, _, weights, ids = split_chunk(first, 4)
        self._names = column_names(X)
        self.named = None if self._names is None else X[:0]
        self.n_features = check_floats(X).shape[1]
        self.weighted = weights is not None
        self.grouped = ids is not None
        if rule is not None and not self.grouped:
            raise ValueError(_NO_IDS.format(type(rule).__name__))
        rule = (rule or SpilledPersons()) if self.grouped else None
        self._gathering = None if rule is None else rule.gathering()
        self._mass_bounds = in_order(mass_bounds, self._names) if self.grouped else None
        self.rereadable = self.reopenable or isinstance(rule, SpilledPersons)
        kinds = classes, self.weighted, self.grouped, self._mass_bounds, self._names
        self._reader = PartReader(self.n_features, *kinds)

    def _first(self):
        """Return the first chunk, which is put back where there is one reading only."""
        iterator = self._iterate()
        if callable(self._chunks) and self._iterate() is iterator:
            raise ValueError(
                "X must return a new iterator every time it is called, for example "
                "X=lambda: read_chunks(path)."
            )
        first = next(quiet_items(iterator), None)
        if first is not None and not self.reopenable:
            self._chunks = chain([first], iterator)
        if self.reopenable and hasattr(iterator, "close"):
            iterator.close()  # some engines give one result at a time
        return first

    def count_persons(self):
        """Number of people, which are rows where chunks carry no IDs."""
        if not self.rereadable:
            raise ValueError(
                "An iterator of chunks can be read once: pass the public number of rows, for "
                "example n_hint=1000."
            )
        if self.grouped:
            return sum(int(piece[2].max()) + 1 for piece in self._gathering.pieces(self._checked))
        return sum(len(split_chunk(item, 4)[0]) for item in self._iterate())

    @property
    def persons_have_one_class(self):
        """Whether no person has rows in two classes; to be asked only where labels are public."""
        if self._classes is None or not self.grouped:
            return True
        if not self.rereadable:
            raise ValueError(
                "X can be read once only, and labels would have to be read before. Pass chunks "
                "that can be read again, for example list(X)."
            )
        pieces = self._gathering.pieces(self._checked)
        return all(have_one_class(codes, persons) for _, codes, persons, _ in pieces)

    def read(self, part):
        """Yield every chunk, checked."""
        if self.grouped:
            yield from self._gathering.chunks(self._checked, self._mass_bounds)
            return
        for X, codes, weights, _ in self._checked():
            yield Chunk(X, codes, weights, units=WEIGHT_UNITS)

    def close(self):
        """Give back what the fit has put on disk."""
        if self.grouped:
            self._gathering.close()

    def _checked(self):
        """Yield rows, codes, integer weights and IDs of every chunk."""
        if self._is_spent and not self.reopenable:
            raise ValueError(
                "This fit reads the rows more than once, but an iterator of chunks is empty "
                "after one pass. Pass a list of chunks or a function that returns a new "
                "iterator, for example fit(lambda: read_chunks(path))."
            )
        self._is_spent = True
        n_rows = 0
        items = self._iterate()
        with closing(items) if hasattr(items, "close") else nullcontext():
            for item in quiet_items(items):
                X, y, weights, ids = split_chunk(item, 4)
                if (ids is not None) != self.grouped:
                    raise ValueError(some_without("groups"))
                rows, *beside, ids = self._reader.checked("A chunk", X, y, weights, ids)
                # copies, as a source may write its next chunk into the same memory
                rows = rows if becomes_a_new_array(X) else np.array(rows)
                if ids is not None:
                    ids = np.array(ids)
                    self._ids_are_text = same_kind([self._ids_are_text, are_texts(ids)])
                n_rows += len(rows)
                yield rows, *beside, ids
        if self._n_rows not in (None, n_rows):
            raise ValueError(
                "X must return the same rows on every read, got another number of rows. Write "
                "them to a file first, for example frame.to_parquet('rows.parquet')."
            )
        self._n_rows = n_rows

    def _iterate(self):
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        if not isinstance(chunks, Iterable):
            raise TypeError(
                "X is a function, which must return an iterator of chunks of rows, but returned "
                f"{type(chunks).__name__}. For example X=lambda: iter([rows])."
            )
        return iter(chunks)


# Rows in memory: arrays, sparse arrays, dataframes and lists.


class ArraySource:
    """Rows held in memory as one array or dataframe, read slice by slice."""

    rereadable = True

    @staticmethod
    def takes(X):
        """Whether `X` is rows in memory: what no other source takes is read as such."""
        return True

    @staticmethod
    def columns(X, **beside):
        """Take the columns that `beside` names out of the rows, which are a dataframe or table."""
        if beside["groups"] is not None:
            beside |= {"groups": name_of(beside["groups"])}
        named = {part: name for part, name in beside.items() if isinstance(name, str)}
        if not named:
            return X, beside
        X, columns = taken_out(X, named)
        return X, beside | columns

    distinct_labels = staticmethod(distinct_values)

    @staticmethod
    def recoded(X, recode):
        """Return the rows as numbers."""
        return recode(X)

    def __init__(self, X, y, groups, sample_weight, classes, mass_bounds=None):
        self.named = X[:0] if hasattr(X, "columns") else None
        if hasattr(X, "iloc"):
            refuse_other_shapes(X)
            _warn_of_other_order(X, y=y, groups=groups, sample_weight=sample_weight)
        else:
            refuse_sparse(X)
            X = as_numbers(X)
            refuse_other_shapes(X)
        self._X = X
        self._views, self._memos = {}, {}
        self._n_rows, self.n_features = X.shape
        self.weighted = sample_weight is not None
        self.grouped = groups is not None
        self._n_persons = self._n_kept = self._n_rows
        self._persons = self._kept = self._starts = None
        self._codes = None if classes is None else encode_labels(y, classes, self._n_rows)
        self._masses = encode_weights(sample_weight, self._n_rows) if self.weighted else None
        if self.grouped:
            persons = encode_persons(groups, self._n_rows)
            self._n_persons = self._n_kept = int(persons.max(initial=-1)) + 1
            self._persons = persons
            within = in_order(mass_bounds, column_names(self.named))
            self._starts, self._masses = shared_masses(
                check_floats(X), self._codes, persons, self._masses, within
            )

    def count_persons(self):
        """Number of people that are read."""
        return self._n_kept

    def keep_persons(self, draw):
        """From now on read the rows of some people only.

        Parameters
        ----------
        draw : callable
            Returns which people to keep, from the class of each (zeros without classes).
        """
        strata = np.zeros(self._n_persons, dtype=np.int64)
        if self._codes is not None:
            strata[slice(None) if self._persons is None else self._persons] = self._codes
        kept = draw(strata)
        self._n_kept = int(kept.sum())
        self._kept = kept if self._persons is None else kept[self._persons]
        self._views, self._memos = {}, {}

    @property
    def persons_have_one_class(self):
        """Whether no person has rows in two classes; to be asked only where labels are public."""
        if self._codes is None or self._persons is None:
            return True
        return have_one_class(self._codes, self._persons)

    @property
    def n_parts(self):
        """Number of parts that can be read independently."""
        return max(-(-self._n_rows // CHUNK_ROWS), 1)

    def read(self, part):
        """Yield the chunks of one part; one that is a view of the rows is checked once and kept."""
        if part in self._views:
            yield self._views[part]
            return
        # slices of an array are views: checked once, they are kept for the next question
        rows = slice(part * CHUNK_ROWS, (part + 1) * CHUNK_ROWS)
        view = self._X.iloc[rows] if hasattr(self._X, "iloc") else self._X[rows]
        X = check_floats(view)
        columns = [v if v is None else v[rows] for v in (self._codes, self._masses, self._starts)]
        is_view = isinstance(view, np.ndarray) and np.may_share_memory(X, view)
        if self._kept is not None:
            kept, is_view = self._kept[rows], False
            X, columns = X[kept], [v if v is None else v[kept] for v in columns]
        codes, masses, starts = columns
        units = PERSON_UNITS if self.grouped else WEIGHT_UNITS
        chunk = Chunk(X, codes, masses, self._memos.setdefault(part, {}), starts, units)
        if is_view:
            self._views[part] = chunk
        yield chunk


def _warn_of_other_order(X, **beside):
    """Warn where values have the index of the rows in another order: they stand next to others."""
    for name, values in beside.items():
        index = values.index if hasattr(values, "iloc") else X.index
        if len(index) != len(X.index) or index.equals(X.index) or not index.isin(X.index).all():
            continue
        warnings.warn(
            f"The index of {name} is that of X in another order. Values are matched by position, "
            f"as everywhere in scikit-learn. If the index is right, pass {name}.loc[X.index].",
            PrivacyWarning,
            stacklevel=5,
        )


# Rows from anything with the Arrow C stream interface, or that makes such streams, in batches.

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
# Lines of text have no types: engines find some, and one line changes those of all others.
_TEXT_FILES = re.compile(
    r"\b(csv|json|ndjson)\s+scan\b|\bread_(csv|json|ndjson|xlsx)", re.IGNORECASE
)
_TO_TEXT = re.compile(r"cast\((String|Categorical|Enum)|str\.format\(")  # in a plan of polars
_DECLARED = {
    "polars": "scan_csv(path, schema_overrides={%r: polars.String})",
    "pyarrow": "dataset(path, format='csv', schema=...) with %r as pyarrow.string()",
    "duckdb": "database.sql(\"from read_csv('rows.csv', types={%r: 'varchar'})\")",
}
_TEXTS = "string", "large_string", "dictionary<values=string", "dictionary<values=large_string"
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_READ_AS_NUMBERS = "number", "integer", "boolean"
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
                    f"{type(values).__name__}. Arrays are accepted only with rows in memory, "
                    "such as pyarrow.table(X)."
                )
        return ChunkSource.columns(batches_of(X), **beside)

    def __init__(self, X, *arguments, **named):
        super().__init__(batches_of(X) if ArrowSource.takes(X) else X, *arguments, **named)


def refuse_types_of_rows(X, groups, schema, beside):
    """Raise where types that other lines or files decide change how IDs or values are read.

    Numbers are the same by any type of a file of text, or an error.

    Parameters
    ----------
    X : object
        As given to a fit.
    groups : str, SortedPersons, SpilledPersons or None
    schema : Schema or None
    beside : set of str
        Names of columns that are no features.
    """
    ids = getattr(declared(groups), "ids", None)
    if ids is None and schema is None:
        return
    engine, casts = _reads_text(X)
    if engine is None and not _is_dataset(X):
        return
    types = {field.name: str(field.type) for field in batches_of(X).before_rows.schema}
    wanted = [ids]
    if schema is not None:
        names = schema.names or [name for name in types if name not in {*beside, ids}]
        kinds = zip(names, schema.kinds(len(names)), strict=False)
        wanted += [name for name, kind in kinds if kind.word not in _READ_AS_NUMBERS]
    wanted = [name for name in wanted if name in types]
    if not wanted:
        return
    if _is_dataset(X):
        _refuse_other_files(X, wanted)
    for name in wanted if engine else ():
        if casts or not types[name].startswith(_TEXTS):
            raise ValueError(
                f"Column {name!r} must be declared as text where its file is read, got types that "
                f"other lines decide. For example {_DECLARED[engine] % name}."
            )


def _refuse_other_files(X, names):
    """Raise where the files of a dataset have types from which IDs or values are converted."""
    if not hasattr(X, "get_fragments"):
        raise TypeError(
            f"X must be the dataset itself, as {names[0]!r} may have another type in some file, "
            "got a Scanner, which does not say. Pass what scanner() was called on."
        )
    for fragment in filterfalse(_has_text_files, X.get_fragments()):
        own = fragment.physical_schema
        for name in names:
            whole = X.schema.field(name).type
            there = own.field(name).type if name in own.names else whole
            if _family(there) not in ("null", _family(whole)):  # nothing, or an error
                raise ValueError(
                    f"Column {name!r} must have one type in all files, got {there} next to {whole}."
                    " Write it anew, for example column.cast('string')."
                )


def _family(kind):
    """Return what values of a type of Arrow are, however they are kept."""
    word = str(kind)
    return "text" if word.startswith(_TEXTS) else "integers" if word in _INTEGERS else word


def _reads_text(X):
    """Return the engine that reads files of text, or None, and whether it makes text of types."""
    if _is_lazy(X):
        lazy = X.to_native() if hasattr(type(X), "to_native") else X
        plan = unquoted(partial(lazy.explain, optimized=False))
        is_text = _TEXT_FILES.search(plan) and type(lazy).__module__.startswith("polars")
        return ("polars", bool(_TO_TEXT.search(plan))) if is_text else (None, False)
    if _is_dataset(X):
        return ("pyarrow" if _has_text_files(X) else None), False
    if _is_of_duckdb(X) and hasattr(X, "explain"):
        return ("duckdb" if _TEXT_FILES.search(unquoted(X.explain)) else None), False
    return None, False


def _has_text_files(X):
    form = type(getattr(X, "format", None)).__name__
    is_text = form in ("CsvFileFormat", "JsonFileFormat")
    return is_text or any(map(_has_text_files, getattr(X, "children", ())))


def _is_of_duckdb(X):
    return type(X).__module__.split(".")[0] in ("duckdb", "_duckdb")


def _is_lazy(X):
    return type(X).__name__ == "LazyFrame" and hasattr(type(X), "collect_schema")


def _is_dataset(X):
    kind = type(X)
    home = kind.__module__.split(".")[0]
    return home == "pyarrow" and (hasattr(kind, "scanner") or hasattr(kind, "projected_schema"))


def _is_connection(X):
    return type(X).__name__ == "DuckDBPyConnection"


def batches_of(X):
    """Return an iterable of Arrow tables: an iterator where `X` can be read once only."""
    kind = type(X)
    if _is_connection(X):
        raise TypeError(
            "X is a connection of DuckDB, which is what execute returns. Pass a query of it, such "
            "as database.sql('select lon, lat from visits'), or a table, database.table('visits')."
        )
    if _is_lazy(X):
        if hasattr(kind, "to_native"):
            return batches_of(X.to_native())
        if not hasattr(X, "collect_batches"):
            raise ValueError(
                "A LazyFrame is read in batches by polars 1.34 or later. Give rows in memory "
                "instead, X.collect(), or a function that returns an iterator of frames."
            )
        schema = unquoted(lambda: X.clear().collect().to_arrow().schema)
        return Batches(schema, lambda rows: X.collect_batches(chunk_size=rows))
    if _is_dataset(X):
        if not hasattr(kind, "scanner"):
            return Batches(X.projected_schema, lambda rows: X.to_reader())
        scan = partial(X.scanner, **_OF_DATASETS)
        return Batches(X.schema, lambda rows: scan(batch_size=rows).to_reader())
    if hasattr(kind, "__next__") or hasattr(kind, "get_next"):
        reader = _stream(X)
        return iter(Batches(reader.schema, lambda rows: reader))
    if _is_of_duckdb(X):  # of older ones: one result each
        found = _CHANGING.search(_QUOTED.sub(" ", getattr(X, "sql_query", str)()))
        if found:
            raise ValueError(
                f"The query of X has {found[0].rstrip('( ').lower()!r}, so its rows differ on "
                "every read, and a fit needs the same ones. Write them to a table first, as in "
                "database.sql('create table picked as ...')."
            )
        return Batches(_schema_of(X.limit(0)), lambda rows: _stream(X.project("*")))
    return Batches(_schema_of(X), lambda rows: _stream(X))


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
        refuse_equal_names(schema.names, "X")
        self.before_rows = schema.empty_table()
        self._read = read
        values = _BATCH_VALUES // max(len(schema), 1)
        self._n_rows = min(max(values, _LEAST_ROWS), _BATCH_ROWS)

    def __iter__(self):
        arrow = import_optional("pyarrow", "arrow", "rows as an Arrow stream")
        stream = unquoted(self._read, self._n_rows)
        with closing(stream) if hasattr(stream, "close") else nullcontext():
            for held in in_batches(_tables(stream), self._n_rows):
                table = arrow.concat_tables(held)
                for start in range(0, len(table), self._n_rows):
                    yield table.slice(start, self._n_rows)


def _tables(stream):
    """Yield the batches of a stream as tables; those of polars are frames of its own."""
    arrow = import_optional("pyarrow", "arrow", "rows as an Arrow stream")
    while (batch := unquoted(next, stream, None)) is not None:
        is_arrow = isinstance(batch, arrow.RecordBatch)
        yield arrow.Table.from_batches([batch]) if is_arrow else batch.to_arrow()
