"""Messages of belief propagation on a tree of cells: grids, convolutions, correlations.

All messages are logs. A transform by FFT has rounding errors of about 1e-16 of its largest number,
and where measurements disagree the masses that matter are far out in the tail of a convolution.
There the factors are tilted first: those of the children are multiplied by exp(theta * mass), with
one theta for all children of a cell, which multiplies their convolution by the same; what is known
from above is divided by it. All are tilted to where the prior expects the mass of their cell, those
that still disagree once more, to where it may be.
"""

import numpy as np
from scipy import fft
from scipy.special import gammaln

from .terms import HOPELESS, Terms, read_windows

_CHUNK = 2**16  # numbers transformed together: few calls, yet they stay in the cache
_EXACT_UNITS = 64  # below this the weights W come from their recurrence
_FAR = 3.0  # standard deviations from a bulk: there even a skewed tail is above rounding
_LOST = 20.0  # log of how much larger than their result the numbers transformed may be
_MAX_TILT_STEPS = 100
_FIRST_TILT = 0.3  # of Newton's method at most: the rates of noise are about that a unit
_MAX_TARGETS = 40  # of one convolution: masses about which its factors are tilted


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
    targets : ndarray
        About where the masses of the cells of the upper level will be, in units.
    """

    def __init__(self, chosen, branching, parents, children, prior, below, targets):
        self.chosen, self.parents, self.children = chosen, parents, children
        self.blocks = np.arange(branching * len(chosen)).reshape(-1, branching)
        self.base = children.lo[self.blocks].sum(axis=1)
        self.targets = np.rint(targets[chosen]).astype(np.int64) - self.base
        self._weigh(prior, targets[chosen], branching)
        factors = self.child_log + below
        numbers, self.scales = children.normalize(factors)
        self.factors, self.numbers = _append(factors, -np.inf), _append(numbers, 0.0)
        place = children.units - children.spread(children.lo)
        moment = numbers * place
        self.means = children.sum(moment)
        squares = children.sum(np.multiply(moment, place, out=moment))
        self.variances = np.maximum(squares - self.means**2, 0.0)
        self.batches = list(self._batches())

    def _weigh(self, prior, masses, branching):
        """Weights of the parts of the prior, tilted to negative binomials of the masses expected.

        Untilted the weights of even splits grow so steeply that convolutions lie far from the mass
        of the parent, and nearly all of them would have to be taken again.
        """
        concentrations = branching * np.array([a for _, a in prior])
        theta = np.zeros((len(prior), len(self.parents.lo)))
        theta[:, self.chosen] = -np.log1p(concentrations[:, None] / (masses + 1.0))
        self.parent_log = np.stack(
            [np.log(w) - _look_up(self.parents.units, branching * a) for w, a in prior]
        )
        self.parent_log -= self.parents.spread(theta) * self.parents.units
        self.child_log = np.stack([_look_up(self.children.units, a) for _, a in prior])
        theta = np.repeat(theta[:, self.chosen], branching, axis=1)
        self.child_log += self.children.spread(theta) * self.children.units

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

    def convolve(self, own):
        """Log likelihood of what is below each chosen cell, on the grids of the parents.

        Where what is below leaves wide room, a convolution is taken again with its factors tilted
        to other masses. `own` is the log likelihood of the parents' own measurements.
        """
        targets = self.targets
        gaps = targets - self.means[:, self.blocks].sum(axis=2)
        far = np.abs(gaps) > 1 + _FAR * np.sqrt(self.variances[:, self.blocks].sum(axis=2))
        message = np.zeros(len(self.parents.units))
        self.terms = np.full((len(self.parent_log), len(message)), -np.inf)
        for rows, length in self.batches:
            part, rank = np.nonzero(far[:, rows])
            theta, numbers, scales = self._tilt_children(rows, part, rank, targets[rows[rank]])
            product = _multiply(fft.rfft(numbers, n=length, axis=-1), axis=2)
            cells = self.chosen[rows]
            sizes, first = self.parents.sizes[cells], self.parents.lo[cells] - self.base[rows]
            places = _ranges(self.parents.starts[cells], sizes)
            log = self.parent_log.take(places, axis=1)
            log += np.repeat(scales.sum(axis=2), sizes, axis=1)
            if theta.any():
                log -= np.repeat(theta, sizes, axis=1) * _ranges(first, sizes)
            read = _ranges(np.arange(len(rows)) * length + first, sizes)
            terms = Terms(log, *read_windows(fft.irfft(product, n=length, axis=-1), read, sizes))
            self._follow(rows, length, terms, own[places])
            message[places], self.terms[:, places] = terms.mix()
        return message

    def _follow(self, rows, length, terms, own):
        """Take the convolutions of some cells again for masses at which rounding hides them.

        A convolution is known to about 1e-14 of its largest number, which is about seven of its
        standard deviations. One of even shares is narrow, while the mass of the parent may be
        anywhere; without this a wide parent is cut to what one tilt sees, its children are not,
        and their means do not add up.
        """
        cells = self.chosen[rows]
        sizes, first = self.parents.sizes[cells], self.parents.lo[cells] - self.base[rows]
        starts = np.cumsum(sizes) - sizes
        for _ in range(_MAX_TARGETS):
            part, rank, target = terms.hidden(own, starts, sizes)
            if not part.size:
                break
            target += first[rank] - starts[rank]
            theta, numbers, scales = self._tilt_to(part, self.blocks[rows[rank]], target)
            product = _multiply(fft.rfft(numbers, n=length, axis=-1), axis=1)
            n = sizes[rank]
            read = _ranges(np.arange(len(rank)) * length + first[rank], n)
            numbers, floor = read_windows(fft.irfft(product, n=length, axis=-1)[None], read, n)
            places = np.repeat(part, n), _ranges(self.parents.starts[cells[rank]], n)
            log = self.parent_log[places] + np.repeat(scales.sum(axis=1), n)
            log -= np.repeat(theta, n) * _ranges(first[rank], n)
            terms.take_better((places[0], _ranges(starts[rank], n)), log, numbers[0], floor[0])

    def correlate(self, above, log_sums):
        """Log of what the rest of the tree says about each child, on the grids of the children.

        `above` is the log of what is known of the parents except from below, `log_sums` that of
        its total together with what is known from below.
        """
        joint = self.terms + above - self.parents.spread(log_sums)
        self.parts = self.parents.sum(np.exp(joint))[:, self.chosen]
        joint = _append(joint, -np.inf)
        above = self.parent_log + above
        numbers, scales = self.parents.normalize(above)
        lost = (scales - log_sums)[:, self.chosen] + self.scales[:, self.blocks].sum(axis=2)
        above, numbers = _append(above, -np.inf), _append(numbers, 0.0)
        message = np.empty(len(self.children.units))
        for rows, length in self.batches:
            cells, blocks = self.chosen[rows], self.blocks[rows]
            part, rank = np.nonzero(lost[:, rows] > _LOST)
            index = self.parents.windows(cells, length, self.parents.lo[cells] - self.base[rows])
            known = numbers.take(index, axis=1)
            known[part, rank] = 0.0
            window = self.children.windows(blocks, int(self.children.sizes[blocks].max()))
            siblings, inner = self.numbers.take(window, axis=1), self.scales[:, blocks]
            correlated = _correlate(siblings, known, length)
            inner = inner.sum(axis=2, keepdims=True) - inner + scales[:, cells, None]
            sizes = self.children.sizes[blocks].ravel()
            log = self.child_log.take(_ranges(self.children.starts[blocks].ravel(), sizes), axis=1)
            log += np.repeat(inner.reshape(len(log), -1), sizes, axis=1)
            read = np.repeat(np.arange(sizes.size) * length, sizes) + _backward(sizes, length)
            terms = Terms(log, *read_windows(correlated, read, sizes))
            if part.size:
                index = index[rank]
                opposite = above[part[:, None], index], joint[part[:, None], index]
                self._correlate_apart(rows, part, rank, opposite, terms)
            places = _ranges(self.children.starts[blocks].ravel(), sizes)
            message[places] = terms.mix()[0]
        return message

    def _correlate_apart(self, rows, part, rank, opposite, terms):
        """Add what parents say of whom bulk and children are far apart, mass by mass.

        Parameters
        ----------
        rows, part, rank
            A batch, and which parts of the prior and places in it are meant.
        opposite : ndarray, ndarray
            For each of them what is known from above at every place, and how likely that mass is.
        terms : Terms
            On the windows of the children of the batch.

        Notes
        -----
        The factors are tilted to the likeliest mass, which serves the masses about it, and then
        to the likeliest of the others: one tilt need not fit what is known from above, which may
        lie in several places and fall faster than any tilt there is.
        """
        known, joint = opposite
        length = known.shape[1]
        is_open = joint > -HOPELESS
        starts = self._local_starts(rows)
        for _ in range(_MAX_TARGETS):
            left = is_open.any(axis=1)
            part, rank, known = part[left], rank[left], known[left]
            joint, is_open = joint[left], is_open[left]
            if not part.size:
                break
            target = np.where(is_open, joint, -np.inf).argmax(axis=1)
            theta, numbers, scales = self._tilt_to(part, self.blocks[rows[rank]], target)
            here = is_open & _near(numbers, target, length)
            outside, outer = _tilt(np.where(here, known, -np.inf), -theta)
            correlated = _correlate(numbers[None], outside[None], length)
            cells = self.blocks[rows[rank]]
            sizes = self.children.sizes[cells].ravel()
            back = _ranges(np.zeros_like(sizes), sizes)
            read = np.repeat(np.arange(sizes.size) * length, sizes) + _backward(sizes, length)
            inner = (scales.sum(axis=1, keepdims=True) - scales + outer[:, None]).ravel()
            places = np.repeat(part, cells.shape[1])
            places = np.repeat(places, sizes), _ranges(starts[rank].ravel(), sizes)
            log = self.child_log[
                places[0], _ranges(self.children.starts[cells].ravel(), sizes)
            ] + np.repeat(inner, sizes)
            log += np.repeat(np.repeat(theta, cells.shape[1]), sizes) * back
            numbers, floor = read_windows(correlated, read, sizes)
            terms.add(places, log, numbers[0], floor[0])
            is_open &= ~here

    def _local_starts(self, rows):
        """Where the windows of the children of a batch start, the windows standing in a row."""
        sizes = self.children.sizes[self.blocks[rows]]
        return (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape)

    def _tilt_to(self, part, cells, target):
        """Factors of children tilted so that their sum is about `target`, one for each of `part`.

        Returns theta, the numbers (axes: as `part`, child, place) and the logs of their scales.
        """
        index = self.children.windows(cells, int(self.children.sizes[cells].max()))
        logs = self.factors[part[:, None, None], index]
        theta = _balance_tilts(logs, target)
        return theta, *_tilt(logs, theta)

    def _tilt_children(self, rows, part, rank, target):
        """Factors of the children of some chosen cells, those that are far from `target` tilted.

        `part` and `rank` say which: part of the prior, and place in `rows`. Returns theta (axes:
        part of the prior, cell), the numbers (and child, place), and the logs of their scales.
        """
        cells = self.blocks[rows]
        index = self.children.windows(cells, int(self.children.sizes[cells].max()))
        numbers, scales = self.numbers.take(index, axis=1), self.scales[:, cells]
        theta = np.zeros((len(numbers), len(rows)))
        if part.size:
            logs = self.factors[part[:, None, None], index[rank]]
            theta[part, rank] = _balance_tilts(logs, target)
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


def _balance_tilts(children, target):
    """Theta at which the sum of the children has its mean at `target`, or about as near as spread.

    There their product is largest against its rounding. Newton's method inside a bracket.
    """
    theta, left = np.zeros(len(children)), np.arange(len(children))
    low, high = np.full(len(children), -np.inf), np.full(len(children), np.inf)
    for _ in range(_MAX_TILT_STEPS):
        means, variances = _moments(_tilt(children, theta[left])[0])
        gap, spread = target[left] - means.sum(axis=1), variances.sum(axis=1)
        far = np.abs(gap) > 1 + np.sqrt(spread)
        if not far.any():
            break
        if not far.all():
            children, left, gap, spread = children[far], left[far], gap[far], spread[far]
        here = theta[left]
        low[left], high[left] = np.where(gap > 0, (here, high[left]), (low[left], here))
        reach = _FIRST_TILT + np.abs(here)  # at most doubles a tilt
        newton = here + np.clip(gap / np.maximum(spread, 1e-12), -reach, reach)
        middle = (low[left] + high[left]) / 2
        middle = np.where(np.isfinite(middle), middle, newton)
        theta[left] = np.where((newton > low[left]) & (newton < high[left]), newton, middle)
    return theta


def _moments(numbers):
    """Mean place and its variance, for numbers proportional to probabilities."""
    place = np.arange(numbers.shape[-1], dtype=float)
    total = numbers.sum(axis=-1)
    mean = numbers @ place / total
    return mean, np.maximum(numbers @ place**2 / total - mean**2, 0.0)


def _correlate(siblings, known, length):
    """Transform of `known` against all siblings of each child; axis 2 are the children."""
    return fft.irfft(
        _leave_one_out(
            fft.rfft(siblings, n=length, axis=-1), np.conj(fft.rfft(known, n=length, axis=-1))
        ),
        n=length,
        axis=-1,
    )


def _backward(sizes, length):
    """Places of the windows in correlations of this length, which stand conjugated: from behind."""
    return (length - _ranges(np.zeros_like(sizes), sizes)) % length


def _near(numbers, target, length):
    """Places that the sum of some children reaches well; axis 1 are the children."""
    means, variances = _moments(numbers)
    gap = np.abs(np.arange(length) - means.sum(axis=1)[:, None])
    near = gap <= _FAR * np.sqrt(variances.sum(axis=1))[:, None]
    return near | (np.arange(length) == target[:, None])


def _round_lengths(lengths):
    """Round up to 4, 5, 6 or 7 times a power of two: few different lengths, all fast."""
    step = 2 ** np.maximum(np.ceil(np.log2(lengths)).astype(np.int64) - 3, 0)
    return -(-lengths // step) * step


def _multiply(spectra, axis):
    """Product over all children."""
    first, *others = np.moveaxis(spectra, axis, 0)
    for other in others:
        first = first * other
    return first


def _leave_one_out(spectra, outer):
    """Products of `outer` and all other children (axis 2): by halves, and without division."""
    n = spectra.shape[2]
    if n == 1:
        return outer[:, :, None]
    first, second = spectra[:, :, : n // 2], spectra[:, :, n // 2 :]
    without_first = _leave_one_out(first, outer * _multiply(second, axis=2))
    without_second = _leave_one_out(second, outer * _multiply(first, axis=2))
    return np.concatenate([without_first, without_second], axis=2)


def _ranges(starts, sizes):
    """Concatenate the ranges of the given sizes from the given starts."""
    offsets = np.cumsum(sizes) - sizes
    return np.repeat(starts - offsets, sizes) + np.arange(sizes.sum())


def _append(rows, number):
    """Append what is to be read at index -1."""
    return np.concatenate([rows, np.full((len(rows), 1), number)], axis=1)
