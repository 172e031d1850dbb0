"""Rows on a cluster: Dask collections, delayed chunks and Parquet files, read on the workers."""

import os
from dataclasses import dataclass

import numpy as np

from ..._optional import import_optional
from ..._values import column_names, columns_like
from .persons import (
    PERSON_UNITS,
    WEIGHT_UNITS,
    Chunk,
    check_floats,
    column,
    encode_labels,
    encode_persons,
    encode_weights,
    shared_masses,
    split_chunk,
)

_FAN_IN = 8  # results merged at once by one task
_BESIDE = "skdp_bary "  # what columns that are joined to the rows are called


def is_dask(X):
    """Whether `X` is a Dask collection or a list of delayed chunks, without importing Dask."""
    if isinstance(X, (list, tuple)) and X:
        X = X[0]
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr", "distributed")


def _is_frame(X):
    """Whether `X` is a Dask dataframe; a delayed object claims to have all public attributes."""
    return is_dask(X) and hasattr(X, "_meta") and hasattr(X, "columns") and X.ndim == 2


def named_columns(X, y, groups, sample_weight):
    """Open a Parquet path, and take the columns that labels, ids and weights name out of the rows.

    Returns
    -------
    X, y, groups, sample_weight : object
        As given where there is no path and no name.
    """
    given = {"y": y, "groups": groups, "sample_weight": sample_weight}
    if isinstance(X, (str, os.PathLike)):
        X = _read_parquet(os.fspath(X))
    names = {part: name for part, name in given.items() if isinstance(name, str)}
    if not names:
        return X, *given.values()
    if not _is_frame(X):
        part, name = next(iter(names.items()))
        raise ValueError(
            f"{part}={name!r} names a column, which works for Dask dataframes and Parquet paths. "
            f"Pass the values, such as frame[{name!r}], and leave that column out of X."
        )
    columns = {}
    for part, name in names.items():
        if name in X.columns:
            columns[part] = X[name]
        elif name == X.index.name:
            columns[part] = X.index
        else:
            raise ValueError(f"{part}={name!r} is no column of X; it has {list(X.columns)}.")
    features = [name for name in X.columns if name not in names.values()]
    return X[features], *(given | columns).values()


def distinct_labels(y):
    """Return the different labels in order; those of a Dask collection are found on the workers."""
    if not is_dask(y):
        return np.unique(np.asarray(y))
    delayed = import_optional("dask", "dask", "labels on a cluster").delayed
    find = delayed(_distinct, pure=False)
    return merge_on_workers([find([part]) for part in _blocks(y)], find)


def merge_on_workers(results, merge):
    """Combine delayed results, a few at a time, on the workers; only the last one comes back."""
    while len(results) > 1:
        results = [merge(results[i : i + _FAN_IN]) for i in range(0, len(results), _FAN_IN)]
    return results[0].compute()


class DaskSource:
    """Rows of a Dask collection or of delayed chunks; every partition is read where it is.

    With person ids all rows of a person are brought together by a shuffle of Dask, once for every
    reading. Ids that are the index of a dataframe with known divisions stay where they are.
    """

    rereadable = True

    def __init__(self, X, y, groups, sample_weight, classes, mass_bounds=None):
        self.grouped = groups is not None
        self.named = X._meta if _is_frame(X) else None
        given = {"y": y, "sample_weight": sample_weight, "groups": groups}
        joined, beside = _beside(X, given)
        blocks = _blocks(joined)
        together = _are_together(X, groups, len(blocks))
        if isinstance(X, (list, tuple)):
            self.n_features, self.weighted, names = _first_look(blocks[0])
        else:
            if len(X.shape) != 2:
                raise ValueError(f"X must have two dimensions, got {len(X.shape)}.")
            self.n_features, self.weighted = int(X.shape[1]), sample_weight is not None
            names = None if self.named is None else column_names(self.named)
        limits = _limits(groups.divisions) if together else [None] * len(blocks)
        self.reader = PartReader(
            self.n_features, classes, self.weighted, self.grouped, mass_bounds, names
        )
        columns = (_blocks_like(values, name, blocks) for name, values in beside.items())
        self.parts = list(zip(blocks, *columns, limits, strict=True))
        if self.grouped and not together:
            from .dask_persons import gathered

            self.reader, self.parts = gathered(self.reader, self.parts)
        self.n_parts = len(self.parts)

    def count_persons(self):
        """Number of persons, counted on the workers."""
        return self._ask("n_persons", sum)

    @property
    def persons_have_one_class(self):
        """Whether no person has rows in two classes; to be asked only where labels are public."""
        return self._ask("one_class", all)

    def on_every_part(self, function, *public):
        """Return delayed results of ``function(*public, reader, *part)`` for every part."""
        delayed = import_optional("dask", "dask", "rows on a cluster").delayed
        call = delayed(function, pure=False)
        # once in the graph, not once in every task
        public = [delayed(value, pure=False, traverse=False) for value in (*public, self.reader)]
        return [call(*public, *part) for part in self.parts]

    def _ask(self, question, merge):
        delayed = import_optional("dask", "dask", "rows on a cluster").delayed
        answers = self.on_every_part(_answer, question)
        return merge_on_workers(answers, delayed(merge, pure=False))


@dataclass(frozen=True, eq=False)
class PartReader:
    """What workers are told about the rows: public facts, no budget, no randomness.

    Parameters
    ----------
    n_features : int
    classes : ndarray or None
        Public labels.
    weighted, grouped : bool
        Whether there are weights and person ids.
    mass_bounds : (low, high), Box, Ball, Mask or None
        Public domain outside of which rows carry no mass of a person.
    names : list or None
        Of the columns, in order; None where rows have no names.
    """

    n_features: int
    classes: np.ndarray | None
    weighted: bool
    grouped: bool
    mass_bounds: object
    names: list | None

    def chunk(self, *part):
        """Return the rows of one partition, checked."""
        X, codes, masses, persons = self.read(*part)
        if persons is None or not len(X):
            return Chunk(X, codes, masses, units=WEIGHT_UNITS)
        starts, masses = shared_masses(X, codes, persons, masses, self.mass_bounds)
        return Chunk(X, codes, masses, starts=starts, units=PERSON_UNITS)

    def n_persons(self, *part):
        """Return the number of persons of one partition."""
        X, _, _, persons = self.read(*part)
        return len(X) if persons is None else int(persons.max(initial=-1)) + 1

    def one_class(self, *part):
        """Return whether no person of one partition has rows in two classes."""
        _, codes, _, persons = self.read(*part)
        if codes is None or persons is None:
            return True
        return len(np.unique(np.stack([persons, codes]), axis=1).T) == len(np.unique(persons))

    def read(self, X, y, weights, ids, limits):
        """Return rows, codes, weights and persons of one partition."""
        X, codes, weights, ids = self.values(X, y, weights, ids)
        if limits is not None:
            ids = limits.checked(ids)
        persons = encode_persons(ids, len(X)) if self.grouped else None
        return X, codes, weights, persons

    def values(self, X, y, weights, ids):
        """Return rows, codes, integer weights and ids of one partition."""
        if hasattr(X, "iloc"):
            X, y, weights, ids = _apart(X, y, weights, ids)
        elif isinstance(X, tuple):
            X, y, weights = split_chunk(X)
        X = check_floats(columns_like(X, self.names, "A partition"))
        if X.shape[1] != self.n_features:
            raise ValueError(f"A partition has {X.shape[1]} features, but X has {self.n_features}.")
        if (weights is not None) != self.weighted:
            raise ValueError("Either every chunk carries sample_weight or none does.")
        codes = None if self.classes is None else encode_labels(y, self.classes, len(X))
        return X, codes, encode_weights(weights, len(X)), ids


@dataclass(frozen=True)
class Limits:
    """The person ids that may be in one partition: from `low` on, up to `high`."""

    low: object
    high: object
    last: bool

    def checked(self, ids):
        """Return ids that are all within: those of different partitions are different then."""
        values = np.asarray(ids)
        below = values <= self.high if self.last else values < self.high
        if not bool(np.all((values >= self.low) & below)):
            raise ValueError(
                "groups has ids outside the divisions of their partition, so the rows of a person "
                "may not lie together. Set the index anew, or pass groups as a column."
            )
        return ids


def _answer(question, reader, *part):
    return getattr(reader, question)(*part)


def _distinct(parts):
    return np.unique(np.concatenate([np.asarray(part) for part in parts]))


def _read_parquet(path):
    if not (path.endswith((".parquet", "/")) or "*" in path or os.path.isdir(path)):
        raise ValueError(
            "As text, X must name Parquet files: a path ending in .parquet, a folder, or a pattern "
            f"with *; got {path!r}."
        )
    return import_optional("dask.dataframe", "dask", "fit on a Parquet path").read_parquet(path)


def _first_look(block):
    """Return the number of features, whether there are weights, and the names of columns."""
    delayed = import_optional("dask", "dask", "rows on a cluster").delayed
    return delayed(_look, pure=False)(block).compute()


def _look(chunk):
    X, _, weights = split_chunk(chunk)
    return check_floats(X).shape[1], weights is not None, column_names(X)


def _blocks(X):
    """Return the partitions of a collection as delayed objects."""
    if isinstance(X, (list, tuple)):
        return list(X)
    if not hasattr(X, "_meta"):
        raise ValueError("Give delayed chunks as a list of them, also when there is one.")
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
            "values, one for every chunk."
        )
    parts = _blocks(values)
    _check_cut(name, len(parts), len(blocks))
    return parts


def _check_cut(name, n_parts, expected):
    if n_parts != expected:
        raise ValueError(f"{name} has {n_parts} partitions, but X has {expected}.")


def _are_together(X, groups, n_blocks):
    """Whether ids are the index of X, in order: its divisions then say where every person is.

    Not when files were cut into other partitions than those that the divisions speak of.
    """
    return bool(
        _is_frame(X)
        and type(groups).__name__ == "Index"
        and groups.known_divisions
        and groups.divisions == X.divisions
        and len(groups.divisions) == n_blocks + 1
    )


def _beside(X, given):
    """Join columns to a dataframe, and return it with what is still beside it.

    Two columns of one dataframe, computed apart, may be cut into different partitions: a reader of
    files decides that by the columns it is asked for.
    """
    series = {
        name: values
        for name, values in given.items()
        if _is_frame(X) and hasattr(values, "divisions")
    }
    if not series:
        return X, given
    for name, values in series.items():
        _check_cut(name, values.npartitions, X.npartitions)
    names = tuple(series)
    columns = [v.to_series() if type(v).__name__ == "Index" else v for v in series.values()]
    names = {"names": names, "features": column_names(X._meta)}
    meta = _join(X._meta, *(column._meta for column in columns), **names)
    joined = X.map_partitions(_join, *columns, **names, meta=meta, align_dataframes=False)
    return joined, {name: None if name in series else values for name, values in given.items()}


def _join(frame, *columns, names, features):
    """Return a partition with columns joined to it, row by row, whatever its index."""
    frame = columns_like(frame, features, "A partition")
    arrays = [column(values, name, len(frame)) for name, values in zip(names, columns, strict=True)]
    return frame.assign(**{_BESIDE + n: a for n, a in zip(names, arrays, strict=True)})


def _apart(frame, *beside):
    """Return rows, labels, weights and ids of a partition; some may have been joined to it."""
    names = ("y", "sample_weight", "groups")
    values = zip(names, beside, strict=True)
    beside = [frame[_BESIDE + n] if _BESIDE + n in frame.columns else v for n, v in values]
    return frame.drop(columns=[_BESIDE + n for n in names], errors="ignore"), *beside


def _limits(divisions):
    last = len(divisions) - 2
    return [Limits(*divisions[i : i + 2], last=i == last) for i in range(last + 1)]
