"""Messages of belief propagation on a tree of cells: grids, convolutions, correlations.

All messages are logs. A transform by FFT has rounding errors of about 1e-16 of its largest number,
and where measurements disagree the masses that matter are far out in the tail of a convolution.
There the factors are tilted first: those of the children are multiplied by exp(theta * mass), with
one theta for all children of a cell, which multiplies their convolution by the same; what is known
from above is divided by it.
"""

import numpy as np
from scipy import fft
from scipy.special import gammaln

_CHUNK = 2**16  # numbers transformed together: few calls, yet they stay in the cache
_EXACT_UNITS = 64  # below this the weights W come from their recurrence
_FAR = 5.0  # standard deviations from the bulk of a convolution: its tail is still above rounding
_LOST = 15.0  # log of how much larger than their result the numbers transformed may be
_ROUNDING = 1e-14  # of a transform, relative to its largest number
_NOTHING = 1e4  # finite, so that a window in which all is rounding still has a shape
_MAX_TILT_STEPS = 100


def log_polya_weights(units, a):
    """Log of W(k, a) = Gamma(k + a) / (Gamma(a) k!); for large k by its asymptotic series."""
    k = np.arange(1, _EXACT_UNITS + int(16 * a))
    table = np.concatenate([[0.0], np.cumsum(np.log((k - 1 + a) / k))])
    weights = table[np.minimum(units, len(table) - 1)]
    large = units >= len(table)
    s = units[large] + a / 2
    c2 = -a * (a - 1) * (a - 2) / 24
    c4 = (a - 1) * (a - 2) * (a - 3) * (a - 4) / 24 * a * (5 * a + 2) / 240
    weights[large] = (a - 1) * np.log(s) - gammaln(a) + np.log1p((c2 + c4 / s**2) / s**2)
    return weights


class Grid:
    """Windows of whole units of mass, from `lo` to `hi`, of the cells of one level.

    What lives on it has as last axis the window of the first cell, of the second, and so on.
    """

    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi
        self.sizes = hi - lo + 1
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.units = self.spread(lo - self.starts) + np.arange(self.sizes.sum())

    def spread(self, per_cell):
        """Repeat one number per cell along its window."""
        return np.repeat(per_cell, self.sizes, axis=-1)

    def sum(self, flat):
        """Sum over the window of each cell."""
        return np.add.reduceat(flat, self.starts, axis=-1) if flat.size else flat

    def normalize(self, log):
        """Return the numbers with these logs divided by their sum in each cell, and its log."""
        largest = np.maximum.reduceat(log, self.starts, axis=-1) if log.size else log
        numbers = np.exp(log - self.spread(largest))
        sums = self.sum(numbers)
        return numbers / self.spread(sums), largest + np.log(sums)


class Split:
    """Messages between one level and the next.

    Parameters
    ----------
    chosen : ndarray of int
        The cells of the upper level that split, each into `branching` children.
    branching : int
    parents, children : Grid
    prior : sequence of (weight, concentration)
    below : ndarray
        Log likelihood of what was measured in and below each child, on the children's grids.
    """

    def __init__(self, chosen, branching, parents, children, prior, below):
        self.chosen, self.parents, self.children = chosen, parents, children
        self.blocks = np.arange(branching * len(chosen)).reshape(-1, branching)
        self.base = children.lo[self.blocks].sum(axis=1)
        self.parent_log = np.stack(
            [np.log(w) - log_polya_weights(parents.units, branching * a) for w, a in prior]
        )
        self.child_log = np.stack([log_polya_weights(children.units, a) for _, a in prior])
        factors = self.child_log + below
        numbers, self.scales = children.normalize(factors)
        self.factors, self.numbers = _append(factors, -np.inf), _append(numbers, 0.0)
        place = children.units - children.spread(children.lo)
        self.means = children.sum(numbers * place)
        self.variances = children.sum(numbers * (place - children.spread(self.means)) ** 2)
        self.batches = list(self._batches())

    def _batches(self):
        """Split cells by length of transform: their ranks and the length.

        A circular convolution of this length is right wherever it is read: no place of the
        support wraps around into the window of the parent. The same holds for the correlation.
        """
        support = (self.children.sizes[self.blocks] - 1).sum(axis=1)
        first = self.parents.lo[self.chosen] - self.base
        last = self.parents.hi[self.chosen] - self.base
        lengths = _round_lengths(np.maximum(last, support - first) + 1)
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            n = max(1, _CHUNK // (self.blocks.shape[1] * int(length)))
            for start in range(0, len(rows), n):
                yield rows[start : start + n], int(length)

    def convolve(self, targets):
        """Log likelihood of what is below each chosen cell, on the grids of the parents.

        `targets` is about where the masses of the parents will be, in units: there it is exact.
        """
        targets = np.rint(targets[self.chosen]).astype(np.int64) - self.base
        gaps = targets - self.means[:, self.blocks].sum(axis=2)
        far = np.abs(gaps) > 1 + _FAR * np.sqrt(self.variances[:, self.blocks].sum(axis=2))
        message = np.zeros(len(self.parents.units))
        for rows, length in self.batches:
            opposite = np.where(np.arange(length) == targets[rows, None], 0.0, -np.inf)
            opposite = np.broadcast_to(opposite, (len(far), *opposite.shape))
            theta, numbers, scales = self._tilt_children(rows, far[:, rows], opposite)
            product = fft.rfft(numbers, n=length, axis=-1).prod(axis=2)
            sizes, read, places = self._parent_places(rows, length)
            log = _log(fft.irfft(product, n=length, axis=-1))[:, read] + self.parent_log[:, places]
            log += np.repeat(scales.sum(axis=2), sizes, axis=1)
            log -= np.repeat(theta, sizes, axis=1) * (read % length)
            message[places] = _log_sum(log)
        return message

    def correlate(self, above, log_sums):
        """Log of what the rest of the tree says about each child, on the grids of the children.

        `above` is the log of what is known of the parents except from below, `log_sums` that of
        its total together with what is known from below.
        """
        message = np.empty(len(self.children.units))
        above = self.parent_log + above
        lost = self.parents.normalize(above)[1] - log_sums
        far = lost[:, self.chosen] + self.scales[:, self.blocks].sum(axis=2) > _LOST
        for rows, length in self.batches:
            logs = np.full((len(above), len(rows) * length), -np.inf)
            _, read, places = self._parent_places(rows, length)
            logs[:, read] = above[:, places]
            logs = logs.reshape(len(above), len(rows), length)
            theta, numbers, scales = self._tilt_children(rows, far[:, rows], logs)
            numbers_above, scales_above = _tilt(logs, -theta)
            spectra = _leave_one_out(fft.rfft(numbers, n=length, axis=-1))
            spectra = np.conj(spectra, out=spectra) * fft.rfft(numbers_above, axis=-1)[:, :, None]
            scales = scales.sum(axis=2, keepdims=True) - scales + scales_above[..., None]
            sizes, read, places = self._child_places(rows, length)
            log = _log(fft.irfft(spectra, n=length, axis=-1))[:, read] + self.child_log[:, places]
            log += np.repeat(scales.reshape(len(log), -1), sizes, axis=1)
            theta = np.repeat(theta, self.blocks.shape[1], axis=1)
            log += np.repeat(theta, sizes, axis=1) * (read % length)
            message[places] = _log_sum(log)
        return message

    def _tilt_children(self, rows, far, opposite):
        """Factors of the children of some chosen cells, those that are `far` from it tilted.

        Returns theta (axes: part of the prior, cell), the numbers (and child, place), and the logs
        of their scales.
        """
        cells = self.blocks[rows]
        sizes = self.children.sizes[cells][..., None]
        place = np.arange(int(sizes.max()))
        index = np.where(place < sizes, self.children.starts[cells][..., None] + place, -1)
        numbers, scales = self.numbers[:, index], self.scales[:, cells]
        theta = np.zeros(far.shape)
        if far.any():
            part, rank = np.nonzero(far)
            logs = self.factors[part[:, None, None], index[rank]]
            theta[far] = _balance_tilts(logs, opposite[far])
            numbers[far], scales[far] = _tilt(logs, theta[far])
        return theta, numbers, scales

    def _parent_places(self, rows, length):
        """Sizes of the windows of the parents, places in the transforms and in the flat arrays."""
        cells = self.chosen[rows]
        sizes = self.parents.sizes[cells]
        first = self.parents.lo[cells] - self.base[rows]
        read = _ranges(np.arange(len(rows)) * length + first, sizes)
        return sizes, read, _ranges(self.parents.starts[cells], sizes)

    def _child_places(self, rows, length):
        cells = self.blocks[rows].ravel()
        sizes = self.children.sizes[cells]
        read = _ranges(np.arange(len(cells)) * length, sizes)
        return sizes, read, _ranges(self.children.starts[cells], sizes)


def _tilt(logs, theta):
    """Numbers with the given logs plus theta * place, divided by the largest; the log of that.

    There is one theta for every entry of the leading axes of `logs`.
    """
    if theta.any():
        theta = theta.reshape(theta.shape + (1,) * (logs.ndim - theta.ndim))
        logs = logs + theta * np.arange(logs.shape[-1])
    scales = logs.max(axis=-1)
    return np.exp(logs - scales[..., None]), scales


def _balance_tilts(children, opposite):
    """Theta at which the sum of the children has the mean of `opposite` tilted by -theta.

    There the product of what both transform to is smallest, hence the rounding. Newton's method
    inside a bracket, until the means agree about as well as they are spread.
    """
    theta = np.zeros(len(children))
    low, high = np.full(len(children), -np.inf), np.full(len(children), np.inf)
    for _ in range(_MAX_TILT_STEPS):
        means, variances = _moments(_tilt(children, theta)[0])
        mean, variance = _moments(_tilt(opposite, -theta)[0])
        gap, spread = mean - means.sum(axis=1), variance + variances.sum(axis=1)
        if (np.abs(gap) <= 1 + np.sqrt(spread)).all():
            break
        low, high = np.where(gap > 0, theta, low), np.where(gap > 0, high, theta)
        reach = 0.01 + np.abs(theta)  # at most doubles a tilt
        newton = theta + np.clip(gap / np.maximum(spread, 1e-12), -reach, reach)
        middle = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2, newton)
        theta = np.where((newton > low) & (newton < high), newton, middle)
    return theta


def _moments(numbers):
    """Mean place and its variance, for numbers proportional to probabilities."""
    place = np.arange(numbers.shape[-1], dtype=float)
    total = numbers.sum(axis=-1)
    mean = numbers @ place / total
    return mean, np.maximum(numbers @ place**2 / total - mean**2, 0.0)


def _log(transformed):
    """Logs, one row per part of the prior; of what may be rounding, a number next to nothing."""
    floor = _ROUNDING * transformed.max(axis=-1, keepdims=True)
    log = np.log(np.maximum(transformed, floor)) - _NOTHING * (transformed <= floor)
    return log.reshape(len(transformed), -1)


def _log_sum(logs):
    """Log of the sum over the parts of the prior."""
    largest = logs.max(axis=0)
    return largest + np.log(np.exp(logs - largest).sum(axis=0))


def _round_lengths(lengths):
    """Round up to 2**k or 3 * 2**k: few different lengths, all fast."""
    power = 2 ** np.ceil(np.log2(lengths)).astype(np.int64)
    return np.where(lengths <= power // 4 * 3, power // 4 * 3, power)


def _leave_one_out(spectra):
    """Products over all other children (axis 2), without division."""
    out = np.ones_like(spectra)
    n = spectra.shape[2]
    left, right = np.ones_like(spectra[:, :, 0]), np.ones_like(spectra[:, :, 0])
    for i in range(n):
        out[:, :, i] *= left
        out[:, :, n - 1 - i] *= right
        left = left * spectra[:, :, i]
        right = right * spectra[:, :, n - 1 - i]
    return out


def _ranges(starts, sizes):
    """Concatenate the ranges of the given sizes from the given starts."""
    offsets = np.cumsum(sizes) - sizes
    return np.repeat(starts - offsets, sizes) + np.arange(sizes.sum())


def _append(rows, number):
    """Append what is to be read at index -1."""
    return np.concatenate([rows, np.full((len(rows), 1), number)], axis=1)
