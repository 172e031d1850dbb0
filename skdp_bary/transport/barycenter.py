"""Free-support barycenters with certified plans, their starts, and lifts from few dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..exceptions import RandomState, check_integer, check_real
from .barycenter_search import Iterate, Level, Search
from .costs import pairwise_cost
from .measures import BarycenterResult, DiscreteMeasure, check_measures, check_points, check_shares
from .semidiscrete import Prepared, UnitFrame, solve_problem

# Free-support Wasserstein barycenters with exact, certified transport plans.

_MANY = 500  # atoms, which starts at random places differ little for
_POLISHED_POINTS = 20_000  # points times steps that exact plans may take at the end
_POLISH_STEPS = 60
_POLISH_GAIN = 1e-5  # relative; a step that gains less is the last


def free_support_barycenter(
    measures: Sequence[DiscreteMeasure],
    n_atoms: int,
    *,
    measure_weights: ArrayLike | None = None,
    p: float = 2,
    init: ArrayLike | None = None,
    n_init: int | None = None,
    max_iter: int = 5,
    tol: float = 5e-4,
    random_state: RandomState | None = None,
) -> BarycenterResult:
    """Find a few atoms whose mean transport cost to the measures is small.

    Minimizes ``sum_i measure_weights[i] * W_p(measures[i], atoms)**p`` over the positions of the
    atoms: they are pulled by the points they receive, over-relaxed, on a coarse sample of the
    measures, on a finer one, and on all points. The problem is not convex: the result is a local
    minimum, the best over the starts. The plans at the end are exact. This is the free-support
    fixed point of Alvarez-Esteban, del Barrio, Cuesta-Albertos and Matran (2016); a step costs
    O(n_points n_atoms) at most.

    Parameters
    ----------
    measures : sequence of DiscreteMeasure
        In one space; masses are normalized to one.
    n_atoms : int
        Number of atoms, all of one mass.
    measure_weights : array-like of shape (n_measures,), default=None
        Importance of the measures; ``None`` weighs them equally.
    p : {1, 2}, default=2
        Power of the distance: 2 gives means, 1 geometric medians.
    init : array-like of shape (n_atoms, n_features), default=None
        Atoms to start from, instead of random balanced splits.
    n_init : int, default=None
        Number of random starts on the coarse sample; ``None`` makes two for a single measure and
        up to 500 atoms, and otherwise one: the cost then hardly depends on the start. Few points
        (up to 1500 points times atoms, p = 2) take three times as many, by exact plans.
    max_iter : int, default=5
        Most steps of the atoms on all points.
    tol : float, default=5e-4
        Stop when the p-th power of the distance from the atoms to where they are pulled is below
        this fraction of that of the points to the center of their cell, on average.
    random_state : None, int or numpy.random.Generator, default=None
        Draws the starts.

    Returns
    -------
    BarycenterResult

    Examples
    --------
    >>> from skdp_bary.transport import DiscreteMeasure, free_support_barycenter
    >>> left = DiscreteMeasure([[0.0], [1.0]])
    >>> right = DiscreteMeasure([[2.0], [3.0]])
    >>> result = free_support_barycenter([left, right], 2, random_state=0)
    >>> sorted(result.support.ravel().round(6).tolist())
    [1.0, 2.0]
    """
    arguments = BarycenterArguments.of(measures, n_atoms, measure_weights, p, init)
    if n_init is None:
        n_init = 2 if len(arguments.measures) == 1 and len(arguments.target) <= _MANY else 1
    n_init = check_integer(n_init, "n_init", low=1)
    # starts that continue on the finer sample: beyond three features coarse costs hardly tell
    n_keep = 1 if arguments.measures[0].n_features <= 3 else 2
    max_iter = check_integer(max_iter, "max_iter", low=1)
    tol = check_real(tol, "tol", low=0, open_low=True)
    # Most of what a start can gain is cheap to get on the middle level, and stays on all points.
    # Plans are as warm as the density of the points asks for.
    levels = (
        Level(40, max_iter=40, imbalance=0.01, tol=10.0 * tol),
        Level(200, max_iter=25, imbalance=0.01, tol=0.4 * tol),
        Level(np.inf, max_iter=max_iter, imbalance=0.004, tol=tol),
    )
    prepared = [Prepared.of(each, arguments.frame) for each in arguments.measures]
    clouds = [each.cloud for each in prepared]
    n_points = sum(len(measure.support) for measure in arguments.measures)
    few = n_points * len(arguments.target) <= _LARGEST
    if few and arguments.p == 2 and arguments.init is None:  # where exact plans are faster
        starts = arguments.starts(prepared, MORE_STARTS * n_init, random_state)
        descents = [_descend(arguments, clouds, start) for start in starts]
        best = min(descents, key=lambda iterate: iterate.cost)
    else:
        search = Search(arguments, clouds)
        best = search.refine(arguments.starts(prepared, n_init, random_state), levels, n_keep)
    return _polish(arguments, prepared, best)


def _polish(arguments, prepared, iterate):
    """Move the atoms to the means of what exact plans send them, while that lowers the cost.

    The search works on smoothed plans, which matter where a cell holds few points; exact plans are
    cheap just there. Returns the result with the exact transports.
    """
    steps = 0
    if arguments.p == 2:
        n_points = sum(len(each.cloud.points) for each in prepared)
        steps = int(np.clip(_POLISHED_POINTS // n_points, 0, _POLISH_STEPS))
    best, frame = arguments.result(iterate, prepared), arguments.frame
    for _ in range(steps):
        pairs = zip(arguments.shares, best.transports, strict=True)
        means = sum(share * transport.projections for share, transport in pairs)
        potentials = tuple(each.potentials / frame.scale**2 for each in best.transports)
        iterate = replace(iterate, atoms=frame.inward(means), potentials=potentials)
        moved = arguments.result(iterate, prepared)
        if not moved.cost < best.cost:
            return best
        gain, best = best.cost - moved.cost, moved
        if gain <= _POLISH_GAIN * best.cost:
            return best
    return best


# What the searches for a barycenter share: checked arguments, starts, and the result.

_POINTS_PER_ATOM = 40  # of the sample that a start is split from


@dataclass(frozen=True)
class BarycenterArguments:
    """Measures and the atoms looked for, checked.

    Attributes
    ----------
    measures : list of DiscreteMeasure
    shares : ndarray of shape (n_measures,)
    target : ndarray of shape (n_atoms,)
    p : float
    frame : UnitFrame
        Of all measures together.
    init : ndarray of shape (n_atoms, n_features) or None
        In the frame.
    """

    measures: list
    shares: np.ndarray
    target: np.ndarray
    p: float
    frame: UnitFrame
    init: np.ndarray

    @classmethod
    def of(cls, measures, n_atoms, measure_weights, p, init):
        """Check the arguments of a barycenter."""
        if p not in (1, 2):  # other powers have no update of the atoms
            raise ValueError(
                f"p must be 1 or 2, got {p!r}. For example p=2, whose atoms are means."
            )
        measures, p = check_measures(measures), check_real(p, "p", low=1)
        n_atoms = check_integer(n_atoms, "n_atoms", low=1)
        target = np.full(n_atoms, 1.0 / n_atoms)
        shares = check_shares(measure_weights, len(measures))
        frame = UnitFrame.of(np.concatenate([measure.support for measure in measures]))
        if init is not None:
            init = frame.inward(check_points(init, (n_atoms, measures[0].n_features), "init"))
        return cls(measures, shares, target, p, frame, init)

    def starts(self, prepared, n_init, random_state):
        """Return iterates at `init`, or at balanced splits of one measure after the other."""
        empty = (None,) * len(prepared)
        if self.init is not None:
            return [Iterate(self.init, empty)]
        rng = np.random.default_rng(random_state)
        samples = [e.cloud.coarse(_POINTS_PER_ATOM * len(self.target)) for e in prepared]
        iterates = []
        for index in range(n_init):
            sample = samples[index % len(samples)]
            atoms = balanced_split(sample.points, sample.weights, self.target, rng)
            iterates.append(Iterate(atoms, empty))
        return iterates

    def result(self, iterate, prepared):
        """Return the barycenter with the exact transports to it, in the original space."""
        atoms = DiscreteMeasure(self.frame.outward(iterate.atoms), self.target)
        transports = []
        for one, potentials in zip(prepared, iterate.potentials, strict=True):
            problem, columns = one.problem(atoms, self.p)
            solution = solve_problem(problem, potentials)
            transports.append(one.result(atoms, columns, self.p, solution))
        return BarycenterResult(
            support=atoms.support,
            weights=atoms.weights,
            cost=float(self.shares @ [each.cost for each in transports]),
            dual=float(self.shares @ [each.dual for each in transports]),
            transports=tuple(transports),
        )


# Where a barycenter starts: the means of balanced pieces of a measure.


def balanced_split(points, weights, target, rng):
    """Cut points by hyperplanes into pieces with the target masses; return the pieces' means.

    Each cut takes a random direction, drawn with the covariance of the piece, so that long sides
    are cut more often; the masses on both sides are those of the atoms that go there.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    weights : ndarray of shape (n_points,)
    target : ndarray of shape (n_atoms,)
        Masses of the pieces.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_atoms, n_features)
    """
    means = np.empty((len(target), points.shape[1]))
    pieces = [(np.arange(len(points)), weights, np.arange(len(target)))]
    while pieces:
        rows, masses, atoms = pieces.pop()
        if len(atoms) == 1:
            means[atoms[0]] = masses @ points[rows] / masses.sum()
            continue
        left, right = atoms[: len(atoms) // 2], atoms[len(atoms) // 2 :]
        centered = points[rows] - points[rows].mean(axis=0)
        # the direction is X.T @ z for a Gaussian z: its covariance is that of the piece
        along = centered @ (centered.T @ rng.standard_normal(len(rows)))
        order = np.argsort(along, kind="stable")
        rows, masses = rows[order], masses[order]
        goal = masses.sum() * target[left].sum() / target[atoms].sum()
        ends = np.cumsum(masses)
        cut = min(int(np.searchsorted(ends, goal)), len(rows) - 1)
        # The point on the border goes to both sides, with the mass that belongs there.
        inner = goal - (ends[cut] - masses[cut])
        pieces.append((rows[: cut + 1], np.append(masses[:cut], inner), left))
        pieces.append((rows[cut:], np.append(masses[cut] - inner, masses[cut + 1 :]), right))
    return means


# The search for the atoms of a barycenter of few points: exact plans and means, in turns.

MORE_STARTS = 3  # than on smoothed plans: as good in the mean, over 120 problems of 4 to 200 points
_LARGEST = 1500  # points times atoms, all measures together
_ROUNDS = 60
_GAIN = 1e-7  # relative; a round that gains less is the last


def _descend(arguments, clouds, iterate):
    """Return an Iterate whose atoms moved to means, in turns with plans, while that paid."""
    from ot import emd

    for _ in range(_ROUNDS):
        cost, sums = 0.0, np.zeros_like(iterate.atoms)  # of exact plans, and of what atoms receive
        for share, cloud in zip(arguments.shares, clouds, strict=True):
            costs = pairwise_cost(iterate.atoms, cloud.points, 2).T
            plan = emd(cloud.weights, arguments.target, costs)
            cost += share * float((plan * costs).sum())
            sums += share * (plan.T @ cloud.points)
        if not cost < (1.0 - _GAIN) * iterate.cost:
            break
        iterate = replace(iterate, atoms=sums / arguments.target[:, None], cost=cost)
    return iterate
