"""Masses on a tree that add up: least squares, and non-negative versions of it."""

import numpy as np


def make_consistent(tree, values, variances):
    """Weighted least squares under "a chosen cell is the sum of its children".

    Exact for independent measurements of any variances, in one pass up and one pass down; with
    Gaussian errors it is belief propagation.

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
        determine a mass. What is only known as a sum is shared evenly.
    """
    values = tree.check(values, "values")
    variances = tree.check(variances, "variances")
    if not all((v >= 0).all() for v in variances):
        raise ValueError("`variances` must be non-negative or inf.")
    z = [np.where(np.isinf(v), 0.0, x) for x, v in zip(values, variances, strict=True)]
    var = list(variances)
    for k in reversed(range(tree.depth)):
        mask, b = tree.chosen[k], tree.branching[k]
        sums = z[k + 1].reshape(-1, b).sum(axis=1), var[k + 1].reshape(-1, b).sum(axis=1)
        z[k], var[k] = z[k].copy(), var[k].copy()
        z[k][mask], var[k][mask] = _combine(z[k][mask], var[k][mask], *sums)
    for k in range(tree.depth):
        mask, shape = tree.chosen[k], (-1, tree.branching[k])
        children = z[k + 1].reshape(shape), var[k + 1].reshape(shape)
        z[k + 1], var[k + 1] = _condition(*children, z[k][mask], var[k][mask])
    return tuple(z), tuple(var)


def project_nonnegative(tree, estimates):
    """Make masses non-negative and consistent from the top down by Euclidean projections.

    The children of each cell become the nearest non-negative numbers that sum to their parent.
    """
    return _top_down(tree, estimates, project_simplex)


def share_nonnegative(tree, estimates):
    """Make masses non-negative and consistent from the top down by proportional shares.

    Each cell is shared among its children in proportion to their positive parts; evenly when no
    child is positive.
    """
    return _top_down(tree, estimates, _share)


def project_simplex(rows, totals):
    """Project each row onto the non-negative vectors with the given sum (>= 0)."""
    descending = -np.sort(-rows, axis=1)
    excess = descending.cumsum(axis=1) - totals[:, None]
    rank = np.arange(1, rows.shape[1] + 1)
    support = np.maximum((descending * rank > excess).sum(axis=1), 1)
    shift = np.take_along_axis(excess, support[:, None] - 1, axis=1) / support[:, None]
    return np.maximum(rows - shift, 0.0)


def _combine(own, own_var, summed, summed_var):
    """Inverse-variance average of two independent measurements of the same cells."""
    with np.errstate(invalid="ignore"):
        weight = own_var / (own_var + summed_var)
        unclear = np.isnan(weight)  # inf / inf or 0 / 0
        weight[unclear] = np.isinf(own_var[unclear]) & np.isfinite(summed_var[unclear])
        variance = np.where(np.isinf(summed_var), own_var, weight * summed_var)
    return own + weight * (summed - own), variance


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


def _top_down(tree, estimates, divide):
    masses = list(tree.check(estimates, "estimates"))
    masses[0] = np.maximum(masses[0], 0.0)
    for k, b in enumerate(tree.branching):
        rows = masses[k + 1].reshape(-1, b)
        masses[k + 1] = divide(rows, masses[k][tree.chosen[k]]).ravel()
    return tuple(masses)


def _share(rows, totals):
    positive = np.maximum(rows, 0.0)
    sums = positive.sum(axis=1, keepdims=True)
    empty = sums == 0
    shares = np.where(empty, 1.0 / rows.shape[1], positive / np.where(empty, 1.0, sums))
    return shares * totals[:, None]
