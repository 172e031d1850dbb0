"""Exact optimal transport on the line: quantile functions and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ._checks import check_measure, check_power

if TYPE_CHECKING:
    from ..transport._measures import DiscreteMeasure


def quantiles(measure: DiscreteMeasure, levels: ArrayLike) -> np.ndarray:
    """Return the least points below which lies at least the given share of the mass.

    Parameters
    ----------
    measure : DiscreteMeasure
        With one feature.
    levels : array-like
        Numbers in [0, 1].

    Returns
    -------
    ndarray
        Of the shape of `levels`.

    Examples
    --------
    >>> from skdp_bary.transport import DiscreteMeasure, quantiles
    >>> quantiles(DiscreteMeasure([[3.0], [1.0]]), [0.25, 0.5, 0.75]).tolist()
    [1.0, 1.0, 3.0]
    """
    levels = np.asarray(levels, dtype=np.float64)
    if not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError(f"levels must be numbers in [0, 1], got {levels!r}.")
    values, ends = _sorted_masses(measure, "measure")
    return values[np.minimum(np.searchsorted(ends, levels), len(values) - 1)]


def univariate_cost(first: DiscreteMeasure, second: DiscreteMeasure, *, p: float = 2) -> float:
    """Return the p-th power of the Wasserstein distance between two measures on the line.

    Masses are normalised to one. For p at least one the monotone plan is optimal, whatever the
    costs tie.

    Parameters
    ----------
    first, second : DiscreteMeasure
        With one feature.
    p : float, default=2
        At least one.

    Returns
    -------
    float

    Examples
    --------
    >>> from skdp_bary.transport import DiscreteMeasure
    >>> from skdp_bary.transport._univariate import univariate_cost
    >>> univariate_cost(DiscreteMeasure([[0.0], [1.0]]), DiscreteMeasure([[3.0]]))
    6.5
    """
    p = check_power(p)
    x, x_ends = _sorted_masses(first, "first")
    y, y_ends = _sorted_masses(second, "second")
    ends = np.union1d(x_ends, y_ends)  # of the pieces of the monotone plan
    i = np.minimum(np.searchsorted(x_ends, ends), len(x) - 1)
    j = np.minimum(np.searchsorted(y_ends, ends), len(y) - 1)
    return float(np.diff(ends, prepend=0.0) @ np.abs(x[i] - y[j]) ** p)


def _sorted_masses(measure, name):
    """Return values in order, and cumulated masses that end at one."""
    check_measure(measure, name)
    if measure.n_features != 1:
        raise ValueError(f"{name} must have one feature, got {measure.n_features}.")
    used = np.flatnonzero(measure.weights > 0)
    order = used[np.argsort(measure.support[used, 0], kind="stable")]
    ends = np.cumsum(measure.weights[order])
    return measure.support[order, 0], ends / ends[-1]
