"""Convolutions and correlations by their definition, for few short windows.

Sums of products of positive numbers lose no digits, so nothing is hidden by rounding, as it is in
the tails of a transform, and no factor needs to be tilted.
"""

import numpy as np
from numpy.lib.stride_tricks import as_strided


def convolve_all(factors):
    """Return the convolution of all factors: axis -2 counts them, the last are their places."""
    n = factors.shape[-2]
    if n == 1:
        return factors[..., 0, :]
    half = n // 2
    return _convolve(convolve_all(factors[..., :half, :]), convolve_all(factors[..., half:, :]))


def correlate_others(known, factors):
    """Return, for each factor and place of it, the sum over masses of all the others.

    Each mass of the others counts as often as `known` says of the total, the last axis of which are
    masses from zero on. Shaped as `factors`.
    """
    n, size = factors.shape[-2:]
    if n == 1:
        return known[..., None, :size]
    half, found = n // 2, []
    for own, others in ((slice(half), slice(half, n)), (slice(half, n), slice(half))):
        kept = factors[..., own, :]
        places = kept.shape[-2] * (size - 1) + 1
        about = _correlate(known, convolve_all(factors[..., others, :]), places)
        found.append(correlate_others(about, kept))
    return np.concatenate(found, axis=-2)


def _convolve(first, second):
    width = second.shape[-1] - 1
    padded = np.zeros((*first.shape[:-1], first.shape[-1] + 2 * width))
    padded[..., width : width + first.shape[-1]] = first
    return _slide(padded, np.ascontiguousarray(second[..., ::-1]))


def _correlate(known, other, places):
    """Return the sums of ``known[place + mass] * other[mass]`` at so many places."""
    needed = places + other.shape[-1] - 1
    if known.shape[-1] < needed:
        known = np.concatenate(
            [known, np.zeros((*known.shape[:-1], needed - known.shape[-1]))], axis=-1
        )
    return _slide(known[..., :needed], other)


def _slide(known, other):
    """Return the products of `other` with every window of `known` that is as long."""
    width, step = other.shape[-1], known.strides[-1]
    shape = (*known.shape[:-1], known.shape[-1] - width + 1, width)
    windows = as_strided(known, shape, (*known.strides, step), writeable=False)
    return np.einsum("...ij,...j->...i", windows, other)
