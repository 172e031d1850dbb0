"""Counts on cells: disjoint ones, quadtrees, levels of a binary tree, Haar differences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from ..desk.query import Query
from ..geometry.cells import CellTree, NestedCells
from ..privacy.mechanisms import Sensitivity
from ..rows.persons import Chunk
from ..transport.trees import cell_codes, cell_positions
from .sizes import Sums, cases_of, in_units, masses_at, zeros_of

# Counts on disjoint cells, which public facts or earlier answers have chosen.


@dataclass(frozen=True, eq=False)
class DisjointCounts(Sums):
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
    block_weights : tuple of float, default=None
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

    in_threads = property(attrgetter("cells.in_threads"))
    mass_block = property(attrgetter("cells.mass_block"))

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return one zero a cell."""
        return zeros_of(*self.cells.sizes)

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the masses of the rows to their cells."""
        found = self.cells.places(chunk.X, chunk.codes)
        for counts, places in zip(state, found, strict=True):
            counts += masses_at(places + 1, chunk.masses, len(counts) + 1)[1:]

    def weights(self) -> tuple[float, ...] | None:
        """Return the relative noise scales."""
        return self.block_weights

    def sensitivity(self, relation: str) -> Sensitivity:
        """Sensitivity of the blocks to one person, case by case."""
        n_blocks = len(self.cells.sizes)
        moves = tuple(0 if is_one else 2 for is_one in self.cells.is_one_cell)
        changes = [(2,) * n_blocks] if self.cells.n_classes > 1 else []
        cases = cases_of(self, relation, [(1,) * n_blocks], [moves], changes)
        # in units a person moves a block by no more in squared L2 than in L1
        return in_units(self.units, cases, cases)


# Divisions of a domain into disjoint cells, of which one row is in one at most.


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
        leaves, n_cells = self.tree.leaf_index(X), self.tree.n_cells
        shift = 0 if codes is None or self.n_classes == 1 else codes * n_cells
        if len(X) < n_cells >> 2:  # a table of all leaves would take longer
            paths = self.tree.paths_of(leaves) + shift
            for way in self.ways:
                starts = [edges[:-1] + c * n_cells for c, edges in enumerate(way)]
                yield np.searchsorted(np.concatenate(starts), paths, side="right") - 1
        else:
            paths = self.tree.paths_of(np.arange(n_cells))
            for way in self.ways:  # a table that was kept would tell how many rows there were
                lengths = np.concatenate([np.diff(edges) for edges in way])
                run_of_path = np.repeat(np.arange(len(lengths)), lengths)
                yield run_of_path.reshape(self.n_classes, -1)[:, paths].ravel()[leaves + shift]


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


# Cells of a quadtree that do not overlap, at the cost of the cells that are asked about.

MAX_GRID_DEPTH = 24


@dataclass(frozen=True)
class QuadGrid:
    """A square grid of cells on the bounding box of a domain of the plane.

    Parameters
    ----------
    domain : Box, Ball or Mask
        Its first coordinate runs along the columns of the grid, its second along the rows.
    depth : int
        The grid has ``2**depth`` rows and columns.
    """

    domain: object
    depth: int

    def __post_init__(self):
        if not 0 <= self.depth <= MAX_GRID_DEPTH:
            raise ValueError(f"depth must be in [0, {MAX_GRID_DEPTH}], got {self.depth}.")

    @property
    def side(self):
        """Number of rows and of columns."""
        return 1 << self.depth

    def codes(self, X):
        """Return the Morton code of the cell of each row; rows outside go to the border.

        The code is a function of each row alone.
        """
        low, width = self._low_and_width
        with np.errstate(over="ignore"):
            # axis by axis: numpy is slow along lines of two numbers
            places = np.subtract(X[:, :2].T, low[:, None], order="C")
            places *= (self.side / width)[:, None]
        columns, rows = np.clip(places, 0, self.side - 1, out=places).astype(np.int64)
        return cell_codes(rows, columns)

    def corners(self, levels, codes):
        """Return the lower and the upper corners of quadtree cells, of shape (n_cells, 2)."""
        rows, columns = cell_positions(codes)
        places = np.stack([columns, rows], axis=1)
        scale = np.exp2(-np.asarray(levels, dtype=float))[:, None]
        low, width = self._low_and_width
        return low + width * (places * scale), low + width * ((places + 1) * scale)

    @property
    def _low_and_width(self):
        low = np.asarray(self.domain.low, dtype=float)[:2]
        return low, np.asarray(self.domain.high, dtype=float)[:2] - low


@dataclass(frozen=True, eq=False)
class Partition:
    """Quadtree cells of which none contains another, in Morton order.

    Parameters
    ----------
    depth : int
        Depth of the grid.
    levels, codes : ndarray of int64
        Level and Morton code, at that level, of each cell.
    """

    depth: int
    levels: np.ndarray
    codes: np.ndarray

    def __post_init__(self):
        levels, codes = (np.asarray(a, dtype=np.int64) for a in (self.levels, self.codes))
        if levels.ndim != 1 or levels.shape != codes.shape or not levels.size:
            raise ValueError(
                "levels and codes must be flat, of equal length and not empty, "
                f"got shapes {levels.shape} and {codes.shape}."
            )
        if levels.min() < 0 or levels.max() > self.depth:
            raise ValueError(f"levels must be in [0, {self.depth}], got {levels!r}.")
        if codes.min() < 0 or (codes >> (2 * levels)).any():
            raise ValueError("codes must lie within their level.")
        # at the depth of the grid a cell of any level is an interval of Morton codes
        order = np.argsort(codes << 2 * (self.depth - levels), kind="stable")
        for name, values in (("levels", levels[order]), ("codes", codes[order])):
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        starts, ends = self.intervals()
        if (ends[:-1] > starts[1:]).any():
            raise ValueError("No cell of a partition may contain another.")

    @classmethod
    def complete(cls, depth, level):
        """Return all cells of one level."""
        codes = np.arange(4**level, dtype=np.int64)
        return cls(depth, np.full(codes.size, level), codes)

    def __len__(self):
        return len(self.codes)

    def intervals(self):
        """Return the first Morton code of every cell at the depth of the grid, and one past it."""
        shift = 2 * (self.depth - self.levels)
        return self.codes << shift, (self.codes + 1) << shift

    def locate(self, codes):
        """Return the place of the cell that holds each code of the grid, or -1 where none does."""
        finest = int(self.levels.max())
        if 4**finest > len(codes):
            return self._search(codes)
        # so many rows that every cell of the finest level is looked up first, once
        shift = 2 * (self.depth - finest)
        return self._search(np.arange(4**finest, dtype=np.int64) << shift)[codes >> shift]

    def _search(self, codes):
        starts, ends = self.intervals()
        place = np.searchsorted(starts, codes, side="right") - 1
        return np.where(codes < ends[place], place, -1)


# Counts on the binary tree of cells of a public domain, and their Haar differences.


@dataclass(frozen=True)
class TreeQuery(Query):
    """Mass of the cells of a tree, for each of several public classes.

    The state is one count a leaf and class; every block is a linear map of it.

    Parameters
    ----------
    tree : CellTree
    n_classes : int
    units : int
        Largest mass of one person.
    total_public : bool
        True when no neighbor can change the mass of a class (the first block is then exact).
    block_weights : tuple of float or None
        Relative noise scale of each block: the total first, then one block a level.
    """

    in_threads = False  # a counter a leaf goes through memory, which threads share

    tree: CellTree
    n_classes: int = 1
    units: int = 1
    total_public: bool = False
    block_weights: tuple | None = None

    def zeros(self) -> tuple[np.ndarray, ...]:
        """Return one zero a class and leaf."""
        return (np.zeros((self.n_classes, self.tree.n_cells), dtype=np.int64),)

    def count(self, state: tuple[np.ndarray, ...], chunk: Chunk) -> None:
        """Add the masses of the chunk's rows to their leaves."""
        leaves = state[0].reshape(-1)
        index = self.tree.leaf_index(chunk.X)
        if chunk.codes is not None and self.n_classes > 1:
            index += chunk.codes * self.tree.n_cells
        leaves += masses_at(index, chunk.masses, leaves.size)

    def weights(self) -> tuple[float, ...] | None:
        """Return the relative noise scales."""
        return self.block_weights

    def sensitivity(self, relation: str) -> Sensitivity:
        """Sensitivity of the blocks to one person, case by case."""
        n = self._n_blocks
        joins = [([1] * n, [1] * n)]  # one path, from the total to a leaf
        changes = [([2] * n, [2] * n)] if self.n_classes > 1 else []  # two, from the totals down
        cases = cases_of(self, relation, joins, self._moves(), changes)
        return in_units(self.units, *zip(*cases, strict=True))

    @property
    def _n_blocks(self):
        return self.tree.depth + 1

    @abstractmethod
    def _moves(self):
        """Cases of a person moving within a class: pairs (L1, squared L2) of each block."""


@dataclass(frozen=True)
class HaarDifferences(TreeQuery):
    """Totals, and first half minus second half of every inner cell.

    A split released this way has half the noise variance of two noisy counts, and the cells below
    it add up to it by construction.
    """

    def blocks(self, state):
        """Return the totals, then the differences of the cells of level 0 to the last but one."""
        sums, differences = state[0], []
        for level in range(self.tree.depth - 1, -1, -1):
            # from the leaves up: a cell is the sum of its halves
            first, second = self.tree.halves(sums, level)
            differences.append(first - second)
            sums = first + second
        return (sums, *reversed(differences))

    def _moves(self):
        # Two paths that part at split i agree above it, change that difference from +1 to -1, and
        # change one difference each on every level below.
        depth = self.tree.depth
        cases = []
        for i in range(depth):
            above, below = [0] * (1 + i), depth - i - 1
            cases.append((above + [2] * (1 + below), above + [4] + [2] * below))
        return cases or [([0], [0])]


# Counts on some of the levels of a tree of cells.


@dataclass(frozen=True)
class LevelCounts(TreeQuery):
    """Mass of every cell of chosen levels: blocks of shape ``(n_classes, 2**level)``.

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
    levels : tuple of int
        Increasing, the last one the depth of the tree. Empty: all levels.
    """

    levels: tuple = ()

    def blocks(self, state: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Return the cells of the levels, the fewest first."""
        sums, blocks = state[0], []
        for level in range(self.tree.depth, self._levels[0] - 1, -1):
            if level in self._levels:
                blocks.append(sums)
            if level > self._levels[0]:
                sums = np.add(*self.tree.halves(sums, level - 1))
        return tuple(reversed(blocks))

    @property
    def _levels(self):
        return self.levels or range(self.tree.depth + 1)

    @property
    def _n_blocks(self):
        return len(self._levels)

    def _moves(self):
        """A person leaves one cell of every level below the root and enters another."""
        changes = [2 if level else 0 for level in self._levels]
        return [(changes, changes)]
