"""Discrete measures, what solvers return, and exact transport on the line and on slices."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.isotonic import isotonic_regression

from ..exceptions import check_real

# Discrete measures: weighted points, checked once and never changed.


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
                f"and one feature, got shape {support.shape}. [[0.0], [1.0]] is two on a line."
            )
        if not np.isfinite(support).all():
            raise ValueError(
                "support must be finite, got NaN or infinity: filter by np.isfinite(support)."
            )
        object.__setattr__(self, "support", read_only(support))
        n_points = len(support)
        if self.weights is None:
            weights = np.full(n_points, 1.0 / n_points)
        else:
            weights = np.array(self.weights, dtype=np.float64)
        if weights.shape != (n_points,):
            raise ValueError(
                f"weights must have one entry for each of the {n_points} points, "
                f"got shape {weights.shape}. Leave weights=None for equal masses."
            )
        total = weights.sum()
        if not (np.isfinite(total) and total > 0 and weights.min() >= 0):
            raise ValueError(
                "weights must be finite and non-negative with a positive sum, "
                f"got minimum {weights.min()} and sum {total}."
            )
        object.__setattr__(self, "weights", read_only(weights))

    @property
    def n_points(self) -> int:
        """Number of points, those of zero weight included."""
        return self.support.shape[0]

    @property
    def n_features(self) -> int:
        """Dimension of the space the points live in."""
        return self.support.shape[1]

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


# Argument checks shared by the solvers.


def check_measure(value, name):
    """Return `value` when it is a DiscreteMeasure, or raise naming the parameter."""
    if not isinstance(value, DiscreteMeasure):
        raise TypeError(
            f"{name} must be a DiscreteMeasure, got {type(value).__name__}: "
            "DiscreteMeasure(points, weights)."
        )
    return value


def check_measures(measures):
    """Return a non-empty list of measures that live in one space."""
    if isinstance(measures, DiscreteMeasure):
        raise TypeError(
            "measures must be a sequence of DiscreteMeasure, got a single one: pass [measure]."
        )
    measures = [check_measure(m, f"measures[{i}]") for i, m in enumerate(measures)]
    dimensions = {m.n_features for m in measures}
    if len(dimensions) != 1:
        raise ValueError(
            "measures must be non-empty and have the same number of features, "
            f"got {len(measures)} measures with {sorted(dimensions)} features."
        )
    return measures


def check_shares(weights, size):
    """Return `size` positive weights of measures that sum to one; equal ones for ``None``."""
    if weights is None:
        return np.full(size, 1.0 / size)
    shares = np.array(weights, dtype=np.float64)
    if shares.shape != (size,) or not np.isfinite(shares).all() or not (shares > 0).all():
        raise ValueError(
            f"measure_weights must be {size} finite numbers above 0, got {weights!r}: None for "
            "equal ones."
        )
    return shares / shares.sum()


# What the solvers return.


@dataclass(frozen=True, eq=False)
class TransportResult:
    """Optimal transport from points to atoms.

    Attributes
    ----------
    cost : float
        Cost of the plan, for masses normalized to one: the p-th power of the Wasserstein distance.
    dual : float
        Value of the potentials: no plan costs less.
    plan : scipy.sparse.csr_array of shape (n_points, n_atoms)
        Mass sent from each point to each atom; at most n_points + n_atoms - 1 entries.
    potentials : ndarray of shape (n_atoms,)
        Atom j takes only points for which ``cost - potentials[j]`` is least.
    masses : ndarray of shape (n_atoms,)
        Mass each atom receives.
    projections : ndarray of shape (n_atoms, n_features)
        Mean of the points each atom receives; the atom itself where it receives none.
    """

    cost: float
    dual: float
    plan: sparse.csr_array
    potentials: np.ndarray
    masses: np.ndarray
    projections: np.ndarray

    @property
    def gap(self) -> float:
        """Cost less dual, never negative; relative gaps are ``gap / cost``."""
        return max(self.cost - self.dual, 0.0)


@dataclass(frozen=True, eq=False)
class BarycenterResult:
    """Atoms of a barycenter and the transport of every measure to them.

    Attributes
    ----------
    support : ndarray of shape (n_atoms, n_features)
    weights : ndarray of shape (n_atoms,)
    cost : float
        Weighted mean of the transport costs at `support`.
    dual : float
        Weighted mean of the dual values: the transport costs at `support` are no smaller.
    transports : tuple of TransportResult
        One for each measure, with plan, potentials and barycentric projections.
    """

    support: np.ndarray
    weights: np.ndarray
    cost: float
    dual: float
    transports: tuple

    @property
    def gap(self) -> float:
        """Cost less dual, never negative."""
        return max(self.cost - self.dual, 0.0)


# Exact optimal transport on the line.


def univariate_cost(first: DiscreteMeasure, second: DiscreteMeasure, *, p: float = 2) -> float:
    """Return the p-th power of the Wasserstein distance between two measures on the line.

    Masses are normalized to one. For p at least one the monotone plan is optimal, whatever the
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
    >>> from skdp_bary.transport.measures import univariate_cost
    >>> univariate_cost(DiscreteMeasure([[0.0], [1.0]]), DiscreteMeasure([[3.0]]))
    6.5
    """
    p = check_real(p, "p", low=1)
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
        raise ValueError(
            f"{name} must have one feature, got {measure.n_features}: project it, or take "
            "solve_semidiscrete."
        )
    used = np.flatnonzero(measure.weights > 0)
    order = used[np.argsort(measure.support[used, 0], kind="stable")]
    ends = np.cumsum(measure.weights[order])
    return measure.support[order, 0], ends / ends[-1]


# Sliced transport: quantiles of projections, and particles that have them.

_SETTLED = 1e-4  # of the spread of the quantiles: after a smaller step there is none


def monotone_rows(values):
    """Return the nearest array with non-decreasing rows (isotonic regression)."""
    return np.stack([isotonic_regression(row) for row in np.asarray(values, dtype=np.float64)])


def block_matrix(n_points, n_blocks):
    """Return the matrix that takes sorted points of equal mass to the means of equal blocks.

    A point on the border of two blocks counts in both by its share, so the means are exact for any
    two numbers.

    Returns
    -------
    scipy.sparse.csr_array of shape (n_blocks, n_points)
        Lines sum to one.
    """
    # in units of 1 / (n_points * n_blocks) all borders are integers
    borders = np.union1d(
        np.arange(n_points + 1, dtype=np.int64) * n_blocks,
        np.arange(n_blocks + 1, dtype=np.int64) * n_points,
    )
    shares = np.diff(borders) / n_points
    starts = borders[:-1]
    return sparse.csr_array(
        (shares, (starts // n_points, starts // n_blocks)), shape=(n_blocks, n_points)
    )


def sliced_gradient(points, directions, quantiles):
    """Return the squared distance of points to given quantiles, and its gradient.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        Points of equal mass.
    directions : ndarray of shape (n_features, n_directions)
    quantiles : ndarray of shape (n_directions, n_blocks)

    Returns
    -------
    cost : float
        Mean over directions and blocks of the squared difference.
    gradient : ndarray of shape (n_points, n_features)
    """
    matrix = block_matrix(len(points), quantiles.shape[1])
    residuals, gradient = _residuals(points, directions, quantiles, matrix)
    scale = 2.0 / residuals.size
    return float(np.mean(residuals**2)), scale * (gradient.T @ directions.T)


def fit_particles(directions, quantiles, n_points, rng, *, max_iter=200):
    """Return points of equal mass whose block means come close to given ones.

    Starts at a Gaussian cloud of their mean and scale and moves every point along the
    least-squares solution of the displacements that its slices ask for. For a tight frame, a shift
    of all quantiles is followed in one step.

    Parameters
    ----------
    directions : ndarray of shape (n_features, n_directions)
    quantiles : ndarray of shape (n_directions, n_blocks)
        Non-decreasing rows.
    n_points : int
    rng : numpy.random.Generator or numpy.random.RandomState
    max_iter : int, default=200

    Returns
    -------
    ndarray of shape (n_points, n_features)
    """
    d, k = directions.shape
    inverse = np.linalg.pinv(directions)
    middle = quantiles.mean(axis=1)
    scale = math.sqrt(np.mean((quantiles - middle[:, None]) ** 2))
    points = middle @ inverse + scale * rng.standard_normal((n_points, d))
    matrix = block_matrix(n_points, quantiles.shape[1])
    share = n_points / quantiles.shape[1]
    # with fewer directions than features the pseudo-inverse spans them alone, as it should
    for _ in range(max_iter):
        _, gradient = _residuals(points, directions, quantiles, matrix)
        move = -share * (gradient.T @ inverse)
        points += move
        if math.sqrt(np.mean(move**2)) <= _SETTLED * scale:
            break
    return points


def _residuals(points, directions, quantiles, matrix):
    """Return block means minus `quantiles`, and what each point takes of them on each slice."""
    projections = np.ascontiguousarray((points @ directions).T)
    order = np.argsort(projections, axis=1)
    residuals = (matrix @ np.take_along_axis(projections, order, axis=1).T).T - quantiles
    gradient = np.empty_like(projections)
    np.put_along_axis(gradient, order, (matrix.T @ residuals.T).T, axis=1)
    return residuals, gradient
