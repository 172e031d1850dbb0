"""Argument checks shared by the solvers."""

import numpy as np

from .._plain import is_integer, is_number
from .._shown import shown
from ._measures import DiscreteMeasure


def check_measure(value, name):
    """Return `value` when it is a DiscreteMeasure, or raise naming the parameter."""
    if not isinstance(value, DiscreteMeasure):
        raise TypeError(f"{name} must be a DiscreteMeasure, got {type(value).__name__}.")
    return value


def check_measures(measures):
    """Return a non-empty list of measures that live in one space."""
    if isinstance(measures, DiscreteMeasure):
        raise TypeError("measures must be a sequence of DiscreteMeasure, got a single one.")
    measures = [check_measure(m, f"measures[{i}]") for i, m in enumerate(measures)]
    dimensions = {m.n_features for m in measures}
    if len(dimensions) != 1:
        raise ValueError(
            "measures must be non-empty and have the same number of features, "
            f"got {len(measures)} measures with {sorted(dimensions)} features."
        )
    return measures


def check_power(p):
    """Return `p` as a float of at least one, or raise."""
    if not is_number(p) or not 1 <= p < np.inf:
        raise ValueError(f"p must be a finite number in [1, inf), got {p!r}.")
    return float(p)


def check_mean_power(p):
    """Return `p` when it is 1 or 2, the powers that have an update of the atoms."""
    if p not in (1, 2):
        raise ValueError(f"p must be 1 or 2, got {p!r}.")
    return check_power(p)


def check_count(value, name):
    """Return `value` as an int of at least one, or raise naming the parameter."""
    if not is_integer(value) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {shown(value)}.")
    return int(value)


def check_positive(value, name):
    """Return `value` as a finite float above zero, or raise naming the parameter."""
    if not is_number(value) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {shown(value)}.")
    return float(value)


def check_shares(weights, size, name):
    """Return `size` positive weights that sum to one; equal ones for ``None``."""
    if weights is None:
        return np.full(size, 1.0 / size)
    shares = np.array(weights, dtype=np.float64)
    if shares.shape != (size,) or not np.isfinite(shares).all() or not (shares > 0).all():
        raise ValueError(f"{name} must be {size} finite numbers above 0, got {weights!r}.")
    return shares / shares.sum()


def check_points(points, shape, name):
    """Return a finite array of the given shape, or raise naming the parameter."""
    points = np.array(points, dtype=np.float64)
    if points.shape != shape or not np.isfinite(points).all():
        raise ValueError(f"{name} must be finite of shape {shape}, got shape {points.shape}.")
    return points
