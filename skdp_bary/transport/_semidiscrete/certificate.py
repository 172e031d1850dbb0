"""What an exact solution is, and how it is proven: from its plan and potentials alone."""

from dataclasses import dataclass

import numpy as np

from .._costs import paired_cost, pairwise_cost

UNITS = 2**61  # integer units of the total mass
_LIGHT = 2**20  # units; lighter points take no part in absorbing the rounding
_PART = 2**16  # points at a time; their low halves add up exactly in floating point
_RELATIVE_GAP = 1e-9
_LARGEST_MASS_ERROR = 1e-12  # mass; far above rounding, far below any point


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
    mass_error : float
        Most mass that an atom has too much or too little.
    """

    potentials: np.ndarray
    labels: np.ndarray
    split: np.ndarray
    shares: np.ndarray
    cost: float
    dual: float
    mass_error: float

    @property
    def proven(self):
        """Whether all masses are right and cost and dual agree to the promised precision."""
        # Without the right masses a plan may cost less than the dual value.
        close = abs(self.cost - self.dual) <= _RELATIVE_GAP * self.cost + 1e-15
        return close and self.mass_error <= _LARGEST_MASS_ERROR


def certify(problem, potentials, labels, split, shares):
    """Return a plan as an Assignment, with cost, dual value and masses computed afresh."""
    cloud = problem.cloud
    whole, dual = _sums(problem, potentials, labels)
    costs = pairwise_cost(problem.atoms, cloud.points[split], problem.p)
    more = np.einsum("ji,ji->i", shares, costs) - costs[labels[split], np.arange(len(split))]
    return Assignment(
        potentials=potentials,
        labels=labels,
        split=split,
        shares=shares,
        cost=float(whole + cloud.weights[split] @ more),
        dual=float(dual + problem.target @ potentials),
        mass_error=mass_error(problem, labels, split, shares),
    )


def _sums(problem, potentials, labels):
    """Return what points cost at their labels, and less potential at a cheapest atom found afresh.

    Block by block, so that nothing as long as the points is made.
    """
    cloud, atoms, own, least = problem.cloud, problem.atoms, 0.0, 0.0
    for start, stop, lowest in problem.cheapest(potentials):
        points, weights = cloud.points[start:stop], cloud.weights[start:stop]
        costs = paired_cost(points, atoms[labels[start:stop]], problem.p)
        own += weights @ costs
        other = np.flatnonzero(lowest != labels[start:stop])
        costs[other] = paired_cost(points[other], atoms[lowest[other]], problem.p)
        least += weights @ (costs - potentials[lowest])
    return own, least


def mass_error(problem, labels, split, shares):
    """Return the most mass that an atom of a plan has too much or too little."""
    units, target = to_units(problem.cloud.weights), to_units(problem.target)
    shared = units[split]
    units[split] = 0
    missing = sum_by_label(labels, units, len(target)) - target
    return float(np.abs(missing + shares @ shared).max() / UNITS)


def to_units(weights):
    """Return integer masses with an exact total; all but the lightest absorb the rounding."""
    units = weights * (UNITS / weights.sum())
    units = np.rint(units, out=units).astype(np.int64)
    heavy = units >= _LIGHT
    each, left = divmod(UNITS - int(units.sum()), np.count_nonzero(heavy))
    np.add(units, each, out=units, where=heavy)
    units[np.flatnonzero(heavy)[:left]] += 1
    return units


def sum_by_label(labels, units, n_atoms):
    """Sum integers by label, exactly."""
    sums = np.zeros(n_atoms, dtype=np.int64)
    for start in range(0, len(units), _PART):
        part, mine = units[start : start + _PART], labels[start : start + _PART]
        sums += np.bincount(mine, part & 0x3FFFFFFF, n_atoms).astype(np.int64)
        sums += np.bincount(mine, part >> 30, n_atoms).astype(np.int64) << 30
    return sums
