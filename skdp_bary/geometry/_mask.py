"""A land mask: the inside of polygons in the plane."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from .._plain import is_integer
from ._domains import Box, Domain
from ._grid import all_cells, cell_boxes, cell_indices, check_shape
from ._polygons import EdgeColumns, edges_of, measure_cells, read_rings, touched_cells
from ._rowwise import as_rows, row_blocks

if TYPE_CHECKING:
    from .._types import Draws, Rows

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

    @property
    def low(self) -> np.ndarray:
        """Lower corner of the bounding box."""
        return self._box.low

    @property
    def high(self) -> np.ndarray:
        """Upper corner of the bounding box."""
        return self._box.high

    @property
    def resolution(self) -> tuple:
        """Raster cells along each axis."""
        return self._resolution

    def contains(self, X: Rows) -> np.ndarray:
        """Return which points lie inside the polygons."""
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

    def sample(self, n: int, rng: Draws) -> np.ndarray:
        """Draw `n` points uniformly from the inside of the polygons."""
        full, border = self._raster
        candidates = np.argwhere(full | border)
        points = np.empty((n, 2))
        todo = np.arange(n)
        while todo.size:
            pick = (rng.random(todo.size) * len(candidates)).astype(np.int64)
            lower, upper = cell_boxes(candidates[pick], self.low, self.high, self._resolution)
            points[todo] = lower + (upper - lower) * rng.random(lower.shape)
            todo = todo[~self.contains(points[todo])]
        return points

    def cell_prior(self, shape: tuple) -> np.ndarray:
        """Return each cell's share of the area inside the polygons."""
        share, *_ = self._measure(check_shape(shape, 2))
        return share / share.sum()

    def cell_centroids(self, shape: tuple) -> np.ndarray:
        """Return one point inside the polygons for each cell, shape ``(*shape, 2)``.

        The centroid of the land of the cell where that is inside, else another land point of the
        cell, else the point that `clip` makes of the middle of the cell.
        """
        shape = check_shape(shape, 2)
        points, found = self._land_points(shape)
        empty = np.flatnonzero(~found)
        cells = np.stack(np.unravel_index(empty, shape), axis=1)
        lower, upper = cell_boxes(cells, self.low, self.high, shape)
        points[empty] = self.clip(lower + (upper - lower) / 2)
        return points.reshape(*shape, 2)

    @cached_property
    def _edges(self):
        return edges_of(self._rings)

    @cached_property
    def _edge_columns(self):
        return EdgeColumns(self._edges, self.low, self.high, self._resolution[0])

    @cached_property
    def _raster(self):
        """Return which raster cells lie inside, and which an edge runs through."""
        share, *_ = self._measure(self._resolution)
        border = touched_cells(self._edges, self.low, self.high, self._resolution)
        return (share == 1.0) & ~border, border

    @cached_property
    def _lookup(self):
        """Return a point for each raster cell, and the nearest cell that has one inside."""
        from scipy.ndimage import distance_transform_edt

        points, found = self._land_points(self._resolution)
        if not found.any():
            raise ValueError(f"the polygons are too thin for resolution={self._resolution}.")
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
            raise ValueError(f"the polygons are too thin to be seen by a grid of shape {shape}.")
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
        share, _, _ = measure_cells(self._edges, self.low, self.high, (64, 64))
        return math.log(share.mean()) + self._box.log_volume

    def cell_points(self, cells: np.ndarray, shape: tuple) -> np.ndarray:
        """Return the point of each cell that `cell_centroids` names."""
        return self.cell_centroids(shape)[tuple(cells.T)]

    def _key(self):
        return tuple(ring.tobytes() for ring in self._rings), self._resolution

    def __reduce__(self):
        return Mask, (self._rings, self._resolution)

    def __repr__(self):
        (x1, y1), (x2, y2) = self.low, self.high
        return (
            f"Mask({len(self._rings)} rings within [{x1:g}, {x2:g}] x [{y1:g}, {y2:g}], "
            f"resolution={self._resolution})"
        )
