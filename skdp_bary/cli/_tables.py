"""Tables on disk, read in chunks."""

import sys
from pathlib import Path

import numpy as np

from .._optional import import_optional

_CHUNK_ROWS = 500_000


class Table:
    """Named columns of a CSV or Parquet file.

    Parameters
    ----------
    path : str
        A file ending in .csv, .csv.gz or .parquet.
    columns : list of str or None
        Columns that make a row; None takes all that are not `label` or `groups`.
    label, groups : str or None
        Column of the labels, and of the person ids.
    """

    def __init__(self, path, columns=None, label=None, groups=None):
        self._path = path
        self._pandas = import_optional("pandas", "cli", "skdp-bary")
        self._is_parquet = Path(path).suffix == ".parquet"
        present = self._names()
        extra = [name for name in (label, groups) if name is not None]
        self.columns = columns or [name for name in present if name not in extra]
        missing = [name for name in (*self.columns, *extra) if name not in present]
        if missing:
            raise ValueError(f"{path} has no column {missing[0]!r}; it has {present}.")
        self._label, self._groups = label, groups

    def chunks(self):
        """Yield ``X`` or ``(X, y)``, saying on a terminal how far it is."""
        rows = 0
        for frame in self._frames():
            rows += len(frame)
            _say(f"\rread {rows:,} rows")
            X = self._rows(frame)
            yield X if self._label is None else (X, frame[self._label].to_numpy())
        _say("\n")

    def whole(self):
        """Return rows, labels and person ids of the whole table."""
        frame = self._pandas.concat(list(self._frames()), ignore_index=True)
        y = None if self._label is None else frame[self._label].to_numpy()
        return self._rows(frame), y, frame[self._groups].to_numpy()

    def _names(self):
        if self._is_parquet:
            parquet = import_optional("pyarrow.parquet", "cli", "skdp-bary")
            return parquet.ParquetFile(self._path).schema_arrow.names
        return list(self._pandas.read_csv(self._path, nrows=0).columns)

    def _frames(self):
        wanted = [*self.columns, *(n for n in (self._label, self._groups) if n is not None)]
        if self._is_parquet:
            parquet = import_optional("pyarrow.parquet", "cli", "skdp-bary")
            with parquet.ParquetFile(self._path) as file:
                for batch in file.iter_batches(batch_size=_CHUNK_ROWS, columns=wanted):
                    yield batch.to_pandas()
            return
        # labels and ids stay text: how one is read must not depend on the others
        kinds = {name: str for name in wanted if name not in self.columns}
        yield from self._pandas.read_csv(
            self._path, usecols=wanted, dtype=kinds, chunksize=_CHUNK_ROWS
        )

    def _rows(self, frame):
        return np.column_stack([self._numbers(frame, name) for name in self.columns])

    def _numbers(self, frame, name):
        try:
            numbers = frame[name].to_numpy(dtype=np.float64)
        except (ValueError, TypeError):
            raise ValueError(
                f"The column {name!r} of {self._path} must hold numbers. Name the columns that "
                "make a row with --columns."
            ) from None
        if not np.isfinite(numbers).all():
            raise ValueError(
                f"The column {name!r} of {self._path} has missing values or infinities. Leave out "
                "their rows, or put a public value in their place, and ask again."
            )
        return numbers


def _say(text):
    if sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)
