"""Compiled: labels of points along a curve, from boxes around runs of them.

Runs of 32 points, of 8 such runs and so on have boxes. Going down from the largest, an atom is
dropped where another one is cheaper all over the box, so that a point tries few atoms.
"""

import math

import numpy as np

from .compiling import compiled, inlined, summing

RUN = 32  # points of the smallest box
FAN = 8  # boxes of one that is a level larger
_SLACK = 1e-13  # of costs in the unit frame; above rounding


@inlined
def cost_of(points, i, atoms, k, p):
    """Return the cost of a point at an atom."""
    square = 0.0
    for axis in range(atoms.shape[1]):
        apart = atoms[k, axis] - points[i, axis]
        square += apart * apart
    if p == 2.0:
        return square
    return math.sqrt(square) if p == 1.0 else square ** (0.5 * p)


@inlined
def _extra_along(points, i, atoms, j, k, axis):
    to_k, to_j = atoms[k, axis] - points[i, axis], atoms[j, axis] - points[i, axis]
    return (atoms[k, axis] - atoms[j, axis]) * (to_k + to_j)


@summing
def _extra_square(points, i, atoms, j, k):
    total = 0.0
    for axis in range(atoms.shape[1]):
        total += _extra_along(points, i, atoms, j, k, axis)
    return total


@inlined
def extra_of(points, i, atoms, j, k, p):
    """Return what atom k costs a point beyond atom j, without cancellation for p of 1 and 2."""
    if p == 2.0:
        return _extra_square(points, i, atoms, j, k)
    if p == 1.0:
        twice, far, near = 0.0, 0.0, 0.0
        for axis in range(atoms.shape[1]):
            to_k, to_j = atoms[k, axis] - points[i, axis], atoms[j, axis] - points[i, axis]
            twice += (atoms[k, axis] - atoms[j, axis]) * (to_k + to_j)
            far += to_k * to_k
            near += to_j * to_j
        distances = math.sqrt(far) + math.sqrt(near)
        return twice / distances if distances > 0.0 else 0.0
    return cost_of(points, i, atoms, k, p) - cost_of(points, i, atoms, j, p)


@inlined
def least_extra(centers, widths, b, atoms, j, k, p):
    """Return a lower bound of what atom k costs beyond atom j anywhere in a box."""
    if p == 2.0:  # the difference is affine, so this is its least value
        least = 0.0
        for axis in range(atoms.shape[1]):
            to_k, to_j = atoms[k, axis] - centers[b, axis], atoms[j, axis] - centers[b, axis]
            apart = atoms[k, axis] - atoms[j, axis]
            least += apart * (to_k + to_j) - 2.0 * abs(apart) * widths[b, axis]
        return least
    radius, far, near, apart = 0.0, 0.0, 0.0, 0.0
    for axis in range(atoms.shape[1]):
        to_k, to_j = atoms[k, axis] - centers[b, axis], atoms[j, axis] - centers[b, axis]
        radius += widths[b, axis] * widths[b, axis]
        far += to_k * to_k
        near += to_j * to_j
        apart += (to_k - to_j) ** 2
    radius, far, near = math.sqrt(radius), math.sqrt(far), math.sqrt(near)
    if p == 1.0:
        # Unit vectors towards two atoms differ by at most 2 |a - b| / (|x - a| + |x - b|).
        spread = far + near - 2.0 * radius
        slope = min(2.0, 2.0 * math.sqrt(apart) / spread) if spread > 0.0 else 2.0
        return far - near - slope * radius
    return max(far - radius, 0.0) ** p - (near + radius) ** p


@compiled("i8(f8[:,::1], f8[:,::1], f8[:,::1], i8[::1])")
def build(points, centers, widths, firsts):
    """Fill in the boxes of all levels, the smallest ones first; return the number of levels.

    `firsts` receives where each level starts, and the end.
    """
    n, d = points.shape
    n_boxes = (n + RUN - 1) // RUN
    for b in range(n_boxes):
        for axis in range(d):
            low = high = points[b * RUN, axis]
            for i in range(b * RUN + 1, min((b + 1) * RUN, n)):
                low, high = min(low, points[i, axis]), max(high, points[i, axis])
            centers[b, axis], widths[b, axis] = 0.5 * (low + high), 0.5 * (high - low)
    firsts[0], firsts[1], levels = 0, n_boxes, 1
    while n_boxes > FAN:
        below, here = firsts[levels - 1], firsts[levels]
        for b in range((n_boxes + FAN - 1) // FAN):
            for axis in range(d):
                low, high = math.inf, -math.inf
                for c in range(below + b * FAN, min(below + (b + 1) * FAN, here)):
                    low = min(low, centers[c, axis] - widths[c, axis])
                    high = max(high, centers[c, axis] + widths[c, axis])
                centers[here + b, axis] = 0.5 * (low + high)
                widths[here + b, axis] = 0.5 * (high - low)
        n_boxes = (n_boxes + FAN - 1) // FAN
        levels += 1
        firsts[levels] = here + n_boxes
    return levels


@inlined
def survivors(centers, widths, b, atoms, potentials, p, kept, n_tried, level):
    """Keep the atoms that may be cheapest somewhere in a box; return how many."""
    best, least = kept[level + 1, 0], math.inf
    for t in range(n_tried):
        k = kept[level + 1, t]
        value = cost_of(centers, b, atoms, k, p) - potentials[k]
        if value < least:
            least, best = value, k
    n_kept = 0
    for t in range(n_tried):
        k = kept[level + 1, t]
        beyond = least_extra(centers, widths, b, atoms, best, k, p)
        if k == best or beyond - potentials[k] + potentials[best] <= _SLACK:
            kept[level, n_kept] = k
            n_kept += 1
    return n_kept


@compiled("void(f8[:,::1], f8[:,::1], f8[:,::1], i8[::1], i8, f8[:,::1], f8[::1], f8, i4[::1])")
def assign(points, centers, widths, firsts, levels, atoms, potentials, p, labels):
    """Write a cheapest atom of every point."""
    n, m = len(points), len(atoms)
    kept, n_kept = np.empty((levels + 1, m), np.int32), np.empty(levels + 1, np.int64)
    for k in range(m):
        kept[levels, k] = k
    n_kept[levels] = m
    for b in range(firsts[1]):
        step = FAN ** (levels - 1)
        for level in range(levels - 1, -1, -1):
            if b % step == 0:
                n_kept[level] = survivors(
                    centers,
                    widths,
                    firsts[level] + b // step,
                    atoms,
                    potentials,
                    p,
                    kept,
                    n_kept[level + 1],
                    level,
                )
            step //= FAN
        for i in range(b * RUN, min((b + 1) * RUN, n)):
            best, least = kept[0, 0], math.inf
            if n_kept[0] > 1:
                for t in range(n_kept[0]):
                    value = cost_of(points, i, atoms, kept[0, t], p) - potentials[kept[0, t]]
                    if value < least:
                        least, best = value, kept[0, t]
            labels[i] = best


@compiled("void(i4[::1], i8[::1])")
def count_pieces(labels, ends):
    """Count the boxes of every atom when runs are cut by label; ends[j + 1] receives atom j's."""
    n = len(labels)
    seen = np.empty(len(ends), np.int64)
    for j in range(len(ends)):
        seen[j] = -1
    for start in range(0, n, RUN):
        for i in range(start, min(start + RUN, n)):
            if seen[labels[i]] != start:
                seen[labels[i]] = start
                ends[labels[i] + 1] += 1


@compiled("void(f8[:,::1], i4[::1], i8[::1], i4[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1])")
def cut_pieces(points, labels, firsts, starts, run_centers, run_widths, centers, widths):
    """Write start and box of the points of one atom in one run, those of one atom together.

    `firsts` says where each atom's boxes begin, and ends up where they end.
    """
    n, d = points.shape
    mine = np.empty(len(firsts), np.int64)
    for j in range(len(firsts)):
        mine[j] = -1
    for run in range((n + RUN - 1) // RUN):
        start, stop = run * RUN, min((run + 1) * RUN, n)
        pure = True
        for i in range(start + 1, stop):
            pure &= labels[i] == labels[start]
        if pure:
            b = firsts[labels[start]]
            firsts[labels[start]] += 1
            starts[b] = start
            for axis in range(d):
                centers[b, axis], widths[b, axis] = run_centers[run, axis], run_widths[run, axis]
            continue
        for i in range(start, stop):
            b = mine[labels[i]]
            if b < 0 or starts[b] != start:
                b = mine[labels[i]] = firsts[labels[i]]
                firsts[labels[i]] += 1
                starts[b] = start
                for axis in range(d):  # low and high until the run is through
                    centers[b, axis] = widths[b, axis] = points[i, axis]
            for axis in range(d):
                centers[b, axis] = min(centers[b, axis], points[i, axis])
                widths[b, axis] = max(widths[b, axis], points[i, axis])
        for i in range(start, stop):
            b = mine[labels[i]]
            if b >= 0:
                mine[labels[i]] = -1
                for axis in range(d):
                    low, high = centers[b, axis], widths[b, axis]
                    centers[b, axis], widths[b, axis] = 0.5 * (low + high), 0.5 * (high - low)


@compiled("void(i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8, f8[:,::1])")
def bound_all(firsts, centers, widths, atoms, p, gap):
    """Write a lower bound of what any point of atom j costs more at atom k, as gap[j, k]."""
    m = len(atoms)
    for j in range(m):
        for b in range(firsts[j], firsts[j + 1]):
            for k in range(m):
                gap[j, k] = min(gap[j, k], least_extra(centers, widths, b, atoms, j, k, p))
