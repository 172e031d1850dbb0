"""Coarse bins of the cells of a column, of about one mass each."""

import numpy as np

from .tuning import TUNED


def bins_of(clean, cells, value_sd, least, n_bins):
    """Return the bin of every cell; bins are numbered from 0 in the order of their first cell.

    Parameters
    ----------
    clean : ndarray of shape (n_cells,)
        Denoised counts.
    cells : Cells
    value_sd : float
        Of the noise of a count: values without order that stand above it have bins of their own.
    least : float
        Smallest mass of a bin of a line.
    n_bins : int
        Wanted bins of a line.
    """
    line = clean[: cells.n_ordered]
    own = np.zeros(0, dtype=np.int64)
    if len(line):
        own = line_bins(line, max(line.sum() / n_bins, least))
    first = int(own[-1]) + 1 if len(own) else 0
    values = clean[cells.n_ordered : cells.n_values]
    own = np.concatenate([own, first + value_bins(values, value_sd)])
    if cells.missing is not None:
        own = np.append(own, own.max() + 1)
    return own


def line_bins(masses, least):
    """Return bins of neighboring cells: one is closed as soon as it holds enough."""
    bins, number, held = np.empty(len(masses), dtype=np.int64), 0, 0.0
    for cell, mass in enumerate(masses):
        bins[cell] = number
        held += mass
        if held >= least:
            number, held = number + 1, 0.0
    last = bins[-1]
    if last > 0 and masses[bins == last].sum() < TUNED.joined_below * least:
        bins[bins == last] = last - 1
    return bins


def value_bins(masses, sd):
    """Return a bin for each of the largest values that stand out, and one for all others."""
    order = np.argsort(-masses, kind="stable")[: TUNED.most_values]
    chosen = np.zeros(len(masses), dtype=bool)
    chosen[order] = masses[order] > TUNED.value_above * sd
    bins = np.cumsum(chosen) - 1
    bins[~chosen] = chosen.sum()
    return bins
