"""HeatmapDisplay: a private heatmap on a map, and how sure it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from ..estimators._heatmap.density import raster
from ..geometry import Mask
from ._axes import check_kind, matplotlib_module, open_axes

if TYPE_CHECKING:
    from ..estimators._heatmap.estimator import PrivateEMDHeatmap
    from ._axes import AxesGiven

_CALLER = "HeatmapDisplay"
_PICTURE_DEPTH = 10
_GAMMA = 0.5


class HeatmapDisplay:
    """A heatmap in the units of its rows, with outlines over it and its uncertainty beside it.

    Create it with :meth:`from_estimator`, which needs no rows. Cells outside of a
    :class:`~skdp_bary.geometry.Mask` are left blank.

    Parameters
    ----------
    heatmap : ndarray of shape (n_rows, n_columns)
        The first row is the lowest. Cells that are NaN are left blank.
    extent : tuple of float
        Left, right, lower and upper border of the map.
    outlines : list of ndarray of shape (n_points, 2) or None, default=None
        Public lines to draw over it, such as borders.
    uncertainty : ndarray of shape (n_rows, n_columns) or None, default=None
        Drawn beside it: the length of the interval for the mass of the cell at every place.
    feature_names : list of str or None, default=None
        Names of the axes.
    title : str, default=""
        Title of the heatmap.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One, or two when there is an uncertainty.
    figure_ : matplotlib Figure
    images_ : list of matplotlib AxesImage

    See Also
    --------
    skdp_bary.PrivateEMDHeatmap : The estimator that releases heatmaps.

    Examples
    --------
    >>> from skdp_bary import PrivateEMDHeatmap
    >>> from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
    >>> from skdp_bary.plotting import HeatmapDisplay
    >>> X, people = make_city_checkins(n_people=500, random_state=0)
    >>> city = PrivateEMDHeatmap(bounds=CITY_BOUNDS).fit(X, groups=people)
    >>> display = HeatmapDisplay.from_estimator(city)  # doctest: +SKIP
    """

    def __init__(
        self,
        heatmap: np.ndarray,
        *,
        extent: tuple,
        outlines: list | None = None,
        uncertainty: np.ndarray | None = None,
        feature_names: list | None = None,
        title: str = "",
    ) -> None:
        self.heatmap = heatmap
        self.extent = extent
        self.outlines = outlines
        self.uncertainty = uncertainty
        self.feature_names = feature_names
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: PrivateEMDHeatmap,
        *,
        outlines: list | None = None,
        level: float | None = None,
        ax: AxesGiven | None = None,
    ) -> HeatmapDisplay:
        """Draw the heatmap of a fitted estimator. No rows are needed.

        Parameters
        ----------
        estimator : PrivateEMDHeatmap
            Fitted.
        outlines : list of array-like of shape (n_points, 2) or None, default=None
            Public lines to draw over it.
        level : float or None, default=None
            Draw beside it how long the intervals of this posterior probability are.
        ax : matplotlib Axes, pair of them, or None, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : HeatmapDisplay
        """
        check_kind(estimator, "k_median", "a PrivateEMDHeatmap")
        check_is_fitted(estimator)
        low, high = estimator.domain_.low, estimator.domain_.high
        names = getattr(estimator, "feature_names_in_", None)
        privacy = getattr(estimator, "privacy_", None)
        uncertainty = None
        if level is not None:
            uncertainty = _on_land(_interval_lengths(estimator, level), estimator.domain_)
        display = cls(
            _on_land(estimator.heatmap_, estimator.domain_),
            extent=(low[0], high[0], low[1], high[1]),
            outlines=None if outlines is None else [check_array(line) for line in outlines],
            uncertainty=uncertainty,
            feature_names=None if names is None else [str(name) for name in names],
            title="release" if privacy is None else f"release, epsilon={privacy.epsilon:g}",
        )
        return display.plot(ax=ax)

    def plot(self, ax: AxesGiven | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, pair of them, or None, default=None
            Axes to draw on, two when there is an uncertainty; None opens a figure.

        Returns
        -------
        self : HeatmapDisplay
        """
        left, right, lower, upper = self.extent
        aspect = float(np.clip((upper - lower) / (right - left), 0.3, 1.6))
        self.axes_ = open_axes(ax, 1 if self.uncertainty is None else 2, aspect, _CALLER)
        self.figure_ = self.axes_[0].figure
        self.images_ = [self._draw(self.axes_[0], self.heatmap, "magma", "share of the people")]
        self.axes_[0].set_title(self.title)
        if self.uncertainty is not None:
            image = self._draw(self.axes_[1], self.uncertainty, "viridis", "people")
            self.images_.append(image)
            self.axes_[1].set_title("length of the interval of a cell")
        return self

    def _draw(self, axes, picture, cmap, label):
        colors = matplotlib_module("colors", _CALLER)
        image = axes.imshow(
            picture,
            origin="lower",
            extent=self.extent,
            cmap=cmap,
            norm=colors.PowerNorm(_GAMMA, vmin=0.0),
        )
        for line in self.outlines or ():
            axes.plot(*np.asarray(line).T, color="white", linewidth=0.7)
        axes.set_xlim(self.extent[:2])
        axes.set_ylim(self.extent[2:])
        names = self.feature_names or ["feature 0", "feature 1"]
        axes.set_xlabel(names[0])
        axes.set_ylabel(names[1])
        self.figure_.colorbar(image, ax=axes, label=label)
        return image


def _on_land(picture, domain):
    """Return a picture without the cells that lie outside of a mask, which have no color."""
    if not isinstance(domain, Mask):
        return picture
    rows, columns = picture.shape
    return np.where(domain.cell_prior((columns, rows)).T > 0.0, picture, np.nan)


def _interval_lengths(estimator, level):
    low, high = estimator.interval(level)
    cells = estimator.cells_
    depth = min(int(cells.level.max()), _PICTURE_DEPTH)
    # a raster spreads what it is given evenly over a cell
    return raster(replace(cells, mass=(high - low) * 4.0 ** (depth - cells.level)), depth)
