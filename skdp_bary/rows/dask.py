"""Rows on a cluster: Dask collections, delayed chunks and Parquet files."""

import os
from dataclasses import dataclass, replace
from glob import glob

import numpy as np

from ..exceptions import import_optional
from ..geometry.bounds import in_order
from ..values import array_of, check_floats, column_names, columns_like, no_column
from .columns import Quiet, computed, delayed, names_no_column, recoded_collection
from .grouping import name_of
from .partitions import BESIDE, Limits, ParquetRows, PartReader, WorkerSource, parquet_ends
from .persons import (
    are_texts,
    column,
    divided,
    numbered,
    person_keys,
    plain_ids,
    same_kind,
    split_chunk,
)
from .sources import refuse_beside_chunks

# Rows on a cluster: Dask collections, delayed chunks and Parquet files, read on the workers.

_FAN_IN = 8  # results merged at once by one task


def is_dask(X):
    """Whether `X` is a Dask collection or a list of delayed chunks, without importing Dask."""
    if isinstance(X, (list, tuple)) and X:
        X = X[0]
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr", "distributed")


def _is_frame(X):
    """Whether `X` is a Dask dataframe; a delayed object claims to have all public attributes."""
    return is_dask(X) and hasattr(X, "_meta") and hasattr(X, "columns") and X.ndim == 2


def merge_on_workers(results, merge):
    """Combine delayed results, a few at a time, on the workers; only the last one comes back."""
    while len(results) > 1:
        results = [merge(results[i : i + _FAN_IN]) for i in range(0, len(results), _FAN_IN)]
    return computed(results[0])


class DaskSource(WorkerSource):
    """Rows of a Dask collection or of delayed chunks; every partition is read where it is.

    With person IDs all rows of a person are brought together by a shuffle of Dask, once for every
    reading. IDs that are the index of a dataframe with known divisions stay where they are.
    """

    @staticmethod
    def takes(X):
        """Whether `X` is a Dask collection, a list of delayed chunks, or names Parquet files."""
        return is_dask(X) or isinstance(X, (str, os.PathLike, ParquetRows))

    @staticmethod
    def columns(X, **beside):
        """Open Parquet files, and take the columns that `beside` names out of the rows.

        Returns
        -------
        X : Dask collection, ParquetRows or list of delayed chunks
        beside : dict
        """
        beside |= {"groups": name_of(beside["groups"])}
        named = {part: name for part, name in beside.items() if isinstance(name, str)}
        if not isinstance(X, (str, os.PathLike)):
            return _taken_out(X, named, beside)
        path = os.fspath(X)
        if not (path.endswith((".parquet", "/")) or "*" in path or os.path.isdir(path)):
            raise ValueError(
                "As text, X must name Parquet files: a path ending in .parquet, a folder, or a "
                f"pattern with *; got {path!r}. For example X='visits/*.parquet'."
            )
        if "://" not in path and not os.path.exists(path) and not glob(path):
            raise FileNotFoundError(
                f"X names no Parquet file that exists, got {path!r}. Paths begin in the folder "
                "os.getcwd(), for example X='visits/*.parquet'."
            )
        frames = import_optional("dask.dataframe", "dask", "fit on a Parquet path")
        frame = frames.read_parquet(path)
        files, ends = parquet_ends(path)
        X, columns = _taken_out(frame, named, beside)
        given = {part for part, values in beside.items() if values is not None}
        if given <= named.keys() - {"groups"}:
            X = ParquetRows.of(files, ends, X, named) or X
        return X, columns

    @staticmethod
    def distinct_labels(y):
        """Return the different labels in order, found on the workers."""
        find = _delayed(_distinct)
        return merge_on_workers([find([part]) for part in _blocks(y)], find)

    @staticmethod
    def recoded(X, recode):
        """Return rows that are recoded on the workers."""
        return X.recoded(recode) if isinstance(X, ParquetRows) else recoded_collection(X, recode)

    def __init__(self, X, y, groups, sample_weight, classes, mass_bounds=None):
        if isinstance(X, (list, tuple)):
            refuse_beside_chunks(y=y, sample_weight=sample_weight)
        self.grouped = groups is not None
        unread = isinstance(X, ParquetRows)
        self.named = X._meta if unread or _is_frame(X) else None
        given = {"y": y, "sample_weight": sample_weight, "groups": groups}
        joined, beside = _beside(X, dict.fromkeys(given) if unread else given)
        blocks = _blocks(joined)
        # IDs that are the index, in order, say where people are, unless files were cut otherwise
        together = (
            _is_frame(X)
            and type(groups).__name__ == "Index"
            and groups.known_divisions
            and groups.divisions == X.divisions
            and len(groups.divisions) == len(blocks) + 1
        )
        if isinstance(X, (list, tuple)):
            self.n_features, self.weighted, names = computed(_delayed(_look)(blocks[0]))
        elif len(X.shape) != 2:
            raise ValueError(
                f"X must have two dimensions, got {len(X.shape)}. Pass for example X[:, None] if "
                "it is one feature."
            )
        else:
            self.n_features, self.weighted = int(X.shape[1]), sample_weight is not None
            names = X.names if unread else column_names(X._meta)
        limits = [None] * len(blocks)
        if together:
            ends, last = groups.divisions, len(groups.divisions) - 2
            limits = [Limits(*ends[i : i + 2], last=i == last) for i in range(last + 1)]
        within = in_order(mass_bounds, names) if self.grouped else None
        kinds = self.weighted, self.grouped, within, names
        are_text = _ids_are_text(groups) if self.grouped else None
        self.reader = PartReader(self.n_features, classes, *kinds, are_text)
        columns = (_blocks_like(values, name, blocks) for name, values in beside.items())
        self.parts = list(zip(blocks, *columns, limits, strict=True))
        if self.grouped and not together:
            self.reader, self.parts = gathered(self.reader, self.parts)

    def answers(self, count, merge):
        """Return the answer about all rows, as bytes."""
        answer, add = _delayed(_answer), _delayed(_merged)
        # once in the graph, not once in every task
        count, merge, reader = map(delayed, (count, merge, self.reader))
        answers = [answer(count, reader, *part) for part in self.parts]
        return merge_on_workers(answers, lambda few: add(merge, few))


def _taken_out(X, named, beside):
    """Return rows without the columns that are named, and these columns next to them."""
    if not named:
        return X, beside
    if not _is_frame(X):
        raise ValueError(names_no_column(*next(iter(named.items()))))
    columns = {part: _column(X, part, name) for part, name in named.items()}
    features = [name for name in X.columns if name not in named.values()]
    return X[features], beside | columns


def _column(X, part, name):
    """Return a column of a dataframe, or its index, by name."""
    if name in X.columns:
        return X[name]
    if name == X.index.name:
        return X.index
    raise ValueError(no_column(part, name, list(X.columns)))


def _answer(count, reader, *part):
    return count(reader, [part])


def _merged(merge, answers):
    return merge(answers)


def _distinct(parts):
    return np.unique(np.concatenate([array_of(part, "y") for part in parts]))


def _delayed(function):
    """Return a function of this package that Dask calls on a worker."""
    return delayed(Quiet(function))


def _look(chunk):
    """Return the number of features, whether there are weights, and the names of columns."""
    X, _, weights = split_chunk(chunk)
    return check_floats(X).shape[1], weights is not None, column_names(X)


def _blocks(X):
    """Return the partitions of a collection as delayed objects."""
    if isinstance(X, (list, tuple)):
        return list(X)
    if not hasattr(X, "_meta"):
        raise ValueError("Pass delayed chunks as a list, also when there is one: fit([chunk]).")
    if hasattr(X, "chunks"):
        if X.ndim == 2 and len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        return list(np.ravel(X.to_delayed()))
    return list(X.to_delayed())


def _blocks_like(values, name, blocks):
    """Return the partitions of `values`, as many as those of X; a list of None for None."""
    if values is None:
        return [None] * len(blocks)
    if not is_dask(values):
        raise ValueError(
            f"With X on a cluster, {name} must be a Dask collection too, or a list of delayed "
            f"values, one for every chunk, for example {name}=dask.array.from_array({name})."
        )
    parts = _blocks(values)
    _check_cut(name, len(parts), len(blocks))
    return parts


def _ids_are_text(groups):
    """Whether all IDs are text, by their type, or else by a look at the IDs alone."""
    kind = str(getattr(groups, "dtype", None)).lower()
    if kind.startswith(("int", "uint", "bool")):
        return False
    if kind.startswith(("str", "<u")):
        return True
    look = _delayed(lambda part: are_texts(plain_ids(part, len(part))))
    return merge_on_workers([look(part) for part in _blocks(groups)], _delayed(same_kind))


def _check_cut(name, n_parts, expected):
    if n_parts != expected:
        word = "more" if n_parts > expected else "fewer"  # numbers would tell about how many rows
        raise ValueError(
            f"{name} must have as many partitions as X, got {word}. If it is a column of X, pass "
            f"its name, for example {name}='column'."
        )


def _beside(X, given):
    """Join columns to a dataframe, and return it with what is still next to it.

    Two columns of one dataframe, computed apart, may be cut into different partitions: a reader of
    files decides that by the columns it is asked for.
    """
    # series have partitions of their own, which other columns may not share
    joins = [name for name, values in given.items() if hasattr(values, "divisions")]
    if not joins or not _is_frame(X):
        return X, given
    series = {name: given[name] for name in joins}
    for name, values in series.items():
        _check_cut(name, values.npartitions, X.npartitions)
    columns = [v.to_series() if type(v).__name__ == "Index" else v for v in series.values()]
    names = {"names": joins, "features": column_names(X._meta)}
    meta = _join(X._meta, *(column._meta for column in columns), **names)
    joined = X.map_partitions(Quiet(_join), *columns, **names, meta=meta, align_dataframes=False)
    return joined, {name: None if name in series else values for name, values in given.items()}


def _join(frame, *columns, names, features):
    """Return a partition with columns joined to it, row by row, whatever its index."""
    frame = columns_like(frame, features, "A partition")
    arrays = [column(values, name, len(frame)) for name, values in zip(names, columns, strict=True)]
    return frame.assign(**{BESIDE + n: a for n, a in zip(names, arrays, strict=True)})


# All rows of a person in one partition: a shuffle by Dask.

_LOW, _HIGH, _CODE, _WEIGHT = "person_low", "person_high", "code", "weight"


@dataclass(frozen=True, eq=False)
class GatheredReader(PartReader):
    """Reads partitions of a shuffle: frames of checked rows with the keys of their people."""

    def read(self, frame):
        """Return rows, codes, weights and people of one partition."""
        X = frame[_feature_names(self.n_features)].to_numpy(dtype=np.float64)
        codes = None if self.classes is None else frame[_CODE].to_numpy()
        weights = frame[_WEIGHT].to_numpy() if self.weighted else None
        return X, codes, weights, numbered(frame[_LOW].to_numpy(), frame[_HIGH].to_numpy())

    def of_whole_persons(self, n_rows, frame):
        """Yield a partition in pieces of about `n_rows`, in each of which people are whole."""
        if len(frame) <= n_rows:
            yield (frame,)
            return
        for rows in divided(frame[_LOW].to_numpy(), len(frame), -(-len(frame) // n_rows)):
            yield (frame.iloc[rows],)


def gathered(reader, parts):
    """Return the reader and the parts of the same rows after a shuffle by person.

    Which partition a person goes to follows from the ID alone.
    """
    frames = import_optional("dask.dataframe", "dask", "groups on a cluster")
    frame_of, of_all = _delayed(_frame), delayed(reader)
    pieces = [frame_of(of_all, *part) for part in parts]
    frame = frames.from_delayed(pieces, meta=_meta(reader), verify_meta=False)
    frame = frame.shuffle(on=[_LOW, _HIGH], npartitions=len(parts))
    return GatheredReader(**vars(reader)), [(part,) for part in frame.to_delayed()]


def _frame(reader, X, y, weights, ids, limits):
    """Return a partition as a frame of checked rows (runs on a worker)."""
    pandas = import_optional("pandas", "dask", "groups on a cluster")
    X, codes, weights, ids = reader.values(X, y, weights, ids)
    low, high = person_keys(ids, len(X))
    rows = pandas.DataFrame(X, columns=_feature_names(X.shape[1]), copy=False)
    columns = {_LOW: low, _HIGH: high, _CODE: codes, _WEIGHT: weights}
    for name, values in columns.items():
        if values is not None:
            rows[name] = values
    return rows


def _feature_names(n_features):
    return [f"x{i}" for i in range(n_features)]


def _meta(reader):
    reader = replace(reader, names=None)
    empty = np.zeros((0, reader.n_features))
    labels = None if reader.classes is None else np.asarray(reader.classes)[:0]
    weights = np.zeros(0) if reader.weighted else None
    return _frame(reader, empty, labels, weights, np.zeros(0, dtype=np.int64), None)
