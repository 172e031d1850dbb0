"""SlicesDisplay: released quantiles of a few slices, with their noise, beside public rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from ..privacy._checks import check_integer
from ._axes import matplotlib_module, open_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators._sliced.estimator import DPSlicedWasserstein

_CALLER = "SlicesDisplay"
_BAND = 1.96  # standard deviations
_ASPECT = 0.75


class SlicesDisplay:
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
    public_quantiles : ndarray of shape (n_slices, n_quantiles) or None, default=None
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

    def __init__(
        self,
        quantiles: np.ndarray,
        noise_std: float,
        slices: np.ndarray,
        *,
        public_quantiles: np.ndarray | None = None,
        title: str = "",
    ) -> None:
        self.quantiles = quantiles
        self.noise_std = noise_std
        self.slices = slices
        self.public_quantiles = public_quantiles
        self.title = title

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
        """Draw slices of the release of a fitted estimator, beside public rows if they are given.

        Parameters
        ----------
        estimator : DPSlicedWasserstein
            Fitted with ``method="sketch"``.
        Y : array-like of shape (n_rows, n_features) or None, default=None
            Public rows to compare with. With them, the slices whose means are furthest apart are
            shown, without them the first ones.
        label : object, default=None
            The distribution that is drawn; may be left out when there is only one.
        n_slices : int, default=4
            Number of slices.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : SlicesDisplay
        """
        check_is_fitted(estimator)
        n_slices = check_integer(n_slices, "n_slices", low=1)
        sketch = estimator.sketch(label)
        slices, public = np.arange(len(sketch.quantiles)), None
        if Y is not None:
            public = sketch.public_quantiles(check_array(Y, dtype=np.float64))
            apart = np.abs((sketch.quantiles - public).mean(axis=1))
            slices = np.argsort(-apart, kind="stable")
        slices = slices[:n_slices]
        return cls(
            sketch.quantiles[slices],
            sketch.noise_std,
            slices,
            public_quantiles=None if public is None else public[slices],
            title=f"slices, epsilon={estimator.privacy_.epsilon:g}, "
            f"delta={estimator.privacy_.delta:g}",
        ).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        self : SlicesDisplay
        """
        colors = matplotlib_module("pyplot", _CALLER).get_cmap("viridis")
        self.axes_ = open_axes(ax, 1, _ASPECT, _CALLER)[0]
        self.figure_ = self.axes_.figure
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
        self.axes_.set_xlabel("share of the distribution below")
        self.axes_.set_ylabel(
            "projection" + ("" if self.public_quantiles is None else " (-- public)")
        )
        self.axes_.set_title(self.title)
        self.axes_.legend()
        return self
