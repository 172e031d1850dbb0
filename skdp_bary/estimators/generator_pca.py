"""PrivatePCA: leading axes of the covariance that PrivateGenerator measures."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..exceptions import Neighbors, RandomState
from ..geometry.bounds import Bounds
from ..geometry.domains import Ball
from ..geometry.linear_maps import MatrixMap
from ..parameters import MOST_FEATURES, PRIVACY_RULES, Integer, Number
from ..privacy.spending import SharedBudget
from ..queries.maps import about_clipped_rows
from ..rows.opening import warn
from ..values import rows_of_width
from .base import BasePrivateEstimator
from .generator_mixture import TUNED
from .generator_queries import GeneratorSetting, class_moments, noise_edge, pooled_scatter, shares
from .notices import more_of, warn_of_narrow

_NOISY = 0.15  # share of the variance of an axis that noise hides, from which few rows show any
_STANDS_OUT = 1.1  # times the largest eigenvalue of the noise, from which an axis is one of rows
_RANDOM = (
    "{} of the {} axes exceed the noise. The others are random directions, and so are rows "
    "projected on them. More people, a larger epsilon, fewer features or narrower bounds help; "
    "JLTransformer projects without noise."
)


class PrivatePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BasePrivateEstimator):
    """Differentially private PCA: project to the leading axes of a noisy covariance.

    Two releases: the mean of the rows with their spread, and their second moments about that mean,
    of rows clipped to a multiple of the spread. Eigenvalues are corrected for the noise. Axes whose
    variance is below the noise are random directions.

    Parameters
    ----------
    n_components : int, default=2
        Number of axes, at most the number of features.

    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=1e-6
        Failure probability, much smaller than one over the number of people. 0 means Laplace noise,
        other values mean Gaussian noise.

    bounds : (low, high), Box, Ball or Mask, default=None
        Public domain, to which rows are clipped. None estimates a box with 20% of the budget.

    clip : float, default=None
        Radius of the ball around 0 that projected rows are clipped to: the bounds for the next
        step. None takes the diameter of the domain, which clips nothing.

    reach : float, default=None
        Public radius around the released mean to which rows are clipped before their second
        moments are summed. None takes a multiple of their released spread.

    n_hint : int, default=None
        Public estimate of the number of people, for advice about the noise alone.

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
    components_ : ndarray of shape (n_components, n_features_in_)
        Released axes, the longest first. Entries are rounded to multiples of a power of two.
    mean_ : ndarray of shape (n_features_in_,)
        Released mean.
    explained_variance_ : ndarray of shape (n_components,)
        Variances along the axes, corrected for the noise; 0 where noise is all there is.
    noise_std_ : float
        Standard deviation of the noise of a covariance.
    output_bounds_ : Ball
        Public domain of transformed rows.
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
        *means*: one person adds 1 to the count, a row of the domain to the sum, and its squared
        length to the spread. *scatter*: the same, and the products of the features of a row within
        the clipping radius. Replacing a person moves each by the difference of two such
        contributions.
    Budget
        Both steps, and estimates of bounds and size, together cost (epsilon, delta). Several fits
        on one accountant add up.
    Released
        components_, mean_, explained_variance_, noise_std_, output_bounds_, domain_, privacy_,
        n_features_in_, feature_names_in_
    Not covered
        transform, fit_transform, inverse_transform: exact functions of the rows they are given.

    See Also
    --------
    JLTransformer : Random projection, at no privacy cost.
    sklearn.decomposition.PCA : The same without privacy.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivatePCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 1)) @ [[0.6, 0.8, 0.0]] + 0.1 * rng.normal(size=(5000, 3))
    >>> pca = PrivatePCA(1, epsilon=1.0, bounds=(-5, 5)).fit(X)
    >>> bool(abs(pca.components_[0] @ [0.6, 0.8, 0.0]) > 0.95)
    True
    """

    _row_by_row = True  # products are exact: a row depends on the release and on itself alone
    _parameter_rules = PRIVACY_RULES | {
        "n_components": Integer(1, MOST_FEATURES),
        "clip": Number(1e-3, 1e30) | None,
        "reach": Number(1e-30, 1e30) | None,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        clip: float | None = None,
        reach: float | None = None,
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        super().__init__(epsilon, delta, bounds, n_hint, neighbors, accountant, random_state)
        self.verbose = verbose
        self.n_components = n_components
        self.clip = clip
        self.reach = reach

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Project rows; what a row becomes depends on the release and on that row alone.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        X_new : ndarray of shape (n_rows, n_components)
            Within ``output_bounds_``.
        """
        inside = self.domain_.clip(self._floats(X)) - self.mean_
        return self.output_bounds_.clip(self._map.apply(inside))

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Return the points on the axes, for example of released centers.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_components)

        Returns
        -------
        X_original : ndarray of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        return rows_of_width(X, len(self.components_)) @ self.components_ + self.mean_

    _buys_size = False  # the number of people is part of the first step

    def _shares(self, n_features):
        if self.n_components > n_features:
            raise ValueError(
                f"n_components must be at most n_features={n_features}, got {self.n_components}. "
                f"For example n_components={min(2, n_features)}."
            )
        return shares(self._setting(n_features))

    def _setting(self, n_features):
        return GeneratorSetting(n_features, 1, None, 0.0, 1, covariance_type="tied")

    def _noise_of(self, n_features, persons):
        share = noise_edge(self.privacy_plan(n_features), n_features) / persons
        text = (
            f"Axes that hold less than {share:.2g} of the variance are random directions, and "
            "more with bounds wider than the rows."
        )
        if share <= _NOISY:
            return text, False
        more = more_of(self, persons, share / _NOISY)
        return f"{text} Above {_NOISY} most axes are noise. {more}, or fewer features.", True

    @about_clipped_rows
    def _questions(self, facts):
        setting = self._setting(facts.n_features)
        moments = yield from class_moments(setting, facts)
        # no row of the domain is further away, so a larger radius would only add noise
        radius = min(
            facts.domain.radius_about(moments.means[0]),
            TUNED.scatter_reach * moments.reach if self.reach is None else self.reach,
        )
        moments = replace(moments, reaches=np.array([radius / TUNED.scatter_reach]))
        return moments, (yield from pooled_scatter(setting, facts, moments))

    def _finish(self, facts, result):
        moments, scatter = result
        values, vectors = np.linalg.eigh(scatter.denoised(None))
        leading = np.argsort(-values, kind="stable")[: self.n_components]
        shown = int((np.linalg.eigvalsh(scatter.matrix) > _STANDS_OUT * scatter.edge).sum())
        self._map = MatrixMap(np.ascontiguousarray(vectors[:, leading].T))
        self.components_ = self._map.matrix()
        self.explained_variance_ = np.maximum(values[leading], 0.0)
        self.mean_, self.noise_std_ = moments.means[0], float(scatter.noise_sd)
        radius = 2.0 * facts.domain.radius if self.clip is None else float(self.clip)
        self.output_bounds_ = Ball(np.zeros(self.n_components), radius)
        if shown < self.n_components < facts.n_features:
            warn(_RANDOM.format(shown, self.n_components), stacklevel=4)
        warn_of_narrow(self.reach is None and scatter.is_narrow, self.bounds)

    @property
    def _n_features_out(self):
        return self.n_components

    def _features_after(self, n_features):
        return self.n_components

    def _numbers(self):
        names = [f"axis {i + 1}" for i in range(len(self.explained_variance_))]
        return names, self.explained_variance_, None, "variance"
