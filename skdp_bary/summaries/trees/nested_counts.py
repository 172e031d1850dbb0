"""Counts on cells of different sizes, which earlier answers have chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...geometry._nested_cells import NestedCells
from ...privacy._neighbors import ADD_REMOVE, check_neighbors
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query

if TYPE_CHECKING:
    from ...summaries.rows.persons import Chunk


@dataclass(frozen=True, eq=False)
class NestedCounts(Query):
    """Mass in every cell of NestedCells: one block.

    Parameters
    ----------
    cells : NestedCells
        Chosen by public facts and earlier releases.
    units : int, default=1
        Largest mass of one person.

    Notes
    -----
    The cells are disjoint and a row lies in one of them, whatever the other rows are. So a person
    adds a vector of non-negative integers with sum at most ``units``: joining moves the block by at
    most ``units`` in L1 and ``units**2`` in squared L2. Replacing a person moves it by the
    difference of two such vectors: at most ``2 * units`` in L1, and in squared L2 at most
    ``2 * units**2``, because the product of two non-negative vectors is not negative.
    """

    in_threads = False  # a counter a cell goes through memory, which threads share

    cells: NestedCells
    units: int = 1

    mass_block = 0

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return one zero a cell."""
        return (np.zeros(len(self.cells), dtype=np.int64),)

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the masses of the rows to their cells."""
        index = self.cells.locate(chunk.X)
        # sums of integers in float64 are exact: 2**32 rows of 2**20 units stay below 2**53
        sums = np.bincount(index, weights=chunk.masses, minlength=len(self.cells))
        state[0][:] += sums.astype(np.int64)

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the counts."""
        return (state[0].copy(),)

    def sensitivity(self, relation: str) -> Sensitivity:
        """Return how far one person moves the counts."""
        moved = 1 if check_neighbors(relation) == ADD_REMOVE else 2
        return Sensitivity(((moved * self.units,),), ((moved * self.units**2,),))
