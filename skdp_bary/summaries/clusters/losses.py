"""How well released points represent the rows: a clipped loss, added up."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...geometry._ball import Ball
from ...geometry._lattice import CentredLattice
from ...geometry._linear_maps import MatrixMap
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query

_BITS = 10  # of a clipped distance


@dataclass(frozen=True, eq=False)
class NearestLoss(Query):
    """Sum of the squared distances of rows to the nearest of some points, each clipped.

    A distance counts up to `radius`; a squared one is an integer of at most ``4**10`` units. The
    nearest point and the loss are functions of the row alone.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        Public or released.
    radius : float
        Public.
    units : int
        Largest mass of one person.
    """

    points: np.ndarray
    radius: float
    units: int = 1

    @property
    def unit(self):
        """What one unit of the sum stands for, as a squared distance of one person."""
        return self._lattice.step**2 / self.units

    def zeros(self):
        """Return a zero sum."""
        return (np.zeros(1, dtype=np.int64),)

    def count(self, state, chunk):
        """Add the losses of the rows, each times its mass."""
        lengths = (self.points**2).sum(axis=1)
        nearest = (lengths - MatrixMap(2.0 * self.points).apply(chunk.X)).argmin(axis=1)
        steps = self._lattice.quantise(chunk.X - self.points[nearest])
        losses = (steps * steps).sum(axis=1)
        state[0][:] += (losses if chunk.masses is None else losses * chunk.masses).sum()

    def blocks(self, state):
        """Return the sum."""
        return (state[0].copy(),)

    def sensitivity(self, relation):
        """One person adds between nothing and the largest loss, and moves by at most that."""
        largest = self.units << (2 * _BITS)
        return Sensitivity.single(largest, largest**2)

    @cached_property
    def _lattice(self):
        return CentredLattice(Ball(np.zeros(self.points.shape[1]), self.radius), _BITS)
