"""Exact solution of a semi-dual problem: Newton, then exchanges of whole points, then a proof."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ._coincident import divide, merge_atoms
from ._costs import paired_cost, pairwise_cost
from ._exchange import Exchange, break_cycles
from ._newton import newton
from ._semidual import SOFT

_UNITS = 2**61  # integer units of the total mass
_TOLERANCE = 2**11  # units: rounding of a mass, 1e-15 of the total
_FIRST_DEPTH = 6  # points called in for every pair of atoms
_ALWAYS_NEAR = 2500  # problems this small hand every point to the exchange
_LEVELS = (20, 200)  # points per atom of the coarse samples
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


def solve_problem(problem, potentials=None, warmth=None):
    """Return the exact Assignment of a SemidualProblem, by ever more careful means."""
    merged, potentials, group = merge_atoms(problem, potentials)
    for found in _attempts(merged, potentials, warmth):
        if found.proven:
            break
    else:
        warnings.warn(
            "optimal transport was not solved to a proven optimum: "
            f"cost {found.cost}, dual {found.dual} (in the unit frame of the points).",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found if group is None else divide(found, problem.cloud.weights, problem.target, group)


def _attempts(problem, potentials, warmth):
    """Yield assignments: warm, cold, with every point in the exchange, by network simplex."""
    if potentials is not None:
        yield _finish(problem, _approach(problem, potentials, warmth), _ALWAYS_NEAR)
    state = _approach(problem, None, None)
    yield _finish(problem, state, _ALWAYS_NEAR)
    yield _finish(problem, state, len(problem.cloud.points))
    yield _network_simplex(problem)


def _approach(problem, potentials, warmth):
    """Run Newton on samples of growing size; return the state on all points."""
    n_points, n_atoms = len(problem.cloud.points), len(problem.target)
    if potentials is None:
        warmth = None
        for per_atom in _LEVELS:
            if n_points > 2 * per_atom * n_atoms:
                # Sampling leaves about this much mass out of place one level up.
                state = newton(problem.coarse(per_atom), potentials, 0.2 / np.sqrt(per_atom))
                potentials = state.potentials
    # An evaluation costs as much as a number of exchanges that grows with the points.
    return newton(problem, potentials, n_atoms / n_points + 3e-4, warmth)


def _finish(problem, state, n_near):
    """Exchange points, at first `n_near`, until every atom has its mass; then certify."""
    units, target = to_units(problem.cloud.weights), to_units(problem.target)
    outside = Bystanders(problem, state)
    near, labels, potentials = outside.nearest(n_near), state.labels.copy(), state.potentials
    while True:
        costs = pairwise_cost(problem.atoms, problem.cloud.points[near], problem.p)
        labels[near] = (costs - potentials[:, None]).argmin(axis=0)
        excess = _held(labels, units, len(target)) - target
        exchange = Exchange(costs, units[near], excess, labels[near], potentials, _TOLERANCE)
        balanced = exchange.balance(outside.agree)
        added = np.empty(0, dtype=np.intp) if balanced else outside.call_in(near)
        if not added.size:
            return _certify(problem, exchange, near, labels)
        near, potentials = np.union1d(near, added), exchange.potentials


class Bystanders:
    """Points that take no part in the exchange, and when one of them would have to.

    At first the least margin of every atom's points is known. When that is not enough, the points
    that are cheapest to hand over from one atom to another are called in for every pair of atoms,
    and the price of the next one is a bound that holds under any potentials.

    Parameters
    ----------
    problem : SemidualProblem
    state : Smoothed
        Its labels are kept by bystanders.
    """

    def __init__(self, problem, state):
        self.problem = problem
        self.state = state
        self.depth = np.zeros(len(problem.target), dtype=int)
        self.prices = None
        self.refused = None

    def nearest(self, size):
        """Return the points closest to a border: those that take part first."""
        n_points, n_atoms = len(self.state.labels), len(self.problem.target)
        size = max(size, 30 * n_atoms)
        if n_points <= size:
            self.prices = np.full((n_atoms, n_atoms), np.inf)
            return np.arange(n_points)
        # Beyond the soft range a margin is only known to be no smaller than that.
        margins = np.minimum(self.state.margins, SOFT * self.state.temperatures)
        order = np.argpartition(self.state.margins, size)
        self.least = np.full(n_atoms, np.inf)
        far = order[size:]
        np.minimum.at(self.least, self.state.labels[far], margins[far])
        return np.sort(order[:size])

    def agree(self, potentials):
        """Tell whether every bystander's atom surely stays cheapest under these potentials."""
        if self.prices is None:
            rise = potentials - self.state.potentials
            refused = rise.max() - rise > self.least
        else:
            refused = np.any(self.prices < potentials - potentials[:, None], axis=1)
        self.refused = refused if refused.any() else None
        return self.refused is None

    def call_in(self, near):
        """Return the bystanders next in line at the atoms that stopped the exchange."""
        n_atoms, labels = len(self.problem.target), self.state.labels
        stopped = self.refused
        if self.prices is None or stopped is None:
            stopped = np.ones(n_atoms, dtype=bool)
        if self.prices is None:
            self.prices = np.full((n_atoms, n_atoms), np.inf)
        inside = np.zeros(len(labels), dtype=bool)
        inside[near] = True
        self.depth[stopped] = np.maximum(4 * self.depth[stopped], _FIRST_DEPTH)
        found = [self._cheapest_of(atom, inside) for atom in np.flatnonzero(stopped)]
        return np.unique(np.concatenate(found))

    def _cheapest_of(self, atom, inside):
        held = np.flatnonzero((self.state.labels == atom) & ~inside)
        depth = self.depth[atom]
        if held.size <= depth:
            self.prices[atom] = np.inf
            return held
        extra = pairwise_cost(self.problem.atoms, self.problem.cloud.points[held], self.problem.p)
        extra -= extra[atom].copy()
        extra[atom] = np.inf
        order = np.argpartition(extra, depth, axis=1)[:, : depth + 1]
        prices = np.take_along_axis(extra, order, axis=1)
        others = np.arange(len(extra)) != atom
        chosen = np.unique(order[others, :depth])
        # What stays outside costs at least the dearest of these; all the others come in.
        self.prices[atom] = prices.max(axis=1) if chosen.size < held.size else np.inf
        return held[chosen]


def to_units(weights):
    """Return integer masses with an exact total; the largest one absorbs the rounding."""
    units = np.rint(weights * (_UNITS / weights.sum())).astype(np.int64)
    units[units.argmax()] += _UNITS - units.sum()
    return units


def _held(labels, units, n_atoms):
    """Sum integers by label, exactly."""
    low = np.bincount(labels, units & 0x3FFFFFFF, n_atoms)
    high = np.bincount(labels, units >> 30, n_atoms)
    return low.astype(np.int64) + (high.astype(np.int64) << 30)


def _certify(problem, exchange, near, labels):
    """Read off plan and cost, and evaluate the dual afresh over all points."""
    cloud, potentials = problem.cloud, exchange.potentials
    labels = labels.copy()
    labels[near] = exchange.flow.argmax(axis=0)
    shared = np.flatnonzero(np.count_nonzero(exchange.flow, axis=0) > 1)
    flow, costs = exchange.flow[:, shared], exchange.costs[:, shared]
    break_cycles(flow, costs)
    labels[near[shared]] = flow.argmax(axis=0)
    still = np.count_nonzero(flow, axis=0) > 1
    split, shares = near[shared[still]], flow[:, still] / flow[:, still].sum(axis=0)
    each = paired_cost(cloud.points, problem.atoms[labels], problem.p)
    each[split] = np.einsum("ji,ji->i", shares, costs[:, still])
    return Assignment(
        potentials=potentials,
        labels=labels,
        split=split,
        shares=shares,
        cost=float(cloud.weights @ each),
        dual=exact_dual(problem, potentials),
        misplaced=float(np.abs(exchange.excess).max() / _UNITS),
    )


def _network_simplex(problem):
    """Solve by POT's network simplex: slow and large, but it needs no good start."""
    from ot import emd

    cloud = problem.cloud
    costs = pairwise_cost(problem.atoms, cloud.points, problem.p).T
    plan, log = emd(
        cloud.weights, problem.target, costs, numItermax=np.iinfo(np.int64).max, log=True
    )
    split = np.flatnonzero(np.count_nonzero(plan, axis=1) > 1)
    return Assignment(
        potentials=log["v"],
        labels=plan.argmax(axis=1),
        split=split,
        shares=plan[split].T / plan[split].sum(axis=1),
        cost=float(np.einsum("ij,ij->", plan, costs)),
        dual=exact_dual(problem, log["v"]),
        misplaced=float(np.abs(plan.sum(axis=0) - problem.target).max()),
    )


def exact_dual(problem, potentials):
    """Evaluate the semi-dual without smoothing, from direct costs."""
    cloud, lowest = problem.cloud, problem.labels(potentials)
    cheapest = paired_cost(cloud.points, problem.atoms[lowest], problem.p) - potentials[lowest]
    return float(cloud.weights @ cheapest + problem.target @ potentials)
