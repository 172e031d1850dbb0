"""Compiled: excess mass goes along shortest paths between atoms until every atom has its share."""

import math

from .compiled_boxes import RUN, compiled, extra_of, inlined, least_extra, struct

# Arrays that compiled functions take together, so that each is passed by one name.

Problem, PROBLEM = struct(__name__, "Problem", "points: table, atoms: table, p: f8")
# Boxes around runs of items, by atom, see Cells; `bounds` is room for one of each.
_fields = "firsts: index, starts: short, centers: table, widths: table, table: table"
Boxes, BOXES = struct(__name__, "Boxes", f"{_fields}, bounds: floats")
# Points, or parts of them, with their atoms and mass. `ring` joins the items of one point. `latest`
# is the last item that each atom has received, and `earlier` the one before, of those that are no
# whole points.
_fields = "rows: short, owners: short, units: index, ring: short, latest: short"
Items, ITEMS = struct(__name__, "Items", f"{_fields}, earlier: short")
# What is known of pairs of atoms: bounds, and a window of items for some of the pairs.
_fields = "gap: table, front: table, slots: i4[:,::1], keys: table, members: i4[:,::1]"
Windows, WINDOWS = struct(__name__, "Windows", f"{_fields}, sizes: short")
# Shortest edges of each atom, how long the others are at least, and potentials; `lengths` is room
# for those of one atom.
_fields = "listed: i1[:,::1], lists: i4[:,::1], degrees: index, beyond: floats"
Edges, EDGES = struct(__name__, "Edges", f"{_fields}, potentials: floats, lengths: floats")
# Edges by length, and the least length at which each atom is on the heap.
Heap, HEAP = struct(__name__, "Heap", "keys: floats, tails: short, heads: short, best: floats")
# How each atom was reached, in the order in which they were.
_fields = "distance: floats, hops: index, parent: index, via: index"
Paths, PATHS = struct(
    __name__, "Paths", f"{_fields}, settled: b1[::1], fresh: b1[::1], order: index"
)


# Compiled: for a pair of atoms, the few items of one that are cheapest to hand to the other.

PLACES = 32


@inlined
def offer(key, item, s, windows):
    """Put an item into window s; return the key of the one that finds no place, or infinity."""
    keys, members, sizes = windows.keys, windows.members, windows.sizes
    dropped, size = math.inf, sizes[s]
    if size == PLACES:
        if key >= keys[s, 0]:
            return key
        dropped, place = keys[s, 0], 0
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
    for item in range(first, min(first + RUN, len(points))):
        if owners[item] == j and units[item] > 0:
            key = extra_of(points, rows[item], atoms, j, k, p)
            offer(key, item, windows.slots[j, k], windows)


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
    s, keys, sizes, item = windows.slots[j, k], windows.keys, windows.sizes, items.latest[j]
    sizes[s] = 0
    while item >= 0:
        if items.units[item] > 0:
            key = extra_of(problem.points, items.rows[item], problem.atoms, j, k, problem.p)
            offer(key, item, s, windows)
        item = items.earlier[item - len(problem.points)]
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
    return windows.members[s, sizes[s] - 1] if sizes[s] > 0 else -1


# Compiled: the edges between atoms that a search looks at, by length.


@inlined
def push(key, j, k, size, heap):
    """Put an edge on the heap; return its new size."""
    keys, tails, heads, _ = heap
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
def pop(size, heap):
    """Take the first edge, which the caller has read, off the heap; return its new size."""
    keys, tails, heads, _ = heap
    size -= 1
    key, j, k = keys[size], tails[size], heads[size]
    place, child = 0, 1
    while child < size:
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[place], tails[place], heads[place] = keys[child], tails[child], heads[child]
        place, child = child, 2 * child + 1
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


# Compiled: excess mass goes along shortest paths between atoms until every atom has its share.

DONE, STUCK, MORE_WINDOWS, MORE_ITEMS = 0, 1, 2, 3
_FIRST_DEGREE = 12  # edges of an atom that are looked at first
_NO_ITEM, _NO_WINDOW = -1, -2


@inlined
def start(excess, tolerance, heap, paths):
    """Put the atoms that have too much on the heap; return its size and how many lack mass."""
    size, lacking = 0, 0
    for j in range(len(excess)):
        paths.settled[j], paths.fresh[j], heap.best[j] = False, False, math.inf
        if excess[j] > tolerance:
            size = push(0.0, -1, j, size, heap)
            heap.best[j] = 0.0
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
            size = push(exact, j, k, size, heap)
        return False, size
    paths.distance[k], paths.hops[k] = paths.distance[j] + length, paths.hops[j] + 1
    paths.parent[k], paths.via[k] = j, item
    return True, size


@inlined
def look(j, k, gap, edges, rounding, size, heap, paths):
    """Put edges of k on the heap, or more of j where k is -1; return the size of the heap."""
    potentials, more = edges.potentials, k < 0
    j = j if more else k
    if more or edges.beyond[j] + potentials[j] <= 0.0:
        degree = 2 * edges.degrees[j] if more and paths.fresh[j] else _FIRST_DEGREE
        list_row(j, degree, gap, edges)
        paths.fresh[j] = True
    base = paths.distance[j] + rounding * (paths.hops[j] + 1)
    for head in edges.lists[j, : edges.degrees[j]]:
        if not paths.settled[head]:
            key = base + max(0.0, gap[j, head] - potentials[head] + potentials[j])
            if key < heap.best[head]:
                size = push(key, j, head, size, heap)
    if edges.beyond[j] < math.inf:
        key = base + max(0.0, edges.beyond[j] + potentials[j])
        size = push(key, j, -1, size, heap)
    return size


@inlined
def find_paths(size, lacking, state, excess, tolerance, rounding, used):
    """Settle the nearest atoms until none lacks mass; return how many, and how far the last is.

    The number is -1 where there is no window left.
    """
    problem, boxes, items, windows, edges, heap, paths = state
    n_settled, farthest = 0, -1.0
    while size > 0 and lacking > 0:
        key, j, k = heap.keys[0], heap.tails[0], heap.heads[0]
        size = pop(size, heap)
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
    gap, front, slots, row = windows.gap, windows.front, windows.slots, items.rows[item]
    listed, lists, degrees, beyond, potentials, _ = edges
    for k in range(len(potentials)):
        if k == u:
            continue
        key = extra_of(points, row, atoms, u, k, p)
        gap[u, k] = min(gap[u, k], key)
        if key < front[u, k]:
            dropped = key
            if slots[u, k] >= 0:
                dropped = offer(key, item, slots[u, k], windows)
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


_STATE = PROBLEM, BOXES, ITEMS, WINDOWS, EDGES, HEAP, PATHS


@compiled(*_STATE, "index", "i8", "f8", "index", returns="i8", allocates=False)
def balance(problem, boxes, items, windows, edges, heap, paths, excess, tolerance, rounding, used):
    """Send mass until every atom has its share; return DONE or what is missing.

    Successive shortest paths with node potentials (Edmonds and Karp 1972; Tomizawa 1971): each
    search is Dijkstra's over the atoms, O(n_atoms**2 log n_atoms) at most.

    All state is in the arguments: after more windows or items have been made it goes on.
    `used` counts windows, items and searches, and says how many of these are too many.
    """
    state = problem, boxes, items, windows, edges, heap, paths
    while True:
        size, lacking = start(excess, tolerance, heap, paths)
        if size == 0 or lacking == 0:
            return DONE
        if used[2] == used[3]:
            return STUCK
        used[2] += 1
        n_settled, farthest = find_paths(size, lacking, state, excess, tolerance, rounding, used)
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
