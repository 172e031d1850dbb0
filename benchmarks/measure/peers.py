"""Published ways to release cells of a cube, in any number of dimensions, as comparators.

Each takes rows in the unit cube, epsilon and a generator, and returns lower corners, upper corners
and masses of cells; mass is even inside a cell. They are our own simplified forms, with floating
noise, under add_remove with the number of rows public.
"""

import numpy as np

from skdp_bary.transport._tree.consistency import make_consistent, project_nonnegative
from skdp_bary.transport._tree.nodes import Tree

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
    paths = _paths(X, levels * 4)
    tree = Tree.complete(levels, branching=16)
    values, variances = [], []
    for level in range(levels + 1):
        counts = np.bincount(paths >> 4 * (levels - level), minlength=16**level).astype(float)
        noise = rng.laplace(0, levels / epsilon, counts.size) if level else 0.0
        values.append(counts + noise)
        variances.append(np.full(counts.size, 2 * (levels / epsilon) ** 2 if level else 0.0))
    masses = project_nonnegative(tree, make_consistent(tree, values, variances)[0])
    return _path_cells(np.arange(16**levels), np.full(16**levels, 4 * levels), masses[-1], d)


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


PEERS = {
    "Laplace": laplace_cells,
    "UGrid": uniform_grid,
    "AGrid": adaptive_grid,
    "HB": hierarchy,
    "AHP": clustered_counts,
    "PrivTree": priv_tree,
}


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
