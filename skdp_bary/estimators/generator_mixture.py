"""Means and covariances with the noise taken out, as clipped Gaussians; what is known of images."""

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from scipy.fft import dct
from scipy.special import ndtr

from .noisy_means import positive_part, shrink_matrices, shrink_steps

# From the released matrices of the cells to means and covariances, noise taken out.

_OWN_AXES = 256  # along which cells have covariances of their own: time


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
        if not self.are_images:
            return covariance
        # no gray pixel has more variance than this, and dark pixels do not vary
        mean, domain = self.means[code, cell], self.domain
        limit = TUNED.largest_share * largest_variances(domain, mean)
        factor = np.sqrt(np.minimum(1.0, limit / np.maximum(np.diagonal(covariance), 1e-300)))
        factor[mean - domain.low < TUNED.dark * (domain.high - domain.low)] = 0.0
        return covariance * factor * factor[:, None]

    def stretched(self, box):
        """Return the mixture of a unit box with every feature in units of the width of a box."""
        width = box.high - box.low
        means = box.clip(box.low + self.means.reshape(-1, len(width)) * width)
        means, pooled = means.reshape(self.means.shape), self.pooled * np.outer(width, width)
        return replace(self, domain=box, means=means, pooled=pooled, axes=self.axes * width)

    def draw(self, codes, rng):
        """Draw a row for every code of a class."""
        rows = np.empty((len(codes), self.means.shape[2]))
        low, width = self.domain.low, self.domain.high - self.domain.low
        for code in np.unique(codes).tolist():
            own = np.flatnonzero(codes == code)
            cells = rng.choice(self.weights.shape[1], size=len(own), p=self.weights[code])
            for cell in np.unique(cells).tolist():
                some, place = own[cells == cell], (code, cell)
                if place not in self._drawers:  # in units of the bounding box
                    covariance = self.covariance(*place) / np.outer(width, width)
                    mean = np.clip((self.means[place] - low) / width, 0.0, 1.0)
                    self._drawers[place] = RectifiedGaussian.of_moments(mean, covariance)
                rows[some] = self._drawers[place].draw(len(some), rng)
        rows *= width
        rows += low
        return self.domain.clip(rows)


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
    masses = np.stack([read.mass for read in found])  # shape (n_classes, n_cells)
    # a cell far below the mean one of its class is mostly noise
    masses = np.maximum(masses, TUNED.least_mass * classes.sizes[:, None] / masses.shape[1])
    shares = masses / masses.sum(axis=1, keepdims=True)
    sums = np.concatenate([read.sums for read in found])
    sds, flat = np.concatenate([read.sums_sd for read in found]), masses.ravel()
    steps = shrink_steps(sums / flat[:, None], (sds / flat) ** 2, flat, basis)
    steps = steps.reshape(*masses.shape, -1)
    noise = (np.stack([read.scatter_sd for read in found]) / masses) ** 2

    offsets = np.stack([of_class.used_centers for of_class in query.queries]) + steps
    means = classes.means[:, None] + offsets
    means = domain.clip(means.reshape(-1, means.shape[2])).reshape(means.shape)
    limits = np.einsum("ik,ikd->id", shares, largest_variances(domain, means))
    pooled_limits = classes.shares @ limits
    # rows about the mean of their class vary as within cells, and as the means of cells do
    apart = offsets - np.einsum("ik,ikd->id", shares, offsets)[:, None]
    apart = apart * np.sqrt(classes.shares[:, None] * shares)[..., None]
    apart = apart.reshape(-1, offsets.shape[2])
    pooled = positive_part(scatter.denoised(pooled_limits) - apart.T @ apart)

    are_images = scatter.image_shape is not None
    squares = np.ones(limits.shape)
    if are_images:  # pixels vary where their mean lets them
        squares = np.minimum(limits / pooled_limits, TUNED.largest_ratio)
    traces = class_traces(classes, found, masses, steps, noise)
    at_first = squares @ np.diagonal(pooled)
    scales = np.sqrt(squares * (traces / np.maximum(at_first, 1e-300))[:, None])

    values, vectors = np.linalg.eigh(pooled)
    kept = int((values > TUNED.least_share * values.sum()).sum())
    axes = vectors[:, ::-1][:, : max(1, min(kept, _OWN_AXES))].T  # the longest first
    priors = np.stack([axes @ (pooled * s * s[:, None]) @ axes.T for s in scales])
    noisy = np.empty((*masses.shape, len(axes), len(axes)))
    for code, cell in np.ndindex(masses.shape):
        step = axes @ steps[code, cell]
        scatter = axes @ found[code].scatters[cell] @ axes.T
        noisy[code, cell] = scatter / masses[code, cell] - np.outer(step, step)
    # shrunk from cell to class to all rows
    of_classes = np.einsum("ik,ikab->iab", shares, noisy)
    class_noise = (shares**2 * noise).sum(axis=1)
    of_classes = priors + shrink_matrices(of_classes - priors, class_noise)
    found = of_classes[:, None]
    if noisy.shape[1] > 1:
        apart = (noisy - found).reshape(-1, *priors.shape[1:])
        found = found + shrink_matrices(apart, noise.ravel()).reshape(noisy.shape)
    moves = positive_part(found) - priors[:, None]
    return Mixture(domain, shares, means, pooled, scales, axes, moves, are_images)


def tied_mixture(domain, classes, scatter, basis):
    """Return the Mixture with one cell per class, all with the covariance of the pooled scatter.

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
    # linear classifiers go along the axes of least variance, and noise must not choose them
    values, vectors = np.linalg.eigh(scatter.denoised(classes.shares @ limits))
    pooled = (vectors * np.maximum(values, TUNED.tied_floor * scatter.edge)) @ vectors.T
    n_classes, n_features = means.shape
    scales, axes = np.ones(means.shape), np.eye(1, n_features)
    moves, weights = np.zeros((n_classes, 1, 1, 1)), np.ones((n_classes, 1))
    are_images = scatter.image_shape is not None
    return Mixture(domain, weights, means[:, None], pooled, scales, axes, moves, are_images)


def class_traces(classes, found, masses, steps, noise):
    """Return traces of the covariances of the classes, drawn together by their noise."""
    shares = masses / masses.sum(axis=1, keepdims=True)
    own = np.empty_like(masses)
    for code, cell in np.ndindex(masses.shape):
        step, scatter = steps[code, cell], found[code].scatters[cell]
        own[code, cell] = np.trace(scatter) / masses[code, cell] - step @ step
    own = (shares * own).sum(axis=1)
    wrong = 2.0 * steps.shape[2] * (shares**2 * noise).sum(axis=1)
    pooled = float(classes.shares @ own)
    moves = shrink_steps((own - pooled)[:, None], wrong, np.ones(len(own)))[:, 0]
    return np.maximum(pooled + moves, TUNED.least_share * abs(pooled))


# Rectified Gaussians: latent Gaussians that have given moments once clipped to [0, 1].

_ROUNDS = 60
_LARGEST_STEP = 0.7
_RATIOS = np.linspace(-6.0, 60.0, 4001)  # of location and scale
_UNCLIPPED = 40.0  # of them, from which no double is small enough for what clipping changes
_ORDERS = 5  # of the expansion of covariances
_NEWTON_STEPS = 5
_LEAST_MEAN = 1e-4  # closer to a bound, or with less variance, a feature is constant
_LEAST_VARIANCE = 1e-10
_LARGEST_VARIANCE = 0.95  # relative to m (1 - m), that of a variable with two values
_LEAST_EIGENVALUE = 1e-4  # of a latent correlation matrix of which directions are drawn


def clipped_moments(location, scale):
    """Return the mean and the variance of a clipped Gaussian, and their derivatives.

    The derivatives are the matrices of (mean, second moment) by (location, scale), as four arrays.
    """
    low, high = -location / scale, (1.0 - location) / scale
    inside = ndtr(high) - ndtr(low)
    at_low, at_high = _density(low), _density(high)
    slope = at_low - at_high
    bend = inside + low * at_low - high * at_high
    above = ndtr(-high)
    mean = location * inside + scale * slope + above
    square = location**2 * inside + 2.0 * location * scale * slope + scale**2 * bend + above
    by_location = 2.0 * (location * inside + scale * slope)
    by_scale = 2.0 * (location * slope + scale * bend)
    return mean, square - mean**2, (inside, slope, by_location, by_scale)


def latent_parameters(mean, variance):
    """Return locations and scales of Gaussians that have these moments when clipped to [0, 1].

    Newton's method with short steps for the logarithms of mean and variance, as functions of
    location / scale and the logarithm of the scale; it starts from the Gaussian that has these
    moments when clipped at zero only. Means above one half are those of one minus the variable.

    Parameters
    ----------
    mean, variance : ndarray of shape (n,)
        Means strictly between 0 and 1, variances below ``mean * (1 - mean)``.
    """
    small = np.minimum(mean, 1.0 - mean)
    # location / scale and the logarithm of the scale for clipping at zero only
    tail, density = ndtr(_RATIOS), _density(_RATIOS)
    first = density + _RATIOS * tail
    second = (1.0 + _RATIOS**2) * tail + _RATIOS * density
    wanted = np.log1p(variance / small**2)
    falling = np.log(second / first**2)
    ratio = np.interp(wanted, falling[::-1], _RATIOS[::-1])
    log_scale, sd = np.log(small / np.interp(ratio, _RATIOS, first)), np.sqrt(variance)
    far = small >= _UNCLIPPED * sd
    ratio, log_scale = np.where(far, small / sd, ratio), np.where(far, np.log(sd), log_scale)
    for _ in range(_ROUNDS):
        scale = np.exp(log_scale)
        location = ratio * scale
        now, spread, (a, b, c, d) = clipped_moments(location, scale)
        now, spread = np.maximum(now, 1e-300), np.maximum(spread, 1e-300)
        m_ratio, m_scale = a * scale / now, (a * location + b * scale) / now
        s_ratio, s_scale = c * scale, c * location + d * scale
        v_ratio = (s_ratio - 2.0 * now**2 * m_ratio) / spread
        v_scale = (s_scale - 2.0 * now**2 * m_scale) / spread
        gap_m, gap_v = np.log(small / now), np.log(variance / spread)
        det = m_ratio * v_scale - m_scale * v_ratio
        det = np.where(np.abs(det) > 1e-12, det, 1e-12)
        moves = np.stack([gap_m * v_scale - m_scale * gap_v, m_ratio * gap_v - v_ratio * gap_m])
        step = np.clip(moves / det, -_LARGEST_STEP, _LARGEST_STEP)
        ratio, log_scale = ratio + step[0], log_scale + step[1]
        if max(np.abs(gap_m).max(initial=0.0), np.abs(gap_v).max(initial=0.0)) < 1e-9:
            break
    scale = np.exp(log_scale)
    return np.where(mean > 0.5, 1.0 - ratio * scale, ratio * scale), scale


def latent_correlation(location, scale, covariance):
    """Return the latent correlations for which clipped Gaussians have the covariances wanted.

    With latent correlation r the clipped variables have the covariance ``sum_k r**k h_k h_k' / k!``
    (Mehler's formula), where ``h_k`` is the mean of a clipped variable times the k-th Hermite
    polynomial of its latent one. The series is cut and solved by Newton's method.
    """
    # h_k / sqrt(k!): scale times the change of density times polynomial between the ends
    ends = np.stack([-location / scale, (1.0 - location) / scale])
    inside = ndtr(ends)
    coefficients = [scale * (inside[1] - inside[0])]
    before, now, weight = np.zeros_like(ends), _density(ends), 1.0
    for k in range(2, _ORDERS + 1):
        weight /= np.sqrt(k)
        coefficients.append(scale * weight * (now[0] - now[1]))
        before, now = now, ends * now - (k - 2) * before
    terms = [np.outer(h, h) for h in coefficients]
    linear = np.maximum(terms[0], 1e-300)
    rho = np.clip(covariance / linear, -1.0, 1.0)
    for _ in range(_NEWTON_STEPS):
        value, slope = np.zeros_like(rho), np.zeros_like(rho)
        for term in terms[::-1]:  # Horner's rule, for the series and its derivative
            slope *= rho
            slope += value
            slope += term
            value += term
            value *= rho
        value -= covariance
        rho -= np.clip(value / np.maximum(slope, 0.1 * linear), -0.5, 0.5)
        np.clip(rho, -1.0, 1.0, out=rho)
    np.fill_diagonal(rho, 1.0)
    return rho


@dataclass(frozen=True, eq=False)
class RectifiedGaussian:
    """A Gaussian with few independent directions, clipped to the unit cube.

    Attributes
    ----------
    location : ndarray of shape (n_features,)
    varying : ndarray of int
        Features that are not constant.
    factor : ndarray of shape (n_directions, n_varying)
    """

    location: np.ndarray
    varying: np.ndarray
    factor: np.ndarray

    @classmethod
    def of_moments(cls, mean, covariance):
        """Return the rectified Gaussian with these moments after clipping, as far as there is one.

        Parameters
        ----------
        mean : ndarray of shape (n_features,)
            In [0, 1].
        covariance : ndarray of shape (n_features, n_features)
        """
        variance = np.minimum(np.diagonal(covariance), _LARGEST_VARIANCE * mean * (1.0 - mean))
        varying = np.flatnonzero(
            (np.minimum(mean, 1.0 - mean) > _LEAST_MEAN) & (variance > _LEAST_VARIANCE)
        )
        center, scale = latent_parameters(mean[varying], variance[varying])
        rho = latent_correlation(center, scale, covariance[np.ix_(varying, varying)])
        values, vectors = np.linalg.eigh(rho.astype(np.float32))
        kept = values > _LEAST_EIGENVALUE
        root = (vectors[:, kept] * np.sqrt(values[kept])).T
        root *= scale / np.sqrt((root**2).sum(axis=0))
        location = mean.copy()
        location[varying] = center
        return cls(location.astype(np.float32), varying, root.astype(np.float32))

    def draw(self, n_rows, rng):
        """Draw rows of the unit cube."""
        rows = np.tile(self.location, (n_rows, 1))
        normals = rng.standard_normal((n_rows, len(self.factor)), dtype=np.float32)
        rows[:, self.varying] += normals @ self.factor
        return np.clip(rows, 0.0, 1.0, out=rows)


def _density(x):
    return np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)


# What is known in public about images: smoothness, and that near pixels vary together.


@lru_cache(maxsize=4)
def image_basis(image_shape):
    """Return the cosine basis of images as rows, smooth ones first; None for no images.

    Parameters
    ----------
    image_shape : tuple (height, width) or (height, width, channels), or None
    """
    if image_shape is None:
        return None
    height, width, channels = full_shape(image_shape)
    vertical, horizontal = (dct(np.eye(n), axis=0, norm="ortho") for n in (height, width))
    waves = np.kron(vertical, horizontal)
    down, right = np.arange(height) / height, np.arange(width) / width
    order = np.argsort(np.hypot(down[:, None], right).ravel(), kind="stable")
    return np.kron(waves[order], np.eye(channels))


def full_shape(image_shape):
    """Return height, width and the number of channels."""
    return (*image_shape, 1)[:3]


@lru_cache(maxsize=4)
def neighbor_pairs(image_shape):
    """Return the pairs of pixels of every short lag, both ways round, as lists of index arrays.

    A lag and its opposite are one entry; the first one is zero.
    """
    height, width, channels = full_shape(image_shape)
    places = np.arange(height * width * channels).reshape(height, width, channels)
    reach = TUNED.largest_lag
    pairs = []
    for down in range(min(reach, height - 1) + 1):
        for right in range(-min(reach, width - 1), min(reach, width - 1) + 1):
            if (down, right) < (0, 0):
                continue
            here = places[: height - down, max(-right, 0) : width - max(right, 0)]
            there = places[down:, max(right, 0) : width + min(right, 0)]
            pairs.append((here.ravel(), there.ravel()))
    return pairs


def largest_variances(domain, means):
    """Return the largest variances of rows in the bounding box of a domain with these means."""
    width = domain.high - domain.low
    found = (means - domain.low) * (domain.high - means)
    return np.maximum(found, TUNED.least_share * width**2)


def lag_sums(matrix, image_shape):
    """Return the sum of the entries of a symmetric matrix over the pairs of every lag."""
    return np.array([matrix[pair].sum() for pair in neighbor_pairs(image_shape)])


def stationary(values, scales, image_shape):
    """Return the matrix with one value a lag, times the scales of the two pixels."""
    matrix = np.zeros((len(scales), len(scales)))
    for value, (here, there) in zip(values, neighbor_pairs(image_shape), strict=True):
        entries = value * scales[here] * scales[there]
        matrix[here, there] = matrix[there, here] = entries
    return matrix


def smooth_covariance(matrix, noise, limits, image_shape):
    """Return a noisy covariance of images without most of its noise.

    It is drawn to one in which pixels vary by their means and near ones together, in the cosine
    basis: the covariance of two waves is kept where covariances of such waves stand out.

    Parameters
    ----------
    matrix : ndarray of shape (n_pixels, n_pixels)
    noise : float
        Variance of the noise of an entry off the diagonal.
    limits : ndarray of shape (n_pixels,)
        Variances that the means allow, above zero.
    image_shape : tuple
    """
    scales, basis = np.sqrt(limits), image_basis(image_shape)
    lags = lag_sums(matrix, image_shape)
    lags /= lag_sums(np.outer(scales, scales), image_shape)
    prior = stationary(lags, scales, image_shape)
    moves = shrink_matrices((basis @ (matrix - prior) @ basis.T)[None], np.array([noise]))[0]
    return prior + basis.T @ moves @ basis


# The tuned numbers of PrivateGenerator, and what each of them trades.


@dataclass(frozen=True)
class GeneratorTuning:
    """Chosen on 50,000 training rows of MNIST and Fashion-MNIST by classifiers on 10,000 others.

    ``benchmarks/generator/images.py`` repeats that on the test rows. None of them changes what is
    guaranteed: they divide the budget, and say where rows are clipped and what is taken for noise.
    """

    # shares of mu**2
    means_share: float = 0.05  # good origins and clipping lengths against all that follows
    scatter_share: float = 0.20  # what all classes have in common against what each has
    cells_share: float = 0.15  # of all rounds: good cells against good moments of them
    grams_share: float = 0.60
    tied_means_share: float = 0.15  # where all classes share one covariance: flat from .1 to .2

    # cells
    n_cells: int = 5  # of a class: shapes that are no Gaussian against noise in each
    signal: float = 5000.0  # mu times persons of a class, from which several beat one
    rounds: int = 3  # of Lloyd's algorithm: better cells against noisier rounds
    most_axes: int = 30  # in which cells are found: detail against noise
    least_mass: float = 1.0 / 6.0  # of a cell over the mean one: smaller ones are mostly noise

    # where rows are clipped: clipped rows against noise
    least_reach: float = 0.1  # of the root mean square distance over the radius of the domain
    scatter_reach: float = 1.05  # of the scatter and of cells, over that distance of all rows
    gram_reach: float = 0.95  # of the grams, over that distance in a class
    other_noise: float = 8.0  # of masses and sums beside the scatter, where they are not used
    tied_sums: float = 2.0  # of the sums beside the scatter, where they move the means

    # where all classes share one covariance
    tied_floor: float = 0.15  # of the edge of the noise: the least variance along an axis
    gram_shares: tuple = (1.0, 0.3)  # squared radius and squared constant: scatters against masses

    # what is taken for noise
    fewest_axes: int = 16  # of the pooled scatter that are kept, whatever the noise
    detected: float = 1.02  # times the edge of the noise, from which an axis counts
    # of the variance, along an axis or in a class; of a pixel, over the squared width of bounds
    least_share: float = 1e-4

    # images
    largest_lag: int = 4  # of pixels that vary together: smoothness against detail
    largest_ratio: float = 4.0  # of the variance of a pixel in a class to that in all
    # Mean over the bounds, below which a pixel is dark in all images. Dark pixels are constant, and
    # classifiers would tell classes by the noise in the means of constant ones, so they are few.
    dark: float = 0.005
    largest_share: float = 0.6  # of the variance of a black or white pixel with this mean


TUNED = GeneratorTuning()
