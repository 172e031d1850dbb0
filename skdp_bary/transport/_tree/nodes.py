"""Trees of nested cells held as flat arrays.

A level is a flat array of cells; the children of one cell are contiguous in the next level. A
tree holds only the cells that somebody asked about, so a tree of 2**24 by 2**24 pixels costs what
its listed cells cost.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
    roots : ndarray of int64, default=None
        Codes of the cells of the first level; None for 0, 1, 2, ...

    Notes
    -----
    The code of a child is ``parent * branching + position``. In a quadtree the codes are Morton
    codes.
    """

    chosen: tuple
    branching: tuple
    top: int = 0
    roots: np.ndarray | None = None

    def __post_init__(self):
        if len(self.branching) != len(self.chosen) - 1:
            raise ValueError(
                "`branching` needs one entry per step between levels, got "
                f"{len(self.branching)} entries for {len(self.chosen)} levels."
            )
        if min(self.branching, default=2) < 2:
            raise ValueError(f"`branching` needs integers >= 2, got {self.branching!r}.")
        object.__setattr__(self, "chosen", tuple(_frozen_mask(mask) for mask in self.chosen))
        for level, b in enumerate(self.branching):
            expected = b * np.count_nonzero(self.chosen[level])
            if self.chosen[level + 1].size != expected:
                raise ValueError(
                    f"`chosen[{level + 1}]` needs the {expected} children of the cells chosen one "
                    f"level above, got {self.chosen[level + 1].size} cells."
                )
        if self.roots is not None and len(self.roots) != self.chosen[0].size:
            raise ValueError(
                f"`roots` needs one code for each of the {self.chosen[0].size} cells of the first "
                f"level, got {len(self.roots)}."
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
        roots = np.arange(self.sizes[0]) if self.roots is None else self.roots
        codes = [np.asarray(roots, dtype=np.int64)]
        bits = int(codes[0].max(initial=0)).bit_length() + sum(
            (b - 1).bit_length() for b in self.branching
        )
        if bits > _MAX_CODE_BITS:
            raise ValueError(
                f"The codes of this tree need {bits} bits; at most {_MAX_CODE_BITS} are allowed."
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


def top_cells(values, w):
    """Return the mask of the `w` largest values; of equal ones, those that come first."""
    if w < 1:
        raise ValueError(f"`w` must be at least 1, got {w}.")
    if np.isnan(values).any():
        raise ValueError("`values` must not contain NaN.")
    chosen = np.ones(len(values), dtype=bool)
    if w < len(values):
        chosen[np.argsort(-values, kind="stable")[w:]] = False
    return chosen


def cell_codes(rows, columns):
    """Return the quadtree codes of cells given by integer row and column, up to 2**31."""
    return (_spread_bits(rows) << 1) | _spread_bits(columns)


def cell_positions(codes):
    """Return the rows and columns of cells given by their quadtree codes."""
    codes = np.asarray(codes, dtype=np.int64)
    return _gather_bits(codes >> 1), _gather_bits(codes)


def _frozen_mask(mask):
    mask = np.array(mask, dtype=bool)
    if mask.ndim != 1:
        raise ValueError(f"`chosen` needs flat masks, got one of shape {mask.shape}.")
    mask.flags.writeable = False
    return mask


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
