"""Distances between two heatmaps or two discrete measures."""

from __future__ import annotations

import numpy as np

from .transport.measures import DiscreteMeasure

# How close two heatmaps or two discrete measures are.

__all__ = ["earth_mover_distance", "kl_divergence", "pearson_correlation", "similarity"]


# The four metrics by which heatmaps are compared.

_REGULARIZER = 2.0**-52  # of the divergence, as in benchmarks of saliency maps
_MAX_SIDE = 32  # cells of a heatmap's side in the earth mover's distance


def similarity(first: np.ndarray | DiscreteMeasure, second: np.ndarray | DiscreteMeasure) -> float:
    """Return the mass that two heatmaps share: 1 minus their total variation distance.

    Parameters
    ----------
    first, second : ndarray of shape (n_rows, n_columns), or DiscreteMeasure
        Two heatmaps of the same shape, or two measures. Each is divided by its sum.

    Returns
    -------
    similarity : float
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.metrics import similarity
    >>> similarity(np.array([[1.0, 0.0]]), np.array([[1.0, 1.0]]))
    0.5
    """
    p, q = _aligned(first, second)
    return float(np.minimum(p, q).sum())


def pearson_correlation(
    first: np.ndarray | DiscreteMeasure, second: np.ndarray | DiscreteMeasure
) -> float:
    """Return the correlation of the values of two heatmaps over their cells.

    Parameters
    ----------
    first, second : ndarray of shape (n_rows, n_columns), or DiscreteMeasure
        Two heatmaps of the same shape, or two measures: then over the points that occur in
        either.

    Returns
    -------
    correlation : float
        Between -1 and 1; NaN when one of them has the same value everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.metrics import pearson_correlation
    >>> round(pearson_correlation(np.array([[1.0, 2.0, 3.0]]), np.array([[2.0, 4.0, 6.0]])), 6)
    1.0
    """
    p, q = (values - values.mean() for values in _aligned(first, second))
    norms = np.sqrt((p @ p) * (q @ q))
    return float(np.clip(p @ q / norms, -1.0, 1.0)) if norms > 0 else float("nan")


def kl_divergence(
    estimate: np.ndarray | DiscreteMeasure, truth: np.ndarray | DiscreteMeasure
) -> float:
    """Return the regularized Kullback-Leibler divergence of an estimate from the truth.

    ``sum(q * log(r + q / (r + p)))`` with q the truth, p the estimate and r = 2**-52, as in
    benchmarks of saliency maps. Without blur it mostly says how many cells of the truth the
    estimate leaves empty: each of them costs ``q * log(q / r)``.

    Parameters
    ----------
    estimate, truth : ndarray of shape (n_rows, n_columns), or DiscreteMeasure
        Two heatmaps of the same shape, or two measures. Each is divided by its sum.

    Returns
    -------
    divergence : float

    References
    ----------
    Z. Bylinskii, T. Judd, A. Oliva, A. Torralba, F. Durand. What do different evaluation metrics
    tell us about saliency models? PAMI 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.metrics import kl_divergence
    >>> round(kl_divergence(np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]])), 6)
    0.693147
    """
    p, q = _aligned(estimate, truth)
    return float(q @ np.log(_REGULARIZER + q / (_REGULARIZER + p)))


def earth_mover_distance(
    first: np.ndarray | DiscreteMeasure, second: np.ndarray | DiscreteMeasure
) -> float:
    """Return the earth mover's distance with L1 ground cost.

    Parameters
    ----------
    first, second : ndarray of shape (n_rows, n_columns), or DiscreteMeasure
        Two heatmaps of the same shape, on a map whose sides have length 1, or two measures. Each
        is divided by its sum.

    Returns
    -------
    distance : float

    Notes
    -----
    The result is exact for measures and for heatmaps of up to 32 by 32 cells. Larger heatmaps are
    first summed over blocks of cells, and the mass of a block is put at its middle: that is off by
    less than the sum of the two sides of a block, 1/16 for square heatmaps, and usually far less.

    Mass that two measures share need not move, because the cost satisfies the triangle inequality.
    So only the differences are transported, by the network simplex of POT.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.metrics import earth_mover_distance
    >>> left, right = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    >>> earth_mover_distance(left, right)
    0.5
    """
    if isinstance(first, DiscreteMeasure):
        points, p, q = _common_support(first, second)
        return _plan_cost(points, p - q)
    p, q = _normalized(first, second)
    starts, middles = zip(*(_blocks(side) for side in p.shape), strict=True)
    difference = np.add.reduceat(np.add.reduceat(p - q, starts[0], axis=0), starts[1], axis=1)
    points = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, 2)
    return _plan_cost(points, difference.ravel())


def _plan_cost(points, difference):
    """Return the cost of moving the positive part of the difference onto the negative part."""
    import ot

    source, target = np.flatnonzero(difference > 0), np.flatnonzero(difference < 0)
    if not source.size or not target.size:
        return 0.0
    supply, demand = difference[source], -difference[target]
    moved = supply.sum()
    cost = np.abs(points[source, None] - points[target]).sum(axis=2)
    plan_cost = ot.emd2(supply / moved, demand / demand.sum(), cost, numItermax=10**7)
    return float(moved * plan_cost)


def _blocks(side):
    """Return the first cell of each block along a side, and the middles of the blocks."""
    starts = np.arange(0, side, -(-side // _MAX_SIDE))
    return starts, (starts + np.r_[starts[1:], side]) / (2.0 * side)


def _aligned(first, second):
    """Return the values of both on the same cells or points."""
    if isinstance(first, DiscreteMeasure):
        return _common_support(first, second)[1:]
    return tuple(h.ravel() for h in _normalized(first, second))


def _normalized(first, second):
    heatmaps = []
    for name, given in (("first", first), ("second", second)):
        values = np.asarray(given, dtype=float)
        if values.ndim != 2 or not np.isfinite(values).all() or (values < 0).any():
            raise ValueError(
                "A heatmap must be a two-dimensional array of finite non-negative numbers; the "
                f"{name} one is not, it has shape {values.shape}. np.clip(heatmap, 0, None) makes "
                "noisy counts one."
            )
        if not values.sum() > 0:
            raise ValueError(f"A heatmap must not be zero everywhere; the {name} one is.")
        heatmaps.append(values / values.sum())
    if heatmaps[0].shape != heatmaps[1].shape:
        raise ValueError(
            "Two heatmaps must have the same shape, got "
            f"{heatmaps[0].shape} and {heatmaps[1].shape}: make both with one resolution."
        )
    return heatmaps


def _common_support(first, second):
    """Return the points of two measures, once each, and both weights on them."""
    if not isinstance(second, DiscreteMeasure):
        raise TypeError(
            "Compare two heatmaps or two measures, got one of each: DiscreteMeasure(points, mass)."
        )
    both = np.concatenate([first.support, second.support])
    points, place = np.unique(both, axis=0, return_inverse=True)
    place = place.ravel()
    p = np.bincount(place[: first.n_points], first.weights, minlength=len(points))
    q = np.bincount(place[first.n_points :], second.weights, minlength=len(points))
    return points, p / p.sum(), q / q.sum()
