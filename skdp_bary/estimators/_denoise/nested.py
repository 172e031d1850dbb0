"""Noisy counts of cells that were cut in several looks: least squares, and masses that add up.

Lists go from the first look to the last. ``parents[i]`` says of every cell of look ``i + 1`` which
cell of look ``i`` it is a part of; parts of a cell stand together, and every cell has at least one.
"""

import numpy as np


def least_squares(parents, values, variances):
    """Return the best estimate of every cell's mass from all looks, and its variance.

    Exact for independent noise: one pass from the last look to the first, one back.
    """
    values, variances, sums = list(values), list(variances), [None] * len(parents)
    for i in reversed(range(len(parents))):
        n_cells = len(values[i])
        below = np.bincount(parents[i], values[i + 1], n_cells)
        noise = np.bincount(parents[i], variances[i + 1], n_cells)
        sums[i] = below, noise
        own = variances[i] / (variances[i] + noise)
        values[i] = values[i] + own * (below - values[i])
        variances[i] = own * noise
    for i, parent in enumerate(parents):
        below, noise = sums[i]
        share = variances[i + 1] / noise[parent]
        values[i + 1] = values[i + 1] + share * (values[i] - below)[parent]
        left = variances[i + 1] * (1.0 - share)
        variances[i + 1] = left + share**2 * variances[i][parent]
    return values, variances


def nonnegative(parents, estimates, alive=None, doubts=None):
    """Return masses of at least zero that add up, the nearest ones from the first look down.

    Parameters
    ----------
    parents : list of ndarray
    estimates : list of ndarray
    alive : list of ndarray of bool, default=None
        The other parts of a cell count together. They share what they hold where it is beyond
        doubt, or no part is alive; else those that are alive get it. In the first look nobody does:
        the few that are alive would get the noise of all.
    doubts : list of ndarray, default=None
        Squares of what a cell that is not alive may hold of noise; they add up.
    """
    if alive is None:
        alive = [np.ones(len(values), dtype=bool) for values in estimates]
        doubts = [np.zeros(len(values)) for values in estimates]
    masses, parents = [], [np.zeros(len(estimates[0]), dtype=np.int64), *parents]
    for parent, values, lives, doubt in zip(parents, estimates, alive, doubts, strict=True):
        group, n_groups = 2 * parent + lives, 2 * (parent[-1] + 1)
        rest, held = np.bincount(group, values, n_groups).reshape(-1, 2).T
        none = np.bincount(parent, lives) == 0
        sure = none | (rest > np.sqrt(np.bincount(group, doubt, n_groups)[::2]))
        rest = np.where(sure, rest, 0.0)
        whole = masses[-1] if masses else np.maximum(rest + held, 0.0)
        rest = np.where(none, whole, np.clip(rest, 0.0, whole))
        masses.append(_divided(values, group, np.stack([rest, whole - rest], axis=1).ravel()))
    return masses


def _divided(values, group, totals):
    """Project the values of every group onto the non-negative vectors of the group's total."""
    order = np.lexsort((-values, group))
    ordered, group = values[order], group[order]
    starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
    sizes = np.diff(np.r_[starts, len(group)])
    first = np.repeat(np.arange(len(starts)), sizes)
    sums = np.cumsum(ordered)
    sums -= np.r_[0.0, sums[starts[1:] - 1]][first]
    rank = np.arange(len(group)) - starts[first] + 1
    excess = sums - totals[group]
    support = np.maximum(np.add.reduceat(ordered * rank > excess, starts, dtype=np.int64), 1)
    shift = excess[starts + support - 1] / support
    found = np.empty(len(values))
    found[order] = np.where(totals[group] > 0, np.maximum(ordered - shift[first], 0.0), 0.0)
    return found
