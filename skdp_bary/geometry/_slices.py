"""Integer levels of rows projected on public directions, a function of each row alone."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._domains import Domain
from ._lattice import CentredLattice

_ROW_BITS = 24
_DIRECTION_BITS = 24
_LEVEL_BITS = 12
_BLOCK_VALUES = 1 << 19  # of a block of projections: cheap to count, small beside a cache
_UNIT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class SliceLattice:
    """Levels of the projections of rows on unit directions.

    A row is clipped to the domain, taken relative to its center and truncated to an integer vector
    of norm at most ``2**24``; a direction is truncated to an integer vector of norm at most
    ``2**24``. Their product is below ``2**49`` in every partial sum, which float64 adds exactly in
    any order (Cauchy and Schwarz), so blocks and threads cannot move a row to another level. The
    product is rounded to one of 4097 levels, ``radius / 2048`` apart.

    Parameters
    ----------
    domain : Domain
        Public domain of the rows.
    directions : ndarray of shape (n_features, n_directions)
        Public unit columns.

    Attributes
    ----------
    directions : ndarray of shape (n_features, n_directions)
        As truncated, in units of a unit vector.
    norm : float
        Upper bound of the largest singular value of the truncated directions: no row of length r
        has projections whose root of the sum of squares is above ``norm * r``.
    step : float
        Distance between levels.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.geometry import Box
    >>> from skdp_bary.geometry._slices import SliceLattice
    >>> lattice = SliceLattice(Box([-1.0], [1.0]), np.array([[1.0]]))
    >>> list(lattice.levels(np.array([[-1.0], [0.0], [0.5]])))
    [(slice(0, 3, None), slice(0, 1, None), array([[   0, 2048, 3072]]))]
    """

    domain: Domain
    directions: np.ndarray

    n_levels = (1 << _LEVEL_BITS) + 1
    center_level = 1 << (_LEVEL_BITS - 1)

    def __post_init__(self):
        directions = check_directions(self.directions, self.domain.n_features)
        unit = 2.0**-_DIRECTION_BITS
        truncated = np.trunc(directions / np.linalg.norm(directions, axis=0) / unit)
        # integers whose squares add up below 2**53; lengths above one come from rounding alone
        over = np.flatnonzero((truncated**2).sum(axis=0) > 4.0**_DIRECTION_BITS)
        truncated[:, over] -= np.sign(truncated[:, over])
        directions = truncated * unit
        directions.setflags(write=False)
        object.__setattr__(self, "directions", directions)

    @property
    def n_directions(self):
        """Number of directions."""
        return self.directions.shape[1]

    @cached_property
    def step(self):
        """Distance between levels."""
        return self.domain.radius / self.center_level

    @cached_property
    def projected_center(self):
        """The center of the domain on every direction."""
        return self.directions.T @ self.domain.center

    @cached_property
    def norm(self):
        """Upper bound of the largest singular value of the directions."""
        d, k = self.directions.shape
        gram = (
            self.directions @ self.directions.T if d <= k else self.directions.T @ self.directions
        )
        # rounding: of the products (d + k) ulps of the trace k, of the eigenvalues about as much
        error = 8.0 * (d + k) * k * 2.0**-52
        return math.sqrt(float(np.linalg.eigvalsh(gram)[-1]) + error) * (1.0 + 2.0**-40)

    @property
    def spread(self):
        """Upper bound of the Euclidean distance between the levels of two rows.

        Two integer rows are at most a diameter apart; rounding adds less than one level a
        direction.
        """
        return 2.0 * self.norm * self.center_level + math.sqrt(self.n_directions)

    @property
    def reach(self):
        """Upper bound of the Euclidean length of the levels of a row, less the center level."""
        return self.norm * self.center_level + 0.5 * math.sqrt(self.n_directions)

    def levels(self, X):
        """Yield (rows, directions, levels) for blocks of `X`.

        The first two are slices; the levels are int64 of shape (n_directions, n_rows) of the block.
        """
        rows_of_block, directions_of_block = self._block_shape()
        across = self.directions.T * 2.0 ** (_LEVEL_BITS - 1 - _ROW_BITS)
        # a constant column adds the center and one half, so that truncation rounds to nearest
        middle = SliceLattice.center_level + 0.5
        across = np.column_stack([across, np.full(len(across), middle)])
        lattice = CentredLattice(self.domain, _ROW_BITS)
        units = np.ones((min(rows_of_block, len(X)), X.shape[1] + 1))
        for first in range(0, len(X), rows_of_block):
            rows = slice(first, min(first + rows_of_block, len(X)))
            block = units[: rows.stop - first]
            lattice.quantise_into(X[rows], block[:, :-1])
            for start in range(0, len(across), directions_of_block):
                some = slice(start, min(start + directions_of_block, len(across)))
                yield rows, some, (across[some] @ block.T).astype(np.int64)

    def restore(self, levels):
        """Return the projections, relative to the center of the domain, that levels stand for."""
        return (np.asarray(levels) - self.center_level) * self.step

    def _block_shape(self):
        rows = int(np.clip((1 << 22) // self.domain.n_features, 1 << 10, 1 << 16))
        return rows, max(1, _BLOCK_VALUES // rows)


def check_directions(directions, n_features):
    """Return public directions as an array of unit columns, or raise."""
    directions = np.asarray(directions, dtype=np.float64)
    if directions.ndim != 2 or len(directions) != n_features or not directions.shape[1]:
        raise ValueError(
            f"directions must have shape ({n_features}, n_directions), got {directions.shape}."
        )
    lengths = np.linalg.norm(directions, axis=0)
    if not (np.abs(lengths - 1.0) <= _UNIT_TOLERANCE).all():
        raise ValueError("directions must be unit columns: vectors of length one.")
    return directions
