"""Rectified Gaussians: latent Gaussians that have given moments once clipped to [0, 1].

Clipping moves the mean and the variance of a Gaussian. Here the latent location and scale of every
feature are those for which the clipped variable has the mean and variance wanted, and the latent
correlations those for which the clipped ones have the covariances wanted, up to a few terms of
their expansion in Hermite polynomials.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

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
    ratio, log_scale = _one_sided(small, variance)
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
        ratio += _short((gap_m * v_scale - m_scale * gap_v) / det)
        log_scale += _short((m_ratio * gap_v - v_ratio * gap_m) / det)
        if max(np.abs(gap_m).max(initial=0.0), np.abs(gap_v).max(initial=0.0)) < 1e-9:
            break
    scale = np.exp(log_scale)
    return np.where(mean > 0.5, 1.0 - ratio * scale, ratio * scale), scale


def _one_sided(mean, variance):
    """Return location / scale and the logarithm of the scale for clipping at zero only."""
    tail, density = ndtr(_RATIOS), _density(_RATIOS)
    first = density + _RATIOS * tail
    second = (1.0 + _RATIOS**2) * tail + _RATIOS * density
    wanted = np.log1p(variance / mean**2)
    falling = np.log(second / first**2)
    ratio = np.interp(wanted, falling[::-1], _RATIOS[::-1])
    log_scale, sd = np.log(mean / np.interp(ratio, _RATIOS, first)), np.sqrt(variance)
    far = mean >= _UNCLIPPED * sd
    return np.where(far, mean / sd, ratio), np.where(far, np.log(sd), log_scale)


def latent_correlation(location, scale, covariance):
    """Return the latent correlations for which clipped Gaussians have the covariances wanted.

    With latent correlation r the clipped variables have the covariance ``sum_k r**k h_k h_k' / k!``
    (Mehler's formula), where ``h_k`` is the mean of a clipped variable times the k-th Hermite
    polynomial of its latent one. The series is cut and solved by Newton's method.
    """
    low, high = -location / scale, (1.0 - location) / scale
    terms = [np.outer(h, h) for h in _hermite_coefficients(low, high, scale)]
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


def _hermite_coefficients(low, high, scale):
    """Yield ``h_k / sqrt(k!)``: scale times the change of density times polynomial at the ends."""
    yield scale * (ndtr(high) - ndtr(low))
    ends = np.stack([low, high])
    before, now, weight = np.zeros_like(ends), _density(ends), 1.0
    for k in range(2, _ORDERS + 1):
        weight /= np.sqrt(k)
        yield scale * weight * (now[0] - now[1])
        before, now = now, ends * now - (k - 2) * before


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


def _short(step):
    return np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
