"""Cost of noise in accuracy, and cost by number of clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..estimators.kmeans import PrivateKMeans
from ..estimators.noisy_means import nearest, weighted_kmeans
from ..exceptions import Estimator, PrivacyWarning, RandomState, check_epsilon, check_integer
from ..privacy.noise import public_generator
from .trials import score_of

# What noise costs in accuracy: a tool for whoever may see the rows.

_NOT_PRIVATE = (
    "A privacy-utility curve scores on the rows themselves. It is not private, and neither is "
    "what you choose by it: keep it with the data, or choose with PrivateSearchCV."
)


@dataclass(frozen=True)
class PrivacyUtilityCurve:
    """Scores of an estimator at several budgets, see :func:`privacy_utility_curve`.

    It is not private: the scores are exact functions of the rows.

    Attributes
    ----------
    epsilons : ndarray of shape (n_epsilons,)
    scores : ndarray of shape (n_epsilons, n_repeats)
    is_private : bool
        Always False.
    """

    epsilons: np.ndarray
    scores: np.ndarray
    is_private: bool = False

    def __str__(self):
        mean, spread = self.scores.mean(axis=1), self.scores.std(axis=1)
        lines = [
            f"  {e:>10g}  {m:>14.6g}  {s:>12.3g}"
            for e, m, s in zip(self.epsilons, mean, spread, strict=True)
        ]
        head = f"  {'epsilon':>10}  {'mean score':>14}  {'sd':>12}"
        return "\n".join(["Not private: scores on the rows themselves.", head, *lines])


def privacy_utility_curve(
    estimator: Estimator,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    epsilons: Iterable[float],
    scorer: str | Callable[..., float] | None = None,
    n_repeats: int = 5,
    groups: ArrayLike | None = None,
    callback: Callable[[int, int], object] | None = None,
) -> PrivacyUtilityCurve:
    """Score an estimator at several epsilons, on the rows themselves.

    The owner of the rows sees what a budget gives. Every fit has its own budget; nothing is
    charged to a shared one, because nothing of this may be published.

    Parameters
    ----------
    estimator : estimator of this package
        It is cloned; the clones get an epsilon and no accountant.
    X : array-like of shape (n_rows, n_features)
    y : array-like of shape (n_rows,), optional
    epsilons : sequence of float
    scorer : str or callable, default=None
        As in scikit-learn: ``scorer(fitted, X, y)``, larger is better. None takes the estimator's
        ``score``; of generators, which have none, minus the sliced Wasserstein distance of the
        rows to rows that are drawn; of a :class:`~skdp_bary.PrivateTable` minus the share of rows
        that would have to move for pairs of columns to be as it expects. "accuracy" scores
        generators with labels by the share of rows that a linear classifier is right about that
        was trained on drawn rows.
    n_repeats : int, default=5
        Number of fits at each epsilon.
    groups : array-like of shape (n_rows,), optional
        Person IDs, passed to ``fit``.
    callback : callable, default=None
        Called as ``callback(done, total)`` after every fit.

    Returns
    -------
    curve : PrivacyUtilityCurve

    Examples
    --------
    >>> import numpy as np
    >>> import warnings
    >>> from skdp_bary import PrivateWassersteinBarycenter
    >>> from skdp_bary.model_selection import privacy_utility_curve
    >>> X = np.random.default_rng(0).normal(0.5, 0.1, size=(5000, 2))
    >>> estimator = PrivateWassersteinBarycenter(bounds=(0, 1), n_hint=5000)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     curve = privacy_utility_curve(estimator, X, epsilons=[0.1, 10], n_repeats=2)
    >>> curve.scores.shape
    (2, 2)
    """
    if not isinstance(epsilons, Iterable) or isinstance(epsilons, str):
        raise TypeError(f"epsilons must be a list of numbers such as [0.3, 1], got {epsilons!r}.")
    epsilons = [check_epsilon(epsilon) for epsilon in epsilons]
    n_repeats = check_integer(n_repeats, "n_repeats", low=1)
    if not epsilons:
        raise ValueError("epsilons must name at least one epsilon, got none.")
    own = scorer is None and not hasattr(estimator, "score")
    told = scorer == "accuracy" and y is not None
    judge = getattr(score_of(estimator, scorer), "on_rows", None) if own or told else None
    if judge is not None:
        scorer = judge
    elif own:  # distances from points, for one, are known of no others' transform
        raise TypeError(
            f"scorer must be given for {type(estimator).__name__}, which has no score, got None. "
            "Pass a function of the fitted estimator and the rows, as in "
            "scorer=lambda fitted, X: -fitted.transform(X).min(axis=1).mean()."
        )
    elif isinstance(scorer, str) and not hasattr(estimator, "predict"):
        raise TypeError(
            f"scorer={scorer!r} needs an estimator with predict, or 'accuracy' a "
            f"PrivateGenerator and y; got {type(estimator).__name__}, y "
            f"{'not ' if y is None else ''}given. scorer=None compares synthetic rows."
        )
    else:
        scorer = check_scoring(estimator, scoring=scorer)
    warnings.warn(_NOT_PRIVATE, PrivacyWarning, stacklevel=2)
    scores = np.empty((len(epsilons), n_repeats))
    fit_params = {} if groups is None else {"groups": groups}
    for i, epsilon in enumerate(epsilons):
        for repeat in range(n_repeats):
            fitted = clone(estimator).set_params(epsilon=epsilon, accountant=None)
            if y is None:
                scores[i, repeat] = scorer(fitted.fit(X, **fit_params), X)
            else:
                scores[i, repeat] = scorer(fitted.fit(X, y, **fit_params), X, y)
            if callback is not None:
                callback(i * n_repeats + repeat + 1, scores.size)
    return PrivacyUtilityCurve(np.array(epsilons), scores)


# How the cost falls with the number of clusters, from one release.

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
    """Cost by number of clusters, at no further cost in privacy.

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
