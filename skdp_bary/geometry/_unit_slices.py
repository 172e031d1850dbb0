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
        for rows, some, levels in super().levels(self.scaled(X)):
            yield rows, some, levels >> fewer

    def scaled(self, X):
        """Return rows in units of their domain."""
        return (self.rows.clip(X) - self.rows.center) / self.scale

    def unscaled(self, points):
        """Return the rows that scaled points stand for."""
        return self.rows.center + np.asarray(points) * self.scale


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


@lru_cache(maxsize=8)
def slicing_directions(n_features):
    """Return the public directions of two-sample tests: up to 60, in whole frames."""
    frames = max(1, _DIRECTIONS // n_features)
    count = min(frames * n_features, _DIRECTIONS) if n_features > 1 else 1
    return public_directions("tight", count, n_features)
