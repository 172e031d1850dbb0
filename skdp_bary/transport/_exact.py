"""Exact solution of a semi-dual problem: Newton, then exchanges of whole points, then a proof."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ._coincident import divide, merge_atoms
from ._costs import extra_cost, pairwise_cost
from ._exchange import Exchange, break_cycles
from ._kernels import SOFT
from ._newton import newton

_UNITS = 2**61  # integer units of the total mass
_TOLERANCE = 2**11  # units: rounding of a mass, 1e-15 of the total
_FIRST_DEPTH = 6  # points called in for every pair of atoms
_WIDTH = 2000  # least number of an atom's points among which those are looked for
_MARGINS = 64  # and least number for every point called in
_CLOSE = 0.25  # mean margins within which an atom is close, for every point called in
_ALWAYS_NEAR = 2500  # problems this small hand every point to the exchange
_LEVELS = (20, 200)  # points per atom of the coarse samples
_COARSER = 1.4  # how much smaller than the next level a sample has to be
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
    everything = len(problem.cloud.points) <= max(_ALWAYS_NEAR, 30 * len(problem.target))
    if potentials is not None:
        yield _finish(problem, _approach(problem, potentials, warmth), everything)
    state = _approach(problem, None, None)
    yield _finish(problem, state, everything)
    if not everything:
        yield _finish(problem, state, True)
    yield _network_simplex(problem)


def _approach(problem, potentials, warmth):
    """Run Newton on samples of growing size; return the state on all points."""
    n_points, n_atoms = len(problem.cloud.points), len(problem.target)
    if potentials is None:
        warmth = None
        for per_atom in _LEVELS:
            if n_points > _COARSER * per_atom * n_atoms:
                # Sampling leaves about this much mass out of place one level up.
                state = newton(problem.coarse(per_atom), potentials, 0.2 / np.sqrt(per_atom))
                potentials = state.potentials
    # An evaluation costs as much as a number of exchanges that grows with the points.
    return newton(problem, potentials, n_atoms / n_points + 3e-4, warmth)


def _finish(problem, state, everything):
    """Exchange points near a border, or `everything`, until every atom has its mass; certify."""
    units, target = to_units(problem.cloud.weights), to_units(problem.target)
    outside = Bystanders(problem, state)
    near = np.arange(len(units)) if everything else outside.call_in()
    labels, potentials = state.labels.copy(), state.potentials
    while True:
        costs = pairwise_cost(problem.atoms, problem.cloud.points[near], problem.p)
        labels[near] = (costs - potentials[:, None]).argmin(axis=0)
        excess = _held(labels, units, len(target)) - target
        exchange = Exchange(
            costs, units[near], excess, labels[near], potentials, _TOLERANCE, problem.cloud.kernel
        )
        if exchange.balance(outside.agree) or len(near) == len(units):
            return _certify(problem, exchange, near, labels)
        near, potentials = np.union1d(near, outside.call_in()), exchange.potentials


class Bystanders:
    """Points that take no part in the exchange, and when one of them would have to.

    The points that are cheapest to hand over from one atom to another are called in for every pair
    of close atoms; the price of the next one is a bound that holds under any potentials.

    Parameters
    ----------
    problem : SemidualProblem
    state : Smoothed
        Its labels are kept by bystanders.
    """

    def __init__(self, problem, state):
        n_atoms = len(problem.target)
        self.problem = problem
        self.potentials = state.potentials
        # Beyond the soft range a margin is only known to be no smaller than that.
        self.margins = np.minimum(state.margins, SOFT * state.temperatures)
        # Sorting small integers takes linear time.
        order = np.argsort(state.labels.astype(np.min_scalar_type(n_atoms)), kind="stable")
        ends = np.cumsum(np.bincount(state.labels, minlength=n_atoms))
        self.held = np.split(order, ends[:-1])
        self.inside = np.zeros(len(order), dtype=bool)
        self.depth = np.zeros(n_atoms, dtype=int)
        self.prices = np.full((n_atoms, n_atoms), np.inf)
        self.refused = np.ones(n_atoms, dtype=bool)

    def agree(self, potentials):
        """Tell whether every bystander's atom surely stays cheapest under these potentials."""
        self.refused = np.any(self.prices < potentials - potentials[:, None], axis=1)
        return not self.refused.any()

    def call_in(self):
        """Return the bystanders next in line at the atoms that stopped the exchange."""
        stopped = self.refused if self.refused.any() else np.ones(len(self.refused), dtype=bool)
        self.depth[stopped] = np.maximum(4 * self.depth[stopped], _FIRST_DEPTH)
        found = [self._cheapest_of(atom) for atom in np.flatnonzero(stopped)]
        return np.sort(np.concatenate(found))

    def _cheapest_of(self, atom):
        """Call in the points of an atom that are cheapest to hand over to each of the others."""
        held, depth = self.held[atom], self.depth[atom]
        held = held[~self.inside[held]]
        rise = self.potentials - self.potentials[atom]
        width, bound = max(_WIDTH, _MARGINS * depth), np.inf
        if held.size > width:
            # A margin bounds what it takes to hand a point over to any atom.
            order = np.argpartition(self.margins[held], width)
            bound, held = self.margins[held[order[width]]], held[order[:width]]
        if held.size <= depth:
            self._leave_out(atom, held, bound + rise)
            return held
        extra = extra_cost(
            self.problem.atoms, self.problem.cloud.points[held], atom, self.problem.p
        )
        prices = extra.min(axis=1)
        # Few exchanges go to atoms further away; from those the cheapest point's price is kept.
        close = np.flatnonzero(prices - rise <= depth * _CLOSE * self.margins[held].mean())
        close = close[close != atom]
        order = np.argpartition(extra[close], depth, axis=1)[:, : depth + 1]
        prices[close] = np.take_along_axis(extra[close], order, axis=1).max(axis=1)
        chosen = np.zeros(held.size, dtype=bool)
        chosen[order[:, :depth]] = True
        self._leave_out(atom, held[chosen], np.minimum(prices, bound + rise))
        return held[chosen]

    def _leave_out(self, atom, chosen, prices):
        """Note that some points of an atom have come in, and the prices of the others."""
        self.inside[chosen] = True
        self.prices[atom] = prices if np.any(~self.inside[self.held[atom]]) else np.inf
        self.prices[atom, atom] = np.inf


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
    each = problem.own_costs(labels)
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
    cheapest = problem.own_costs(lowest) - potentials[lowest]
    return float(cloud.weights @ cheapest + problem.target @ potentials)
