"""What PrivateTable asks: histograms of the columns by class, then tables of pairs by class."""

import math
from dataclasses import dataclass, replace

import numpy as np

from ...summaries.tables.columns import ColumnHistograms
from ...summaries.tables.pairs import PairDistances, PairTables
from .bins import bins_of
from .histograms import Thresholds, class_histograms, clean_histogram
from .tuning import TUNED

LEAST_ROWS = 10.0  # standard deviations of a class, to which the number of its rows is raised


@dataclass(frozen=True, eq=False)
class Histograms:
    """The first release, in rows, and what is made of it.

    Attributes
    ----------
    sizes, size_sd : ndarray of shape (n_classes,), float
        Rows of every class, raised to a few times their noise.
    raw_sizes : ndarray of shape (n_classes,)
        The same as they were released.
    counts : dict
        By place of the column: noisy counts of shape (n_classes, n_cells).
    sd : float
        Of the noise of a count.
    clean : dict
        Denoised counts of all classes together.
    """

    sizes: np.ndarray
    raw_sizes: np.ndarray
    size_sd: float
    counts: dict
    sd: float
    clean: dict

    @property
    def total(self):
        """Number of rows."""
        return float(self.sizes.sum())


@dataclass(frozen=True, eq=False)
class Measured:
    """All that was released about a table, in rows.

    Attributes
    ----------
    histograms : Histograms
    bins : dict
        By place: the bin of every cell.
    inside : dict
        By place: probabilities of cells in their bin, of shape (n_classes, n_cells).
    pairs : tuple of (int, int)
    tables : list of ndarray
        Of every pair, of shape (n_classes, n_bins, n_bins).
    pair_sd : float
        Of the noise of their entries.
    pair_scale : float
        Scale of that noise, as it was drawn.
    """

    histograms: Histograms
    bins: dict
    inside: dict
    pairs: tuple
    tables: list
    pair_sd: float
    size_scale: float = 0.0
    count_scale: float = 0.0
    pair_scale: float = 0.0


def questions(setting, facts):
    """Ask for histograms, where noise is pure for distances of pairs, and for tables of pairs."""
    query = ColumnHistograms(setting.sizes, setting.label, facts.units, facts.mass_public)
    released = yield "histograms", query
    found = read_histograms(setting, query, released)
    bins = table_bins(setting, facts, found)
    inside = {
        place: class_histograms(found.counts[place], found.clean[place], bins[place], found.sd)
        for place in setting.places
    }
    measured = Measured(found, bins, inside, (), [], 1.0, *_scales(released, facts))
    if not setting.pairs:
        return measured
    own = tuple(bins.get(place) for place in range(len(setting.columns)))
    pairs = setting.pairs
    if setting.ranks_pairs:
        kind = (own, pairs, setting.label, query.n_classes, facts.units)
        references = expected_tables(found, bins, PairTables(*kind))
        ranked = PairDistances(*kind, expected=np.rint(references * facts.units).astype(np.int64))
        pairs = best_pairs(setting, found, ranked, references, (yield "ranking", ranked))
    query = PairTables(own, pairs, setting.label, query.n_classes, facts.units)
    released = yield "pairs", query
    return replace(
        measured,
        pairs=pairs,
        tables=[table / facts.units for table in query.tables(released.values[0])],
        pair_sd=released.noise_sd[0] / facts.units,
        pair_scale=released.scales[0] / facts.units,
    )


def _scales(released, facts):
    return [scale / facts.units for scale in released.scales]


def read_histograms(setting, query, released):
    """Return the first release in rows, denoised."""
    sizes, cells = (values / query.units for values in released.values)
    size_sd, sd = (noise / query.units for noise in released.noise_sd)
    least = max(LEAST_ROWS * size_sd, 1.0)
    raw_sizes, sizes = sizes, np.maximum(sizes, least)
    limits = Thresholds.of(setting.pure)
    ends = np.cumsum([setting.sizes[place] for place in setting.places])
    parts = np.split(cells, ends[:-1], axis=1) if len(ends) else []
    counts = dict(zip(setting.places, parts, strict=True))
    pooled_sd = sd * math.sqrt(query.n_classes)
    # raised as a whole: classes without rows, raised one by one, add rows that nobody is
    total = max(float(raw_sizes.sum()), least * query.n_classes)
    clean = {
        place: clean_histogram(found.sum(axis=0), setting.columns[place], pooled_sd, total, limits)
        for place, found in counts.items()
    }
    return Histograms(sizes, raw_sizes, size_sd, counts, sd, clean)


def table_bins(setting, facts, found):
    """Return the bins of every column, as fine as the noise of the pairs will allow."""
    root = math.sqrt(len(found.sizes))
    least = TUNED.bin_above * root * nominal_sd(setting, facts)
    return {
        place: bins_of(clean, setting.columns[place], found.sd * root, least, setting.n_bins)
        for place, clean in found.clean.items()
    }


def nominal_sd(setting, facts):
    """Return the noise of an entry of a pair, in rows, which public facts tell."""
    if not setting.pairs:
        return 0.0
    query = PairTables((), setting.pairs[: setting.n_pairs], units=facts.units)
    mechanism = facts.mechanisms["pairs"]
    (scale,) = mechanism.scales(query.sensitivity(facts.relation))
    return mechanism.standard_deviation(scale) / facts.units


def expected_tables(found, bins, query):
    """Return the tables that independent columns would have in every class, one after another."""
    tables = []
    for i, j in query.pairs:
        first, second = (_binned(np.maximum(found.counts[p], 0.0), bins[p]) for p in (i, j))
        table = first[:, :, None] * second[:, None, :] / found.sizes[:, None, None]
        tables.append(table.ravel())
    return np.concatenate(tables)


def best_pairs(setting, found, query, references, released):
    """Return the pairs whose tables are furthest from independence, beyond what noise explains."""
    distances = released.values[0] / query.units
    bias = _noise_of_references(found, query, references)
    order = np.argsort(-(distances - bias), kind="stable")[: setting.n_pairs]
    return tuple(query.pairs[number] for number in sorted(order))


def _noise_of_references(found, query, references):
    """Return the distances that independent columns would show: those of counts and noise."""
    distances = []
    for (i, j), start, stop in zip(query.pairs, query.starts[:-1], query.starts[1:], strict=True):
        (first, v_i), (second, v_j) = (_shares(found, query, place) for place in (i, j))
        noise = first[:, :, None] ** 2 * v_j[:, None, :] + second[:, None, :] ** 2 * v_i[:, :, None]
        spread = np.sqrt(references[start:stop] + noise.ravel())
        distances.append(math.sqrt(2.0 / math.pi) * spread.sum())
    return np.array(distances)


def _shares(found, query, place):
    """Return the shares of the bins of a column in every class, and the noise of their counts."""
    bins = query.bins[place]
    counts = _binned(np.maximum(found.counts[place], 0.0), bins)
    noise = np.bincount(bins) * found.sd**2
    return counts / found.sizes[:, None], np.tile(noise, (len(counts), 1)).astype(float)


def _binned(counts, bins):
    """Return counts of cells added up in bins."""
    return np.stack([np.bincount(bins, row) for row in counts])
