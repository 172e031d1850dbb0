"""How far the tables of pairs that a mixture expects are from those of rows."""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ...schema._table_cells import TableCells
from ...summaries.tables.pairs import TableMisfit
from .bins import even_bins

_BINS = 20  # of a line, and of a list
_LARGEST = 2.0**61  # of an expected count in units: differences stay in 64 bits


@dataclass(frozen=True, eq=False)
class TableJudge:
    """Compares mixtures with rows in public bins, the same for all mixtures.

    Parameters
    ----------
    schema : Schema
    n_columns : int
    """

    schema: object
    n_columns: int

    @cached_property
    def bins(self):
        """By column: the bin of every cell."""
        return tuple(_coarse(cells) for cells in TableCells(self.schema).columns(self.n_columns))

    @cached_property
    def pairs(self):
        """All pairs of columns; a column alone is a pair with itself."""
        return tuple(combinations(range(self.n_columns), 2)) or ((0, 0),)

    def query(self, units=1, mixture=None, total=0.0):
        """Return the question how far rows are from a mixture; without one, from no rows at all.

        Parameters
        ----------
        units : int
            Largest mass of a person.
        mixture : TableMixture or None
        total : float
            Persons, public or released.
        """
        shares = np.zeros(()) if mixture is None else self._shares(mixture)
        expected = np.rint(np.clip(shares * total * units, 0.0, _LARGEST)).astype(np.int64)
        return TableMisfit(self.bins, self.pairs, units=units, expected=expected)

    def rows_apart(self, query, value):
        """Return an answer as a number of rows: the mean over pairs of half the differences."""
        return float(value) / (2.0 * len(self.pairs) * query.units)

    def _shares(self, mixture):
        """Return the probabilities of all entries of all tables, one table after another."""
        tables = [0.0] * len(self.pairs)
        for code, weights in enumerate((mixture.weights / mixture.weights.sum()).T):
            columns = [self._column(mixture, place, code) for place in range(self.n_columns)]
            for number, (i, j) in enumerate(self.pairs):
                weighed = weights[:, None] * columns[i]
                table = np.diag(weighed.sum(axis=0)) if i == j else weighed.T @ columns[j]
                tables[number] = tables[number] + table
        return np.concatenate([table.ravel() for table in tables])

    def _column(self, mixture, place, code):
        """Return the probabilities of the bins of a column in every component of a class."""
        bins = self.bins[place]
        if place == mixture.label:
            found = np.zeros((len(mixture.weights), bins.max() + 1))
            found[:, bins[code]] = 1.0
            return found
        return mixture.columns[place][code].cell_probabilities(code) @ np.eye(bins.max() + 1)[bins]


def _coarse(cells):
    """Return bins: some of the line, some of the list, and one of missing values."""
    listed = cells.n_values - cells.n_ordered
    line = even_bins(cells, _BINS)
    values = np.arange(listed) * _BINS // max(listed, _BINS)
    parts = [line, values, np.zeros(cells.n_cells - cells.n_values, dtype=np.int64)]
    starts = np.cumsum([0] + [int(part[-1]) + 1 if len(part) else 0 for part in parts])
    return np.concatenate([part + start for part, start in zip(parts, starts, strict=False)])
