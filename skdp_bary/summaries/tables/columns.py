"""Histograms of the columns of a table, class by class."""

from dataclasses import dataclass

import numpy as np

from ...privacy._neighbors import ADD_REMOVE
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query


@dataclass(frozen=True)
class ColumnHistograms(Query):
    """Masses of the classes, and of the cells of every column in every class.

    Rows are numbers of cells. The class of a row is its cell in one of the columns, which is as
    private as the others.

    Parameters
    ----------
    sizes : tuple of int
        Number of cells of every column.
    label : int or None
        Column that tells the class; None: there is one class.
    units : int
        Largest mass of one person.
    mass_public : bool
        Whether no neighbor can change the mass of all rows together.
    """

    sizes: tuple
    label: int | None = None
    units: int = 1
    mass_public: bool = False

    mass_block = 0

    @property
    def columns(self):
        """Places of the columns that have histograms."""
        return [place for place in range(len(self.sizes)) if place != self.label]

    @property
    def n_classes(self):
        """Number of classes."""
        return 1 if self.label is None else self.sizes[self.label]

    def zeros(self):
        """Return one zero a class, and one a class and cell."""
        n_cells = sum(self.sizes[place] for place in self.columns)
        shapes = (self.n_classes,), (self.n_classes, n_cells)
        return tuple(np.zeros(shape, dtype=np.int64) for shape in shapes)

    def count(self, state, chunk):
        """Add the masses of rows to their classes and cells."""
        classes = classes_of(chunk, self.label)
        state[0][:] += masses_at(classes, chunk, self.n_classes)
        start = 0
        for place in self.columns:
            size = self.sizes[place]
            found = masses_at(classes * size + cells_of(chunk, place), chunk, self.n_classes * size)
            state[1][:, start : start + size] += found.reshape(self.n_classes, size)
            start += size

    def blocks(self, state):
        """Return the masses of the classes, and those of their cells."""
        return state

    def sensitivity(self, relation):
        """A person has a mass of at most one in the classes, and in the cells of each column."""
        n, u = len(self.columns), self.units
        if relation == ADD_REMOVE:
            cases = [(1, n)]
        elif self.n_classes > 1:
            cases = [(2, 2 * n)]
        else:  # who moves within the one class changes no class, who loses weight moves less
            cases = [(0, 2 * n)] if self.mass_public else [(0, 2 * n), (1, n)]
        return Sensitivity(
            tuple((u * a, u * b) for a, b in cases),
            tuple((u * u * a, u * u * b) for a, b in cases),
        )


def cells_of(chunk, place):
    """Return the cells of rows in one column."""
    return chunk.X[:, place].astype(np.int64)


def classes_of(chunk, label):
    """Return the classes of rows."""
    return np.zeros(len(chunk.X), dtype=np.int64) if label is None else cells_of(chunk, label)


def masses_at(index, chunk, n_cells):
    """Return the mass of the rows at every index.

    Sums of integers in float64 are exact: a chunk has at most 2**19 rows of 2**20 units.
    """
    if chunk.masses is None:
        return np.bincount(index, minlength=n_cells)
    return np.bincount(index, weights=chunk.masses, minlength=n_cells).astype(np.int64)
