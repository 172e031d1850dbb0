"""The law of the privacy loss of one step of a random projection on a batch, on a grid.

The batch is drawn without replacement, and neighbors differ by replacing one row. With P and Q the
laws of a release of the batch with and without the change, and ``R = (1 - rate) Q + rate P``, the
amplified profile (Balle, Barthe and Gaboardi, 2018), extended by symmetry, belongs to the pair with
the loss ``l = log(dR / dQ)`` under R, and ``-l`` under Q, where it is positive, and no loss
elsewhere (Zhu, Dong and Wang, 2022).

The mass between two points of the grid is split between them so that both laws keep their mass:
the profile of the result joins points of the true one by chords, which lie above it (Doroshenko et
al., 2022). Masses are differences of tails. Second differences of the profile would lose the square
of the number of points in digits.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from ..._optional import import_optional

_LIBRARY = "dp_accounting.pld.privacy_loss_distribution"
_CUT = 1e-13  # probability, over all steps, of losses that count as infinite
_MARGIN = 2.0**-40
_CANCELLATION = 2.0**-20  # above the relative error of the upper share of a cell (tests measure it)
_MOST_POINTS = 1 << 22


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
            f"Losses of up to {top:g} in one step are beyond what is computed here: sigma is too "
            "small for any useful guarantee."
        )
    borders = step * np.arange(count + 1)
    upper, lower = _tails(mus, weights, rate, borders)
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


def _tails(mus, weights, rate, borders):
    """Return the probabilities under R and Q that the amplified loss exceeds each border."""
    # the loss of the mechanism that becomes each border
    plain = borders + np.log(rate - (1.0 - rate) * np.expm1(-borders)) - math.log(rate)
    upper, lower = np.zeros(borders.size), np.zeros(borders.size)
    for mu, weight in zip(mus, weights, strict=True):
        score = plain / mu
        upper += weight * ndtr(mu / 2.0 - score)
        lower += weight * ndtr(-mu / 2.0 - score)
    return (1.0 - rate) * lower + rate * upper, lower


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
