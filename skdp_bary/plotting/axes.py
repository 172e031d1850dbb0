"""Axes to draw on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from sklearn.utils.validation import check_array

from ..exceptions import import_optional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

# what `ax` may be where a picture has several parts
AxesGiven: TypeAlias = "Axes | Sequence[Axes] | np.ndarray"

_WIDTH = 5.2  # inches of one picture
_LABELS = 0.9  # inches of titles and tick labels


def matplotlib_module(name, caller):
    """Return a module of matplotlib, or raise naming the extra that installs it."""
    return import_optional(f"matplotlib.{name}", "plot", caller)


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


def map_aspect(bounds):
    """Return height over width of a map of two features within bounds (low, high)."""
    sides = bounds[1] - bounds[0]
    return float(np.clip(sides[1] / sides[0], 0.3, 1.6))


def open_axes(ax, n_axes, aspect, caller):
    """Return `n_axes` axes: those given, or those of a new figure.

    Parameters
    ----------
    ax : matplotlib Axes, array-like of them, or None
    n_axes : int
    aspect : float
        Height of one picture over its width, for a new figure.
    caller : str
        Name of the caller that needs matplotlib.
    """
    pyplot = matplotlib_module("pyplot", caller)
    if ax is None:
        size = (_WIDTH * n_axes + _LABELS, _WIDTH * aspect + _LABELS / 2)
        _, axes = pyplot.subplots(1, n_axes, figsize=size, squeeze=False, layout="constrained")
        return axes[0]
    axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(axes) != n_axes:
        raise ValueError(f"ax must hold {n_axes} axes for this picture, got {len(axes)}.")
    return axes


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
            f"{names}, got {features!r}. More features take a picture for every pair; `at` says "
            "where it cuts through the others."
        )
    return tuple(found)


def plane(points, features, heights):
    """Return points in the plane of two features, or of one feature and heights."""
    if features[1:]:
        return points[:, features]
    return np.column_stack([points[:, features[0]], np.broadcast_to(heights, len(points))])
