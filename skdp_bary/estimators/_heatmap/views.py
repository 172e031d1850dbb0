"""What can be done with a released heatmap: pictures, intervals, densities, places, centers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...privacy._checks import check_integer, check_real
from ...privacy.noise.sampler import public_generator
from ...transformers._reading import read_rows
from ...transport._measures import DiscreteMeasure
from ...transport._tree.nodes import cell_positions
from .._face.drawing import check_samples
from .density import blur, log_densities, rake, raster
from .medians import k_median

if TYPE_CHECKING:
    from ..._types import RandomState

_LARGEST_PICTURE = 1024  # side of heatmap_ for grids finer than that
_MAX_PICTURE = 4096
_SCALES = (0.5, 1.0, 2.0, 4.0)  # of the bandwidth, in transform


class HeatmapViews(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Methods of everything that has been fitted to a heatmap.

    They need ``cells_``, ``grid_``, ``domain_``, ``bandwidth`` and ``_posterior`` (or None).
    """

    @property
    def heatmap_(self) -> np.ndarray:
        """The blurred heatmap, see the class."""
        self._check_fitted_attribute("heatmap_")
        return self.render(min(self.grid_.side, _LARGEST_PICTURE))

    @property
    def coreset_(self) -> DiscreteMeasure:
        """Middles of the cells, weighted by mass."""
        self._check_fitted_attribute("coreset_")
        return DiscreteMeasure(self._middles(), self.cells_.mass)

    def render(self, resolution: int = 256, bandwidth: float | None = None) -> np.ndarray:
        """Return the heatmap at another resolution or with another blur.

        Parameters
        ----------
        resolution : int, default=256
            A power of two, up to 4096.
        bandwidth : float or None, default=None
            Standard deviation of the blur in units of the side of the map; 0 shows the cells as
            they are. None is the bandwidth of the estimator.

        Returns
        -------
        heatmap : ndarray of shape (resolution, resolution)
            It sums to 1.
        """
        check_is_fitted(self)
        depth = check_power(resolution, _MAX_PICTURE)
        if bandwidth is None:
            bandwidth = self.bandwidth
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

    def interval(self, level: float = 0.9) -> np.ndarray:
        """Return where the mass of each cell lies with posterior probability `level`.

        The intervals are those of the model behind the posterior reconstruction: its public prior
        and the known law of the noise. They are the shortest ones; for cells that are more likely
        empty than not they start at 0 and end at the quantile ``(1 + level) / 2``. They are for
        single cells, not for all of them at once.

        Parameters
        ----------
        level : float, default=0.9

        Returns
        -------
        low, high : ndarray of shape (n_cells,)
            In persons, in the order of ``cells_``.
        """
        check_is_fitted(self)
        if self._posterior is None:
            raise ValueError(
                "interval needs the posterior, but this fit used another reconstruction; "
                'set reconstruction="posterior".'
            )
        level = check_real(level, "level", low=0.0, high=1.0, open_low=True, open_high=True)
        low, high = self._posterior.interval(level)
        tree = self._posterior.tree
        return tree.leaves(low)[2], tree.leaves(high)[2]

    def sample(self, n_samples: int = 1, random_state: RandomState | None = None) -> np.ndarray:
        """Draw synthetic places: a cell by its mass, then a point uniformly inside it.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : None, int or RandomState, default=None

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
        random_state : None, int or RandomState, default=None

        Returns
        -------
        centers : ndarray of shape (n_clusters, 2)
        cost : float
            Sum over the people of the release of the distance to the nearest center.

        Notes
        -----
        For any set of centers the cost of the release and that of the people inside the bounds
        differ by at most the earth mover's distance of the two in the L1 distance, mass without
        partner paying the diameter of the map: the distance to a set is 1-Lipschitz. For
        ``method="paper"`` Corollary A.1 of the paper bounds that distance. The search starts
        within a factor of order log(n_clusters) of the best centers of the release, in
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

    def to_geojson(self) -> dict:
        """Return the cells as a GeoJSON feature collection.

        Returns
        -------
        collection : dict
            One rectangle a cell with its ``mass``, and ``low`` and ``high`` of the 90 % interval
            where there is a posterior.
        """
        check_is_fitted(self)
        cells = self.cells_
        numbers = {"mass": cells.mass}
        if self._posterior is not None:
            numbers["low"], numbers["high"] = self.interval(0.9)
        features = []
        for i, (low, high) in enumerate(zip(cells.low.tolist(), cells.high.tolist(), strict=True)):
            ring = [low, [high[0], low[1]], high, [low[0], high[1]], low]
            features.append(
                {
                    "type": "Feature",
                    "geometry": {"type": "Polygon", "coordinates": [ring]},
                    "properties": {name: float(values[i]) for name, values in numbers.items()},
                }
            )
        return {"type": "FeatureCollection", "features": features}

    @property
    def _n_features_out(self):
        return len(_SCALES)

    def _middles(self):
        return (self.cells_.low + self.cells_.high) / 2.0

    def _log_densities(self, X, bandwidths):
        check_is_fitted(self)
        inside = np.clip(read_rows(self, X, reset=False), self.domain_.low, self.domain_.high)
        return log_densities(self.cells_, self.domain_, inside, bandwidths)

    def _check_fitted_attribute(self, name):
        if not hasattr(self, "cells_"):
            raise AttributeError(f"{name} is there after fit.")


def check_power(resolution, largest):
    """Return the logarithm of a resolution, to base 2."""
    resolution = check_integer(resolution, "resolution", low=2, high=largest)
    if resolution & (resolution - 1):
        raise ValueError(f"resolution must be a power of two, got {resolution}.")
    return resolution.bit_length() - 1
