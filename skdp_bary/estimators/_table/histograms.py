"""Released histograms without most of their noise."""

import math
from dataclasses import dataclass

import numpy as np

from .tuning import TUNED


@dataclass(frozen=True)
class Thresholds:
    """In standard deviations of the noise: Laplace noise has heavier tails than Gaussian."""

    kept: float
    half: float

    @classmethod
    def of(cls, pure):
        """Return those of pure or of Gaussian noise."""
        if pure:
            return cls(TUNED.pure_kept_above, TUNED.pure_half_above)
        return cls(TUNED.kept_above, TUNED.half_above)


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
    beyond = [counts[others].sum() - counts[cells].sum() for cells in near]
    noise = [sd * math.sqrt(len(others) - len(cells)) for cells in near]
    near = [c for c, b, s in zip(near, beyond, noise, strict=True) if b <= limits.half * s + 1e-6]
    left = max(left, sd)
    for cells, share in zip(near, likelihoods(counts, near, left, sd), strict=True):
        if share > 0.0:
            found[cells] += share * spread(counts[cells], left, sd)
    return found


def neighborhoods(kept, others):
    """Return which of the others are within 1, 2, 4, ... cells of one that is kept; at last all."""
    if not len(kept) or not len(others):
        return [others] * min(len(others), 1)
    after = np.searchsorted(kept, others)
    before = np.abs(others - kept[np.maximum(after - 1, 0)])
    away = np.minimum(before, np.abs(others - kept[np.minimum(after, len(kept) - 1)]))
    n_sizes = math.ceil(math.log2(away.max())) + 1
    return [others[away <= 2**i] for i in range(n_sizes) if (away <= 2**i).any()]


def likelihoods(counts, near, mass, sd):
    """Return how likely a mass is spread over each of some sets of cells, in shares of 1."""
    sizes = np.array([len(cells) for cells in near])
    sums = np.array([counts[cells].sum() for cells in near])
    logs = (mass * sums - 0.5 * mass**2) / (sizes * sd**2)
    found = np.exp(logs - logs.max(initial=-np.inf))
    found[found < TUNED.least_likely * found.sum()] = 0.0  # cells without rows stay empty
    return found / found.sum()


def spread(counts, mass, sd):
    """Return a mass spread over cells by a binary tree of their noisy counts.

    The tree is grown to single cells and pruned from there: a range stays whole unless what all
    splits within it explain, in variances of the noise, is more than they cost. The masses of its
    leaves are the nearest ones that are not negative and have the known sum.
    """
    starts = np.array(_leaves(counts, mass, sd))
    n_cells = np.diff(np.append(starts, len(counts)))
    masses = nearest_masses(np.add.reduceat(counts, starts), n_cells, mass)
    return np.repeat(masses / n_cells, n_cells)


def _leaves(counts, mass, sd):
    """Return where the ranges of a pruned tree start."""
    sums = np.concatenate([[0.0], np.cumsum(counts)])

    def pruned(start, stop, depth):
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

    return pruned(0, len(counts), 0)[1]


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
    apart = _shrunk_by_bin(moved - shares * together, noise, active, bins)
    found = np.maximum(masses * inside + shares * kept + apart, 0.0) * active
    return np.stack([_inside(row, bins, n_bins, inside) for row in found])


def _shrunk_by_bin(moves, noise, active, bins):
    """Return moves of cells, shrunk in each bin by what its noise could have come to."""
    n_active = np.bincount(bins, active)
    could = n_active + 2.0 * np.sqrt(2.0 * n_active)
    energies = np.stack([np.bincount(bins, row) for row in moves**2])
    factors = 1.0 - could[bins] * noise / np.maximum(energies[:, bins], 1e-300)
    return np.maximum(factors, 0.0) * moves


def _inside(counts, bins, n_bins, otherwise=None):
    """Return counts over the sum of their bin; of empty bins `otherwise`, or evenly."""
    totals = np.bincount(bins, counts, minlength=n_bins)[bins]
    if otherwise is None:
        otherwise = 1.0 / np.bincount(bins, minlength=n_bins)[bins]
    return np.where(totals > 0.0, counts / np.where(totals > 0.0, totals, 1.0), otherwise)
