"""Measures in the unit frame, and plans back in the original space."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._costs import pairwise_cost, sparse_cost
from .._measures import DiscreteMeasure, read_only
from .._points import OrderedPoints, index_type, order_points
from .._result import TransportResult
from .._semidual import SemidualProblem
from .coincident import fill_in_order

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
        _extend_potentials(everywhere, columns, support, self.rows, atoms.support, p)
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
    place = _ranges(ends[rows[shared]], counts)
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


def _ranges(starts, lengths):
    """Return the integers of several ranges, one range after another."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


def _extend_potentials(potentials, columns, points, rows, atoms, p):
    """Give atoms of zero mass the largest potential that attracts no point."""
    empty = np.setdiff1d(np.arange(len(potentials)), columns)
    if not empty.size:
        return
    largest = np.full(len(empty), np.inf)
    for some in np.array_split(rows, 1 + len(rows) // 20_000):
        part = points[some]
        least = (pairwise_cost(atoms[columns], part, p) - potentials[columns, None]).min(axis=0)
        largest = np.minimum(largest, (pairwise_cost(atoms[empty], part, p) - least).min(axis=1))
    potentials[empty] = largest
