"""HeatmapDisplay and MeasureDisplay: masses of cells."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..estimators.heatmap_views import raster
from ..geometry.mask import Mask
from ..geometry.rowwise import cell_boxes
from .axes import (
    Display,
    basemap_lines,
    check_kind,
    compared_rows,
    drawn_features,
    feature_names,
    map_aspect,
    title_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.heatmap import PrivateEMDHeatmap
    from ..estimators.measure import PrivateMeasure
    from ..geometry.bounds import Bounds
    from .axes import AxesGiven


# HeatmapDisplay: a private heatmap on a map, and how sure it is.

_PICTURE_DEPTH = 10
_GAMMA = 0.5
_MAP_SHARE = 0.8  # width of a map next to its colors, as a share of the axes


@dataclass(eq=False, repr=False)
class HeatmapDisplay(Display):
    """A heatmap in the units of its rows, with basemap over it and its uncertainty next to it.

    Create it with :meth:`from_estimator`, which needs no rows. Cells outside of a
    :class:`~skdp_bary.geometry.Mask` are left blank.

    Parameters
    ----------
    heatmap : ndarray of shape (n_rows, n_columns)
        The first row is the lowest. Cells that are NaN are left blank.
    extent : tuple of float
        Left, right, lower and upper border of the map.
    basemap : list of ndarray of shape (n_points, 2), default=None
        Public lines to draw over it, such as borders.
    uncertainty : ndarray of shape (n_rows, n_columns), default=None
        Drawn next to it: the length of the interval for the mass of the cell at every place.
    feature_names : list of str, default=None
        Names of the axes.
    title : str, default=""
        Title of the heatmap.
    label : str, default="share of the people"
        Label of the colors.
    aspect : float, default=1.0
        Length of a unit upwards over that of one to the right.

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

    heatmap: np.ndarray
    _: KW_ONLY
    extent: tuple
    basemap: list | None = None
    uncertainty: np.ndarray | None = None
    feature_names: list | None = None
    title: str = ""
    label: str = "share of the people"
    aspect: float = 1.0

    @classmethod
    def from_estimator(
        cls,
        estimator: PrivateEMDHeatmap,
        *,
        basemap: list | dict | None = None,
        degrees: bool = False,
        level: float | None = None,
        ax: AxesGiven | None = None,
    ) -> HeatmapDisplay:
        """Draw the heatmap of a fitted estimator. No rows are needed.

        Parameters
        ----------
        estimator : PrivateEMDHeatmap
            Fitted.
        basemap : list of array-like of shape (n_points, 2) or GeoJSON, default=None
            Public borders to draw over it: lists of points, or features of a GeoJSON file.
        degrees : bool, default=False
            Whether features are longitude and latitude: a degree of longitude is then drawn
            shorter, by the cosine of the latitude in the middle.
        level : float, default=None
            Draw next to it how long the intervals of this posterior probability are.
        ax : matplotlib Axes or pair of them, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : HeatmapDisplay
        """
        check_kind(estimator, "k_median", "a PrivateEMDHeatmap")
        check_is_fitted(estimator)
        low, high = estimator.domain_.low, estimator.domain_.high
        uncertainty = None
        if level is not None:
            low_mass, high_mass = estimator.interval(level)
            cells = estimator.cells_
            depth = min(int(cells.level.max()), _PICTURE_DEPTH)
            # a raster spreads what it is given evenly over a cell
            lengths = (high_mass - low_mass) * 4.0 ** (depth - cells.level)
            uncertainty = _on_land(raster(replace(cells, mass=lengths), depth), estimator.domain_)
        heatmap = estimator.heatmap_
        area = np.prod(high[:2] - low[:2]) / heatmap.size
        density = heatmap * estimator.cells_.mass.sum() / area
        display = cls(
            _on_land(density, estimator.domain_),
            extent=(low[0], high[0], low[1], high[1]),
            basemap=basemap_lines(basemap),
            uncertainty=uncertainty,
            feature_names=feature_names(estimator),
            title=title_of(estimator),
            label=f"people per {'square degree' if degrees else 'unit of area'}",
            aspect=1.0 / np.cos(np.radians((low[1] + high[1]) / 2.0)) if degrees else 1.0,
        )
        return display.plot(ax=ax)

    def _draw(self, ax):
        corners, colors = (self.extent[::2], self.extent[1::2]), self._matplotlib("colors")
        pictures = [(self.heatmap, "magma", self.label, self.title)]
        if self.uncertainty is not None:
            title = "length of the interval of a cell"
            pictures.append((self.uncertainty, "viridis", "people", title))
        ratio = map_aspect(corners, self.aspect)
        self._open(ax, ratio, len(pictures))
        self.images_ = []
        for axes, (picture, cmap, label, title) in zip(self.axes_, pictures, strict=True):
            place = {"origin": "lower", "extent": self.extent, "aspect": self.aspect}
            norm = colors.PowerNorm(_GAMMA, vmin=0.0)
            self.images_.append(axes.imshow(picture, cmap=cmap, norm=norm, **place))
            for line in self.basemap or ():
                axes.plot(*np.asarray(line).T, color="white", linewidth=0.7)
            width, height = self._frame(axes, *corners)
            axes.set_title(title)
            shrink = min(1.0, _MAP_SHARE * width * ratio / height)
            self.figure_.colorbar(self.images_[-1], ax=axes, label=label, shrink=shrink)


def _on_land(picture, domain):
    """Return a picture without the cells that lie outside of a mask, which have no color."""
    if not isinstance(domain, Mask):
        return picture
    rows, columns = picture.shape
    return np.where(domain.cell_prior((columns, rows)).T > 0.0, picture, np.nan)


# MeasureDisplay: the cells of a private measure, in one or two dimensions.

_ROW_BINS = {1: 100, 2: 128}
_TOP_QUANTILE = 0.95  # of the mass: the few densest cells would hide all others
_MEASURE_GAMMA = 0.4
_GRID = 64  # cells along a feature that is drawn of several


@dataclass(eq=False, repr=False)
class MeasureDisplay(Display):
    """Cells of a released measure, colored by their density.

    Create it with :meth:`from_estimator`, which needs no rows, or with :meth:`from_comparison`,
    which shows rows next to the release and is not private.

    Parameters
    ----------
    low, high : ndarray of shape (n_cells, n_features)
        Corners of the cells, one or two features.
    weights : ndarray of shape (n_cells,)
        Mass of the cells; it sums to 1.
    bounds : tuple of ndarray of shape (n_features,)
        Lower and upper corner of the picture.
    feature_names : list of str, default=None
        Names of the axes.
    title : str, default=""
        Title of the picture of the release.
    rows : ndarray of shape (n_rows, n_features), default=None
        Rows shown next to the release.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One, or two when there are rows.
    figure_ : matplotlib Figure
    cells_ : matplotlib artist
        The cells of the release.

    See Also
    --------
    skdp_bary.PrivateMeasure : The estimator that releases such measures.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateMeasure
    >>> from skdp_bary.plotting import MeasureDisplay
    >>> X = np.random.default_rng(0).normal(0.5, 0.1, size=(5000, 2))
    >>> measure = PrivateMeasure(epsilon=1.0, bounds=(0, 1)).fit(X)
    >>> display = MeasureDisplay.from_estimator(measure)  # doctest: +SKIP
    """

    low: np.ndarray
    high: np.ndarray
    weights: np.ndarray
    _: KW_ONLY
    bounds: Bounds | None
    feature_names: list | None = None
    title: str = ""
    rows: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls, estimator: PrivateMeasure, *, features: tuple | None = None, ax: Axes | None = None
    ) -> MeasureDisplay:
        """Draw the release of a fitted estimator. No rows are needed.

        Parameters
        ----------
        estimator : PrivateMeasure
            Fitted.
        features : tuple of one or two int or str, default=None
            Places or names of the features that are drawn. None: the first two.
        ax : matplotlib Axes, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : MeasureDisplay
        """
        return cls(**_read_release(estimator, features)).plot(ax=ax)

    @classmethod
    def from_comparison(
        cls, estimator: PrivateMeasure, X: ArrayLike, *, ax: AxesGiven | None = None
    ) -> MeasureDisplay:
        """Draw rows next to the release, for the owner of the rows: this picture is not private.

        Parameters
        ----------
        estimator : PrivateMeasure
            Fitted, on one or two features.
        X : array-like of shape (n_rows, n_features)
            Rows to compare with, such as those the estimator was fitted on.
        ax : pair of matplotlib Axes, default=None
            Axes for the rows and for the release; None opens a figure.

        Returns
        -------
        display : MeasureDisplay
        """
        if estimator.n_features_in_ > 2:
            raise ValueError(
                f"A comparison needs one or two features, got {estimator.n_features_in_}. Pass two "
                "columns to fit, or draw the release alone by from_estimator."
            )
        release = _read_release(estimator)
        return cls(**release, rows=compared_rows(X, estimator.n_features_in_)).plot(ax=ax)

    def _draw(self, ax):
        aspect = 0.75 if len(self.bounds[0]) == 1 else map_aspect(self.bounds)
        self._open_pair(ax, aspect)
        if self.low.shape[1] == 1:
            self._draw_line()
        else:
            self._draw_map()

    def _draw_map(self):
        collections, colors = self._matplotlib("collections"), self._matplotlib("colors")
        density = self.weights / np.prod(self.high - self.low, axis=1)
        # the density that all but the densest twentieth of the mass stays below
        order = np.argsort(density)
        place = np.searchsorted(np.cumsum(self.weights[order]), _TOP_QUANTILE * self.weights.sum())
        top = density[order[min(place, len(order) - 1)]]
        norm = colors.PowerNorm(_MEASURE_GAMMA, vmin=0.0, vmax=top)
        x, y = np.stack([self.low, self.high], axis=-1).swapaxes(0, 1)  # both (n_cells, 2)
        corners = np.stack([x[:, [0, 1, 1, 0]], y[:, [0, 0, 1, 1]]], axis=-1)  # (n_cells, 4, 2)
        # edges in the color of their cell close the hairlines that renderers leave between cells
        self.cells_ = collections.PolyCollection(
            corners, array=density, norm=norm, cmap="magma", edgecolors="face", linewidths=0.2
        )
        self.axes_[-1].add_collection(self.cells_)
        if self.rows is not None:
            sides = np.column_stack(self.bounds)
            self.axes_[0].hist2d(
                *self.rows.T, bins=_ROW_BINS[2], range=sides, density=True, norm=norm, cmap="magma"
            )
        for axes in self.axes_:
            axes.set_facecolor("black")
            self._frame(axes, *self.bounds)
            axes.set_aspect("equal")
        style = {"extend": "max", "pad": 0.02, "aspect": 30}
        self.figure_.colorbar(self.cells_, ax=list(self.axes_), label="density", **style)

    def _draw_line(self):
        edges = np.linspace(self.bounds[0][0], self.bounds[1][0], _ROW_BINS[1] + 1)
        order = np.argsort(self.low[:, 0])
        corners = np.column_stack([self.low[order, 0], self.high[order, 0]]).ravel()
        total = np.cumsum(self.weights[order])
        below = np.column_stack([total - self.weights[order], total]).ravel()
        heights = np.diff(np.interp(edges, corners, below)) / np.diff(edges)
        self.cells_ = self.axes_[-1].stairs(heights, edges, fill=True, color="tab:purple")
        if self.rows is not None:
            self.axes_[0].hist(self.rows[:, 0], bins=edges, density=True, color="tab:gray")
            self.axes_[0].sharey(self.axes_[1])
        (name,) = self.feature_names or ["feature 0"]
        for axes in self.axes_:
            axes.set(xlim=(edges[0], edges[-1]), xlabel=name, ylabel="density")


def _read_release(estimator, features=None):
    """Return the cells of a fitted estimator, from its release alone."""
    check_is_fitted(estimator)
    names = feature_names(estimator)
    features = list(drawn_features(features, names))
    tree, cells, domain = estimator.tree_, estimator.cells_, estimator.domain_
    low = np.empty((len(cells.mass), domain.n_features))
    high = np.empty_like(low)
    for level in np.unique(cells.level):
        rows = np.flatnonzero(cells.level == level)
        places = tree.positions(cells.index[rows], level)
        low[rows], high[rows] = cell_boxes(places, domain.low, domain.high, tree.full_shape(level))
    bounds = domain.low[features], domain.high[features]
    low, high, weights = low[:, features], high[:, features], estimator.weights_
    if len(features) < len(names):  # cells lie over each other
        low, high, weights = _marginal(low, high, weights, bounds)
    return {
        "low": low,
        "high": high,
        "weights": weights,
        "bounds": bounds,
        "feature_names": [names[f] for f in features],
        "title": title_of(estimator),
    }


def _marginal(low, high, weights, bounds):
    """Return the masses of cells in those of an even grid on the features that are drawn."""
    edges = [np.linspace(*ends, _GRID + 1) for ends in zip(*bounds, strict=True)]
    shares = [
        np.clip(np.minimum(h[:, None], e[1:]) - np.maximum(lo[:, None], e[:-1]), 0.0, None)
        / (h - lo)[:, None]
        for lo, h, e in zip(low.T, high.T, edges, strict=True)
    ]
    first = weights[:, None] * shares[0]
    masses = first.sum(axis=0) if len(shares) == 1 else first.T @ shares[1]
    corners = [
        np.stack(np.meshgrid(*ends, indexing="ij"), axis=-1).reshape(masses.size, -1)
        for ends in ([e[:-1] for e in edges], [e[1:] for e in edges])
    ]
    return *corners, masses.ravel()
