"""Exact least absolute deviations on a tree of cells, by slope histograms.

The problem is ``min_{s >= 0} || y - P s ||_1``: s is a mass on the finest cells, P the scaled
pyramidal transform (row of cell c at level i: 2**-i times the mass of s inside c), y the scaled
measurements of the chosen cells and 0 for every other cell of the levels listed.

Let f_c(m) be the smallest cost of the cell c and all below it when c holds mass m. In units of the
weight of the last level l, the weight of level i is b_i = 2**(l - i), and

- f is convex and piecewise linear: a list of (slope, length), the last segment without end;
- for a chosen cell, f(m) = b_i |a - m| + g(m) with g the infimal convolution of its children's f,
  that is, their segments merged in the order of their slopes;
- adding b_i |a - m| lowers the slopes before a by b_i and raises those after a by b_i;
- the slope of a left-out cell is b_i + ... + b_l, the same as that of the endless segment of a
  chosen cell: all mass inside it is a deviation from 0 in each of these levels;
- b_i exceeds the sum of all finer weights, so the smallest value of f is at m = max(a, 0).

So the slopes at level i are odd integers between -(2 b_i - 1) and 2 b_i - 1, a cell is a histogram
of lengths over them, merging is addition and the absolute value cuts a histogram in two. Going
down, a cell fills its children's segments in the order of their slopes.
"""

import numpy as np

# The histogram engine works on blocks of cells by slopes, the segment engine on lists: the first
# is taken while its blocks are at most this many times the cells listed, or small in any case.
_BLOCK_FACTOR = 8
_SMALL_BLOCK = 2**16


def minimize_l1(tree, values):
    """Masses of least weighted absolute deviation from measurements of the chosen cells.

    Minimizes the sum of ``2**-i |value - mass|`` over the chosen cells of all levels i, plus the
    sum of ``2**-i mass`` over the other cells of all levels down to the last, over non-negative
    masses on the cells of the last level.

    Parameters
    ----------
    tree : Tree
        Level k of the tree has weight ``2**-(top + k)``.
    values : sequence of ndarray
        Measured masses, not scaled; those of left-out cells are ignored.

    Returns
    -------
    masses : tuple of ndarray
        Mass of every cell listed. Of all optimal solutions, the one that spreads ties evenly: what
        costs the same in several children is shared in proportion to how much of it each can
        take, and what would cost the same everywhere goes to the left-out children in equal parts
        (to all children where none is left out), uniformly inside each.

    Notes
    -----
    The time is that of sorting the chosen cells below each level; for a complete tree it is linear
    in the number of cells.
    """
    clipped = _targets(tree, values)
    blocks = _histogram_sizes(tree)
    if sum(blocks) <= max(_BLOCK_FACTOR * sum(tree.sizes), _SMALL_BLOCK):
        return _minimize_by_histograms(tree, clipped)
    return _minimize_by_segments(tree, clipped)


def _targets(tree, values):
    """Positive parts of the measurements of the chosen cells, level by level."""
    values = tree.check(values, "values")
    targets = [np.maximum(v[mask], 0.0) for v, mask in zip(values, tree.chosen, strict=True)]
    if not all(np.isfinite(t).all() for t in targets):
        raise ValueError("`values` must be finite at every chosen cell.")
    return targets


def _histogram_sizes(tree):
    """Number of entries of the children's histograms, for each step between levels."""
    return [tree.sizes[k + 1] * (2 ** (tree.depth - k) - 1) for k in range(tree.depth)]


def _minimize_by_histograms(tree, targets):
    histograms = [None] * tree.depth
    own = targets[-1][None]
    for k in reversed(range(tree.depth)):
        histograms[k] = _scatter(own, tree.chosen[k + 1], tree.branching[k])
        if k:
            own = _cut(_sum_last(histograms[k]), targets[k])
    masses = [_place_roots(tree, targets)]
    for k, histogram in enumerate(histograms):
        mass = masses[k][tree.chosen[k]]
        lengths = _sum_last(histogram)
        filled = _fill(lengths, mass)
        shares = np.divide(filled, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        children = np.einsum("snb,sn->nb", histogram, shares)
        rest = np.maximum(mass - lengths.sum(axis=0), 0.0)
        masses.append((children + _rest_shares(tree, k) * rest[:, None]).ravel())
    return tuple(masses)


def _scatter(histogram, chosen, branching):
    """Histograms of all children, shape (slopes, parents, children): left-out ones have none."""
    if len(chosen) > histogram.shape[1]:
        full = np.zeros((histogram.shape[0], len(chosen)))
        full[:, chosen] = histogram
        histogram = full
    return histogram.reshape(histogram.shape[0], -1, branching)


def _sum_last(histogram):
    """Sum over the children; additions of slices are faster than a reduction over a short axis."""
    total = histogram[..., 0].copy()
    for child in range(1, histogram.shape[2]):
        total += histogram[..., child]
    return total


def _fill(lengths, mass):
    """Length of each slope that is used when `mass` is poured in, lowest slope first."""
    room = mass - lengths.cumsum(axis=0)
    room += lengths
    return np.minimum(np.maximum(room, 0.0, out=room), lengths, out=room)


def _cut(lengths, target):
    """Add the absolute deviation from `target`: slopes before it go down, those after it up."""
    n_slopes = len(lengths)
    cut = np.empty((2 * n_slopes + 1, len(target)))
    cut[:n_slopes] = _fill(lengths, target)
    np.maximum(target - lengths.sum(axis=0), 0.0, out=cut[n_slopes])
    np.subtract(lengths, cut[:n_slopes], out=cut[n_slopes + 1 :])
    return cut


def _place_roots(tree, targets):
    roots = np.zeros(tree.sizes[0])
    roots[tree.chosen[0]] = targets[0]
    return roots


def _rest_shares(tree, k):
    """How the mass beyond all segments is shared among the children."""
    left_out = ~tree.chosen[k + 1].reshape(-1, tree.branching[k])
    left_out[left_out.sum(axis=1) == 0] = True
    return left_out / left_out.sum(axis=1, keepdims=True)


def _minimize_by_segments(tree, targets):
    steps = _merge_up(tree, targets)
    masses = [_place_roots(tree, targets)]
    for k, (parent, child, starts, lengths) in enumerate(steps):
        mass = masses[k][tree.chosen[k]]
        n_parents, n_children = len(mass), tree.sizes[k + 1]
        tied = np.add.reduceat(lengths, starts) if len(starts) else lengths
        of_group = parent[starts]
        filled = _fill_segments(of_group, tied, mass)
        shares = np.repeat(filled / tied, np.diff(starts, append=len(lengths)))
        children = np.bincount(child, shares * lengths, minlength=n_children)
        rest = np.maximum(mass - np.bincount(of_group, tied, minlength=n_parents), 0.0)
        masses.append(children + (_rest_shares(tree, k) * rest[:, None]).ravel())
    return tuple(masses)


def _merge_up(tree, targets):
    """For each step: the segments of the children by parent and slope, and where ties start."""
    steps = [None] * tree.depth
    cell = np.flatnonzero(targets[-1])
    slope, length = np.full(len(cell), -1), targets[-1][cell]
    for k in reversed(range(tree.depth)):
        child = np.flatnonzero(tree.chosen[k + 1])[cell]
        weight = 2 ** (tree.depth - k)
        key = child // tree.branching[k] * (2 * weight) + slope
        order = np.argsort(key, kind="stable")
        child, slope, length, key = child[order], slope[order], length[order], key[order]
        parent = child // tree.branching[k]
        starts = np.flatnonzero(np.diff(key, prepend=np.iinfo(np.int64).min))
        steps[k] = parent, child, starts, length
        before = _fill_segments(parent, length, targets[k])
        beyond = targets[k] - np.bincount(parent, length, minlength=len(targets[k]))
        slope = np.concatenate([slope - weight, slope + weight, np.full(len(beyond), -1)])
        length = np.concatenate([before, length - before, beyond])
        keep = length > 0
        cell = np.concatenate([parent, parent, np.arange(len(beyond))])[keep]
        slope, length = slope[keep], length[keep]
    return steps


def _fill_segments(parent, lengths, mass):
    """As `_fill`, for segments in the order of parent and slope."""
    before = np.cumsum(lengths) - lengths
    first = np.flatnonzero(np.diff(parent, prepend=-1))
    before -= np.repeat(before[first], np.diff(first, append=len(parent)))
    return np.clip(mass[parent] - before, 0.0, lengths)
