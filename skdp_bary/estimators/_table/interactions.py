"""Tables of pairs without noise that would pass for a difference between classes.

What the columns of a pair have in common in a class, beyond what each of them has alone, is noise
for the most part where budgets are small, and models that learn from drawn rows take it for a sign
of the class. How much of it is noise is told by its energy, whose expectation under noise alone is
public. Post-processing.
"""

from dataclasses import dataclass

import numpy as np

from .tuning import TUNED


@dataclass(frozen=True, eq=False)
class Interactions:
    """One table of a pair, taken apart.

    Attributes
    ----------
    even : ndarray of shape (n_classes, n_bins, n_bins)
        What columns that are independent in every class would have.
    together : ndarray of shape (n_bins, n_bins)
        What all classes together have beyond that.
    apart : ndarray of shape (n_classes, n_bins, n_bins)
        What each class has beyond its share of `together`.
    """

    even: np.ndarray
    together: np.ndarray
    apart: np.ndarray

    def without_noise(self, sds, together_sd):
        """Return the table without what is no larger than noise."""
        shares = self.even / self.even.sum(axis=0)
        together = shrink_singular(self.together[None], np.array([together_sd]))
        return self.even + shares * together + shrink_singular(self.apart, sds)


def without_noise(measured, priors):
    """Return the share of noise in what sets the classes apart, and tables with that much less.

    Parameters
    ----------
    measured : Measured
    priors : dict
        By place of the column: probabilities of its bins in every class.

    Returns
    -------
    share : float
    tables : list of ndarray
    """
    sizes, sd = measured.histograms.sizes, measured.pair_sd
    if len(sizes) == 1 or not measured.tables:
        return 0.0, measured.tables
    of_class = sizes / sizes.sum()
    parts = [
        taken_apart(table, sizes, priors[i], priors[j])
        for (i, j), table in zip(measured.pairs, measured.tables, strict=True)
    ]
    sds = sd * np.sqrt((1.0 - of_class) ** 2 + of_class**2 * (len(sizes) - 1))
    free = sum((n - 1) * (m - 1) for n, m in (part.together.shape for part in parts))
    energy = sum(float(np.vdot(part.apart, part.apart)) for part in parts)
    share = min(1.0, free * float((sds**2).sum()) / max(energy, 1e-300))
    together_sd = TUNED.together_noise * sd * np.sqrt(len(sizes))
    tables = [
        share * part.without_noise(sds, together_sd) + (1.0 - share) * table
        for part, table in zip(parts, measured.tables, strict=True)
    ]
    return share, tables


def taken_apart(table, sizes, first, second):
    """Return the Interactions of a table, given the probabilities of its columns by class."""
    even = sizes[:, None, None] * first[:, :, None] * second[:, None, :]
    beyond = table - even
    for axis in (1, 2):
        beyond = beyond - beyond.mean(axis=axis, keepdims=True)
    together = beyond.sum(axis=0)
    return Interactions(even, together, beyond - (sizes / sizes.sum())[:, None, None] * together)


def shrink_singular(matrices, sds):
    """Return matrices whose singular values are shrunk by the noise of their entries.

    For entries with independent noise this loses least of the squares as sizes grow: Gavish and
    Donoho, "Optimal Shrinkage of Singular Values" (2017). Rows and columns sum to zero, so that
    each side has one dimension less.

    Parameters
    ----------
    matrices : ndarray of shape (n_matrices, n_rows, n_columns)
    sds : ndarray of shape (n_matrices,)
    """
    fewer, more = sorted(n - 1 for n in matrices.shape[1:])
    if fewer == 0:
        return np.zeros_like(matrices)
    left, values, right = np.linalg.svd(matrices, full_matrices=False)
    noise, ratio = (sds**2 * more)[:, None], fewer / more
    squares = values**2
    kept = np.maximum((squares - (ratio + 1.0) * noise) ** 2 - 4.0 * ratio * noise**2, 0.0)
    kept = np.sqrt(kept) / np.maximum(values, 1e-300)
    kept *= squares > (1.0 + np.sqrt(ratio)) ** 2 * noise
    return (left * kept[:, None, :]) @ right
