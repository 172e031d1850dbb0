"""Tables on their way to rows: named columns, public recodings, errors that quote no value."""

from collections.abc import Iterable
from functools import update_wrapper

import numpy as np

from ..exceptions import import_optional
from ..values import QUOTES_NO_ROW, column_names, exact_values, no_column, some_columns, unquoted
from .persons import split_chunk

# Columns that are named: labels, weights and ids that stand in one table with the features.

_ONE_WORD = {"bool", "string", "large_string", "string_view"}
_LABELS = ("int", "uint", "float", "double", "halffloat")
_WEIGHTS = (*_LABELS, "decimal")


def names_no_column(part, name):
    """Text: columns cannot be named here."""
    return (
        f"{part}={name!r} names a column, and X has no columns with names. Pass the values and "
        f"leave that column out of X, for example X[:, 1:] and {part}=X[:, 0]."
    )


def taken_out(X, named):
    """Return a table without some of its columns, and these columns.

    Parameters
    ----------
    X : dataframe or Arrow table
    named : dict
        Names of columns, by what they are: ``"y"``, ``"groups"``, ``"sample_weight"``.
    """
    own = column_names(X)
    for part, name in named.items():
        if own is None:
            raise ValueError(names_no_column(part, name))
        if name not in own:
            raise ValueError(no_column(part, name, own))
        if own.count(name) > 1:
            raise ValueError(
                f"{part}={name!r} names several columns of X; it has {own}. Rename all but one of "
                f"them, for example to {name + '_2'!r}."
            )
    features = [name for name in own if name not in named.values()]
    return some_columns(X, features), {p: _values(X, p, name) for p, name in named.items()}


def _values(X, part, name):
    if not hasattr(X, "column_names"):
        return X[name] if hasattr(X, "iloc") else exact_values(X[name])
    column = X.column(name)
    kind = column.type
    if str(kind).startswith("dictionary<"):
        kind = kind.value_type
    word = str(kind).split("(")[0]
    if part == "sample_weight":
        is_right, allowed, cast = word.startswith(_WEIGHTS) or word == "bool", "numbers", "double"
    else:
        numbers = _LABELS[: 5 if part == "y" else 2]
        is_right = word in _ONE_WORD or word.startswith(numbers)
        allowed, cast = "numbers or text" if part == "y" else "integers or text", "string"
    if not is_right and (len(column) or word != "null"):
        raise ValueError(
            f"{part}={name!r} must hold {allowed}, got the Arrow type {kind}. Cast the column, for "
            f"example column.cast({cast!r})."
        )
    return exact_values(column)


def chunk_of(table, named):
    """Return ``(X, y, sample_weight, groups)`` of one chunk, see :func:`taken_out`."""
    if isinstance(table, tuple):
        raise ValueError(
            f"{', '.join(named)} name columns, so chunks must be tables, not tuples, for example "
            "pandas.DataFrame(rows, columns=names)."
        )
    X, beside = taken_out(table, named)
    return X, *(beside.get(part) for part in ("y", "sample_weight", "groups"))


# Tables on their way to numbers: a public function that is given before any value is looked at.


def mapped(chunks, function):
    """Results of a function on chunks, which can be read as often as those given.

    Parameters
    ----------
    chunks : iterator, iterable or function
        Where it has ``before_rows``, a chunk without rows, so has what is returned.
    function : callable
        Takes a chunk, as rows or a tuple.
    """
    if hasattr(chunks, "__next__"):
        return iter(MappedChunks(chunks, function))
    if callable(chunks):
        return MappedFunction(chunks, function)
    return MappedChunks(chunks, function)


class MappedChunks:
    """What a function makes of chunks, iterated anew as often as the chunks themselves."""

    def __init__(self, chunks, function):
        self._chunks, self._function = chunks, function
        before = getattr(chunks, "before_rows", None)
        self.before_rows = None if before is None else function(before)

    def __iter__(self):
        return (self._function(item) for item in quiet_items(iter(self._chunks)))


class MappedFunction:
    """The same for a function that returns chunks."""

    def __init__(self, chunks, function):
        self._chunks, self._function = chunks, function
        self._last = None, None

    def __call__(self):
        """Return the next chunks; the same object where the function returns the same iterator."""
        chunks = self._chunks()
        if not isinstance(chunks, Iterable):
            return chunks
        if chunks is not self._last[0] or not hasattr(chunks, "__next__"):
            self._last = chunks, iter(MappedChunks(chunks, self._function))
        return self._last[1]


def recoded_chunk(item, recode):
    """Return one chunk with its rows recoded; what stands next to them stays as it is."""
    X, *beside = split_chunk(item, 4)
    return (recode(X), *beside[: len(item) - 1]) if isinstance(item, tuple) else recode(X)


def recoded_collection(X, recode):
    """Return a Dask collection, or delayed chunks, whose rows are recoded on the workers."""
    if isinstance(X, (list, tuple)):
        return [delayed(Quiet(recoded_chunk))(chunk, recode) for chunk in X]
    if hasattr(X, "divisions"):
        return X.map_partitions(Quiet(recoded_frame), recode, meta=recoded_frame(X._meta, recode))
    X = X.rechunk({1: -1})
    return X.map_blocks(Quiet(recode), dtype=np.float64, meta=np.empty((0, 0)))


def delayed(value):
    """Return what Dask sends to workers once in a graph: a value, or a function they call."""
    dask = import_optional("dask", "dask", "rows on a cluster")
    return dask.delayed(value, pure=False, traverse=False)


def recoded_frame(frame, recode):
    """Return a pandas frame of numbers, with the same index and the names of its columns."""
    rows = recode(frame)
    return type(frame)(rows, columns=recode.names or column_names(frame), index=frame.index)


# Errors from workers and readers: those of this package quote no value of rows, others may.

_KINDS = (ValueError, TypeError, RuntimeError, ImportError)
_END = object()


class Quiet:
    """A function of this package, for workers; its own errors are known by a mark.

    Parameters
    ----------
    function : callable
    """

    def __init__(self, function):
        update_wrapper(self, function)
        self._function = function

    def __call__(self, *arguments, **options):
        """Call the function; return its result, or raise its error."""
        try:
            return self._function(*arguments, **options)
        except _KINDS as error:
            if type(error) in _KINDS:
                setattr(error, QUOTES_NO_ROW, True)  # travels with it
            raise


def quiet_items(items):
    """Yield what an iterator gives; errors of pandas' readers of files, which quote, are not shown.

    Other iterators, and their errors, are the caller's own. They are left open.
    """
    if type(items).__module__.split(".")[0] != "pandas":
        for item in items:  # and no "yield from", which would close them
            yield item
        return
    while (item := unquoted(next, items, _END)) is not _END:
        yield item


def computed(result):
    """Return the value of a delayed result; errors that may quote rows are not shown."""
    return unquoted(result.compute)
