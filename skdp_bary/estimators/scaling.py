"""PrivateStandardScaler: centers and scales of features, from noisy histograms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..exceptions import Neighbors, RandomState
from ..geometry.bounds import Bounds
from ..geometry.domains import Box
from ..parameters import PRIVACY_RULES, Number
from ..privacy.mechanisms import ADD_REMOVE
from ..privacy.spending import SharedBudget
from ..queries.classes import ColumnHistograms
from ..queries.maps import InCells, about_clipped_rows
from ..rows.opening import warn
from ..values import rows_of_width
from .base import BasePrivateEstimator
from .notices import CHECK_UNITS, more_of, noise_of_last, warn_of_narrow

_THIN = 0.01  # of a side: a whole column this near to its high end was clipped to it
_FINE = 0.001  # of a side, below which cells are too wide for a scale


class PrivateStandardScaler(OneToOneFeatureMixin, TransformerMixin, BasePrivateEstimator):
    """Differentially private StandardScaler: center and scale every feature.

    Three releases of histograms, all features at once. The first two find where most rows of a
    feature lie, each in a window of the one before. The cells of the third are narrow there and
    grow up to the bounds, so bounds a hundred times too wide cost little. Means and standard
    deviations are computed from its cells that stand out of the noise.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of one fit. For a pipeline with :class:`PrivateKMeans`, a quarter of the budget
        is a good share.

    delta : float, default=0.0
        Failure probability of the guarantee. 0 means pure privacy, with Laplace noise; a positive
        value (much smaller than one over the number of people) means Gaussian noise, which is
        smaller from about 25 features on.

    bounds : (low, high), Box, Ball or Mask, default=None
        Public domain, to which rows are clipped. None estimates a box with 20% of the budget.

    clip : float, default=5.0
        Scaled features are clipped to [-clip, clip]: the bounds for the next step.

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
    mean_ : ndarray of shape (n_features_in_,)
        Released centers.
    scale_ : ndarray of shape (n_features_in_,)
        Released standard deviations, above 0.
    total_ : float
        Noisy number of people (the exact number where the relation makes it public).
    output_bounds_ : Box
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
        In each of the three histograms, one person adds 1 to the total and 1 to one cell of every
        feature: d + 1 in L1 and in squared L2, for d features. Replacing a person moves every
        feature by at most 2, and the total by nothing.
    Budget
        All steps together cost (epsilon, delta). Several fits on one accountant add up.
    Released
        mean_, scale_, total_, output_bounds_, domain_, privacy_, n_features_in_, feature_names_in_
    Not covered
        transform, fit_transform, inverse_transform: exact functions of the rows they are given.

    See Also
    --------
    DomainScaler : Scales by public bounds, at no privacy cost.
    sklearn.preprocessing.StandardScaler : The same without privacy.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from skdp_bary import BudgetAccountant, PrivateKMeans, PrivateStandardScaler
    >>> X = np.random.default_rng(0).normal([40, 3000], [10, 800], size=(5000, 2))
    >>> budget = BudgetAccountant(epsilon=1.0)
    >>> scaler = PrivateStandardScaler(0.25, bounds=([0, 0], [120, 50_000]), accountant=budget)
    >>> kmeans = PrivateKMeans(3, epsilon=0.75, bounds=(-5, 5), accountant=budget)
    >>> pipeline = make_pipeline(scaler, kmeans).fit(X)
    >>> bool((abs(pipeline[0].scale_ / [10, 800] - 1) < 0.3).all())
    True
    """

    _buys_size = False  # the total is part of the first histogram
    _row_by_row = True  # what a row becomes depends on the release and on that row alone
    _parameter_rules = PRIVACY_RULES | {"clip": Number(1e-3, 1e6)}

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Bounds | None = None,
        *,
        clip: float = 5.0,
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        super().__init__(epsilon, delta, bounds, n_hint, neighbors, accountant, random_state)
        self.verbose = verbose
        self.clip = clip

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Scale rows; every number depends on the release and on itself alone.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        X_new : ndarray of shape (n_rows, n_features)
            Within ``output_bounds_``.
        """
        X = np.clip(self._floats(X), self.domain_.low, self.domain_.high)
        return self.output_bounds_.clip((X - self.mean_) / self.scale_)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Undo the scaling, for example of released centers.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        X_original : ndarray of shape (n_rows, n_features)
        """
        check_is_fitted(self)
        return rows_of_width(X, self.n_features_in_) * self.scale_ + self.mean_

    def _features_after(self, n_features):
        return n_features

    def _shares(self, n_features):
        share = TUNED.window
        return {"place": share, "window": share, "spread": 1.0 - 2.0 * share}

    @about_clipped_rows
    def _questions(self, facts):
        low, high = facts.domain.low, facts.domain.high
        for step in ("place", "window"):
            edges = np.linspace(low, high, TUNED.n_cells + 1, axis=1)
            first, stop = runs(*(yield from _histograms(facts, step, edges)))
            features = np.arange(facts.n_features)
            low = edges[features, np.maximum(first - 1, 0)]
            high = edges[features, np.minimum(stop + 1, TUNED.n_cells)]
        # edges dense in the windows: even in the arsinh of the distance to their middles
        middle, unit = (low + high) / 2.0, (high - low) / TUNED.fine
        ends = [np.arcsinh((end - middle) / unit) for end in (facts.domain.low, facts.domain.high)]
        edges = np.sinh(np.linspace(*ends, TUNED.n_cells + 1, axis=1)) * unit[:, None]
        edges = np.maximum.accumulate(edges + middle[:, None], axis=1)
        counts, sd, total = yield from _histograms(facts, "spread", edges)
        return moments(edges, counts, sd, total), total

    def _finish(self, facts, result):
        (self.mean_, self.scale_), self.total_ = result
        reach = np.full(facts.n_features, float(self.clip))
        self.output_bounds_ = Box(-reach, reach)
        if self._warn_of_noise(facts.n_features, min(facts.size or np.inf, self.total_)):
            return
        # many zeros are usual at a low end, but not a whole column at a high one
        width = facts.domain.high - facts.domain.low
        above = np.maximum(facts.domain.high - self.mean_, self.scale_) < _THIN * width
        if self.bounds is not None and above.any():
            named = facts.named(int(np.argmax(above)))
            warn(f"Nearly all rows lie at the high end of {named}. {CHECK_UNITS}", stacklevel=4)
        else:
            warn_of_narrow(np.mean(self.scale_ < _FINE * width) > 0.5, self.bounds)

    def _noise_of(self, n_features, persons):
        plan = self.privacy_plan(n_features)
        query = ColumnHistograms((1,) * n_features, mass_public=plan.relation != ADD_REMOVE)
        noise, most = noise_of_last(query, plan)[1] / persons, TUNED.noisy
        text = f"Noise of a histogram cell is {noise:.2g} of all people. "
        if noise <= most:
            return f"{text}Up to {most:g}, scales are mostly signal.", False
        factor = noise / most
        power = 2 if plan.steps[-1].mechanism.is_gaussian else 1
        fewer = int((n_features + 1) / factor**power) - 1
        columns = f", or at most {fewer} features" if fewer > 1 else ""
        return (
            f"{text}Above {most:g} centers and scales are mostly noise, and so is what follows "
            f"them. {more_of(self, persons, factor)}{columns}. DomainScaler scales by public "
            "bounds, without noise.",
            True,
        )

    def _numbers(self):
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        return list(map(str, names)), self.scale_, None, "standard deviation"


# Histograms of all features, and what is read off them.


def _histograms(facts, step, edges):
    """Ask for histograms between edges, of shape (n_features, n_cells + 1).

    Returns their counts in people, of shape (n_features, n_cells), the standard deviation of the
    noise of a count, and the number of people, public or noisy.
    """
    n_features, n_edges = edges.shape
    query = ColumnHistograms((n_edges - 1,) * n_features, None, facts.units, facts.mass_public)
    released = yield step, InCells(edges[:, 1:-1], query)
    total, counts = (values[0] / facts.units for values in released.values)
    sd = released.noise_sd[1] / facts.units
    return counts.reshape(n_features, -1), sd, max(float(total), 1.0)


def runs(counts, sd, total):
    """Return the first cell, and the one behind the last, of where most rows lie.

    The shortest run of cells outside of which there are no more rows than a share of all and what
    noise may show there.
    """
    n_features, n_cells = counts.shape
    below = np.cumsum(np.pad(counts, ((0, 0), (1, 0))), axis=1)
    first, stop = np.zeros(n_features, dtype=int), np.full(n_features, n_cells)
    for width in range(n_cells - 1, 0, -1):
        outside = below[:, -1:] - (below[:, width:] - below[:, :-width])
        noise = TUNED.noise_outside * sd * np.sqrt(n_cells - width)
        best = outside.argmin(axis=1)
        fits = outside.min(axis=1) <= TUNED.outside * total + noise
        first, stop = np.where(fits, best, first), np.where(fits, best + width, stop)
    return first, stop


def moments(edges, counts, sd, total):
    """Return the mean and the standard deviation of every feature, from cells that stand out.

    The cells of the run are kept whatever they hold, so that noise cancels out; of all others those
    that noise hardly makes.
    """
    first, stop = (end[:, None] for end in runs(counts, sd, total))
    cells = np.arange(counts.shape[1])
    kept = (first <= cells) & (cells < stop) | (counts > TUNED.stands_out * sd)
    masses = np.where(kept, np.maximum(counts, 0.0), 0.0)
    masses[masses.sum(axis=1) <= 0.0] = 1.0  # nothing stands out: even on the domain
    masses /= masses.sum(axis=1, keepdims=True)
    middle = (edges[:, 1:] + edges[:, :-1]) / 2.0
    mean = (masses * middle).sum(axis=1)
    # rows lie nearer to the inner edge of a cell that grows: half of the variance of even rows
    spread = (middle - mean[:, None]) ** 2 + np.diff(edges, axis=1) ** 2 / 24.0
    return mean, np.sqrt((masses * spread).sum(axis=1))


# The tuned numbers of PrivateStandardScaler.


@dataclass(frozen=True)
class ScalerTuning:
    """Chosen on blobs, log-normal rows, diamonds, Adult and health insurance at a quarter of 1.

    From `noisy` on, scales of a tenth of the features are off by a factor of three, on rows of 2 to
    60 features, 300 to 30,000 people and bounds of one to ten times their range, and the clusters
    behind them change.
    """

    window: float = 0.2  # share of the budget of each of the two steps that find a window
    n_cells: int = 32  # of a feature in a step
    fine: float = 8.0  # units of the growing cells in a window
    outside: float = 0.02  # of the rows, that a run may leave out
    noise_outside: float = 0.8  # standard deviations that noise may show outside of a run
    noisy: float = 0.03  # of all people, noise of a cell in the last step above which a fit warns
    stands_out: float = 5.0  # standard deviations of a cell outside of the run that is kept


TUNED = ScalerTuning()
