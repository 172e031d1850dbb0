"""What atoms receive of the points sent to them: the step of a free-support barycenter."""

import numpy as np
from scipy import sparse

from .._costs import paired_cost, pairwise_cost
from .._kernels import attraction

_CHUNK = 4096  # soft points at a time
_LONGEST = 30.0  # temperatures; a prediction that moves further is not to be trusted


class SmoothPull:
    """What atoms receive of one measure at a Smoothed state.

    Attributes
    ----------
    labels : ndarray of shape (n_points,)
    dual : float
        Bound of the cost; for p = 2 without the mean squared norm of the points.
    counts : ndarray of shape (n_atoms,)
    sums : ndarray of shape (n_atoms, n_features)
    """

    exact = False

    def __init__(self, problem, state):
        self.problem = problem
        self.state = state
        self.labels, self.dual = state.labels, state.dual
        self.counts, self.sums = received_sums(problem, state)

    def potentials_after(self, centers, step):
        """Predict the best potentials after the atoms move by `step`."""
        return moved_potentials(self.problem, self.state, centers, step)


class ExactPull:
    """The same of an exact plan, for p = 2; `dual` is what the plan costs."""

    exact = True
    labels = None  # those of a plan are no start for smoothed plans

    def __init__(self, problem):
        from ot import emd

        cloud, atoms = problem.cloud, problem.atoms
        costs = pairwise_cost(atoms, cloud.points, 2).T
        plan, log = emd(cloud.weights, problem.target, costs, log=True)
        self.problem = problem
        self.potentials = log["v"]
        self.dual = log["cost"] - float(cloud.weights @ (cloud.points**2).sum(axis=1))
        self.counts, self.sums = problem.target, plan.T @ cloud.points

    def potentials_after(self, centers, step):
        """Return potentials that keep the cells where they are."""
        return self.potentials + _shift(self.problem, centers, step)


def received_sums(problem, state):
    """Return the counts and sums of the points every atom receives at a Smoothed state.

    For p = 2 their ratio is the mean of the points received. Otherwise it is one step of
    Weiszfeld's iteration, in which a point counts by ``distance ** (p - 2)``.

    Returns
    -------
    counts : ndarray of shape (n_atoms,)
    sums : ndarray of shape (n_atoms, n_features)
    """
    cloud, n_atoms = problem.cloud, len(problem.target)
    hard = cloud.weights.copy()
    if problem.p != 2:
        hard *= attraction(problem.own_costs(state.labels), problem.p)
    hard[state.soft] = 0.0
    holders = sparse.csc_array(
        (hard, state.labels, np.arange(len(hard) + 1)), shape=(n_atoms, len(hard))
    )
    counts = np.bincount(state.labels, hard, n_atoms) + state.soft_counts
    return counts, holders @ cloud.points + state.soft_sums


def moved_potentials(problem, state, centers, step):
    """Predict the best potentials after the atoms move by `step`.

    First every potential changes by what its atom's move costs at the center of its cell, so that
    cells stay where they are, however far from their atoms. To first order the masses then change
    by what the soft points are shared otherwise, and Newton's step answers the gradient that
    leaves. So one evaluation of the smoothed dual often serves for a step of the atoms.
    """
    shift = _shift(problem, centers, step)
    change = _mass_change(problem, state, step, shift)
    return state.potentials + shift + state.newton_step(_LONGEST, state.gradient - change)


def _shift(problem, centers, step):
    """Return what every atom's move costs at the center of its cell."""
    atoms, p = problem.atoms, problem.p
    return paired_cost(centers, atoms + step, p) - paired_cost(centers, atoms, p)


def _mass_change(problem, state, step, shift):
    """Return how the masses received from soft points change, to first order."""
    if problem.boxed:
        from .._boxed import mass_change  # loads compiled code

        return mass_change(problem, state, step, shift)
    parts = np.array_split(state.soft, 1 + len(state.soft) // _CHUNK)
    return sum(_change_of(problem, state, part, step, shift) for part in parts)


def _change_of(problem, state, soft, step, shift):
    points, weights = problem.cloud.points[soft], problem.cloud.weights[soft]
    entries, temperatures = problem.entries(points, state.potentials), state.temperatures[soft]
    rises = np.einsum("ij,ij->i", problem.atoms, step)[:, None] - step @ points.T
    rises *= problem.p
    if problem.p == 2:
        rises += np.einsum("ij,ij->i", step, step)[:, None]
    else:
        rises *= attraction(entries + state.potentials[:, None], problem.p)
    rises -= shift[:, None]
    return problem.kernel.drift(entries, rises, weights, temperatures)
