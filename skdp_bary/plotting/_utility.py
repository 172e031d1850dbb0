"""PrivacyUtilityDisplay: what epsilon gives, for whoever may see the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from ._axes import open_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CALLER = "PrivacyUtilityDisplay"
_ASPECT = 0.7
_TITLE = "Scores on the rows themselves: this picture is not private"


class Curve(Protocol):
    """Scores of fits at several epsilons, as a PrivacyUtilityCurve holds them."""

    @property
    def epsilons(self) -> np.ndarray:
        """Of shape (n_epsilons,)."""

    @property
    def scores(self) -> np.ndarray:
        """Of shape (n_epsilons, n_repeats)."""


class PrivacyUtilityDisplay:
    """Scores against epsilon. The picture is not private, and says so.

    Create it with :meth:`from_comparison`.

    Parameters
    ----------
    curves : dict of PrivacyUtilityCurve
        Curves by name; the name "" stands for a single curve.
    score_name : str, default="score"
        Label of the vertical axis.

    Attributes
    ----------
    axes_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        Mean scores, one line for each curve.

    See Also
    --------
    skdp_bary.model_selection.privacy_utility_curve : Scores an estimator at several epsilons.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateKMeans
    >>> from skdp_bary.model_selection import privacy_utility_curve
    >>> from skdp_bary.plotting import PrivacyUtilityDisplay
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> kmeans = PrivateKMeans(3, bounds=(0, 1), n_hint=500)
    >>> curve = privacy_utility_curve(kmeans, X, epsilons=[0.1, 1.0])  # doctest: +SKIP
    >>> display = PrivacyUtilityDisplay.from_comparison(curve)  # doctest: +SKIP
    """

    def __init__(self, curves: dict, *, score_name: str = "score") -> None:
        self.curves = curves
        self.score_name = score_name

    @classmethod
    def from_comparison(
        cls,
        curves: Curve | dict[str, Curve],
        *,
        score_name: str = "score",
        ax: Axes | None = None,
    ) -> PrivacyUtilityDisplay:
        """Draw one curve, or several to compare estimators.

        Parameters
        ----------
        curves : PrivacyUtilityCurve or dict of them
            With a dict, its keys name the lines.
        score_name : str, default="score"
            Label of the vertical axis.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : PrivacyUtilityDisplay
        """
        if not isinstance(curves, dict):
            curves = {"": curves}
        wrong = [curve for curve in curves.values() if not hasattr(curve, "scores")]
        if wrong or not curves:
            raise TypeError(
                "curves must be a PrivacyUtilityCurve or a dict of them, "
                + (f"got {wrong[0]!r} among them." if wrong else "got an empty dict.")
            )
        return cls(curves, score_name=score_name).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        self : PrivacyUtilityDisplay
        """
        self.axes_ = open_axes(ax, 1, _ASPECT, _CALLER)[0]
        self.figure_ = self.axes_.figure
        self.lines_ = []
        for name, curve in self.curves.items():
            order = np.argsort(curve.epsilons, kind="stable")
            epsilons, scores = curve.epsilons[order], curve.scores[order]
            label = f"{name}: mean" if name else "mean"
            (line,) = self.axes_.plot(epsilons, scores.mean(axis=1), marker="o", ms=4, label=label)
            self.lines_.append(line)
            self.axes_.plot(
                np.repeat(epsilons, scores.shape[1]),
                scores.ravel(),
                ".",
                color=line.get_color(),
                alpha=0.35,
                label=None if len(self.lines_) > 1 else "single fits",
            )
        self.axes_.set_xscale("log")
        self.axes_.set(xlabel="epsilon", ylabel=self.score_name)
        self.axes_.set_title(_TITLE, fontsize="medium", color="firebrick")
        self.axes_.legend(fontsize="small")
        return self
