"""Weighted points in an order that keeps neighbors together, and coarser versions of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._kernel_choice import kernel_for
from ._kernels import PLAIN, PlainKernel

_AXES = 3  # principal axes that enter the order
_SAMPLE = 4000  # points from which those are read
_ITERATIONS = 4
_AXIS_BITS = 11
_HASH_BITS = 64 - _AXES * _AXIS_BITS
_BLOCK = (1024, 4096)  # least and most points of a block
_PART = 2**18  # numbers of which there are copies on the way into order


@dataclass(frozen=True)
class OrderedPoints:
    """Distinct points, with weights that sum to one, along a space-filling curve.

    Consecutive points form blocks; the box around a block bounds which atoms can serve it.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features)
    weights : ndarray of shape (n_points,)
    kernel : PlainKernel
        What loops over these points.
    n_origin : int
        Number of points that these are a sample of, or all.
    """

    points: np.ndarray
    weights: np.ndarray
    kernel: PlainKernel = PLAIN
    n_origin: int = 0

    @cached_property
    def starts(self):
        """Where each block starts, and the end."""
        size = int(np.clip(len(self.points) // 64, *_BLOCK))
        return np.append(np.arange(0, len(self.points), size), len(self.points))

    @cached_property
    def _corners(self):
        starts = self.starts[:-1]
        return np.minimum.reduceat(self.points, starts), np.maximum.reduceat(self.points, starts)

    @cached_property
    def centers(self):
        """Center of each block's box, of shape (n_blocks, n_features)."""
        return (self._corners[0] + self._corners[1]) / 2

    @cached_property
    def widths(self):
        """Half the side lengths of each block's box, of shape (n_blocks, n_features)."""
        return (self._corners[1] - self._corners[0]) / 2

    @property
    def effective_size(self):
        """Number of points of equal weight that would lie as densely."""
        return 1.0 / (self.weights @ self.weights)

    def coarse(self, size):
        """Return about `size` of the points with equal weights, by systematic sampling.

        Every stretch of the curve with mass ``1 / size`` gives one point, so that a region's mass
        is off by its border only. Everything comes back when there are no more points than that.
        """
        if len(self.points) <= size:
            return self
        size, cumulated = round(size), np.cumsum(self.weights)
        levels = (np.arange(size) + 0.5) * (cumulated[-1] / size)
        found = np.searchsorted(cumulated[:-1], levels)  # so that the last point is the last
        first = np.flatnonzero(np.append(True, found[1:] != found[:-1]))
        counts = np.diff(np.append(first, len(found)))
        return OrderedPoints(self.points[found[first]], counts / size, self.kernel, self.n_origin)


def order_points(points, weights, inward=np.asarray):
    """Merge equal points and put them along a space-filling curve.

    The curve is a Z-order over the leading principal axes, with a hash to tell the rows of one cell
    apart: equal rows become neighbors, and only rows equal in full are merged.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    weights : ndarray of shape (n_points,)
    inward : callable
        Maps points, some at a time, to those that are put in order.

    Returns
    -------
    ordered : OrderedPoints
    inverse : ndarray of shape (n_points,)
        Position of every given point in `ordered`.
    """
    order = np.argsort(_curve_keys(points, inward))
    ranked = np.empty(points.shape)
    for part in _parts(points):
        ranked[part] = inward(points[order[part]])
    first = np.zeros(len(points), dtype=bool)
    first[0] = True
    for column in ranked.T:
        first[1:] |= column[1:] != column[:-1]
    inverse = np.empty(len(points), dtype=index_type(len(points)))
    if first.all():
        distinct, masses = ranked, weights[order]
        inverse[order] = np.arange(len(points), dtype=inverse.dtype)
    else:
        position = np.cumsum(first) - 1
        distinct, masses = ranked[first], np.bincount(position, weights[order])
        inverse[order] = position
    kernel = kernel_for(len(distinct))
    return OrderedPoints(distinct, masses / masses.sum(), kernel, len(distinct)), inverse


def index_type(size):
    """Return the shortest integer type that can count that far."""
    return np.int32 if size < 2**31 else np.int64


def _parts(points):
    """Yield slices of points of which copies are small."""
    size = max(1, _PART // points.shape[1])
    yield from (slice(start, start + size) for start in range(0, len(points), size))


def _curve_keys(points, inward):
    axes = _leading_axes(points, inward)
    low, high = np.inf, -np.inf
    for part in _parts(points):
        along = _along(inward(points[part]), axes)
        low, high = np.minimum(low, along.min(axis=0)), np.maximum(high, along.max(axis=0))
    cells = (2**_AXIS_BITS - 1) / np.where(high > low, high - low, 1.0)
    keys, spread = np.zeros(len(points), dtype=np.uint64), _spread_bits(len(low))
    for part in _parts(points):
        moved = inward(points[part])
        places = ((_along(moved, axes) - low) * cells).astype(np.int16)
        for axis, column in enumerate(places.T):
            keys[part] |= (spread << np.uint64(axis))[column]
        keys[part] <<= np.uint64(_HASH_BITS)
        keys[part] |= _row_hash(moved) >> np.uint64(64 - _HASH_BITS)
    return keys


def _leading_axes(points, inward):
    """Return a few directions in which the points vary most, or nearly so; None for all axes."""
    if points.shape[1] <= _AXES or len(points) == 1:  # one point varies in no direction
        return None
    some = inward(points[:: max(1, len(points) // _SAMPLE)])
    centered = some - some.mean(axis=0)
    directions = np.random.default_rng(0).standard_normal((points.shape[1], 2 * _AXES))
    for _ in range(_ITERATIONS):
        directions, _ = np.linalg.qr(centered.T @ (centered @ directions))
    _, vectors = np.linalg.eigh(np.cov(centered @ directions, rowvar=False))
    return directions @ vectors[:, -_AXES:]


def _along(points, axes):
    return points[:, :_AXES] if axes is None else points @ axes


def _spread_bits(n_axes):
    """Return every cell number with `n_axes` - 1 zero bits put between its bits."""
    cells = np.arange(2**_AXIS_BITS, dtype=np.uint64)
    spread = np.zeros_like(cells)
    for bit in range(_AXIS_BITS):
        spread |= ((cells >> np.uint64(bit)) & np.uint64(1)) << np.uint64(bit * n_axes)
    return spread


def _row_hash(points):
    """Return 64-bit hashes; integer products wrap, so equal rows have equal ones."""
    bits = np.ascontiguousarray(points + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 2**63, points.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    return bits @ factors
