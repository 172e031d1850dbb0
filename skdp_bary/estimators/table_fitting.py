"""A mixture of products fitted to released counts, which is post-processing."""

import math
from dataclasses import dataclass

import numpy as np

from .noisy_means import shrink_together, softmax
from .table_queries import TUNED, binned

# A mixture of products fitted to released counts, which is post-processing.


@dataclass(frozen=True, eq=False)
class Target:
    """Targets of a mixture, with the bins of all columns side by side.

    Attributes
    ----------
    sizes, size_sd : ndarray of shape (n_classes,), float
    ones : ndarray of shape (n_classes, n_all_bins)
        Counts of bins in every class.
    one_variances : ndarray of shape (n_all_bins,)
    pairs : ndarray of shape (n_classes, n_all_bins, n_all_bins)
        Counts of pairs of bins, symmetric; zero where not measured.
    measured : ndarray of shape (n_all_bins, n_all_bins)
        1.0 where they were, else 0.0.
    pair_sd : float
    prior : ndarray of shape (n_classes, n_all_bins)
        Probabilities of the bins of every column in every class.
    starts : ndarray of int
        First bin of every column.
    noise_share : float
        How much of the noise was taken out of `ones` and `pairs`.
    """

    sizes: np.ndarray
    size_sd: float
    ones: np.ndarray
    one_variances: np.ndarray
    pairs: np.ndarray
    measured: np.ndarray
    pair_sd: float
    prior: np.ndarray
    starts: np.ndarray
    noise_share: float = 0.0

    @property
    def total(self):
        """Number of rows."""
        return float(self.sizes.sum())

    @property
    def n_bins(self):
        """Number of bins of every column."""
        return np.diff(np.append(self.starts, self.prior.shape[1]))


def target_of(measured, places):
    """Targets that the mixture is fitted to.

    Parameters
    ----------
    measured : Measured
    places : list of int
        Of the columns next to the label.
    """
    # bins of all columns stand one after another: column i holds starts[i] to starts[i + 1]
    found = measured.histograms
    n_cells = [np.bincount(measured.bins[place]) for place in places]
    starts = np.concatenate([[0], np.cumsum([len(n) for n in n_cells])]).astype(int)
    n_all, n_classes = int(starts[-1]), len(found.sizes)
    ones, prior = np.empty((2, n_classes, n_all))
    blocks = {place: slice(*starts[i : i + 2]) for i, place in enumerate(places)}
    for place, n in zip(places, n_cells, strict=True):
        counts = binned(found.counts[place], measured.bins[place])
        better, wrong = class_counts(measured, place, counts, (found.sd * np.sqrt(n)) ** 2)
        raised = np.maximum(better, TUNED.least_share * np.sqrt(wrong))
        ones[:, blocks[place]] = counts
        prior[:, blocks[place]] = raised / raised.sum(axis=1, keepdims=True)
    share, tables = without_noise(measured, {p: prior[:, block] for p, block in blocks.items()})
    ones = share * found.sizes[:, None] * prior + (1.0 - share) * ones
    pairs, known = np.zeros((n_classes, n_all, n_all)), np.zeros((n_all, n_all))
    for (i, j), table in zip(measured.pairs, tables, strict=True):
        pairs[:, blocks[i], blocks[j]] = table
        pairs[:, blocks[j], blocks[i]] = table.transpose(0, 2, 1)
        known[blocks[i], blocks[j]] = known[blocks[j], blocks[i]] = 1.0
    variances = np.concatenate(n_cells) * found.sd**2 if places else np.zeros(0)
    singles = found.sizes, max(found.size_sd, 1e-3), ones, np.maximum(variances, 1e-6)
    pair_sd = max(measured.pair_sd, 1e-3)
    return Target(*singles, pairs, known, pair_sd, prior, starts[:-1], share)


def fit_mixture(target, n_components, max_iter, rng):
    """Return weights (n_components, n_classes) and probabilities of bins, one row a component."""
    # logarithms of weights, classes and bins: noise about the histograms of a class of each
    shares = target.sizes / target.total
    own = rng.choice(len(shares), size=n_components, p=shares)
    labels = np.log(shares) + TUNED.label_spread * rng.standard_normal((n_components, len(shares)))
    labels[np.arange(n_components), own] += 1.0
    bins = np.log(target.prior[own])
    bins += TUNED.spread * rng.standard_normal(bins.shape)
    # of shape (1, n_components), (n_components, n_classes) and (n_components, n_bins)
    parameters = [np.zeros((1, n_components)), labels, bins]
    descent, level = Adam(parameters), TUNED.penalty
    problem = Problem(target)
    for step in range(max_iter):
        gradients, misfit = problem.gradients(parameters, level)
        late = step / max_iter
        descent.move(gradients, TUNED.rate * min(1.0, 2.0 * (1.0 - late)))
        if late >= TUNED.patience and step % TUNED.interval == 0:
            level = moved_level(level, misfit, target.noise_share)
    weights, labels, bins = problem.probabilities(parameters)
    return weights[:, None] * labels, bins


def moved_level(level, misfit, noise_share=0.0):
    """Return the level of the penalty after a look at the misfit: more where noise is fitted.

    Where a share of the noise was taken out before, the rest of it is what can be fitted.
    """
    misfit /= max((1.0 - noise_share) ** 2, 1e-3)
    move = TUNED.gain * (TUNED.misfit - misfit)
    level *= math.exp(min(max(move, -TUNED.largest_move), TUNED.largest_move))
    least, least_shrunk = TUNED.least_penalty, TUNED.penalty
    return min(max(level, least + noise_share * (least_shrunk - least)), TUNED.most_penalty)


_MOMENTS = 0.9, 0.99  # of Adam: the shares of its averages that a step keeps


class Adam:
    """Moves arrays in place, each number by its own step."""

    def __init__(self, arrays):
        self._arrays = arrays
        self._first = [np.zeros_like(array) for array in arrays]
        self._second = [np.zeros_like(array) for array in arrays]
        self._n_moves = 0

    def move(self, gradients, rate):
        """Make one step of size `rate`."""
        self._n_moves += 1
        b1, b2 = _MOMENTS
        one, two = 1.0 - b1**self._n_moves, 1.0 - b2**self._n_moves
        parts = zip(self._arrays, gradients, self._first, self._second, strict=True)
        for array, gradient, first, second in parts:
            first += (1.0 - b1) * (gradient - first)
            second += (1.0 - b2) * (gradient**2 - second)
            array -= (rate / one) * first / (np.sqrt(second / two) + 1e-12)


class Problem:
    """The loss of a mixture and its gradients.

    Parameters
    ----------
    target : Target
    """

    def __init__(self, target):
        self._target = target
        self._log_prior = np.log(target.prior)
        n_bins = target.n_bins
        noise = 2.0 * math.sqrt(target.prior.shape[1]) * target.total / target.pair_sd
        self._pull_to_prior = np.repeat(noise / n_bins, n_bins) if len(n_bins) else np.zeros(0)
        self._n_measured = max(len(target.sizes) * float(target.measured.sum()), 1.0)

    def probabilities(self, parameters):
        """Return weights, distributions over classes, and over the bins of every column."""
        weights, labels, bins = parameters
        if bins.size:  # less the highest of its column, so that no exponential overflows
            highest = np.maximum.reduceat(bins, self._target.starts, axis=1)
            bins = np.exp(bins - np.repeat(highest, self._target.n_bins, axis=1))
            bins = bins / self._column_sums(bins)
        return softmax(weights)[0], softmax(labels), bins

    def gradients(self, parameters, level):
        """Return the gradients by the parameters, and the mean squared misfit of the pairs."""
        weights, labels, bins = self.probabilities(parameters)
        joint = weights[:, None] * labels
        by_joint, by_bins, misfit = self._misfits(joint, bins)
        logs = np.log(np.maximum(bins, 1e-300))
        for code, log_prior in enumerate(self._log_prior):
            terms = level * self._pull_to_prior * (logs - log_prior)
            by_joint[:, code] += (bins * terms).sum(axis=1)
            by_bins += joint[:, code : code + 1] * terms
        by_weights = (labels * by_joint).sum(axis=1)
        by_labels = weights[:, None] * by_joint
        moves = [
            (weights * (by_weights - weights @ by_weights))[None],
            labels * (by_labels - (labels * by_labels).sum(axis=1, keepdims=True)),
            bins * (by_bins - self._column_sums(bins * by_bins)),
        ]
        return moves, misfit

    def _misfits(self, joint, bins):
        """Return gradients of the squared misfits by joint weights and bins, and their mean."""
        target, total = self._target, self._target.total
        by_joint, by_bins, squares = np.empty_like(joint), np.zeros_like(bins), 0.0
        sizes = (total * joint.sum(axis=0) - target.sizes) / target.size_sd**2
        for code in range(joint.shape[1]):
            weighted = total * joint[:, code : code + 1] * bins
            ones = (weighted.sum(axis=0) - target.ones[code]) / target.one_variances
            pairs = (weighted.T @ bins - target.pairs[code]) * target.measured
            pairs /= target.pair_sd
            squares += float(np.vdot(pairs, pairs))
            pairs /= target.pair_sd
            pulled = bins @ pairs
            of_pairs = 0.5 * (pulled * bins).sum(axis=1)  # each pair is there twice
            by_joint[:, code] = total * (sizes[code] + bins @ ones + of_pairs)
            by_bins += total * joint[:, code : code + 1] * (pulled + ones)
        return by_joint, by_bins, squares / self._n_measured

    def _column_sums(self, values):
        """Return the sums over the bins of every column, at every bin."""
        if not values.size:
            return values
        sums = np.add.reduceat(values, self._target.starts, axis=1)
        return np.repeat(sums, self._target.n_bins, axis=1)


# Tables of pairs without noise that would pass for a difference between classes.


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


# How many rows of every class are in a bin, by all releases that tell.


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
