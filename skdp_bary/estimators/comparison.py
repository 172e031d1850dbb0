"""Comparisons of two samples: their outcomes and laws, sizes, tests on sketches."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy import stats
from sklearn.utils.validation import check_array

from ..privacy.mechanisms import ADD_REMOVE, REPLACE_ANY
from ..queries.slices import MOST_PERSONS, ClassSizes

# Outcomes of comparisons of two samples, and their laws where the samples have one law.

_ERROR = 0.05  # of an interval, and the p-value at which it leaves 0 out
TWO_SIDED = 1.96  # standard deviations that hold 95 % of a Gaussian
_FARTHEST = 2.0**0.5  # two means of phi
_GRID = np.linspace(0.0, _FARTHEST, 81)[:, None]  # distances that an interval is searched among
_LEAST_TRACE = 1e-4  # so that no law is that of a single point


@dataclass(frozen=True, eq=False)
class SampleComparison:
    """Result of a private test of whether two samples have the same distribution.

    Attributes
    ----------
    statistic : float
        Released distance between the samples, noise and chance included.
    pvalue : float
        Share of simulated statistics of one distribution, noise included, that are at least as
        large; the observed one is counted among them.
    distance : float
        Estimated distance of the two distributions, corrected for noise and chance: that of
        the means of features of norm one: 0 for one distribution, sqrt(2) at most.
    interval : tuple of float
        Distances that agree with the statistic, at 95 %: 0 is among them exactly if `pvalue` is
        above 0.05.
    null : ndarray of shape (n_resamples,)
        The simulated statistics.
    """

    statistic: float
    pvalue: float
    distance: float
    interval: tuple
    null: np.ndarray = field(repr=False)

    def __repr__(self):
        low, high = self.interval
        return (
            f"{type(self).__name__}(pvalue={self.pvalue:.3g}, distance={self.distance:.3g}, "
            f"interval=({low:.3g}, {high:.3g}))"
        )


@dataclass(frozen=True)
class NoisyNumber:
    """A number with noise of a known distribution.

    Parameters
    ----------
    value : float
    scale : float
        Of Laplace noise, or the standard deviation of Gaussian noise; 0 for an exact number.
    pure : bool
        Whether the noise is Laplace's.
    """

    value: float
    scale: float = 0.0
    pure: bool = True

    @property
    def variance(self) -> float:
        """Variance of the noise."""
        return (2.0 if self.pure else 1.0) * self.scale**2

    def noise(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw fresh noise of the same distribution."""
        if not self.scale:
            return np.zeros(size)
        return (rng.laplace if self.pure else rng.normal)(0.0, self.scale, size)

    def believed(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Draw what the number may have been before its noise."""
        return self.value - self.noise(size, rng)

    def believed_between(
        self, low: float, high: float, size: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw what a number between two others may have been before its noise.

        What it cannot have been is left out. Moved to the nearer end instead, it would make that
        end as likely as all that lies beyond.
        """
        nearest = min(max(self.value, low), high)
        if not self.scale:
            return np.full(size, nearest)
        sign = -1.0 if self.value < low else 1.0  # chances near 0 are more precise than near 1
        ends = np.sort(sign * (np.array([low, high]) - self.value)) / self.scale
        law = stats.laplace if self.pure else stats.norm
        drawn = self.value + sign * self.scale * law.ppf(rng.uniform(*law.cdf(ends), size))
        return np.clip(np.where(np.isfinite(drawn), drawn, nearest), low, high)


@dataclass(frozen=True)
class MeanLaw:
    """What decides how far the means of phi over two samples of one distribution are apart.

    Parameters
    ----------
    sizes : tuple of NoisyNumber
        Numbers of people of the samples.
    fewest : tuple of float
        ... and what they are at least.
    trace, norm : NoisyNumber
        Of the covariance of phi.
    persons : float
        About how many people trace and norm are about.
    """

    sizes: tuple
    fewest: tuple
    trace: NoisyNumber
    norm: NoisyNumber
    persons: float

    def draw(self, n_draws, rng):
        """Return means and standard deviations of the squared distance, one a draw.

        The squared distance of two means is nearly a weighted sum of squared Gaussians with these
        two moments.
        """
        weight = sum(
            1.0 / np.maximum(size.believed(n_draws, rng), least)
            for size, least in zip(self.sizes, self.fewest, strict=True)
        )
        trace = self.trace.believed_between(_LEAST_TRACE, 1.0, n_draws, rng)
        square = np.maximum(self.norm.believed(n_draws, rng), 0.0) ** 2
        # what the noise of the release and chance add to it; the noise drawn here stays, as a doubt
        square = square - self.norm.variance - trace**2 / self.persons
        square = np.clip(square, 1e-3 * trace**2, trace**2)
        return weight * trace, weight * np.sqrt(2.0 * square)


def compare_means(gap, law, n_draws, rng):
    """Compare a released distance of two means with those of samples of one distribution.

    Parameters
    ----------
    gap : NoisyNumber
    law : MeanLaw
    n_draws : int
    rng : numpy.random.Generator or numpy.random.RandomState

    Returns
    -------
    SampleComparison
    """
    mean, std = law.draw(n_draws, rng)
    chance = rng.gamma((mean / std) ** 2) * std**2 / mean
    noise = gap.noise(n_draws, rng)
    # along a line the difference of laws varies by no more than the norm of the covariance says
    across = np.sqrt(std / np.sqrt(2.0)) * rng.standard_normal(n_draws)
    return compare_distances([(gap.value, chance, across)], noise)


def compare_distances(parts, noise=0.0):
    """Compare distances of samples with those that chance gives samples of one distribution.

    Parameters
    ----------
    parts : list of (float, ndarray of shape (n_draws,), ndarray of shape (n_draws,))
        A distance; simulated squared distances of samples of one distribution; and how much of
        each difference lies along that of the distributions. The first is reported. The others
        are tested along with it, and are of some of its features.
    noise : float or ndarray of shape (n_draws,)
        Simulated noise of the distances.

    Returns
    -------
    SampleComparison

    Notes
    -----
    The interval inverts the test. So 0 is in it exactly if the p-value is above 0.05; at all other
    distances half of the error is on each side.
    """
    drawn = [
        np.sqrt(np.maximum(_GRID**2 + 2.0 * _GRID * across + chance, 0.0)) + noise
        for _, chance, across in parts
    ]
    values, null = [value for value, *_ in parts], np.stack([each[0] for each in drawn], axis=1)
    pvalue, above = _smallest(np.array(values), null)
    middle, high = (
        _reached(values[0], np.quantile(drawn[0], q, axis=1)) for q in (0.5, _ERROR / 2.0)
    )
    low = 0.0
    if pvalue <= _ERROR:
        for value, each in zip(values, drawn, strict=True):
            curve = np.quantile(each, 1.0 - (1 + above) / (2.0 * len(null)), axis=1)
            curve[0] = np.sort(each[0])[-1 - above]
            low = max(low, _reached(value, curve))
    high = max(high, low)
    return SampleComparison(values[0], pvalue, min(max(middle, low), high), (low, high), null[:, 0])


def _reached(value, curve):
    """Return the distance at which noisily increasing quantiles reach a value; an end if never."""
    return float(np.interp(value, np.maximum.accumulate(curve), _GRID[:, 0]))


def _smallest(observed, simulated):
    """Return the p-value of the smallest of several p-values, by the same draws.

    Also return by how many draws at most one of several statistics may be reached, so that this
    p-value is at most 0.05.
    """
    ordered, count = np.sort(simulated, axis=0), len(simulated)
    own, drawn = count, np.full(count, count)
    for column, value in enumerate(observed):
        own = min(own, count - np.searchsorted(ordered[:, column], value, side="left"))
        ranks = count - np.searchsorted(ordered[:, column], simulated[:, column], side="left")
        drawn = np.minimum(drawn, ranks)
    most = int(_ERROR * (1 + count)) - 1  # of draws that look as far apart
    return (1 + int((drawn <= own).sum())) / (1 + count), int(np.sort(drawn)[most]) - 1


# The tuned numbers of private slices, and what each of them trades.


@dataclass(frozen=True)
class SlicedTuning:
    """Checked by the errors of ``benchmarks/sliced/rmse.py``, those of the test by its level.

    None of them changes what is guaranteed: they divide the budget, choose how many public numbers
    are asked for, and say how long is simulated.
    """

    sizes_share: float = 0.05  # of the budget, for sizes that are not given: those against slices
    size_sds: float = 2.5  # that a bought size is lowered by: noise against filled-up classes
    fewest_quantiles: int = 8  # wide blocks against noise
    most_quantiles: int = 128  # narrow blocks against noise and time

    # two cohorts
    cohort_share: float = 0.125  # of the budget, for sizes that are not given: they set the noise
    cohort_sds: float = 3.5  # that a bought size is lowered by: who is padded looks different
    look_share: float = 0.06  # of the budget, for the width of cells: against the distance
    law_share: float = 0.16  # ... for the law of the distance between equal cohorts
    widest: float = 0.5  # look, of the half domain: cells of twice that serve a spread of 0.3
    octaves: int = 7  # that cells may be narrower: narrow rows against what the look costs

    # released sketches
    scales: tuple = (2.0, 4.0, 8.0)  # frequencies in units of the half domain: what is seen
    few_features: int = 12  # up to which three scales pay; above it the middle one alone does
    scale_directions: int = 64  # of a scale at most: slices against noise and time
    plane_directions: int = 6  # of a scale in the plane: as many numbers as serve
    moment_weights: tuple = (2.0, 1.0, 2.0)  # noise of masses, means and their covariances


TUNED = SlicedTuning()


def refuse_tables(y, advice):
    """Raise where labels are a table, which is meant as a second sample; its shape is public."""
    shape = getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] != 1:
        raise ValueError(f"y must hold one label per row, got a table. {advice}")


# How many persons noise on slices is made for: a public, a given or a bought number a class.


def given_sizes(n_min, n_classes):
    """Return the public lower bounds of the sizes of the classes as integers."""
    if n_min is None:
        return None
    if np.ndim(n_min) == 0:
        return (int(n_min),) * n_classes
    if len(n_min) != n_classes:
        raise ValueError(
            f"n_min must be one number or {n_classes} of them, got {n_min!r}. For example "
            "n_min=100."
        )
    return tuple(int(size) for size in n_min)


def size_shares(estimator, n_classes, share=TUNED.sizes_share):
    """Return the step that estimates sizes of classes, where they are private and not given."""
    given = given_sizes(estimator.n_min, n_classes)
    return {"sizes": share} if _are_private(estimator, n_classes) and given is None else {}


def _are_private(estimator, n_classes):
    """Whether neighbors have classes of other sizes."""
    relation = estimator._relation()
    return relation == ADD_REMOVE or (relation == REPLACE_ANY and n_classes > 1)


def expected_size(estimator, n_classes, plan, sds=TUNED.size_sds):
    """Return about how many people noise will be made for, by public parameters, or None."""
    given = given_sizes(estimator.n_min, n_classes)
    hinted = estimator.n_hint and estimator.n_hint / n_classes
    if given and (_are_private(estimator, n_classes) or not hinted):
        return min(given)
    for step in plan.steps if hinted else ():
        if step.name == "sizes":
            changes = ClassSizes(n_classes).sensitivity(plan.relation)
            (scale,) = step.mechanism.scales(changes)
            hinted = max(hinted - sds * step.mechanism.standard_deviation(scale), 1.0)
    return hinted


def require_sizes(estimator, facts):
    """Raise where nothing says how many people noise should be made for."""
    known = facts.total_public or estimator.n_min is not None
    if not known and not size_shares(estimator, facts.n_classes):
        raise ValueError(
            "n_min must be given with sample_weight, got None: the mass of a class is private. "
            "Pass a public lower bound, for example n_min=100."
        )


def padded_sizes(estimator, facts, sds=TUNED.size_sds, most=MOST_PERSONS):
    """Return the number of people that each class is padded to, and the release of sizes.

    The first is None where sizes are public, the second where they are public or given. Sizes that
    are not given are asked for, and lowered by some standard deviations of their noise. They are
    cut at `most`; fewer are always allowed.
    """
    if facts.total_public or estimator.n_min is not None:
        given = None if facts.total_public else given_sizes(estimator.n_min, facts.n_classes)
        return given, None
    released = yield "sizes", ClassSizes(facts.n_classes, facts.units)
    lowered = (released.values[0] - sds * released.noise_sd[0]) / facts.units
    most = min(most, MOST_PERSONS)
    return tuple(min(max(1, math.floor(size)), most) for size in lowered.tolist()), released


def block_count(persons, mechanism, lattice):
    """Return a number of blocks of a sketch that keeps their noise and their width in balance."""
    balance = math.sqrt(persons * mechanism.mu / (2.0 * lattice.norm))
    return int(np.clip(round(balance), TUNED.fewest_quantiles, TUNED.most_quantiles))


def persons_counted(released, n_min, facts):
    """Return the number of people that the answer about each class counts, at least one unit."""
    if n_min is not None:
        return tuple(map(float, n_min))
    return tuple(max(float(mass), 1.0) / facts.units for mass in released.values[0])


def sizes_behind(persons, bought):
    """Known sizes of cohorts: estimated ones as they were before padding."""
    if bought is None:
        return tuple(NoisyNumber(count) for count in persons)
    units, pure = bought.query.units, bought.mechanism.is_pure
    scale = bought.scales[0] / units
    return tuple(NoisyNumber(mass / units, scale, pure) for mass in bought.values[0].tolist())


def public_reference(reference, n_features, least=1):
    """Return the rows of a public reference, or raise where they do not suit the private ones."""
    shape = np.shape(reference)
    if len(shape) != 2 or shape[1] != n_features or shape[0] < least:
        raise ValueError(
            f"reference must be public rows of shape (n_rows, {n_features}), {least} or more, got "
            f"{type(reference).__name__} of shape {shape}. Pass for example reference=X_public."
        )
    return check_array(reference, dtype=np.float64, input_name="reference")
