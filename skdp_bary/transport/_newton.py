"""Newton's method on the smoothed semi-dual, with the temperatures lowered step by step.

The smoothing keeps neighboring cells in touch across gaps in the data, where the Hessian of the
semi-dual itself vanishes and Newton's method on it stalls. `warmth` is the temperature of a point
in units of the scale of its cell.
"""

import numpy as np

from ._semidual import smooth

_COOLING = 5.0
_SLOWEST_COOLING = 1.3
_COLD_START = 2.0  # warmth at which the smoothed dual is nearly quadratic from anywhere
_OWN_SCALE = 0.02  # warmth below which every cell has its own scale
_LEAST_WARMTH = 1e-8
_HOTTER = 2.0  # coolings by which loosely connected atoms are warmed up

_FREE = 1e3  # longest step along any mode, in temperatures, where the model is trusted
_WARY = 30.0  # where atoms have moved and it is not
_SHORTEST = 0.5
_TRUST_FACTOR = 5.0

_MAX_STEPS = 60
_MAX_SETTLING = 8
_PATIENCE = 5  # steps without progress after which exchanges do better
_LEFT = 0.05  # part of the soft mass that may be out of place when the temperature is lowered
_POOR = 0.7  # a step that leaves more of the imbalance than this asks for a warmer start
_SAMPLE = 200  # points per atom on which loosely connected atoms are put right
_ADRIFT = 0.03  # imbalance beyond what a sample of that size leaves


def newton(problem, potentials, goal, warmth=None):
    """Climb the smoothed semi-dual until whole points leave at most `goal` mass out of place.

    Parameters
    ----------
    problem : SemidualProblem
    potentials : ndarray of shape (n_atoms,) or None
        Where to start; ``None`` starts from zero, warm enough to converge from there.
    goal : float
        Mass out of place at which to stop; finer is the business of exact exchanges.
    warmth : float, default=None
        Warmth at which `potentials` are good; ``None`` reads it from the mass out of place.

    Returns
    -------
    Smoothed
        The best state seen.
    """
    cold, labels = potentials is None, None
    if cold:
        potentials, warmth = np.zeros(len(problem.target)), _COLD_START
    elif warmth is None:
        warmth, labels = _starting_warmth(problem, potentials)
    state = best = heat(problem, potentials, warmth, labels)
    cooling, poor, waited, longest = _COOLING, 0, 0, _FREE
    for _ in range(_MAX_STEPS):
        if best.misplaced <= goal or waited > _PATIENCE:
            break
        if state.settled(_LEFT * state.shared):
            coldest = max(0.25 * _band(problem, state, goal), _LEAST_WARMTH)
            if warmth <= coldest:  # what is still out of place sits in heavy points
                break
            warmth = max(warmth / cooling, coldest)
            state, poor = heat(problem, state.potentials, warmth, state.labels), 0
        else:
            better, longest = _climb(problem, state, longest)
            longest = min(longest * _TRUST_FACTOR, _FREE)
            poor = 0 if better and better.imbalance < _POOR * state.imbalance else poor + 1
            if better is None or poor == 2:
                warmth *= cooling
                better = heat(problem, (better or state).potentials, warmth, state.labels)
                cooling, poor = max(cooling**0.7, _SLOWEST_COOLING), 0
            state = better
        early = cold and warmth > _OWN_SCALE
        waited = 0 if early or state.misplaced < 0.8 * best.misplaced else waited + 1
        best = min(best, state, key=lambda s: s.misplaced)
    return best


def settle(problem, potentials, warmth, tol, labels=None):
    """Climb at one warmth until `tol` mass is out of place.

    Where that fails, parts of the atoms are loosely connected and far from balance; they are
    warmed up, where they are connected, and cooled again, on a sample of the points.
    """
    state = _climb_on(problem, heat(problem, potentials, warmth, labels), tol)
    sample = problem.coarse(_SAMPLE)
    noise = _ADRIFT if len(sample.cloud.points) < len(problem.cloud.points) else 0.0
    if state.settled(tol) or state.imbalance < noise:
        return state
    potentials = state.potentials
    for warmer in warmth * _COOLING ** np.arange(_HOTTER, -1.0, -1.0):
        potentials = _climb_on(sample, heat(sample, potentials, warmer), tol).potentials
    other = _climb_on(problem, heat(problem, potentials, warmth), tol)
    return min(state, other, key=lambda each: each.imbalance)


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


def _starting_warmth(problem, potentials):
    """Return the warmth whose soft band holds the mass that has to move, and the labels."""
    state = heat(problem, potentials, 1e-2)
    warmth = _band(problem, state, 4.0 * state.misplaced)
    return min(max(warmth, _LEAST_WARMTH), _COLD_START), state.labels


def _band(problem, state, mass):
    """Return the warmth at which points of about this mass are shared."""
    margins = state.margins / problem.scales(state.potentials)[state.labels]
    order = np.argsort(margins)
    rank = np.searchsorted(np.cumsum(problem.cloud.weights[order]), mass)
    # A soft minimum moves mass within about two temperatures on either side of a border.
    margin = margins[order[min(rank, len(order) - 1)]] / 4.0
    return margin if np.isfinite(margin) else np.inf


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


def climb_at(problem, potentials, temperature, tol):
    """Maximise the smoothed dual at one given temperature for all points, to precision `tol`.

    Where potentials to start from are missing or misleading it cools down from far above.
    """
    if potentials is not None:
        state = _climb_to(problem, potentials, temperature, tol)
        if state.imbalance <= tol:
            return state
    potentials, current = np.zeros(len(problem.target)), problem.spread()
    while current > temperature:
        potentials = _climb_to(problem, potentials, current, _ADRIFT).potentials
        current /= _COOLING
    return _climb_to(problem, potentials, temperature, tol)


def _climb_to(problem, potentials, temperature, tol):
    state = smooth(problem, potentials, np.full(len(problem.cloud.points), temperature))
    longest = _FREE
    for _ in range(_MAX_STEPS):
        if state.imbalance <= tol:
            break
        better, longest = _climb(problem, state, longest)
        if better is None:
            break
        state, longest = better, min(longest * _TRUST_FACTOR, _FREE)
    return state
