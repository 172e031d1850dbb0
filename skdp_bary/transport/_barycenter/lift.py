"""Lifting a barycenter found in few dimensions back to the space of the measures.

A plan between projected measures also tells which points of the original space an atom stands for,
and with what mass (Izzo, Silwal and Zhou 2021): the atom is put where those points cost least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._checks import check_mean_power, check_measures, check_shares
from .._costs import sparse_cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import sparray

    from ...transport._measures import DiscreteMeasure
    from ...transport._result import TransportResult

_MAX_ITER = 500


def lift_support(
    measures: Sequence[DiscreteMeasure],
    transports: Sequence[TransportResult],
    *,
    measure_weights: ArrayLike | None = None,
    p: float = 2,
) -> np.ndarray:
    """Place every atom where the points sent to it cost least.

    Parameters
    ----------
    measures : sequence of DiscreteMeasure
        In the original space, point by point those that were projected.
    transports : sequence of TransportResult
        Of the projected measures to the atoms, one for each measure.
    measure_weights : array-like of shape (n_measures,), default=None
        Importance of the measures; ``None`` weighs them equally.
    p : {1, 2}, default=2
        2 takes weighted means, 1 geometric medians.

    Returns
    -------
    ndarray of shape (n_atoms, n_features)
    """
    measures, p = check_measures(measures), check_mean_power(p)
    plans = _check_plans(measures, transports)
    shares = check_shares(measure_weights, len(measures), "measure_weights")
    counts = sum(s * plan.sum(axis=0) for s, plan in zip(shares, plans, strict=True))
    if not np.all(counts > 0):
        raise ValueError("transports must send mass to every atom, one receives none.")
    sums = sum(s * (t.T @ m.support) for s, t, m in zip(shares, plans, measures, strict=True))
    means = sums / counts[:, None]
    if p == 2:
        return means
    lifted = np.empty_like(means)
    for atom, start in enumerate(means):
        points, weights = _received(measures, plans, shares, atom)
        lifted[atom] = geometric_median(points, weights, start)
    return lifted


def plan_cost(
    measure: DiscreteMeasure, support: ArrayLike, plan: sparray, *, p: float = 2
) -> float:
    """Return the cost of a plan from a measure's points to atoms.

    Parameters
    ----------
    measure : DiscreteMeasure
        Where the mass comes from; row i of the plan is its point i.
    support : array-like of shape (n_atoms, n_features)
        The atoms.
    plan : sparse array of shape (n_points, n_atoms)
        Mass sent from each point to each atom.
    p : float, default=2
        Power of the distance.

    Returns
    -------
    float

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from skdp_bary.transport import DiscreteMeasure, plan_cost
    >>> plan_cost(DiscreteMeasure([[0.0], [1.0]]), [[2.0]], csr_array([[0.5], [0.5]]))
    2.5
    """
    support = np.asarray(support, dtype=np.float64)
    shape = measure.n_points, len(support)
    if plan.shape != shape or support.shape[1:] != (measure.n_features,):
        raise ValueError(
            f"plan must have a row for each point and a column for each atom, {shape}, and atoms "
            f"{measure.n_features} features, got {plan.shape} and atoms of shape {support.shape}."
        )
    return sparse_cost(measure.support, support, plan.tocsr(), float(p))


def geometric_median(points, weights, start, *, tol=1e-10):
    """Minimise the weighted sum of distances, by Weiszfeld's iteration.

    Where an iterate meets a point the step of Vardi and Zhang (2000) leaves it, unless it is the
    median.
    """
    median, scale = start, np.abs(points - start).max()
    for _ in range(_MAX_ITER):
        distance = np.linalg.norm(points - median, axis=1)
        away = distance > 1e-14 * scale
        pull = weights[away] / distance[away]
        if not away.any():
            break
        target = pull @ points[away] / pull.sum()
        force = np.linalg.norm(pull.sum() * (target - median))
        held = weights[~away].sum()
        keep = min(1.0, held / force) if force > 0 else 1.0
        moved = (1.0 - keep) * (target - median)
        median = median + moved
        if np.abs(moved).max() <= tol * scale:
            break
    return median


def _received(measures, plans, shares, atom):
    columns = [plan[:, [atom]].tocoo() for plan in plans]
    points = [m.support[c.coords[0]] for m, c in zip(measures, columns, strict=True)]
    weights = [s * c.data for s, c in zip(shares, columns, strict=True)]
    return np.concatenate(points), np.concatenate(weights)


def _check_plans(measures, transports):
    plans = [transport.plan.tocsc() for transport in transports]
    sizes, wanted = [plan.shape[0] for plan in plans], [m.n_points for m in measures]
    if sizes != wanted:
        raise ValueError(
            "transports must have one plan for each measure with one row for each of its points, "
            f"got plans with {sizes} rows for measures with {wanted} points."
        )
    return plans
