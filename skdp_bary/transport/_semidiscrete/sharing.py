"""Compiled: points shared among the atoms near them, for p = 2 in few dimensions.

Every run of points along the curve has a list of the atoms that may come within reach of the
cheapest one somewhere in its box. What a point adds to the smoothed dual, and how its shares change
when atoms move, then costs what the few atoms near it cost, however many there are.
"""

import math

import numpy as np

from .boxes import FAN, RUN, cost_of, least_extra
from .compiling import compiled, inlined

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
                above = kept[level + 1]
                n_kept[level] = near_box(
                    centers,
                    widths,
                    firsts[level] + b // step,
                    atoms,
                    potentials,
                    reach,
                    above,
                    n_kept[level + 1],
                    kept[level],
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
def rank(points, atoms, potentials, near, ends, labels, lowest, margins):
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


@inlined
def mirror(hessian):
    """Copy what is below the diagonal to above it."""
    for k in range(len(hessian)):
        for other in range(k):
            if hessian[k, other] != 0.0:
                hessian[other, k] = hessian[k, other]


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
    mirror(hessian)


@compiled(
    "void(f8[:,::1], f8[::1], f8[::1], f8[::1], f8, f8[:,::1], f8[::1], f8[:,::1], f8[::1],"
    "i4[::1], i8[::1], f8[::1])"
)
def drift(
    points,
    weights,
    temperatures,
    hard,
    soft,
    atoms,
    potentials,
    step,
    shift,
    near,
    ends,
    change,
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
