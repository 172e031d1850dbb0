"""Exact (epsilon, delta) of rows released along random directions, and the noise for a target.

A. Rakotomamonjy, L. Ralaivola. Differentially private sliced Wasserstein distance. ICML 2021.

Claimed: many steps on batches cost what a moments accountant says of one bound of the sensitivity.
Wrong: the bound may fail anew in every step, and steps and batches are not those that are counted.
Here the exact losses of fresh batches, averaged over the directions where these are fresh, are
composed, and all steps are paid for before the first.

*Profile.* Given the directions a release is Gaussian, so its profile is the mean over H of Gaussian
profiles (:mod:`~skdp_bary.papers.sliced_privacy` has the laws of H). Batches are drawn without
replacement and neighbors differ by replacing one row; the amplified profile (Balle, Barthe and
Gaboardi, 2018), extended by symmetry, belongs to a pair that dominates every step in both
directions (Zhu, Dong and Wang, 2022), and the losses of steps add up.

*Losses.* With P and Q the laws of a release of the batch with and without the change, and
``R = (1 - rate) Q + rate P``, that pair has the loss ``l = log(dR / dQ)`` under R, and ``-l`` under
Q, where it is positive, and no loss elsewhere. The mass between two points of a grid is split
between them so that both laws keep their mass: the profile of the result joins points of the true
one by chords, which lie above it (Doroshenko et al., 2022). Masses are differences of tails. Second
differences of the profile would lose the square of the number of points in digits.

Rounding goes against the spender throughout: H up, losses up, sigma up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from ..desk.desk import Desk, required_step
from ..exceptions import (
    BudgetError,
    RelationError,
    check_delta,
    check_epsilon,
    check_integer,
    check_real,
    exact,
    import_optional,
)
from ..privacy.mechanisms import (
    REPLACE_ONE,
    RoundedGaussian,
    check_neighbors,
    gaussian_delta,
    gaussian_mu,
)
from ..privacy.plans import Plan, Step
from ..rows.opening import Rows
from ..rows.sources import ArraySource
from ..values import check_floats
from .sliced_privacy import FixedLaw, operator_law, projection_law
from .subsampling import amplified_delta, keep_batch, without_replacement_gaussian_renyi

_LIBRARY = "dp_accounting.pld.privacy_loss_distribution"
_CUT = 1e-13  # probability, over all steps, of losses that count as infinite
_CANCELLATION = 2.0**-20  # above the relative error of the upper share of a cell (tests measure it)
_MOST_POINTS = 1 << 22
_FFT_ERROR = 1e-11  # far above what convolutions in double precision leave (tests measure it)
_SAMPLING = "without_replacement"
_ATOMS = 512  # of the law of H
_COARSE_ATOMS = 64  # ... while a bracket is searched
_STEP = 2e-4  # width of the grid of losses
_COARSE_STEP = 1e-3
_MARGIN = 2.0**-40
_DIGITS = 5  # decimal digits of a calibrated sigma
_UNIT = FixedLaw(1.0)
_SHRINK = 1.0 - 2.0**-30  # room for the rounding of one over mu


@dataclass(frozen=True)
class StepLosses:
    """Losses of one step on the grid ``step * arange(-n, n + 1)``.

    Parameters
    ----------
    step : float
    masses : ndarray of shape (2 n + 1,)
        Probability of each loss.
    infinite : float
        Probability of larger losses, which count as infinite.
    """

    step: float
    masses: np.ndarray
    infinite: float

    def compose(self, n_steps, caller):
        """Return the composition with itself, a privacy loss distribution of dp_accounting."""
        library = import_optional(_LIBRARY, "accounting", caller)
        lowest = -(self.masses.size // 2)
        single = library.pld_pmf.DensePLDPmf(self.step, lowest, self.masses, self.infinite, True)
        return library.PrivacyLossDistribution(single).self_compose(n_steps)


def step_losses(mus, weights, rate, n_steps, step):
    """Return the losses of a step that is mu-GDP with a probability for every mu.

    Parameters
    ----------
    mus, weights : ndarray
        The law of mu, which is drawn and published before the release.
    rate : float
        Share of the rows in a batch.
    n_steps : int
        How many steps will be composed; sets where losses are cut.
    step : float
        Width of the grid.
    """
    kept = weights > 0.0
    mus, weights = mus[kept], weights[kept]
    reach = _reach(mus, weights, _CUT / n_steps)
    top = reach + math.log(rate + (1.0 - rate) * math.exp(-reach))
    count = math.ceil(top / step) + 1
    if count > _MOST_POINTS:
        raise ValueError(
            f"sigma must be larger: losses of up to {top:g} in one step are no useful guarantee. "
            "Pass for example sigma=1.0."
        )
    borders = step * np.arange(count + 1)
    # the probabilities under R and Q that the amplified loss exceeds each border
    # the loss of the mechanism that becomes each border
    plain = borders + np.log(rate - (1.0 - rate) * np.expm1(-borders)) - math.log(rate)
    upper, lower = np.zeros(borders.size), np.zeros(borders.size)
    for mu, weight in zip(mus, weights, strict=True):
        score = plain / mu
        upper += weight * ndtr(mu / 2.0 - score)
        lower += weight * ndtr(-mu / 2.0 - score)
    upper, lower = (1.0 - rate) * lower + rate * upper, lower
    up, down = (np.maximum(tail[:-1] - tail[1:], 0.0) for tail in (upper, lower))
    width = -math.expm1(-step)
    right = _share(up - np.exp(borders[:-1]) * down, width, up)
    left = _share(down - np.exp(-borders[1:]) * up, width, down)
    masses = np.zeros(2 * count + 1)
    masses[count + 1 :] += right
    masses[count:-1] += up - right
    masses[1 : count + 1] += left[::-1]
    masses[:count] += (down - left)[::-1]
    masses[0] += lower[-1]
    masses[count] += max(1.0 - upper[0] - lower[0], 0.0)
    return StepLosses(step, masses, float(upper[-1]))


def _share(excess, width, mass):
    """Mass that goes to the upper end of a cell."""
    return np.clip(excess / width * (1.0 + _CANCELLATION), 0.0, mass)


def _reach(mus, weights, tail):
    """Return a loss that the mechanism exceeds with probability at most `tail`."""

    def above(loss):
        return float(weights @ ndtr(mus / 2.0 - loss / mus))

    low, high = 0.0, 1.0
    while above(high) > tail:
        low, high = high, 2.0 * high
    while high - low > 1e-3 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if above(middle) > tail else (low, middle)
    return high * (1.0 + _MARGIN)


def projection_delta(law, sigma, epsilon, *, sampling_rate=1.0, n_steps=1):
    """Return the delta at `epsilon` of a sequence of releases along fresh directions, rounded up.

    Parameters
    ----------
    law : FixedLaw, FrameLaw or IndependentLaw
    sigma : float
        Standard deviation of the noise, divided by the largest distance between two rows.
    epsilon : float
        At least zero.
    sampling_rate : float, default=1.0
        Rows of a batch, drawn without replacement, per row of the data.
    n_steps : int, default=1
        Number of releases, each with a new batch and, unless `law` is a worst case, new directions.
    """
    epsilon = check_real(epsilon, "epsilon", low=0.0)
    return _delta(law, _check_setting(sigma, sampling_rate, n_steps), epsilon, _ATOMS, _STEP)


def projection_epsilon(law, sigma, delta, *, sampling_rate=1.0, n_steps=1):
    """Return the smallest epsilon, rounded up; the parameters are those of `projection_delta`."""
    delta = _check_target(delta)
    setting = _check_setting(sigma, sampling_rate, n_steps)
    if _is_composed(law, setting):
        composed = _compose(law, setting, _ATOMS, _STEP)
        return float(composed.get_epsilon_for_delta(delta - _FFT_ERROR))
    if _delta(law, setting, 0.0, _ATOMS, _STEP) <= delta:
        return 0.0
    high = 1.0
    while _delta(law, setting, high, _ATOMS, _STEP) > delta:
        high *= 2.0
    low = high / 2.0 if high > 1.0 else 0.0
    while high - low > high * 2.0**-40:
        middle = (low + high) / 2.0
        if _delta(law, setting, middle, _ATOMS, _STEP) > delta:
            low = middle
        else:
            high = middle
    return high


def calibrate_sigma(
    epsilon: float,
    delta: float,
    *,
    n_features: int,
    n_projections: int,
    sampling_rate: float = 1.0,
    n_steps: int = 1,
    directions: Literal["tight", "iid"] | np.ndarray = "tight",
    direction_privacy: Literal["worst_case", "average"] = "worst_case",
    diameter: float = 1.0,
) -> float:
    """Return the smallest noise for rows released along random directions, rounded up.

    Every step releases the projections of a batch of rows on unit directions, which are published,
    with independent Gaussian noise of this standard deviation on every number. All steps together
    are then (epsilon, delta) differentially private when one row is replaced. Batches are drawn
    independently and uniformly, without replacement, with a public number of rows.

    Parameters
    ----------
    epsilon : float
        Privacy loss of all steps together.
    delta : float
        Failure probability of all steps together, above zero.
    n_features : int
        Length of a direction.
    n_projections : int
        Number of directions of a step.
    sampling_rate : float, default=1.0
        Rows of a batch divided by rows of the data; never rounded down.
    n_steps : int, default=1
        Number of steps that are really taken: every step that touches private rows counts.
    directions : {"tight", "iid"} or array of shape (n_features, n_projections), default="tight"
        "tight" is a tight frame, or a uniform orthonormal frame when there are fewer directions
        than features. "iid" draws every direction by itself. An array holds the directions
        themselves, one per column.
    direction_privacy : {"worst_case", "average"}, default="worst_case"
        "worst_case" holds for any directions of that kind, also when they are used again or can
        be influenced. "average" averages over the draw: it needs directions drawn anew for every
        step after its batch and everything else about the rows is fixed, from entropy that no one
        can repeat. Never use it with a seed. For tight frames the two agree.
    diameter : float, default=1.0
        Largest distance between two rows: twice the radius of the ball that rows are clipped to. It
        must be public; see the notes.

    Returns
    -------
    sigma : float
        Standard deviation of the noise, rounded up to five digits.

    Notes
    -----
    The guarantee needs a batch that is presented as a set: shuffle the rows of a batch uniformly
    before they are released. A batch in the order of the data, or with gaps where rows are missing,
    voids what sampling gains.

    The diameter must not come from the rows: dividing a batch by its largest norm lets one row
    rescale all others. Numbers that are computed from private rows in any other way than through
    the released projections, such as gradients through a network that has seen them, are not
    covered.

    Noise that is drawn in floating point leaks. The estimators of this package draw it on a
    lattice, and count the rounding.

    Charge a run to a shared budget with ``BudgetAccountant.spend(epsilon, delta)``, under
    "replace_one".

    More than one step needs dp_accounting (the extra "accounting"), except for directions in their
    worst case without sampling. A large epsilon with several steps and averages over directions
    takes up to a minute: losses are then spread over many points.

    Examples
    --------
    >>> from skdp_bary.papers import calibrate_sigma
    >>> calibrate_sigma(1.0, 1e-5, n_features=10, n_projections=50)
    8.342
    >>> calibrate_sigma(1.0, 1e-5, n_features=784, n_projections=200, direction_privacy="average")
    1.9075
    """
    epsilon, delta = check_epsilon(epsilon), _check_target(delta)
    diameter = check_real(diameter, "diameter", low=0.0, open_low=True)
    law = _find_law(n_features, n_projections, directions, direction_privacy)
    setting = _check_setting(1.0, sampling_rate, n_steps)
    sampling, mu = setting[1:], gaussian_mu(epsilon, delta)
    if isinstance(law, FixedLaw) and sampling[0] == 1.0:
        sigma = math.sqrt(law.value * sampling[1]) / mu * (1.0 + _MARGIN)
    else:  # on a coarse grid first: being rounded up, it ends above the answer and close to it
        search, high = partial(_search, law, sampling, epsilon, delta), math.sqrt(law.mean) / mu
        rough, _ = search(high, 1.3, (_COARSE_ATOMS, _COARSE_STEP))
        _, sigma = search(rough, 1.03, (_ATOMS, _STEP))
    return _round_up(Fraction(sigma) * Fraction(diameter))


def _find_law(n_features, n_projections, directions, direction_privacy):
    if isinstance(directions, str):
        return projection_law(n_features, n_projections, directions, direction_privacy)
    law = operator_law(directions)
    if np.shape(directions) != (n_features, n_projections):
        raise ValueError(
            f"directions must have shape ({n_features!r}, {n_projections!r}), got "
            f"{np.shape(directions)}. Pass their transpose, or n_features and n_projections of it."
        )
    if direction_privacy != "worst_case":
        raise ValueError(
            'direction_privacy must be "worst_case" for given directions, '
            f"because the average is over unseen ones, got {direction_privacy!r}."
        )
    return law


def _search(law, sampling, epsilon, delta, start, factor, grid):
    """Return the root of the excess over `delta`, and a sigma just above without any excess."""

    def excess(log_sigma):
        found = _delta(law, (math.exp(log_sigma), *sampling), epsilon, *grid)
        return math.log(found / delta)

    step = math.log(factor)
    high = math.log(start)
    while excess(high) > 0.0:
        high += step
    low = high - step
    while excess(low) <= 0.0:
        low, high = low - step, low
    root = brentq(excess, low, high, xtol=1e-5, rtol=1e-12)
    safe = float(_round_up(Fraction(math.exp(root))))
    while excess(math.log(safe)) > 0.0:
        safe = float(_round_up(Fraction(safe) * (1 + Fraction(1, 10 ** (_DIGITS + 1)))))
    return math.exp(root), safe


def _round_up(value):
    """Return `value`, a fraction, rounded up to few decimal digits."""
    unit = Fraction(10) ** (math.floor(math.log10(value)) + 1 - _DIGITS)
    return float(math.ceil(value / unit) * unit)


def _delta(law, setting, epsilon, atoms, step):
    if _is_composed(law, setting):
        composed = _compose(law, setting, atoms, step)
        return min(float(composed.get_delta_for_epsilon(epsilon)) + _FFT_ERROR, 1.0)
    sigma, rate, n_steps = setting
    values, weights = law.atoms(atoms)
    mus = np.sqrt(values * n_steps) / sigma * (1.0 + _MARGIN)

    def profile(loss):
        terms = [w * gaussian_delta(mu, loss) for mu, w in zip(mus, weights, strict=True) if w]
        return min(math.fsum(terms) * (1.0 + _MARGIN), 1.0)

    return amplified_delta(profile, epsilon, rate, _SAMPLING, REPLACE_ONE)


def _is_composed(law, setting):
    _, rate, n_steps = setting
    return n_steps > 1 and not (isinstance(law, FixedLaw) and rate == 1.0)


def _compose(law, setting, atoms, step):
    sigma, rate, n_steps = setting
    values, weights = law.atoms(atoms)
    mus = np.sqrt(values) / sigma * (1.0 + _MARGIN)
    losses = step_losses(mus, weights, rate, n_steps, step)
    return losses.compose(n_steps, "More than one step")


def _check_setting(sigma, sampling_rate, n_steps):
    return (
        check_real(sigma, "sigma", low=0.0, open_low=True),
        check_real(sampling_rate, "sampling_rate", low=0.0, high=1.0, open_low=True),
        check_integer(n_steps, "n_steps", low=1),
    )


def _check_target(delta):
    if check_delta(delta) <= _FFT_ERROR:
        raise ValueError(f"delta must be in ({_FFT_ERROR}, 1) for this computation, got {delta!r}.")
    return float(delta)


@dataclass(frozen=True)
class BatchedPlan(Plan):
    """The one step of a plan, taken on many batches, each drawn anew without replacement.

    Every batch is a uniformly random subset of `batch_size` of all people, independent of the
    others, and what is asked about it may depend on all earlier answers. A step is mu-GDP for a
    person known to be in its batch. The amplified losses of the steps add up (Balle, Barthe and
    Gaboardi, 2018; Zhu, Dong and Wang, 2022); all of them are charged at once, before the first.

    Parameters
    ----------
    relation, epsilon, delta, steps
        See :class:`~skdp_bary.privacy.plans.Plan`; the relation is "replace_one", and
        there is one Gaussian step.
    n_batches : int
    batch_size, n_persons : int
        Public under the relation.
    """

    n_batches: int = 1
    batch_size: int = 1
    n_persons: int = 1
    sampling = "without_replacement"

    def __post_init__(self):
        if check_neighbors(self.relation, "relation") != REPLACE_ONE:
            raise RelationError(
                "Batches without replacement have a public size, drawn from a public number of "
                f"persons: neighbors must be {REPLACE_ONE!r}, got {self.relation!r}."
            )
        epsilon, delta = check_epsilon(self.epsilon), check_delta(self.delta)
        (step,) = self.steps
        cost = projection_delta(
            _UNIT, 1.0 / step.mechanism.mu, epsilon, sampling_rate=self.rate, n_steps=self.n_batches
        )
        if cost > delta:
            raise ValueError(
                f"The batches of this plan cost delta={cost} at epsilon={epsilon}, more than the "
                f"{delta} it promises."
            )

    @property
    def rate(self):
        """Smallest float that reads as at least the share of people in a batch."""
        return _batch_rate(self.batch_size, self.n_persons)

    @property
    def mu(self):
        """Gaussian parameter of one step for a person in its batch."""
        return self.steps[0].mechanism.mu

    def renyi(self, order):
        """Return the Renyi divergence bound of all steps together at `order`."""
        single = without_replacement_gaussian_renyi(self.mu, self.rate, order, self.relation)
        return self.n_batches * single * (1.0 + 2.0**-50)


def batched_plan(relation, epsilon, delta, shares, *, n_batches, batch_size, n_persons):
    """Return the plan whose batches together cost what (epsilon, delta) allows.

    `shares` has the one step that is asked about every batch.
    """
    (name,) = shares
    sigma = calibrate_sigma(
        epsilon,
        delta,
        n_features=1,
        n_projections=1,
        sampling_rate=_batch_rate(batch_size, n_persons),
        n_steps=n_batches,
    )
    steps = (Step(name, RoundedGaussian(_SHRINK / sigma)),)
    return BatchedPlan(relation, epsilon, delta, steps, n_batches, batch_size, n_persons)


def _batch_rate(batch_size, n_persons):
    n_persons = check_integer(n_persons, "n_persons", low=1)
    batch_size = check_integer(batch_size, "batch_size", low=1, high=n_persons)
    share = batch_size / n_persons
    while exact(share) * n_persons < batch_size:
        share = math.nextafter(share, 2.0)
    return min(share, 1.0)


class BatchDesk(Desk):
    """Answers the one step of a plan as often as was paid for, each time on a fresh batch of rows.

    Every batch is drawn anew from all rows, without replacement and of one public size, by the
    source of the noise. A conversation may end before all batches have been used.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Private rows. Their number is public under the relation of the plan.
    plan : BatchedPlan
    noise : NoiseSource
    charge : callable
        As of a Desk: all batches are paid for before the first draw of noise.
    """

    def __init__(self, X, plan, noise, charge):
        super().__init__(None, plan, noise, charge)
        self._X = check_floats(X)
        if len(self._X) != plan.n_persons:
            raise ValueError(
                f"X must have the {plan.n_persons} rows of the plan, got {len(self._X)}: batches "
                "cost less because of it. Plan with n_persons=len(X)."
            )

    def ask(self, name, query):
        """Return the release of a query about the next batch."""
        self._rows = Rows(ArraySource(self._X, None, None, None, None))
        keep_batch(self._rows, self.plan.rate, self.plan.sampling, self._noise)
        return super().ask(name, query)

    def _n_questions(self):
        return self.plan.n_batches

    def _next_step(self, name):
        if self._n_asked == self.plan.n_batches:
            raise BudgetError(
                f"All {self.plan.n_batches} batches that were charged have been used."
            )
        return required_step(self.plan.steps[0], name)
