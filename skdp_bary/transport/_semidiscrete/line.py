"""Exact transport on a line, where points and atoms are matched in order.

For any power of at least one the order of the points is the order of the atoms they go to. Where
the mass of one atom ends and that of the next begins, a point is as cheap at either, which gives
the potentials one after another.
"""

import numpy as np

from .certificate import certify, to_units


def axis_of_line(problem):
    """Return the only axis along which points and atoms differ, or None."""
    points, atoms = problem.cloud.points, problem.atoms
    if np.count_nonzero(np.ptp(atoms, axis=0)) > 1:  # seen without a look at the points
        return None
    low = np.minimum(points.min(axis=0), atoms.min(axis=0))
    high = np.maximum(points.max(axis=0), atoms.max(axis=0))
    axes = np.flatnonzero(high > low)
    return int(axes.max(initial=0)) if len(axes) <= 1 else None


def solve_line(problem, axis):
    """Return the Assignment of a problem whose points and atoms lie on a line."""
    points, atoms = problem.cloud.points[:, axis], problem.atoms[:, axis]
    order, ranks = np.argsort(points, kind="stable"), np.argsort(atoms, kind="stable")
    units = to_units(problem.cloud.weights)[order]
    ends, bounds = np.cumsum(units), np.cumsum(to_units(problem.target)[ranks])
    last = np.searchsorted(bounds, ends)
    first = np.minimum(np.searchsorted(bounds, ends - units, side="right"), last)
    labels = np.empty(len(order), dtype=np.int32)
    labels[order] = ranks[first]
    several = np.flatnonzero(first < last)
    shares = _shares(ends[several], units[several], bounds)
    border = points[order[np.searchsorted(ends, bounds[:-1])]]
    sorted_atoms, potentials = atoms[ranks], np.zeros(len(atoms))
    potentials[ranks[1:]] = np.cumsum(_rises(border, sorted_atoms, problem.p))
    return certify(problem, potentials, labels, order[several], shares[np.argsort(ranks)])


def _shares(ends, units, bounds):
    """Return the fractions of points, which end there, at atoms in order, which do as well."""
    before = np.append(0, bounds[:-1])
    high = np.minimum(ends, bounds[:, None])
    low = np.maximum(ends - units, before[:, None])
    return np.maximum(high - low, 0) / units


def _rises(points, atoms, p):
    """Return what the next atom costs each border point more, without cancellation for p = 2."""
    nearer, farther = atoms[:-1], atoms[1:]
    if p == 2:
        return (farther - nearer) * (farther + nearer - 2.0 * points)
    return np.abs(farther - points) ** p - np.abs(nearer - points) ** p
