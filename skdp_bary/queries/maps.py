"""Questions about images of rows: linear and public maps, features by foreign code."""

from __future__ import annotations

import hashlib
import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, partial, wraps

import numpy as np

from ..desk.query import Query
from ..geometry.domains import Ball, Box, Domain
from ..geometry.lattices import CentredLattice
from ..geometry.linear_maps import MatrixMap
from .sizes import Forwarding

# Queries about images of the rows.


class MappedRows(Forwarding):
    """Asks a query, the attribute ``query``, about the images of the rows.

    The image of a row depends on that row alone, bit for bit, so neighboring rows have neighboring
    images, and the sensitivity is that of the query.
    """

    @abstractmethod
    def image(self, chunk):
        """Return the chunk with the images of its rows."""

    def count(self, state, chunk):
        """Add the images of the rows of a chunk."""
        self.query.count(state, self.image(chunk))

    def row_effort(self, n_features):
        """Return that of the image and of the query."""
        return n_features + super().row_effort(n_features)


@dataclass(frozen=True, eq=False)
class Mapped(MappedRows):
    """Asks a query about the images of the rows under a released linear map.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        Public or released.
    query : Query
        About rows with `n_components` features.
    """

    components: np.ndarray
    query: Query

    def image(self, chunk):
        """Return the chunk with the products of its rows."""
        return replace(chunk, X=MatrixMap(self.components).apply(chunk.X))


@dataclass(frozen=True, eq=False)
class InCells(MappedRows):
    """Asks a query about rows whose features are numbers of cells between edges.

    Parameters
    ----------
    edges : ndarray of shape (n_features, n_cells - 1)
        Public or released, increasing; a row on an edge is in the cell above it.
    query : Query
        About rows of numbers of cells.
    """

    edges: np.ndarray
    query: Query

    def image(self, chunk):
        """Return the chunk with the numbers of cells; each depends on one number alone."""
        cells = np.empty_like(chunk.X)
        for own, column, found in zip(self.edges, chunk.X.T, cells.T, strict=True):
            found[:] = np.searchsorted(own, column, side="right")
        return replace(chunk, X=cells)


@dataclass(frozen=True, eq=False)
class InWidths(MappedRows):
    """Asks a query about rows whose features are counted in the widths of a box.

    Parameters
    ----------
    box : Box
        Public; it becomes the unit box, and rows outside are clipped.
    query : Query
        About rows of the unit box.
    """

    box: Box
    query: Query

    def image(self, chunk):
        """Return the chunk with scaled rows; every number of them depends on itself alone."""
        X = self.box.clip(chunk.X)
        X -= self.box.low
        X /= self.box.high - self.box.low
        return replace(chunk, X=X)


@dataclass(frozen=True, eq=False)
class Clipped(MappedRows):
    """Asks a query about rows that are moved into a domain, for queries that know none.

    Parameters
    ----------
    domain : Domain
        Public or released.
    query : Query
        About rows of the domain.
    """

    domain: Domain
    query: Query

    def image(self, chunk):
        """Return the chunk with clipped rows."""
        return replace(chunk, X=self.domain.clip(chunk.X))


def about_images(image_of, questions):
    """Hold a conversation about images of the rows, and return what it returns.

    Parameters
    ----------
    image_of : callable
        Makes of a query the one that asks it about images, as ``partial(Clipped, domain)``.
    questions : generator
        Yields names and queries, and is sent what is released.
    """
    released = None
    while True:
        try:
            name, query = questions.send(released)
        except StopIteration as done:
            return done.value
        released = yield name, image_of(query)


def about_clipped_rows(questions):
    """Decorate a conversation whose queries know no domain; facts are its last argument."""

    @wraps(questions)
    def ask(*given):
        return about_images(partial(Clipped, given[-1].domain), questions(*given))

    return ask


# A query about what a public function makes of every row.


@dataclass(frozen=True, eq=False)
class RowMapped(MappedRows):
    """Asks a query about the images of the rows under a function of one row.

    The function is given one row at a time, so the image of a row cannot depend on the rows around
    it.

    Parameters
    ----------
    row_map : callable
        Takes an array of shape (1, n_features) and returns one of shape (1, n_outputs), finite, the
        same whenever it is given the same. Made from public facts and earlier releases.
    query : Query
        About rows with `n_outputs` features.
    """

    row_map: object
    query: Query

    in_threads = False  # a function of somebody else

    def image(self, chunk):
        """Return the chunk with the images of its rows."""
        if not len(chunk.X):
            return chunk
        images = [self.row_map(chunk.X[i : i + 1]) for i in range(len(chunk.X))]
        return replace(chunk, X=np.concatenate(images), memo={})


# Features of rows by public maps that are somebody else's code: one row at a time, then integers.

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
            return self._integers(X, view, max(len(X), 1), partial(raw_features, self))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._integers(X, view, self.block_rows, self._quiet_features)

    def public(self, X, view=0):
        """Return the scaled features of public rows, many at a time."""
        features_of = partial(raw_features, self)
        return self.lattice.restore(self._integers(X, view, _PUBLIC_BLOCK, features_of))

    def _quiet_features(self, X, view):
        """Return the features of private rows: NaN where the maps fail on a row by itself."""
        shape = (len(X), len(self.center))
        try:
            features = raw_features(self, X, view)
        except KeyboardInterrupt:  # of whoever waits
            raise
        except BaseException:  # SystemExit of one row would tell of it, before any charge
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
    # the upper 53 bits are a uniform multiple of 2**-53 in [0, 1)
    return (words >> np.uint64(11)) * 2.0**-53


def _called(name, function, n_rows, *arguments):
    result = np.asarray(function(*map(_aligned, arguments)), dtype=np.float64)
    if result.ndim != 2 or len(result) != n_rows:
        raise ValueError(
            f"{name} must return one row for every row, an array of shape (n_rows, n_columns), got "
            f"another number of rows, or {result.ndim} dimensions. For example return "
            "numpy.reshape(result, (len(rows), -1))."
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
        """Not where features come from functions of someone else."""
        return self.features.row_map is None and self.features.extract is None

    def image(self, chunk):
        """Return the chunk of mapped features; they are computed once while the rows are read."""
        if self.features not in chunk.memo:
            integers = self.features.integers(chunk.X).astype(np.int32)
            chunk.memo[self.features] = integers
        points = self.features.lattice.restore(chunk.memo[self.features])
        return replace(chunk, X=MatrixMap(self.components).apply(points), memo={})
