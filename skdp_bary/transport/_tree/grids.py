"""Windows of masses of the cells of a tree, level by level, and the batches that are split."""

import numpy as np


class Grid:
    """Windows of whole units of mass, from `lo` to `hi`, of the cells of one level.

    What lives on it has as last axis the window of the first cell, of the second, and so on.
    """

    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi
        self.sizes = hi - lo + 1
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.units = self.spread(lo - self.starts) + np.arange(self.sizes.sum())

    def spread(self, per_cell):
        """Repeat one number per cell along its window."""
        return np.repeat(per_cell, self.sizes, axis=-1)

    def windows(self, cells, length, first=0):
        """Places of the windows of some cells, from place `first` of `length`; -1 beside them."""
        place = np.arange(length) - np.asarray(first)[..., None]
        sizes, starts = self.sizes[cells][..., None], self.starts[cells][..., None]
        return np.where((place >= 0) & (place < sizes), starts + place, -1)

    def sum(self, flat):
        """Sum over the window of each cell."""
        return np.add.reduceat(flat, self.starts, axis=-1) if flat.size else flat

    def normalize(self, log):
        """Return the numbers with these logs divided by their sum in each cell, and its log."""
        largest = np.maximum.reduceat(log, self.starts, axis=-1) if log.size else log
        numbers = np.exp(log - self.spread(largest))
        sums = self.sum(numbers)
        return numbers / self.spread(sums), largest + np.log(sums)

    def depths(self, log):
        """How far numbers with these logs fall in the window of each cell."""
        if not log.size:
            return np.zeros((len(log), len(self.lo)))
        highest = np.maximum.reduceat(log, self.starts, axis=-1)
        return highest - np.minimum.reduceat(log, self.starts, axis=-1)


class Batch:
    """Cells that are split, whose convolutions have one length, and where their windows are.

    Parameters
    ----------
    split : Split
    rows : ndarray of int
        Places of the cells among those that are chosen.
    length : int
    """

    def __init__(self, split, rows, length):
        self.rows, self.length = rows, length
        self.cells, self.blocks = split.chosen[rows], split.blocks[rows]
        self._parents, self._children = split.parents, split.children
        self.sizes = split.parents.sizes[self.cells]
        self.first = split.parents.lo[self.cells] - split.base[rows]
        self.width = int(split.children.sizes[self.blocks].max())
        self.child_sizes = split.children.sizes[self.blocks].ravel()

    @property
    def places(self):
        """Places of the windows on the grid of the parents."""
        return ranges(self._parents.starts[self.cells], self.sizes)

    @property
    def child_places(self):
        """Places of the windows of the children on their grid."""
        return ranges(self._children.starts[self.blocks].ravel(), self.child_sizes)

    @property
    def child_starts(self):
        """Where the windows of the children start, the windows of the batch standing in a row."""
        return (np.cumsum(self.child_sizes) - self.child_sizes).reshape(self.blocks.shape)

    @property
    def window(self):
        """The same places, each window in a row of its own, -1 beside it."""
        return self._children.windows(self.blocks, self.width)


def ranges(starts, sizes):
    """Concatenate the ranges of the given sizes from the given starts."""
    offsets = np.cumsum(sizes) - sizes
    return np.repeat(starts - offsets, sizes) + np.arange(sizes.sum())
