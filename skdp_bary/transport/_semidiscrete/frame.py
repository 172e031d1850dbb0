"""Measures in the unit frame, and plans back in the original space."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._costs import chosen_cost, pairwise_cost
from .._measures import DiscreteMeasure, read_only
from .._points import OrderedPoints, order_points
from .._result import TransportResult
from .._semidual import SemidualProblem
from .coincident import fill_in_order

_CHUNK = 64  # wide points at a time
_FLAT = 1e-15  # of the longest direction of the atoms; less is rounding


@dataclass(frozen=True)
class Frame:
    """Shift and scale that bring points near the unit cube, where rounding is known."""

    center: np.ndarray
    scale: float

    @classmethod
    def of(cls, points):
        """Return the frame of some points."""
        center = points.mean(axis=0)
        scale = float(np.abs(points - center).max())
        return cls(center, scale if scale > 0 else 1.0)

    def inward(self, points):
        """Return the points in the frame."""
        return (points - self.center) / self.scale

    def outward(self, points):
        """Return points of the frame in the original space."""
        return points * self.scale + self.center


@dataclass(frozen=True)
class FlatFrame:
    """The flat through some atoms, for wide points and p = 2.

    How far a point is from the flat adds the same to its cost at every atom, so it changes no plan.
    """

    center: np.ndarray
    scale: float
    basis: np.ndarray

    @classmethod
    def of(cls, points, atoms):
        """Return the frame of the flat through the atoms; the points say how large it is."""
        center = atoms.mean(axis=0)
        _, lengths, directions = np.linalg.svd(atoms - center, full_matrices=False)
        needed = max(1, np.count_nonzero(lengths > _FLAT * lengths[0]))
        scale = _farthest(points, center)
        return cls(center, scale if scale > 0 else 1.0, np.ascontiguousarray(directions[:needed].T))

    def inward(self, points):
        """Return the points' feet on the flat, in coordinates of it."""
        found = np.empty((len(points), self.basis.shape[1]))
        for start in range(0, len(points), _CHUNK):
            part = slice(start, start + _CHUNK)
            found[part] = (points[part] - self.center) @ self.basis
        found /= self.scale
        return found


def _farthest(points, center):
    """Return the largest distance from the center."""
    largest = 0.0
    for start in range(0, len(points), _CHUNK):
        away = points[start : start + _CHUNK] - center
        largest = max(largest, float(np.einsum("ij,ij->i", away, away).max()))
    return largest**0.5


@dataclass(frozen=True)
class Prepared:
    """A measure in a frame: distinct points of positive mass, in order, and the way back."""

    measure: DiscreteMeasure
    frame: Frame | FlatFrame
    rows: np.ndarray
    cloud: OrderedPoints
    inverse: np.ndarray

    @classmethod
    def of(cls, measure, frame):
        """Drop points of zero mass, merge equal ones and put them in order."""
        rows = np.flatnonzero(measure.weights > 0)
        whole = len(rows) == measure.n_points
        points = frame.inward(measure.support if whole else measure.support[rows])
        cloud, inverse = order_points(points, measure.weights[rows])
        return cls(measure, frame, rows, cloud, inverse)

    def problem(self, atoms, p):
        """Return the SemidualProblem against the atoms of positive mass, and which those are."""
        columns = np.flatnonzero(atoms.weights > 0)
        target = atoms.weights[columns] / atoms.weights[columns].sum()
        support = self.frame.inward(atoms.support[columns])
        return SemidualProblem(self.cloud, support, target, p), columns

    def result(self, atoms, columns, p, solution):
        """Return an exact Assignment as a TransportResult, for all points and atoms given."""
        weights = self.measure.weights[self.rows] / self.measure.weights[self.rows].sum()
        shape = (self.measure.n_points, atoms.n_points)
        plan = _expand(solution, weights, self.inverse, self.rows, columns, shape)
        support, scale = self.measure.support, self.frame.scale**p
        masses, sums = plan.sum(axis=0), plan.T @ support
        used = masses > 0
        means = sums / np.where(used, masses, 1.0)[:, None]
        everywhere = np.empty(atoms.n_points)
        everywhere[columns] = solution.potentials * scale
        _extend_potentials(everywhere, columns, support, self.rows, atoms.support, p)
        entries = plan.tocoo()
        costs = chosen_cost(support, entries.coords[0], atoms.support, entries.coords[1], p)
        cost, dual = float(entries.data @ costs), solution.dual * scale
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
    position = np.full(len(solution.labels), -1)
    position[solution.split] = np.arange(len(solution.split))
    group = position[inverse]
    whole, shared = np.flatnonzero(group < 0), np.flatnonzero(group >= 0)
    entries = [(rows[whole], columns[solution.labels[inverse[whole]]], weights[whole])]
    members = np.bincount(group[shared], minlength=len(solution.split))
    single = shared[members[group[shared]] == 1]
    atom, point = np.nonzero(solution.shares[:, group[single]])
    mass = weights[single[point]] * solution.shares[atom, group[single[point]]]
    entries.append((rows[single[point]], columns[atom], mass))
    for split in np.flatnonzero(members > 1):
        equal = shared[group[shared] == split]
        atoms = np.flatnonzero(solution.shares[:, split])
        point, atom, mass = fill_in_order(weights[equal], solution.shares[atoms, split])
        entries.append((rows[equal[point]], columns[atoms[atom]], mass))
    row, column, mass = (np.concatenate(part) for part in zip(*entries, strict=True))
    return sparse.csr_array((mass, (row, column)), shape=shape)


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
