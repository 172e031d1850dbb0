"""Messages of belief propagation on a tree: tilted convolutions and correlations."""

from functools import reduce

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy import fft
from scipy.special import gammaln

from .trees import FAR, Batch, balance_tilts, near, ranges, tilt

# Messages of belief propagation on a tree of cells: convolutions and correlations.

_CHUNK = 2**16  # numbers transformed together: few calls, yet they stay in the cache
_FEW_PRODUCTS = 1 << 19  # of a batch: sums by their definition take less time than transforms
_LONGEST = 512  # of such sums in place of tilted transforms
_DEEPEST = 600.0  # log of how small products of floats may be, with room to spare
_EXACT_UNITS = 64  # below this the weights W come from their recurrence
_LOST = 20.0  # log of how much larger than their result the numbers transformed may be
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
        # The parts of the prior are tilted to negative binomials of the masses expected: untilted
        # the weights of even splits grow so steeply that convolutions lie far from the mass of the
        # parent, and nearly all of them would have to be taken again. Shape (n_parts, n_cells).
        concentrations = branching * np.array([a for _, a in prior])
        theta = np.zeros((len(prior), len(parents.lo)))
        theta[:, chosen] = -np.log1p(concentrations[:, None] / (targets[chosen] + 1.0))
        self.parent_log = np.stack(
            [np.log(w) - _look_up(parents.units, branching * a) for w, a in prior]
        )
        self.parent_log -= parents.spread(theta) * parents.units
        self.child_log = np.stack([_look_up(children.units, a) for _, a in prior])
        theta = np.repeat(theta[:, chosen], branching, axis=1)
        self.child_log += children.spread(theta) * children.units
        factors = self.child_log + below
        numbers, self.scales = children.normalize(factors)
        self.factors, self.numbers = _append(factors, -np.inf), _append(numbers, 0.0)
        place = children.units - children.spread(children.lo)
        moment = numbers * place
        self.depths = children.depths(factors)[:, self.blocks].sum(axis=2)
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
        lengths = np.maximum(last, support - first) + 1
        # Up to 4, 5, 6 or 7 times a power of two: few different lengths, all fast.
        step = 2 ** np.maximum(np.ceil(np.log2(lengths)).astype(np.int64) - 3, 0)
        lengths = -(-lengths // step) * step
        if self._is_small(len(lengths), lengths.max(initial=0)):
            lengths[:] = lengths.max(initial=0)
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            n = max(1, _CHUNK // (self.blocks.shape[1] * int(length)))
            for start in range(0, len(rows), n):
                yield Batch(self, rows[start : start + n], int(length))

    def _is_small(self, n_cells, length):
        """Whether sums by their definition take less time than transforms."""
        return len(self.numbers) * n_cells * int(length) ** 2 <= _FEW_PRODUCTS

    def convolve(self, own):
        """Log likelihood of what is below each chosen cell, on the grids of the parents.

        By FFT, O(n log n) for a window of n units, or by definition where that takes less time.

        Where what is below leaves wide room, a convolution is taken again with its factors tilted
        to other masses. `own` is the log likelihood of the parents' own measurements.
        """
        targets = self.targets
        gaps = targets - self.means[:, self.blocks].sum(axis=2)
        far = np.abs(gaps) > 1 + FAR * np.sqrt(self.variances[:, self.blocks].sum(axis=2))
        message = np.zeros(len(self.parents.units))
        self.terms = np.full((len(self.parent_log), len(message)), -np.inf)
        for batch in self.batches:
            exact = _is_exact(self.depths[:, batch.rows], batch.length)
            if exact.all() and self._is_small(len(batch.rows), batch.length):
                terms = self._added_up(batch)
            else:
                off = far[:, batch.rows]
                terms = self._transformed(batch, off & ~exact)
                self._add_up_some(batch, *np.nonzero(off & exact), terms)
                self._follow(batch, terms, exact, own[batch.places])
            message[batch.places], self.terms[:, batch.places] = terms.mix()
        return message

    def _added_up(self, batch):
        """Convolutions of the children of some cells by their definition."""
        log = self.parent_log.take(batch.places, axis=1)
        log += np.repeat(self.scales[:, batch.blocks].sum(axis=2), batch.sizes, axis=1)
        sums = convolve_all(self.numbers.take(batch.window, axis=1))
        read = ranges(np.arange(len(batch.rows)) * sums.shape[-1] + batch.first, batch.sizes)
        numbers = sums.reshape(len(log), -1).take(read, axis=1)
        return Terms(log, numbers, np.zeros_like(numbers))

    def _transformed(self, batch, far):
        """Convolutions of the children of some cells by FFT, of those `far` off tilted ones."""
        part, rank = np.nonzero(far)
        numbers, scales = self.numbers.take(batch.window, axis=1), self.scales[:, batch.blocks]
        theta = np.zeros((len(numbers), len(batch.rows)))
        if part.size:
            tilted = self._tilt_to(
                part, batch.blocks[rank], self.targets[batch.rows[rank]], batch.width
            )
            theta[part, rank], numbers[part, rank], scales[part, rank] = tilted
        product = _multiply(fft.rfft(numbers, n=batch.length, axis=-1), axis=2)
        product = fft.irfft(product, n=batch.length, axis=-1)
        log = self.parent_log.take(batch.places, axis=1)
        log += np.repeat(scales.sum(axis=2), batch.sizes, axis=1)
        if theta.any():
            log -= np.repeat(theta, batch.sizes, axis=1) * ranges(batch.first, batch.sizes)
        read = ranges(np.arange(len(batch.rows)) * batch.length + batch.first, batch.sizes)
        return Terms(log, *read_windows(product, read, batch.sizes))

    def _follow(self, batch, terms, exact, own):
        """Take the convolutions of some cells again for masses at which rounding hides them.

        A convolution is known to about 1e-14 of its largest number, which is about seven of its
        standard deviations. One of even shares is narrow, while the mass of the parent may be
        anywhere; without this a wide parent is cut to what one tilt sees, its children are not,
        and their means do not add up.
        """
        length, sizes, first = batch.length, batch.sizes, batch.first
        starts = np.cumsum(sizes) - sizes
        part, rank, _ = terms.hidden(own, starts, sizes)
        shallow = exact[part, rank]
        self._add_up_some(batch, part[shallow], rank[shallow], terms)
        for _ in range(_MAX_TARGETS):
            part, rank, target = terms.hidden(own, starts, sizes)
            if not part.size:
                break
            target += first[rank] - starts[rank]
            theta, numbers, scales = self._tilt_to(part, batch.blocks[rank], target)
            product = _multiply(fft.rfft(numbers, n=length, axis=-1), axis=1)
            n = sizes[rank]
            read = ranges(np.arange(len(rank)) * length + first[rank], n)
            numbers, floor = read_windows(fft.irfft(product, n=length, axis=-1)[None], read, n)
            places = np.repeat(part, n), ranges(self.parents.starts[batch.cells[rank]], n)
            log = self.parent_log[places] + np.repeat(scales.sum(axis=1), n)
            log -= np.repeat(theta, n) * ranges(first[rank], n)
            terms.take_better((places[0], ranges(starts[rank], n)), log, numbers[0], floor[0])

    def _add_up_some(self, batch, part, rank, terms):
        """Replace convolutions that rounding hides by their definition."""
        if not part.size:
            return
        sums = convolve_all(self.numbers[part[:, None, None], batch.window[rank]])
        n, starts = batch.sizes[rank], np.cumsum(batch.sizes) - batch.sizes
        read = ranges(np.arange(len(rank)) * sums.shape[-1] + batch.first[rank], n)
        terms.put((np.repeat(part, n), ranges(starts[rank], n)), sums.ravel()[read])

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
        depths = self.parents.depths(above)
        above, numbers = _append(above, -np.inf), _append(numbers, 0.0)
        message = np.empty(len(self.children.units))
        for batch in self.batches:
            index = self.parents.windows(batch.cells, batch.length, batch.first)
            known = numbers.take(index, axis=1)
            inner = self.scales[:, batch.blocks]
            inner = inner.sum(axis=2, keepdims=True) - inner + scales[:, batch.cells, None]
            log = self.child_log.take(batch.child_places, axis=1)
            log += np.repeat(inner.reshape(len(log), -1), batch.child_sizes, axis=1)
            exact = _is_exact(self.depths[:, batch.rows] + depths[:, batch.cells], batch.length)
            if exact.all() and self._is_small(len(batch.rows), batch.length):
                sums = correlate_others(known, self.numbers.take(batch.window, axis=1))
                read = ranges(np.arange(batch.child_sizes.size) * batch.width, batch.child_sizes)
                sums = sums.reshape(len(log), -1).take(read, axis=1)
                terms = Terms(log, sums, np.zeros_like(sums))
            else:
                part, rank = np.nonzero(lost[:, batch.rows] > _LOST)
                clear = known.copy()  # of what rounding would hide, which is added below
                clear[part, rank] = 0.0
                siblings = self.numbers.take(batch.window, axis=1)
                correlated = _correlate(siblings, clear, batch.length)
                read = _backward(batch.child_sizes, batch.length)
                terms = Terms(log, *read_windows(correlated, read, batch.child_sizes))
                shallow = exact[part, rank]
                self._correlate_some(batch, known, part[shallow], rank[shallow], terms)
                if not shallow.all():
                    part, rank = part[~shallow], rank[~shallow]
                    index = index[rank]
                    opposite = above[part[:, None], index], joint[part[:, None], index]
                    self._correlate_apart(batch, part, rank, opposite, terms)
            message[batch.child_places] = terms.mix()[0]
        return message

    def _correlate_some(self, batch, known, part, rank, terms):
        """Put correlations by their definition where rounding would hide them."""
        if not part.size:
            return
        siblings = self.numbers[part[:, None, None], batch.window[rank]]
        sums = correlate_others(known[part, rank], siblings)
        sizes = self.children.sizes[batch.blocks[rank]].ravel()
        places = ranges(batch.child_starts[rank].ravel(), sizes)
        parts = np.repeat(np.repeat(part, batch.blocks.shape[1]), sizes)
        read = ranges(np.arange(sizes.size) * batch.width, sizes)
        terms.put((parts, places), sums.ravel()[read])

    def _correlate_apart(self, batch, part, rank, opposite, terms):
        """Add the messages of parents whose bulk and children are far apart, mass by mass.

        Parameters
        ----------
        batch : Batch
        part, rank : ndarray of int
            Which parts of the prior and places in the batch are meant.
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
        for _ in range(_MAX_TARGETS):
            left = is_open.any(axis=1)
            part, rank, known = part[left], rank[left], known[left]
            joint, is_open = joint[left], is_open[left]
            if not part.size:
                break
            target = np.where(is_open, joint, -np.inf).argmax(axis=1)
            cells = batch.blocks[rank]
            theta, numbers, scales = self._tilt_to(part, cells, target)
            here = is_open & near(numbers, target, length)
            outside, outer = tilt(np.where(here, known, -np.inf), -theta)
            correlated = _correlate(numbers[None], outside[None], length)
            sizes = self.children.sizes[cells].ravel()
            back = ranges(np.zeros_like(sizes), sizes)
            read = _backward(sizes, length)
            inner = (scales.sum(axis=1, keepdims=True) - scales + outer[:, None]).ravel()
            places = np.repeat(part, cells.shape[1])
            places = np.repeat(places, sizes), ranges(batch.child_starts[rank].ravel(), sizes)
            log = self.child_log[
                places[0], ranges(self.children.starts[cells].ravel(), sizes)
            ] + np.repeat(inner, sizes)
            log += np.repeat(np.repeat(theta, cells.shape[1]), sizes) * back
            numbers, floor = read_windows(correlated, read, sizes)
            terms.add(places, log, numbers[0], floor[0])
            is_open &= ~here

    def _tilt_to(self, part, cells, target, width=None):
        """Factors of children tilted so that their sum is about `target`, one for each of `part`.

        Returns theta, the numbers (axes: as `part`, child, place) and the logs of their scales.
        """
        width = width or int(self.children.sizes[cells].max())
        index = self.children.windows(cells, width)
        logs = self.factors[part[:, None, None], index]
        theta = balance_tilts(logs, target)
        return theta, *tilt(logs, theta)


def _correlate(siblings, known, length):
    """Transform of `known` against all siblings of each child; axis 2 are the children."""
    outer = np.conj(fft.rfft(known, n=length, axis=-1))
    spectra = _leave_one_out(fft.rfft(siblings, n=length, axis=-1), outer)
    return fft.irfft(spectra, n=length, axis=-1)


def _is_exact(depths, length):
    """Whether products are above the smallest float everywhere, and their sums are short."""
    return (depths < _DEEPEST) & (length <= _LONGEST)


def _backward(sizes, length):
    """Places of the windows in correlations of this length, which stand conjugated: from behind."""
    back = (length - ranges(np.zeros_like(sizes), sizes)) % length
    return back + np.repeat(np.arange(sizes.size) * length, sizes)


def _multiply(spectra, axis):
    """Product over all children."""
    return reduce(np.multiply, np.moveaxis(spectra, axis, 0))


def _leave_one_out(spectra, outer):
    """Products of `outer` and all other children (axis 2): by halves, and without division."""
    n = spectra.shape[2]
    if n == 1:
        return outer[:, :, None]
    first, second = spectra[:, :, : n // 2], spectra[:, :, n // 2 :]
    without_first = _leave_one_out(first, outer * _multiply(second, axis=2))
    without_second = _leave_one_out(second, outer * _multiply(first, axis=2))
    return np.concatenate([without_first, without_second], axis=2)


def _append(rows, number):
    """Append what is to be read at index -1."""
    return np.concatenate([rows, np.full((len(rows), 1), number)], axis=1)


# Convolutions and correlations by their definition, for few short windows.


def convolve_all(factors):
    """Return the convolution of all factors: axis -2 counts them, the last are their places."""
    n = factors.shape[-2]
    if n == 1:
        return factors[..., 0, :]
    first = convolve_all(factors[..., : n // 2, :])
    second = convolve_all(factors[..., n // 2 :, :])
    width = second.shape[-1] - 1
    padded = np.zeros((*first.shape[:-1], first.shape[-1] + 2 * width))
    padded[..., width : width + first.shape[-1]] = first
    return _slide(padded, np.ascontiguousarray(second[..., ::-1]))


def correlate_others(known, factors):
    """Return, for each factor and place of it, the sum over masses of all the others.

    Each mass of the others counts as often as `known` says of the total, the last axis of which are
    masses from zero on. Shaped as `factors`.
    """
    n, size = factors.shape[-2:]
    if n == 1:
        return known[..., None, :size]
    half, found = n // 2, []
    for own, others in ((slice(half), slice(half, n)), (slice(half, n), slice(half))):
        kept, other = factors[..., own, :], convolve_all(factors[..., others, :])
        # places that the kept factors reach, and as many more as the others are long
        needed = kept.shape[-2] * (size - 1) + other.shape[-1]
        missing = max(0, needed - known.shape[-1])
        padded = known
        if missing:
            padded = np.concatenate([known, np.zeros((*known.shape[:-1], missing))], axis=-1)
        found.append(correlate_others(_slide(padded[..., :needed], other), kept))
    return np.concatenate(found, axis=-2)


def _slide(known, other):
    """Return the products of `other` with every window of `known` that is as long."""
    width, step = other.shape[-1], known.strides[-1]
    shape = (*known.shape[:-1], known.shape[-1] - width + 1, width)
    windows = as_strided(known, shape, (*known.strides, step), writeable=False)
    return np.einsum("...ij,...j->...i", windows, other)


# Sums over the parts of a mixture of what was transformed, and what rounding hides of them.

HOPELESS = 20.0  # log of how much less likely a mass may be than the likeliest and still count
_MINOR = 12.0  # log of how much smaller than the others a part may be and still be tilted for
_ROUNDING = 1e-14  # of a transform, relative to its largest number
_NOTHING = 1e4  # finite, so that a window in which all is rounding still has a shape


def read_windows(transformed, read, sizes):
    """Return numbers out of what was transformed, and below which of them all may be rounding.

    Parameters
    ----------
    transformed : ndarray
        First axis the parts, last one the places of one transform.
    read : ndarray of int
        Which of all places of a part are read.
    sizes : ndarray of int
        Numbers of places of the single transforms that are read.
    """
    n_parts = len(transformed)
    floor = _ROUNDING * transformed.max(axis=-1).reshape(n_parts, -1)
    numbers = transformed.reshape(n_parts, -1).take(read, axis=1)
    return numbers, np.repeat(floor, sizes, axis=1)


class Terms:
    """The parts of a mixture on some windows: exp(log) * numbers, rounding below exp(log) * floor.

    Parameters
    ----------
    log, numbers, floor : ndarray of shape (n_parts, n_places)
    """

    def __init__(self, log, numbers, floor):
        self.log, self.numbers, self.floor = log, numbers, floor

    def mix(self):
        """Log of the sum over the parts, and the logs of the parts.

        What may be rounding counts as nothing; where all parts may be, as a number next to nothing.
        """
        is_known = self.numbers > self.floor
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(is_known, self.log + np.log(self.numbers), -np.inf)
        nothing = np.flatnonzero(~is_known.any(axis=0))
        if nothing.size:
            numbers, floor = self.numbers[:, nothing], self.floor[:, nothing]
            least = np.maximum(np.maximum(numbers, floor), np.finfo(float).tiny)
            parts[:, nothing] = self.log[:, nothing] + np.log(least) - _NOTHING * (numbers <= 0)
        largest = parts.max(axis=0)
        return largest + np.log(np.exp(parts - largest).sum(axis=0)), parts

    def hidden(self, own, starts, sizes):
        """Parts and windows in which rounding hides what may matter, and the likeliest such place.

        `own` is the log of what else is known there; the windows have these starts and sizes.
        """
        is_known = self.numbers > self.floor
        if is_known.all():
            return (np.empty(0, dtype=np.int64),) * 3
        with np.errstate(divide="ignore"):
            value = self.log + np.log(np.maximum(self.numbers, self.floor))
        known = np.where(is_known, value, -np.inf).max(axis=0)
        top = np.maximum.reduceat(known + own, starts)
        least = np.maximum(known - _MINOR, np.repeat(top, sizes) - HOPELESS - own)
        score = np.where(is_known | (value <= least), -np.inf, value + own)
        best = np.maximum.reduceat(score, starts, axis=1)
        part, rank = np.nonzero(best > -np.inf)
        target = [
            start + np.argmax(score[p, start : start + n])
            for p, start, n in zip(part, starts[rank], sizes[rank], strict=True)
        ]
        return part, rank, np.array(target, dtype=np.int64)

    def put(self, places, numbers):
        """Put exact numbers in places."""
        self.numbers[places], self.floor[places] = numbers, 0.0

    def take_better(self, places, log, numbers, floor):
        """Take in the terms of other transforms where they are known, or bound better."""
        old = self.log[places], self.numbers[places], self.floor[places]
        with np.errstate(divide="ignore"):
            lower = log + np.log(floor) < old[0] + np.log(old[2])
        better = (old[1] <= old[2]) & ((numbers > floor) | lower)
        places = places[0][better], places[1][better]
        self.log[places] = log[better]
        self.numbers[places] = numbers[better]
        self.floor[places] = floor[better]

    def add(self, places, log, numbers, floor):
        """Add terms to what is there."""
        with np.errstate(divide="ignore", invalid="ignore"):
            old = np.where(
                self.numbers[places] > self.floor[places],
                self.log[places] + np.log(self.numbers[places]),
                -np.inf,
            )
            new = np.where(numbers > floor, log + np.log(numbers), -np.inf)
        both = np.logaddexp(old, new)
        known = both > -np.inf
        places = places[0][known], places[1][known]
        self.log[places], self.numbers[places], self.floor[places] = both[known], 1.0, 0.0
