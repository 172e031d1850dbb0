"""Released counts of one or two columns, with intervals for their noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from ..._optional import import_optional
from ...schema._cells import ListCells

_DRAWS = 20_000  # of sums of Laplace noise, for their quantiles


@dataclass(frozen=True, eq=False)
class Marginal:
    """How many rows have which values, by the release.

    Attributes
    ----------
    columns : tuple
        One or two names or places.
    values : list of tuple of str
        Values, or ranges of values, of each entry.
    counts : ndarray of shape (n_entries,)
        Released numbers of rows (persons): right on average, and below 0 at times.
    low, high : ndarray of shape (n_entries,)
        Ends of the interval of each entry; below 0 where there may be no rows at all.
    confidence : float
        Probability that an interval covers the exact number, entry by entry.
    """

    columns: tuple
    values: list
    counts: np.ndarray
    low: np.ndarray
    high: np.ndarray
    confidence: float

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row an entry."""
        pandas = import_optional("pandas", "cli", "Marginal.to_frame")
        parts = dict(zip(map(str, self.columns), zip(*self.values, strict=True), strict=True))
        numbers = {"count": self.counts, "low": self.low, "high": self.high}
        return pandas.DataFrame(parts | numbers)


def marginal(measured, setting, places, names, confidence):
    """Return the counts of one or two columns.

    Parameters
    ----------
    measured : Measured
    setting : TableSetting
    places : tuple of int
    names : tuple
    confidence : float
    """
    counts, scale, n_summed, words = _released(measured, setting, places)
    reach = _reach(scale, n_summed, confidence, setting.pure)
    return Marginal(
        columns=names,
        values=words,
        counts=counts,
        low=counts - reach,
        high=counts + reach,
        confidence=confidence,
    )


def _released(measured, setting, places):
    """Return counts, the scale of their noise, how many draws each has, and words for entries."""
    found, label = measured.histograms, setting.label
    n_classes = len(found.sizes)
    if places == (label,):
        words = [(setting.columns[label].label(cell),) for cell in range(n_classes)]
        return found.raw_sizes, measured.size_scale, np.ones(n_classes), words
    if len(places) == 1 or label in places:
        (own,) = [place for place in places if place != label]
        bins = measured.bins[own]
        table = np.stack([np.bincount(bins, row) for row in found.counts[own]])
        sizes, words = np.bincount(bins), bin_words(setting.columns[own], bins)
        if len(places) == 1:
            return table.sum(0), measured.count_scale, sizes * n_classes, [(w,) for w in words]
        classes = [setting.columns[label].label(code) for code in range(n_classes)]
        swap = places[0] != label
        entries = [(w, c) if swap else (c, w) for c in classes for w in words]
        return table.ravel(), measured.count_scale, np.tile(sizes, n_classes), entries
    table = measured.tables[measured.pairs.index(tuple(sorted(places)))].sum(axis=0)
    table = table if places[0] < places[1] else table.T
    words = [bin_words(setting.columns[place], measured.bins[place]) for place in places]
    entries = [(a, b) for a in words[0] for b in words[1]]
    return table.ravel(), measured.pair_scale, np.full(table.size, n_classes), entries


def bin_words(cells, bins):
    """Return the bins of a column in words."""
    words = []
    for number in range(int(bins.max()) + 1):
        own = np.flatnonzero(bins == number)
        if isinstance(cells, ListCells):
            words.append(" or ".join(cells.label(cell) for cell in own))
        elif own[0] == cells.missing:
            words.append(cells.label(own[0]))
        else:
            words.append(cells.in_words(cells.ends(own[0])[0], cells.ends(own[-1])[1]))
    return words


def _reach(scale, n_summed, confidence, pure):
    """Return half the width of intervals: quantiles of sums of draws."""
    if not pure:
        return ndtri(0.5 + 0.5 * confidence) * scale * np.sqrt(n_summed)
    rng, reach = np.random.default_rng(0), np.empty(len(n_summed))
    for n in np.unique(n_summed):
        sums = rng.gamma(n, 1.0, _DRAWS) - rng.gamma(n, 1.0, _DRAWS)  # of n Laplace draws
        reach[n_summed == n] = scale * float(np.quantile(np.abs(sums), confidence))
    return reach
