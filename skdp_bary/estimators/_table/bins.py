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
        Mass that stands above the noise of the pairs: the smallest of a bin of a line.
    n_bins : int
        Wanted bins of a line.
    """
    line = clean[: cells.n_ordered]
    own = np.zeros(0, dtype=np.int64)
    if len(line):
        own = line_bins(line, max(line.sum() / n_bins, least), least, cells.alone)
    first = int(own[-1]) + 1 if len(own) else 0
    values = clean[cells.n_ordered : cells.n_values]
    own = np.concatenate([own, first + value_bins(values, value_sd)])
    if cells.missing is not None:
        own = np.append(own, own.max() + 1)
    return own


def line_bins(masses, wanted, least, alone):
    """Return bins of neighboring cells: one is closed as soon as it holds enough.

    Spikes, which are cells that hold enough, and special values that stand above the noise, share
    no bin with others that do.
    """
    bins, number, held = np.empty(len(masses), dtype=np.int64), 0, 0.0
    for cell, mass in enumerate(masses):
        spike = mass > 0.0 and mass >= (least if alone[cell] else wanted)
        if spike and held > 0.0 and held >= least:
            number, held = number + 1, 0.0
        bins[cell] = number
        held += mass
        if spike or held >= wanted:
            number, held = number + 1, 0.0
    last = bins[-1]
    if last > 0 and masses[bins == last].sum() < min(TUNED.joined_below * wanted, least):
        bins[bins == last] = last - 1
    return bins


def even_bins(cells, n_bins):
    """Return public bins of the cells of a line: special values, and about `n_bins` of the rest."""
    even = np.arange(cells.n_ordered) * n_bins // max(cells.n_ordered, n_bins)
    new = (np.diff(even) > 0) | cells.alone[1:] | cells.alone[:-1]
    return np.concatenate([np.zeros(min(len(even), 1), dtype=np.int64), np.cumsum(new)])


def value_bins(masses, sd):
    """Return a bin for each of the largest values that stand out, and one for all others."""
    order = np.argsort(-masses, kind="stable")[: TUNED.most_values]
    chosen = np.zeros(len(masses), dtype=bool)
    chosen[order] = masses[order] > TUNED.value_above * sd
    bins = np.cumsum(chosen) - 1
    bins[~chosen] = chosen.sum()
    return bins
