"""How many rows of every class are in a bin, by all releases that tell."""

import numpy as np

from .._denoise.shrinkage import shrink_together


def class_counts(measured, place, counts, variances):
    """Return the best estimate of the counts of the bins of a column in every class.

    Sums of the tables of its pairs tell them too, often better than the histogram, whose bins are
    sums of many cells. What a class has beyond its share of all rows is shrunk by its noise.

    Parameters
    ----------
    measured : Measured
    place : int
        Of the column.
    counts : ndarray of shape (n_classes, n_bins)
        Of its histogram, noisy.
    variances : ndarray of shape (n_bins,)
        Of the noise of `counts`.

    Returns
    -------
    counts : ndarray of shape (n_classes, n_bins)
    variances : ndarray of shape (n_bins,)
        Of their noise, before it is shrunk.
    """
    precisions = 1.0 / np.maximum(variances, 1e-6)
    weighted = counts * precisions
    for pair, table in zip(measured.pairs, measured.tables, strict=True):
        if place in pair:
            summed = 2 - pair.index(place)
            own = 1.0 / max(measured.pair_sd**2 * table.shape[summed], 1e-6)
            weighted += own * table.sum(axis=summed)
            precisions += own
    counts, variances = weighted / precisions, 1.0 / precisions
    pooled = np.maximum(counts.sum(axis=0), 0.0)
    if len(counts) == 1 or not pooled.any():
        return counts, variances
    even = measured.histograms.sizes[:, None] * pooled / pooled.sum()
    moved = [shrink_together(own, variances) for own in counts - even]
    return even + np.stack(moved), variances
