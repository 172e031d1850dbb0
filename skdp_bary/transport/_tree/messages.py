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


def _look_up(units, a):
    """The same, by a table where that is shorter than the windows, many of which overlap."""
    if units.max(initial=0) >= len(units):
        return log_polya_weights(units, a)
    return log_polya_weights(np.arange(units.max(initial=0) + 1), a).take(units)


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

    def windows(self, cells, length, first=0):
        """Places of the windows of some cells, from place `first` of `length`; -1 beside them."""
        place = np.arange(length) - np.asarray(first)[..., None]
        sizes, starts = self.sizes[cells][..., None], self.starts[cells][..., None]
        return np.where((place >= 0) & (place < sizes), starts + place, -1)

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
            [np.log(w) - _look_up(parents.units, branching * a) for w, a in prior]
        )
        self.child_log = np.stack([_look_up(children.units, a) for _, a in prior])
        factors = self.child_log + below
        numbers, self.scales = children.normalize(factors)
        self.factors, self.numbers = _append(factors, -np.inf), _append(numbers, 0.0)
        place = children.units - children.spread(children.lo)
        moment = numbers * place
        self.means = children.sum(moment)
        squares = children.sum(np.multiply(moment, place, out=moment))
        self.variances = np.maximum(squares - self.means**2, 0.0)
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
            part, rank = np.nonzero(far[:, rows])
            target = np.where(np.arange(length) == targets[rows[rank], None], 0.0, -np.inf)
            theta, numbers, scales = self._tilt_children(rows, part, rank, target)
            product = _multiply(fft.rfft(numbers, n=length, axis=-1))
            cells = self.chosen[rows]
            sizes, first = self.parents.sizes[cells], self.parents.lo[cells] - self.base[rows]
            places = _ranges(self.parents.starts[cells], sizes)
            log = self.parent_log.take(places, axis=1)
            log += np.repeat(scales.sum(axis=2), sizes, axis=1)
            if theta.any():
                log -= np.repeat(theta, sizes, axis=1) * _ranges(first, sizes)
            read = _ranges(np.arange(len(rows)) * length + first, sizes)
            message[places] = _mix(log, fft.irfft(product, n=length, axis=-1), read, sizes)
        return message

    def correlate(self, above, log_sums):
        """Log of what the rest of the tree says about each child, on the grids of the children.

        `above` is the log of what is known of the parents except from below, `log_sums` that of
        its total together with what is known from below.
        """
        above = self.parent_log + above
        numbers, scales = self.parents.normalize(above)
        lost = (scales - log_sums)[:, self.chosen] + self.scales[:, self.blocks].sum(axis=2)
        above, numbers = _append(above, -np.inf), _append(numbers, 0.0)
        message = np.empty(len(self.children.units))
        for rows, length in self.batches:
            cells, blocks = self.chosen[rows], self.blocks[rows].ravel()
            part, rank = np.nonzero(lost[:, rows] > _LOST)
            index = self.parents.windows(cells, length, self.parents.lo[cells] - self.base[rows])
            known, outer = numbers.take(index, axis=1), scales[:, cells]
            far = above[part[:, None], index[rank]]
            theta, siblings, inner = self._tilt_children(rows, part, rank, far)
            if part.size:
                known[part, rank], outer[part, rank] = _tilt(far, -theta[part, rank])
            spectra = _leave_one_out(
                fft.rfft(siblings, n=length, axis=-1), np.conj(fft.rfft(known, axis=-1))
            )
            inner = inner.sum(axis=2, keepdims=True) - inner + outer[..., None]
            sizes = self.children.sizes[blocks]
            places = _ranges(self.children.starts[blocks], sizes)
            log = self.child_log.take(places, axis=1)
            log += np.repeat(inner.reshape(len(log), -1), sizes, axis=1)
            back = _ranges(np.zeros_like(sizes), sizes)  # conjugated: read from behind
            if theta.any():
                log += np.repeat(np.repeat(theta, sizes.size // len(rows), 1), sizes, 1) * back
            read = np.repeat(np.arange(sizes.size) * length, sizes) + (length - back) % length
            message[places] = _mix(log, fft.irfft(spectra, n=length, axis=-1), read, sizes)
        return message

    def _tilt_children(self, rows, part, rank, opposite):
        """Factors of the children of some chosen cells, those that are far from `opposite` tilted.

        `part` and `rank` say which: part of the prior, and place in `rows`; the logs of what is
        opposite of them are in `opposite`. Returns theta (axes: part of the prior, cell), the
        numbers (and child, place), and the logs of their scales.
        """
        cells = self.blocks[rows]
        index = self.children.windows(cells, int(self.children.sizes[cells].max()))
        numbers, scales = self.numbers.take(index, axis=1), self.scales[:, cells]
        theta = np.zeros((len(numbers), len(rows)))
        if part.size:
            logs = self.factors[part[:, None, None], index[rank]]
            theta[part, rank] = _balance_tilts(logs, opposite)
            numbers[part, rank], scales[part, rank] = _tilt(logs, theta[part, rank])
        return theta, numbers, scales


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


def _mix(log, transformed, read, sizes):
    """Log of the sum over the parts of the prior of exp(log) times what was transformed.

    Parameters
    ----------
    log : ndarray of shape (n_parts, n_places)
        Is overwritten.
    transformed : ndarray
        First axis the parts, last one the places of one transform.
    read : ndarray of int
        Which of all places of a part belong to `log`.
    sizes : ndarray of int
        Numbers of places of the single transforms that are read.

    Notes
    -----
    What may be rounding counts as nothing; where all parts may be, as a number next to nothing.
    """
    floor = _ROUNDING * transformed.max(axis=-1).reshape(len(log), -1)
    numbers = transformed.reshape(len(log), -1).take(read, axis=1)
    floor = np.repeat(floor, sizes, axis=1)
    numbers *= numbers > floor
    largest = log.max(axis=0)
    log -= largest
    total = (np.exp(log) * numbers).sum(axis=0)
    nothing = np.flatnonzero(total <= np.finfo(float).tiny)
    total[nothing] = 1.0
    mixed = largest + np.log(total)
    if nothing.size:
        numbers, floor = numbers[:, nothing], floor[:, nothing]
        log = log[:, nothing] + np.log(np.maximum(numbers, floor)) - _NOTHING * (numbers <= 0)
        mixed[nothing] = largest[nothing] + np.logaddexp.reduce(log, axis=0)
    return mixed


def _round_lengths(lengths):
    """Round up to 4, 5, 6 or 7 times a power of two: few different lengths, all fast."""
    step = 2 ** np.maximum(np.ceil(np.log2(lengths)).astype(np.int64) - 3, 0)
    return -(-lengths // step) * step


def _multiply(spectra):
    """Product over all children (axis 2)."""
    product = spectra[:, :, 0]
    for child in range(1, spectra.shape[2]):
        product = product * spectra[:, :, child]
    return product


def _leave_one_out(spectra, outer):
    """Products of `outer` and all other children (axis 2): by halves, and without division."""
    n = spectra.shape[2]
    if n == 1:
        return outer[:, :, None]
    first, second = spectra[:, :, : n // 2], spectra[:, :, n // 2 :]
    without_first = _leave_one_out(first, outer * _multiply(second))
    without_second = _leave_one_out(second, outer * _multiply(first))
    return np.concatenate([without_first, without_second], axis=2)


def _ranges(starts, sizes):
    """Concatenate the ranges of the given sizes from the given starts."""
    offsets = np.cumsum(sizes) - sizes
    return np.repeat(starts - offsets, sizes) + np.arange(sizes.sum())


def _append(rows, number):
    """Append what is to be read at index -1."""
    return np.concatenate([rows, np.full((len(rows), 1), number)], axis=1)
