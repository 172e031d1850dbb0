"""Trees of nested cells as flat arrays: grids of windows, refining, tilts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

# Trees of nested cells held as flat arrays.

_MAX_CODE_BITS = 62


@dataclass(frozen=True, eq=False)
class Tree:
    """Cells of a hierarchy of partitions, level by level.

    Parameters
    ----------
    chosen : tuple of ndarray of bool
        One mask per level. A chosen cell has its children listed in the next level, in its order;
        a cell that is not chosen is left out: it is listed, its children are not. In the last
        level a chosen cell is one that counts as measured.
    branching : tuple of int
        Number of children of a chosen cell, from each level to the next: 4 for a quadtree.
    top : int, default=0
        Depth of the first level below the whole domain.

    Notes
    -----
    The codes of the cells of the first level are 0, 1, 2, ... and that of a child is
    ``parent * branching + position``. In a quadtree the codes are Morton codes.
    """

    chosen: tuple
    branching: tuple
    top: int = 0

    def __post_init__(self):
        masks = tuple(np.array(mask, dtype=bool) for mask in self.chosen)
        for mask in masks:
            mask.flags.writeable = False
        object.__setattr__(self, "chosen", masks)
        pairs = zip(masks[:-1], self.branching, strict=True)
        expected = [b * int(np.count_nonzero(mask)) for mask, b in pairs]
        if [mask.size for mask in masks[1:]] != expected:
            raise ValueError(
                f"`chosen` needs the {expected} children of the cells chosen one level above, got "
                f"{self.sizes[1:]} cells."
            )

    @classmethod
    def complete(cls, depth, *, branching=4, top=0):
        """Return the tree of all cells of the levels `top`, ..., `top + depth`, all chosen."""
        sizes = [branching ** (top + k) for k in range(depth + 1)]
        return cls(tuple(np.ones(n, dtype=bool) for n in sizes), (branching,) * depth, top)

    @property
    def depth(self):
        """Number of steps from the first level to the last."""
        return len(self.branching)

    @property
    def sizes(self):
        """Number of cells listed in each level."""
        return tuple(mask.size for mask in self.chosen)

    @cached_property
    def codes(self):
        """Codes of the listed cells, one int64 array per level."""
        codes = [np.arange(self.sizes[0])]
        bits = sum((n - 1).bit_length() for n in (max(self.sizes[0], 1), *self.branching))
        if bits > _MAX_CODE_BITS:
            raise ValueError(
                f"The codes of a tree must have at most {_MAX_CODE_BITS} bits, got {bits}: list "
                "fewer levels."
            )
        for mask, b in zip(self.chosen[:-1], self.branching, strict=True):
            codes.append(child_codes(codes[-1][mask], b))
        return tuple(codes)

    @cached_property
    def outer(self):
        """Masks of the cells whose children are not listed."""
        return (*(~mask for mask in self.chosen[:-1]), np.ones(self.sizes[-1], dtype=bool))

    def leaves(self, values):
        """Return the levels, codes and values of the cells whose children are not listed.

        These cells are disjoint and cover the cells of the first level.
        """
        values = self.check(values, "values")
        counts = [np.count_nonzero(mask) for mask in self.outer]
        levels = np.repeat(self.top + np.arange(self.depth + 1), counts)
        codes = np.concatenate([c[mask] for c, mask in zip(self.codes, self.outer, strict=True)])
        outer_values = [v[mask] for v, mask in zip(values, self.outer, strict=True)]
        return levels, codes, np.concatenate(outer_values)

    def check(self, values, name):
        """Return `values` as a tuple of float arrays, one number per cell of each level."""
        levels = tuple(np.asarray(v, dtype=float) for v in values)
        shapes = tuple(v.shape for v in levels)
        if shapes != tuple((n,) for n in self.sizes):
            raise ValueError(
                f"`{name}` needs one flat array per level of lengths {self.sizes}, "
                f"got shapes {shapes}."
            )
        return levels


def child_codes(codes, branching=4):
    """Return the codes of all children of the cells `codes`, in order."""
    return (codes[:, None] * branching + np.arange(branching)).ravel()


def cell_codes(rows, columns):
    """Return the quadtree codes of cells given by integer row and column, up to 2**31."""
    return (_spread_bits(rows) << 1) | _spread_bits(columns)


def cell_positions(codes):
    """Return the rows and columns of cells given by their quadtree codes."""
    codes = np.asarray(codes, dtype=np.int64)
    return _gather_bits(codes >> 1), _gather_bits(codes)


def _spread_bits(x):
    x = np.asarray(x, dtype=np.int64)
    for shift, keep in zip((16, 8, 4, 2, 1), _SPREAD_MASKS, strict=True):
        x = (x | (x << shift)) & keep
    return x


def _gather_bits(x):
    x = x & _SPREAD_MASKS[-1]
    for shift, keep in zip((1, 2, 4, 8, 16), (*_SPREAD_MASKS[-2::-1], 0xFFFFFFFF), strict=True):
        x = (x | (x >> shift)) & keep
    return x


# Keep every group of 16, 8, 4, 2, 1 bits that `_spread_bits` has just moved apart.
_SPREAD_MASKS = (
    0x0000FFFF0000FFFF,
    0x00FF00FF00FF00FF,
    0x0F0F0F0F0F0F0F0F,
    0x3333333333333333,
    0x5555555555555555,
)


# Windows of masses of the cells of a tree, level by level, and the batches that are split.


class Grid:
    """Windows of whole units of mass, from `lo` to `hi`, of the cells of one level.

    Arrays on it have as last axis the window of the first cell, of the second, and so on.
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
        """Places of the windows of some cells, from place `first` of `length`; -1 next to them."""
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
        """The same places, each window in its own row, -1 next to it."""
        return self._children.windows(self.blocks, self.width)


def ranges(starts, sizes):
    """Concatenate the ranges of the given sizes from the given starts."""
    offsets = np.cumsum(sizes) - sizes
    return np.repeat(starts - offsets, sizes) + np.arange(sizes.sum())


# Trees that go deeper where masses call for it.


def refine(tree, masses, least, branching):
    """Return the tree in which every leaf is split, again and again, while its parts show.

    A leaf is split while its mass is at least `least` and it is above the last level; each of its
    parts counts with an equal share of its mass.

    Parameters
    ----------
    tree : Tree
    masses : sequence of ndarray
        Of the cells of each of its levels.
    least : float
    branching : tuple of int
        Number of children of a cell of each level of the deepest tree there may be.
    """
    chosen, origin, mass = [], np.arange(tree.sizes[0]), masses[0]
    for k, b in enumerate(branching):
        inner = np.zeros(len(origin), dtype=bool)
        if k < tree.depth:
            inner = np.where(origin >= 0, tree.chosen[k][origin], False)
        split = inner | (mass >= least)
        if not split.any():
            break
        chosen.append(split)
        mass, parents = np.repeat(mass[split] / b, b), origin[split]
        origin = np.full(len(mass), -1)  # places in `tree`, -1 for cells that it does not list
        if k < tree.depth:
            rank = np.cumsum(tree.chosen[k]) - 1
            known = (parents >= 0) & tree.chosen[k][parents]
            first = np.where(known, b * rank[parents], -1)
            origin = np.where(known[:, None], first[:, None] + np.arange(b), -1).ravel()
            mass = np.where(origin >= 0, masses[k + 1][origin], mass)
    chosen.append(np.zeros(len(origin), dtype=bool))
    return Tree(tuple(chosen), tuple(branching[: len(chosen) - 1]))


# Factors of a convolution tilted to where the masses that matter are.

_MAX_STEPS = 100
_FIRST = 0.3  # of Newton's method at most: the rates of noise are about that a unit
FAR = 3.0  # standard deviations from a bulk: there even a skewed tail is above rounding


def tilt(logs, theta):
    """Numbers with the given logs plus theta * place, divided by the largest; the log of that.

    There is one theta for every entry of the leading axes of `logs`.
    """
    if theta.any():
        theta = theta.reshape(theta.shape + (1,) * (logs.ndim - theta.ndim))
        logs = logs + theta * np.arange(logs.shape[-1])
    scales = logs.max(axis=-1)
    return np.exp(logs - scales[..., None]), scales


def balance_tilts(children, target):
    """Theta at which the sum of the children has its mean at `target`, or about as near as spread.

    There their product is largest against its rounding. Newton's method inside a bracket.
    """
    theta, left = np.zeros(len(children)), np.arange(len(children))
    low, high = np.full(len(children), -np.inf), np.full(len(children), np.inf)
    for _ in range(_MAX_STEPS):
        means, variances = _moments(tilt(children, theta[left])[0])
        gap, spread = target[left] - means.sum(axis=1), variances.sum(axis=1)
        far = np.abs(gap) > 1 + np.sqrt(spread)
        if not far.any():
            break
        if not far.all():
            children, left, gap, spread = children[far], left[far], gap[far], spread[far]
        here = theta[left]
        low[left], high[left] = np.where(gap > 0, (here, high[left]), (low[left], here))
        reach = _FIRST + np.abs(here)  # at most doubles a tilt
        newton = here + np.clip(gap / np.maximum(spread, 1e-12), -reach, reach)
        middle = (low[left] + high[left]) / 2
        middle = np.where(np.isfinite(middle), middle, newton)
        theta[left] = np.where((newton > low[left]) & (newton < high[left]), newton, middle)
    return theta


def _moments(numbers):
    """Mean place and its variance, for numbers proportional to probabilities."""
    place = np.arange(numbers.shape[-1], dtype=float)
    total = numbers.sum(axis=-1)
    mean = numbers @ place / total
    return mean, np.maximum(numbers @ place**2 / total - mean**2, 0.0)


def near(numbers, target, length):
    """Places that the sum of some children reaches well; axis 1 are the children."""
    means, variances = _moments(numbers)
    gap = np.abs(np.arange(length) - means.sum(axis=1)[:, None])
    near = gap <= FAR * np.sqrt(variances.sum(axis=1))[:, None]
    return near | (np.arange(length) == target[:, None])
