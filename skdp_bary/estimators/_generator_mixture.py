"""From the released matrices of the cells to means and covariances, noise taken out."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ._generator_images import largest_variances
from ._generator_rectified import RectifiedGaussian
from ._shrinkage import positive_part, shrink_matrices, shrink_steps

_LEAST_MASS = 1.0 / 6.0  # of a cell, relative to the mean one
_MOST_AXES = 256  # along which cells have covariances of their own
_LEAST_SHARE = 1e-4  # of the variance, of an axis that is one
_LARGEST_RATIO = 4.0  # of the variance of a pixel in a class to that in all
# Mean, relative to the bounds, below which a pixel is dark in all images. Dark pixels are constant,
# and classifiers would tell classes by the noise in the means of constant ones, so they are few.
_DARK = 0.005
_LARGEST_SHARE = 0.6  # of the variance of a black or white pixel with this mean


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
        limit = _LARGEST_SHARE * largest_variances(domain, mean)
        variance = np.maximum(np.diagonal(covariance), 1e-300)
        factor = np.sqrt(np.minimum(1.0, limit / variance))
        factor[mean - domain.low < _DARK * (domain.high - domain.low)] = 0.0
        return covariance * factor * factor[:, None]


@dataclass(frozen=True, eq=False)
class MixtureReader:
    """What follows from the release of the grams."""

    route: object

    def mixture(self):
        """Return the Mixture."""
        return Mixture(
            self.route.facts.domain,
            self.shares,
            self.means,
            self.pooled,
            self.scales,
            self.axes,
            self.moves,
            self._are_images,
        )

    @property
    def _are_images(self):
        return self.route.estimator.image_shape is not None

    @cached_property
    def moments(self):
        """The CellMoments of every class."""
        facts = self.route.facts
        released = facts.released["grams"]
        parts = (released.query.released_for(released, i) for i in range(facts.n_classes))
        return [part.query.read(part) for part in parts]

    @cached_property
    def masses(self):
        """Noisy number of rows of every cell, none far below the mean one."""
        masses = np.stack([read.mass for read in self.moments])
        sizes = self.route.class_sizes[:, None]
        return np.maximum(masses, _LEAST_MASS * sizes / masses.shape[1])

    @cached_property
    def shares(self):
        """Shares of the cells in their classes."""
        return self.masses / self.masses.sum(axis=1, keepdims=True)

    @cached_property
    def steps(self):
        """Means of the cells relative to their centers, smoothed where they are mostly noise."""
        sums = np.concatenate([read.sums for read in self.moments])
        sds = np.concatenate([read.sums_sd for read in self.moments])
        masses, basis = self.masses.ravel(), self.route.basis
        if basis is None:
            basis = np.linalg.eigh(self.route.scatter(None))[1].T[::-1]
        steps = shrink_steps(sums / masses[:, None], (sds / masses) ** 2, masses, basis)
        return steps.reshape(*self.masses.shape, -1)

    @cached_property
    def offsets(self):
        """Means of the cells relative to the first means of their classes."""
        queries = self.route.facts.released["grams"].query.queries
        return np.stack([query.used_centers for query in queries]) + self.steps

    @cached_property
    def means(self):
        """Means of the cells."""
        means = self.route.class_means[:, None] + self.offsets
        return self.route.facts.domain.clip(means.reshape(-1, means.shape[2])).reshape(means.shape)

    @cached_property
    def limits(self):
        """Variances that the means of the cells allow, of every class."""
        limits = largest_variances(self.route.facts.domain, self.means)
        return np.einsum("ik,ikd->id", self.shares, limits)

    @cached_property
    def pooled(self):
        """Covariance of all rows within cells: that within classes less that of the cells."""
        shares, offsets = self.shares, self.offsets
        matrix = self.route.scatter(self.route.class_shares @ self.limits)
        apart = offsets - np.einsum("ik,ikd->id", shares, offsets)[:, None]
        apart = apart * np.sqrt(self.route.class_shares[:, None] * shares)[..., None]
        apart = apart.reshape(-1, len(matrix))
        return positive_part(matrix - apart.T @ apart)

    @cached_property
    def axes(self):
        """Axes of the pooled covariance, the longest first."""
        values, vectors = np.linalg.eigh(self.pooled)
        kept = int((values > _LEAST_SHARE * values.sum()).sum())
        return vectors[:, ::-1][:, : max(1, min(kept, _MOST_AXES))].T

    @cached_property
    def scales(self):
        """Scales of the features in every class, at which the pooled covariance has its trace.

        Pixels vary where their mean lets them.
        """
        traces = self._traces()
        squares = np.ones(self.limits.shape)
        if self._are_images:
            pooled = self.route.class_shares @ self.limits
            squares = np.minimum(self.limits / pooled, _LARGEST_RATIO)
        found = squares @ np.diagonal(self.pooled)
        return np.sqrt(squares * (traces / np.maximum(found, 1e-300))[:, None])

    def _traces(self):
        """Traces of the covariances of the classes, drawn together by their noise."""
        own = np.array(
            [
                [
                    np.trace(scatter) / mass - step @ step
                    for scatter, mass, step in zip(read.scatters, masses, steps, strict=True)
                ]
                for read, masses, steps in zip(self.moments, self.masses, self.steps, strict=True)
            ]
        )
        own = (self.shares * own).sum(axis=1)
        noise = 2.0 * self.steps.shape[2] * (self.shares**2 * self._noise).sum(axis=1)
        pooled = float(self.route.class_shares @ own)
        moves = shrink_steps((own - pooled)[:, None], noise, np.ones(len(own)))[:, 0]
        return np.maximum(pooled + moves, 0.1 * abs(pooled))

    @cached_property
    def moves(self):
        """Corrections along the axes, shrunk from cell to class to all rows."""
        axes, n_cells = self.axes, self.masses.shape[1]
        priors = np.stack([axes @ (self.pooled * s * s[:, None]) @ axes.T for s in self.scales])
        noisy = np.stack([[self._along(i, k) for k in range(n_cells)] for i in range(len(priors))])
        classes = np.einsum("ik,ikab->iab", self.shares, noisy)
        class_noise = (self.shares**2 * self._noise).sum(axis=1)
        classes = priors + shrink_matrices(classes - priors, class_noise)
        if n_cells == 1:
            return (positive_part(classes) - priors)[:, None]
        apart = (noisy - classes[:, None]).reshape(-1, *priors.shape[1:])
        apart = shrink_matrices(apart, self._noise.ravel()).reshape(noisy.shape)
        return positive_part(classes[:, None] + apart) - priors[:, None]

    def _along(self, code, cell):
        """Noisy covariance of one cell along the axes."""
        step = self.axes @ self.steps[code, cell]
        scatter = self.axes @ self.moments[code].scatters[cell] @ self.axes.T
        return scatter / self.masses[code, cell] - np.outer(step, step)

    @cached_property
    def _noise(self):
        """Variance of the noise of an entry of a covariance off the diagonal."""
        return (np.stack([read.scatter_sd for read in self.moments]) / self.masses) ** 2
