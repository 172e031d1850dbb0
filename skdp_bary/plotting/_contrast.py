"""ContrastDisplay: where two released sketches, or a sketch and public rows, differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..privacy._checks import check_integer
from ._axes import map_aspect, open_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators._sliced.drift import PrivateDriftSketch

_CALLER = "ContrastDisplay"
_SURE = 2.0  # standard deviations
_ASPECT = 0.6


class ContrastDisplay:
    """Where one sample has more than another, beside what noise and chance would make of none.

    Create it with :meth:`from_sketches`. One feature is drawn as a curve with a band, two as a map
    with lines around what is more than two standard deviations. Around a difference the waves of a
    sketch leave fainter ones of both signs.

    Parameters
    ----------
    points : list of ndarray of shape (n_points,)
        Places along each of the one or two features that are drawn.
    differences, errors : ndarray of shape (n_points,) or (n_points, n_points)
        Differences of the smoothed densities, and their standard deviations under one law.
    feature_names : list of str
    title : str, default=""

    Attributes
    ----------
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure
    drawn_ : matplotlib artist
        The curve, or the map.

    See Also
    --------
    skdp_bary.PrivateDriftSketch.contrast : What is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateDriftSketch
    >>> from skdp_bary.plotting import ContrastDisplay
    >>> spring, autumn = np.random.default_rng(0).normal(0.0, 0.3, size=(2, 4000, 2))
    >>> before = PrivateDriftSketch(epsilon=1.0, bounds=(-1, 1)).fit(spring)
    >>> after = PrivateDriftSketch(epsilon=1.0, bounds=(-1, 1)).fit(autumn + 0.15)
    >>> display = ContrastDisplay.from_sketches(after, before)  # doctest: +SKIP
    """

    def __init__(
        self,
        points: list,
        differences: np.ndarray,
        errors: np.ndarray,
        *,
        feature_names: list,
        title: str = "",
    ) -> None:
        self.points = points
        self.differences = differences
        self.errors = errors
        self.feature_names = feature_names
        self.title = title

    @classmethod
    def from_sketches(
        cls,
        sketch: PrivateDriftSketch,
        other: PrivateDriftSketch | None = None,
        *,
        public_rows: ArrayLike | None = None,
        features: tuple | None = None,
        n_points: int = 65,
        ax: Axes | None = None,
    ) -> ContrastDisplay:
        """Draw where a released sketch differs from another one, or from public rows.

        Parameters
        ----------
        sketch : PrivateDriftSketch
        other : PrivateDriftSketch or None, default=None
        public_rows : array-like of shape (n_rows, n_features) or None, default=None
        features : tuple of one or two int, or None, default=None
            Places of the features that are drawn; all others are at the center of the domain. None:
            the first two.
        n_points : int, default=65
            Points along a feature.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : ContrastDisplay
        """
        check_is_fitted(sketch)
        n_points = check_integer(n_points, "n_points", low=2)
        width, domain = sketch.n_features_in_, sketch.domain_
        features = tuple(range(min(width, 2))) if features is None else tuple(features)
        known = all(isinstance(f, (int, np.integer)) and 0 <= f < width for f in features)
        if not known or len(set(features)) != len(features) or len(features) not in (1, 2):
            raise ValueError(
                f"features must be one or two different places below {width}, got {features!r}."
            )
        sides = [np.linspace(domain.low[f], domain.high[f], n_points) for f in features]
        grid = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(features))
        rows = np.tile(np.asarray(domain.center, dtype=float), (len(grid), 1))
        rows[:, features] = grid
        shape = (n_points,) * len(features)
        values, errors = sketch.contrast(rows, other, public_rows=public_rows)
        names = getattr(sketch, "feature_names_in_", [f"feature {f}" for f in range(width)])
        return cls(
            sides,
            values.reshape(shape),
            errors.reshape(shape),
            feature_names=[str(names[f]) for f in features],
            title=f"more and less than the other, epsilon={sketch.privacy_.epsilon:g}",
        ).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        self : ContrastDisplay
        """
        corners = np.array([(side[0], side[-1]) for side in self.points]).T
        aspect = map_aspect(corners) if len(self.points) == 2 else _ASPECT
        self.axes_ = open_axes(ax, 1, aspect, _CALLER)[0]
        self.figure_ = self.axes_.figure
        self.drawn_ = self._draw_map() if len(self.points) == 2 else self._draw_curve()
        self.axes_.set_xlabel(self.feature_names[0])
        self.axes_.set_title(self.title)
        return self

    def _draw_curve(self):
        (places,) = self.points
        band = _SURE * self.errors
        self.axes_.fill_between(places, -band, band, color="0.8", label="noise and chance")
        (line,) = self.axes_.plot(places, self.differences, color="tab:red", label="difference")
        self.axes_.set_ylabel("difference of smoothed densities")
        self.axes_.legend(fontsize="small")
        return line

    def _draw_map(self):
        values, least = self.differences.T, np.finfo(float).tiny
        most = max(float(np.abs(values).max()), least)
        image = self.axes_.pcolormesh(
            *self.points, values, cmap="RdBu_r", vmin=-most, vmax=most, shading="gouraud"
        )
        ratios = values / np.maximum(self.errors.T, least)
        for level in (-_SURE, _SURE):
            if (ratios > level).any() and (ratios < level).any():
                self.axes_.contour(*self.points, ratios, levels=[level], colors="gray")
        self.axes_.set_ylabel(self.feature_names[1])
        self.figure_.colorbar(image, ax=self.axes_, label="difference of smoothed densities")
        return image
