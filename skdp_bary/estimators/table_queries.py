"""Queries of PrivateTable: histograms by class, then tables of pairs."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from ..queries.classes import ColumnHistograms, PairDistances, PairTables

# What is public before a fit of PrivateTable begins: columns, steps and their shares.

_MOST_ALL_BINS = 1000  # of all columns; those of lines have fewer where there are many: time


@dataclass(frozen=True, eq=False)
class TableSetting:
    """Public parameters of a fit.

    Attributes
    ----------
    columns : list of Cells
        Of all columns of the table.
    label : int or None
        Place of the column that tells the class.
    pure : bool
        Whether there is no delta: noise is Laplace, and only some pairs are measured.
    """

    columns: list
    label: int | None
    pure: bool

    @cached_property
    def places(self):
        """Places of the columns next to the label."""
        return [place for place in range(len(self.columns)) if place != self.label]

    @cached_property
    def sizes(self):
        """Number of cells of every column."""
        return tuple(cells.n_cells for cells in self.columns)

    @cached_property
    def pairs(self):
        """All pairs of columns next to the label."""
        return tuple(combinations(self.places, 2))

    @property
    def n_pairs(self):
        """Number of pairs that are measured."""
        if not self.pure:
            return len(self.pairs)
        return min(len(self.pairs), math.ceil(TUNED.pairs_per_column * len(self.places)))

    @property
    def ranks_pairs(self):
        """Whether a step chooses among the pairs."""
        return self.n_pairs < len(self.pairs)

    @property
    def n_bins(self):
        """Wanted bins of a line."""
        most = _MOST_ALL_BINS // max(len(self.places), 1)
        return min(max(most, TUNED.fewest_bins), TUNED.most_bins)


def shares(setting):
    """Return the steps, in order, and their shares: of ``mu**2``, or of epsilon."""
    if not setting.pairs:
        return {"histograms": 1.0}
    if not setting.pure:
        first = TUNED.histograms_share
        return {"histograms": first, "pairs": 1.0 - first}
    first, ranking = TUNED.histograms_share, TUNED.pure_ranking_share
    if not setting.ranks_pairs:
        first = first / (1.0 - ranking)
        return {"histograms": first, "pairs": 1.0 - first}
    return {"histograms": first, "ranking": ranking, "pairs": 1.0 - first - ranking}


# What PrivateTable asks: histograms of the columns by class, then tables of pairs by class.

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
    # as fine as the noise of the pairs will allow
    root = math.sqrt(query.n_classes)
    noise = nominal_sd(setting, facts.relation, facts.units, facts.mechanisms)
    least = TUNED.gaussian.kept * root * noise
    bins = {
        place: bins_of(clean, setting.columns[place], found.sd * root, least, setting.n_bins)
        for place, clean in found.clean.items()
    }
    inside = {
        place: class_histograms(found.counts[place], found.clean[place], bins[place], found.sd)
        for place in setting.places
    }
    scales = [scale / facts.units for scale in released.scales]
    measured = Measured(found, bins, inside, (), [], 1.0, *scales)
    if not setting.pairs:
        return measured
    own = tuple(bins.get(place) for place in range(len(setting.columns)))
    pairs = setting.pairs
    if setting.ranks_pairs:
        kind = (own, pairs, setting.label, query.n_classes, facts.units)
        # the tables that independent columns would have in every class, one after another
        references = []
        for pair in pairs:
            first, second = (binned(np.maximum(found.counts[p], 0.0), bins[p]) for p in pair)
            table = first[:, :, None] * second[:, None, :] / found.sizes[:, None, None]
            references.append(table.ravel())
        references = np.concatenate(references)
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


def read_histograms(setting, query, released):
    """Return the first release in rows, denoised."""
    raw_sizes, cells = (values / query.units for values in released.values)
    size_sd, sd = (noise / query.units for noise in released.noise_sd)
    least = max(LEAST_ROWS * size_sd, 1.0)
    sizes = np.maximum(raw_sizes, least)
    limits = TUNED.laplace if setting.pure else TUNED.gaussian
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


def nominal_sd(setting, relation, units, mechanisms):
    """Return the noise of an entry of a pair, in rows, which public facts tell."""
    if not setting.pairs:
        return 0.0
    query = PairTables((), setting.pairs[: setting.n_pairs], units=units)
    mechanism = mechanisms["pairs"]
    (scale,) = mechanism.scales(query.sensitivity(relation))
    return mechanism.standard_deviation(scale) / units


def best_pairs(setting, found, query, references, released):
    """Return the pairs whose tables are furthest from independence, beyond what noise explains."""
    by_chance, known = [], {}
    for place in setting.places:  # shares of the bins in every class, and noise of their counts
        bins = query.bins[place]
        counts = binned(np.maximum(found.counts[place], 0.0), bins)
        known[place] = counts / found.sizes[:, None], np.bincount(bins) * found.sd**2
    for (i, j), start, stop in zip(query.pairs, query.starts[:-1], query.starts[1:], strict=True):
        (first, v_i), (second, v_j) = known[i], known[j]
        noise = first[:, :, None] ** 2 * v_j + second[:, None, :] ** 2 * v_i[:, None]
        spread = np.sqrt(references[start:stop] + noise.ravel())
        # mean size of a Gaussian: what counts that vary and noise add to a distance
        by_chance.append(math.sqrt(2.0 / math.pi) * spread.sum())
    beyond = released.values[0] / query.units - np.array(by_chance)
    order = np.argsort(-beyond, kind="stable")[: setting.n_pairs]
    return tuple(query.pairs[number] for number in sorted(order))


def binned(counts, bins):
    """Return counts of cells added up in bins."""
    return np.stack([np.bincount(bins, row) for row in counts])


# Released histograms without most of their noise.


@dataclass(frozen=True)
class Thresholds:
    """In standard deviations of the noise: Laplace noise has heavier tails than Gaussian.

    Attributes
    ----------
    kept : float
        From which a cell stays.
    half : float
        Below which a count is that of nobody.
    """

    kept: float
    half: float


def clean_histogram(counts, cells, sd, total, limits):
    """Return the denoised counts of all cells of a column.

    Parameters
    ----------
    counts : ndarray of shape (n_cells,)
        Noisy, of all classes together.
    cells : Cells
    sd : float
        Of the noise of an entry.
    total : float
        Number of rows, which is known better than the sum of the cells.
    limits : Thresholds
    """
    if cells.n_ordered <= TUNED.most_values:
        return nearest_masses(counts, np.ones(len(counts)), total)
    found = np.where(counts > limits.half * sd, counts, 0.0)
    beside = found[cells.n_ordered :]
    left, n_known = max(total - beside.sum(), 0.0), 1 + np.count_nonzero(beside)
    line = counts[: cells.n_ordered]
    found[: cells.n_ordered] = clean_line(line, cells.apart, sd, left, n_known, limits)
    return found


def clean_line(counts, apart, sd, total, n_known, limits):
    """Return the counts of the cells of a line.

    Cells that stand out stay as they are. How much is left of the total is known far better than
    where it is, so it never vanishes: it is spread over neighborhoods of the cells that stand out,
    over each of them as far as the counts make it likely.

    Parameters
    ----------
    counts : ndarray of shape (n_cells,)
        Noisy.
    apart : ndarray of shape (n_cells,)
        Cells that have no share of what is spread.
    sd : float
    total : float
        Rows on the line.
    n_known : int
        Counts with whose noise the total is known.
    limits : Thresholds
    """
    high = max(limits.kept, math.sqrt(2.0 * math.log(len(counts))) + 0.5)
    kept = counts > np.where(apart, limits.half, high) * sd
    found = np.where(kept, counts, 0.0)
    left, others = total - found.sum(), np.flatnonzero(~kept & ~apart)
    n_found = n_known - 1 + np.count_nonzero(kept)
    if n_found and left < limits.half * sd * math.sqrt(1 + n_found):
        return found
    near = neighborhoods(np.flatnonzero(kept), others)
    # neighborhoods stay beside which there is no more than noise
    beyond = [counts[others].sum() - counts[cells].sum() for cells in near]
    noise = [sd * math.sqrt(len(others) - len(cells)) for cells in near]
    near = [c for c, b, s in zip(near, beyond, noise, strict=True) if b <= limits.half * s + 1e-6]
    left = max(left, sd)
    # how likely what is left is spread over each neighborhood, in shares of 1
    sizes = np.array([len(cells) for cells in near])
    sums = np.array([counts[cells].sum() for cells in near])
    logs = (left * sums - 0.5 * left**2) / (sizes * sd**2)
    shares = np.exp(logs - logs.max(initial=-np.inf))
    shares[shares < TUNED.least_likely * shares.sum()] = 0.0  # cells without rows stay empty
    for cells, share in zip(near, shares / shares.sum(), strict=True):
        if share > 0.0:
            found[cells] += share * spread(counts[cells], left, sd)
    return found


def neighborhoods(kept, others):
    """Others within 1, 2, 4, ... cells of one that is kept; at last all."""
    if not len(kept) or not len(others):
        return [others] * min(len(others), 1)
    after = np.searchsorted(kept, others)
    before = np.abs(others - kept[np.maximum(after - 1, 0)])
    away = np.minimum(before, np.abs(others - kept[np.minimum(after, len(kept) - 1)]))
    n_sizes = math.ceil(math.log2(away.max())) + 1
    return [others[away <= 2**i] for i in range(n_sizes) if (away <= 2**i).any()]


def spread(counts, mass, sd):
    """Return a mass spread over cells by a binary tree of their noisy counts.

    The tree is grown to single cells and pruned from there: a range stays whole unless what all
    splits within it explain, in variances of the noise, is more than they cost. The masses of its
    leaves are the nearest ones that are not negative and have the known sum.
    """
    sums = np.concatenate([[0.0], np.cumsum(counts)])

    def pruned(start, stop, depth):
        """Return what the splits of a range gain, and the start of each of its leaves."""
        n, half = stop - start, (stop - start) // 2
        if n == 1:
            return 0.0, [start]
        parts = pruned(start, start + half, depth + 1), pruned(start + half, stop, depth + 1)
        left, right = sums[start + half] - sums[start], sums[stop] - sums[start + half]
        apart = abs(left / half - right / (n - half))
        beyond = max(apart - mass / half, 0.0)  # more than the mass can explain
        gain = (apart**2 - beyond**2) * half * (n - half) / (n * sd**2)
        gain += parts[0][0] + parts[1][0]
        gain -= min(TUNED.split_cost + TUNED.split_deeper * depth, TUNED.deep_cost)
        return (gain, parts[0][1] + parts[1][1]) if gain > 0.0 else (0.0, [start])

    starts = np.array(pruned(0, len(counts), 0)[1])
    n_cells = np.diff(np.append(starts, len(counts)))
    masses = nearest_masses(np.add.reduceat(counts, starts), n_cells, mass)
    return np.repeat(masses / n_cells, n_cells)


def nearest_masses(sums, n_cells, total):
    """Return the masses nearest to noisy ones that are not negative and have a known sum.

    Parameters
    ----------
    sums : ndarray of shape (n_ranges,)
        Noisy masses of ranges of cells.
    n_cells : ndarray of shape (n_ranges,)
        To which the variances of their noise are proportional.
    total : float
    """
    kept = np.ones(len(sums), dtype=bool)
    while True:
        excess = (sums[kept].sum() - total) / n_cells[kept].sum()
        masses = np.where(kept, sums - excess * n_cells, 0.0)
        if (masses >= 0.0).all():
            return masses
        kept &= masses >= 0.0


def class_histograms(counts, pooled, bins, sd):
    """Return the probabilities of cells inside their bins, class by class.

    What all classes together have beyond the denoised counts, and what a class has beyond its share
    of that, are each shrunk by how far they are from noise; the latter in every bin by itself, so
    that one cell in which classes differ does not bring in the noise of all others.

    Parameters
    ----------
    counts : ndarray of shape (n_classes, n_cells)
        Noisy.
    pooled : ndarray of shape (n_cells,)
        Denoised counts of all classes.
    bins : ndarray of shape (n_cells,)
    sd : float
        Of the noise of an entry of `counts`.
    """
    n_bins, n_classes = int(bins.max()) + 1, len(counts)
    inside = _inside(pooled, bins, n_bins)
    if n_classes == 1:
        return inside[None]
    active = pooled > 0.0
    shape = inside * active  # by least squares: a spike tells its mass without all others' noise
    masses = np.stack([np.bincount(bins, row * shape, minlength=n_bins) for row in counts])
    masses = np.maximum(masses / np.maximum(np.bincount(bins, shape**2), 1e-300), sd)
    shares = (masses / masses.sum(axis=0))[:, bins]
    masses = masses[:, bins]
    moved = (counts - masses * inside) * active
    together = moved.sum(axis=0)
    energy = max(float(together @ together), 1e-300)
    kept = max(1.0 - active.sum() * n_classes * sd**2 / energy, 0.0) * together
    noise = sd**2 * ((1.0 - shares) ** 2 + (n_classes - 1) * shares**2)
    apart = moved - shares * together
    n_active = np.bincount(bins, active)
    # n squares of noise come to n, and rarely to two standard deviations more
    could = n_active + 2.0 * np.sqrt(2.0 * n_active)
    energies = np.stack([np.bincount(bins, row) for row in apart**2])
    factors = 1.0 - could[bins] * noise / np.maximum(energies[:, bins], 1e-300)
    apart = np.maximum(factors, 0.0) * apart
    found = np.maximum(masses * inside + shares * kept + apart, 0.0) * active
    return np.stack([_inside(row, bins, n_bins, inside) for row in found])


def _inside(counts, bins, n_bins, otherwise=None):
    """Return counts over the sum of their bin; of empty bins `otherwise`, or evenly."""
    totals = np.bincount(bins, counts, minlength=n_bins)[bins]
    if otherwise is None:
        otherwise = 1.0 / np.bincount(bins, minlength=n_bins)[bins]
    return np.where(totals > 0.0, counts / np.where(totals > 0.0, totals, 1.0), otherwise)


# Coarse bins of the cells of a column, of about one mass each.


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
    own, first = np.zeros(0, dtype=np.int64), 0
    if len(line):
        own = line_bins(line, max(line.sum() / n_bins, least), least, cells.alone)
        first = int(own[-1]) + 1
    # of values without order, each of the largest that stand out, and all others together
    values = clean[cells.n_ordered : cells.n_values]
    order = np.argsort(-values, kind="stable")[: TUNED.most_values]
    chosen = np.zeros(len(values), dtype=bool)
    chosen[order] = values[order] > TUNED.gaussian.kept * value_sd
    bins = np.where(chosen, np.cumsum(chosen) - 1, chosen.sum())
    own = np.concatenate([own, first + bins])
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


def bins_between(levels, alone):
    """Return bins of cells in order: one ends where levels rise, and at cells that are alone."""
    new = (np.diff(levels) > 0) | alone[1:] | alone[:-1]
    return np.concatenate([np.zeros(min(len(levels), 1), dtype=np.int64), np.cumsum(new)])


# The tuned numbers of PrivateTable, and what each of them trades.


@dataclass(frozen=True)
class TableTuning:
    """Chosen on Adult, diamonds and a health insurance table, which ``benchmarks/table`` marks.

    None of them changes what is guaranteed: they divide the budget, and say what is made of
    released numbers.
    """

    # shares of mu**2 (Gaussian), or of epsilon (pure)
    histograms_share: float = 0.35
    pure_ranking_share: float = 0.10  # which pairs: the better ones against all less exactly
    pairs_per_column: float = 1.5  # that pure noise measures: many against few with less noise

    # histograms of numbers: what stands above their noise
    gaussian: Thresholds = Thresholds(4.0, 2.0)  # also for a bin of a value, a cut of a pair
    laplace: Thresholds = Thresholds(6.0, 2.5)
    least_likely: float = 0.01  # of a neighborhood that a mass is spread over
    split_cost: float = 3.0  # variances that a split at the top of the tree must explain,
    split_deeper: float = 0.7  # ... how many more on each level below
    deep_cost: float = 6.0  # ... and at most

    # bins: detail against noise and time
    most_bins: int = 16  # of a line
    most_values: int = 24  # of a category with bins of their own
    joined_below: float = 0.3  # of a bin, below which the last one joins its neighbor
    fewest_bins: int = 4

    # pairs
    together_noise: float = 0.8  # of it, that all classes together are shrunk by: the fit does too

    # mixture
    rate: float = 0.05  # of Adam, falling to zero over the second half
    spread: float = 0.7  # of the first components around the histograms
    label_spread: float = 0.5
    # first level of the pull to independence, and the least where all noise was taken out before
    penalty: float = 0.2
    least_penalty: float = 0.03
    most_penalty: float = 1.5
    misfit: float = 0.9  # mean squared residual over the noise at which the level rests
    patience: float = 0.3  # of the steps, before the level moves
    interval: int = 10  # steps between its moves
    gain: float = 0.5
    largest_move: float = 0.15
    least_share: float = 0.1  # standard deviations, to which a bin is raised before its logarithm


TUNED = TableTuning()
