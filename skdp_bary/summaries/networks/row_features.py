"""Features of rows by public maps that are somebody else's code: one row at a time, then integers.

A map that sees several rows at once may mix them (statistics of a batch, ranks), and even one that
means well may give a row other last bits beside other rows, or at another address: kernels add up
in another order where a row does not begin on a whole vector. By default a private row is therefore
handed over alone, copied to an address of one kind. Views that are drawn at random take their
random numbers from the row itself: positions shift when a person leaves, and then every later row
would be drawn anew.
"""

import hashlib
import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...geometry._ball import Ball
from ...geometry._lattice import CentredLattice
from ...geometry._linear_maps import MatrixMap
from ..asking.mapped import MappedRows
from ..asking.query import Query

N_DRAWS = 8  # uniform numbers that a view gets for each row
_BITS = 20
_PUBLIC_BLOCK = 1 << 10
_ALIGNMENT = 8  # numbers; 64 bytes, the widest vector of today's processors


@dataclass(frozen=True, eq=False)
class RowFeatures:
    """A public map from rows to integer vectors of bounded norm.

    A row is clipped to the domain, mapped, altered if a view is asked for, and its features are
    taken relative to a center, scaled, clipped to a ball and truncated to integers of norm at most
    ``2**20``. Features that are not finite count as the center, and so do those of private rows for
    which a map raises: an error, or a warning, would be an answer about one row.

    Parameters
    ----------
    domain : Box, Ball, Mask or None
    row_map : callable or None
        ``row_map(rows)`` returns as many rows.
    views : callable or None
        ``views(rows, draws)`` returns rows altered at random; ``draws`` has 8 uniform numbers in
        [0, 1) for each row.
    extract : callable or None
        ``extract(rows)`` returns features; None: the rows are the features.
    center, scale : ndarray of shape (n_features,)
        Public.
    radius : float
        Of the ball, in scaled features.
    block_rows : int
        Private rows that are handed over at once.
    """

    domain: object
    row_map: object
    views: object
    extract: object
    center: np.ndarray
    scale: np.ndarray
    radius: float
    block_rows: int

    @cached_property
    def lattice(self):
        """The integers that scaled features become."""
        return CentredLattice(Ball(np.zeros(len(self.center)), self.radius), _BITS)

    def integers(self, X, view=0):
        """Return the integer features of private rows; view 0 are the rows as they are."""
        own = self.row_map is None and self.extract is None and not view
        if own:
            return self._integers(X, view, max(len(X), 1), self._features)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._integers(X, view, self.block_rows, self._quiet_features)

    def public(self, X, view=0):
        """Return the scaled features of public rows, many at a time."""
        return self.lattice.restore(self._integers(X, view, _PUBLIC_BLOCK, self._features))

    def _features(self, X, view):
        return raw_features(self, X, view)

    def _quiet_features(self, X, view):
        """Return the features of private rows: NaN where the maps fail on a row by itself."""
        shape = (len(X), len(self.center))
        try:
            features = raw_features(self, X, view)
        except Exception:
            features = None
        if features is not None and features.shape == shape:
            return features
        if len(X) == 1:
            return np.full(shape, np.nan)
        return np.concatenate([self._quiet_features(X[i : i + 1], view) for i in range(len(X))])

    def _integers(self, X, view, size, features_of):
        found = np.empty((len(X), len(self.center)), dtype=np.int64)
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            features = features_of(X[rows], view)
            scaled = (features - self.center) / self.scale
            finite = np.isfinite(scaled).all(axis=1)
            found[rows] = self.lattice.quantise(np.where(finite[:, None], scaled, 0.0))
        return found


def raw_features(maps, X, view=0):
    """Return features before centring, of all rows at once.

    Parameters
    ----------
    maps : RowFeatures
    X : ndarray of shape (n_rows, n_inputs)
    view : int, default=0
    """
    rows = X if maps.domain is None else maps.domain.clip(X)
    if maps.row_map is not None:
        rows = _called("row_map", maps.row_map, len(X), rows)
    if view:
        rows = _called("views", maps.views, len(X), rows, row_draws(rows, view))
    if maps.extract is not None:
        rows = _called("estimator", maps.extract, len(X), rows)
    return rows


def row_draws(rows, view):
    """Return uniform numbers that are a public function of each row and the number of the view."""
    rows = np.ascontiguousarray(rows)
    salt = int(view).to_bytes(16, "little")
    digests = [
        hashlib.blake2b(row.tobytes(), digest_size=8 * N_DRAWS, salt=salt).digest() for row in rows
    ]
    words = np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, N_DRAWS)
    return (words >> np.uint64(11)) * 2.0**-53


def _called(name, function, n_rows, *arguments):
    result = np.asarray(function(*map(_aligned, arguments)), dtype=np.float64)
    if result.ndim != 2 or len(result) != n_rows:
        raise ValueError(
            f"{name} must return one row for every row, an array of shape (n_rows, n_columns), got "
            f"another number of rows, or {result.ndim} dimensions."
        )
    return result


def _aligned(rows):
    """Return a copy at an address that is a multiple of 64 bytes, as every other copy is."""
    room = np.empty(rows.size + _ALIGNMENT - 1)
    start = -(room.ctypes.data // room.itemsize) % _ALIGNMENT
    copy = room[start : start + rows.size].reshape(rows.shape)
    copy[...] = rows
    return copy


@dataclass(frozen=True, eq=False)
class FeaturesOf(MappedRows):
    """Asks a query about the features of the rows, after a linear map.

    Parameters
    ----------
    features : RowFeatures
    components : ndarray of shape (n_components, n_features)
        Public or released.
    query : Query
        About rows with `n_components` features.
    """

    features: RowFeatures
    components: np.ndarray
    query: Query

    @property
    def in_threads(self):
        """Not where features come from functions of somebody else."""
        return self.features.row_map is None and self.features.extract is None

    def image(self, chunk):
        """Return the chunk of mapped features; they are computed once while the rows are read."""
        if self.features not in chunk.memo:
            integers = self.features.integers(chunk.X).astype(np.int32)
            chunk.memo[self.features] = integers
        points = self.features.lattice.restore(chunk.memo[self.features])
        return replace(chunk, X=MatrixMap(self.components).apply(points), memo={})
