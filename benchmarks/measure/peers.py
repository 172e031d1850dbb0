"""Published ways to release cells of a cube, in any number of dimensions, as comparators.

Each takes rows in the unit cube, epsilon and a generator, and returns lower corners, upper corners
and masses of cells; mass is even inside a cell. They are our own simplified forms, with floating
noise, under add_remove with the number of rows public.
"""

import numpy as np

from skdp_bary.transport.tree_fits import make_consistent, project_nonnegative
from skdp_bary.transport.trees import Tree

_GRID_BITS = {1: 12, 2: 14, 3: 15, 4: 16}  # of the finest grid of methods that measure all of it


def laplace_cells(X, epsilon, rng):
    """Noise on every cell of a fine grid, negative masses set to zero."""
    counts, side = _grid(X, 1 << _GRID_BITS[X.shape[1]] // X.shape[1])
    return _grid_cells(np.maximum(counts + rng.laplace(0, 1 / epsilon, counts.size), 0), side, X)


def uniform_grid(X, epsilon, rng):
    """UGrid of Qardaji, Yang, Li (2013): a grid whose cells balance noise and unevenness."""
    n, d = X.shape
    side = max(1, round((n * epsilon / 10) ** (2 / (d + 2))))
    counts, side = _grid(X, min(side, 1 << 16 // d))
    return _grid_cells(np.maximum(counts + rng.laplace(0, 1 / epsilon, counts.size), 0), side, X)


def adaptive_grid(X, epsilon, rng):
    """AGrid of Qardaji, Yang, Li (2013): a coarse grid, and a finer one in each of its cells."""
    n, d = X.shape
    counts, side = _grid(X, max(2, round(max(100, n * epsilon / 160) ** (1 / d))))
    noisy = counts + rng.laplace(0, 2 / epsilon, counts.size)
    sides = np.ceil(np.maximum(noisy * epsilon / 10, 1.0) ** (1 / d)).astype(int)
    place = np.minimum((X * side).astype(int), side - 1)
    coarse = np.ravel_multi_index(place.T, (side,) * d)
    within = X * side - place
    cells = []
    for finer in np.unique(sides):
        here = np.flatnonzero(sides == finer)
        rank = np.full(counts.size, -1)
        rank[here] = np.arange(here.size)
        rows = np.flatnonzero(rank[coarse] >= 0)
        inner = np.minimum((within[rows] * finer).astype(int), finer - 1)
        index = rank[coarse[rows]] * finer**d + np.ravel_multi_index(inner.T, (finer,) * d)
        parts = np.bincount(index, minlength=here.size * finer**d).reshape(here.size, -1)
        parts = parts + rng.laplace(0, 2 / epsilon, parts.shape)
        total = parts.sum(axis=1)
        best = (noisy[here] * finer**d + total) / (finer**d + 1)
        parts = np.maximum(parts + ((best - total) / finer**d)[:, None], 0)
        corner = np.stack(np.unravel_index(here, (side,) * d), axis=1)[:, None] / side
        offset = np.stack(np.unravel_index(np.arange(finer**d), (finer,) * d), axis=1)
        low = (corner + offset / (finer * side)).reshape(-1, d)
        cells.append((low, low + 1 / (finer * side), parts.ravel()))
    return tuple(np.concatenate(part) for part in zip(*cells, strict=True))


def hierarchy(X, epsilon, rng):
    """HB of Qardaji, Yang, Li (2013): counts of a tree of 16 branches, made consistent."""
    d = X.shape[1]
    levels = _GRID_BITS[d] // 4
    counts = np.bincount(_paths(X, levels * 4), minlength=16**levels).astype(float)
    masses = _tree_counts(counts, levels, epsilon, rng)
    return _path_cells(np.arange(16**levels), np.full(16**levels, 4 * levels), masses, d)


def clustered_counts(X, epsilon, rng):
    """AHP of Zhang et al. (2014): cells of alike noisy counts share one count."""
    counts, side = _grid(X, 1 << _GRID_BITS[X.shape[1]] // X.shape[1])
    first, second = 0.5 * epsilon, 0.5 * epsilon
    noisy = counts + rng.laplace(0, 1 / first, counts.size)
    noisy[noisy < 0.35 * np.log(counts.size) / first] = 0.0
    order = np.argsort(-noisy)
    descending = noisy[order]
    starts, begin = [0], 0
    for i in range(1, len(order)):
        size = i - begin
        middle = descending[begin : i + 1 : max(1, size // 8)].mean()
        if (descending[i] - middle) ** 2 > 2 / second**2 / size + 2 / first**2:
            starts.append(i)
            begin = i
    sizes = np.diff([*starts, len(order)])
    sums = np.add.reduceat(counts[order], starts) + rng.laplace(0, 1 / second, len(starts))
    masses = np.empty(counts.size)
    masses[order] = np.repeat(np.maximum(sums, 0) / sizes, sizes)
    return _grid_cells(masses, side, X)


def priv_tree(X, epsilon, rng):
    """PrivTree of Zhang, Xiao, Xie (2016): half for the tree, half for the counts of its leaves."""
    d, depth = X.shape[1], 20 // X.shape[1]
    branches, tree_share = 2**d, epsilon / 2
    scale = (2 * branches - 1) / (branches - 1) / tree_share
    decay = scale * np.log(branches)
    paths = np.sort(_paths(X, d * depth))
    cells, leaves = np.zeros(1, dtype=np.int64), []
    for level in range(depth + 1):
        shift = d * (depth - level)
        bounds = np.searchsorted(paths, np.stack([cells, cells + 1]) << shift)
        counts = bounds[1] - bounds[0]
        biased = np.maximum(counts - level * decay, -decay)
        split = biased + rng.laplace(0, scale, counts.size) > 0
        split &= level < depth
        leaves.append((cells[~split], np.full((~split).sum(), d * level), counts[~split]))
        cells = (cells[split, None] * branches + np.arange(branches)).ravel()
        if not cells.size:
            break
    codes, bits, counts = (np.concatenate(part) for part in zip(*leaves, strict=True))
    masses = np.maximum(counts + rng.laplace(0, 2 / epsilon, counts.size), 0)
    return _path_cells(codes, bits, masses, d)


def data_aware(X, epsilon, rng):
    """DAWA of Li, Hay, Miklau (2014): buckets of alike neighbors, and a tree of counts over them.

    In the plane, cells are put in line along a Hilbert curve. Buckets have a power of two of cells,
    found with a quarter of the budget. The tree is that of HB in the place of one for a workload.
    """
    counts, side = _grid(X, 1 << _GRID_BITS[X.shape[1]] // X.shape[1])
    order = np.argsort(_hilbert(side)) if X.shape[1] == 2 else np.arange(side)
    first, second = 0.25 * epsilon, 0.75 * epsilon
    ends = _cheapest_buckets(counts[order], first, second, rng)
    sizes = np.diff(ends)
    levels = max(1, -(-(len(sizes) - 1).bit_length() // 4))
    sums = np.add.reduceat(counts[order], ends[:-1])
    masses = np.empty(counts.size)
    masses[order] = np.repeat(_tree_counts(sums, levels, second, rng) / sizes, sizes)
    return _grid_cells(masses, side, X)


PEERS = {
    "Laplace": laplace_cells,
    "UGrid": uniform_grid,
    "AGrid": adaptive_grid,
    "HB": hierarchy,
    "AHP": clustered_counts,
    "PrivTree": priv_tree,
}
IN_LINE = {"DAWA": data_aware}  # peers for one and two features


def peers_of(d):
    """Return the peers that run with `d` features, by name."""
    return PEERS | IN_LINE if d <= 2 else PEERS


def _grid(X, side):
    place = np.minimum((X * side).astype(int), side - 1)
    index = np.ravel_multi_index(place.T, (side,) * X.shape[1])
    return np.bincount(index, minlength=side ** X.shape[1]).astype(float), side


def _grid_cells(masses, side, X):
    place = np.stack(np.unravel_index(np.arange(masses.size), (side,) * X.shape[1]), axis=1)
    return place / side, (place + 1) / side, masses


def _paths(X, bits):
    """Halve the axes in turn: one bit a halving."""
    code, left = np.zeros(len(X), dtype=np.int64), X.copy()
    for bit in range(bits):
        axis = bit % X.shape[1]
        left[:, axis] *= 2
        upper = left[:, axis] >= 1
        left[:, axis] -= upper
        code = (code << 1) | upper
    return code


def _path_cells(codes, bits, masses, d):
    low, width = np.zeros((len(codes), d)), np.ones((len(codes), d))
    for halving in range(int(bits.max(initial=0))):
        here = bits > halving
        axis = halving % d
        width[here, axis] /= 2
        low[here, axis] += (codes[here] >> (bits[here] - 1 - halving) & 1) * width[here, axis]
    return low, low + width, masses


def _tree_counts(counts, levels, epsilon, rng):
    """Counts measured on all levels of a tree of 16 branches and made consistent.

    Where there are fewer counts than last cells, the others are known to be empty.
    """
    tree = Tree.complete(levels, branching=16)
    padded = np.pad(counts, (0, 16**levels - counts.size))
    values, variances = [padded.sum(keepdims=True)], [np.zeros(1)]
    for level in range(1, levels + 1):
        exact = padded.reshape(16**level, -1).sum(axis=1)
        known = np.arange(exact.size) * 16 ** (levels - level) >= counts.size
        scale = np.where(known, 0.0, levels / epsilon)
        values.append(exact + scale * rng.laplace(0, 1, exact.size))
        variances.append(2 * scale**2)
    masses = project_nonnegative(tree, make_consistent(tree, values, variances)[0])[-1]
    return masses[: counts.size]


def _cheapest_buckets(counts, first, second, rng):
    """Cut a line into buckets with the least noisy cost: unevenness plus one noise of a count.

    A person moves the cost of one bucket of every partition, by at most 2: Laplace noise of twice
    that scale on every bucket makes the choice private, as in report-noisy-max. A bucket of one
    cell is never uneven and needs none. Long buckets begin at eighths of their length.
    """
    found = [[] for _ in range(counts.size + 1)]
    for bits in range(counts.size.bit_length()):
        length = 1 << bits
        starts = np.arange(0, counts.size - length + 1, max(1, length // 8))
        windows = np.lib.stride_tricks.sliding_window_view(counts, length)[starts]
        uneven = np.abs(windows - windows.mean(axis=1, keepdims=True)).sum(axis=1)
        if length > 1:
            uneven = uneven + rng.laplace(0, 4 / first, len(starts))
        for start, cost in zip(starts.tolist(), (uneven + 1 / second).tolist(), strict=True):
            found[start + length].append((start, cost))
    costs, last = [0.0], [0]
    for choices in found[1:]:
        cost, start = min((costs[start] + cost, start) for start, cost in choices)
        costs.append(cost)
        last.append(start)
    ends = [counts.size]
    while ends[-1]:
        ends.append(last[ends[-1]])
    return np.array(ends[::-1])


def _hilbert(side):
    """Place on the Hilbert curve of every cell of a square grid, row by row."""
    x, y = (axis.ravel() for axis in np.indices((side, side)))
    place = np.zeros(side * side, dtype=np.int64)
    half = side // 2
    while half:
        right, upper = (x & half) > 0, (y & half) > 0
        place += half * half * ((3 * right) ^ upper)
        flip = ~upper & right
        x, y = np.where(flip, half - 1 - x, x), np.where(flip, half - 1 - y, y)
        x, y = np.where(upper, x, y) & (half - 1), np.where(upper, y, x) & (half - 1)
        half //= 2
    return place
