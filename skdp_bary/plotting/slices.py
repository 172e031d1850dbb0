"""SlicesDisplay and ContrastDisplay: released slices and where two of them differ."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from ..exceptions import check_integer
from .axes import Display, check_kind, drawn_features, feature_names, map_aspect, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.drift import PrivateDriftSketch
    from ..estimators.sliced import DPSlicedWasserstein


# SlicesDisplay: released quantiles of a few slices, with their noise, beside public rows.

_BAND = 1.96  # standard deviations
_ASPECT = 0.75


@dataclass(eq=False, repr=False)
class SlicesDisplay(Display):
    """Quantile functions of slices of a released distribution.

    Create it with :meth:`from_estimator`. The bands are where 95 % of the noise falls.

    Parameters
    ----------
    quantiles : ndarray of shape (n_slices, n_quantiles)
        Released quantiles of the slices that are shown.
    noise_std : float
        Standard deviation of the noise on each of them.
    slices : ndarray of int of shape (n_slices,)
        Numbers of the directions.
    public_quantiles : ndarray of shape (n_slices, n_quantiles), default=None
        Quantiles of public rows on the same slices.
    title : str, default=""
        Title of the picture.

    Attributes
    ----------
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib artists
        The released quantile functions.

    See Also
    --------
    skdp_bary.DPSlicedWasserstein : The estimator that releases slices.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import DPSlicedWasserstein
    >>> from skdp_bary.plotting import SlicesDisplay
    >>> X = np.random.default_rng(0).normal(0.5, 0.1, size=(5000, 2))
    >>> sliced = DPSlicedWasserstein(epsilon=1.0, bounds=(0, 1)).fit(X)
    >>> display = SlicesDisplay.from_estimator(sliced)  # doctest: +SKIP
    """

    quantiles: np.ndarray
    noise_std: float
    slices: np.ndarray
    _: KW_ONLY
    public_quantiles: np.ndarray | None = None
    title: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: DPSlicedWasserstein,
        Y: ArrayLike | None = None,
        *,
        label: object = None,
        n_slices: int = 4,
        ax: Axes | None = None,
    ) -> SlicesDisplay:
        """Draw slices of the release of a fitted estimator, next to public rows if they are given.

        Parameters
        ----------
        estimator : DPSlicedWasserstein
            Fitted with ``method="sketch"``.
        Y : array-like of shape (n_rows, n_features) or None, default=None
            Public rows to compare with. With them, the slices whose means are furthest apart are
            shown, without them the first ones.
        label : object, default=None
            The distribution that is drawn; None is the first.
        n_slices : int, default=4
            Number of slices.
        ax : matplotlib Axes, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : SlicesDisplay
        """
        check_is_fitted(estimator)
        n_slices = check_integer(n_slices, "n_slices", low=1)
        label = estimator.classes_[0] if label is None else label
        sketch = estimator._release(label)
        quantiles = sketch.quantiles
        if quantiles is None:  # rows with noise
            quantiles = np.sort(sketch.projections(), axis=0).T
        slices, public = np.arange(len(quantiles)), None
        if Y is not None:
            public = sketch.public_quantiles(check_array(Y, dtype=np.float64))
            apart = np.abs((quantiles - public).mean(axis=1))
            slices = np.argsort(-apart, kind="stable")
            public = public[slices[:n_slices]]
        slices, title = slices[:n_slices], title_of(estimator, "slices")
        display = cls(
            quantiles[slices], sketch.noise_std, slices, public_quantiles=public, title=title
        )
        return display.plot(ax=ax)

    def _draw(self, ax):
        self._open(ax, _ASPECT)
        colors = self._matplotlib("pyplot").get_cmap("viridis")
        n_quantiles = self.quantiles.shape[1]
        levels = (np.arange(n_quantiles) + 0.5) / n_quantiles
        self.lines_ = []
        for i, (number, values) in enumerate(zip(self.slices, self.quantiles, strict=True)):
            color = colors(i / max(len(self.slices), 2))
            self.lines_ += self.axes_.plot(levels, values, color=color, label=f"slice {number}")
            band = _BAND * self.noise_std
            self.axes_.fill_between(levels, values - band, values + band, color=color, alpha=0.2)
            if self.public_quantiles is not None:
                self.axes_.plot(levels, self.public_quantiles[i], "--", color=color)
        public = "" if self.public_quantiles is None else " (-- public)"
        self.axes_.set(xlabel="share of the distribution below", ylabel=f"projection{public}")
        self.axes_.set_title(self.title)
        self.axes_.legend()


# ContrastDisplay: where two released sketches, or a sketch and public rows, differ.

_SURE = 2.0  # standard deviations
_CONTRAST_ASPECT = 0.6
_HARDLY = 0.25  # of the highest smoothed density, to which waves reach where nobody is
_TOLD = 4  # features beside those that are drawn
_STARTS, _LINE, _SWEEPS = 2000, 33, 3  # places, points along a feature, turns of all features


@dataclass(eq=False, repr=False)
class ContrastDisplay(Display):
    """Where one sample has more mass than another, next to the effect of noise and chance.

    Create it with :meth:`from_estimator`. One feature is drawn as a curve with a band, two as a map
    with lines around what is more than two standard deviations. Around a difference the waves of a
    sketch leave others of both signs, also where no one is: maps are pale where both sketches
    together hold hardly anyone, and have no lines there.

    Parameters
    ----------
    points : list of ndarray of shape (n_points,)
        Places along each of the one or two features that are drawn.
    differences, errors : ndarray of shape (n_points,) or (n_points, n_points)
        Differences of the smoothed densities, and their standard deviations under one distribution.
    feature_names : list of str
    title : str, default=""
    held : ndarray of bool, default=None
        Of the shape of `differences`: where there are people enough. None: everywhere.
    label : str, default="difference of smoothed densities"
        What is drawn.

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
    >>> display = ContrastDisplay.from_estimator(after, before)  # doctest: +SKIP
    """

    points: list
    differences: np.ndarray
    errors: np.ndarray
    _: KW_ONLY
    feature_names: list
    title: str = ""
    held: np.ndarray | None = None
    label: str = "difference of smoothed densities"

    @classmethod
    def from_estimator(
        cls,
        estimator: PrivateDriftSketch,
        other: PrivateDriftSketch | None = None,
        *,
        public_rows: ArrayLike | None = None,
        features: tuple | None = None,
        at: ArrayLike | None = None,
        n_points: int = 65,
        ax: Axes | None = None,
    ) -> ContrastDisplay:
        """Draw where a released sketch differs from another one, or from public rows.

        Without either, its own smoothed density is drawn, with its noise.

        Parameters
        ----------
        estimator : PrivateDriftSketch
        other : PrivateDriftSketch, default=None
        public_rows : array-like of shape (n_rows, n_features), default=None
        features : tuple of one or two int or str, default=None
            Places or names of the features that are drawn. None: the first two.
        at : array-like of shape (n_features,), default=None
            Public point through which the picture cuts: values of the features that are not drawn.
            None is where both together hold most people, as the releases tell.
        n_points : int, default=65
            Points along a feature.
        ax : matplotlib Axes, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : ContrastDisplay
        """
        sketch = estimator
        check_kind(sketch, "_contrast", "a PrivateDriftSketch")
        check_is_fitted(sketch)
        n_points = check_integer(n_points, "n_points", low=2)
        domain, names = sketch.domain_, feature_names(sketch)
        features = drawn_features(features, names)
        sides = [np.linspace(domain.low[f], domain.high[f], n_points) for f in features]
        grid = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(features))
        alone = other is None and public_rows is None
        compared = None if alone else sketch._compared(other, public_rows)
        if at is None:
            center = _fullest(sketch, compared)
        else:
            center = np.asarray(at, dtype=float)
            if center.shape != (len(names),) or not np.isfinite(center).all():
                raise ValueError(
                    f"at must be {len(names)} finite numbers, one per feature, got {at!r}. Leave "
                    "at=None to cut where most people are."
                )
        rows = np.tile(center, (len(grid), 1))
        rows[:, features] = grid
        shape = (n_points,) * len(features)
        values, errors, density = sketch._contrast(rows, compared)
        others = [f"{names[f]} = {center[f]:.3g}" for f in range(len(names)) if f not in features]
        cut = ", ".join(others[:_TOLD] + ["..."] * (len(others) > _TOLD))
        return cls(
            sides,
            values.reshape(shape),
            errors.reshape(shape),
            feature_names=[names[f] for f in features],
            title=f"{title_of(sketch)}\n{cut}",
            held=None if alone else (density >= _HARDLY * density.max()).reshape(shape),
            label="smoothed density" if alone else "difference of smoothed densities",
        ).plot(ax=ax)

    def _draw(self, ax):
        corners = np.array([(side[0], side[-1]) for side in self.points]).T
        aspect = map_aspect(corners) if len(self.points) == 2 else _CONTRAST_ASPECT
        self._open(ax, aspect)
        self.drawn_ = self._draw_map() if len(self.points) == 2 else self._draw_curve()
        self.axes_.set_xlabel(self.feature_names[0])
        self.axes_.set_title(self.title)

    def _draw_curve(self):
        (places,) = self.points
        band = _SURE * self.errors
        self.axes_.fill_between(places, -band, band, color="0.8", label="noise and chance")
        (line,) = self.axes_.plot(places, self.differences, color="tab:red", label="difference")
        self.axes_.set_ylabel(self.label)
        self.axes_.legend(fontsize="small")
        return line

    def _draw_map(self):
        values, least = self.differences.T, np.finfo(float).tiny
        most = max(float(np.abs(values).max()), least)
        image = self.axes_.pcolormesh(
            *self.points, values, cmap="RdBu_r", vmin=-most, vmax=most, shading="gouraud"
        )
        held = np.ones(values.shape, dtype=bool) if self.held is None else self.held.T
        if not held.all():
            self.axes_.contourf(*self.points, held, levels=[-0.5, 0.5], colors="w", alpha=0.8)
        ratios = np.where(held, values / np.maximum(self.errors.T, least), 0.0)
        for level in (-_SURE, _SURE):
            if (ratios > level).any() and (ratios < level).any():
                self.axes_.contour(*self.points, ratios, levels=[level], colors="gray")
        self.axes_.set_ylabel(self.feature_names[1])
        self.figure_.colorbar(image, ax=self.axes_, label=self.label)
        return image


def _fullest(sketch, compared):
    """Return a place that holds many of both, from many places along one feature after another."""
    domain, width = sketch.domain_, sketch.n_features_in_
    places = np.random.default_rng(0).uniform(domain.low, domain.high, (_STARTS, width))
    point = places[np.argmax(sketch._contrast(places, compared)[2])]
    # coordinate ascent: a grid of all features would have too many places
    for feature in list(range(width)) * _SWEEPS:
        line = np.tile(point, (_LINE, 1))
        line[:, feature] = np.linspace(domain.low[feature], domain.high[feature], _LINE)
        point = line[np.argmax(sketch._contrast(line, compared)[2])]
    return point
