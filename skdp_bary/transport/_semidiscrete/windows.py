"""Compiled: for a pair of atoms, the few items of one that are cheapest to hand to the other.

A pair (j, k) has `gap`, a lower bound of the least extra cost, and `front`: every live item of j
that costs less than that is in the pair's window, if it has one. Windows have few places: when an
item finds none, or no window exists, `front` is lowered instead, and what lies beyond it is looked
for when it is needed. An item is a point, or part of one, with its atom; it is live while it has
units of mass. Keys of a window descend, so that its cheapest item is the last.
"""

import math

from .boxes import RUN, extra_of, least_extra
from .compiling import inlined

PLACES = 32


@inlined
def offer(key, item, s, keys, members, sizes):
    """Put an item into window s; return the key of the one that finds no place, or infinity."""
    dropped = math.inf
    size = sizes[s]
    if size == PLACES:
        if key >= keys[s, 0]:
            return key
        dropped = keys[s, 0]
        place = 0
        while place + 1 < size and keys[s, place + 1] > key:
            keys[s, place], members[s, place] = keys[s, place + 1], members[s, place + 1]
            place += 1
    else:
        place = size
        sizes[s] = size + 1
        while place > 0 and keys[s, place - 1] < key:
            keys[s, place], members[s, place] = keys[s, place - 1], members[s, place - 1]
            place -= 1
    keys[s, place], members[s, place] = key, item
    return dropped


@inlined
def cheapest(j, k, windows, units):
    """Return the cheapest live item of j for k and make gap[j, k] exact; -1 if not known."""
    keys, members, sizes = windows.keys, windows.members, windows.sizes
    s = windows.slots[j, k]
    if s < 0:
        return -1
    while sizes[s] > 0 and units[members[s, sizes[s] - 1]] == 0:
        sizes[s] -= 1
    if sizes[s] == 0 or keys[s, sizes[s] - 1] > windows.front[j, k]:
        return -1
    windows.gap[j, k] = keys[s, sizes[s] - 1]
    return members[s, sizes[s] - 1]


@inlined
def admit(first, j, k, problem, items, windows):
    """Offer the live items of j in the run that starts at `first` to the window of j and k."""
    points, atoms, p = problem
    rows, owners, units = items.rows, items.owners, items.units
    s, keys, members, sizes = windows.slots[j, k], windows.keys, windows.members, windows.sizes
    for item in range(first, min(first + RUN, len(points))):
        if owners[item] == j and units[item] > 0:
            key = extra_of(points, rows[item], atoms, j, k, p)
            offer(key, item, s, keys, members, sizes)


@inlined
def bound_boxes(j, k, problem, boxes):
    """Write lower bounds of the extra costs in every box of j; return the place of the least."""
    firsts, _, centers, widths, table, bounds = boxes
    atoms, p = problem.atoms, problem.p
    place, least = 0, math.inf
    for b in range(firsts[j], firsts[j + 1]):
        if table.shape[0] > 0:
            bound = table[b, k]
        else:
            bound = least_extra(centers, widths, b, atoms, j, k, p)
        bounds[b - firsts[j]] = bound
        if bound < least:
            place, least = b - firsts[j], bound
    return place


@inlined
def refill(j, k, problem, boxes, items, windows):
    """Fill the window of a pair afresh; return its cheapest item, or -1 when j has none."""
    s, keys, members, sizes = windows.slots[j, k], windows.keys, windows.members, windows.sizes
    units, earlier = items.units, items.earlier
    sizes[s] = 0
    item = items.latest[j]
    while item >= 0:
        if units[item] > 0:
            key = extra_of(problem.points, items.rows[item], problem.atoms, j, k, problem.p)
            offer(key, item, s, keys, members, sizes)
        item = earlier[item - len(problem.points)]
    own = boxes.starts[boxes.firsts[j] : boxes.firsts[j + 1]]
    if len(own) > 0:
        # The box that promises most comes first, so that few of the others are opened.
        place = bound_boxes(j, k, problem, boxes)
        admit(own[place], j, k, problem, items, windows)
        for b in range(len(own)):
            if b == place or (sizes[s] == PLACES and boxes.bounds[b] >= keys[s, 0]):
                continue
            admit(own[b], j, k, problem, items, windows)
    windows.front[j, k] = keys[s, 0] if sizes[s] == PLACES else math.inf
    windows.gap[j, k] = keys[s, sizes[s] - 1] if sizes[s] > 0 else math.inf
    return members[s, sizes[s] - 1] if sizes[s] > 0 else -1
