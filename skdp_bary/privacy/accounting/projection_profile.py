"""Exact (epsilon, delta) of rows released along random directions, and the noise for a target.

Given the directions a release is Gaussian, so its profile is the mean over H of Gaussian profiles
(``projection_curves`` has the laws of H). Batches are drawn without replacement and neighbors
differ by replacing one row; the amplified profile (Balle, Barthe and Gaboardi, 2018), extended by
symmetry, belongs to a pair that dominates every step in both directions (Zhu, Dong and Wang, 2022),
and the losses of steps add up. Their law is put on a grid by joining the profile's points by chords
(Doroshenko et al., 2022) and convolved by dp_accounting.

Rounding goes against the spender throughout: H up, losses up, sigma up.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from .._checks import check_delta, check_epsilon, check_integer, check_real
from .._neighbors import REPLACE_ONE
from .calibration import gaussian_delta, gaussian_mu
from .projection_curves import FixedLaw, operator_law, projection_law
from .projection_losses import step_losses
from .subsampling import amplified_delta

_FFT_ERROR = 1e-11  # far above what convolutions in double precision leave (tests measure it)
_SAMPLING = "without_replacement"
_ATOMS = 512  # of the law of H
_COARSE_ATOMS = 64  # ... while a bracket is searched
_STEP = 2e-4  # width of the grid of losses
_COARSE_STEP = 1e-3
_MARGIN = 2.0**-40
_DIGITS = 5  # decimal digits of a calibrated sigma


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
        themselves, one a column.
    direction_privacy : {"worst_case", "average"}, default="worst_case"
        "worst_case" holds for any directions of that kind, also when they are used again or can
        be influenced. "average" averages over the draw: it needs directions drawn anew for every
        step after its batch and everything else about the rows is fixed, from entropy that nobody
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
    >>> from skdp_bary.privacy import calibrate_sigma
    >>> calibrate_sigma(1.0, 1e-5, n_features=10, n_projections=50)
    8.342
    >>> calibrate_sigma(1.0, 1e-5, n_features=784, n_projections=200, direction_privacy="average")
    1.9075
    """
    epsilon, delta = check_epsilon(epsilon), _check_target(delta)
    diameter = check_real(diameter, "diameter", low=0.0, open_low=True)
    law = _find_law(n_features, n_projections, directions, direction_privacy)
    setting = _check_setting(1.0, sampling_rate, n_steps)
    sigma = _smallest_sigma(law, setting[1:], epsilon, delta)
    return _round_up(Fraction(sigma) * Fraction(diameter))


def _find_law(n_features, n_projections, directions, direction_privacy):
    if isinstance(directions, str):
        return projection_law(n_features, n_projections, directions, direction_privacy)
    law = operator_law(directions)
    if np.shape(directions) != (n_features, n_projections):
        raise ValueError(
            f"directions must have shape ({n_features!r}, {n_projections!r}), got "
            f"{np.shape(directions)}."
        )
    if direction_privacy != "worst_case":
        raise ValueError(
            'direction_privacy must be "worst_case" for directions that are given: the average is '
            f"over directions that nobody has seen yet, got {direction_privacy!r}."
        )
    return law


def _smallest_sigma(law, sampling, epsilon, delta):
    """Search on a coarse grid first: being rounded up, it ends above the answer and close to it."""
    if isinstance(law, FixedLaw) and sampling[0] == 1.0:
        mu = gaussian_mu(epsilon, delta)
        return math.sqrt(law.value * sampling[1]) / mu * (1.0 + _MARGIN)
    high = math.sqrt(law.mean) / gaussian_mu(epsilon, delta)
    rough, _ = _search(law, sampling, epsilon, delta, high, 1.3, (_COARSE_ATOMS, _COARSE_STEP))
    _, sigma = _search(law, sampling, epsilon, delta, rough, 1.03, (_ATOMS, _STEP))
    return sigma


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
