"""Newton's method on the smoothed semi-dual, with the temperatures lowered step by step.

The smoothing keeps neighboring cells in touch across gaps in the data, where the Hessian of the
semi-dual itself vanishes and Newton's method on it stalls. `warmth` is the temperature of a point
in units of the scale of its cell.
"""

import numpy as np

from ._semidual import smooth

_COOLING = 5.0
_COLD_START = 2.0  # warmth at which the smoothed dual is nearly quadratic from anywhere
_OWN_SCALE = 0.02  # warmth below which every cell has its own scale
_HOTTER = 2.0  # coolings by which loosely connected atoms are warmed up

_FREE = 1e3  # longest step along any mode, in temperatures, where the model is trusted
_WARY = 30.0  # where atoms have moved and it is not
_SHORTEST = 0.5
_TRUST_FACTOR = 5.0

_MAX_SETTLING = 8
_SAMPLE = 200  # points per atom on which loosely connected atoms are put right
_ADRIFT = 0.03  # imbalance beyond what a sample of that size leaves


def settle(problem, potentials, warmth, tol, labels=None):
    """Climb at one warmth until `tol` mass is out of place.

    Where that fails, parts of the atoms are loosely connected and far from balance; they are
    warmed up, where they are connected, and cooled again, on a sample of the points.
    """
    state = approach(problem, potentials, warmth, tol, labels)
    sample = problem.coarse(_SAMPLE)
    noise = _ADRIFT if len(sample.cloud.points) < len(problem.cloud.points) else 0.0
    if state.settled(tol) or state.imbalance < noise:
        return state
    potentials = state.potentials
    for warmer in warmth * _COOLING ** np.arange(_HOTTER, -1.0, -1.0):
        potentials = _climb_on(sample, heat(sample, potentials, warmer), tol).potentials
    other = _climb_on(problem, heat(problem, potentials, warmth), tol)
    return min(state, other, key=lambda each: each.imbalance)


def approach(problem, potentials, warmth, tol, labels=None):
    """Climb at one warmth until `tol` mass is out of place or steps no longer help."""
    return _climb_on(problem, heat(problem, potentials, warmth, labels), tol)


def _climb_on(problem, state, tol):
    longest = _WARY
    for _ in range(_MAX_SETTLING):
        if state.settled(tol):
            break
        better, longest = _climb(problem, state, longest)
        if better is None:
            break
        state, longest = better, min(longest * _TRUST_FACTOR, _FREE)
    return state


def heat(problem, potentials, warmth, labels=None):
    """Evaluate with every point's temperature taken from the scale of its cell.

    `labels` are those of potentials nearby; ``None`` finds them first.
    """
    labels = problem.labels(potentials) if labels is None else labels
    scales = problem.scales(potentials)
    # Far from balance the cells are not yet those of the solution, nor are their scales.
    trust = np.clip(np.log(_COLD_START / warmth) / np.log(_COLD_START / _OWN_SCALE), 0.0, 1.0)
    scales = scales.mean() ** (1.0 - trust) * scales**trust
    return smooth(problem, potentials, warmth * scales[labels])


def _climb(problem, state, longest):
    """Take a Newton step, shortened until it helps.

    Returns
    -------
    state : Smoothed or None
        ``None`` when no step helps.
    longest : float
        The length that helped.
    """
    while longest >= _SHORTEST:
        step = state.newton_step(longest)
        trial = smooth(problem, state.potentials + step, state.temperatures)
        gained = trial.value >= state.value + 0.1 * (state.gradient @ step)
        if gained or trial.imbalance < 0.6 * state.imbalance:
            return trial, longest
        longest /= _TRUST_FACTOR
    return None, _WARY
