"""Slices of rows whose features are first scaled to the width of their public domain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ._ball import Ball
from ._directions import public_directions
from ._domains import Box, Domain
from ._slices import SliceLattice

_LEVEL_BITS = 10
_DIRECTIONS = 60  # at most: whole frames, or orthonormal ones above so many features
_PLANES = 120  # two directions each
_ROWS = 1 << 12  # whose cells are found at once


@dataclass(frozen=True, eq=False)
class UnitSlices(SliceLattice):
    """Levels of rows on slices of the unit box, or of a ball that is as wide.

    A row is clipped to its domain, and every feature becomes its distance from the center over its
    scale; from there on it is a row of a :class:`SliceLattice`. Each value is scaled by itself, so
    the levels of a row are a function of that row alone.

    Parameters
    ----------
    domain : Box or Ball
        Of scaled rows.
    directions : ndarray of shape (n_features, n_directions)
        Public unit columns.
    rows : Domain
        Public domain of the rows as they come.
    scale : ndarray of shape (n_features,)
        What is one unit of each feature.
    """

    rows: Domain
    scale: np.ndarray

    n_levels = (1 << _LEVEL_BITS) + 1  # fewer: cells are wide, and windows over levels take time
    center_level = 1 << (_LEVEL_BITS - 1)

    def levels(self, X):
        """Yield (rows, directions, levels) for blocks of `X`, as ``SliceLattice`` does."""
        fewer = (SliceLattice.n_levels - 1).bit_length() - 1 - _LEVEL_BITS
        for rows, some, levels in self.fine_levels(X):
            yield rows, some, levels >> fewer

    def fine_levels(self, X):
        """Yield the same before levels are made fewer: four times as many."""
        return super().levels(self.scaled(X))

    def scaled(self, X):
        """Return rows in units of their domain."""
        return (self.rows.clip(X) - self.rows.center) / self.scale

    def unscaled(self, points):
        """Return the rows that scaled points stand for."""
        return self.rows.center + np.asarray(points) * self.scale


@dataclass(frozen=True, eq=False)
class UnitPlanes:
    """Squares that rows fall into on public planes, each spanned by two slices.

    Both slices of a plane are cut into pieces of equal width, which are numbered in turn from 0 to
    31 and then from 0 again; two such numbers make one of 1024 squares. The center of the domain
    is at the lower border of square 0. On the line both slices are one; pieces of the second are
    wider there, so that rows far apart do not get two equal numbers. Squares stand where levels of
    slices do, so everything that counts rows by levels counts them by squares.

    Parameters
    ----------
    slices : UnitSlices
        Twice as many as there are planes; two in a row span one.
    width : int
        Fine levels in a piece of the first slice.
    """

    slices: UnitSlices
    width: int

    side = 32
    n_levels = side**2
    center_level = 0

    @property
    def n_directions(self):
        """Number of planes."""
        return self.slices.n_directions // 2

    def levels(self, X):
        """Yield (rows, planes, squares) for blocks of `X`, as ``SliceLattice`` does."""
        fine = np.arange(SliceLattice.n_levels) - SliceLattice.center_level
        other = self.width if self.slices.rows.n_features > 1 else self.width * 7 // 4
        piece_of = [(fine // width % self.side).astype(np.uint8) for width in (self.width, other)]
        for start in range(0, len(X), _ROWS):
            part = slice(start, min(start + _ROWS, len(X)))
            pieces = np.empty((self.slices.n_directions, part.stop - start), dtype=np.uint8)
            for rows, some, levels in self.slices.fine_levels(X[part]):
                for direction, line in enumerate(levels, some.start):
                    pieces[direction, rows] = piece_of[direction % 2][line]
            squares = pieces[::2] * np.int64(self.side) + pieces[1::2]
            yield part, slice(0, self.n_directions), squares


def unit_slices(domain, directions):
    """Return the slices of a public domain.

    A box, or the box around a mask, becomes ``[-1, 1]`` in every feature. A ball becomes one on
    which a uniform row varies as much on a slice as in that box.

    Parameters
    ----------
    domain : Box, Ball or Mask
    directions : ndarray of shape (n_features, n_directions)
    """
    d = domain.n_features
    if isinstance(domain, Ball):
        radius = math.sqrt((d + 2.0) / 3.0)
        unit = Ball(np.zeros(d), radius)
        scale = np.full(d, domain.radius / radius)
    else:
        unit = Box(np.full(d, -1.0), np.full(d, 1.0))
        scale = (domain.high - domain.low) / 2.0
    return UnitSlices(unit, directions, domain, np.where(scale > 0.0, scale, 1.0))


def unit_planes(slices, width):
    """Return planes in the domain of slices, with pieces about so wide, in units of that domain.

    Parameters
    ----------
    slices : UnitSlices
    width : float
    """
    directions = spanning_directions(slices.rows.n_features)
    spanning = UnitSlices(slices.domain, directions, slices.rows, slices.scale)
    step = slices.domain.radius / SliceLattice.center_level
    return UnitPlanes(spanning, max(1, round(width / step)))


@lru_cache(maxsize=8)
def slicing_directions(n_features):
    """Return the public directions of two-sample tests: up to 60, in whole frames."""
    frames = max(1, _DIRECTIONS // n_features)
    count = min(frames * n_features, _DIRECTIONS) if n_features > 1 else 1
    return public_directions("tight", count, n_features)


@lru_cache(maxsize=8)
def spanning_directions(n_features):
    """Return the public directions of the planes of two-sample tests, two in a row for each."""
    if n_features == 1:
        return np.ones((1, 2))
    frames = max(1, 2 * _PLANES // n_features)
    count = min(frames * n_features // 2 * 2, 2 * _PLANES)
    return public_directions("tight", count, n_features)
