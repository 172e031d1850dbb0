"""Parquet files: the type of a column is the file's, and is never guessed from its values."""

from pathlib import Path

import numpy as np

from ..._optional import import_optional
from .columns import Batch, finite_numbers, not_numbers

_BATCH_ROWS = 500_000


class ParquetFile:
    """The named columns of a Parquet file.

    A value is read by the type that its column has in the file, so that it does not matter which
    values stand beside it. That type is public, as names are: whoever writes the file must choose
    it without looking at the rows.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    names : list of str
    """

    def __init__(self, path):
        self.path = path
        self._arrow = import_optional("pyarrow", "cli", "skdp-bary")
        self._compute = import_optional("pyarrow.compute", "cli", "skdp-bary")
        self._parquet = import_optional("pyarrow.parquet", "cli", "skdp-bary")
        Path(path).stat()
        self._schema = self._guarded(lambda: self._parquet.read_schema(path))
        self.names = self._schema.names

    def batches(self, numbers, texts):
        """Yield the rows in batches, as :class:`Batch`.

        Parameters
        ----------
        numbers, texts : list of str
            Columns to be read as numbers, and as text: integers as they are printed.
        """
        self._check_types(numbers, texts)
        with self._guarded(lambda: self._parquet.ParquetFile(self.path)) as file:
            groups = range(file.num_row_groups)
            for group in groups:
                read = file.iter_batches(_BATCH_ROWS, [group], [*numbers, *texts])
                while (batch := self._guarded(lambda read=read: next(read, None))) is not None:
                    yield self._batch(batch, numbers, texts, (group + 1) / len(groups))

    def tables(self, names):
        """Yield Arrow tables of some columns, by their types in the file, and the share read."""
        with self._guarded(lambda: self._parquet.ParquetFile(self.path)) as file:
            groups = range(file.num_row_groups)
            for group in groups:
                read = file.iter_batches(_BATCH_ROWS, [group], names)
                while (batch := self._guarded(lambda read=read: next(read, None))) is not None:
                    table = self._arrow.Table.from_batches([batch]).select(names)
                    yield table, (group + 1) / len(groups)

    def _batch(self, batch, numbers, texts, share):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        X = np.empty((batch.num_rows, len(numbers)))
        for place, name in enumerate(numbers):
            values = self._compute.cast(columns[name], self._arrow.float64(), safe=False)
            X[:, place] = finite_numbers(values, name, self.path)
        return Batch(X, [self._text(columns[name], name) for name in texts], share)

    def _text(self, column, name):
        if column.null_count:
            raise ValueError(
                f"The column {name!r} of {self.path} has missing values. Ids and labels must be "
                "there in every row."
            )
        return self._compute.cast(column, self._arrow.string())

    def _check_types(self, numbers, texts):
        types = self._arrow.types
        readable = (types.is_integer, types.is_boolean)
        for name in numbers:
            kinds = (*readable, types.is_floating, types.is_decimal)
            if not self._is_one_of(name, kinds):
                raise not_numbers(name, self.path)
        for name in texts:
            if not self._is_one_of(name, (*readable, types.is_string, types.is_large_string)):
                raise ValueError(
                    f"Ids and labels must be strings or integers, but the column {name!r} of "
                    f"{self.path} is of type {self._schema.field(name).type}."
                )

    def _is_one_of(self, name, kinds):
        kind = self._schema.field(name).type
        if self._arrow.types.is_dictionary(kind):
            kind = kind.value_type
        return any(is_kind(kind) for is_kind in kinds)

    def _guarded(self, read):
        """Return what `read` returns; errors of the file quote nothing of what is in it."""
        try:
            return read()
        except (self._arrow.ArrowException, OSError):
            pass  # its text quotes the file, so it is no context of the error either
        raise ValueError(f"{self.path} is no Parquet file, or is damaged.")
