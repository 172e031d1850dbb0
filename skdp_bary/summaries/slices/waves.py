"""Cosines and sines of slices of rows: features of norm at most one, read from a public table."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...geometry._unit_slices import UnitSlices
from ..asking.mapped import MappedRows
from ..asking.query import Query
from ..rows.persons import Chunk

_BLOCK = 1 << 13
_BELOW_ONE = 1.0 - 2.0**-40  # so that rounding leaves no row longer than one


@dataclass(frozen=True, eq=False)
class WavesOf(MappedRows):
    """Asks a query about cosines and sines of the slices of rows.

    A slice of a row is one of the levels of a lattice, by integers, and every level has one cosine
    and one sine in a table made of public numbers. So the features of a row are a function of that
    row alone, bit for bit, and the sum of their squares over the table is at most one.

    Parameters
    ----------
    slices : UnitSlices
    frequencies : tuple of float
        Of each direction, in units of the domain.
    query : Query
        About rows with twice as many features as there are directions.
    """

    slices: UnitSlices
    frequencies: tuple
    query: Query

    def count(self, state, chunk):
        """Add the images of the rows, some at a time."""
        for start in range(0, len(chunk.X), _BLOCK):
            part = slice(start, start + _BLOCK)
            masses = None if chunk.masses is None else chunk.masses[part]
            self.query.count(state, self.image(Chunk(chunk.X[part], None, masses)))

    def image(self, chunk):
        """Return the chunk with the waves of its rows."""
        return Chunk(self.features(chunk.X), None, chunk.masses)

    def features(self, X):
        """Return cosines, then sines, of all rows."""
        found = np.empty((len(X), 2, self.slices.n_directions))
        for rows, some, levels in self.slices.levels(X):
            places = np.arange(some.start, some.start + len(levels))
            found[rows, :, some] = self.table[:, places[:, None], levels].transpose(2, 0, 1)
        return found.reshape(len(X), -1)

    @cached_property
    def table(self):
        """Cosine and sine of every direction and level, of shape (2, n_directions, n_levels)."""
        slices = self.slices
        places = (np.arange(slices.n_levels) - slices.center_level) * slices.step
        phases = np.asarray(self.frequencies)[:, None] * places
        amplitude = _BELOW_ONE / slices.n_directions**0.5
        return amplitude * np.stack([np.cos(phases), np.sin(phases)])
