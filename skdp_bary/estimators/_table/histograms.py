"""Released histograms without most of their noise."""

import math
from dataclasses import dataclass

import numpy as np

from .tuning import TUNED


@dataclass(frozen=True)
class Thresholds:
    """In standard deviations of the noise: Laplace noise has heavier tails than Gaussian."""

    kept: float
    split: float
    half: float

    @classmethod
    def of(cls, pure):
        """Return those of pure or of Gaussian noise."""
        if pure:
            return cls(TUNED.pure_kept_above, TUNED.pure_split_above, TUNED.pure_half_above)
        return cls(TUNED.kept_above, TUNED.split_above, TUNED.half_above)


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
        return clean_values(counts, sd)
    on_line = np.zeros(len(counts), dtype=bool)
    on_line[: cells.n_ordered] = ~cells.apart
    found = np.where(counts > limits.half * sd, counts, 0.0)
    left, n_found = max(total - found[~on_line].sum(), 0.0), np.count_nonzero(found[~on_line])
    found[on_line] = clean_line(counts[on_line], sd, left, limits, n_found)
    return found


def clean_values(counts, sd):
    """Return the counts of values without order; of many, those below the noise are dropped."""
    least = sd if len(counts) > TUNED.many_values else 0.0
    found = np.where(counts > least, counts, 0.0)
    return found if found.any() else np.ones(len(counts))


def clean_line(counts, sd, total, limits, n_found=0):
    """Return the counts of the cells of a line.

    Cells that stand out stay as they are. What is left of the total is spread over the others,
    evenly but for halves of ranges that differ by more than their noise.

    Parameters
    ----------
    counts : ndarray of shape (n_cells,)
        Noisy.
    sd : float
    total : float
        Rows on the line, which is known but for the noise of `n_found` counts and its own.
    limits : Thresholds
    n_found : int, default=0
    """
    n = len(counts)
    kept = counts > max(limits.kept, math.sqrt(2.0 * math.log(n)) + 0.5) * sd
    found = np.where(kept, counts, 0.0)
    left, others = total - found.sum(), np.flatnonzero(~kept)
    least = limits.half * sd * math.sqrt(1 + n_found + kept.sum())
    if kept.any():
        noise = min(limits.half * sd * math.sqrt(len(others)), TUNED.dropped * total)
        least = max(least, noise)
    if len(others) and (left >= least or not (kept.any() or n_found)):
        found[others] = spread(counts[others], max(left, sd), sd, limits)
    return found


def spread(counts, mass, sd, limits):
    """Return a mass spread over cells by a binary tree of their noisy counts."""
    found = np.zeros(len(counts))
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    ranges = [(0, len(counts), mass)]
    while ranges:
        start, stop, mass = ranges.pop()
        n = stop - start
        if n == 1 or mass <= 0.0:
            found[start:stop] = mass / n
            continue
        middle = start + n // 2
        shares = _shares(
            sums[middle] - sums[start], middle - start, sums[stop] - sums[middle], stop - middle,
            sd, limits,
        )  # fmt: skip
        ranges += [(start, middle, mass * shares[0]), (middle, stop, mass * shares[1])]
    return found


def _shares(left, n_left, right, n_right, sd, limits):
    """Return the shares of two halves of a range."""
    apart = abs(left / n_left - right / n_right)
    if apart > limits.split * sd * math.sqrt(1.0 / n_left + 1.0 / n_right):
        left = left if left >= limits.half * sd * math.sqrt(n_left) else 0.0
        right = right if right >= limits.half * sd * math.sqrt(n_right) else 0.0
        if left + right > 0.0:
            return left / (left + right), right / (left + right)
    return n_left / (n_left + n_right), n_right / (n_left + n_right)


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
    masses = np.stack([np.bincount(bins, row * active, minlength=n_bins) for row in counts])
    masses = np.maximum(masses, sd)
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
