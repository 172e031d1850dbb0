"""Compiled: what is read off matrices of costs, a row an atom and a column a point."""

import math

from .compiling import compiled


@compiled("void(f8[:,::1], f8[::1], i4[::1], i4[::1], f8[::1], f8[::1])", allocates=False)
def rank(costs, potentials, labels, others, lowest, margins):
    """Write the cheapest atom of every point, the next one, and how much dearer that is.

    `lowest` is room for what the cheapest costs. Without branches several points go at a time.
    """
    n_points = len(labels)
    for i in range(n_points):
        labels[i], others[i], lowest[i], margins[i] = 0, 0, math.inf, math.inf
    for k in range(len(costs)):
        for i in range(n_points):
            value, least, second = costs[k, i] - potentials[k], lowest[i], margins[i]
            cheaper, close = value < least, value < second
            others[i] = labels[i] if cheaper else k if close else others[i]
            margins[i] = least if cheaper else value if close else second
            labels[i] = k if cheaper else labels[i]
            lowest[i] = value if cheaper else least
    for i in range(n_points):
        margins[i] -= lowest[i]


@compiled("void(f8[:,::1], i4[::1], i8[::1], f8[::1], f8[:,::1])", allocates=False)
def lower(costs, owners, ends, own, table):
    """Write the least extra cost at every atom of each run of points, which ends at one of `ends`.

    `own` is room for what every point costs at its atom.
    """
    for i in range(len(owners)):
        own[i] = costs[owners[i], i]
    for k in range(len(costs)):
        start = 0
        for b in range(len(ends)):
            least = math.inf
            for i in range(start, ends[b]):
                extra = costs[k, i] - own[i]
                least = extra if extra < least else least
            table[b, k], start = least, ends[b]
