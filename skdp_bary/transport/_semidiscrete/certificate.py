"""What an exact solution is, and how it is proven: from its plan and potentials alone."""

from dataclasses import dataclass

import numpy as np

from .._costs import chosen_cost, pairwise_cost

UNITS = 2**61  # integer units of the total mass
_LIGHT = 2**20  # units; lighter points take no part in absorbing the rounding
_RELATIVE_GAP = 1e-9
_MISPLACED = 1e-12  # mass; far above rounding, far below any point


@dataclass(frozen=True)
class Assignment:
    """An exact solution: every point whole with its label, or split among several atoms.

    Attributes
    ----------
    potentials : ndarray of shape (n_atoms,)
    labels : ndarray of shape (n_points,)
    split : ndarray of shape (n_split,)
        Points shared by several atoms.
    shares : ndarray of shape (n_atoms, n_split)
        Fractions of each split point; columns sum to one.
    cost, dual : float
    misplaced : float
        Most mass that an atom has too much or too little.
    """

    potentials: np.ndarray
    labels: np.ndarray
    split: np.ndarray
    shares: np.ndarray
    cost: float
    dual: float
    misplaced: float

    @property
    def proven(self):
        """Whether all masses are right and cost and dual agree to the promised precision."""
        # Without the right masses a plan may cost less than the dual value.
        close = abs(self.cost - self.dual) <= _RELATIVE_GAP * self.cost + 1e-15
        return close and self.misplaced <= _MISPLACED


def certify(problem, potentials, labels, split, shares):
    """Return a plan as an Assignment, with cost, dual value and masses computed afresh."""
    own = problem.own_costs(labels)
    each = own.copy()
    if split.size:
        costs = pairwise_cost(problem.atoms, problem.cloud.points[split], problem.p)
        each[split] = np.einsum("ji,ji->i", shares, costs)
    return Assignment(
        potentials=potentials,
        labels=labels,
        split=split,
        shares=shares,
        cost=float(problem.cloud.weights @ each),
        dual=exact_dual(problem, potentials, labels, own),
        misplaced=misplaced(problem, labels, split, shares),
    )


def exact_dual(problem, potentials, labels, own):
    """Evaluate the semi-dual at the cheapest atoms, found afresh for every point.

    `own` are the costs at `labels`, which serve where the cheapest atom is the same.
    """
    cloud, lowest = problem.cloud, problem.labels(potentials)
    other = np.flatnonzero(lowest != labels)
    costs = own.copy()
    costs[other] = chosen_cost(cloud.points, other, problem.atoms, lowest[other], problem.p)
    return float(cloud.weights @ (costs - potentials[lowest]) + problem.target @ potentials)


def misplaced(problem, labels, split, shares):
    """Return the most mass that an atom of a plan has too much or too little."""
    units, target = to_units(problem.cloud.weights), to_units(problem.target)
    whole = units.copy()
    whole[split] = 0
    missing = sum_by_label(labels, whole, len(target)) - target
    return float(np.abs(missing + shares @ units[split]).max() / UNITS)


def to_units(weights):
    """Return integer masses with an exact total; all but the lightest absorb the rounding."""
    units = np.rint(weights * (UNITS / weights.sum())).astype(np.int64)
    heavy = np.flatnonzero(units >= _LIGHT)
    each, left = divmod(UNITS - int(units.sum()), len(heavy))
    units[heavy] += each
    units[heavy[:left]] += 1
    return units


def sum_by_label(labels, units, n_atoms):
    """Sum integers by label, exactly."""
    low = np.bincount(labels, units & 0x3FFFFFFF, n_atoms)
    high = np.bincount(labels, units >> 30, n_atoms)
    return low.astype(np.int64) + (high.astype(np.int64) << 30)
