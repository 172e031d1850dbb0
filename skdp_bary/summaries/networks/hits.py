"""How many rows a public classifier is right about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...geometry._domains import Domain
from ...geometry._lattice import CentredLattice
from ...geometry._rowwise import row_blocks
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query

_BITS = 20  # of a row's norm
_SCORE_BITS = 51  # of a score: sums of all its terms stay below 2**53, in any order


@dataclass(frozen=True, eq=False)
class LinearClassifier:
    """Classes of rows by the largest of several linear scores, in integers.

    Rows are clipped to the domain and rounded to a lattice, and so are the scores: a class is a
    function of the row alone, bit for bit, and ties go to the first class.

    Parameters
    ----------
    domain : Domain
        Public.
    slopes : ndarray of shape (n_classes, n_features)
    offsets : ndarray of shape (n_classes,)
        Scores are ``slopes @ x + offsets``; public or released, and finite.
    """

    domain: Domain
    slopes: np.ndarray
    offsets: np.ndarray

    def codes(self, X):
        """Return the place of the class of every row."""
        slopes, offsets = self._integers
        codes = np.empty(len(X), dtype=np.int64)
        for rows in row_blocks(*X.shape):
            steps = self._lattice.quantise(X[rows]).astype(np.float64)
            codes[rows] = (steps @ slopes.T + offsets).argmax(axis=1)
        return codes

    @cached_property
    def _lattice(self):
        return CentredLattice(self.domain, _BITS)

    @cached_property
    def _integers(self):
        """Slopes by lattice unit and offsets as whole numbers, so large that products are exact."""
        size = max(np.abs(self.slopes).max(), np.abs(self.offsets).max()) or 1.0
        slopes = self.slopes / size  # so that no square is beyond the floats, or below
        offsets = self.offsets / size + slopes @ self.domain.center
        offsets, slopes = offsets - offsets.mean(), slopes * self._lattice.step
        # the terms of a score add up to no more than this, by the inequality of Cauchy
        largest = (np.linalg.norm(slopes, axis=1) * 2.0**_BITS + np.abs(offsets)).max()
        factor = 2.0**_SCORE_BITS / max(largest, np.finfo(np.float64).tiny)
        return np.trunc(slopes * factor), np.trunc(offsets * factor)


@dataclass(frozen=True, eq=False)
class HitCount(Query):
    """Mass of the rows whose class a public classifier tells from their values.

    Parameters
    ----------
    classifier : LinearClassifier
        Public or released.
    units : int
        Largest mass of one person.
    """

    classifier: LinearClassifier
    units: int = 1

    def zeros(self):
        """Return a zero count."""
        return (np.zeros(1, dtype=np.int64),)

    def count(self, state, chunk):
        """Add the masses of the rows that are told right."""
        hits = self.classifier.codes(chunk.X) == chunk.codes
        state[0][:] += hits.sum() if chunk.masses is None else chunk.masses[hits].sum()

    def blocks(self, state):
        """Return the count."""
        return (state[0].copy(),)

    def sensitivity(self, relation):
        """A person adds between nothing and all its mass, and who replaces one moves no more."""
        return Sensitivity.single(self.units, self.units**2)

    def row_effort(self, n_features):
        """A row is multiplied by the slopes of every class."""
        return n_features * (1 + len(self.classifier.offsets))
