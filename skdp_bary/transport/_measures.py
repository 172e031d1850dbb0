"""Discrete measures: weighted points, checked once and never changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class DiscreteMeasure:
    """Finitely many points with non-negative weights.

    Parameters
    ----------
    support : array-like of shape (n_points, n_features)
        The points. Kept as a read-only copy in double precision.
    weights : array-like of shape (n_points,), default=None
        Their masses: finite, non-negative, at least one of them positive. ``None`` gives every
        point the mass ``1 / n_points``.
    """

    support: np.ndarray
    weights: np.ndarray = None

    def __post_init__(self):
        support = np.array(self.support, dtype=np.float64, order="C")
        if support.ndim != 2 or support.shape[0] == 0 or support.shape[1] == 0:
            raise ValueError(
                "support must be an array of shape (n_points, n_features) with at least one point "
                f"and one feature, got shape {support.shape}."
            )
        if not np.isfinite(support).all():
            raise ValueError("support must be finite, got NaN or infinity.")
        object.__setattr__(self, "support", read_only(support))
        object.__setattr__(self, "weights", read_only(self._checked_weights(len(support))))

    def _checked_weights(self, n_points):
        if self.weights is None:
            return np.full(n_points, 1.0 / n_points)
        weights = np.array(self.weights, dtype=np.float64)
        if weights.shape != (n_points,):
            raise ValueError(
                f"weights must have one entry for each of the {n_points} points, "
                f"got shape {weights.shape}."
            )
        total = weights.sum()
        if not (np.isfinite(total) and total > 0 and weights.min() >= 0):
            raise ValueError(
                "weights must be finite and non-negative with a positive sum, "
                f"got minimum {weights.min()} and sum {total}."
            )
        return weights

    @property
    def n_points(self) -> int:
        """Number of points, those of zero weight included."""
        return self.support.shape[0]

    @property
    def n_features(self) -> int:
        """Dimension of the space the points live in."""
        return self.support.shape[1]

    @property
    def mass(self) -> float:
        """Sum of the weights."""
        return float(self.weights.sum())

    def normalized(self) -> DiscreteMeasure:
        """Return the same points with weights that sum to one."""
        return DiscreteMeasure(self.support, self.weights / self.weights.sum())

    def mean(self) -> np.ndarray:
        """Return the center of mass, of shape (n_features,)."""
        return self.weights @ self.support / self.weights.sum()


def read_only(array):
    """Return `array` after switching off its write flag."""
    array.setflags(write=False)
    return array
