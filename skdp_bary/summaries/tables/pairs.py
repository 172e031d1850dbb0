"""Tables of pairs of columns, class by class, and how far they are from expected ones."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...privacy._neighbors import ADD_REMOVE
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query
from .columns import classes_of, masses_at


@dataclass(frozen=True, eq=False)
class PairTables(Query):
    """Masses of the pairs of bins of two columns, in every class, for chosen pairs of columns.

    Rows are numbers of cells. One row is in one entry of every table, so all of them together are
    as sensitive as there are pairs.

    Parameters
    ----------
    bins : tuple of ndarray of int
        For every column the bin of every cell: public, or from earlier releases. None for the
        column that tells the class.
    pairs : tuple of (int, int)
        Places of the columns of every table.
    label : int or None
        Column that tells the class; None: there is one class.
    n_classes : int
    units : int
        Largest mass of one person.
    """

    bins: tuple
    pairs: tuple
    label: int | None = None
    n_classes: int = 1
    units: int = 1

    @cached_property
    def n_bins(self):
        """Number of bins of every column."""
        return tuple(0 if bins is None else int(bins.max()) + 1 for bins in self.bins)

    @cached_property
    def starts(self):
        """Where the table of every pair begins in the block, and the length of the block."""
        sizes = [self.n_classes * self.n_bins[i] * self.n_bins[j] for i, j in self.pairs]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    def zeros(self):
        """Return one zero a class and pair of bins."""
        return (np.zeros(self.starts[-1], dtype=np.int64),)

    def count(self, state, chunk):
        """Add the masses of rows to their entry of every table."""
        classes = classes_of(chunk, self.label)
        used = {place for pair in self.pairs for place in pair}
        cells = {place: self.bins[place][chunk.X[:, place].astype(np.int64)] for place in used}
        rows = {place: classes * self.n_bins[place] + cells[place] for place in used}
        for number, (i, j) in enumerate(self.pairs):
            start, stop = self.starts[number : number + 2]
            index = rows[i] * self.n_bins[j]
            index += cells[j]
            state[0][start:stop] += masses_at(index, chunk, stop - start)

    def blocks(self, state):
        """Return all tables, one after the other."""
        return state

    def sensitivity(self, relation):
        """A person has a mass of at most one in every table."""
        moved = len(self.pairs) * (1 if relation == ADD_REMOVE else 2)
        return Sensitivity.single(moved * self.units, moved * self.units**2)

    def tables(self, values):
        """Return the table of every pair, of shape (n_classes, n_bins, n_bins)."""
        return [
            values[start:stop].reshape(self.n_classes, self.n_bins[i], self.n_bins[j])
            for (i, j), start, stop in zip(
                self.pairs, self.starts[:-1], self.starts[1:], strict=True
            )
        ]


@dataclass(frozen=True, eq=False)
class PairDistances(PairTables):
    """How far the tables of pairs are from expected ones: sums of absolute differences, in units.

    Parameters
    ----------
    expected : ndarray of int64
        All expected tables, one after the other, in units; from earlier releases.
    """

    expected: np.ndarray = None

    def blocks(self, state):
        """Return one distance a pair."""
        return (np.add.reduceat(np.abs(state[0] - self.expected), self.starts[:-1]),)

    def sensitivity(self, relation):
        """A person moves one entry of every table by at most their mass, and so its distance."""
        each = self.units * (1 if relation == ADD_REMOVE else 2)
        return Sensitivity.single(len(self.pairs) * each, len(self.pairs) * each**2)


@dataclass(frozen=True, eq=False)
class TableMisfit(PairDistances):
    """How far all tables of pairs together are from expected ones: one sum, in units."""

    def blocks(self, state):
        """Return the sum of the distances of all pairs."""
        return (np.abs(state[0] - self.expected).sum(keepdims=True),)

    def sensitivity(self, relation):
        """A person moves the distances of all pairs by at most their mass, all one way."""
        moved = len(self.pairs) * self.units * (1 if relation == ADD_REMOVE else 2)
        return Sensitivity.single(moved, moved**2)
