"""PrivateDriftSketch: a release that can be compared with others at any later time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ..exceptions import Neighbors, RandomState, check_integer
from ..geometry.bounds import Bounds, check_domain
from ..geometry.lattices import public_directions, unit_slices
from ..parameters import PRIVACY_RULES
from ..privacy.mechanisms import ADD_REMOVE
from ..privacy.noise import public_generator
from ..privacy.spending import SharedBudget
from ..queries.sizes import Moments, symmetric
from ..queries.slices import WavesOf
from ..rows.opening import warn
from ..values import read_points, read_rows
from .base import BasePrivateEstimator
from .comparison import TUNED, SampleComparison, compare_distances, refuse_tables
from .noisy_means import positive_part
from .notices import NARROW, SURE, noise_of_last, rounded_up, warn_of_narrow

# PrivateDriftSketch: a release that can be compared with others at any later time.

_NOISY_MEAN = 0.1  # noise of a mean of waves, above which hardly any law is told


class PrivateDriftSketch(BasePrivateEstimator):
    """Private sketch of a sample, to be compared with other sketches at any later time.

    A fit releases noisy means and covariances of cosines and sines of public slices. Two sketches
    with the same bounds, or a sketch and public rows, can be tested for equal distributions any
    number of times, at no further cost. If both samples are available at one time,
    :class:`PrivateTwoSampleTest` needs less budget for the same power.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=1e-6
        Failure probability of the guarantee, much smaller than one over the number of people.

    bounds : (low, high), Box, Ball or Mask, default=None
        Public domain of the rows; rows outside are moved to its border. Only sketches with the
        same bounds can be compared. None estimates a box with 20% of the budget, a different one
        in every fit.

    n_hint : int, default=None
        Public estimate of the number of people, for the units of weights only.

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
    moments_ : WaveMoments
        Released number of people, means and second moments, with their noise.
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
        RoundedGaussian; ``delta`` must be above 0.
    Sensitivity
        Cosines and sines of a row are read from a public table, and the sum of their squares is at
        most 1. So one person adds 1 to the mass, a vector of norm 1 to their sum and a matrix of
        norm 1 to the sum of outer products; a replacement moves sum and matrix by 4 and 3/2
        or by 3 and 2, squared, depending on the angle between the two rows.
    Budget
        One step, and estimated bounds, cost (epsilon, delta) together.
    Released
        moments_, domain_, privacy_, n_features_in_, feature_names_in_
    Not covered
        test, contrast: functions of releases and of the public rows they are given, which they do
        not protect.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateDriftSketch
    >>> rng = np.random.default_rng(0)
    >>> spring, autumn = rng.normal(0.0, 0.3, size=(2, 4000, 2))
    >>> before = PrivateDriftSketch(epsilon=1.0, bounds=(-1, 1)).fit(spring)
    >>> after = PrivateDriftSketch(epsilon=1.0, bounds=(-1, 1)).fit(autumn + 0.15)
    >>> after.test(before).pvalue < 0.05
    True
    """

    _buys_size = False  # the size comes with the sketch
    _display = "ContrastDisplay"
    _parameter_rules = PRIVACY_RULES

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | None = None,
        *,
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        super().__init__(epsilon, delta, bounds, n_hint, neighbors, accountant, random_state)
        self.verbose = verbose

    def _noise_of(self, n_features, persons):
        plan, any_box = self.privacy_plan(n_features), check_domain((-1.0, 1.0), n_features)
        moments = _question(any_box, 1, plan.relation != ADD_REMOVE).query
        noise = noise_of_last(moments, plan)[1] * moments.step / persons
        text = (
            f"A mean of waves gets noise of standard deviation about {noise:.2g}; above "
            f"{_NOISY_MEAN:g} few differences can be detected."
        )
        return text, noise > _NOISY_MEAN

    def test(
        self,
        other: PrivateDriftSketch | None = None,
        *,
        public_rows: ArrayLike | None = None,
        n_resamples: int = 1999,
        random_state: RandomState | None = None,
    ) -> SampleComparison:
        """Test if two samples have one distribution: two releases, or one and public rows.

        It is post-processing, and any number of tests is free. Tests with one release share its
        noise, so their p-values depend on each other: correct for many with Bonferroni or Holm.
        The level holds by simulation, not by proof.

        Parameters
        ----------
        other : PrivateDriftSketch, default=None
            Fitted on other people, with the same bounds.
        public_rows : array-like of shape (n_rows, n_features), default=None
            Rows that are public: the result tells about them without protection.
        n_resamples : int, default=1999
            Number of simulated differences; the smallest p-value is ``1 / (n_resamples + 1)``.
        random_state : int or RandomState, default=None
            Randomness of the simulation, which is public.

        Returns
        -------
        result : SampleComparison
        """
        check_is_fitted(self)
        n_resamples = check_integer(n_resamples, "n_resamples", low=1)
        theirs, scales = self._compared(other, public_rows)
        gap = self.moments_.mean - theirs.mean
        law = _law_of_gap(self.moments_, theirs, scales)
        values, vectors = np.linalg.eigh(law)
        root = vectors * np.sqrt(np.maximum(values, _EIGEN))
        rng = public_generator(random_state)
        drawn = rng.standard_normal((n_resamples, len(gap))) @ root.T
        # differences of each group of waves are tested, and of all together
        parts = [np.tile(scales == group, 2) for group in np.unique(scales)]
        parts = parts if len(parts) == 1 else [np.ones(len(gap), dtype=bool), *parts]
        sums = []
        for part in parts:
            distance = float(np.sqrt((gap[part] ** 2).sum()))
            chance = (drawn[:, part] ** 2).sum(axis=1)
            # along the gap; shrunk covariances say too little of it, and their norm too much
            along = gap[part] / (distance or 1.0)
            own = law[np.ix_(part, part)]
            across = np.sqrt(0.75 * (along @ own @ along) + 0.25 * np.linalg.norm(own))
            sums.append((distance, chance, across * rng.standard_normal(n_resamples)))
        return compare_distances(sums)

    def contrast(
        self,
        X: ArrayLike,
        other: PrivateDriftSketch | None = None,
        *,
        public_rows: ArrayLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Say where two samples differ: how their densities, smoothed by waves, differ at points.

        It is post-processing, and free. What is finer than the waves is not seen.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Public points.
        other, public_rows :
            As for :meth:`test`.

        Returns
        -------
        differences : ndarray of shape (n_points,)
            Above zero where this sample has more, in units in which the density of one point is 1
            at that point.
        errors : ndarray of shape (n_points,)
            Standard deviation of each of them where the samples have one distribution: that of
            noise and chance.
        """
        check_is_fitted(self)
        return self._contrast(read_points(self, X), self._compared(other, public_rows))[:2]

    def _contrast(self, points, compared):
        """Return differences, their errors, and the smoothed density of both, at points.

        With None to compare with: the smoothed density, the noise of it, and the density again.
        """
        waves = _question(self.domain_, 1, False).features(points)
        if compared is None:
            density = waves @ self.moments_.mean
            return density, self.moments_.mean_sd * np.linalg.norm(waves, axis=1), density
        theirs, scales = compared
        law = _law_of_gap(self.moments_, theirs, scales)
        errors = np.sqrt(np.maximum(np.einsum("ij,ij->i", waves @ law, waves), 0.0))
        density = waves @ (self.moments_.mean + theirs.mean) / 2.0
        return waves @ (self.moments_.mean - theirs.mean), errors, density

    def _compared(self, other, public_rows):
        """Return the moments that these are compared with, and the scales of the waves."""
        if (other is None) == (public_rows is None):
            raise ValueError(
                "other must be another sketch, or None with public_rows. Pass one of the two."
            )
        scales = np.array(_waves(self.n_features_in_)[1])
        if other is None:
            X = read_rows(self, public_rows, reset=False)
            waves = _question(self.domain_, 1, False).features(X)
            return WaveMoments(float(len(X)), waves.mean(axis=0), waves.T @ waves / len(X)), scales
        if not isinstance(other, PrivateDriftSketch):
            raise TypeError(
                f"other must be a PrivateDriftSketch, got {type(other).__name__}. Pass public rows "
                "as public_rows=...; private rows need a sketch of their own."
            )
        check_is_fitted(other)
        if np.array_equal(other.moments_.mean, self.moments_.mean):
            raise ValueError(
                "other must be another release, got a copy of this one. Pass a fit on other people."
            )
        if other.domain_ != self.domain_:
            raise ValueError(
                f"other must have the same bounds, {self.domain_!r}, got {other.domain_!r}. Pass "
                "the same bounds and the columns in the same order to both fits."
            )
        return other.moments_, scales

    def _restored(self, moments, n_features):
        """Take over what a fit with these parameters released; `bounds` must be given."""
        width = 2 * len(_waves(n_features)[1])
        if moments.mean.shape != (width,) or moments.second.shape != (width, width):
            raise ValueError(f"moments must be of {width} waves for {n_features} features.")
        self.moments_, self.n_features_in_ = moments, n_features
        self.domain_ = check_domain(self.bounds, n_features)
        self.privacy_ = self.privacy_plan(n_features)
        return self

    def _shares(self, n_features):
        if self.delta == 0:
            raise ValueError(
                "delta must be above 0, got 0: the noise is Gaussian. Pass for example delta=1e-6."
            )
        return {"sketch": 1.0}

    def _public_classes(self, y):
        refuse_tables(y, "Fit one sketch per sample, then call first.test(second).")

    def _questions(self, facts):
        question = _question(facts.domain, facts.units, facts.total_public)
        released = yield "sketch", question
        mass, total, diagonal, upper = (block[0] for block in released.values)
        sds, step = released.noise_sd, question.query.step
        persons = max(float(mass), float(facts.units))
        unit = step / persons
        second, noise = symmetric(diagonal, upper) * unit * step, sds[3] * unit * step
        scaled = sds[0] / persons, sds[1] * unit, noise
        return WaveMoments(persons / facts.units, total * unit, second, *scaled)

    def _finish(self, facts, result):
        self.moments_ = result
        if result.mean_sd > _NOISY_MEAN:
            enough = rounded_up(2.0 * result.persons * result.mean_sd / _NOISY_MEAN)
            counted = "" if facts.total_public else ", by a noisy count"
            warn(
                f"The sketch has about {result.persons:.0f} people{counted}. Noise "
                f"dominates their means at epsilon={self.epsilon:g}: even very different "
                f"distributions may look equal. It needs {enough} or more.",
                stacklevel=4,
            )
        # what waves of one point would have more, in squares of their frequencies
        missing = 1.0 - result.mean @ result.mean + len(result.mean) * result.mean_sd**2
        most = missing + SURE * 2.0 * np.hypot(result.mean_sd, result.mass_sd)
        squares = np.square(_waves(facts.n_features)[1]).mean()
        warn_of_narrow(most < NARROW**2 * squares, self.bounds)


def _question(domain, units, total_public):
    """Return the question for the moments of the waves of rows in a public domain."""
    directions, frequencies = _waves(domain.n_features)
    origin, weights = np.zeros((1, 2 * directions.shape[1])), TUNED.moment_weights
    moments = Moments(origin, 1.0, None, "pooled", weights, units, total_public)
    return WavesOf(unit_slices(domain, directions), frequencies, moments)


def _waves(n_features):
    """Return public directions, and the frequency of each."""
    scales = TUNED.scales if n_features <= TUNED.few_features else TUNED.scales[1:2]
    count = min(n_features, TUNED.scale_directions)
    count = TUNED.plane_directions if n_features == 2 else count
    n_waves = count * len(scales)
    # on the line there is one direction, for all scales
    directions = public_directions("tight", n_waves if n_features > 1 else 1, n_features)
    directions = np.resize(directions.T, (n_waves, n_features)).T
    return directions, tuple(np.repeat(scales, count).tolist())


# Tests between released means of waves, with the law that noise and sampling give them.

_EIGEN = 1e-12
_CHANCE = 0.3  # of a covariance, in units of one over the number of persons


@dataclass(frozen=True, eq=False)
class WaveMoments:
    """Released or public moments of waves.

    Attributes
    ----------
    persons : float
        Number of people.
    mean : ndarray of shape (2 * n_waves,)
        Cosines, then sines.
    second : ndarray of shape (2 * n_waves, 2 * n_waves)
        Mean of outer products.
    mass_sd, mean_sd, second_sd : float
        Standard deviation of the noise of the mass over the number of people, of the entries of
        `mean`, and of the entries of `second` off the diagonal; 0 for public rows.
    """

    persons: float
    mean: np.ndarray
    second: np.ndarray
    mass_sd: float = 0.0
    mean_sd: float = 0.0
    second_sd: float = 0.0

    @cached_property
    def weight(self):
        """What the covariance of this side counts in a pooled one."""
        return 1.0 / (self.second_sd**2 + _CHANCE / self.persons)


def _law_of_gap(ours, theirs, scales):
    """Return the covariance of the difference of two means of samples of one distribution.

    The noise is taken out of it as far as public facts and sizes say. Squares of a cosine and its
    sine add up to a public number, so their variances together follow from the means. All else of a
    block of two scales shrinks until its square is what it would be without noise.
    """
    sides, weights = (ours, theirs), np.array([ours.weight, theirs.weight])
    weighted = list(zip(weights / weights.sum(), sides, strict=True))
    mean = sum(w * side.mean for w, side in weighted)
    second = sum(w * side.second for w, side in weighted)
    mean_noise = sum((w * side.mean_sd) ** 2 for w, side in weighted)
    noise = sum((w * side.second_sd) ** 2 for w, side in weighted)
    covariance, count = second - np.outer(mean, mean), len(scales)
    pairs = (1.0 / count - mean[:count] ** 2 - mean[count:] ** 2 + 2.0 * mean_noise) / 2.0
    diagonal = np.diagonal(covariance)
    rest = covariance - np.diag(np.tile((diagonal[:count] + diagonal[count:]) / 2.0, 2))
    noises = noise * (np.ones_like(rest) + np.eye(len(rest)))
    groups = np.tile(scales, 2)
    for first in np.unique(scales):
        for other in np.unique(scales):
            block = np.ix_(groups == first, groups == other)
            square = float((rest[block] ** 2).sum())
            kept = max(square - float(noises[block].sum()), 0.0)
            rest[block] *= np.sqrt(kept / square) if square else 0.0
    covariance = positive_part(rest + np.diag(np.tile(np.maximum(pairs, 0.0), 2)))
    law = covariance * (1.0 / ours.persons + 1.0 / theirs.persons)
    for side in sides:
        law += side.mean_sd**2 * np.eye(len(mean)) + side.mass_sd**2 * np.outer(mean, mean)
    return law
