"""Mass, sum and second moments of the rows of every cell, as one matrix of longer rows."""

import math
from dataclasses import dataclass

import numpy as np

from ...privacy._neighbors import ADD_REMOVE
from ...privacy.noise.mechanisms import Sensitivity
from ..moments.moments import second_moment, symmetric
from ..rows.persons import Chunk
from .cluster_sums import ClusterQuery

# Matrices have many entries, whose noise is drawn fastest at scales up to 2**40 or so.
_BITS = {1: 13}  # digits of a row that is a person
_SHARED_BITS = 10  # ... and where rows have masses
_MASS_BITS = 12  # of which so many digits count
_ROUND_DOWN = 1.0 - 2.0**-40  # covers the roundings of a float division
_BLOCK_VALUES = 1 << 22  # of rows that are sorted by their cells at a time


@dataclass(frozen=True, eq=False)
class CellGrams(ClusterQuery):
    """For every cell, the sum of the outer products ``w w'`` of rows with a constant appended.

    A row belongs to its nearest center. Its residual is clipped to the radius of the cell, divided
    by it, truncated to an integer vector z of norm at most ``r = 2**bits``, and lengthened by a
    constant c: ``w = (z, c)``. The corner of a cell's matrix is then its mass times ``c**2``, the
    border its sum times c, and the rest its scatter about the center.

    The blocks are the diagonals, of shape (n_cells, n_features + 1), and the upper triangles.
    ``shares`` is ``(1, c**2 / r**2)``. With c = 0 one cell would be a
    :class:`~skdp_bary.summaries.moments.frame_counts.Gram`. Masses are rounded down to multiples of
    ``2**-12`` of a person, so those of a person still add up to one at most.
    """

    @property
    def mass_units(self):
        """Largest mass of one person after rounding."""
        return min(self.units, 1 << _MASS_BITS)

    @property
    def constant(self):
        """The constant c, an integer."""
        return math.isqrt(int(self.shares[1] / self.shares[0] * 4**self._bits))

    def zeros(self):
        """Return zero matrices."""
        side = self.frame.width + 1
        return (np.zeros((len(self.centers), side, side), dtype=np.int64),)

    def count(self, state, chunk):
        """Add the rows of a chunk, cell by cell."""
        size = max(1, _BLOCK_VALUES // (self.frame.width + 1))
        for start in range(0, len(chunk.X), size):
            part = slice(start, start + size)
            masses = None
            if chunk.masses is not None:
                masses = chunk.masses[part] // (self.units // self.mass_units)
            self._add(state[0], Chunk(chunk.X[part], None, None), masses)

    def _add(self, total, chunk, masses):
        rows, label = self._lengthened(chunk)
        for cell in range(len(total)):
            own = label == cell if len(total) > 1 else slice(None)
            total[cell] += second_moment(rows[own], None if masses is None else masses[own])

    def _lengthened(self, chunk):
        """Return the integer rows with the constant, and the cell of each."""
        lengthened = np.empty((len(chunk.X), self.frame.width + 1))
        lengthened[:, -1] = self.constant
        labels = np.empty(len(chunk.X), dtype=np.int64)
        length, start = 2.0**self._bits * _ROUND_DOWN, 0
        for rows, squares, _ in self.frame.measured_blocks(chunk, len(chunk.X)):
            label, square = self.nearest(rows, squares)
            # squares are exact integers, so a row is scaled by a number that it alone decides
            norms = np.sqrt(np.maximum(square, self.integer_radii[label] ** 2))
            centers = self.integer_centers
            rows -= centers[label] if len(centers) > 1 else centers
            rows *= (length / norms)[:, None]
            end = start + len(rows)
            np.trunc(rows, out=lengthened[start:end, :-1])
            labels[start:end] = label
            start = end
        return lengthened, labels

    def blocks(self, state):
        """Return diagonals and upper triangles."""
        matrices = state[0]
        diagonals = np.diagonal(matrices, axis1=1, axis2=2).copy()
        return diagonals, matrices[:, *np.triu_indices(matrices.shape[1], k=1)]

    def weights(self):
        """Return relative scales; off the diagonal 1/sqrt(2), as in a symmetric Gaussian matrix."""
        return 1.0, 1.0 / math.sqrt(2.0)

    def sensitivity(self, relation):
        """A row adds ``|w w'|**2 = diagonal + 2 upper <= (r**2 + c**2)**2``; two rows twice that.

        The inner product of ``w w'`` and ``v v'`` is a square, and zero in different cells, so
        replacing a row costs at most sqrt(2) of adding one, wherever it goes: just that between
        two cells, or in one cell at residuals with inner product ``-c**2``. Were the change counted
        in one cell only, who moves from one to another would pay for half of it.
        """
        persons = 1 if relation == ADD_REMOVE else 2
        side, top = self.frame.width + 1, 4**self._bits + self.constant**2
        u = self.mass_units
        l1 = (persons * u * top, persons * u * (side - 1) * top // 2)
        square = persons * u * u * top**2
        return Sensitivity((l1,), ((square, 0), (0, square // 2)))

    def read(self, released):
        """Return mass, sums and scatter of every cell, in rows and lengths, see CellMoments."""
        length = self.used_radii * 2.0**-self._bits
        constant = self.constant * length
        unit = length**2 / self.mass_units
        sd, sd_off = (noise * unit for noise in released.noise_sd)
        diagonals, uppers = released.values
        matrices = [
            symmetric(*each) * scale for *each, scale in zip(diagonals, uppers, unit, strict=True)
        ]
        return CellMoments(
            np.array([m[-1, -1] for m in matrices]) / constant**2,
            np.stack([m[-1, :-1] for m in matrices]) / constant[:, None],
            [m[:-1, :-1] for m in matrices],
            sd / constant**2,
            sd_off / constant,
            sd_off,
        )

    @property
    def _bits(self):
        return _BITS.get(self.units, _SHARED_BITS)


@dataclass(frozen=True, eq=False)
class CellMoments:
    """A release of CellGrams in rows and lengths.

    Attributes
    ----------
    mass : ndarray of shape (n_cells,)
    sums : ndarray of shape (n_cells, n_features)
        Of residuals.
    scatters : list of ndarray of shape (n_features, n_features)
        About the centers.
    mass_sd, sums_sd, scatter_sd : ndarray of shape (n_cells,)
        Noise of a mass, of a coordinate of a sum, and of an entry of a scatter off its diagonal;
        on the diagonal it is sqrt(2) times as large.
    """

    mass: np.ndarray
    sums: np.ndarray
    scatters: list
    mass_sd: np.ndarray
    sums_sd: np.ndarray
    scatter_sd: np.ndarray
