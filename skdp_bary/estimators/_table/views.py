"""What is asked of a fitted table: rows, probabilities, answers about columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ...privacy._checks import check_integer
from ...privacy.noise.sampler import public_generator
from ...schema._frames import frame_of
from ...schema._table_cells import TableCells

if TYPE_CHECKING:
    from ..._types import RandomState, Rows


class TableViews:
    """Draws rows of a fitted table, and answers questions about it; nothing is charged."""

    def sample(self, n_samples: int = 1, random_state: RandomState | None = None) -> Any:
        """Draw synthetic rows: a frame with the columns and types of the schema.

        The draws are post-processing of the release: they cost nothing, whatever their number.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : None, int or RandomState, default=None

        Returns
        -------
        table : DataFrame, Arrow table or ndarray of shape (n_samples, n_columns)
            Held by what held the table of the fit: pandas, polars, Arrow, or an array. Types are
            those of the schema, whatever the types in the table were.
        """
        check_is_fitted(self)
        n_samples = check_integer(n_samples, "n_samples", low=1)
        rng = public_generator(random_state)
        columns = self._cells()
        cells = self.mixture_.draw(n_samples, rng)
        units = [column.draw(cells[:, i], rng) for i, column in enumerate(columns)]
        return frame_of(units, columns, self._names(), self._container)

    def score_samples(self, X: Rows) -> np.ndarray:
        """Return the logarithm of the probability of the cells that each row lies in.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            In memory. What is returned is an exact function of these rows.

        Returns
        -------
        log_probabilities : ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        if self.schema_.names is None:
            validate_data(self, X, skip_check_array=True, reset=False)
        return self.mixture_.log_probabilities(TableCells(self.schema_)(X).astype(np.int64))

    def _cells(self):
        return TableCells(self.schema_).columns(self.n_features_in_, self._names())

    def _names(self):
        return list(getattr(self, "feature_names_in_", range(self.n_features_in_)))
