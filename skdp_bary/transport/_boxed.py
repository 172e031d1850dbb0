"""The smoothed semi-dual for p = 2 in few dimensions, by boxes around runs of points.

Every point is compared with the few atoms near its run, so that time hardly grows with the number
of atoms. Loads compiled code; imported only where it pays.
"""

import numpy as np

from ._kernels import SOFT, Totals
from ._semidiscrete.labels import BoxedPoints
from ._semidiscrete.sharing import drift, fold, near_runs, rank, reach_of_boxes


class Nearby:
    """The atoms near every run of points.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        Along the curve.
    atoms : ndarray of shape (n_atoms, n_features)
    potentials : ndarray of shape (n_atoms,)
    ranges : ndarray of shape (n_points,) or None
        How much dearer than the cheapest an atom may be; ``None`` finds the two cheapest atoms.
    """

    def __init__(self, points, atoms, potentials, ranges):
        boxed = BoxedPoints(points)
        reach = np.full(len(boxed.centers), -1.0)
        if ranges is not None:
            reach_of_boxes(ranges, boxed.ends, boxed.levels, reach)
        boxes = boxed.centers, boxed.widths, boxed.ends, boxed.levels
        self.points, self.atoms = boxed.points, np.ascontiguousarray(atoms)
        self.potentials = np.ascontiguousarray(potentials)
        self.ends = np.empty(boxed.ends[1], dtype=np.int64)
        self.near = near_runs(*boxes, self.atoms, self.potentials, reach, self.ends)

    @property
    def asked(self):
        """What every compiled loop over the points takes."""
        return self.atoms, self.potentials, self.near, self.ends


def two_cheapest(points, atoms, potentials):
    """Return label, cost less potential, and how much dearer the next atom is, of every point."""
    labels = np.empty(len(points), dtype=np.intp)
    lowest, margins = np.empty((2, len(points)))
    nearby = Nearby(points, atoms, potentials, None)
    rank(nearby.points, *nearby.asked, labels, lowest, margins)
    return labels, lowest, margins


def totals(problem, potentials, temperatures):
    """Return the Totals of all points of a SemidualProblem."""
    cloud = problem.cloud
    total = Totals.empty(len(cloud.points), len(problem.target), cloud.points.shape[1])
    nearby = Nearby(cloud.points, problem.atoms, potentials, SOFT * temperatures)
    scalars = np.zeros(3)
    points = nearby.points, cloud.weights, temperatures, SOFT
    each = total.labels, total.cheapest, total.margins, total.hard
    fold(*points, *nearby.asked, *each, total.masses, total.sums, total.hessian, scalars)
    total.cheapest -= np.einsum("ij,ij->i", cloud.points, cloud.points)
    total.counts[:] = total.masses
    total.shared, total.blur, total.softness = scalars.tolist()
    return total


def mass_change(problem, state, step, shift):
    """Return how the masses received from soft points change, to first order.

    Parameters
    ----------
    problem : SemidualProblem
    state : Smoothed
    step : ndarray of shape (n_atoms, n_features)
        How the atoms move.
    shift : ndarray of shape (n_atoms,)
        How the potentials change.
    """
    cloud, change = problem.cloud, np.zeros(len(problem.target))
    ranges = SOFT * state.temperatures
    nearby = Nearby(cloud.points, problem.atoms, state.potentials, ranges)
    hard = (state.margins >= ranges).astype(float)
    points = nearby.points, cloud.weights, state.temperatures, hard, SOFT
    atoms, potentials, *lists = nearby.asked
    drift(*points, atoms, potentials, np.ascontiguousarray(step), shift, *lists, change)
    return change
