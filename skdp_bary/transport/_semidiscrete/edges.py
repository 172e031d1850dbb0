"""Compiled: the edges between atoms that a search looks at, by length."""

import math

from .compiling import inlined


@inlined
def push(key, j, k, size, keys, tails, heads):
    """Put an edge on the heap; return its new size."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if keys[above] <= key:
            break
        keys[place], tails[place], heads[place] = keys[above], tails[above], heads[above]
        place = above
    keys[place], tails[place], heads[place] = key, j, k
    return size + 1


@inlined
def pop(size, keys, tails, heads):
    """Take the first edge, which the caller has read, off the heap; return its new size."""
    size -= 1
    key, j, k = keys[size], tails[size], heads[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[place], tails[place], heads[place] = keys[child], tails[child], heads[child]
        place = child
    keys[place], tails[place], heads[place] = key, j, k
    return size


@inlined
def list_row(j, degree, gap, edges):
    """List the `degree` shortest edges of j, and keep a bound of the others.

    No potential ever rises, so an edge that is left out becomes shorter only as j's own potential
    falls: it is never shorter than beyond[j] plus that.
    """
    listed, lists, degrees, beyond, potentials, lengths = edges
    n_listed, longest = 0, math.inf
    for k in range(len(potentials)):
        listed[j, k] = 0
        length = gap[j, k] - potentials[k]
        if k == j or length == math.inf:
            continue
        if n_listed == degree:
            if length >= lengths[0]:
                longest = min(longest, length)
                continue
            longest = min(longest, lengths[0])
            place = 0
            while place + 1 < degree and lengths[place + 1] > length:
                lengths[place], lists[j, place] = lengths[place + 1], lists[j, place + 1]
                place += 1
        else:
            place = n_listed
            n_listed += 1
            while place > 0 and lengths[place - 1] < length:
                lengths[place], lists[j, place] = lengths[place - 1], lists[j, place - 1]
                place -= 1
        lengths[place], lists[j, place] = length, k
    for place in range(n_listed):
        listed[j, lists[j, place]] = 1
    degrees[j], beyond[j] = n_listed, longest
