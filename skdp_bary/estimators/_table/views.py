"""What is asked of a fitted table: rows, probabilities, answers about columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ..._values import with_width
from ...privacy._checks import check_real
from ...privacy.noise.sampler import public_generator
from ...schema._frames import frame_of
from ...schema._table_cells import TableCells
from .._face.drawing import check_samples
from .answers import Marginal, marginal
from .drawing import condition, draw_units, with_rules
from .report import TableReport, report_of

if TYPE_CHECKING:
    from ..._types import RandomState, Rows

_MOST_DRAWN = 50_000  # of an evaluation
_FEWEST = 10


class TableViews:
    """Draws rows of a fitted table, and answers questions about it; nothing is charged."""

    def sample(
        self,
        n_samples: int = 1,
        random_state: RandomState | None = None,
        *,
        given: Mapping | None = None,
    ) -> Any:
        """Draw synthetic rows: a frame with the columns and types of the schema.

        The draws are post-processing of the release: they cost nothing, whatever their number.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : None, int or RandomState, default=None
        given : dict or None, default=None
            By name of the column what all rows must have: a value, a list of values of a category,
            a range ``(low, high)`` of numbers or dates in which None is an open end, or None for
            missing.

        Returns
        -------
        table : DataFrame, Arrow table or ndarray of shape (n_samples, n_columns)
            Held by what held the table of the fit: pandas, polars, Arrow, or an array. Types are
            those of the schema, whatever the types in the table were. Columns of rules come last.
        """
        check_is_fitted(self)
        n_samples = check_samples(n_samples, self.n_features_in_)
        columns, rng = self._columns(), public_generator(random_state)
        conditions = self._conditions(columns, given)
        units = draw_units(self.mixture_, columns, conditions, self.rules, n_samples, rng)
        frame = frame_of(units, list(columns.values()), list(columns), self._container)
        return with_rules(frame, self.rules)

    def query(self, *columns: str | int, confidence: float = 0.95) -> Marginal:
        """Return released counts of the values of one column, or of two, with intervals.

        Entries are bins of the release: values that stand out, and ranges.

        Parameters
        ----------
        *columns : str or int
            Names, or places where columns have no names.
        confidence : float, default=0.95
            Probability that an interval covers the exact count, for one entry.

        Returns
        -------
        answer : Marginal
        """
        check_is_fitted(self)
        check_real(confidence, "confidence", low=0.0, high=1.0, open_low=True, open_high=True)
        known = list(self._columns())
        if any(isinstance(name, (list, tuple)) for name in columns):
            raise TypeError(
                f"columns must be given one by one, as in query('a', 'b'), got {columns!r}."
            )
        if len(columns) not in (1, 2) or len(set(columns)) < len(columns):
            raise ValueError(f"columns must be one or two different columns, got {columns!r}.")
        if not all(name in known for name in columns):
            raise ValueError(f"columns must be of {known}, got {columns!r}.")
        setting = self._method_setting(self.n_features_in_)
        places = tuple(known.index(name) for name in columns)
        pair = tuple(sorted(places))
        if setting.label not in pair and len(pair) == 2 and pair not in self._measured.pairs:
            raise ValueError(f"columns {columns!r} were not measured together; see pairs_.")
        return marginal(self._measured, setting, places, columns, float(confidence))

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
        _check_in_memory(X, "X")
        X = with_width(X, self.n_features_in_)
        if self.schema_.names is None:
            validate_data(self, X, skip_check_array=True, reset=False)
        return self.mixture_.log_probabilities(
            TableCells(self.schema_, self._beside())(X).astype(np.int64)
        )

    def evaluate(
        self, X: Rows, *, held_out: Rows | None = None, random_state: RandomState | None = None
    ) -> TableReport:
        """Compare drawn rows with those of a table: for its owner only, **not private**.

        As many rows are drawn as the table has, up to 50,000.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The rows of the fit, in memory; a column of person ids that the fit was told by name is
            left out. The report is an exact function of them.
        held_out : table or None, default=None
            Rows like them that were not in the fit: what an attack on membership is judged by.
        random_state : None, int or RandomState, default=None

        Returns
        -------
        report : TableReport
        """
        check_is_fitted(self)
        _check_in_memory(X, "X")
        _check_in_memory(held_out, "held_out")
        columns, read = self._columns(), TableCells(self.schema_, self._beside())
        tables = [None if rows is None else read(rows).astype(np.int64) for rows in (X, held_out)]
        if any(rows is not None and len(rows) < _FEWEST for rows in tables):
            raise ValueError(f"X and held_out must have at least {_FEWEST} rows.")
        rng = public_generator(random_state)
        n_drawn = min(len(tables[0]), _MOST_DRAWN)
        units = draw_units(self.mixture_, columns, {}, self.rules, n_drawn, rng)
        frame = frame_of(units, list(columns.values()), list(columns), "pandas")
        frame.columns = list(columns)
        drawn = TableCells(self.schema_)(frame if self.schema_.names else frame.to_numpy())
        label = self._label_place(self.n_features_in_)
        return report_of(columns, label, tables[0], drawn.astype(np.int64), tables[1], rng)

    def _columns(self):
        """Return the cells of the columns by name, or by place where they have none."""
        cells = TableCells(self.schema_).columns(self.n_features_in_)
        for place, (model, *_) in self.mixture_.columns.items():
            if len(model.bins) != cells[place].n_cells:
                raise ValueError(
                    f"{cells[place].what} has other cells than it was fitted in: this table was "
                    "fitted by an earlier version, in which ends of ranges had no cells of their "
                    "own. Draw from it with that version."
                )
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return dict(zip(names, cells, strict=True))

    def _beside(self):
        """Names of columns that rows may have and that are not of the model."""
        return (*self._unread(), *getattr(self, "_ids", ()))

    def _conditions(self, columns, given):
        if given is None:
            return {}
        if not isinstance(given, Mapping) or not all(name in columns for name in given):
            raise ValueError(f"given must be a dict by columns of {list(columns)}, got {given!r}.")
        return {name: condition(columns[name], asked, name) for name, asked in given.items()}


def _check_in_memory(rows, name):
    """Raise where rows are elsewhere: exact functions of all of them have nothing to add up."""
    lazy = next((how for how in ("compute", "collect") if hasattr(rows, how)), None)
    if lazy or isinstance(rows, (str, PathLike, Iterator)):
        remedy = f"{name}.{lazy}() is one" if lazy else "pandas.read_parquet reads a file"
        kind = type(rows).__name__
        raise TypeError(f"{name} must be a table in memory, got a {kind}; {remedy}.")
