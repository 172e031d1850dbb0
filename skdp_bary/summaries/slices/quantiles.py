"""Means of sorted projections over blocks of equal mass: the sketch of slices."""

import math
from dataclasses import dataclass

import numpy as np

from ..rows.persons import Chunk
from .histogram import ProjectedHistogram

_LARGEST = 1 << 62


@dataclass(frozen=True, eq=False)
class ProjectedQuantiles(ProjectedHistogram):
    """For every direction, the mean level in each of m blocks of the sorted projections.

    Block b takes the mass from ``(b - 1) / m`` to ``b / m`` of the distribution exactly, fractions
    of a row included: its mean is ``m`` times the integral of the quantile function.

    Parameters
    ----------
    n_quantiles : int, default=1
        Number of blocks m.

    Notes
    -----
    When mass moves, the quantile function of a direction moves by its W1 distance in L1, so its m
    block means move by at most m times that in L1, and no more in L2. Over the directions together,
    the W1 distances of a moved mass ``a`` have an L2 norm of at most ``a`` times the distance
    between two vectors of levels (Minkowski).
    """

    n_quantiles: int = 1

    @property
    def shape(self):
        """Directions and blocks."""
        return self.lattice.n_directions, self.n_quantiles

    def means(self, numbers, persons):
        """Return block means, relative to the center of the domain, from an answer of a class.

        Parameters
        ----------
        numbers : ndarray of shape (n_directions, n_quantiles)
        persons : float
            Number of persons that the answer counts.
        """
        return self.lattice.restore(numbers / persons)

    def public_histogram(self, X):
        """Return the histogram of public rows, one line a direction."""
        one = ProjectedQuantiles(self.lattice)
        state = one.zeros()
        one.count(state, Chunk(X, None, None))
        return state[0][0]

    def public_means(self, X):
        """Return the block means of public rows, with no noise."""
        return self.histogram_means(self.public_histogram(X))

    def histogram_means(self, histogram):
        """Return the block means of a public histogram, relative to the center of the domain."""
        numbers, mass = self._answer(histogram, int(histogram[0].sum()))
        return self.lattice.restore(numbers.astype(np.float64) / mass)

    def _answer(self, histogram, mass):
        """Integrate the quantile functions between multiples of a block's mass.

        In mass times m all ends are integers; what lies below the end of a block is the sum of
        whole levels below it and a part of the level that holds it. Where products would leave 64
        bits they are Python integers: an error instead would be an answer about one person.
        """
        m, n_levels = self.n_quantiles, self.lattice.n_levels
        if mass * max(m, n_levels) >= _LARGEST:
            histogram = histogram.astype(object)
        values = np.arange(n_levels)
        ends = np.arange(m + 1).astype(histogram.dtype) * mass
        below = np.zeros((len(histogram), m + 1), dtype=object)
        for line, masses in zip(below, histogram, strict=True):
            reached = np.cumsum(masses)
            weighted = np.cumsum(masses * values)
            level = np.searchsorted(reached * m, ends[1:], side="left")
            whole = weighted[level] - masses[level] * level
            left = ends[1:] - (reached[level] - masses[level]) * m
            line[1:] = whole.astype(object) * m + left.astype(object) * level
        return np.diff(below, axis=1), mass

    def _change(self):
        """Return m times the spread of levels, in L2 and, over all directions, in L1."""
        l2 = self.n_quantiles * self.lattice.spread
        return math.sqrt(self.lattice.n_directions) * l2, l2
