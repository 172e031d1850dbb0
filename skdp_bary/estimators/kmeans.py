"""PrivateKMeans: imported instead of scikit-learn's KMeans; its noise level and cost curve."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..exceptions import Neighbors, RandomState, Rows, check_integer, shown
from ..geometry.bounds import Bounds
from ..geometry.domains import Ball
from ..geometry.rowwise import nearest_points, row_distances
from ..parameters import MOST_STEPS, PRIVACY_RULES, Integer, Option, Points
from ..privacy.noise import public_generator
from ..privacy.spending import SharedBudget
from ..queries.clusters import ClusterMoments, digits_of
from ..queries.frames import Frame
from ..rows.opening import warn
from ..transport.measures import DiscreteMeasure
from .base import BasePrivateEstimator
from .clustering import (
    NOISY,
    KMeansMethod,
    PrivateClusters,
    WeightedPoints,
    about_clusters,
    level_of,
    n_rounds,
)
from .clustering_high import HighMethod
from .kmeans_low import LowMethod
from .noisy_means import nearest, read_means, weighted_kmeans
from .notices import cheapest, projections, proposed_delta, rounded_up, warn_of_border, warn_of_hint

# Comparator: plain noisy Lloyd from public centers, which everyone knows.

_LLOYD_ROUNDS = 5
_LLOYD_BLOCKS = (0.5, 1.0, 0.1)  # precision of masses, sums and spreads


class LloydMethod(KMeansMethod):
    """Noisy counts and sums of the clusters, round after round, with equal shares."""

    def shares(self, estimator, n_features):
        """Return one step a round."""
        _public_centers(estimator, n_features)
        rounds = max(n_rounds(estimator, _LLOYD_ROUNDS), 1)
        return {f"round_{i + 1}": 1.0 / rounds for i in range(rounds)}

    def questions(self, estimator, facts):
        """Ask for the moments of the clusters about the centers so far, round after round."""
        domain = facts.domain
        frame = Frame(domain, domain.center, digits_of(facts.units).rows)
        radii = np.full(estimator.n_clusters, domain.radius)
        rounds = max(n_rounds(estimator, _LLOYD_ROUNDS), 1)
        centers = domain.clip(_public_centers(estimator, facts.n_features))
        for i in range(rounds):
            places = centers - frame.center
            query = about_clusters(ClusterMoments, facts, frame, places, radii, _LLOYD_BLOCKS)
            means = read_means((yield f"round_{i + 1}", query))
            centers = domain.clip(frame.center + means.asked + means.of_known(means.steps))
        masses = np.maximum(means.read.mass, 0.0)
        within = max(float(means.read.spread.sum()) / max(float(masses.sum()), 1.0), 0.0)
        coarse = WeightedPoints(centers, masses, means.read.mass_sd, within)
        return PrivateClusters(centers, masses, np.sqrt(means.noise), rounds, coarse)


def _public_centers(estimator, n_features):
    """Return `init` as an array of centers, or raise."""
    centers = np.asarray(estimator.init, dtype=np.float64)
    shape = (estimator.n_clusters, n_features)
    if centers.shape != shape or not np.isfinite(centers).all():
        raise ValueError(
            'init must be "grid" or finite public centers of shape (n_clusters, n_features) = '
            f"{shape}, got {shown(estimator.init)}."
        )
    return centers


# PrivateKMeans: imported instead of scikit-learn's KMeans.

_LOW_FEATURES = 3
_MOST_CLUSTERS = 4096
_FROM_CENTERS = LloydMethod()
_NO_ROWS = (
    "What picks rows would release them: leave init out, "
    'init="grid" runs k-means++ on noisy counts.'
)
_FREE_STARTS = "Starts are made on the release and cost no privacy: leave it out for 10 of them."
_NOT_RELEASED = {  # of scikit-learn's KMeans
    "partial_fit": (
        "it would have to keep exact counts between calls. Give all chunks to fit, as a list or a "
        "function that returns an iterator"
    ),
    "labels_": "it would be an exact answer about every row. predict gives labels of rows you see",
    "inertia_": "it would be an exact sum over the rows. -score(X) gives it for rows you see",
}


class PrivateKMeans(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BasePrivateEstimator
):
    """Private k-means clustering, with the interface of scikit-learn's KMeans.

    Centers come from noisy counts in cells; cells are finer where people were counted. With more
    than three features, the cells are in a released subspace, and clipped cluster means come next
    (:doc:`/explanation/kmeans`).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, at most 4096.

    init : "grid" or array-like of shape (n_clusters, n_features), default="grid"
        "grid" finds centers on noisy counts; public centers are refined by noisy iterations.

    n_init : int, default=10
        Number of starts on the noisy counts, at no privacy cost.

    max_iter : "auto" or int, default="auto"
        Private iterations of Lloyd's algorithm, which share the budget. With "grid" and at most
        three features it must be "auto": four passes over finer cells replace them.

    n_hint : int, default=None
        Public estimate of the number of people. Sets resolutions and budget shares and, with more
        than three features, a first mean if noise dominates. None takes a noisy count under
        "add_remove"; under other relations the number is public.

    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=0.0
        Failure probability, much smaller than one over the number of people. 0 means Laplace noise,
        which is as good with up to three features; other values mean Gaussian noise.

    bounds : (low, high), Box, Ball or Mask, default=None
        Public domain, to which rows are clipped. None spends 20% of the budget to estimate a box,
        or, with more than three features, a ball.

    neighbors : {"add_remove", "replace_one", "replace_any"}, default=None
        Neighboring relation. None takes the accountant's, by default "add_remove".

    accountant : BudgetAccountant, default=None
        Budget shared by several fits. None limits each fit separately.

    random_state : int or RandomState, default=None
        None, except in tests: other values make releases reproducible and not private.

    verbose : {0, 1, 2}, default=0
        Progress output: none, a bar, or every step.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Centers, inside the domain.
    cluster_weights_ : ndarray of shape (n_clusters,)
        Noisy, non-negative numbers of people.
    center_stderr_ : ndarray of shape (n_clusters,)
        Standard deviation of the noise per coordinate of a center in the last iteration, before
        shrinkage; at most half the widest side of the domain.
    n_iter_ : int
        Private iterations or passes; public.
    coarse_ : DiscreteMeasure
        Weighted points of an earlier step, for ``choose_n_clusters``.
    coarse_noise_ : tuple of float
        Noise of the mass of a point of `coarse_` (standard deviation, share of all mass), and
        estimated mean squared distance of a row from its point.
    domain_ : Box, Ball or Mask
        Public or estimated domain.
    privacy_ : Plan
        Releases and charges of the fit.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if `X` has string column names.

    Privacy
    -------
    Neighbors
        ``neighbors``, by default "add_remove" of one person: a row, or all rows with one value of
        ``groups``.
    Mechanism
        DiscreteLaplace when ``delta=0``, otherwise RoundedGaussian.
    Sensitivity
        A row is in one cell of every grid, at one distance from a mean and in one cluster, and adds
        a clipped integer vector. Replacing it may change two cells or distances, or reverse the
        vector.
    Budget
        All steps, and estimated bounds and size, cost (epsilon, delta) together.
    Released
        cluster_centers_, cluster_weights_, center_stderr_, n_iter_, coarse_, coarse_noise_,
        domain_, privacy_, n_features_in_, feature_names_in_
    Not covered
        predict, transform, fit_predict, fit_transform, score: exact functions of their input.

    Notes
    -----
    ``labels_`` and ``inertia_`` are missing: both are exact functions of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20000, 2)) * 0.05 + rng.choice([0.2, 0.8], size=(20000, 1))
    >>> kmeans = PrivateKMeans(n_clusters=2, bounds=(0, 1), n_hint=20000).fit(X)
    >>> np.sort(kmeans.cluster_centers_[:, 0]).round(1)
    array([0.2, 0.8])
    """

    _methods = (LowMethod(), HighMethod())  # with at most three features, and with more
    _effort = ("n_init",)
    _display = "ClusterDisplay"
    _parameter_rules = PRIVACY_RULES | {
        "n_clusters": Integer(1, _MOST_CLUSTERS),
        "init": Option(("grid",), note=_NO_ROWS)
        | Points("public centers, an array of finite numbers"),
        "n_init": Integer(1, MOST_STEPS, note=_FREE_STARTS),
        "max_iter": Integer(0, 1000) | Option(("auto",)),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Literal["grid"] | ArrayLike = "grid",
        n_init: int = 10,
        max_iter: int | Literal["auto"] = "auto",
        n_hint: int | None = None,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Bounds | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        super().__init__(epsilon, delta, bounds, n_hint, neighbors, accountant, random_state)
        self.verbose = verbose
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the nearest center of each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        labels : ndarray of int of shape (n_rows,)
        """
        return self._nearest(X)[0].astype(np.int32)

    def fit_predict(
        self,
        X: Rows,
        y: Rows | None = None,
        *,
        groups: Rows | None = None,
        sample_weight: Rows | None = None,
        unit: str | None = None,
        note: str = "",
    ) -> np.ndarray:
        """Fit, then return the nearest center of each row; nothing of it is stored.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : ignored
        groups, sample_weight : array-like of shape (n_rows,), optional
            As in ``fit``.
        unit : str, default=None
        note : str, default=""
            As in ``fit``.

        Returns
        -------
        labels : ndarray of int of shape (n_rows,)
        """
        whose = {"groups": groups, "sample_weight": sample_weight, "unit": unit}
        return self.fit(X, y, **whose, note=note).predict(X)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the distance of each row to each center.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        distances : ndarray of shape (n_rows, n_clusters)
        """
        return row_distances(self._floats(X), self.cluster_centers_)

    def score(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return minus the sum of squared distances of rows to their nearest center.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        y : ignored
        sample_weight : array-like of shape (n_rows,), optional

        Returns
        -------
        score : float
        """
        squares = self._nearest(X)[1] ** 2
        if sample_weight is None:
            return -float(squares.sum())
        return -float(np.asarray(sample_weight, dtype=float) @ squares)

    def noise_level(self, n_features: int, n_rows: int | None = None) -> NoiseLevel:
        """Noise level of a fit, for both kinds of noise, see :class:`NoiseLevel`.

        Parameters
        ----------
        n_features : int
        n_rows : int, default=None
            Public number of rows; None takes ``n_hint``.

        Returns
        -------
        level : NoiseLevel
        """
        n_rows = self.n_hint if n_rows is None else n_rows
        if n_rows is None:
            raise ValueError(
                "n_rows must be a public number when n_hint is None, got None. For example "
                "n_rows=1000, a public estimate."
            )
        n_rows = check_integer(n_rows, "n_rows", low=1)
        delta, relation = proposed_delta(self.delta), self.privacy_plan(n_features).relation
        bare = _changed(self, accountant=None, neighbors=relation)
        pure = _changed(bare, delta=0.0)
        if isinstance(self.init, str):
            few = n_features <= _LOW_FEATURES
            pure = _changed(pure, _methods=PrivateKMeans._methods)  # a cover has none
            pure.max_iter = "auto" if few else self.max_iter
        levels = [_level(it, n_features, n_rows) for it in (pure, _changed(bare, delta=delta))]
        current = levels[1] if self.delta > 0 else levels[0]
        most, remedy = int(self.n_clusters * math.sqrt(NOISY / current)), ""
        if current > NOISY:
            more = rounded_up(n_rows * math.sqrt(current / NOISY))
            tries = _remedies(bare, n_features, n_rows, most, levels[1])
            remedy = cheapest(tries, lambda level: level <= NOISY, more)
        return NoiseLevel(current, *levels, most, delta, remedy)

    def _noise_of(self, n_features, persons):
        level = self.noise_level(n_features, persons)
        return str(level), level.current > NOISY

    def __getattr__(self, name):
        """Say of what KMeans has and a private release must not have why it is not there."""
        text = f"{type(self).__name__!r} object has no attribute {name!r}"
        if name in _NOT_RELEASED:
            text += f": {_NOT_RELEASED[name]}."
        raise AttributeError(text, name=name, obj=self)

    @property
    def _n_features_out(self):
        return len(self.cluster_centers_)

    def _nearest(self, X):
        return nearest_points(self._floats(X), self.cluster_centers_)

    def _method(self, n_features):
        if not isinstance(self.init, str):
            return _FROM_CENTERS
        low, high = self._methods
        return low if n_features <= _LOW_FEATURES else high

    def _shares(self, n_features):
        return self._method(n_features).shares(self, n_features)

    def _settled_shares(self, facts):
        return self._method(facts.n_features).settled_shares(self, facts)

    def _buy_facts(self, facts):
        bought = yield from super()._buy_facts(facts)
        box = bought.domain
        if facts.domain is None and facts.n_features > _LOW_FEATURES:
            # the corners of the bought box are sqrt(d) times as far as any row
            bought = replace(bought, domain=Ball(box.center, box.high[0] - box.center[0]))
        return bought

    def _questions(self, facts):
        return (yield from self._method(facts.n_features).questions(self, facts))

    def _finish(self, facts, clusters):
        sides = facts.domain.high - facts.domain.low  # a center stays between: off by half at most
        coarse = clusters.coarse
        points = coarse.points if len(coarse.points) else facts.domain.center[None]
        masses = coarse.masses if coarse.masses.any() else np.ones(len(points))
        vars(self).update(
            cluster_centers_=clusters.centers,
            cluster_weights_=clusters.weights,
            center_stderr_=np.minimum(clusters.stderr, float(sides.max()) / 2.0),
            n_iter_=clusters.n_iter,
            coarse_=DiscreteMeasure(points, masses),
            coarse_noise_=(coarse.mass_sd / float(masses.sum()), coarse.within),
        )
        warn_of_border(points, masses, facts, self.epsilon, self.bounds)
        warn_of_hint(clusters.weights.sum(), self.n_hint, self.n_clusters, self.epsilon)
        last = list(facts.mechanisms.values())[-1]
        width, size = facts.n_features, facts.size
        if level_of(last, facts.relation, self.n_clusters, width, size) > NOISY:
            warn(str(self.noise_level(width, size)), stacklevel=4)


# How much noise private k-means has, by public facts.


@dataclass(frozen=True)
class NoiseLevel:
    """Noise of the last round relative to the size of a cluster, see ``noise_level``.

    The level is ``d (k sd / n)**2``, the squared noise of a center whose rows lie at distance one:
    `sd` is the noise of one coordinate of a sum in the last round. In up to three features nothing
    is summed, and the level is a guide only: the last look is taken for such a round. Up to about
    0.07, measured costs were below 1.3 times those without noise; above 1 the centers were mostly
    noise.

    Attributes
    ----------
    current : float
        Level with the estimator's own delta.
    laplace, gaussian : float
        Levels of the two kinds of noise; Gaussian noise with the estimator's delta, or 1e-6.
    most_clusters : int
        Largest number of clusters whose level is at most 0.1; 0 when one cluster is above.
    delta : float
        Failure probability of the Gaussian noise.
    remedy : str, default=""
        The cheapest change of parameters that brings the level to 0.1, in words, and the level that
        it reaches.
    """

    current: float
    laplace: float
    gaussian: float
    most_clusters: int
    delta: float
    remedy: str = ""

    def __str__(self):
        text = (
            f"Noise level {self.current:.2g} (Laplace noise, delta=0: {self.laplace:.2g}; Gaussian "
            f"noise, delta={self.delta:g}: {self.gaussian:.2g}). "
        )
        if self.current <= NOISY:
            return text + "Below 0.1, most of a center is signal."
        return f"{text}Above {NOISY} the centers can be mostly noise. {self.remedy}"


def _remedies(bare, n_features, n_rows, most, gaussian):
    """Yield what could be changed, from the cheapest on, and the level that it reaches."""
    if bare.delta == 0:
        yield f"delta={proposed_delta(0.0):g}", gaussian
    if n_features > _LOW_FEATURES:
        n_steps = len(bare._plan(n_features).steps)  # no fewer than the rounds
        last = n_steps if bare.max_iter == "auto" else min(bare.max_iter, n_steps)
        for rounds in range(last - 1, 0, -1):
            fewer = _changed(bare, max_iter=rounds)
            yield f"max_iter={rounds}", _level(fewer, n_features, n_rows)
    if not isinstance(bare.init, str):
        return  # public centers are of so many features and clusters
    projected = _changed(bare, bounds=(-1, 1))
    for width, words in projections(n_features):
        yield words, _level(projected, width, n_rows)
    if most >= 1:
        yield f"n_clusters={most}", _level(_changed(bare, n_clusters=most), n_features, n_rows)


def _changed(estimator, **params):
    """Return a copy with other parameters that can be asked for its plan.

    Clones look at the signature of the class, which takes longer than a small fit.
    """
    candidate = copy(estimator)
    vars(candidate).update(params)
    return candidate


def _level(estimator, n_features, n_rows):
    plan = estimator._plan(n_features)
    last, n_clusters = plan.steps[-1].mechanism, estimator.n_clusters
    return level_of(last, plan.relation, n_clusters, n_features, n_rows)


# Cost by number of clusters, from one release.

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
    random_state : int or RandomState, default=None
        Of the starts of every search: as many as in the fit.

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
        raise ValueError("n_clusters must hold numbers, got none. For example range(2, 9).")
    rng = public_generator(random_state)
    points = kmeans.coarse_.support
    shares = kmeans.coarse_.weights / kmeans.coarse_.weights.sum()
    sd, within = kmeans.coarse_noise_
    inertia, stderr = [], []
    for k in numbers:
        centers = weighted_kmeans(points, shares, k, kmeans.n_init, rng)
        squares = nearest(points, centers)[1]
        inertia.append(float(shares @ squares) + within)
        stderr.append(sd * float(np.sqrt((squares**2).sum())))
    return ClusterCurve(np.array(numbers), np.array(inertia), np.array(stderr))
