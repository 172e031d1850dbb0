"""Factors of a convolution tilted to where the masses that matter are."""

import numpy as np

_MAX_STEPS = 100
_FIRST = 0.3  # of Newton's method at most: the rates of noise are about that a unit
FAR = 3.0  # standard deviations from a bulk: there even a skewed tail is above rounding


def tilt(logs, theta):
    """Numbers with the given logs plus theta * place, divided by the largest; the log of that.

    There is one theta for every entry of the leading axes of `logs`.
    """
    if theta.any():
        theta = theta.reshape(theta.shape + (1,) * (logs.ndim - theta.ndim))
        logs = logs + theta * np.arange(logs.shape[-1])
    scales = logs.max(axis=-1)
    return np.exp(logs - scales[..., None]), scales


def balance_tilts(children, target):
    """Theta at which the sum of the children has its mean at `target`, or about as near as spread.

    There their product is largest against its rounding. Newton's method inside a bracket.
    """
    theta, left = np.zeros(len(children)), np.arange(len(children))
    low, high = np.full(len(children), -np.inf), np.full(len(children), np.inf)
    for _ in range(_MAX_STEPS):
        means, variances = _moments(tilt(children, theta[left])[0])
        gap, spread = target[left] - means.sum(axis=1), variances.sum(axis=1)
        far = np.abs(gap) > 1 + np.sqrt(spread)
        if not far.any():
            break
        if not far.all():
            children, left, gap, spread = children[far], left[far], gap[far], spread[far]
        here = theta[left]
        low[left], high[left] = np.where(gap > 0, (here, high[left]), (low[left], here))
        reach = _FIRST + np.abs(here)  # at most doubles a tilt
        newton = here + np.clip(gap / np.maximum(spread, 1e-12), -reach, reach)
        middle = (low[left] + high[left]) / 2
        middle = np.where(np.isfinite(middle), middle, newton)
        theta[left] = np.where((newton > low[left]) & (newton < high[left]), newton, middle)
    return theta


def _moments(numbers):
    """Mean place and its variance, for numbers proportional to probabilities."""
    place = np.arange(numbers.shape[-1], dtype=float)
    total = numbers.sum(axis=-1)
    mean = numbers @ place / total
    return mean, np.maximum(numbers @ place**2 / total - mean**2, 0.0)


def near(numbers, target, length):
    """Places that the sum of some children reaches well; axis 1 are the children."""
    means, variances = _moments(numbers)
    gap = np.abs(np.arange(length) - means.sum(axis=1)[:, None])
    near = gap <= FAR * np.sqrt(variances.sum(axis=1))[:, None]
    return near | (np.arange(length) == target[:, None])
