"""The search for the atoms of a barycenter of few points: exact plans and means, in turns.

Smoothed plans pay where there are many points. Here an exact plan takes less than setting them up,
and more starts make up for the local minima that smoothing avoids.
"""

from dataclasses import replace

import numpy as np

from .._costs import pairwise_cost
from .search import BarycenterEvent

MORE_STARTS = 3  # than on smoothed plans: as good in the mean, over 120 problems of 4 to 200 points
_LARGEST = 1500  # points times atoms, all measures together
_ROUNDS = 60
_GAIN = 1e-7  # relative; a round that gains less is the last


def is_small(arguments):
    """Whether exact plans are the faster way to a barycenter without given atoms."""
    n_points = sum(len(measure.support) for measure in arguments.measures)
    few = n_points * len(arguments.target) <= _LARGEST
    return few and arguments.p == 2 and arguments.init is None


def best_descent(arguments, clouds, iterates, callback):
    """Return the Iterate of least cost over all starts.

    Parameters
    ----------
    arguments : BarycenterArguments
    clouds : list of OrderedPoints
        The measures, in the frame of the arguments.
    iterates : list of Iterate
    callback : callable or None
    """
    descents = [_descend(arguments, clouds, iterate, callback) for iterate in iterates]
    return min(descents, key=lambda iterate: iterate.cost)


def _descend(arguments, clouds, iterate, callback):
    for iteration in range(1, _ROUNDS + 1):
        cost, means = _received_means(arguments, clouds, iterate.atoms)
        if not cost < (1.0 - _GAIN) * iterate.cost:
            break
        away = float(arguments.target @ ((means - iterate.atoms) ** 2).sum(axis=1))
        iterate = replace(
            iterate,
            atoms=means,
            cost=cost,
            movement=away / max(cost - away, np.finfo(float).tiny),
            history=(*iterate.history, cost * arguments.unit),
        )
        if callback is not None:
            event = BarycenterEvent(
                0, iterate.start, iteration, iterate.history[-1], iterate.movement
            )
            callback(event)
    return iterate


def _received_means(arguments, clouds, atoms):
    """Return the mean cost of exact plans to the atoms, and the means of what they receive."""
    from ot import emd

    cost, sums = 0.0, np.zeros_like(atoms)
    for share, cloud in zip(arguments.shares, clouds, strict=True):
        costs = pairwise_cost(atoms, cloud.points, 2).T
        plan = emd(cloud.weights, arguments.target, costs)
        cost += share * float((plan * costs).sum())
        sums += share * (plan.T @ cloud.points)
    return cost, sums / arguments.target[:, None]
