"""Compiled: excess mass goes along shortest paths between atoms until every atom has its share.

Every item sits where cost less potential is least, so the edge from atom j to atom k, as long as
the least extra cost of an item of j beyond the difference of potentials, is never shorter than
zero. Dijkstra's algorithm runs on lower bounds of the edges and makes an edge exact when it is the
next to be used; potentials then change so that the paths found become tight, and mass is sent.
"""

import math

import numpy as np

from .boxes import extra_of
from .compiling import compiled, inlined
from .windows import cheapest, offer, refill

DONE, STUCK, MORE_WINDOWS, MORE_ITEMS = 0, 1, 2, 3
_FIRST_DEGREE = 12  # edges of an atom that are looked at first


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
def list_row(j, degree, gap, potentials, listed, lists, degrees, beyond, lengths):
    """List the `degree` shortest edges of j, and keep a bound of the others.

    No potential ever rises, so an edge that is left out becomes shorter only as j's own potential
    falls: it is never shorter than beyond[j] plus that.
    """
    m = len(potentials)
    n_listed, longest = 0, math.inf
    for k in range(m):
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
    degrees[j] = n_listed
    beyond[j] = longest


@inlined
def arrive(
    item,
    u,
    points,
    rows,
    atoms,
    p,
    gap,
    front,
    slots,
    keys,
    members,
    sizes,
    potentials,
    listed,
    lists,
    degrees,
    beyond,
):
    """Let all edges of atom u know of an item that it has received."""
    for k in range(len(potentials)):
        if k == u:
            continue
        key = extra_of(points, rows[item], atoms, u, k, p)
        gap[u, k] = min(gap[u, k], key)
        if key < front[u, k]:
            dropped = key
            if slots[u, k] >= 0:
                dropped = offer(key, item, slots[u, k], keys, members, sizes)
            front[u, k] = min(front[u, k], dropped)
        if listed[u, k] == 0 and key - potentials[k] < beyond[u]:
            listed[u, k] = 1
            lists[u, degrees[u]] = k
            degrees[u] += 1


@inlined
def receive(item, amount, u, used, n_points, rows, owners, units, ring, latest, earlier):
    """Move units of an item to atom u; return the item that is new there, or -1, and items used."""
    units[item] -= amount
    other = ring[item]
    while other != item and owners[other] != u:
        other = ring[other]
    if other != item:
        units[other] += amount
        return (other if units[other] == amount else -1), used
    rows[used], owners[used], units[used] = rows[item], u, amount
    ring[used], ring[item] = ring[item], used
    earlier[used - n_points], latest[u] = latest[u], used
    return used, used + 1


@compiled(
    "i8(f8[:,::1], i4[::1], f8[:,::1], f8, i8[::1], i4[::1], f8[:,::1], f8[:,::1], f8[:,::1],"
    "i4[::1], i8[::1], i4[::1], i4[::1], i4[::1],"
    "f8[:,::1], f8[:,::1], i4[:,::1], f8[:,::1], i4[:,::1], i4[::1],"
    "i1[:,::1], i4[:,::1], i8[::1], f8[::1], f8[::1], i8[::1], i8, f8, i8[::1])"
)
def balance(
    points,
    rows,
    atoms,
    p,
    firsts,
    starts,
    centers,
    widths,
    table,
    owners,
    units,
    ring,
    latest,
    earlier,
    gap,
    front,
    slots,
    keys,
    members,
    sizes,
    listed,
    lists,
    degrees,
    beyond,
    potentials,
    excess,
    tolerance,
    rounding,
    used,
):
    """Send mass until every atom has its share; return DONE or what is missing.

    All state is in the arguments: after more windows or items have been made it goes on.
    `used` counts windows, items and searches, and says how many of these are too many.
    """
    m = len(atoms)
    widest = 0
    for j in range(m):
        widest = max(widest, firsts[j + 1] - firsts[j])
    bounds = np.empty(widest)
    most = 3 * m * (m + 2)
    heap_keys = np.empty(most)
    heap_tails, heap_heads = np.empty(most, np.int32), np.empty(most, np.int32)
    lengths = np.empty(m)
    distance, best = np.empty(m), np.empty(m)
    hops, parent, via = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
    settled, fresh = np.empty(m, np.bool_), np.empty(m, np.bool_)
    order = np.empty(m, np.int64)
    while True:
        size, lacking = 0, 0
        for j in range(m):
            settled[j], fresh[j], best[j] = False, False, math.inf
            if excess[j] > tolerance:
                size = push(0.0, -1, j, size, heap_keys, heap_tails, heap_heads)
                best[j] = 0.0
            elif excess[j] < -tolerance:
                lacking += 1
        if size == 0 or lacking == 0:
            return DONE
        if used[2] == used[3]:
            return STUCK
        used[2] += 1
        n_settled, farthest = 0, -1.0
        while size > 0 and lacking > 0:
            key, j, k = heap_keys[0], heap_tails[0], heap_heads[0]
            size = pop(size, heap_keys, heap_tails, heap_heads)
            if k >= 0:
                if settled[k]:
                    continue
                distance[k], hops[k], parent[k], via[k] = 0.0, 0, -1, -1
                if j >= 0:
                    item = cheapest(j, k, gap, front, slots, keys, members, sizes, units)
                    if item < 0:
                        if slots[j, k] < 0:
                            if used[0] == len(keys):
                                return MORE_WINDOWS
                            slots[j, k] = used[0]
                            used[0] += 1
                        item = refill(
                            j,
                            k,
                            points,
                            rows,
                            atoms,
                            p,
                            firsts,
                            starts,
                            centers,
                            widths,
                            table,
                            bounds,
                            owners,
                            units,
                            latest,
                            earlier,
                            gap,
                            front,
                            slots,
                            keys,
                            members,
                            sizes,
                        )
                    if item < 0:
                        continue
                    length = max(0.0, gap[j, k] - potentials[k] + potentials[j])
                    # Between paths that differ by rounding the one with fewer edges is better: a
                    # point handed on twice carries only what the middle atom holds of it.
                    exact = distance[j] + rounding * (hops[j] + 1) + length
                    if exact > key:
                        if exact < best[k]:
                            best[k] = exact
                            size = push(exact, j, k, size, heap_keys, heap_tails, heap_heads)
                        continue
                    distance[k], hops[k] = distance[j] + length, hops[j] + 1
                    parent[k], via[k] = j, item
                settled[k] = True
                order[n_settled] = k
                n_settled += 1
                if excess[k] < -tolerance:
                    lacking -= 1
                    farthest = distance[k]
                    if lacking == 0:
                        break
                j = k
                if beyond[j] + potentials[j] <= 0.0:
                    degree = _FIRST_DEGREE
                    list_row(j, degree, gap, potentials, listed, lists, degrees, beyond, lengths)
                    fresh[j] = True
            else:  # all edges of j that are listed have been looked at
                degree = 2 * degrees[j] if fresh[j] else _FIRST_DEGREE
                list_row(j, degree, gap, potentials, listed, lists, degrees, beyond, lengths)
                fresh[j] = True
            base = distance[j] + rounding * (hops[j] + 1)
            for place in range(degrees[j]):
                k = lists[j, place]
                if not settled[k]:
                    key = base + max(0.0, gap[j, k] - potentials[k] + potentials[j])
                    if key < best[k]:
                        size = push(key, j, k, size, heap_keys, heap_tails, heap_heads)
            if beyond[j] < math.inf:
                key = base + max(0.0, beyond[j] + potentials[j])
                size = push(key, j, -1, size, heap_keys, heap_tails, heap_heads)
        if farthest < 0.0:
            return STUCK
        for place in range(n_settled):
            j = order[place]
            potentials[j] -= max(0.0, farthest - distance[j])
        for place in range(n_settled):
            sink = order[place]
            if excess[sink] >= -tolerance:
                continue
            root, amount, n_edges = sink, -excess[sink], 0
            while parent[root] >= 0:
                amount = min(amount, units[via[root]])
                root = parent[root]
                n_edges += 1
            amount = min(amount, excess[root])
            if amount <= 0 or n_edges == 0:
                continue
            if used[1] + n_edges > len(units):
                return MORE_ITEMS
            u = sink
            while parent[u] >= 0:
                item = via[u]
                # A remainder that is rounding only goes along.
                moved = units[item] if units[item] - amount <= tolerance else amount
                excess[parent[u]] -= moved
                excess[u] += moved
                new, used[1] = receive(
                    item, moved, u, used[1], len(points), rows, owners, units, ring, latest, earlier
                )
                if new >= 0:
                    arrive(
                        new,
                        u,
                        points,
                        rows,
                        atoms,
                        p,
                        gap,
                        front,
                        slots,
                        keys,
                        members,
                        sizes,
                        potentials,
                        listed,
                        lists,
                        degrees,
                        beyond,
                    )
                u = parent[u]
