"""Compiled: smoothed totals, for p = 2 by boxes in few dimensions, else block by block."""

import math

import numpy as np

from . import costs
from .compiled_boxes import (
    FAN,
    RUN,
    RUNS,
    BoxedPoints,
    compiled,
    cost_of,
    inlined,
    keep_near,
    struct,
)
from .costs import SOFT, Totals

# Compiled: points shared among the atoms near them, for p = 2 in few dimensions.

# The atoms near every run of points, one run after another, and where those of each end.
_fields = "points: table, atoms: table, potentials: floats, near: short, ends: index"
Nearby, NEARBY = struct(__name__, "Nearby", _fields)
# What is found of each point, see Totals.
_fields = "labels: index, lowest: floats, margins: floats, hard: floats"
Found, FOUND = struct(__name__, "Found", _fields)
# What is added up over the points; `scalars` are the shared, blur and softness of Totals.
_fields = "masses: floats, sums: table, hessian: table, scalars: floats"
Sums, SUMS = struct(__name__, "Sums", _fields)


@compiled("floats", RUNS, "floats")
def reach_of_boxes(ranges, runs, reach):
    """Write the largest range of the points of every box."""
    n, firsts = len(ranges), runs.firsts
    for b in range(firsts[1]):
        reach[b] = ranges[b * RUN : min((b + 1) * RUN, n)].max()
    for level in range(1, runs.levels):
        below, here = firsts[level - 1], firsts[level]
        for b in range(here, firsts[level + 1]):
            start = below + (b - here) * FAN
            reach[b] = reach[start : min(start + FAN, here)].max()


@compiled(RUNS, "table", "floats", "floats", "index", returns="short")
def near_runs(runs, atoms, potentials, reach, ends):
    """Return the atoms near every run, one run after another; `ends` receives where each ends."""
    m, levels = len(atoms), runs.levels
    kept, n_kept = np.empty((levels + 1, m), np.int32), np.empty(levels + 1, np.int64)
    kept[levels], n_kept[levels] = np.arange(m), m
    found, n_found = np.empty(16 * runs.firsts[1] + m, np.int32), 0
    for b in range(runs.firsts[1]):
        keep_near(b, runs, atoms, potentials, 2.0, reach, kept, n_kept)
        if n_found + n_kept[0] > len(found):
            more = np.empty(2 * len(found), np.int32)
            more[:n_found] = found[:n_found]
            found = more
        found[n_found : n_found + n_kept[0]] = kept[0, : n_kept[0]]
        n_found += n_kept[0]
        ends[b] = n_found
    return found[:n_found].copy()


@inlined
def values_at(i, mine, nearby, values):
    """Write cost less potential of a point at some atoms; return the least, second and where."""
    place, least, second = 0, math.inf, math.inf
    for t in range(len(mine)):
        value = cost_of(nearby.points, i, nearby.atoms, mine[t], 2.0) - nearby.potentials[mine[t]]
        values[t] = value
        if value < least:
            place, least, second = t, value, least
        else:
            second = min(second, value)
    return place, least, second


@compiled(NEARBY, "index", "floats", "floats")
def rank_near(nearby, labels, lowest, margins):
    """Write cheapest atom, its cost less potential, and how much dearer the next one is."""
    values, first = np.empty(len(nearby.atoms)), 0
    for b in range(len(nearby.ends)):
        mine = nearby.near[first : nearby.ends[b]]
        first = nearby.ends[b]
        for i in range(b * RUN, min((b + 1) * RUN, len(nearby.points))):
            place, least, second = values_at(i, mine, nearby, values)
            labels[i], lowest[i], margins[i] = mine[place], least, second - least


@inlined
def share_of(values, least, temperature, soft, near, who, shares):
    """Write who shares a point and how much each gets; return how many and the divisor."""
    size, divisor = 0, 0.0
    for t in range(len(near)):
        exponent = (values[t] - least) / temperature
        if exponent < soft:
            who[size], shares[size] = near[t], math.exp(-exponent)
            divisor += shares[size]
            size += 1
    for a in range(size):
        shares[a] /= divisor
    return size, divisor


@inlined
def fold_point(points, i, values, least, weight, temperature, soft, near, who, shares, total):
    """Add what a soft point gives: to the atoms that share it, the Hessian, and the scalars."""
    masses, sums, hessian, scalars = total
    size, divisor = share_of(values, least, temperature, soft, near, who, shares)
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
    mixed = weight * (1.0 - square)
    scalars[0] += mixed
    scalars[1] += mixed * temperature
    scalars[2] += weight * temperature * math.log(divisor)


@compiled(NEARBY, "floats", "floats", FOUND, SUMS)
def fold(nearby, weights, temperatures, found, total):
    """Add up what all points give: to atoms, to the Hessian, and to what is shared in all."""
    m, first = len(nearby.atoms), 0
    values, shares, who = np.empty(m), np.empty(m), np.empty(m, np.int32)
    for b in range(len(nearby.ends)):
        mine = nearby.near[first : nearby.ends[b]]
        first = nearby.ends[b]
        for i in range(b * RUN, min((b + 1) * RUN, len(nearby.points))):
            place, least, second = values_at(i, mine, nearby, values)
            found.labels[i], found.lowest[i], found.margins[i] = mine[place], least, second - least
            weight, temperature = weights[i], temperatures[i]
            is_soft = second - least < SOFT * temperature
            found.hard[i] = 0.0 if is_soft else weight
            if is_soft:
                point = nearby.points, i, values, least, weight, temperature
                fold_point(*point, SOFT, mine, who, shares, total)


@compiled(NEARBY, "floats", "floats", "floats", "table", "floats", "floats")
def drift(nearby, weights, temperatures, hard, step, shift, change):
    """Add up how the masses of soft points change, to first order, as atoms move by `step`."""
    points, atoms = nearby.points, nearby.atoms
    m, first = len(atoms), 0
    values, shares, rises = np.empty(m), np.empty(m), np.empty(m)
    who = np.empty(m, np.int32)
    for b in range(len(nearby.ends)):
        mine = nearby.near[first : nearby.ends[b]]
        first = nearby.ends[b]
        for i in range(b * RUN, min((b + 1) * RUN, len(points))):
            if hard[i] > 0.0:
                continue
            _, least, _ = values_at(i, mine, nearby, values)
            size, _ = share_of(values, least, temperatures[i], SOFT, mine, who, shares)
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


def nearby_atoms(points, atoms, potentials, ranges):
    """Return the Nearby of some points along the curve.

    `ranges` tell how much dearer than the cheapest an atom of each point may be; None finds the two
    cheapest atoms.
    """
    boxed = BoxedPoints(points)
    reach = np.full(len(boxed.runs.centers), -1.0)
    if ranges is not None:
        reach_of_boxes(ranges, boxed.runs, reach)
    atoms, potentials = np.ascontiguousarray(atoms), np.ascontiguousarray(potentials)
    ends = np.empty(boxed.runs.firsts[1], dtype=np.int64)
    near = near_runs(boxed.runs, atoms, potentials, reach, ends)
    return Nearby(boxed.points, atoms, potentials, near, ends)


def two_cheapest(points, atoms, potentials):
    """Return label, cost less potential, and how much dearer the next atom is, of every point."""
    labels = np.empty(len(points), dtype=np.intp)
    lowest, margins = np.empty((2, len(points)))
    rank_near(nearby_atoms(points, atoms, potentials, None), labels, lowest, margins)
    return labels, lowest, margins


def totals(problem, potentials, temperatures):
    """Return the Totals of all points of a SemidualProblem."""
    cloud = problem.cloud
    total = Totals(len(cloud.points), len(problem.target), cloud.points.shape[1])
    nearby = nearby_atoms(cloud.points, problem.atoms, potentials, SOFT * temperatures)
    found = Found(total.labels, total.cheapest, total.margins, total.hard)
    sums = Sums(total.masses, total.sums, total.hessian, np.zeros(3))
    fold(nearby, cloud.weights, temperatures, found, sums)
    total.mirror()
    total.cheapest -= np.einsum("ij,ij->i", cloud.points, cloud.points)
    total.counts[:] = total.masses
    total.shared, total.blur, total.softness = sums.scalars.tolist()
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
    nearby = nearby_atoms(cloud.points, problem.atoms, state.potentials, ranges)
    hard, step = (state.margins >= ranges).astype(float), np.ascontiguousarray(step)
    drift(nearby, cloud.weights, state.temperatures, hard, step, shift, change)
    return change


# One pass over a block of points: a soft one costs what the few atoms near it cost.

_NOTHING = 36.0  # temperatures; a share below exp(-36) changes no sum
_DENSE = 8  # atoms that share a point on average; with more matrix products are faster
_TRIED = 32  # points of a block that are looked at for that


def fold_block(total, block, atoms, entries, cloud, temperatures, p, potentials):
    """Add a block of points to the totals, see ``costs.fold``; of the Hessian the lower half."""
    each = total.labels, total.cheapest, total.margins, total.hard
    found = Found(*(values[block] for values in each))
    sums = Sums(total.masses, total.sums, total.hessian, np.zeros(3))
    heat = temperatures[block]
    if not _fold(entries, atoms, cloud.points[block], cloud.weights[block], heat, found, sums):
        costs.fold(total, block, atoms, entries, cloud, temperatures, p, potentials)
        return
    total.counts[:] = total.masses
    total.shared += sums.scalars[0]
    total.blur += sums.scalars[1]
    total.softness += sums.scalars[2]


@compiled("table", "index", "floats", "floats")
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


@compiled("table", "index", "table", "floats", "floats", FOUND, SUMS, returns="b1")
def _fold(entries, atoms, points, weights, temperatures, found, total):
    """Add a block, or return False where many atoms share a point: matrix products are faster."""
    labels, lowest, margins, hard = found
    n_atoms, n_points = entries.shape
    _cheapest(entries, labels, lowest, margins)
    margins -= lowest
    seen, near = 0, 0
    for i in range(0, n_points, max(1, n_points // _TRIED)):
        if margins[i] < SOFT * temperatures[i]:
            seen += 1
            for j in range(n_atoms):
                if entries[j, i] - lowest[i] < _NOTHING * temperatures[i]:
                    near += 1
    if near > _DENSE * seen:
        return False
    who, shares = np.empty(n_atoms, np.intp), np.empty(n_atoms)
    for i in range(n_points):
        labels[i] = atoms[labels[i]]
        is_soft = margins[i] < SOFT * temperatures[i]
        hard[i] = 0.0 if is_soft else weights[i]
        if is_soft:
            point = points, i, entries[:, i], lowest[i], weights[i], temperatures[i]
            fold_point(*point, _NOTHING, atoms, who, shares, total)
    return True
