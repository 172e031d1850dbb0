"""BarycenterDisplay and ClusterDisplay: atoms and centers."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..rows.persons import encode_labels
from ..transport.measures import DiscreteMeasure
from .axes import (
    Display,
    basemap_lines,
    compared_rows,
    drawn_features,
    feature_names,
    map_aspect,
    plane,
    title_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.barycenter import PrivateWassersteinBarycenter
    from ..estimators.kmeans import PrivateKMeans
    from ..geometry.bounds import Bounds
    from .axes import AxesGiven


# BarycenterDisplay: the atoms of a private barycenter over the groups they represent.

_INK = 3000.0  # points squared that all marks of one group cover together
_LARGEST = 100.0
_MOST_ROWS = 20_000
_ROW_SIZE = 1.0
_SHARE = "share of the people"  # the height where one feature is drawn


@dataclass(eq=False, repr=False)
class BarycenterDisplay(Display):
    """Atoms of a barycenter over the private measures of its groups, on two features.

    Create it with :meth:`from_estimator`, which needs no rows, or with :meth:`from_comparison`,
    which shows rows next to the release and is not private.

    Parameters
    ----------
    support : ndarray of shape (n_atoms, 2)
    measures : list of DiscreteMeasure
        One measure a group, drawn as points whose areas are proportional to their masses.
    class_names : list of str
        One name a group.
    bounds : tuple of ndarray of shape (2,)
        Lower and upper corner of the picture.
    basemap : list of ndarray of shape (n_points, 2), default=None
        Public lines to draw below, such as borders.
    feature_names : list of str, default=None
        Names of the axes.
    title : str, default=""
        Title of the picture of the release.
    rows : list of ndarray of shape (n_rows, 2), default=None
        Rows of every group, shown next to the release.
    aspect : {"equal", "auto"}, default="equal"
        Whether both axes have the unit of a feature.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One, or two when there are rows.
    figure_ : matplotlib Figure
    atoms_ : list of matplotlib PathCollection
        The atoms, on each of the axes.
    groups_ : list of matplotlib PathCollection
        The private measures, one per group.

    See Also
    --------
    skdp_bary.PrivateWassersteinBarycenter : The estimator that releases barycenters.

    Examples
    --------
    >>> from skdp_bary import PrivateWassersteinBarycenter
    >>> from skdp_bary.datasets import COUNTRY_BOUNDS, make_population
    >>> from skdp_bary.plotting import BarycenterDisplay
    >>> X, y = make_population(5000, random_state=0)
    >>> centers = PrivateWassersteinBarycenter(
    ...     n_atoms=5, classes=[0, 1, 2], bounds=COUNTRY_BOUNDS, n_hint=5000
    ... ).fit(X, y)
    >>> display = BarycenterDisplay.from_estimator(centers)  # doctest: +SKIP
    """

    support: np.ndarray
    measures: list
    class_names: list
    _: KW_ONLY
    bounds: Bounds | None
    basemap: list | None = None
    feature_names: list | None = None
    title: str = ""
    rows: list | None = None
    aspect: Literal["equal", "auto"] = "equal"

    @classmethod
    def from_estimator(
        cls,
        estimator: PrivateWassersteinBarycenter,
        *,
        features: tuple | None = None,
        basemap: list | None = None,
        ax: Axes | None = None,
    ) -> BarycenterDisplay:
        """Draw the release of a fitted estimator. No rows are needed.

        Parameters
        ----------
        estimator : PrivateWassersteinBarycenter
            Fitted.
        features : tuple of one or two int or str, default=None
            Places or names of the features that are drawn. None: the first two.
        basemap : list of array-like of shape (n_points, 2) or GeoJSON, default=None
            Public lines to draw below.
        ax : matplotlib Axes, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : BarycenterDisplay
        """
        return cls(**_read_release(estimator, basemap, features)).plot(ax=ax)

    @classmethod
    def from_comparison(
        cls,
        estimator: PrivateWassersteinBarycenter,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        basemap: list | None = None,
        ax: AxesGiven | None = None,
    ) -> BarycenterDisplay:
        """Draw rows next to the release, for the owner of the rows: this picture is not private.

        Parameters
        ----------
        estimator : PrivateWassersteinBarycenter
            Fitted, on two features.
        X : array-like of shape (n_rows, 2)
            Rows to compare with, such as those the estimator was fitted on.
        y : array-like of shape (n_rows,), default=None
            Their labels; may be left out when there is only one group.
        basemap : list of array-like of shape (n_points, 2) or GeoJSON, default=None
            Public lines to draw below.
        ax : pair of matplotlib Axes, default=None
            Axes for the rows and for the release; None opens a figure.

        Returns
        -------
        display : BarycenterDisplay
        """
        release = _read_release(estimator, basemap)
        X, classes = compared_rows(X, 2), estimator.classes_
        if y is None and len(classes) > 1:
            raise ValueError(
                f"y must hold labels in {list(classes)!r}, got None. Pass one for every row of X."
            )
        codes = np.zeros(len(X), dtype=int) if y is None else encode_labels(y, classes, len(X))
        rows = [X[codes == code] for code in range(len(classes))]
        return cls(**release, rows=rows).plot(ax=ax)

    def _draw(self, ax):
        self._open_pair(ax, map_aspect(self.bounds))
        shares = [measure.weights / measure.weights.sum() for measure in self.measures]
        colors = [f"C{group % 10}" for group in range(len(self.measures))]
        self.groups_ = []
        for measure, share, color in zip(self.measures, shares, colors, strict=True):
            style = {"s": np.minimum(_INK * share, _LARGEST), "alpha": 0.5, "linewidths": 0}
            self.groups_.append(self.axes_[-1].scatter(*measure.support.T, color=color, **style))
        for rows, color in zip(self.rows or (), colors, strict=False):
            # every k-th row of a group, so that the picture of millions stays small
            shown = rows[:: 1 + len(rows) // _MOST_ROWS]
            self.axes_[0].scatter(*shown.T, s=_ROW_SIZE, color=color, alpha=0.3, linewidths=0)
        self.atoms_ = []
        for axes in self.axes_:
            for line in self.basemap or ():
                axes.plot(*np.asarray(line).T, color="gray", linewidth=0.6, zorder=0)
            style = {"marker": "*", "s": 90, "edgecolors": "white", "linewidths": 0.6}
            self.atoms_.append(axes.scatter(*self.support.T, color="black", **style))
            self._frame(axes, *self.bounds)
            axes.set_aspect(self.aspect)
        if len(self.class_names) > 1:
            line = self._matplotlib("lines").Line2D
            marks = [line([], [], marker="o", linestyle="", color=color) for color in colors]
            self.axes_[-1].legend(marks, self.class_names, loc="best", fontsize="small")


def _read_release(estimator, basemap, features=None):
    """Data of a plot of a fitted estimator, from its release alone."""
    check_is_fitted(estimator)
    names = feature_names(estimator)
    features = drawn_features(features, names)
    shares = [measure.weights / measure.weights.sum() for measure in estimator.private_measures_]
    measures = [
        DiscreteMeasure(plane(measure.support, features, share), measure.weights)
        for measure, share in zip(estimator.private_measures_, shares, strict=True)
    ]
    top = max(share.max() for share in shares)
    ends = np.array([estimator.domain_.low, estimator.domain_.high])
    return {
        "support": plane(estimator.support_, features, 0.0),
        "measures": measures,
        "class_names": [str(label) for label in estimator.classes_],
        "bounds": tuple(plane(ends, features, [0.0, top])),
        "basemap": basemap_lines(basemap),
        "feature_names": [*(names[f] for f in features), _SHARE][:2],
        "title": title_of(estimator),
        "aspect": "equal" if features[1:] else "auto",
    }


# ClusterDisplay: private centers, as points of the plane or as pictures.

_LARGEST_MARKER = 400.0
_COLUMNS = 8
_DRAWN = 2000  # rows of a generator


@dataclass(eq=False, repr=False)
class ClusterDisplay(Display):
    """Centers of a private clustering, their sizes, and discs of two standard deviations.

    Create it with :meth:`from_estimator`, which needs no rows.

    Parameters
    ----------
    centers : ndarray of shape (n_clusters, n_features)
    weights : ndarray of shape (n_clusters,)
        Noisy numbers of people.
    stderr : ndarray of shape (n_clusters,) or (n_clusters, 2)
        Standard deviation of each coordinate of a center, or of one and the other.
    coarse : ndarray of shape (n_points, n_features), default=None
        Released points to draw behind the centers.
    image_shape : tuple of int, default=None
        Draw every center as a picture of this shape.
    feature_names : list of str, default=None
        Names of the axes.
    title : str, default=""

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        One, or one a center for pictures.
    figure_ : matplotlib Figure

    See Also
    --------
    skdp_bary.PrivateKMeans : The estimator that releases centers.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateKMeans
    >>> from skdp_bary.plotting import ClusterDisplay
    >>> X = np.random.default_rng(0).random((1000, 2))
    >>> kmeans = PrivateKMeans(3, bounds=(0, 1), n_hint=1000).fit(X)
    >>> display = ClusterDisplay.from_estimator(kmeans)  # doctest: +SKIP
    """

    centers: np.ndarray
    weights: np.ndarray
    stderr: np.ndarray
    _: KW_ONLY
    coarse: np.ndarray | None = None
    image_shape: tuple | None = None
    feature_names: list | None = None
    title: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: PrivateKMeans,
        *,
        image_shape: tuple | None = None,
        features: tuple | None = None,
        ax: AxesGiven | None = None,
    ) -> ClusterDisplay:
        """Draw the centers of a fitted estimator. No rows are needed.

        Parameters
        ----------
        estimator : PrivateKMeans or PrivateGenerator
            Fitted. Of a generator the means of its cells are drawn, over rows drawn from it.
        image_shape : tuple of int, default=None
            Draw every center as a picture of this shape, the largest cluster first. None is that of
            a generator of images.
        features : tuple of one or two int or str, default=None
            Places or names of the features that are drawn. None: the first two.
        ax : matplotlib Axes or array of them, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : ClusterDisplay
        """
        check_is_fitted(estimator)
        if hasattr(estimator, "cluster_centers_"):
            centers, weights = estimator.cluster_centers_, estimator.cluster_weights_
            stderr, coarse = estimator.center_stderr_, estimator.coarse_.support
        else:
            centers = estimator.means_.reshape(-1, estimator.n_features_in_)
            weights, stderr = estimator.weights_.ravel(), np.zeros(len(centers))
            coarse = estimator.sample(_DRAWN, random_state=0)[0]
            image_shape = estimator.image_shape if image_shape is None else image_shape
        names = feature_names(estimator)
        if image_shape is None:
            places = drawn_features(features, names)
            centers = plane(centers, places, weights)
            coarse = plane(coarse, places, 0.0)
            if not places[1:]:  # the heights are weights, which the discs tell nothing about
                stderr = np.column_stack([stderr, 0.0 * stderr])
            names = [*(names[place] for place in places), "weight"][:2]
        style = {"image_shape": image_shape, "title": title_of(estimator, "centers")}
        display = cls(centers, weights, stderr, coarse=coarse, feature_names=names, **style)
        return display.plot(ax=ax)

    def _draw(self, ax):
        if self.image_shape is not None:
            self._draw_images(ax)
            return
        (axes,) = self._open(ax, 0.8, 1)
        if self.coarse is not None:
            axes.scatter(*self.coarse.T, s=2.0, color="0.8", label="released points", zorder=1)
        sizes = _LARGEST_MARKER * np.sqrt(self.weights / max(self.weights.max(), 1e-300))
        axes.scatter(*self.centers.T, s=sizes, alpha=0.7, label="centers", zorder=2)
        width, height = 4.0 * np.broadcast_to(self.stderr.T, (2, len(self.centers)))
        style = {"facecolors": "none", "edgecolors": "black", "zorder": 3, "units": "xy"}
        offsets = {"offsets": self.centers, "offset_transform": axes.transData}
        ellipses = self._matplotlib("collections").EllipseCollection
        axes.add_collection(ellipses(width, height, np.zeros(len(width)), **offsets, **style))
        names = self.feature_names or ["feature 0", "feature 1"]
        axes.set(xlabel=names[0], ylabel=names[1], title=self.title)
        axes.legend()

    def _draw_images(self, ax):
        pyplot = self._matplotlib("pyplot")
        count = len(self.centers)
        if ax is None:
            columns = min(_COLUMNS, count)
            rows = -(-count // columns)
            size = columns, 1.2 * rows + 0.4  # inches
            _, grid = pyplot.subplots(rows, columns, figsize=size, squeeze=False)
            for unused in grid.ravel()[count:]:
                unused.remove()
            ax = grid.ravel()[:count]
        self._open(ax, 1.0, count)
        for axes, j in zip(self.axes_, np.argsort(-self.weights, kind="stable"), strict=True):
            axes.imshow(self.centers[j].reshape(self.image_shape), cmap="gray")
            axes.set_title(f"{self.weights[j]:.0f}", fontsize="small")
            axes.set_axis_off()
        self.figure_.suptitle(self.title)
