"""What is known in public about images: smoothness, and that near pixels vary together."""

from functools import lru_cache

import numpy as np
from scipy.fft import dct

from .._denoise.shrinkage import shrink_matrices
from .tuning import TUNED


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
    radii = np.hypot(
        *np.meshgrid(np.arange(height) / height, np.arange(width) / width, indexing="ij")
    )
    order = np.argsort(radii.ravel(), kind="stable")
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
    return np.maximum(found, TUNED.least_variance * width**2)


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
