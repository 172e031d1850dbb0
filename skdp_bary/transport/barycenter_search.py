"""The search for the atoms of a barycenter, from coarse samples to all points."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from .costs import attraction, chosen_cost, paired_cost, pairwise_cost
from .semidiscrete import solve_problem
from .semidual import SemidualProblem, approach, settle

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
        change = change + problem.kernel.drift(entries, rises, weights, temperatures)
    return change
