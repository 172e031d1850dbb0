"""A whole table as numbers of cells, column by column and row by row."""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from .._values import column_names, column_values, some_columns
from ._cells import cells_of_kind
from ._schema import warn_of_unnamed


class TableCells:
    """The cells of every column of a schema: what makes a table numbers.

    Parameters
    ----------
    schema : Schema
        Public. One kind for all columns is that of as many as a table has.
    unread : tuple of str, default=()
        Columns that a table may have beside those of the schema.
    """

    def __init__(self, schema, unread=()):
        self.schema = schema
        self.unread = unread
        self._told = False
        self.names = None if schema.names is None else list(schema.names)

    def __call__(self, X):
        """Return the cells of all rows of a table, as float64 of shape (n_rows, n_columns)."""
        if issparse(X):
            raise TypeError("Sparse data was passed, but dense data is required: use X.toarray().")
        shape = getattr(X, "shape", ())
        if len(shape) == 2 and shape[0] == 0 < shape[1]:  # a part without rows
            return np.empty((0, len(self.names or range(shape[1]))))
        own = column_names(X)
        if self.unread and own is not None:
            X = some_columns(X, [name for name in own if name not in self.unread])
        self._told = self._told or warn_of_unnamed(self.schema, column_names(X))
        X = self.schema.matched(X)
        width = self.schema.width_of(X)
        columns = self.columns(width, self.names or column_names(X))
        rows = np.empty((len(X), width))
        for place, cells in enumerate(columns):
            rows[:, place] = cells.encode(column_values(X, place))
        return rows

    def columns(self, n_columns, names=None):
        """Return the cells of each column.

        Parameters
        ----------
        n_columns : int
            Of the table; a schema of another width is refused.
        names : list or None, default=None
            Of the columns, for errors.
        """
        schema = self.schema
        if schema.n_columns not in (None, n_columns):
            raise ValueError(
                f"schema declares {schema.n_columns} columns, but n_features={n_columns}."
            )
        names = self.names or names or range(n_columns)
        kinds = schema.kinds(n_columns)
        return [cells_of_kind(kind, f"Column {n!r}") for kind, n in zip(kinds, names, strict=True)]
