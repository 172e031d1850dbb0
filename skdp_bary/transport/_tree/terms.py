"""Sums over the parts of a mixture of what was transformed, and what rounding hides of them."""

import numpy as np

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
