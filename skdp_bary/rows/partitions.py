"""What one worker reads: a partition, or a piece of a Parquet file."""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from ..exceptions import import_optional
from ..values import check_floats, columns_like
from .columns import chunk_of, delayed, recoded_chunk, recoded_frame
from .persons import (
    PERSON_UNITS,
    WEIGHT_UNITS,
    Chunk,
    are_texts,
    divided,
    encode_labels,
    encode_persons,
    encode_weights,
    have_one_class,
    plain_ids,
    same_kind,
    shared_masses,
    some_without,
    split_chunk,
)

# What a worker reads: the rows of one partition, checked.

BESIDE = "skdp_bary "  # what columns that are joined to the rows are called
_SLICE_VALUES = 1 << 18  # counted at once: what is computed of them is a multiple of 2 MB
_PIECE_VALUES = 1 << 17  # of whole persons at once, whose rows are sorted besides


@dataclass(frozen=True, eq=False)
class PartReader:
    """What workers are told about the rows: public facts, no budget, no randomness.

    Parameters
    ----------
    n_features : int
    classes : ndarray or None
        Public labels.
    weighted, grouped : bool
        Whether there are weights and person IDs.
    mass_bounds : (low, high), Box, Ball, Mask or None
        Public domain outside of which rows carry no mass of a person.
    names : list or None
        Of the columns, in order; None where rows have no names.
    ids_are_text : bool or None
        Whether person IDs are text in all partitions; None: that is known of them otherwise.
    """

    n_features: int
    classes: np.ndarray | None
    weighted: bool
    grouped: bool
    mass_bounds: object
    names: list | None
    ids_are_text: bool | None = None

    def chunks(self, least_rows, *part):
        """Yield the rows of one partition, checked, slice by slice.

        Parameters
        ----------
        least_rows : int
            Slices are not shorter, except the last one.
        *part
            The partition and what is next to it.
        """
        if not self.grouped:
            n_rows = max(least_rows, _SLICE_VALUES // max(self.n_features, 1), 1)
            for piece in _slices(n_rows, *part):
                X, codes, masses, _ = self.read(*piece)
                yield Chunk(X, codes, masses, units=WEIGHT_UNITS)
            return
        n_rows = max(least_rows, self._piece_rows())
        for piece in self.of_whole_persons(n_rows, *part):
            X, codes, masses, persons = self.read(*piece)
            if len(X):
                starts, masses = shared_masses(X, codes, persons, masses, self.mass_bounds)
                del persons
                yield from Chunk(X, codes, masses, starts=starts, units=PERSON_UNITS).parts(n_rows)

    def n_persons(self, *part):
        """Return the number of people of one partition."""
        if not self.grouped:
            return sum(len(chunk.X) for chunk in self.chunks(1, *part))
        pieces = self.of_whole_persons(self._piece_rows(), *part)
        return sum(int(self.read(*piece)[-1].max(initial=-1)) + 1 for piece in pieces)

    def one_class(self, *part):
        """Whether no person of one partition has rows in two classes."""
        if self.classes is None or not self.grouped:
            return True
        pieces = self.of_whole_persons(self._piece_rows(), *part)
        return all(have_one_class(*self.read(*piece)[1::2]) for piece in pieces)

    def _piece_rows(self):
        return max(_PIECE_VALUES // max(self.n_features, 1), 1)

    def of_whole_persons(self, n_rows, X, y, weights, ids, limits):
        """Yield a partition in pieces of about `n_rows`, in each of which people are whole.

        Like `_slices`, in one piece where its rows are in no array or dataframe.
        """
        if isinstance(X, tuple):
            X, y, weights = split_chunk(X)
        joined = hasattr(X, "iloc") and BESIDE + "groups" in X.columns
        values = (X, y, weights, None if joined else ids)
        names = X[BESIDE + "groups"] if joined else ids
        length = _common_length(*values)
        if length <= n_rows:
            yield X, y, weights, ids, limits
            return
        for rows in divided(names, length, -(-length // n_rows)):
            yield *(_cut(value, rows) for value in values), limits

    def read(self, X, y, weights, ids, limits):
        """Return rows, codes, weights and people of one partition."""
        X, codes, weights, ids = self.values(X, y, weights, ids)
        if limits is not None:
            ids = limits.checked(ids)
        persons = encode_persons(ids, len(X)) if self.grouped else None
        return X, codes, weights, persons

    def values(self, X, y, weights, ids):
        """Return rows, codes, integer weights and IDs of one partition."""
        if hasattr(X, "iloc"):
            X, y, weights, ids = _apart(X, y, weights, ids)
        elif isinstance(X, tuple):
            X, y, weights = split_chunk(X)
        return self.checked("A partition", X, y, weights, ids)

    def checked(self, what, X, y, weights, ids):
        """Return rows, codes, integer weights and IDs of a partition or chunk, or raise."""
        X = check_floats(columns_like(X, self.names, what))
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"{what} has {X.shape[1]} features, but X has {self.n_features}. Choose the "
                "same ones in all, for example chunk[:, columns]."
            )
        if (weights is not None) != self.weighted:
            raise ValueError(some_without("sample_weight"))
        codes = None if self.classes is None else encode_labels(y, self.classes, len(X))
        if self.grouped:
            ids = plain_ids(ids, len(X))
            same_kind([self.ids_are_text, are_texts(ids)])
        return X, codes, encode_weights(weights, len(X)) if self.weighted else None, ids


class WorkerSource:
    """Rows that workers count where they are; only sums of integers come back.

    Attributes
    ----------
    reader : PartReader
    """

    rereadable = True

    @abstractmethod
    def answers(self, count, merge):
        """Return the answer about all rows, as bytes; None where there is no partition.

        Parameters
        ----------
        count : callable
            ``count(reader, parts)`` returns the answer about some parts of the rows, as bytes. It
            and `merge` are sent to the workers.
        merge : callable
            Returns one answer of an iterable of them.
        """

    def count_persons(self):
        """Number of people, counted on the workers."""
        return self._total(PartReader.n_persons)

    @property
    def persons_have_one_class(self):
        """Whether no person has rows in two classes; to be asked only where labels are public."""
        return self._total(lambda reader, *part: not reader.one_class(*part)) == 0

    def _total(self, question):
        def count(reader, parts):
            return b"%d" % sum(question(reader, *part) for part in parts)

        found = self.answers(count, lambda numbers: b"%d" % sum(map(int, numbers)))
        return 0 if found is None else int(found)


@dataclass(frozen=True)
class Limits:
    """The person IDs that may be in one partition: from `low` on, up to `high`."""

    low: object
    high: object
    last: bool

    def checked(self, ids):
        """Return IDs that are all within: those of different partitions are different then."""
        values = np.asarray(ids)
        below = values <= self.high if self.last else values < self.high
        if not bool(np.all((values >= self.low) & below)):
            raise ValueError(
                "groups has ids outside the divisions of their partition, so the rows of a person "
                "may not lie together. Set the index anew, X.set_index('id'), or pass groups as a "
                "column, groups='id'."
            )
        return ids


def _slices(n_rows, X, y, weights, ids, limits):
    """Yield a partition slice by slice; in one where its rows are in no array or dataframe."""
    if isinstance(X, ParquetPiece):
        yield from ((*rows, ids, limits) for rows in X.slices(n_rows))
        return
    if isinstance(X, tuple):
        X, y, weights = split_chunk(X)
    values = (X, y, weights)
    length = _common_length(*values)
    for start in range(0, max(length, 1), n_rows):
        rows = slice(start, start + n_rows) if length else None
        yield *(_cut(v, rows) for v in values), ids, limits


def _common_length(X, *beside):
    """Return the number of rows of values that can be cut, which is 0 where one of them cannot."""
    length = len(X) if _can_be_cut(X) else 0
    same = all(v is None or (_can_be_cut(v) and len(v) == length) for v in beside)
    return length if same else 0


def _can_be_cut(values):
    return hasattr(values, "iloc") or isinstance(values, np.ndarray)


def _cut(values, rows):
    if values is None or rows is None:
        return values
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


def _apart(frame, *beside):
    """Return rows, labels, weights and IDs of a partition; some may have been joined to it."""
    names = ("y", "sample_weight", "groups")
    values = zip(names, beside, strict=True)
    beside = [frame[BESIDE + n] if BESIDE + n in frame.columns else v for n, v in values]
    return frame.drop(columns=[BESIDE + n for n in names], errors="ignore"), *beside


# Parquet files that workers read themselves, some rows at a time: none holds a partition.

_PIECE_BYTES = 1 << 26  # of rows: less is not worth a task
_BUFFER_BYTES = 1 << 25  # that are read ahead, of all columns together
_FEW_FILES = 100  # are cut at their row groups; of many each is one task
_AT_A_TIME = 16  # files whose ends are read: a distant one is slow to answer
_ENDINGS = (".parquet", ".parq", ".pq")


@dataclass(frozen=True, eq=False)
class ParquetPiece:
    """Row groups of one file.

    Parameters
    ----------
    files : fsspec filesystem
    path : str
    groups : range or None
        The row groups; None: all.
    columns : list of str
        Those that are read.
    named : dict
        Names of the columns that are not features, see :func:`~.columns.taken_out`.
    recode : callable or None
        See :func:`~.opening.open_rows`.
    """

    files: object
    path: str
    groups: range | None
    columns: list
    named: dict
    recode: object = None

    def slices(self, n_rows):
        """Yield tuples ``(X, y, sample_weight)`` of at most `n_rows` rows."""
        arrow = import_optional("pyarrow", "dask", "fit on a Parquet path")
        parquet = import_optional("pyarrow.parquet", "dask", "fit on a Parquet path")
        buffer = max(_BUFFER_BYTES // max(len(self.columns), 1), 1 << 16)
        with parquet.ParquetFile(self.path, filesystem=self.files, buffer_size=buffer) as file:
            groups = range(file.num_row_groups) if self.groups is None else self.groups
            for group in groups:
                for batch in file.iter_batches(n_rows, [group], self.columns, use_threads=False):
                    item = chunk_of(arrow.Table.from_batches([batch]), self.named)[:3]
                    yield item if self.recode is None else recoded_chunk(item, self.recode)


class ParquetRows:
    """The rows of Parquet files, unread.

    Parameters
    ----------
    pieces : list of ParquetPiece
    meta : dataframe
        Of no rows, with the columns that are features.
    names : list or None
        Of the columns of slices; None where they have none any more.

    Attributes
    ----------
    shape : tuple
        Of which only the number of features is known.
    """

    def __init__(self, pieces, meta, names):
        self.pieces, self._meta, self.names = pieces, meta, names
        self.shape = None, meta.shape[1]

    @classmethod
    def of(cls, files, ends, frame, named):
        """Return the rows of files, or None where these alone do not say what Dask reads.

        Parameters
        ----------
        files : fsspec filesystem
        ends : dict
            See :func:`parquet_ends`.
        frame : Dask dataframe
            What Dask makes of them, features alone. Names of folders may be columns of it.
        named : dict
            Names of the columns that are not features, see :func:`~.columns.taken_out`.
        """
        if not ends or any("=" in each for each in ends):
            return None
        names = list(frame.columns)
        columns = [*names, *named.values()]
        if not set(columns) <= set(next(iter(ends.values()))[0]):
            return None
        pieces = [
            ParquetPiece(files, each, groups, columns, named)
            for each, (_, sizes) in ends.items()
            for groups in (_groups_cut(sizes) if len(ends) <= _FEW_FILES else [None])
        ]
        return cls(pieces, frame._meta, names)

    def recoded(self, recode):
        """Return the rows as numbers, see :func:`~.opening.open_rows`."""
        pieces = [replace(piece, recode=recode) for piece in self.pieces]
        return ParquetRows(pieces, recoded_frame(self._meta, recode), None)

    def to_delayed(self):
        """Return the pieces as delayed objects."""
        return [delayed(piece) for piece in self.pieces]


def parquet_ends(path):
    """Return the filesystem of a path and, by file, its columns and the bytes of its row groups.

    The ends of the files are read, many at a time and each once. Raises unless all of them have
    the same columns.
    """
    files, paths = _listed(path)
    parquet = import_optional("pyarrow.parquet", "dask", "fit on a Parquet path")

    def end(path):
        with parquet.ParquetFile(path, filesystem=files) as file:
            groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
            return file.schema_arrow.names, [group.total_byte_size for group in groups]

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        ends = dict(zip(paths, pool.map(end, paths), strict=True))
    for each, (names, _) in ends.items():
        if sorted(names) != sorted(ends[paths[0]][0]):
            raise ValueError(
                f"X must name Parquet files with the same columns, got {each!r}, which has other "
                f"columns than {paths[0]!r}. Write all alike, for example "
                "frame[names].to_parquet(path)."
            )
    return files, ends


def _listed(path):
    """Return the filesystem of a path, and the files that it names."""
    filesystems = import_optional("fsspec.core", "dask", "fit on a Parquet path")
    files, root = filesystems.url_to_fs(path)
    if "*" in root:
        return files, sorted(files.glob(root))
    if not files.isdir(root):
        return files, [root]
    inside = {each: each[len(root) :].split("/") for each in sorted(files.find(root))}
    return files, [
        each
        for each, parts in inside.items()
        if each.endswith(_ENDINGS) and not any(part.startswith((".", "_")) for part in parts)
    ]


def _groups_cut(sizes):
    """Return row groups of a file by their bytes, as many together as are worth a task."""
    pieces, start, size = [], 0, 0
    for end, more in enumerate(sizes, 1):
        size += more
        if size >= _PIECE_BYTES or end == len(sizes):
            pieces.append(range(start, end))
            start, size = end, 0
    return pieces or [None]
