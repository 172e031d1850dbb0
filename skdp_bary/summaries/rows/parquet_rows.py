"""Parquet files that workers read themselves, some rows at a time: none holds a partition."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..._optional import import_optional
from .named import Taken
from .recoding import RecodedFrame, recoded_chunk

_PIECE_BYTES = 1 << 26  # of rows: less is not worth a task
_BUFFER_BYTES = 1 << 25  # that are read ahead, of all columns together
_FEW_FILES = 100  # are cut at their row groups; of many each is one task, and stays unopened
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
        Names of the columns that are no features, see :func:`~.named.taken_out`.
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
        take = Taken(self.named)
        for batch in self._batches(n_rows):
            item = take(arrow.Table.from_batches([batch]))[:3]
            yield item if self.recode is None else recoded_chunk(item, self.recode)

    def _batches(self, n_rows):
        parquet = import_optional("pyarrow.parquet", "dask", "fit on a Parquet path")
        buffer = max(_BUFFER_BYTES // max(len(self.columns), 1), 1 << 16)
        with parquet.ParquetFile(self.path, filesystem=self.files, buffer_size=buffer) as file:
            groups = range(file.num_row_groups) if self.groups is None else self.groups
            for group in groups:
                yield from file.iter_batches(n_rows, [group], self.columns, use_threads=False)


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
    def of(cls, path, frame, named):
        """Return the rows of a path, or None where the files alone do not say what Dask reads.

        Parameters
        ----------
        path : str
        frame : Dask dataframe
            What Dask makes of the path, features alone. Names of folders may be columns of it.
        named : dict
            Names of the columns that are no features, see :func:`~.named.taken_out`.
        """
        files, paths = _listed(path)
        if not paths or any("=" in each for each in paths):
            return None
        parquet = import_optional("pyarrow.parquet", "dask", "fit on a Parquet path")
        names = list(frame.columns)
        columns = [*names, *named.values()]
        if not set(columns) <= set(parquet.read_schema(paths[0], filesystem=files).names):
            return None
        cut = _cut if len(paths) <= _FEW_FILES else _whole
        pieces = [
            ParquetPiece(files, each, groups, columns, named)
            for each in paths
            for groups in cut(files, each)
        ]
        return cls(pieces, frame._meta, names)

    def recoded(self, recode):
        """Return the rows as numbers, see :func:`~.opening.open_rows`."""
        pieces = [replace(piece, recode=recode) for piece in self.pieces]
        return ParquetRows(pieces, RecodedFrame(recode)(self._meta), None)

    def to_delayed(self):
        """Return the pieces as delayed objects."""
        delayed = import_optional("dask", "dask", "rows on a cluster").delayed
        return [delayed(piece, pure=False, traverse=False) for piece in self.pieces]


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


def _whole(files, path):
    return [None]


def _cut(files, path):
    """Return row groups of a file, as many together as are worth a task."""
    parquet = import_optional("pyarrow.parquet", "dask", "fit on a Parquet path")
    with parquet.ParquetFile(path, filesystem=files) as file:
        sizes = [file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups)]
    pieces, start, size = [], 0, 0
    for end, more in enumerate(sizes, 1):
        size += more
        if size >= _PIECE_BYTES or end == len(sizes):
            pieces.append(range(start, end))
            start, size = end, 0
    return pieces or [None]
