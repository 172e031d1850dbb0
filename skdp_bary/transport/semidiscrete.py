"""Exact transport from many points to few atoms, with a certificate."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ..exceptions import check_real
from .costs import axis_of_line, is_kept, network_simplex, pairwise_cost, solve_line, sparse_cost
from .measures import DiscreteMeasure, TransportResult, check_measure, read_only
from .semidual import OrderedPoints, SemidualProblem, index_type, order_points
from .trees import ranges

# Exact optimal transport from many points to few atoms.

_WIDE = 2  # features an atom from which transport takes place on the flat through the atoms


def solve_semidiscrete(
    measure: DiscreteMeasure, atoms: DiscreteMeasure, *, p: float = 2
) -> TransportResult:
    """Transport a measure to a few atoms at least cost, with a proof of optimality.

    Parameters
    ----------
    measure : DiscreteMeasure
        The points. Masses are normalized to one.
    atoms : DiscreteMeasure
        Where they go; meant for far fewer atoms than points. Masses are normalized to one.
    p : float, default=2
        The cost of a unit of mass is the distance to the power `p`, at least one.

    Returns
    -------
    TransportResult

    Warns
    -----
    ConvergenceWarning
        If cost and dual differ by more than 1e-9 of the cost, after every fallback: the plan is
        not proven optimal, but ``gap`` still bounds what it loses.

    Examples
    --------
    >>> from skdp_bary.transport import DiscreteMeasure, solve_semidiscrete
    >>> points = DiscreteMeasure([[0.0], [1.0], [2.0], [3.0]])
    >>> float(solve_semidiscrete(points, DiscreteMeasure([[0.0], [3.0]])).cost)
    0.5
    """
    check_measure(measure, "measure")
    check_measure(atoms, "atoms")
    p = check_real(p, "p", low=1)
    if measure.n_features != atoms.n_features:
        raise ValueError(
            "measure and atoms must have the same number of features, "
            f"got {measure.n_features} and {atoms.n_features}."
        )
    wide = p == 2 and measure.n_features >= _WIDE * atoms.n_points
    frame = FlatFrame.of(atoms.support) if wide else UnitFrame.of(measure.support)
    prepared = Prepared.of(measure, frame)
    problem, columns = prepared.problem(atoms, p)
    return prepared.result(atoms, columns, p, solve_problem(problem))


# Measures in the unit frame, and plans back in the original space.

_CHUNK = 128  # wide points at a time
_FLAT = 1e-15  # of the longest direction of the atoms; less is rounding


@dataclass(frozen=True)
class UnitFrame:
    """Shift and scale that bring points near the unit cube, where rounding is known."""

    center: np.ndarray
    scale: float

    @classmethod
    def of(cls, points):
        """Return the frame of some points."""
        center = points.mean(axis=0)
        scale = float(max(*(points.max(axis=0) - center), *(center - points.min(axis=0))))
        return cls(center, scale if scale > 0 else 1.0)

    def inward(self, points):
        """Return the points in the frame."""
        found = points - self.center
        found /= self.scale
        return found

    def outward(self, points):
        """Return points of the frame in the original space."""
        return points * self.scale + self.center


@dataclass(frozen=True)
class FlatFrame:
    """The flat through some atoms, for wide points and p = 2.

    How far a point is from the flat adds the same to its cost at every atom, so it changes no plan.
    """

    center: np.ndarray | None
    scale: float
    basis: np.ndarray

    @classmethod
    def of(cls, atoms):
        """Return the frame of the flat through the atoms."""
        center = atoms.mean(axis=0)
        away = atoms - center
        _, lengths, directions = np.linalg.svd(away, full_matrices=False)
        needed = max(1, np.count_nonzero(lengths > _FLAT * lengths[0]))
        scale = float(np.linalg.norm(away, axis=1).max())
        if np.linalg.norm(center) <= scale:  # nothing cancels, so points need not be shifted
            center = None
        return cls(center, scale if scale > 0 else 1.0, np.ascontiguousarray(directions[:needed].T))

    def inward(self, points):
        """Return the points' feet on the flat, in coordinates of it."""
        found = np.empty((len(points), self.basis.shape[1]))
        room = np.empty((_CHUNK, points.shape[1]))
        for start in range(0, len(points), _CHUNK):
            part = slice(start, start + _CHUNK)
            away = points[part]
            if self.center is not None:
                away = np.subtract(away, self.center, out=room[: len(away)])
            found[part] = (self.basis.T @ away.T).T  # takes less time this way round
        found /= self.scale
        return found


@dataclass(frozen=True)
class Prepared:
    """A measure in a frame: distinct points of positive mass, in order, and the way back."""

    measure: DiscreteMeasure
    frame: UnitFrame | FlatFrame
    rows: np.ndarray
    cloud: OrderedPoints
    inverse: np.ndarray

    @classmethod
    def of(cls, measure, frame):
        """Drop points of zero mass, merge equal ones and put them in order."""
        rows = np.flatnonzero(measure.weights > 0).astype(index_type(measure.n_points))
        whole = len(rows) == measure.n_points
        points, inward = measure.support if whole else measure.support[rows], frame.inward
        if isinstance(frame, FlatFrame):  # whose points are small
            points, inward = inward(points), np.asarray
        cloud, inverse = order_points(points, measure.weights[rows], inward)
        return cls(measure, frame, rows, cloud, inverse)

    def problem(self, atoms, p):
        """Return the SemidualProblem against the atoms of positive mass, and which those are."""
        columns = np.flatnonzero(atoms.weights > 0)
        target = atoms.weights[columns] / atoms.weights[columns].sum()
        support = self.frame.inward(atoms.support[columns])
        return SemidualProblem(self.cloud, support, target, p), columns

    def result(self, atoms, columns, p, solution):
        """Return an exact Assignment as a TransportResult, for all points and atoms given."""
        weights, shape = self.measure.weights, (self.measure.n_points, atoms.n_points)
        plan = _expand(solution, weights, self.inverse, self.rows, columns, shape)
        support, scale = self.measure.support, self.frame.scale**p
        masses, sums = np.bincount(plan.indices, plan.data, shape[1]), plan.T @ support
        used = masses > 0
        means = sums / np.where(used, masses, 1.0)[:, None]
        everywhere = np.empty(atoms.n_points)
        everywhere[columns] = solution.potentials * scale
        empty = np.setdiff1d(np.arange(atoms.n_points), columns)
        if empty.size:  # the largest potential that attracts no point
            everywhere[empty] = np.inf
            for some in np.array_split(self.rows, 1 + len(self.rows) // 20_000):
                part = support[some]
                least = pairwise_cost(atoms.support[columns], part, p) - everywhere[columns, None]
                free = pairwise_cost(atoms.support[empty], part, p) - least.min(axis=0)
                everywhere[empty] = np.minimum(everywhere[empty], free.min(axis=1))
        cost, dual = sparse_cost(support, atoms.support, plan, p), solution.dual * scale
        if isinstance(self.frame, FlatFrame):  # what cost and dual lack there is the same
            dual = cost - (solution.cost - solution.dual) * scale
        return TransportResult(
            cost=cost,
            dual=dual,
            plan=plan,
            potentials=read_only(everywhere),
            masses=read_only(masses),
            projections=read_only(np.where(used[:, None], means, atoms.support)),
        )


def _expand(solution, weights, inverse, rows, columns, shape):
    """Return the plan of the points as given; equal points fill the atoms one after another."""
    position = np.full(len(solution.labels), -1, dtype=inverse.dtype)
    position[solution.split] = np.arange(len(solution.split))
    group = position[inverse]
    shared = np.flatnonzero(group >= 0)
    point, atom, mass = _pieces(solution, weights[rows[shared]], group, shared)
    kind = index_type(len(rows) + len(point))
    counts = np.bincount(point, minlength=len(shared))
    ends = np.zeros(shape[0] + 1, dtype=kind)
    ends[1:][rows] = 1
    ends[1:][rows[shared]] = counts
    np.cumsum(ends, out=ends)
    data, indices = np.empty(ends[-1]), np.empty(ends[-1], dtype=kind)
    whole = np.ones(ends[-1], dtype=bool)
    order = np.argsort(point, kind="stable")
    place = ranges(ends[rows[shared]], counts)
    whole[place] = False
    data[place], indices[place] = mass[order], columns[atom[order]]
    alone = group < 0
    data[whole] = weights[rows[alone]]
    data /= data.sum()
    indices[whole] = columns.astype(kind)[solution.labels[inverse[alone]]]
    return sparse.csr_array((data, indices, ends), shape=shape)


def _pieces(solution, weights, group, shared):
    """Return place, atom and mass of every piece of the points that several atoms share.

    `weights` are those of the shared points, and a place says which of them.
    """
    group = group[shared]
    members = np.bincount(group, minlength=len(solution.split))
    single = np.flatnonzero(members[group] == 1)
    atom, point = np.nonzero(solution.shares[:, group[single]])
    mass = weights[single[point]] * solution.shares[atom, group[single[point]]]
    pieces = [(single[point], atom, mass)]
    for split in np.flatnonzero(members > 1):
        equal = np.flatnonzero(group == split)
        atoms = np.flatnonzero(solution.shares[:, split])
        point, atom, mass = fill_in_order(weights[equal], solution.shares[atoms, split])
        pieces.append((equal[point], atoms[atom], mass))
    return tuple(np.concatenate(part) for part in zip(*pieces, strict=True))


# Exact solution of a semi-dual problem, by the engine or by POT, with a proof.

_TINY = 100_000  # points times atoms: POT needs a small part of what loading compiled code takes
_SMALL = 2_000_000  # and less than it takes to compile
# points an atom, up to which the engine takes a hundred times as long as POT, at 1,000 points and
# 500 atoms; entries of a table for POT: memory
_FEW_POINTS, _MOST = 8, 8_000_000


def solve_problem(problem, potentials=None):
    """Return the exact Assignment of a SemidualProblem, by ever more careful means."""
    # Equal atoms are transported to as one, and told apart afterwards.
    atoms, first, group = np.unique(problem.atoms, axis=0, return_index=True, return_inverse=True)
    group, merged = group.ravel(), problem
    twins = len(atoms) < len(problem.atoms)
    if twins:
        merged = replace(problem, atoms=atoms, target=np.bincount(group, problem.target))
        potentials = None if potentials is None else potentials[first]
    for found in _attempts(merged, potentials):
        if found.proven:
            break
    else:
        warnings.warn(
            "optimal transport was not solved to a proven optimum: "
            f"cost {found.cost}, dual {found.dual} (in the unit frame of the points).",
            ConvergenceWarning,
            stacklevel=3,
        )
    return divide(found, problem.cloud.weights, problem.target, group) if twins else found


def _attempts(problem, potentials):
    """Yield assignments: on a line, by the engine, warm and cold, and by network simplex."""
    axis = axis_of_line(problem)
    if axis is not None:
        yield solve_line(problem, axis)
    n_points, n_atoms = len(problem.cloud.points), len(problem.target)
    size, few = n_points * n_atoms, n_points <= _FEW_POINTS * n_atoms
    compiled = f"{__package__}.compiled_search" in sys.modules or is_kept(
        Path(__file__).with_name("compiled_search.py"), "balance"
    )
    small = size <= (_MOST if few else _TINY if compiled else _SMALL)
    if small:
        yield network_simplex(problem)
    from .balance import solve_levels  # loads compiled code

    if potentials is not None:
        yield solve_levels(problem, potentials)
    yield solve_levels(problem, None)
    if not small:
        yield network_simplex(problem)


def divide(solution, weights, target, group):
    """Return the Assignment to all atoms from one to groups of equal atoms.

    Parameters
    ----------
    solution : Assignment
    weights : ndarray of shape (n_points,)
    target : ndarray of shape (n_atoms,)
    group : ndarray of shape (n_atoms,)
        Atom of `solution` that represents each atom.
    """
    received = np.ones(len(weights))
    received[solution.split] = 0.0
    held = sparse.csc_array(
        (received * weights, (np.arange(len(weights)), solution.labels)),
        shape=(len(weights), len(solution.potentials)),
    )
    shared = sparse.coo_array(solution.shares * weights[solution.split])
    rows = solution.split[shared.coords[1]]
    held = held + sparse.csc_array((shared.data, (rows, shared.coords[0])), shape=held.shape)
    held.eliminate_zeros()
    points, atoms, masses = [], [], []
    for place in np.flatnonzero(np.diff(held.indptr)):  # the least masses may receive nothing
        members = np.flatnonzero(group == place)
        mine = slice(held.indptr[place], held.indptr[place + 1])
        point, atom, mass = fill_in_order(held.data[mine], target[members])
        points.append(held.indices[mine][point])
        atoms.append(members[atom])
        masses.append(mass)
    plan = sparse.csr_array(
        (np.concatenate(masses), (np.concatenate(points), np.concatenate(atoms))),
        shape=(len(weights), len(target)),
    )
    split = np.flatnonzero(np.diff(plan.indptr) > 1)
    shares = plan[split].toarray().T
    member = np.empty(len(solution.potentials), dtype=np.intp)
    member[group] = np.arange(len(group))
    labels = member[solution.labels]  # stays where a point is too light to be in the plan
    held = np.flatnonzero(np.diff(plan.indptr))
    labels[held] = plan.indices[plan.indptr[held]]
    return replace(
        solution,
        potentials=solution.potentials[group],
        labels=labels.astype(np.intp),
        split=split,
        shares=shares / shares.sum(axis=0),
    )


def fill_in_order(masses, capacities):
    """Hand masses out in order to receivers in order, splitting where a receiver is full.

    Returns
    -------
    giver, receiver : ndarrays of int
    mass : ndarray
        What each piece weighs; at most ``len(masses) + len(capacities) - 1`` pieces.
    """
    ends = np.cumsum(masses)
    bounds = np.cumsum(capacities) * (ends[-1] / capacities.sum())
    cuts = np.union1d(ends, bounds[:-1])
    middles = (np.append(0.0, cuts[:-1]) + cuts) / 2
    giver = np.minimum(np.searchsorted(ends, middles), len(ends) - 1)
    receiver = np.minimum(np.searchsorted(bounds, middles), len(bounds) - 1)
    return giver, receiver, np.diff(cuts, prepend=0.0)
