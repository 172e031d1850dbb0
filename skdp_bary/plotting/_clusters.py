"""ClusterDisplay: private centers, as points of the plane or as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted

from ._axes import matplotlib_module, open_axes

if TYPE_CHECKING:
    from ..estimators._kmeans.estimator import PrivateKMeans
    from ._axes import AxesGiven

_CALLER = "ClusterDisplay"
_LARGEST_MARKER = 400.0
_COLUMNS = 8


class ClusterDisplay:
    """Centers of a private clustering, their sizes, and how sure they are.

    Create it with :meth:`from_estimator`, which needs no rows.

    Parameters
    ----------
    centers : ndarray of shape (n_clusters, n_features)
    weights : ndarray of shape (n_clusters,)
        Noisy numbers of persons.
    stderr : ndarray of shape (n_clusters,)
        Standard deviation of each coordinate of a center.
    coarse : ndarray of shape (n_points, n_features) or None, default=None
        Released points to draw behind the centers.
    image_shape : tuple of int or None, default=None
        Draw every center as a picture of this shape.
    feature_names : list of str or None, default=None
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

    def __init__(
        self,
        centers: np.ndarray,
        weights: np.ndarray,
        stderr: np.ndarray,
        *,
        coarse: np.ndarray | None = None,
        image_shape: tuple | None = None,
        feature_names: list | None = None,
        title: str = "",
    ) -> None:
        self.centers = centers
        self.weights = weights
        self.stderr = stderr
        self.coarse = coarse
        self.image_shape = image_shape
        self.feature_names = feature_names
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        estimator: PrivateKMeans,
        *,
        image_shape: tuple | None = None,
        ax: AxesGiven | None = None,
    ) -> ClusterDisplay:
        """Draw the centers of a fitted estimator. No rows are needed.

        Parameters
        ----------
        estimator : PrivateKMeans
            Fitted; on two features, unless centers are drawn as pictures.
        image_shape : tuple of int or None, default=None
            Draw every center as a picture of this shape, the largest cluster first.
        ax : matplotlib Axes, array of them, or None, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        display : ClusterDisplay
        """
        check_is_fitted(estimator)
        names = getattr(estimator, "feature_names_in_", None)
        display = cls(
            estimator.cluster_centers_,
            estimator.cluster_weights_,
            estimator.center_stderr_,
            coarse=estimator.coarse_.support,
            image_shape=image_shape,
            feature_names=None if names is None else [str(name) for name in names],
            title=f"centers, epsilon={estimator.privacy_.epsilon:g}",
        )
        return display.plot(ax=ax)

    def plot(self, ax: AxesGiven | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, array of them, or None, default=None
            Axes to draw on; None opens a figure.

        Returns
        -------
        self : ClusterDisplay
        """
        if self.image_shape is not None:
            return self._plot_images(ax)
        centers = check_array(self.centers)
        if centers.shape[1] != 2:
            raise ValueError(
                f"Centers with {centers.shape[1]} features cannot be drawn as points of the plane: "
                "give image_shape."
            )
        self.axes_ = open_axes(ax, 1, 0.8, _CALLER)
        axes = self.axes_[0]
        self.figure_ = axes.figure
        if self.coarse is not None:
            axes.scatter(*self.coarse.T, s=2.0, color="0.8", label="released points", zorder=1)
        sizes = _LARGEST_MARKER * np.sqrt(self.weights / max(self.weights.max(), 1e-300))
        axes.scatter(*centers.T, s=sizes, alpha=0.7, label="centers", zorder=2)
        reach = 2.0 * self.stderr
        axes.errorbar(*centers.T, xerr=reach, yerr=reach, fmt="none", color="black", zorder=3)
        names = self.feature_names or ["feature 0", "feature 1"]
        axes.set(xlabel=names[0], ylabel=names[1], title=self.title)
        axes.legend()
        return self

    def _plot_images(self, ax):
        pyplot = matplotlib_module("pyplot", _CALLER)
        count = len(self.centers)
        if ax is None:
            columns = min(_COLUMNS, count)
            rows = -(-count // columns)
            _, grid = pyplot.subplots(
                rows, columns, figsize=(columns, 1.2 * rows + 0.4), squeeze=False
            )
            for unused in grid.ravel()[count:]:
                unused.remove()
            ax = grid.ravel()[:count]
        self.axes_ = open_axes(ax, count, 1.0, _CALLER)
        self.figure_ = self.axes_[0].figure
        for axes, j in zip(self.axes_, np.argsort(-self.weights, kind="stable"), strict=True):
            axes.imshow(self.centers[j].reshape(self.image_shape), cmap="gray")
            axes.set_title(f"{self.weights[j]:.0f}", fontsize="small")
            axes.set_axis_off()
        self.figure_.suptitle(self.title)
        return self
