"""From the released matrices of the cells to means and covariances, noise taken out."""

from dataclasses import dataclass, field, replace

import numpy as np

from .._denoise.shrinkage import positive_part, shrink_matrices, shrink_steps
from .images import largest_variances
from .rectified import RectifiedGaussian
from .tuning import TUNED


@dataclass(frozen=True, eq=False)
class Mixture:
    """Private moments of every cell of every class.

    The covariance of a cell is that of all rows, with the features scaled for the class, and a
    correction along some axes.

    Attributes
    ----------
    domain : Box, Ball or Mask
    weights : ndarray of shape (n_classes, n_cells)
        Of the cells of a class; rows sum to 1.
    means : ndarray of shape (n_classes, n_cells, n_features)
    pooled : ndarray of shape (n_features, n_features)
    scales : ndarray of shape (n_classes, n_features)
    axes : ndarray of shape (n_axes, n_features)
        Orthonormal.
    moves : ndarray of shape (n_classes, n_cells, n_axes, n_axes)
        Corrections along the axes.
    are_images : bool
    """

    domain: object
    weights: np.ndarray
    means: np.ndarray
    pooled: np.ndarray
    scales: np.ndarray
    axes: np.ndarray
    moves: np.ndarray
    are_images: bool
    _drawers: dict = field(default_factory=dict, init=False, repr=False)

    def __getstate__(self):
        return vars(self) | {"_drawers": {}}  # large, and quickly made again

    def covariance(self, code, cell):
        """Return the covariance of one cell; small eigenvalues may be below zero."""
        scales = self.scales[code]
        covariance = self.pooled * scales * scales[:, None]
        covariance += self.axes.T @ self.moves[code, cell] @ self.axes
        return self._capped(covariance, code, cell) if self.are_images else covariance

    def stretched(self, box):
        """Return the mixture of a unit box with every feature in units of the width of a box."""
        width = box.high - box.low
        return replace(
            self,
            domain=box,
            means=box.clip(box.low + self.means.reshape(-1, len(width)) * width).reshape(
                self.means.shape
            ),
            pooled=self.pooled * np.outer(width, width),
            axes=self.axes * width,
        )

    def draw(self, codes, rng):
        """Draw a row for every code of a class."""
        rows = np.empty((len(codes), self.means.shape[2]))
        for code in np.unique(codes):
            own = np.flatnonzero(codes == code)
            cells = rng.choice(self.weights.shape[1], size=len(own), p=self.weights[code])
            for cell in np.unique(cells):
                some = own[cells == cell]
                rows[some] = self._drawer(int(code), int(cell)).draw(len(some), rng)
        rows *= self.domain.high - self.domain.low
        rows += self.domain.low
        return self.domain.clip(rows)

    def _drawer(self, code, cell):
        """Return the rectified Gaussian of a cell, in units of the bounding box."""
        if (code, cell) not in self._drawers:
            low, width = self.domain.low, self.domain.high - self.domain.low
            covariance = self.covariance(code, cell) / np.outer(width, width)
            mean = np.clip((self.means[code, cell] - low) / width, 0.0, 1.0)
            self._drawers[code, cell] = RectifiedGaussian.of_moments(mean, covariance)
        return self._drawers[code, cell]

    def _capped(self, covariance, code, cell):
        """Reduce variances that no gray pixel has; dark pixels do not vary."""
        mean, domain = self.means[code, cell], self.domain
        limit = TUNED.largest_share * largest_variances(domain, mean)
        variance = np.maximum(np.diagonal(covariance), 1e-300)
        factor = np.sqrt(np.minimum(1.0, limit / variance))
        factor[mean - domain.low < TUNED.dark * (domain.high - domain.low)] = 0.0
        return covariance * factor * factor[:, None]


def read_mixture(domain, classes, scatter, basis, query, released):
    """Return the Mixture that follows from the release of the grams.

    Parameters
    ----------
    domain : Box, Ball or Mask
    classes : ClassMoments
    scatter : PooledScatter
    basis : ndarray of shape (n_features, n_features)
        Directions in the order of how much is expected along them.
    query : ByClass
        The question about the grams, and its release.
    released : Release
    """
    found = query.read(released)
    masses = cell_masses(found, classes.sizes)
    shares = masses / masses.sum(axis=1, keepdims=True)
    steps = cell_steps(found, masses, basis)
    noise = (np.stack([read.scatter_sd for read in found]) / masses) ** 2

    offsets = np.stack([of_class.used_centers for of_class in query.queries]) + steps
    means = classes.means[:, None] + offsets
    means = domain.clip(means.reshape(-1, means.shape[2])).reshape(means.shape)
    limits = np.einsum("ik,ikd->id", shares, largest_variances(domain, means))
    pooled_limits = classes.shares @ limits
    apart = spread_of_cells(classes, shares, offsets)
    pooled = positive_part(scatter.denoised(pooled_limits) - apart.T @ apart)

    are_images = scatter.image_shape is not None
    squares = np.ones(limits.shape)
    if are_images:  # pixels vary where their mean lets them
        squares = np.minimum(limits / pooled_limits, TUNED.largest_ratio)
    traces = class_traces(classes, found, masses, steps, noise)
    at_first = squares @ np.diagonal(pooled)
    scales = np.sqrt(squares * (traces / np.maximum(at_first, 1e-300))[:, None])

    axes = longest_axes(pooled)
    priors = np.stack([axes @ (pooled * s * s[:, None]) @ axes.T for s in scales])
    moves = corrections(priors, along(axes, found, masses, steps), shares, noise)
    return Mixture(domain, shares, means, pooled, scales, axes, moves, are_images)


def tied_mixture(domain, classes, scatter, basis):
    """Return the Mixture with one cell a class, all with the covariance of the pooled scatter.

    Parameters
    ----------
    domain : Box, Ball or Mask
    classes : ClassMoments
    scatter : PooledScatter
    basis : ndarray of shape (n_features, n_features) or None
    """
    steps = shrink_steps(scatter.steps, scatter.steps_sd**2, classes.sizes, basis)
    means = domain.clip(classes.means + steps)
    limits = largest_variances(domain, means)
    pooled = raised(scatter.denoised(classes.shares @ limits), TUNED.tied_floor * scatter.edge)
    n_classes, n_features = means.shape
    scales, axes = np.ones(means.shape), np.eye(1, n_features)
    moves, weights = np.zeros((n_classes, 1, 1, 1)), np.ones((n_classes, 1))
    are_images = scatter.image_shape is not None
    return Mixture(domain, weights, means[:, None], pooled, scales, axes, moves, are_images)


def raised(matrix, least):
    """Return a covariance with no eigenvalue below the least.

    Linear classifiers go along the axes of least variance, and noise must not choose them.
    """
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, least)) @ vectors.T


def cell_masses(found, sizes):
    """Return noisy numbers of rows of every cell, none far below the mean one of its class."""
    masses = np.stack([read.mass for read in found])
    return np.maximum(masses, TUNED.least_mass * sizes[:, None] / masses.shape[1])


def cell_steps(found, masses, basis):
    """Return means of the cells relative to their centers, smoothed where they are mostly noise."""
    sums = np.concatenate([read.sums for read in found])
    sds = np.concatenate([read.sums_sd for read in found])
    flat = masses.ravel()
    steps = shrink_steps(sums / flat[:, None], (sds / flat) ** 2, flat, basis)
    return steps.reshape(*masses.shape, -1)


def spread_of_cells(classes, shares, offsets):
    """Return a root of the covariance of the means of cells within their classes."""
    apart = offsets - np.einsum("ik,ikd->id", shares, offsets)[:, None]
    apart = apart * np.sqrt(classes.shares[:, None] * shares)[..., None]
    return apart.reshape(-1, offsets.shape[2])


def class_traces(classes, found, masses, steps, noise):
    """Return traces of the covariances of the classes, drawn together by their noise."""
    shares = masses / masses.sum(axis=1, keepdims=True)
    own = np.array(
        [
            [
                np.trace(scatter) / mass - step @ step
                for scatter, mass, step in zip(read.scatters, of_cells, moved, strict=True)
            ]
            for read, of_cells, moved in zip(found, masses, steps, strict=True)
        ]
    )
    own = (shares * own).sum(axis=1)
    wrong = 2.0 * steps.shape[2] * (shares**2 * noise).sum(axis=1)
    pooled = float(classes.shares @ own)
    moves = shrink_steps((own - pooled)[:, None], wrong, np.ones(len(own)))[:, 0]
    return np.maximum(pooled + moves, TUNED.least_trace * abs(pooled))


def longest_axes(pooled):
    """Return the axes of the pooled covariance, the longest first."""
    values, vectors = np.linalg.eigh(pooled)
    kept = int((values > TUNED.least_share * values.sum()).sum())
    return vectors[:, ::-1][:, : max(1, min(kept, TUNED.own_axes))].T


def along(axes, found, masses, steps):
    """Return noisy covariances of the cells along the axes."""
    noisy = np.empty((*masses.shape, len(axes), len(axes)))
    for code, cell in np.ndindex(masses.shape):
        step = axes @ steps[code, cell]
        scatter = axes @ found[code].scatters[cell] @ axes.T
        noisy[code, cell] = scatter / masses[code, cell] - np.outer(step, step)
    return noisy


def corrections(priors, noisy, shares, noise):
    """Return corrections along the axes, shrunk from cell to class to all rows."""
    classes = np.einsum("ik,ikab->iab", shares, noisy)
    class_noise = (shares**2 * noise).sum(axis=1)
    classes = priors + shrink_matrices(classes - priors, class_noise)
    if noisy.shape[1] == 1:
        return (positive_part(classes) - priors)[:, None]
    apart = (noisy - classes[:, None]).reshape(-1, *priors.shape[1:])
    apart = shrink_matrices(apart, noise.ravel()).reshape(noisy.shape)
    return positive_part(classes[:, None] + apart) - priors[:, None]
