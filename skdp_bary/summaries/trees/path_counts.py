"""Counts on runs of leaves of a tree of cells, at the cost of the runs that are asked about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .hierarchy import TreeQuery


@dataclass(frozen=True, eq=False)
class PathCounts(TreeQuery):
    """Mass of every cell of partitions of the domain that may be adaptive: one block each.

    In the order of paths from the root a cell of any level is a run of leaves, so a partition is a
    list of edges: increasing, from 0 to the number of leaves. The edges are public or follow from
    earlier releases. A block holds the cells of the first class, of the second, and so on.

    Parameters
    ----------
    tree : CellTree
    n_classes : int
    units : int
        Largest mass of one person.
    total_public : bool
        True when no neighbor can change the mass of a class.
    block_weights : tuple of float or None
        Relative noise scale of each block; None: equal scales.
    partitions : tuple of tuple of ndarray
        For every block, the edges of each class.

    Notes
    -----
    The cells of one partition are disjoint and cover the domain, so a person adds their mass to one
    of them: joining changes a block by at most ``units`` in L1 and ``units**2`` in squared L2.
    Replacing a person takes their mass from one cell and gives as much, or less, to another: at
    most ``2 * units`` in L1 and ``2 * units**2`` in squared L2, and nothing where the whole domain
    is one cell and the mass of a class is public.
    """

    partitions: tuple = ()

    def __post_init__(self):
        for edges in (edges for block in self.partitions for edges in block):
            if edges[0] != 0 or edges[-1] != self.tree.n_cells or not (np.diff(edges) > 0).all():
                raise ValueError(
                    f"edges must increase from 0 to {self.tree.n_cells}, got {edges!r}."
                )
        if not self.partitions or any(len(block) != self.n_classes for block in self.partitions):
            raise ValueError("partitions need at least one block, with edges for every class.")

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the masses of the runs."""
        below = np.zeros((self.n_classes, self.tree.n_cells + 1), dtype=np.int64)
        np.cumsum(self.tree.in_path_order(state[0]), axis=1, out=below[:, 1:])
        return tuple(
            np.concatenate([np.diff(sums[edges]) for sums, edges in zip(below, block, strict=True)])
            for block in self.partitions
        )

    def _joins(self):
        return [1] * len(self.partitions), [1] * len(self.partitions)

    def _moves(self):
        changes = [2 * any(len(edges) > 2 for edges in block) for block in self.partitions]
        return [(changes, changes)]

    def _changes_class(self):
        return [2] * len(self.partitions), [2] * len(self.partitions)
