"""A land mask: the inside of polygons in the plane under the even-odd rule."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Self

import numpy as np

from ..exceptions import Rows, is_integer
from .domains import Box, Domain
from .rowwise import all_cells, as_rows, cell_boxes, cell_indices, check_shape, row_blocks

# A land mask: the inside of polygons in the plane.

_SUB_SIDE = 16


class Mask(Domain):
    """The inside of polygons in the plane, such as the land of a country.

    A point is inside by the even-odd rule over all rings, so holes need no mark. Membership is
    exact; a public raster makes it fast and tells where rows outside go: to a point inside the
    nearest raster cell that has one.

    Shares of cells (`cell_prior`) are measured along eight lines through each column of cells,
    exactly along a line. Land thinner than an eighth of a cell can be missed there: such a cell has
    share zero.

    Parameters
    ----------
    polygons : nested lists of (x, y) points, or a GeoJSON mapping
        A ring, a polygon (list of rings), a multi-polygon (list of polygons), or a GeoJSON
        Polygon, MultiPolygon, Feature, FeatureCollection or GeometryCollection. Rings are closed
        whether or not the first point is repeated. Parts that overlap cancel.
    resolution : int or pair of int, default=1024
        Raster cells along each axis, at most 2**24 in all.

    Examples
    --------
    >>> from skdp_bary.geometry import Mask
    >>> square_with_hole = [
    ...     [[0, 0], [4, 0], [4, 4], [0, 4]],
    ...     [[1, 1], [3, 1], [3, 3], [1, 3]],
    ... ]
    >>> land = Mask(square_with_hole, resolution=4)
    >>> land.contains([[0.5, 2.0], [2.0, 2.0], [9.0, 9.0]])
    array([ True, False, False])
    >>> land.cell_prior((2, 2))
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """

    def __init__(
        self, polygons: Sequence | Mapping[str, object], resolution: int | tuple = 1024
    ) -> None:
        self._rings = tuple(read_rings(polygons))
        points = np.concatenate(self._rings)
        self._box = Box(points.min(axis=0), points.max(axis=0))
        self._low, self._high = self._box.low, self._box.high
        sizes = (resolution,) * 2 if is_integer(resolution) else resolution
        self._resolution = check_shape(sizes, 2, name="resolution")

    @classmethod
    def from_geojson(cls, source: dict | str | Path, resolution: int = 1024) -> Self:
        """Read polygons from a GeoJSON mapping, or from a file that may end in ``.gz``."""
        if not isinstance(source, dict):
            path = Path(source)
            opened = gzip.open if path.suffix == ".gz" else open
            with opened(path, "rt", encoding="utf-8") as file:
                source = json.load(file)
        return cls(source, resolution)

    resolution: tuple = property(attrgetter("_resolution"), doc="Raster cells along each axis.")

    def contains(self, X: Rows) -> np.ndarray:
        """Whether each point lies inside the polygons."""
        X = as_rows(X, 2)
        boxed = self._box.contains(X)
        cells = cell_indices(self._box.clip(X), self.low, self.high, self._resolution)
        column, row = cells.T
        full, border = self._raster
        inside = full[column, row] & boxed
        unsure = np.flatnonzero(border[column, row] & boxed)
        inside[unsure] = self._edge_columns.contain(X[unsure])
        return inside

    def clip(self, X: Rows) -> np.ndarray:
        """Return each point if it is inside, else the public point of the nearest land cell.

        Points outside the bounding box are first moved to the nearest point of the box.
        """
        clipped = self._box.clip(X)
        outside = np.flatnonzero(~self.contains(clipped))
        if outside.size:
            points, nearest = self._lookup
            cells = cell_indices(clipped[outside], self.low, self.high, self._resolution)
            clipped[outside] = points[nearest[tuple(cells.T)]]
        return clipped

    def cell_prior(self, shape: tuple) -> np.ndarray:
        """Return each cell's share of the area inside the polygons."""
        share, *_ = self._measure(check_shape(shape, 2))
        return share / share.sum()

    @cached_property
    def _edges(self):
        return edges_of(self._rings)

    @cached_property
    def _edge_columns(self):
        return EdgeColumns(self._edges, self.low, self.high, self._resolution[0])

    @cached_property
    def _raster(self):
        """Raster cells that lie inside, and those that an edge runs through."""
        share, *_ = self._measure(self._resolution)
        border = touched_cells(self._edges, self.low, self.high, self._resolution)
        return (share == 1.0) & ~border, border

    @cached_property
    def _lookup(self):
        """Return a point for each raster cell, and the nearest cell that has one inside."""
        from scipy.ndimage import distance_transform_edt

        points, found = self._land_points(self._resolution)
        if not found.any():
            raise ValueError(
                f"polygons must hold a raster cell's point, got none at resolution="
                f"{self._resolution}. Pass twice as many cells."
            )
        nearest = distance_transform_edt(
            ~found.reshape(self._resolution),
            sampling=(self.high - self.low) / self._resolution,
            return_distances=False,
            return_indices=True,
        )
        return points, np.ravel_multi_index(tuple(nearest), self._resolution)

    def _measure(self, shape):
        measured = measure_cells(self._edges, self.low, self.high, shape)
        if not measured[0].any():
            raise ValueError(
                f"polygons must be wide enough for a grid to see, got none in shape {shape}. Pass "
                "a finer resolution."
            )
        return measured

    def _land_points(self, shape):
        """Return a point for every cell of a grid, and whether it is inside the polygons."""
        share, *mean = self._measure(shape)
        border = touched_cells(self._edges, self.low, self.high, shape).ravel()
        lower, upper = cell_boxes(all_cells(shape), self.low, self.high, shape)
        points = lower + (upper - lower) * np.stack([m.ravel() for m in mean], axis=1)
        found = share.ravel() > 0
        unsure = np.flatnonzero(found & border)
        found[unsure] = self.contains(points[unsure])
        missed = unsure[~found[unsure]]
        points[missed], found[missed] = self._search(lower[missed], upper[missed], points[missed])
        return points, found

    def _search(self, lower, upper, wanted):
        """Return the point inside nearest to the wanted one, of 16 by 16 in each cell."""
        offsets = (all_cells((_SUB_SIDE, _SUB_SIDE)) + 0.5) / _SUB_SIDE
        best, found = wanted.copy(), np.zeros(len(wanted), dtype=bool)
        for rows in row_blocks(len(wanted), len(offsets)):
            width = (upper - lower)[rows]
            tried = lower[rows, None] + width[:, None] * offsets
            inside = self.contains(tried.reshape(-1, 2)).reshape(len(tried), -1)
            distance = (((tried - wanted[rows, None]) / width[:, None]) ** 2).sum(axis=2)
            nearest = np.where(inside, distance, np.inf).argmin(axis=1)
            best[rows] = tried[np.arange(len(tried)), nearest]
            found[rows] = inside.any(axis=1)
        return best, found

    @cached_property
    def log_volume(self) -> float:
        """Natural logarithm of the area inside the polygons."""
        share, *_ = measure_cells(self._edges, self.low, self.high, (64, 64))
        return math.log(share.mean()) + self._box.log_volume

    def cell_points(self, cells: np.ndarray, shape: tuple) -> np.ndarray:
        """Return one point inside the polygons for each of the given cells.

        The centroid of the land of the cell where that is inside, else another land point of the
        cell, else the point that `clip` makes of the middle of the cell.
        """
        points, found = self._land_points(shape)
        empty = np.flatnonzero(~found)
        places = np.stack(np.unravel_index(empty, shape), axis=1)
        lower, upper = cell_boxes(places, self.low, self.high, shape)
        points[empty] = self.clip(lower + (upper - lower) / 2)
        return points.reshape(*shape, 2)[tuple(cells.T)]

    def _key(self):
        return tuple(ring.tobytes() for ring in self._rings), self._resolution

    def __reduce__(self):
        return Mask, (self._rings, self._resolution)

    def __repr__(self):
        (x1, y1), (x2, y2) = self.low, self.high
        box = f"[{x1:g}, {x2:g}] x [{y1:g}, {y2:g}]"
        return f"Mask({len(self._rings)} rings within {box}, resolution={self._resolution})"


# Polygons under the even-odd rule: reading, measuring on a grid, testing points.

_LINES = 8  # scanlines through each cell; along a line, lengths are exact
_UNIT = 2.0**20  # crossings are rounded to 2**-20 of a cell, which makes every sum below exact
_MARGIN = 1e-6  # wider than that rounding, in cells
_PAIRS = 2**20
_INSIDE = {  # where each type of GeoJSON keeps its parts
    "FeatureCollection": "features",
    "GeometryCollection": "geometries",
    "Feature": "geometry",
    "Polygon": "coordinates",
    "MultiPolygon": "coordinates",
}


def read_rings(polygons):
    """Return the rings of nested lists of coordinates or of a GeoJSON mapping, in order."""
    if isinstance(polygons, dict):
        kind = polygons.get("type")
        if str(kind) not in _INSIDE:
            raise ValueError(
                f"polygons must be GeoJSON polygons, got an object of type {kind!r}. Pass a "
                "Polygon, MultiPolygon, Feature or FeatureCollection of them."
            )
        inside = polygons[_INSIDE[kind]]
        if kind.endswith("Collection"):  # which may be empty
            return [ring for part in inside for ring in read_rings(part)]
        return read_rings(inside)
    if isinstance(polygons, np.ndarray) and polygons.ndim == 2:
        return [_check_ring(polygons)]
    if not isinstance(polygons, (list, tuple, np.ndarray)) or len(polygons) == 0:
        raise ValueError(
            "polygons must be rings of (x, y) points, lists of them, or a GeoJSON mapping, "
            f"got {type(polygons).__name__}."
        )
    first = polygons[0]
    if isinstance(first, (list, tuple, np.ndarray)) and len(first) and np.ndim(first[0]) == 0:
        return [_check_ring(polygons)]
    return [ring for part in polygons for ring in read_rings(part)]


def _check_ring(points):
    try:
        ring = np.array([tuple(point)[:2] for point in points], dtype=np.float64) + 0.0
    except (TypeError, ValueError):
        ring = np.empty((0, 0))
    if ring.ndim != 2 or ring.shape[1] != 2 or not np.isfinite(ring).all():
        raise ValueError(
            "polygons must hold rings of finite (x, y) points: [[0, 0], [4, 0], [4, 4]], say."
        )
    if len(np.unique(ring, axis=0)) < 3:
        raise ValueError(f"a ring of polygons needs three different points, got {len(ring)}.")
    ring.flags.writeable = False
    return ring


def edges_of(rings):
    """Return the edges of closed rings, each going to the right, those without length left out."""
    edges = np.vstack([np.hstack([ring, np.roll(ring, -1, axis=0)]) for ring in rings])
    edges = edges[(edges[:, :2] != edges[:, 2:]).any(axis=1)]
    backward = edges[:, 0] > edges[:, 2]
    edges[backward] = np.roll(edges[backward], 2, axis=1)
    return edges


def measure_cells(edges, low, high, shape):
    """Return the share of each cell inside, and the centroid of that part in units of the cell.

    Eight lines run through each column of cells; along them the lengths inside are exact (up to
    2**-20 of a cell), across them they are averaged. Three arrays of shape `shape`. A scanline fill
    (Wylie, Romney, Evans and Erdahl 1967): O(c log c + cells) for c crossings.
    """
    scale = np.array(shape) / (high - low)
    cells = (edges - np.tile(low, 2)) * np.tile(scale, 2)
    # Every crossing of a scanline with an edge, sorted along each line.
    x1, y1, x2, y2 = cells.T
    n_lines = shape[0] * _LINES
    first = np.clip(np.ceil(x1 * _LINES - 0.5), 0, n_lines).astype(np.int64)
    last = np.clip(np.ceil(x2 * _LINES - 0.5), 0, n_lines).astype(np.int64)
    edge, line = _ranges(first, last - first)
    slope = (y2 - y1)[edge] / (x2 - x1)[edge]
    crossing = y1[edge] + ((line + 0.5) / _LINES - x1[edge]) * slope
    crossing = np.rint(np.clip(crossing, 0, shape[1]) * _UNIT) / _UNIT
    order = np.lexsort((crossing, line))
    line, crossing = line[order], crossing[order]
    sign = np.where(np.arange(len(line)) % 2 == 0, -1.0, 1.0)
    column, offset = line // _LINES, (line % _LINES + 0.5) / _LINES
    whole = np.floor(crossing)
    part = crossing - whole
    # The stretch [0, crossing) covers cells below `whole` fully and `part` of the next one. A
    # stretch inside is the difference of two of those, so its constant term cancels.
    at = (column * (shape[1] + 2) + whole).astype(np.int64)
    area = _running(at, sign * (part - 1), -sign * part, shape)
    first = _running(at, sign * offset * (part - 1), -sign * offset * part, shape)
    second = _running(at, sign * (part**2 - 1) / 2, -sign * part**2 / 2, shape)
    divisor = np.where(area > 0, area, 1.0)
    return area / _LINES, first / divisor, second / divisor


def _ranges(first, counts):
    """Return ``(i, first[i]), (i, first[i] + 1), ...``, `counts[i]` pairs for each `i`."""
    which = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    return which, first[which] + position


def _running(at, here, beyond, shape):
    size = shape[0] * (shape[1] + 2)
    steps = np.bincount(at, here, size) + np.bincount(at + 1, beyond, size)
    return np.cumsum(steps.reshape(shape[0], shape[1] + 2), axis=1)[:, : shape[1]]


def touched_cells(edges, low, high, shape):
    """Cells that an edge runs through, or comes very near."""
    scale = np.array(shape) / (high - low)
    x1, y1, x2, y2 = ((edges - np.tile(low, 2)) * np.tile(scale, 2)).T
    first = np.clip(np.floor(x1 - _MARGIN), 0, shape[0] - 1).astype(np.int64)
    last = np.clip(np.floor(x2 + _MARGIN), 0, shape[0] - 1).astype(np.int64)
    edge, column = _ranges(first, last - first + 1)
    run = np.where(x2 > x1, x2 - x1, 1.0)[edge]
    enter = np.clip((column - _MARGIN - x1[edge]) / run, 0, 1)
    leave = np.clip((column + 1 + _MARGIN - x1[edge]) / run, 0, 1)
    vertical, rise = (x2 == x1)[edge], (y2 - y1)[edge]
    ends = [y1[edge] + np.where(vertical, t, s) * rise for s, t in ((enter, 0), (leave, 1))]
    bottom, top = np.floor(np.minimum(*ends) - _MARGIN), np.floor(np.maximum(*ends) + _MARGIN)
    bottom, top = (np.clip(end, 0, shape[1] - 1).astype(np.int64) for end in (bottom, top))
    steps = np.zeros((shape[0], shape[1] + 1), dtype=np.int64)
    np.add.at(steps, (column, bottom), 1)
    np.add.at(steps, (column, top + 1), -1)
    return np.cumsum(steps, axis=1)[:, : shape[1]] > 0


class EdgeColumns:
    """Edges sorted by the columns of a grid they overlap, to test points exactly."""

    def __init__(self, edges, low, high, n_columns):
        self._grid = (low[:1], high[:1], (n_columns,))
        x1, y1, x2, y2 = edges.T
        self._x1, self._x2, self._y1 = x1, x2, y1
        self._slope = (y2 - y1) / np.where(x2 > x1, x2 - x1, 1.0)
        first, last = self._columns(x1), self._columns(x2)
        edge, column = _ranges(first, last - first + 1)
        self._edge = edge[np.argsort(column, kind="stable")]
        self._counts = np.bincount(column, minlength=n_columns)
        self._starts = np.cumsum(self._counts) - self._counts

    def contain(self, X):
        """Whether each point is inside, by the even-odd rule."""
        column = self._columns(X[:, 0])
        pairs = np.cumsum(self._counts[column])
        inside = np.empty(len(X), dtype=bool)
        start = 0
        while start < len(X):
            done = pairs[start - 1] if start else 0
            stop = max(start + 1, int(np.searchsorted(pairs, done + _PAIRS)))
            some, columns = X[start:stop], column[start:stop]
            point, position = _ranges(self._starts[columns], self._counts[columns])
            edge = self._edge[position]
            x, y = some[point, 0], some[point, 1]
            spans = (self._x1[edge] <= x) & (x < self._x2[edge])
            above = y < self._y1[edge] + (x - self._x1[edge]) * self._slope[edge]
            inside[start:stop] = np.bincount(point[spans & above], minlength=len(some)) % 2 == 1
            start = stop
        return inside

    def _columns(self, x):
        # Rounding is monotone, so a point between the ends of an edge falls in its columns.
        return cell_indices(x[:, None], *self._grid)[:, 0]
