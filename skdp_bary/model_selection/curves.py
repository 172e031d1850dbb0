"""Cost by number of clusters, from one release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..estimators.kmeans import PrivateKMeans
from ..estimators.noisy_means import nearest, weighted_kmeans
from ..exceptions import RandomState, check_integer
from ..privacy.noise import public_generator

_NO_COST = np.finfo(np.float64).tiny  # in place of 0, so that the logarithm exists


@dataclass(frozen=True, eq=False)
class ClusterCurve:
    """Estimated cost of k-means for several numbers of clusters.

    Attributes
    ----------
    n_clusters : ndarray of int
        Increasing.
    inertia : ndarray of float
        Estimated mean squared distance of a row from the nearest center.
    inertia_stderr : ndarray of float
        Standard deviation of each estimate that is due to the noise of the release.
    """

    n_clusters: np.ndarray
    inertia: np.ndarray
    inertia_stderr: np.ndarray

    @property
    def elbow(self) -> int:
        """Number of clusters at which the curve lies farthest below its chord, both in logarithms.

        Without clusters the curve is nearly straight there: a power of the number. The smallest
        and the largest number are hardly ever it, so try more than you expect.
        """
        if len(self.n_clusters) < 3:
            return int(self.n_clusters[-1])
        k, cost = np.log(self.n_clusters), np.log(np.maximum(self.inertia, _NO_COST))
        across = (k - k[0]) / (k[-1] - k[0])
        chord = cost[0] + across * (cost[-1] - cost[0])
        return int(self.n_clusters[int((chord - cost).argmax())])


def choose_n_clusters(
    kmeans: PrivateKMeans | Pipeline,
    n_clusters: ArrayLike,
    *,
    n_init: int = 10,
    random_state: RandomState | None = None,
) -> ClusterCurve:
    """Estimate the cost by number of clusters, at no further privacy cost.

    Weighted k-means runs on the points that a fit has released, for every number of clusters. The
    points come from one release of the fit, so fit once with the largest number in question, look
    at the curve, and fit again with the number chosen.

    Parameters
    ----------
    kmeans : PrivateKMeans, or Pipeline that ends in one
        Fitted.
    n_clusters : iterable of int
        Numbers of clusters to try; their order does not matter.
    n_init : int, default=10
        Starts of every search.
    random_state : int or RandomState, default=None
        Of the starts.

    Returns
    -------
    curve : ClusterCurve

    Notes
    -----
    The standard error counts the noise of the masses with the centers held fixed; it leaves out
    that the centers themselves were fitted to noisy masses, which makes the estimates for many
    clusters a little too small.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateKMeans
    >>> from skdp_bary.model_selection import choose_n_clusters
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 2)) * 0.02 + rng.choice([0.2, 0.5, 0.8], size=(20000, 1))
    >>> kmeans = PrivateKMeans(n_clusters=6, bounds=(0, 1), n_hint=20000).fit(X)
    >>> choose_n_clusters(kmeans, range(1, 7)).elbow
    3
    """
    kmeans = kmeans[-1] if isinstance(kmeans, Pipeline) else kmeans
    check_is_fitted(kmeans)
    numbers = sorted({check_integer(k, "n_clusters", low=1) for k in n_clusters})
    if not numbers:
        raise ValueError(
            "n_clusters must hold a number at least, got none. For example range(2, 9)."
        )
    check_integer(n_init, "n_init", low=1)
    rng = public_generator(random_state)
    points = kmeans.coarse_.support
    shares = kmeans.coarse_.weights / kmeans.coarse_.weights.sum()
    sd, within = kmeans.coarse_noise_
    inertia, stderr = [], []
    for k in numbers:
        centers = weighted_kmeans(points, shares, k, n_init, rng)
        squares = nearest(points, centers)[1]
        inertia.append(float(shares @ squares) + within)
        stderr.append(sd * float(np.sqrt((squares**2).sum())))
    return ClusterCurve(np.array(numbers), np.array(inertia), np.array(stderr))
