"""Compiled: smoothed totals, for p = 2 by boxes in few dimensions, else point by point."""

import math

import numba
import numpy as np

from .compiled_boxes import FAN, RUN, BoxedPoints, compiled, cost_of, inlined, least_extra
from .costs import PLAIN, SOFT, PlainKernel, Totals

# Compiled: points shared among the atoms near them, for p = 2 in few dimensions.

_SLACK = 1e-13  # of costs in the unit frame; above rounding


@compiled("void(f8[::1], i8[::1], i8, f8[::1])")
def reach_of_boxes(ranges, firsts, levels, reach):
    """Write the largest range of the points of every box."""
    n = len(ranges)
    for b in range(firsts[1]):
        reach[b] = 0.0
        for i in range(b * RUN, min((b + 1) * RUN, n)):
            reach[b] = max(reach[b], ranges[i])
    for level in range(1, levels):
        below, here = firsts[level - 1], firsts[level]
        for b in range(here, firsts[level + 1]):
            reach[b] = 0.0
            for c in range(below + (b - here) * FAN, min(below + (b - here + 1) * FAN, here)):
                reach[b] = max(reach[b], reach[c])


@inlined
def near_box(centers, widths, b, atoms, potentials, reach, tried, n_tried, kept):
    """Keep the atoms that may come within reach of the cheapest one in a box; return how many.

    Reach below zero is as far as the second cheapest atom may be.
    """
    best, second, least, next_least = tried[0], -1, math.inf, math.inf
    for t in range(n_tried):
        value = cost_of(centers, b, atoms, tried[t], 2.0) - potentials[tried[t]]
        if value < least:
            second, next_least = best, least
            best, least = tried[t], value
        elif value < next_least:
            second, next_least = tried[t], value
    limit = reach[b]
    if limit < 0.0:
        limit = math.inf
        if n_tried > 1:
            limit = potentials[best] - potentials[second]
            limit -= least_extra(centers, widths, b, atoms, second, best, 2.0)
    n_kept = 0
    for t in range(n_tried):
        k = tried[t]
        beyond = least_extra(centers, widths, b, atoms, best, k, 2.0)
        if k == best or beyond - potentials[k] + potentials[best] <= limit + _SLACK:
            kept[n_kept] = k
            n_kept += 1
    return n_kept


@compiled("i4[::1](f8[:,::1], f8[:,::1], i8[::1], i8, f8[:,::1], f8[::1], f8[::1], i8[::1])")
def near_runs(centers, widths, firsts, levels, atoms, potentials, reach, ends):
    """Return the atoms near every run, one run after another; `ends` receives where each ends."""
    m = len(atoms)
    kept, n_kept = np.empty((levels + 1, m), np.int32), np.empty(levels + 1, np.int64)
    kept[levels] = np.arange(m)
    n_kept[levels] = m
    found, n_found = np.empty(16 * firsts[1] + m, np.int32), 0
    for b in range(firsts[1]):
        step = FAN ** (levels - 1)
        for level in range(levels - 1, -1, -1):
            if b % step == 0:
                box, tried, n_tried = firsts[level] + b // step, kept[level + 1], n_kept[level + 1]
                n_kept[level] = near_box(
                    centers, widths, box, atoms, potentials, reach, tried, n_tried, kept[level]
                )
            step //= FAN
        if n_found + n_kept[0] > len(found):
            more = np.empty(2 * len(found), np.int32)
            more[:n_found] = found[:n_found]
            found = more
        found[n_found : n_found + n_kept[0]] = kept[0, : n_kept[0]]
        n_found += n_kept[0]
        ends[b] = n_found
    return found[:n_found].copy()


@inlined
def values_at(points, i, atoms, potentials, near, values):
    """Write cost less potential of a point at some atoms; return the least, second and where."""
    place, least, second = 0, math.inf, math.inf
    for t in range(len(near)):
        value = cost_of(points, i, atoms, near[t], 2.0) - potentials[near[t]]
        values[t] = value
        if value < least:
            place, least, second = t, value, least
        else:
            second = min(second, value)
    return place, least, second


@compiled("void(f8[:,::1], f8[:,::1], f8[::1], i4[::1], i8[::1], i8[::1], f8[::1], f8[::1])")
def rank_near(points, atoms, potentials, near, ends, labels, lowest, margins):
    """Write cheapest atom, its cost less potential, and how much dearer the next one is."""
    values, first = np.empty(len(atoms)), 0
    for b in range(len(ends)):
        mine = near[first : ends[b]]
        first = ends[b]
        for i in range(b * RUN, min((b + 1) * RUN, len(points))):
            place, least, second = values_at(points, i, atoms, potentials, mine, values)
            labels[i], lowest[i], margins[i] = mine[place], least, second - least


@inlined
def share_of(values, n_near, least, temperature, soft, near, who, shares):
    """Write who shares a point and how much each gets; return how many and the divisor."""
    size, divisor = 0, 0.0
    for t in range(n_near):
        exponent = (values[t] - least) / temperature
        if exponent < soft:
            who[size], shares[size] = near[t], math.exp(-exponent)
            divisor += shares[size]
            size += 1
    for a in range(size):
        shares[a] /= divisor
    return size, divisor


@inlined
def add_point(points, i, size, who, shares, weight, temperature, masses, sums, hessian):
    """Add what a point gives to the atoms that share it; return the sum of its squared shares."""
    square, curvature = 0.0, weight / temperature
    for a in range(size):
        mass = weight * shares[a]
        square += shares[a] * shares[a]
        masses[who[a]] += mass
        for axis in range(points.shape[1]):
            sums[who[a], axis] += mass * points[i, axis]
        hessian[who[a], who[a]] += curvature * shares[a] * (1.0 - shares[a])
        for other in range(a):  # lists ascend, so this is below the diagonal
            hessian[who[a], who[other]] -= curvature * shares[a] * shares[other]
    return square


@compiled(
    "void(f8[:,::1], f8[::1], f8[::1], f8, f8[:,::1], f8[::1], i4[::1], i8[::1],"
    "i8[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[:,::1], f8[:,::1], f8[::1])"
)
def fold(
    points,
    weights,
    temperatures,
    soft,
    atoms,
    potentials,
    near,
    ends,
    labels,
    lowest,
    margins,
    hard,
    masses,
    sums,
    hessian,
    scalars,
):
    """Add up what all points give: to atoms, to the Hessian, and to what is shared in all."""
    m, first = len(atoms), 0
    values, shares, who = np.empty(m), np.empty(m), np.empty(m, np.int32)
    for b in range(len(ends)):
        mine = near[first : ends[b]]
        first = ends[b]
        for i in range(b * RUN, min((b + 1) * RUN, len(points))):
            place, least, second = values_at(points, i, atoms, potentials, mine, values)
            labels[i], lowest[i], margins[i] = mine[place], least, second - least
            weight, temperature = weights[i], temperatures[i]
            if second - least >= soft * temperature:
                hard[i] = weight
                continue
            hard[i] = 0.0
            size, divisor = share_of(values, len(mine), least, temperature, soft, mine, who, shares)
            square = add_point(
                points, i, size, who, shares, weight, temperature, masses, sums, hessian
            )
            mixed = weight * (1.0 - square)
            scalars[0] += mixed
            scalars[1] += mixed * temperature
            scalars[2] += weight * temperature * math.log(divisor)


@compiled(
    "void(f8[:,::1], f8[::1], f8[::1], f8[::1], f8, f8[:,::1], f8[::1], f8[:,::1], f8[::1],"
    "i4[::1], i8[::1], f8[::1])"
)
def drift(
    points, weights, temperatures, hard, soft, atoms, potentials, step, shift, near, ends, change
):
    """Add up how the masses of soft points change, to first order, as atoms move by `step`."""
    m, first = len(atoms), 0
    values, shares, rises = np.empty(m), np.empty(m), np.empty(m)
    who = np.empty(m, np.int32)
    for b in range(len(ends)):
        mine = near[first : ends[b]]
        first = ends[b]
        for i in range(b * RUN, min((b + 1) * RUN, len(points))):
            if hard[i] > 0.0:
                continue
            _, least, _ = values_at(points, i, atoms, potentials, mine, values)
            size, _ = share_of(values, len(mine), least, temperatures[i], soft, mine, who, shares)
            mean = 0.0
            for a in range(size):
                k, rise = who[a], 0.0
                for axis in range(points.shape[1]):
                    away = atoms[k, axis] - points[i, axis]
                    rise += step[k, axis] * (2.0 * away + step[k, axis])
                rises[a] = rise - shift[k]
                mean += shares[a] * rises[a]
            for a in range(size):
                pulled = shares[a] * (rises[a] - mean)
                change[who[a]] -= weights[i] / temperatures[i] * pulled


# The smoothed semi-dual for p = 2 in few dimensions, by boxes around runs of points.


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
    rank_near(nearby.points, *nearby.asked, labels, lowest, margins)
    return labels, lowest, margins


def totals(problem, potentials, temperatures):
    """Return the Totals of all points of a SemidualProblem."""
    cloud = problem.cloud
    total = Totals(len(cloud.points), len(problem.target), cloud.points.shape[1])
    nearby = Nearby(cloud.points, problem.atoms, potentials, SOFT * temperatures)
    scalars = np.zeros(3)
    points = nearby.points, cloud.weights, temperatures, SOFT
    each = total.labels, total.cheapest, total.margins, total.hard
    fold(*points, *nearby.asked, *each, total.masses, total.sums, total.hessian, scalars)
    total.mirror()
    total.cheapest -= np.einsum("ij,ij->i", cloud.points, cloud.points)
    total.counts[:] = total.masses
    total.shared, total.blur, total.softness = scalars.tolist()
    return total


def mass_change(problem, state, step, shift):
    """Changes of the masses received from soft points, to first order.

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


# The loops of a kernel compiled by numba; imported only where they pay.

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
        """Changes of the masses of soft points, to first order."""
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
        costs = entries[:, i]
        size, divisor = share_of(
            costs, len(costs), lowest[i], temperature, _NOTHING, atoms, near, shares
        )
        square = add_point(
            points, i, size, near, shares, weight, temperature, masses, sums, hessian
        )
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
