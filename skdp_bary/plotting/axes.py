"""Axes to draw on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from sklearn.utils.validation import check_array

from ..exceptions import import_optional
from ..values import finite_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

# what `ax` may be where a picture has several parts
AxesGiven: TypeAlias = "Axes | Sequence[Axes] | np.ndarray"

_WIDTH = 5.2  # inches of one picture
_LABELS = 0.9  # inches of titles and tick labels


class Display:
    """A picture on axes that are given, or in a new figure.

    Attributes
    ----------
    axes_ : matplotlib Axes, or ndarray of them
    figure_ : matplotlib Figure
    """

    axes_: Any
    figure_: Any

    def plot(self, ax: AxesGiven | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, default=None
            Axes to draw on, as many as the picture has parts; None opens a figure.

        Returns
        -------
        self : Display
        """
        self._draw(ax)
        return self

    def _open(self, ax, aspect, n_axes=None):
        """Return axes to draw on: an array of `n_axes`, or for None a single one.

        A new figure is opened where `ax` is None, `aspect` is the height of a part over its width.
        """
        pyplot = self._matplotlib("pyplot")
        parts = n_axes or 1
        if ax is None:
            size = (_WIDTH * parts + _LABELS, _WIDTH * aspect + _LABELS / 2)
            _, axes = pyplot.subplots(1, parts, figsize=size, squeeze=False, layout="constrained")
            axes = axes[0]
        else:
            axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        if len(axes) != parts:
            raise ValueError(
                f"ax must hold {parts} axes for this picture, got {len(axes)}. For example pass "
                f"ax=pyplot.subplots(1, {parts})[1], or leave ax out."
            )
        self.axes_, self.figure_ = axes if n_axes else axes[0], axes[0].figure
        return self.axes_

    def _open_pair(self, ax, aspect):
        """Open the axes of a release, and where there are rows, others on their left for these."""
        self._open(ax, aspect, 1 if self.rows is None else 2)
        self.axes_[-1].set_title(self.title)
        if self.rows is not None:
            self.axes_[0].set_title("rows (this picture is not private)", color="firebrick")

    def _matplotlib(self, name):
        return import_optional(f"matplotlib.{name}", "plot", type(self).__name__)

    def _frame(self, axes, low, high):
        """Limit axes to a map between two corners, name them, and return their size in inches."""
        names = self.feature_names or ["feature 0", "feature 1"]
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=names[0], ylabel=names[1])
        size = axes.get_window_extent().size / axes.figure.dpi
        axes.locator_params(axis="x", nbins=max(1, int(size[0] / 0.8)))  # inches a label
        return size


def check_kind(estimator, needed, wanted):
    """Raise where a picture is asked of an estimator that lacks what is drawn.

    Parameters
    ----------
    estimator : object
    needed : str
        Name of an attribute of its class.
    wanted : str
        The class that a picture is of, in words.
    """
    if not hasattr(type(estimator), needed):
        raise TypeError(f"This is a picture of {wanted}, got {type(estimator).__name__}.")


def basemap_lines(given):
    """Return the lines of a list of them, or of what a GeoJSON file holds, as arrays; None: none.

    Parameters
    ----------
    given : list, dict or None
    """
    if given is None:
        return None
    if isinstance(given, dict):
        keys = ("features", "geometries", "geometry", "coordinates")
        return basemap_lines(next(given[key] for key in keys if key in given))
    if hasattr(given, "shape") or not isinstance(given[0], dict) and np.ndim(given[0][0]) == 0:
        return [check_array(given)[:, :2]]
    return [line for part in given for line in basemap_lines(part) or ()]


def map_aspect(bounds, stretch=1.0):
    """Return height over width of a map of two features within bounds (low, high)."""
    width, height = np.subtract(bounds[1], bounds[0])
    return float(np.clip(stretch * height / width, 0.3, 1.6))


def compared_rows(X, n_features):
    """Return finite rows to be shown next to a release, of as many features."""
    X = finite_rows(X)
    if X.shape[1] != n_features:
        raise ValueError(
            f"X must have {n_features} features as the estimator has, got {X.shape[1]}. Pass rows "
            "such as those of fit."
        )
    return X


def title_of(estimator, what="release"):
    """Return what a picture shows and its price, if it has one, or that it is not private."""
    if (privacy := getattr(estimator, "privacy_", None)) is None:
        return what
    delta = f", delta={privacy.delta:g}" if privacy.delta else ""
    seeded = "\n(seeded: not private)" if getattr(estimator, "_seeded", True) else ""
    one = getattr(privacy, "one_of_several", False)
    several = "\n(one of several fits of a search: not private)" if one else ""
    return f"{what}, epsilon={privacy.epsilon:g}{delta}{seeded}{several}"


def feature_names(estimator):
    """Return the names of the features of a fitted estimator, or their places in words."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"feature {f}" for f in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def drawn_features(features, names):
    """Return the places of the features that are drawn."""
    if features is None:
        return tuple(range(min(len(names), 2)))
    asked = (features,) if isinstance(features, (str, int)) else tuple(features)
    found = [names.index(f) if isinstance(f, str) and f in names else f for f in asked]
    known = all(isinstance(f, (int, np.integer)) and 0 <= f < len(names) for f in found)
    if not known or len(set(found)) != len(found) or len(found) not in (1, 2):
        raise ValueError(
            f"features must be one or two different places below {len(names)}, or of the names "
            f"{names}, got {features!r}. Plot more features pair by pair, with `at` for the "
            "others."
        )
    return tuple(found)


def plane(points, features, heights):
    """Return points in the plane of two features, or of one feature and heights."""
    if features[1:]:
        return points[:, features]
    return np.column_stack([points[:, features[0]], np.broadcast_to(heights, len(points))])
