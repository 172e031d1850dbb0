"""Counts on disjoint cells, which public facts or earlier answers have chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...privacy._neighbors import ADD_REMOVE, REPLACE_ANY
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query

if TYPE_CHECKING:
    from ...summaries.rows.persons import Chunk
    from .divisions import Division


@dataclass(frozen=True, eq=False)
class DisjointCounts(Query):
    """Mass in the cells of one or several divisions of a domain, one block each.

    A block holds the cells of the first class, of the second, and so on.

    Parameters
    ----------
    cells : Division
        Chosen by public facts and earlier releases.
    units : int, default=1
        Largest mass of one person.
    total_public : bool, default=False
        True when no neighbor can change the mass of a class.
    block_weights : tuple of float or None, default=None
        Relative noise scale of each block; None: equal scales.

    Notes
    -----
    In one block a row counts in at most one cell of its class, whatever the other rows are. So a
    person with mass m adds a vector of non-negative integers with sum at most m <= ``units``:
    joining moves a block by at most ``units`` in L1 and ``units**2`` in squared L2. Another person
    with mass n in the same place, m >= n, moves it by the difference of two such vectors: at most
    m + n in L1 and m^2 + n^2 in squared L2, because the product of two non-negative vectors is not
    negative. That is twice what joining does at most, and so it is for a person who changes the
    class.

    Where a block has one cell a class, which holds all of its rows, a person who stays in the class
    moves it by m - n only: by nothing where the mass of a class is public. Else let m be ``units``
    and n be t of it: this block moves by 1 - t of ``units`` in L1 and (1 - t)^2 <= 1 - t of
    ``units**2`` in squared L2, all others by 1 + t and 1 + t^2 <= 1 + t. That is t of a move
    between equal masses, (0, 2), and 1 - t of joining, (1, 1), which are the cases.
    """

    cells: Division
    units: int = 1
    total_public: bool = False
    block_weights: tuple | None = None

    @property
    def in_threads(self):
        """Whether counters are few enough for every thread to have its own at hand."""
        return self.cells.in_threads

    @property
    def mass_block(self):
        """Block whose entries add up to the mass of all rows, if there is one that has to."""
        return self.cells.mass_block

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return one zero a cell."""
        return tuple(np.zeros(size, dtype=np.int64) for size in self.cells.sizes)

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the masses of the rows to their cells."""
        found = self.cells.places(chunk.X, chunk.codes)
        for counts, places in zip(state, found, strict=True):
            # sums of integers in float64 are exact: 2**32 rows of 2**20 units stay below 2**53
            sums = np.bincount(places + 1, weights=chunk.masses, minlength=len(counts) + 1)
            counts += sums[1:].astype(np.int64)

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the counts."""
        return tuple(counts.copy() for counts in state)

    def weights(self) -> tuple[float, ...] | None:
        """Return the relative noise scales."""
        return self.block_weights

    def sensitivity(self, relation: str) -> Sensitivity:
        """Return how far one person moves the blocks, case by case."""
        cells, n_blocks = self.cells, len(self.cells.sizes)
        joins, moves_two = (1,) * n_blocks, (2,) * n_blocks
        if relation == ADD_REMOVE:
            return self._times_units([joins])
        if not any(cells.is_one_cell):
            return self._times_units([moves_two])
        cases = [tuple(0 if is_one else 2 for is_one in cells.is_one_cell)]
        if not self.total_public:
            cases.append(joins)
        if relation == REPLACE_ANY and cells.n_classes > 1:
            cases.append(moves_two)
        return self._times_units(cases)

    def _times_units(self, cases):
        """In units a person moves a block by no more in squared L2 than in L1."""
        u = self.units
        return Sensitivity(
            tuple(tuple(u * n for n in case) for case in cases),
            tuple(tuple(u * u * n for n in case) for case in cases),
        )
