"""Divisions of a domain into disjoint cells, of which one row is in one at most."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...geometry._cell_tree import CellTree
from ...geometry._nested_cells import NestedCells
from .partition import QuadGrid


class Division(ABC):
    """One or several ways to divide a domain, in each of which every row has one cell, or none.

    Attributes
    ----------
    n_classes : int
    sizes : tuple of int
        Number of cells of each way, of all classes together.
    is_one_cell : tuple of bool
        Of each way, whether every class has one cell, which holds all of its rows.
    mass_block : int or None
        A way whose cells hold all rows, where sums must not grow too large.
    in_threads : bool
        Whether counters are few enough for every thread to have its own at hand.
    """

    n_classes = 1
    mass_block = None
    in_threads = False  # a counter a cell goes through memory, which threads share

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each way."""

    @property
    def is_one_cell(self) -> tuple[bool, ...]:
        """Of each way, whether every class has one cell."""
        return (False,) * len(self.sizes)

    @abstractmethod
    def places(self, X, codes):
        """Yield the cell of each row, way by way: a function of that row alone, -1 for none.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
        codes : int ndarray of shape (n_rows,) or None
            Classes of the rows.
        """


@dataclass(frozen=True, eq=False)
class GridDivision(Division):
    """Partitions of a square grid. Rows outside its domain are in no cell.

    Parameters
    ----------
    grid : QuadGrid
    partitions : tuple of Partition
    """

    grid: QuadGrid
    partitions: tuple

    in_threads = True

    def __post_init__(self):
        if not self.partitions or any(p.depth != self.grid.depth for p in self.partitions):
            raise ValueError("partitions must be partitions of the grid, at least one.")

    @property
    def sizes(self):
        """Number of cells of each partition."""
        return tuple(len(partition) for partition in self.partitions)

    def places(self, X, codes):
        """Yield the cells of the rows in each partition."""
        inside = self.grid.domain.contains(X)
        codes = self.grid.codes(X)
        for partition in self.partitions:
            yield np.where(inside, partition.locate(codes), -1)


@dataclass(frozen=True, eq=False)
class RunDivision(Division):
    """Runs of leaves of a tree of cells.

    In the order of paths from the root a cell of any level is a run of leaves, so cells that fill
    the domain are a list of edges: increasing, from 0 to the number of leaves.

    Parameters
    ----------
    tree : CellTree
    ways : tuple of tuple of ndarray
        For every way to divide the tree, the edges of each class.
    """

    tree: CellTree
    ways: tuple

    def __post_init__(self):
        if not self.ways or len({len(way) for way in self.ways}) != 1:
            raise ValueError("ways need at least one way, all with edges for every class.")
        for edges in (edges for way in self.ways for edges in way):
            if edges[0] != 0 or edges[-1] != self.tree.n_cells or not (np.diff(edges) > 0).all():
                raise ValueError(
                    f"edges must increase from 0 to {self.tree.n_cells}, got {edges!r}."
                )

    @property
    def n_classes(self):
        """Number of classes that have edges."""
        return len(self.ways[0])

    @property
    def sizes(self):
        """Number of runs of each way."""
        return tuple(sum(len(edges) - 1 for edges in way) for way in self.ways)

    @property
    def is_one_cell(self):
        """Whether the whole tree is one run, in every class."""
        return tuple(all(len(edges) == 2 for edges in way) for way in self.ways)

    def places(self, X, codes):
        """Yield the runs of the rows."""
        leaves = self.tree.leaf_index(X)
        if codes is not None and self.n_classes > 1:
            leaves += codes * self.tree.n_cells
        for run_of_leaf in self._runs_of_leaves:
            yield run_of_leaf[leaves]

    @cached_property
    def _runs_of_leaves(self):
        """For every way, the run of each leaf, class by class."""
        leaf_of_path = self.tree.in_path_order(np.arange(self.tree.n_cells))
        return tuple(_runs_of_leaves(leaf_of_path, way) for way in self.ways)

    def __getstate__(self):
        return {"tree": self.tree, "ways": self.ways}  # tables are made again where rows are


def _runs_of_leaves(leaf_of_path, way):
    runs = np.empty((len(way), len(leaf_of_path)), dtype=np.int64)
    first = 0
    for row, edges in zip(runs, way, strict=True):
        row[leaf_of_path] = first + np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        first += len(edges) - 1
    return runs.reshape(-1)


@dataclass(frozen=True, eq=False)
class NestedDivision(Division):
    """Cells of different sizes that fill a box.

    Parameters
    ----------
    cells : NestedCells
    """

    cells: NestedCells

    mass_block = 0

    @property
    def sizes(self):
        """Number of cells."""
        return (len(self.cells),)

    def places(self, X, codes):
        """Yield the cells of the rows."""
        yield self.cells.locate(X)
