"""Masses on a tree that add up: Haar differences and least squares."""

from dataclasses import dataclass

import numpy as np

# Masses on a binary tree of cells from its noisy total and differences.

_BLOCK = 1 << 14

# Weights of three cases of a cell of mass m: a *smooth* one, split as the public prior plus the
# scatter of m people; an *uneven* one, split anyhow; an *empty half*. Public, and chosen on
# generated data.
SMOOTH, UNEVEN, EMPTY = 0.25, 0.2, 0.55
SMOOTH_SPREAD, UNEVEN_SPREAD = 0.05, 0.2  # variances of the split relative to m squared
SCATTER = 0.2  # variance of the split of a smooth cell for each person in it


def split_mean(difference, sd, mass, expected):
    """Return the mean difference of the halves of cells given a noisy one, its noise as Gaussian.

    Parameters
    ----------
    difference : ndarray
        Noisy first half minus second half.
    sd : float
        Standard deviation of its noise.
    mass, expected : ndarray
        Mass of each cell, and its split under the public prior.
    """
    mean, noise = np.empty(len(mass)), max(sd, 1e-9) ** 2
    for start in range(0, len(mass), _BLOCK):  # temporaries stay small and in cache
        rows = slice(start, start + _BLOCK)
        m, center = mass[rows], expected[rows]
        # either half may be the empty one, so often that the mean under the prior is `expected`
        lean = center / np.where(m > 0, m, 1.0)
        cases = [
            (SMOOTH, SMOOTH_SPREAD * m**2 + SCATTER * m, center),
            (UNEVEN, UNEVEN_SPREAD * m**2, center),
            (EMPTY * (1.0 + lean) / 2, np.zeros_like(m), m),
            (EMPTY * (1.0 - lean) / 2, np.zeros_like(m), -m),
        ]
        evidence, means = [], []
        for weight, variance, middle in cases:
            spread, off = variance + noise, difference[rows] - middle
            log = np.log(np.maximum(weight, 1e-300))
            evidence.append(log - 0.5 * (np.log(spread) + off**2 / spread))
            means.append(middle + variance / spread * off)
        evidence = np.exp(evidence - np.max(evidence, axis=0))
        mean[rows] = np.clip((evidence * means).sum(axis=0) / evidence.sum(axis=0), -m, m)
    return mean


@dataclass(frozen=True)
class CellMasses:
    """A partition of the domain into cells of a tree, and the mass of each.

    Attributes
    ----------
    level, index : ndarray of int of shape (n_cells,)
        Where each cell is in the tree, from the root down.
    mass : ndarray of shape (n_cells,)
    """

    level: np.ndarray
    index: np.ndarray
    mass: np.ndarray


def rebuild_masses(tree, total, differences, noise_sd, prior):
    """Return the masses of all cells of every level from a noisy total and noisy differences.

    Children add up to their parent and none is negative, by construction.

    Parameters
    ----------
    tree : CellTree
    total : float
        Mass of the whole domain; a negative one counts as 0.
    differences : sequence of ndarray
        Noisy first half minus second half for the cells of level 0, 1, ...
    noise_sd : sequence of float
        Standard deviation of the noise of each level's differences.
    prior : ndarray of shape (n_leaves,)
        Public shares of the leaves; a cell of share 0 gets no mass.

    Returns
    -------
    levels : list of ndarray
        Masses of the cells of level 0 to the leaves.
    """
    shares = prior_splits(tree, prior)
    masses = [np.array([max(float(total), 0.0)])]
    for level, (difference, sd) in enumerate(zip(differences, noise_sd, strict=True)):
        mass, first = masses[-1], shares[level]
        expected = mass * (2.0 * first - 1.0)
        split = split_mean(difference, sd, mass, expected)
        np.copyto(split, expected, where=(first <= 0) | (first >= 1))
        del expected
        split += mass
        split /= 2.0
        masses.append(tree.join(split, mass - split, level))
    return masses


def prune(tree, levels, least):
    """Keep a cell whole where splitting it would only show noise.

    Parameters
    ----------
    tree : CellTree
    levels : list of ndarray
        Masses of the cells of level 0 to the leaves; a level is taken out once it has been read.
    least : sequence of float
        For each level but the last, the mass per cell must exceed to be split.

    Returns
    -------
    cells : CellMasses
        The cells of the partition that have mass.
    """
    ends, is_open = [], np.ones(1, dtype=bool)  # cells with mass that are reached and not split
    for level, mass in enumerate(levels):
        last = level == tree.depth
        split = np.zeros_like(is_open) if last else is_open & (mass > least[level])
        ends.append(is_open & ~split & (mass > 0))
        if last or not split.any():
            break
        is_open = tree.join(split, split, level)
    counts = [np.count_nonzero(mask) for mask in ends]
    n_cells = sum(counts)
    cells = CellMasses(np.empty(n_cells, np.int8), np.empty(n_cells, np.int32), np.empty(n_cells))
    start = 0
    for level, (mask, count) in enumerate(zip(ends, counts, strict=True)):
        cells.level[start : start + count] = level
        for begin in range(0, mask.size, _BLOCK):  # temporaries stay small beside the answer
            block = np.flatnonzero(mask[begin : begin + _BLOCK]) + begin
            cells.index[start : start + block.size] = block
            cells.mass[start : start + block.size] = levels[level][block]
            start += block.size
        levels[level] = None  # not held beside the deeper cells
    return cells


def prior_splits(tree, prior):
    """Share of the first half in every cell of every level; one half where the cell has none."""
    if prior[0] == prior.min() == prior.max():
        return [np.broadcast_to(0.5, 1 << level) for level in range(tree.depth)]
    shares, values = [], prior
    for level in range(tree.depth - 1, -1, -1):
        first, second = tree.halves(values, level)
        values = first + second
        known = values > 0
        shares.append(np.where(known, first / np.where(known, values, 1.0), 0.5))
    return shares[::-1]


# Masses on a tree that add up: least squares, and non-negative versions of it.


def make_consistent(tree, values, variances):
    """Weighted least squares under "a chosen cell is the sum of its children".

    Exact for independent measurements of any variances, in one pass up and one pass down, O(n)
    for n cells (Hay, Rastogi, Miklau and Suciu 2010, theorem 3); with Gaussian errors it is belief
    propagation.

    Parameters
    ----------
    tree : Tree
    values, variances : sequence of ndarray
        A measurement of every cell. Variance ``inf``: not measured, the value is ignored.
        Variance 0: known exactly.

    Returns
    -------
    estimates, variances : tuple of ndarray
        The least-squares masses and their variances: ``inf`` where the measurements do not
        determine a mass. Masses of which only the sum is known get equal shares.
    """
    values = tree.check(values, "values")
    variances = tree.check(variances, "variances")
    z = [np.where(np.isinf(v), 0.0, x) for x, v in zip(values, variances, strict=True)]
    var = list(variances)
    for k in reversed(range(tree.depth)):
        mask, b = tree.chosen[k], tree.branching[k]
        summed = z[k + 1].reshape(-1, b).sum(axis=1)
        summed_var = var[k + 1].reshape(-1, b).sum(axis=1)
        z[k], var[k] = z[k].copy(), var[k].copy()
        own, own_var = z[k][mask], var[k][mask]
        with np.errstate(invalid="ignore"):  # averages by inverse variances
            weight = own_var / (own_var + summed_var)
            unclear = np.isnan(weight)  # inf / inf or 0 / 0
            weight[unclear] = np.isinf(own_var[unclear]) & np.isfinite(summed_var[unclear])
            var[k][mask] = np.where(np.isinf(summed_var), own_var, weight * summed_var)
        z[k][mask] = own + weight * (summed - own)
    for k in range(tree.depth):
        mask, shape = tree.chosen[k], (-1, tree.branching[k])
        children = z[k + 1].reshape(shape), var[k + 1].reshape(shape)
        z[k + 1], var[k + 1] = _condition(*children, z[k][mask], var[k][mask])
    return tuple(z), tuple(var)


def project_nonnegative(tree, estimates):
    """Make masses non-negative and consistent from the top down by Euclidean projections.

    The children of each cell become the nearest non-negative numbers that sum to their parent.
    """
    masses = list(tree.check(estimates, "estimates"))
    masses[0] = np.maximum(masses[0], 0.0)
    for k, b in enumerate(tree.branching):
        rows = masses[k + 1].reshape(-1, b)
        masses[k + 1] = project_simplex(rows, masses[k][tree.chosen[k]]).ravel()
    return tuple(masses)


def project_simplex(rows, totals):
    """Project each row onto the non-negative vectors with the given sum (>= 0).

    By sorting (Held, Wolfe and Crowder 1974): O(b log b) for a row of b numbers.
    """
    descending = -np.sort(-rows, axis=1)
    excess = descending.cumsum(axis=1) - totals[:, None]
    rank = np.arange(1, rows.shape[1] + 1)
    support = np.maximum((descending * rank > excess).sum(axis=1), 1)
    shift = np.take_along_axis(excess, support[:, None] - 1, axis=1) / support[:, None]
    return np.maximum(rows - shift, 0.0)


def _condition(z, var, parent, parent_var):
    """Condition independent children on their sum, whose distribution is given."""
    unknown = np.isinf(var)
    n_unknown = unknown.sum(axis=1, keepdims=True)
    known_var = np.where(unknown, 0.0, var)
    rest_var = known_var.sum(axis=1, keepdims=True)
    exact = rest_var == 0
    share = np.where(exact, 1.0 / var.shape[1], known_var / np.where(exact, 1.0, rest_var))
    share = np.where(n_unknown > 0, unknown / np.maximum(n_unknown, 1), share)
    gap = parent - z.sum(axis=1)
    after = known_var * (1 - share) + share**2 * np.where(share > 0, parent_var[:, None], 0.0)
    determined = np.where(n_unknown == 1, rest_var + parent_var[:, None], np.inf)
    after = np.where(unknown, determined, after)
    return (z + share * gap[:, None]).ravel(), after.ravel()
