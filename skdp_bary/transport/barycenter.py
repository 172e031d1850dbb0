"""Free-support barycenters with certified plans, their starts, and the search for their atoms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..exceptions import RandomState, check_integer, check_real
from .costs import attraction, chosen_cost, drift, paired_cost, pairwise_cost
from .measures import BarycenterResult, DiscreteMeasure, check_measures, check_shares
from .semidiscrete import Prepared, UnitFrame, solve_problem
from .semidual import SemidualProblem, approach, settle

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
            init, shape = np.array(init, dtype=np.float64), (n_atoms, measures[0].n_features)
            if init.shape != shape or not np.isfinite(init).all():
                raise ValueError(f"init must be finite of shape {shape}, got shape {init.shape}.")
            init = frame.inward(init)
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


# The search for the atoms of a barycenter, from coarse samples of the measures to all points.

# Pulling atoms to means is gradient descent with unit step on a function whose curvature is at most
# one, so steps up to 2 * (1 + momentum) are stable, and neighbors that wander together converge
# several times faster.
_RELAXATION = 1.5
_MOMENTUM = 0.5
_NEARBY = 0.1  # movement below which momentum helps
_PATIENCE = 8  # steps without gain after which a level has nothing more to give
_LEAST_INNER = 1e-3  # of the cost; keeps a measure of distances above rounding
_WARMEST = 2.0  # plans are nearly quadratic there, from any potentials
_LOOSEST = 0.05  # mass out of place in the plans of atoms on a long way
_LEAST_SAMPLE = 20  # points an atom of every measure
_FRONT = 2  # starts ranked exactly beyond those that are kept


@dataclass(frozen=True)
class Level:
    """One refinement of a search.

    Attributes
    ----------
    points_per_atom : float
        Size of the samples of all measures together.
    max_iter : int
        Most steps of the atoms.
    imbalance : float
        Mass that may be out of place in a plan; it shifts a center by as much of its cell.
    tol : float
        Movement at which to stop.
    warmth : float, default=0.0
        How soft the plans are at least.
    """

    points_per_atom: float
    max_iter: int
    imbalance: float
    tol: float
    warmth: float = 0.0

    def eased(self, movement):
        """Accuracy that suffices for the next step of atoms that still move that much.

        Plans for atoms on a long way are soon out of date, and warm ones are cheap.
        """
        warmth = np.clip(movement, self.warmth, _WARMEST)
        imbalance = np.clip(_LOOSEST * movement, self.imbalance, _LOOSEST)
        return replace(self, warmth=float(warmth), imbalance=float(imbalance))


@dataclass(frozen=True)
class Iterate:
    """Atoms on their way, the step that led there, and a guess of each measure's potentials."""

    atoms: np.ndarray
    potentials: tuple
    step: np.ndarray | float = 0.0
    cost: float = np.inf
    movement: float = np.inf


@dataclass(frozen=True)
class Search:
    """Improves atoms level by level.

    Parameters
    ----------
    arguments : BarycenterArguments
    clouds : list of OrderedPoints
        The measures, in the frame of the arguments.
    """

    arguments: object
    clouds: list

    def refine(self, iterates, levels, n_keep):
        """Take all starts through level 0, the best few through level 1, one to the end."""
        for index, level in enumerate(levels):
            # An atom averages over the measures, so together they need no more points than one.
            share = max(level.points_per_atom / len(self.clouds), _LEAST_SAMPLE)
            size = np.ceil(share * len(self.arguments.target))
            clouds = [cloud.coarse(size) for cloud in self.clouds]
            iterates = [self._descend(each, clouds, level) for each in iterates]
            kept = n_keep if index == 0 else 1
            if len(iterates) > kept:
                # The dual is a bound at hand, of which warm plans favor some atoms; exact costs are
                # for those it cannot tell from the best.
                iterates = sorted(iterates, key=lambda each: each.cost)[: kept + _FRONT]
                costs = []
                for each in iterates:
                    tasks = zip(self._problems(clouds, each), each.potentials, strict=True)
                    found = [solve_problem(*task).cost for task in tasks]
                    costs.append(self.arguments.shares @ found)
                iterates = [iterates[place] for place in np.argsort(costs)[:kept]]
            same = all(few is whole for few, whole in zip(clouds, self.clouds, strict=True))
            if index and same and iterates[0].movement <= levels[-1].tol:
                break  # another level would look at the same points, and hardly move
        return iterates[0]

    def _problems(self, clouds, iterate):
        target, p = self.arguments.target, self.arguments.p
        return [SemidualProblem(cloud, iterate.atoms, target, p) for cloud in clouds]

    def _descend(self, iterate, clouds, level):
        constants = [0.0] * len(clouds)
        if self.arguments.p == 2:  # the dual leaves out the points' own squared norms
            squares = [np.einsum("ij,ij->i", cloud.points, cloud.points) for cloud in clouds]
            constants = [float(c.weights @ s) for c, s in zip(clouds, squares, strict=True)]
        found, movements = [None] * len(clouds), []
        for _ in range(level.max_iter):
            eased = level.eased(iterate.movement)
            tasks = zip(self._problems(clouds, iterate), iterate.potentials, found, strict=True)
            found = [respond(eased, *task) for task in tasks]
            costs = [pull.dual + c for pull, c in zip(found, constants, strict=True)]
            iterate = self._step(iterate, found, float(self.arguments.shares @ costs))
            movements.append(iterate.movement)
            if iterate.movement <= level.tol or _stalled(movements):
                break
        return iterate

    def _step(self, iterate, found, cost):
        shares = self.arguments.shares
        counts = sum(s * pull.counts for s, pull in zip(shares, found, strict=True))
        sums = sum(s * pull.sums for s, pull in zip(shares, found, strict=True))
        pulled = _centers(counts, sums, iterate.atoms)
        centers = [_centers(pull.counts, pull.sums, iterate.atoms) for pull in found]
        # The rest of the cost is how far the centers of one atom's cells are from the atom.
        away_from = [self._mean_power(center - iterate.atoms) for center in centers]
        inner = max(cost - float(shares @ away_from), _LEAST_INNER * cost)
        movement = self._mean_power(pulled - iterate.atoms) / max(inner, np.finfo(float).tiny)
        step = pulled - iterate.atoms
        if movement < iterate.movement:  # otherwise long steps have gone too far
            step *= _RELAXATION
            if iterate.movement < _NEARBY:
                step += _MOMENTUM * iterate.step
        potentials = tuple(
            pull.potentials_after(center, step) for pull, center in zip(found, centers, strict=True)
        )
        return Iterate(iterate.atoms + step, potentials, step, cost, movement)

    def _mean_power(self, vectors):
        square = np.einsum("ij,ij->i", vectors, vectors)
        return float(self.arguments.target @ square ** (self.arguments.p / 2.0))


def _stalled(movements):
    """Tell whether the last few movements of a level are all above an earlier one of it."""
    late, early = movements[-_PATIENCE:], movements[:-_PATIENCE]
    return bool(early) and min(late) > min(early)


def _centers(counts, sums, atoms):
    """Return sums over counts; an atom that receives nothing stays where it is."""
    used = counts > 0
    return np.where(used[:, None], sums / np.where(used, counts, 1.0)[:, None], atoms)


# What atoms receive of the points sent to them: the step of a free-support barycenter.

_WARMTHS = (0.03, 0.4)
_GRAIN, _GRAIN_POWER = 0.8, -0.4  # warmth at one point an atom, and how it falls with more
_FEW = 20_000  # points times atoms that an exact plan takes a few milliseconds for
_CHUNK = 4096  # soft points at a time
_LONGEST = 30.0  # temperatures; a prediction that moves further is not to be trusted


def respond(level, problem, potentials, last):
    """Mass that atoms receive of one measure, from potentials of zero if there are none.

    Where parts of the atoms are loosely connected, smoothed plans that are in balance take far
    longer than exact ones of few points; the level stays with those.
    """
    few = problem.p == 2 and len(problem.cloud.points) * len(problem.target) <= _FEW
    if few and last is not None and last.exact:
        return ExactPull(problem)
    if potentials is None:
        potentials = np.zeros(len(problem.target))
    find, labels = approach if few else settle, None if last is None else last.labels
    # Mass jumps from atom to atom in colder plans where points are few or heavy.
    density = problem.cloud.effective_size / len(problem.target)
    warmth = max(level.warmth, float(np.clip(_GRAIN * density**_GRAIN_POWER, *_WARMTHS)))
    state = find(problem, potentials, warmth, level.imbalance, labels)
    if few and not state.settled(level.imbalance):
        return ExactPull(problem)
    return SmoothPull(problem, state)


class SmoothPull:
    """What atoms receive of one measure at a Smoothed state.

    For p = 2 sums over counts are the means of the points received. Otherwise they are one step of
    Weiszfeld's iteration (1937), in which a point counts by ``distance ** (p - 2)``.

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
        self.problem, self.state = problem, state
        self.labels, self.dual = state.labels, state.dual
        cloud, n_atoms = problem.cloud, len(problem.target)
        hard = cloud.weights.copy()
        if problem.p != 2:
            rows = np.arange(len(hard))
            costs = chosen_cost(cloud.points, rows, problem.atoms, state.labels, problem.p)
            hard *= attraction(costs, problem.p)
        hard[state.soft] = 0.0
        entries = hard, state.labels, np.arange(len(hard) + 1)
        holders = sparse.csc_array(entries, shape=(n_atoms, len(hard)))
        self.counts = np.bincount(state.labels, hard, n_atoms) + state.soft_counts
        self.sums = holders @ cloud.points + state.soft_sums

    def potentials_after(self, centers, step):
        """Predict the best potentials after the atoms move by `step`.

        First every potential changes by what its atom's move costs at the center of its cell, so
        that cells stay where they are, however far from their atoms. To first order the masses then
        change by what the soft points are shared otherwise, and Newton's step answers the gradient
        that leaves. So one evaluation of the smoothed dual often serves for a step of the atoms.
        """
        state, shift = self.state, _shift(self.problem, centers, step)
        change = _mass_change(self.problem, state, step, shift)
        return state.potentials + shift + state.newton_step(_LONGEST, state.gradient - change)


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


def _shift(problem, centers, step):
    """Cost of every atom's move at the center of its cell."""
    atoms, p = problem.atoms, problem.p
    return paired_cost(centers, atoms + step, p) - paired_cost(centers, atoms, p)


def _mass_change(problem, state, step, shift):
    """Changes of the masses received from soft points, to first order."""
    if problem.boxed:
        from .compiled_shares import mass_change  # loads compiled code

        return mass_change(problem, state, step, shift)
    change = 0
    for soft in np.array_split(state.soft, 1 + len(state.soft) // _CHUNK):
        points, weights = problem.cloud.points[soft], problem.cloud.weights[soft]
        entries, temperatures = problem.entries(points, state.potentials), state.temperatures[soft]
        # shape (n_atoms, n_points of the part): p |x - y|**(p - 2) <y - x, step>
        rises = np.einsum("ij,ij->i", problem.atoms, step)[:, None] - step @ points.T
        rises *= problem.p
        if problem.p == 2:
            rises += np.einsum("ij,ij->i", step, step)[:, None]
        else:
            rises *= attraction(entries + state.potentials[:, None], problem.p)
        rises -= shift[:, None]
        change = change + drift(entries, rises, weights, temperatures)
    return change
