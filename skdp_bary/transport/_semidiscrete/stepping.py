"""A step of Newton's method on the dual, in many dimensions, before mass is moved."""

import numpy as np

from .certificate import UNITS

_NEAR = 0.2  # of the points, those nearest to a border, say how fast mass crosses it
_RIDGE = 1e-6
_FARTHEST = 4.0  # times as far as these points tell


def newton_step(labels, others, margins, weights, excess):
    """Return the change of potentials after which all masses would be right, to first order.

    Parameters
    ----------
    labels, others : ndarrays of shape (n_points,)
        The cheapest atom of every point, and the next one.
    margins : ndarray of shape (n_points,)
        How much dearer that is.
    weights : ndarray of shape (n_points,)
    excess : ndarray of int64 of shape (n_atoms,)
        Units held less target.
    """
    n_atoms = len(excess)
    place = int(_NEAR * len(margins))
    reach = np.partition(margins, place)[place]
    near = np.flatnonzero(margins <= reach)
    pairs = labels[near].astype(np.int64) * n_atoms + others[near]
    crossing = np.bincount(pairs, weights[near], n_atoms**2).reshape(n_atoms, n_atoms)
    crossing += crossing.T
    hessian = np.diag(crossing.sum(axis=0)) - crossing
    hessian[np.diag_indices(n_atoms)] += _RIDGE * hessian.trace() / n_atoms
    step = np.linalg.solve(hessian, excess * (-2.0 * reach / UNITS))
    step -= step.mean()
    farthest = np.abs(step).max()
    return step * (_FARTHEST * reach / farthest) if farthest > _FARTHEST * reach else step
