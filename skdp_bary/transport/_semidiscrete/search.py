"""Compiled: excess mass goes along shortest paths between atoms until every atom has its share.

Every item sits where cost less potential is least, so the edge from atom j to atom k, as long as
the least extra cost of an item of j beyond the difference of potentials, is never shorter than
zero. Dijkstra's algorithm runs on lower bounds of the edges and makes an edge exact when it is the
next to be used; potentials then change so that the paths found become tight, and mass is sent.
"""

import math

from .boxes import extra_of
from .compiling import compiled, inlined, signature
from .edges import list_row, pop, push
from .groups import BOXES, EDGES, HEAP, ITEMS, PATHS, PROBLEM, WINDOWS
from .windows import cheapest, offer, refill

DONE, STUCK, MORE_WINDOWS, MORE_ITEMS = 0, 1, 2, 3
_FIRST_DEGREE = 12  # edges of an atom that are looked at first
_NO_ITEM, _NO_WINDOW = -1, -2


@inlined
def start(excess, tolerance, heap, paths):
    """Put the atoms that have too much on the heap; return its size and how many lack mass."""
    keys, tails, heads, best = heap
    size, lacking = 0, 0
    for j in range(len(excess)):
        paths.settled[j], paths.fresh[j], best[j] = False, False, math.inf
        if excess[j] > tolerance:
            size = push(0.0, -1, j, size, keys, tails, heads)
            best[j] = 0.0
            paths.distance[j], paths.hops[j], paths.parent[j], paths.via[j] = 0.0, 0, -1, -1
        elif excess[j] < -tolerance:
            lacking += 1
    return size, lacking


@inlined
def handed(j, k, problem, boxes, items, windows, used):
    """Return the cheapest item of j for k, and make their gap exact; or what there is none of."""
    item = cheapest(j, k, windows, items.units)
    if item >= 0:
        return item
    if windows.slots[j, k] < 0:
        if used[0] == len(windows.keys):
            return _NO_WINDOW
        windows.slots[j, k] = used[0]
        used[0] += 1
    return refill(j, k, problem, boxes, items, windows)


@inlined
def reach(j, k, item, key, windows, edges, rounding, size, heap, paths):
    """Note that an edge reaches k, or put it back if it is longer than it seemed; return sizes."""
    length = max(0.0, windows.gap[j, k] - edges.potentials[k] + edges.potentials[j])
    # Between paths that differ by rounding the one with fewer edges is better: a point handed on
    # twice carries only what the middle atom holds of it.
    exact = paths.distance[j] + rounding * (paths.hops[j] + 1) + length
    if exact > key:
        if exact < heap.best[k]:
            heap.best[k] = exact
            size = push(exact, j, k, size, heap.keys, heap.tails, heap.heads)
        return False, size
    paths.distance[k], paths.hops[k] = paths.distance[j] + length, paths.hops[j] + 1
    paths.parent[k], paths.via[k] = j, item
    return True, size


@inlined
def look(j, k, gap, edges, rounding, size, heap, paths):
    """Put edges of k on the heap, or more of j where k is -1; return the size of the heap."""
    potentials, settled = edges.potentials, paths.settled
    keys, tails, heads, best = heap
    if k < 0:
        degree = 2 * edges.degrees[j] if paths.fresh[j] else _FIRST_DEGREE
        list_row(j, degree, gap, edges)
        paths.fresh[j] = True
    else:
        j = k
        if edges.beyond[j] + potentials[j] <= 0.0:
            list_row(j, _FIRST_DEGREE, gap, edges)
            paths.fresh[j] = True
    base = paths.distance[j] + rounding * (paths.hops[j] + 1)
    for head in edges.lists[j, : edges.degrees[j]]:
        if not settled[head]:
            key = base + max(0.0, gap[j, head] - potentials[head] + potentials[j])
            if key < best[head]:
                size = push(key, j, head, size, keys, tails, heads)
    if edges.beyond[j] < math.inf:
        key = base + max(0.0, edges.beyond[j] + potentials[j])
        size = push(key, j, -1, size, keys, tails, heads)
    return size


@inlined
def find_paths(
    size,
    lacking,
    problem,
    boxes,
    items,
    windows,
    edges,
    heap,
    paths,
    excess,
    tolerance,
    rounding,
    used,
):
    """Settle the nearest atoms until none lacks mass; return how many, and how far the last is.

    The number is -1 where there is no window left.
    """
    n_settled, farthest = 0, -1.0
    while size > 0 and lacking > 0:
        key, j, k = heap.keys[0], heap.tails[0], heap.heads[0]
        size = pop(size, heap.keys, heap.tails, heap.heads)
        if k >= 0:
            if paths.settled[k]:
                continue
            if j >= 0:
                item = handed(j, k, problem, boxes, items, windows, used)
                if item == _NO_WINDOW:
                    return -1, farthest
                if item == _NO_ITEM:
                    continue
                reached, size = reach(j, k, item, key, windows, edges, rounding, size, heap, paths)
                if not reached:
                    continue
            paths.settled[k], paths.order[n_settled] = True, k
            n_settled += 1
            if excess[k] < -tolerance:
                lacking -= 1
                farthest = paths.distance[k]
        if lacking > 0:
            size = look(j, k, windows.gap, edges, rounding, size, heap, paths)
    return n_settled, farthest


@inlined
def receive(item, amount, u, used, n_points, items):
    """Move units of an item to atom u; return the item that is new there, or -1, and items used."""
    units, ring = items.units, items.ring
    units[item] -= amount
    other = ring[item]
    while other != item and items.owners[other] != u:
        other = ring[other]
    if other != item:
        units[other] += amount
        return (other if units[other] == amount else -1), used
    items.rows[used], items.owners[used], units[used] = items.rows[item], u, amount
    ring[used], ring[item] = ring[item], used
    items.earlier[used - n_points], items.latest[u] = items.latest[u], used
    return used, used + 1


@inlined
def arrive(item, u, problem, items, windows, edges):
    """Let all edges of atom u know of an item that it has received."""
    points, atoms, p = problem
    gap, front, slots, keys, members, sizes = windows
    listed, lists, degrees, beyond, potentials, _ = edges
    row = items.rows[item]
    for k in range(len(potentials)):
        if k == u:
            continue
        key = extra_of(points, row, atoms, u, k, p)
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
def send(sink, problem, items, windows, edges, excess, tolerance, paths, used):
    """Send what a sink lacks along its path, as far as it goes; return whether items suffice."""
    parent, via = paths.parent, paths.via
    root, amount, n_edges = sink, -excess[sink], 0
    while parent[root] >= 0:
        amount = min(amount, items.units[via[root]])
        root = parent[root]
        n_edges += 1
    amount = min(amount, excess[root])
    if amount <= 0 or n_edges == 0:
        return True
    if used[1] + n_edges > len(items.units):
        return False
    u = sink
    while parent[u] >= 0:
        item = via[u]
        # A remainder that is rounding only goes along.
        moved = items.units[item] if items.units[item] - amount <= tolerance else amount
        excess[parent[u]] -= moved
        excess[u] += moved
        new, used[1] = receive(item, moved, u, used[1], len(problem.points), items)
        if new >= 0:
            arrive(new, u, problem, items, windows, edges)
        u = parent[u]
    return True


@compiled(
    signature(PROBLEM, BOXES, ITEMS, WINDOWS, EDGES, HEAP, PATHS, "i8[::1]", "i8", "f8", "i8[::1]"),
    allocates=False,
)
def balance(problem, boxes, items, windows, edges, heap, paths, excess, tolerance, rounding, used):
    """Send mass until every atom has its share; return DONE or what is missing.

    All state is in the arguments: after more windows or items have been made it goes on.
    `used` counts windows, items and searches, and says how many of these are too many.
    """
    while True:
        size, lacking = start(excess, tolerance, heap, paths)
        if size == 0 or lacking == 0:
            return DONE
        if used[2] == used[3]:
            return STUCK
        used[2] += 1
        n_settled, farthest = find_paths(
            size,
            lacking,
            problem,
            boxes,
            items,
            windows,
            edges,
            heap,
            paths,
            excess,
            tolerance,
            rounding,
            used,
        )
        if n_settled < 0:
            return MORE_WINDOWS
        if farthest < 0.0:
            return STUCK
        for j in paths.order[:n_settled]:
            edges.potentials[j] -= max(0.0, farthest - paths.distance[j])
        for sink in paths.order[:n_settled]:
            if excess[sink] < -tolerance and not send(
                sink, problem, items, windows, edges, excess, tolerance, paths, used
            ):
                return MORE_ITEMS
