"""The loops of a kernel compiled by numba; imported only where they pay."""

import math

import numba
import numpy as np

from ._kernels import PLAIN, SOFT, PlainKernel

_NOTHING = 36.0  # temperatures; a share below exp(-36) changes no sum
_DENSE = 8  # atoms that share a point on average; with more matrix products are faster
_TRIED = 32  # points of a block that are looked at for that


def _compile(function):
    """Compile a function once, and keep the code where there is a folder to keep it in."""
    options = {"error_model": "numpy", "nogil": True}
    try:
        return numba.njit(function, cache=True, **options)
    except RuntimeError:
        return numba.njit(function, **options)


class CompiledKernel(PlainKernel):
    """One pass over a block; a soft point costs what the few atoms near it cost."""

    def cheapest(self, entries):
        """Return row of the minimum, minimum and second of every column."""
        n_points = entries.shape[1]
        winner, lowest = np.empty(n_points, dtype=np.intp), np.empty(n_points)
        second = np.empty(n_points)
        _cheapest(entries, winner, lowest, second)
        return winner, lowest, second

    def fold(self, total, block, atoms, entries, cloud, temperatures, p, potentials):
        """Add a block of points to the totals."""
        scalars = np.zeros(3)
        done = _fold(
            entries,
            atoms,
            cloud.points[block],
            cloud.weights[block],
            temperatures[block],
            (total.labels[block], total.cheapest[block], total.margins[block], total.hard[block]),
            total.masses,
            total.sums,
            total.hessian,
            scalars,
        )
        if not done:
            PLAIN.fold(total, block, atoms, entries, cloud, temperatures, p, potentials)
            return
        total.counts[:] = total.masses
        total.shared += scalars[0]
        total.blur += scalars[1]
        total.softness += scalars[2]

    def drift(self, entries, rises, weights, temperatures):
        """Return how the masses of soft points change, to first order."""
        return _drift(entries, rises, weights, temperatures)


@_compile
def _cheapest(entries, winner, lowest, second):
    lowest[:] = np.inf
    second[:] = np.inf
    winner[:] = 0
    for row in range(entries.shape[0]):
        for column in range(entries.shape[1]):
            value, least = entries[row, column], lowest[column]
            less = value < least
            loser = least if less else value
            second[column] = loser if loser < second[column] else second[column]
            lowest[column] = value if less else least
            winner[column] = row if less else winner[column]


@_compile
def _is_dense(entries, lowest, margins, temperatures):
    n_atoms, n_points = entries.shape
    step, seen, near = max(1, n_points // _TRIED), 0, 0
    for i in range(0, n_points, step):
        if margins[i] < SOFT * temperatures[i]:
            seen += 1
            for j in range(n_atoms):
                if entries[j, i] - lowest[i] < _NOTHING * temperatures[i]:
                    near += 1
    return near > _DENSE * seen


@_compile
def _share(entries, i, lowest, temperature, atoms, near, shares):
    """Write the atoms that share a point and their shares; return how many, and the divisor."""
    size, divisor = 0, 0.0
    for j in range(len(entries)):
        exponent = (entries[j, i] - lowest) / temperature
        if exponent < _NOTHING:
            near[size], shares[size] = atoms[j], math.exp(-exponent)
            divisor += shares[size]
            size += 1
    for a in range(size):
        shares[a] /= divisor
    return size, divisor


@_compile
def _add_point(point, weight, curvature, near, shares, masses, sums, hessian):
    """Add a point to the totals of the atoms that share it; return the sum of squared shares."""
    square = 0.0
    for a in range(len(near)):
        atom = near[a]
        square += shares[a] * shares[a]
        mass = weight * shares[a]
        masses[atom] += mass
        for axis in range(len(point)):
            sums[atom, axis] += mass * point[axis]
        hessian[atom, atom] += curvature * shares[a] * (1.0 - shares[a])
        for b in range(a):
            change = curvature * shares[a] * shares[b]
            hessian[atom, near[b]] -= change
            hessian[near[b], atom] -= change
    return square


@_compile
def _fold(entries, atoms, points, weights, temperatures, found, masses, sums, hessian, scalars):
    labels, lowest, margins, hard = found
    _cheapest(entries, labels, lowest, margins)
    margins -= lowest
    if _is_dense(entries, lowest, margins, temperatures):
        return False
    near, shares = np.empty(len(entries), np.intp), np.empty(len(entries))
    for i in range(len(points)):
        labels[i] = atoms[labels[i]]
        weight, temperature = weights[i], temperatures[i]
        if margins[i] >= SOFT * temperature:
            hard[i] = weight
            continue
        hard[i] = 0.0
        size, divisor = _share(entries, i, lowest[i], temperature, atoms, near, shares)
        mine = near[:size], shares[:size]
        curvature = weight / temperature
        square = _add_point(points[i], weight, curvature, *mine, masses, sums, hessian)
        mixed = weight * (1.0 - square)
        scalars[0] += mixed
        scalars[1] += mixed * temperature
        scalars[2] += weight * temperature * math.log(divisor)
    return True


@_compile
def _drift(entries, rises, weights, temperatures):
    n_atoms, n_points = entries.shape
    change = np.zeros(n_atoms)
    near, shares = np.empty(n_atoms, np.intp), np.empty(n_atoms)
    for i in range(n_points):
        least = entries[0, i]
        for j in range(1, n_atoms):
            if entries[j, i] < least:
                least = entries[j, i]
        size, divisor, mean = 0, 0.0, 0.0
        for j in range(n_atoms):
            exponent = (entries[j, i] - least) / temperatures[i]
            if exponent < _NOTHING:
                near[size], shares[size] = j, math.exp(-exponent)
                divisor += shares[size]
                mean += shares[size] * rises[j, i]
                size += 1
        mean /= divisor
        curvature = weights[i] / (temperatures[i] * divisor)
        for a in range(size):
            change[near[a]] -= curvature * shares[a] * (rises[near[a], i] - mean)
    return change
