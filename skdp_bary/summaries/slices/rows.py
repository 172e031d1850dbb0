"""Projected rows themselves, for releases that add noise to every one of them."""

import math
from dataclasses import dataclass

import numpy as np

from ...exceptions import RelationError
from ...geometry._slices import SliceLattice
from ...privacy._neighbors import REPLACE_ONE, check_neighbors
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query


class RowPile:
    """Integer rows that were read, where other states hold their sum.

    Adding a pile puts its rows behind the own ones, so sketches merge as they do elsewhere. The
    order of the rows is that of reading, which the caller's containers decide and no value does.
    """

    def __init__(self, width):
        self._width = width
        self._parts = []

    @property
    def size(self):
        """Number of integers that are held."""
        return sum(part.size for part in self._parts)

    def append(self, rows):
        """Put rows behind those that are there."""
        self._parts.append(rows)

    def arrays(self):
        """Return what a journey to another machine takes: all rows."""
        return (np.concatenate([np.zeros((0, self._width), dtype=np.int16), *self._parts]),)

    def add_arrays(self, rows):
        """Put the rows that another pile sent behind those that are there."""
        self.append(rows)

    def __iadd__(self, other):
        self._parts += other._parts
        return self

    def table(self):
        """Return all rows as int64."""
        rows = [np.zeros((0, self._width), dtype=np.int64), *self._parts]
        return np.concatenate(rows, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ProjectedRows(Query):
    """The levels of every row's projections, one block a class.

    Only under "replace_one", where the number of rows of a class is public: as many rows come out
    as went in, one a person. A row that is replaced moves its own numbers and no others.

    Memory: 2 bytes a row and direction while rows are read, and 24 while noise is added.

    Parameters
    ----------
    lattice : SliceLattice
        Public domain and directions.
    n_classes : int
    """

    lattice: SliceLattice
    n_classes: int = 1

    in_threads = False  # rows stay in order, so that a seed gives each the same noise

    def zeros(self):
        """Return an empty pile a class."""
        return tuple(RowPile(self.lattice.n_directions) for _ in range(self.n_classes))

    def count(self, state, chunk):
        """Put the rows of a chunk on the piles of their classes."""
        if chunk.masses is not None:
            raise ValueError("Rows are released as they are: no masses can be given.")
        for code, pile in enumerate(state):
            X = chunk.X if chunk.codes is None else chunk.X[chunk.codes == code]
            projected = np.empty((len(X), self.lattice.n_directions), dtype=np.int16)
            for rows, directions, levels in self.lattice.levels(X):
                projected[rows, directions] = levels.T
            pile.append(projected)

    def blocks(self, state):
        """Return the rows of each class, relative to the center of the domain."""
        return tuple(pile.table() - self.lattice.center_level for pile in state)

    def sensitivity(self, relation):
        """Return the largest distance between the levels of two rows, in one class or another."""
        if check_neighbors(relation) != REPLACE_ONE:
            raise RelationError(
                f"Releasing every row shows their number: neighbors must be {REPLACE_ONE!r}, got "
                f"{relation!r}."
            )
        square = math.ceil(self.lattice.spread**2 * (1.0 + 2.0**-40))
        # Cauchy and Schwarz over the directions
        l1 = math.ceil(self.lattice.spread * math.sqrt(self.lattice.n_directions) + 2.0**-20)
        return Sensitivity(_one_block(l1, self.n_classes), _one_block(square, self.n_classes))


def _one_block(bound, n_blocks):
    """Return the cases in which one of the blocks changes."""
    return tuple(tuple(bound if i == j else 0 for j in range(n_blocks)) for i in range(n_blocks))


def shuffled(rows, noise):
    """Return released rows in a uniformly random order.

    Equal noise on every row, followed by shuffling, is shuffling followed by noise: what is
    released is a set, in which no place belongs to a person. In the order of the data, or with
    gaps, a random batch of rows would not hide who is in it.

    Parameters
    ----------
    rows : ndarray
        One row a person.
    noise : NoiseSource
        Where the order comes from.
    """
    keys = noise.words(len(rows))
    while np.unique(keys).size < keys.size:  # equal keys would keep the order of the data
        keys = noise.words(len(rows))
    return rows[np.argsort(keys)]
