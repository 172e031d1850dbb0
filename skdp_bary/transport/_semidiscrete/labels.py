"""Cheapest atoms of all points, and boxes around the points of every atom."""

from dataclasses import dataclass

import numpy as np

from .._costs import pairwise_cost
from .boxes import RUN, assign, bound_all, build, count_pieces, cut_pieces
from .ranking import lower, rank

BOXED = 3  # most features in which boxes tell atoms apart
_ENTRIES = 2**15  # costs at a time where they do not, which stay near the processor


@dataclass(frozen=True)
class Cells:
    """Points by atom. An item is a point; boxes hold runs of items of one atom.

    Attributes
    ----------
    rows : ndarray of int32 of shape (n_points,)
        Point of every item.
    owners : ndarray of int32 of shape (n_points,)
        Atom of every item.
    firsts : ndarray of shape (n_atoms + 1,)
        Where the boxes of each atom start, and the end.
    starts : ndarray of int32 of shape (n_boxes,)
        First item of the run a box lies in; the items of other atoms there do not count.
    centers, widths : ndarrays of shape (n_boxes, n_features)
        Empty where `table` is not.
    table : ndarray of shape (n_boxes, n_atoms)
        Least extra cost of the items of a box at every atom.
    gap : ndarray of shape (n_atoms, n_atoms)
        Lower bounds of the extra cost of any item of one atom at another one.
    """

    rows: np.ndarray
    owners: np.ndarray
    firsts: np.ndarray
    starts: np.ndarray
    centers: np.ndarray
    widths: np.ndarray
    table: np.ndarray
    gap: np.ndarray


class BoxedPoints:
    """Points in few dimensions, in boxes that do not depend on atoms."""

    def __init__(self, points):
        self.points = points
        n_boxes, n_features = len(points) // (RUN - 4) + 32, points.shape[1]
        self.centers, self.widths = np.empty((2, n_boxes, n_features))
        self.ends = np.zeros(32, dtype=np.int64)
        self.levels = build(points, self.centers, self.widths, self.ends)

    def labels(self, atoms, potentials, p):
        """Return a cheapest atom of every point."""
        labels = np.empty(len(self.points), dtype=np.int32)
        boxes = self.centers, self.widths, self.ends, self.levels
        assign(self.points, *boxes, atoms, potentials, p, labels)
        return labels

    def cells(self, labels, atoms, p):
        """Return the Cells; their items are the points in order."""
        n_atoms, n_features = atoms.shape
        firsts = np.zeros(n_atoms + 1, dtype=np.int64)
        count_pieces(labels, firsts)
        firsts = np.cumsum(firsts)
        starts = np.empty(firsts[-1], dtype=np.int32)
        boxes = np.empty((firsts[-1], n_features)), np.empty((firsts[-1], n_features))
        runs = self.centers, self.widths
        cut_pieces(self.points, labels, firsts[:-1].copy(), starts, *runs, *boxes)
        gap = np.full((n_atoms, n_atoms), np.inf)
        bound_all(firsts, *boxes, atoms, p, gap)
        rows = np.arange(len(labels), dtype=np.int32)
        return Cells(rows, labels, firsts, starts, *boxes, np.empty((0, 0)), gap)


class LoosePoints:
    """Points in many dimensions, where matrix products are faster than boxes."""

    def __init__(self, points):
        self.points = points

    def rank(self, atoms, potentials, p):
        """Return a cheapest atom of every point, the next one, and how much dearer that is."""
        labels, others = np.empty((2, len(self.points)), dtype=np.int32)
        size = RUN * _runs_at_a_time(len(atoms))
        margins, room = np.empty(len(self.points)), np.empty(size)
        for start in range(0, len(labels), size):
            part = slice(start, start + size)
            costs = _costs(atoms, self.points[part], p)
            rank(costs, potentials, labels[part], others[part], room, margins[part])
        return labels, others, margins

    def labels(self, atoms, potentials, p):
        """Return a cheapest atom of every point."""
        return self.rank(atoms, potentials, p)[0]

    def cells(self, labels, atoms, p):
        """Return the Cells; their items are the points sorted by atom."""
        n_atoms = len(atoms)
        rows = np.argsort(labels.astype(np.min_scalar_type(n_atoms)), kind="stable")
        counts = np.bincount(labels, minlength=n_atoms)
        per_atom = -(-counts // RUN)
        firsts = np.append(0, np.cumsum(per_atom))
        within = np.arange(firsts[-1]) - np.repeat(firsts[:-1], per_atom)
        starts = RUN * within + np.repeat(np.cumsum(counts) - counts, per_atom)
        table, owners = np.empty((firsts[-1], n_atoms)), labels[rows]
        ends, step = np.append(starts[1:], len(rows)), _runs_at_a_time(n_atoms)
        room = np.empty(RUN * step)
        for low in range(0, len(starts), step):
            boxes = slice(low, low + step)
            here = slice(starts[low], ends[boxes][-1])
            costs = _costs(atoms, self.points[rows[here]], p)
            lower(costs, owners[here], ends[boxes] - starts[low], room, table[boxes])
        gap = np.full((n_atoms, n_atoms), np.inf)
        used = np.flatnonzero(per_atom)
        gap[used] = np.minimum.reduceat(table, firsts[used])
        nothing = np.empty((0, atoms.shape[1]))
        rows, starts = rows.astype(np.int32), starts.astype(np.int32)
        return Cells(rows, owners, firsts, starts, nothing, nothing, table, gap)


def _runs_at_a_time(n_atoms):
    return max(2, _ENTRIES // (RUN * n_atoms))


def _costs(atoms, points, p):
    """Return the costs of some points, those for p = 2 without the points' own squared norms."""
    if p != 2:
        return pairwise_cost(atoms, points, p)
    costs = (-2.0 * atoms) @ points.T
    costs += np.einsum("ij,ij->i", atoms, atoms)[:, None]
    return costs


def prepare(points):
    """Return points ready to be labelled."""
    points = np.require(points, dtype=np.float64, requirements=["C", "W"])
    return BoxedPoints(points) if points.shape[1] <= BOXED else LoosePoints(points)
