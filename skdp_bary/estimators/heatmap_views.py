"""Views of a released heatmap: pictures, intervals, densities, medians."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array
from scipy.special import ndtr
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..exceptions import RandomState, check_integer, check_real
from ..geometry.rowwise import folded
from ..parameters import PowerOfTwo
from ..privacy.noise import public_generator
from ..transport.measures import DiscreteMeasure
from ..transport.trees import cell_positions
from ..values import read_rows
from .noisy_trees import noisy_total
from .notices import DrawsItself, check_samples

# What can be done with a released heatmap: pictures, intervals, densities, places, centers.

_LARGEST_PICTURE = 1024  # side of heatmap_ for grids finer than that
_MAX_PICTURE = 4096
_SCALES = (0.5, 1.0, 2.0, 4.0)  # of the bandwidth, in transform


class HeatmapViews(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DrawsItself):
    """Methods of everything that has been fitted to a heatmap.

    They need ``cells_``, ``measurements_``, ``grid_``, ``domain_``, ``bandwidth`` and
    ``_posterior`` (or None).
    """

    _display = "HeatmapDisplay"

    @property
    def _if_alone(self):
        return {} if self._posterior is None else {"level": 0.9}

    @property
    def heatmap_(self) -> np.ndarray:
        """The blurred heatmap, see the class."""
        check_is_fitted(self)
        return self.render(min(self.grid_.side, _LARGEST_PICTURE))

    @property
    def coreset_(self) -> DiscreteMeasure:
        """Middles of the cells, weighted by mass."""
        check_is_fitted(self)
        return DiscreteMeasure(self._middles(), self.cells_.mass)

    def render(self, resolution: int = 256, bandwidth: float | None = None) -> np.ndarray:
        """Return the heatmap at another resolution or with another blur.

        Parameters
        ----------
        resolution : int, default=256
            A power of two, up to 4096.
        bandwidth : float, default=None
            Standard deviation of the blur in units of the side of the map; 0 shows the cells as
            they are. None is the bandwidth of the estimator.

        Returns
        -------
        heatmap : ndarray of shape (resolution, resolution)
            It sums to 1.
        """
        check_is_fitted(self)
        PowerOfTwo(2, _MAX_PICTURE).check(resolution, "resolution")
        depth = int(resolution).bit_length() - 1
        bandwidth = self.bandwidth if bandwidth is None else bandwidth
        bandwidth = check_real(bandwidth, "bandwidth", low=0.0, high=1.0)
        if bandwidth == 0:
            picture = raster(self.cells_, depth)
        else:
            # a raked cell is smooth enough in four by four parts
            drawn = min(depth, int(self.cells_.level.max()) + 2)
            picture = rake(self.cells_, drawn)
            times = 2 ** (depth - drawn)
            picture = np.repeat(np.repeat(picture, times, axis=0), times, axis=1) / times**2
        picture = blur(picture, bandwidth)
        return picture / picture.sum()

    def count_persons(self, *, return_std: bool = False) -> float | tuple[float, float]:
        """Return about how many people are on the map, from the noisy masses as released.

        Unlike `total_` it is not shrunk, and may be below 0 where there are few.

        Parameters
        ----------
        return_std : bool, default=False
            Whether to return the standard error too.

        Returns
        -------
        persons : float
        std : float
            Standard deviation of its noise. Only with ``return_std=True``.
        """
        check_is_fitted(self)
        persons, std = noisy_total(self.measurements_)
        return (float(persons), float(std)) if return_std else float(persons)

    def interval(self, level: float = 0.9) -> np.ndarray:
        """Interval for the mass of each cell, of posterior probability `level`.

        The intervals are those of the model behind the posterior means: its public prior
        and the known distribution of the noise. They are the shortest ones; for cells that are more
        likely empty than not they start at 0 and end at the quantile ``(1 + level) / 2``. An
        interval that misses the released mass of ``cells_`` is widened to it, so that its
        probability is at least as high. They are for single cells, not for all of them at once.

        Parameters
        ----------
        level : float, default=0.9

        Returns
        -------
        low, high : ndarray of shape (n_cells,)
            In people, in the order of ``cells_``.
        """
        check_is_fitted(self)
        if self._posterior is None:
            raise ValueError(
                "interval needs a release with a posterior: fit PrivateEMDHeatmap and call its own "
                "interval(level)."
            )
        level = check_real(level, "level", low=0.0, high=1.0, open_low=True, open_high=True)
        tree, mass = self._posterior.tree, self.cells_.mass
        low, high = (tree.leaves(ends)[2] for ends in self._posterior.interval(level))
        return np.minimum(low, mass), np.maximum(high, mass)

    def sample(self, n_samples: int = 1, random_state: RandomState | None = None) -> np.ndarray:
        """Draw synthetic places: a cell by its mass, then a point uniformly inside it.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int or RandomState, default=None

        Returns
        -------
        X : ndarray of shape (n_samples, 2)
        """
        check_is_fitted(self)
        n_samples = check_samples(n_samples, 2)
        rng = public_generator(random_state)
        mass = self.cells_.mass
        drawn = rng.choice(len(mass), size=n_samples, p=mass / mass.sum())
        X = np.empty((n_samples, 2))
        for level in np.unique(self.cells_.level[drawn]):
            rows = np.flatnonzero(self.cells_.level[drawn] == level)
            row, column = cell_positions(self.cells_.code[drawn[rows]])
            shape = (2 ** int(level),) * 2
            X[rows] = self.domain_.sample_in_cells(np.stack([column, row], axis=1), shape, rng)
        return X

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Return the logarithm of the blurred density at each row.

        One person's worth of the uniform distribution is added, so it is positive everywhere; rows
        outside the map are moved to its border.

        Parameters
        ----------
        X : array-like of shape (n_rows, 2)

        Returns
        -------
        log_density : ndarray of shape (n_rows,)
        """
        return self._log_densities(X, [self.bandwidth])[:, 0]

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Return the mean of ``score_samples(X)``.

        Parameters
        ----------
        X : array-like of shape (n_rows, 2)
        y : None
            Ignored.

        Returns
        -------
        score : float
        """
        return float(self.score_samples(X).mean())

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return log densities at each row, blurred by 1/2, 1, 2 and 4 times the bandwidth.

        Parameters
        ----------
        X : array-like of shape (n_rows, 2)

        Returns
        -------
        features : ndarray of shape (n_rows, 4)
        """
        return self._log_densities(X, [scale * self.bandwidth for scale in _SCALES])

    def k_median(
        self, n_clusters: int, n_init: int = 10, random_state: RandomState | None = None
    ) -> tuple[np.ndarray, float]:
        """Return centers that are close to the people, in L1 distance.

        Parameters
        ----------
        n_clusters : int
        n_init : int, default=10
        random_state : int or RandomState, default=None

        Returns
        -------
        centers : ndarray of shape (n_clusters, 2)
        cost : float
            Sum over the people of the release of the distance to the nearest center.

        Notes
        -----
        For any set of centers the cost of the release and that of the people inside the bounds
        differ by at most the earth mover's distance of the two in the L1 distance, mass without
        partner paying the diameter of the map: the distance to a set is 1-Lipschitz. The search
        starts within a factor of order log(n_clusters) of the best centers of the release, in
        expectation, and only improves from there.
        """
        check_is_fitted(self)
        n_clusters = check_integer(n_clusters, "n_clusters", low=1)
        n_init = check_integer(n_init, "n_init", low=1)
        rng = public_generator(random_state)
        return k_median(self._middles(), self.cells_.mass, n_clusters, n_init, rng)

    def to_measure(self) -> DiscreteMeasure:
        """Return the release as a discrete measure of total mass 1 for transport.

        Returns
        -------
        measure : DiscreteMeasure
        """
        check_is_fitted(self)
        return self.coreset_.normalized()

    def to_geojson(self, **about: object) -> dict:
        """Cells as a GeoJSON feature collection, for a map of ``density``.

        Parameters
        ----------
        **about
            Public facts to state in the file, such as ``period="2026-05", unit="person"``.

        Returns
        -------
        collection : dict
            One rectangle per cell with its ``mass`` in people, its ``density`` per unit of area,
            and ``low`` and ``high`` of the 90% :meth:`interval` of the mass, with its
            ``interval_level`` of 0.9, if there is a posterior. The member ``release`` states
            epsilon, delta, the relation and `about`.
        """
        check_is_fitted(self)
        cells = self.cells_
        density = cells.mass / (cells.high - cells.low).prod(axis=1)
        numbers = {"mass": cells.mass, "density": density}
        if self._posterior is not None:
            numbers["low"], numbers["high"] = self.interval(0.9)
            numbers["interval_level"] = np.full(len(density), 0.9)
        features = []
        for i, (low, high) in enumerate(zip(cells.low.tolist(), cells.high.tolist(), strict=True)):
            ring = [low, [high[0], low[1]], high, [low[0], high[1]], low]
            shape = {"type": "Polygon", "coordinates": [ring]}
            about_cell = {name: float(values[i]) for name, values in numbers.items()}
            features.append({"type": "Feature", "geometry": shape, "properties": about_cell})
        stated = self._stated_guarantee()
        stated = stated | about | stated  # in this order, and nothing replaces the guarantee
        return {"type": "FeatureCollection", "release": stated, "features": features}

    def save_geojson(
        self, path: str | PathLike[str], *, overwrite: bool = False, **about: object
    ) -> None:
        """Write :meth:`to_geojson` to a file, with 90% intervals of the masses.

        Parameters
        ----------
        path : str or Path
        overwrite : bool, default=False
            Replace a file that is there already; otherwise it raises FileExistsError.
        **about
            Public facts to state in the file, such as ``period="2026-05", unit="person"``.
        """
        text = json.dumps(self.to_geojson(**about), allow_nan=False)
        if not overwrite and Path(path).exists():
            raise FileExistsError(
                f"path must be a new file, got {str(path)!r}, which exists. Pass overwrite=True to "
                "replace it, or another name: saving again is not charged."
            )
        with Path(path).open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(text)

    def _stated_guarantee(self):
        plan = self.privacy_
        stated = {"epsilon": plan.epsilon, "delta": plan.delta, "relation": plan.relation}
        doubt = getattr(self, "_seeded", False) or plan.one_of_several
        return stated | ({"private": False} if doubt else {})

    @property
    def _n_features_out(self):
        return len(_SCALES)

    def _middles(self):
        return (self.cells_.low + self.cells_.high) / 2.0

    def _log_densities(self, X, bandwidths):
        """Return log densities of the blurred masses, one person's worth of uniform added.

        They have the shape (n_rows, n_bandwidths). The kernel runs over the borders of the map.
        """
        check_is_fitted(self)
        inside = np.clip(read_rows(self, X, reset=False), self.domain_.low, self.domain_.high)
        low, high = self.domain_.low[:2], self.domain_.high[:2]
        widths = high - low
        per_area = self.cells_.mass / np.prod((self.cells_.high - self.cells_.low) / widths, axis=1)
        # the kernel over a cell is a product of those over its two sides, which many cells share
        positions = cell_positions(self.cells_.code)[::-1]
        sides = [_sides(self.cells_, axis, positions[axis]) for axis in (0, 1)]
        shape = [ends.shape[1] for ends, _ in sides]
        masses = csr_array((per_area, (sides[1][1], sides[0][1])), shape=shape[::-1])
        densities = np.empty((len(inside), len(bandwidths)))
        rows = max(1, _BLOCK // max(shape))
        for start in range(0, len(inside), rows):
            part = inside[start : start + rows, :2].T
            for scale, bandwidth in enumerate(bandwidths):
                across, up = (
                    _between(ends, x, bandwidth * width)
                    for (ends, _), x, width in zip(sides, part, widths, strict=True)
                )
                # sums of sparse products are taken column by column: a row has its bits to itself
                shares = masses @ across
                shares *= up
                densities[start : start + rows, scale] = folded(shares)
        return np.log((densities + 1.0) / (self.cells_.mass.sum() + 1.0)) - np.log(widths).sum()


# Pictures and densities of masses on quadtree cells.

_BLOCK = 2**18  # sides by rows whose kernels are evaluated at once


def raster(cells, depth):
    """Return the masses on a grid of side ``2**depth``, spread evenly inside every cell.

    ``raster[i, j]`` is the mass in the i-th row (second coordinate) and j-th column (first), both
    counted from the lower corner.
    """
    grid = np.zeros((1, 1))
    for level in range(depth + 1):
        if level:
            grid = np.repeat(np.repeat(grid / 4.0, 2, axis=0), 2, axis=1)
        here = cells.level == level if level < depth else cells.level >= depth
        codes = cells.code[here] >> 2 * np.maximum(cells.level[here] - depth, 0)
        np.add.at(grid, cell_positions(codes), cells.mass[here])
    return grid


def rake(cells, depth):
    """Return a smooth raster that keeps the mass of every cell.

    The raster is smoothed over half the side of the cells and scaled back to the mass of each of
    them. Steps between neighboring cells become slopes inside them.
    """
    grid = raster(cells, depth)
    smooth = grid.copy()
    for level in np.unique(cells.level[cells.level < depth]):
        here = cells.level == level
        width = 2 ** (depth - int(level))
        blurred = gaussian_filter(grid, 0.5 * width, mode="nearest", truncate=3.0)
        rows, columns = cell_positions(cells.code[here])
        shape, masses = (len(grid) // width, width) * 2, cells.mass[here]
        blocks = blurred.reshape(shape)[rows, :, columns, :]  # of shape (cells, width, width)
        sums = blocks.sum(axis=(1, 2))
        scale = np.divide(masses, sums, out=np.zeros_like(masses), where=sums > 0)
        even = np.where(sums > 0, 0.0, masses / width**2)
        blocks = blocks * scale[:, None, None] + even[:, None, None]
        smooth.reshape(shape)[rows, :, columns, :] = blocks
    return smooth


def blur(grid, bandwidth):
    """Return a raster after a Gaussian blur that keeps all mass on the map.

    Parameters
    ----------
    grid : ndarray of shape (side, side)
    bandwidth : float
        Standard deviation in units of the side of the map; 0 leaves the raster as it is.
    """
    if bandwidth == 0:
        return grid
    # Gaussian weights from every place to every place; those of one source sum to 1
    places = np.arange(len(grid))
    apart = places[:, None] - places
    kernel = np.exp(-(apart**2) / (2.0 * (bandwidth * len(grid)) ** 2))
    kernel /= kernel.sum(axis=0)
    return kernel @ grid @ kernel.T


def _sides(cells, axis, positions):
    """Return the sides (low, high) of cells along an axis, once each, and that of every cell."""
    names = (1 << cells.level) + positions  # of side `position` at a level, each its own number
    _, first, place = np.unique(names, return_index=True, return_inverse=True)
    return np.stack([cells.low[first, axis], cells.high[first, axis]]), place


def _between(sides, x, sd):
    """Return the share of the kernel at every x that lies in every side, of shape (sides, x)."""
    ends, place = np.unique(sides, return_inverse=True)
    steps = ndtr((x - ends[:, None]) / sd)
    first, last = place.reshape(sides.shape)
    shares = steps[first]
    shares -= steps[last]
    return shares


# Weighted k-median in the plane with the L1 distance, on released masses.

_MAX_ROUNDS = 100


def k_median(points, weights, n_clusters, n_init, rng):
    """Return centers and their cost, the best of several starts.

    Each start picks centers one by one, a point with probability proportional to its weight times
    its distance from the centers so far: in expectation within a factor of order ``log(k)`` of the
    best cost (Arthur and Vassilvitskii, 2007). Then points are assigned and every center moved to
    the weighted median of each coordinate, which can only lower the cost.
    """
    best, lowest = None, np.inf
    for _ in range(n_init):
        chosen = [rng.choice(len(points), p=weights / weights.sum())]
        nearest = _distances(points, points[chosen]).ravel()
        while len(chosen) < n_clusters:
            chance = weights * nearest
            if not chance.sum() > 0:  # every point is a center already
                chance = weights
            chosen.append(rng.choice(len(points), p=chance / chance.sum()))
            nearest = np.minimum(nearest, _distances(points, points[chosen[-1:]]).ravel())
        found, cost = points[chosen], np.inf
        for _ in range(_MAX_ROUNDS):  # nearest centers and medians take turns
            distances = _distances(points, found)
            now = float(weights @ distances.min(axis=1))
            if now >= cost:
                break
            cost, centers, labels, found = now, found, distances.argmin(axis=1), found.copy()
            for k in np.unique(labels):
                own, mass = points[labels == k], weights[labels == k]
                for axis, order in enumerate(np.argsort(own, axis=0, kind="stable").T):
                    below = np.cumsum(mass[order])
                    found[k, axis] = own[order, axis][np.searchsorted(below, below[-1] / 2.0)]
        if cost < lowest:
            best, lowest = centers, cost
    return best, lowest


def _distances(points, centers):
    return np.abs(points[:, None] - centers).sum(axis=2)
