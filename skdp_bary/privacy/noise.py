"""Exact integer noise: the only source of randomness for noise.

Every draw is what inverse-CDF sampling in infinite precision would give. A draw takes 64 random
bits, which pin the tail probability to an interval; float64, at large scales in pairs, decides
when the whole interval, widened by a bound on the error of the floats, falls on one integer.
Otherwise it is compared with the tails at which the integer changes, in exact arithmetic and with
more bits. Nothing is truncated and no value is rejected because of its size.
"""

import math

import numpy as np
from scipy.special import ndtri

from ..exceptions import check_integer, check_real
from .noise_tails import (
    DIGITS,
    LEAST_SCALE,
    SLACK,
    gaussian_magnitudes,
    gaussian_tail,
    laplace_magnitudes,
    laplace_tail,
)

# Floats leave fewer than one draw in 2**13 undecided at scales up to 2**45, mostly because the 64
# bits of a word do, and one in 2**6 at 2**52. Magnitudes stay below 2**62, short of twenty words of
# zeros in a row.
MAX_SCALE = 2.0**52
MAX_UTILITY = 1 << 62
_BLOCK = 1 << 16
_WORD = 64
_PLACED = 2 * _WORD  # digits of a tail that integers in fixed point tell apart
# Widening of the float interval. The measured relative errors of ndtri, log and exp are below
# 2**-50 (re-measured by the tests); the conversions of a 63-bit integer to a float and of the
# product with the scale add a few units of 2**-53.
_FUNCTION_ERROR = 2.0**-44
_CONVERSION_ERROR = 2.0**-50


def noise_generator(random_state=None):
    """Return a source of exact noise.

    Parameters
    ----------
    random_state : None, int or numpy.random.RandomState
        None draws every bit from the operating system's generator, through the cryptographic
        generator of OpenSSL. Anything else gives a reproducible source, whose releases are not
        private because whoever knows the seed can subtract the noise.
    """
    return NoiseSource(_system_words) if random_state is None else _seeded(random_state)


def public_generator(random_state=None):
    """Return a numpy generator for public randomness, on a stream separate from the noise."""
    entropy = _system_words(4).tolist() if random_state is None else _seed_number(random_state)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy, spawn_key=(0,))))


class NoiseSource:
    """Exact samplers on top of a function that returns random 64-bit words.

    Parameters
    ----------
    words : callable
        ``words(n)`` returns `n` independent uniform ``uint64``.
    seeded : bool, default=False
        Whether the words can be reproduced, so that the release is not private.
    function_error : float
        Bound on the relative error of the float functions. A larger bound sends more draws to the
        high-precision path and never changes a value.
    """

    def __init__(self, words, *, seeded=False, function_error=_FUNCTION_ERROR):
        self.words = words
        self.seeded = seeded
        self._function_error = function_error

    def discrete_laplace(self, scale, shape):
        """Draw integers x with probability proportional to ``exp(-abs(x) / scale)``."""
        return self._fill(shape, _LaplaceLaw(scale), self._laplace_block)

    def rounded_gaussian(self, sigma, shape):
        """Draw Gaussians of mean 0 and standard deviation `sigma`, rounded to integers."""
        return self._fill(shape, _GaussianLaw(sigma), self._signed)

    def choose(self, utilities, rate, copies=None):
        """Draw an index with probability proportional to ``exp(rate * utilities[index])``.

        Parameters
        ----------
        utilities : array of int of shape (n,)
        rate : float
            Its exact binary value counts.
        copies : array of int of shape (n,), default=None
            How many alternatives an index represents, at least one each; None: one each.
        """
        utilities, copies = _check_choice(utilities, copies)
        rate = check_real(rate, "The rate of a choice", low=0.0)
        gaps = utilities - utilities.max()
        with np.errstate(all="ignore"):  # whatever the user has set
            bounds = np.cumsum(copies * np.exp(rate * gaps))
        total = float(bounds[-1])
        # Relative error of a weight: that of exp, that of its argument, which is above -746 where
        # the weight is not lost in the absolute term, and two of the product with the copies.
        # Every addition rounds once.
        lost = float(copies.sum(dtype=float)) * 1e-300
        slack = total * (self._function_error + (gaps.size + 1502) * 2.0**-52) + lost
        slack *= 2.0  # of the boundary itself, and of the total by which the mark is scaled
        word = int(self.words(1)[0])
        mark = word * 2.0**-64 * total
        index = int(np.searchsorted(bounds, mark, side="right"))
        if index < gaps.size:
            below = bounds[index - 1] if index else -math.inf
            above = bounds[index] if index < gaps.size - 1 else math.inf
            if mark - below > slack and above - mark > slack:
                return index
        return self._choose_exactly(gaps, copies, rate, word)

    def uniform_integer(self, bound):
        """Draw an integer uniformly from ``range(bound)``, for a bound of 1 to 2**63."""
        bound = check_integer(bound, "bound", low=1, high=1 << 63)
        limit = (1 << _WORD) - (1 << _WORD) % bound
        while True:
            word = int(self.words(1)[0])
            if word < limit:
                return word % bound

    def _fill(self, shape, law, signed):
        if not 0.0 < law.scale <= MAX_SCALE:
            raise ValueError(
                f"The scale of noise must be above 0 and at most {MAX_SCALE}, got {law.scale}."
            )
        out = np.empty(shape, dtype=np.int64)
        flat = out.reshape(-1)
        for start in range(0, flat.size, _BLOCK):
            part = flat[start : start + _BLOCK]
            magnitude, negative = signed(law, part.size)
            part[...] = np.where(negative, -magnitude, magnitude)
        return out

    def _laplace_block(self, law, count):
        magnitude, negative = self._signed(law, count)
        # one of the two zeros is dropped, or zero would be twice as likely
        redo = np.flatnonzero(negative & (magnitude == 0))
        while redo.size:
            magnitude[redo], negative[redo] = self._signed(law, redo.size)
            redo = redo[negative[redo] & (magnitude[redo] == 0)]
        return magnitude, negative

    def _signed(self, law, count):
        """Draw magnitudes and signs: of a word one bit is the sign, 63 place the tail."""
        words = self.words(count)
        negative = (words & np.uint64(1)).astype(bool)
        key = words >> np.uint64(1)
        if law.scale >= LEAST_SCALE:
            doubt = max(1.0, self._function_error / _FUNCTION_ERROR)
            result, unsure = law.magnitudes(key.view(np.int64), law.scale, doubt)
            for i in unsure:
                result[i] = self._decide(int(key[i]), law, int(result[i]))
            return result, negative
        tail = np.maximum(key.astype(np.float64), 1.0)
        value, error = law.in_floats(tail, self._function_error)
        low = np.floor(value - error)
        result = low.astype(np.int64)
        for i in np.flatnonzero((low != np.floor(value + error)) | (tail < 2.0)):
            result[i] = self._decide(int(key[i]), law)
        return result, negative

    def _decide(self, key, law, guess=None):
        """Return the integer of a draw whose tail lies in [key, key + 1] * 2**-law.digits.

        Any guess will do; one that is right, or one too small, saves time where draws are many.
        """
        digits = law.digits
        steps = [] if guess is None else [law.tail(guess + more, law.scale) for more in range(3)]
        while True:
            if key:  # a tail that may be zero has no upper bound
                low, high = _near(guess, steps, key, digits) or law.bounds(key, digits)
                if low == high:
                    return low
            key = (key << _WORD) | int(self.words(1)[0])
            digits += _WORD

    def _choose_exactly(self, gaps, copies, rate, word):
        import mpmath

        digits = _WORD
        while True:
            with mpmath.workprec(digits + 96 + int(gaps.size).bit_length()):
                weights = [
                    int(n) * mpmath.exp(mpmath.mpf(rate) * int(gap))
                    for n, gap in zip(copies, gaps, strict=True)
                ]
                total = mpmath.fsum(weights)
                slack = mpmath.ldexp(total, -(digits + 32))
                low = total * mpmath.mpf(word) / mpmath.mpf(2) ** digits - slack
                high = total * mpmath.mpf(word + 1) / mpmath.mpf(2) ** digits + slack
                index = _locate(weights, low, high)
            if index is not None:
                return index
            word = (word << _WORD) | int(self.words(1)[0])
            digits += _WORD


class _LaplaceLaw:
    """Magnitude of the two-sided geometric: ``-scale * log(tail)``."""

    digits, tail, magnitudes = 63, staticmethod(laplace_tail), staticmethod(laplace_magnitudes)

    def __init__(self, scale):
        self.scale = scale

    def in_floats(self, tail, function_error):
        """Return ``-scale * log(u)`` with u in [tail, tail + 1] * 2**-63, and its largest error."""
        value = np.log(tail * 2.0**-63) * -self.scale
        return value, (_CONVERSION_ERROR + 1.0 / tail) * self.scale + value * function_error

    def bounds(self, key, digits):
        """Return the integers of the ends of a tail in [key, key + 1] * 2**-digits."""
        import mpmath

        with mpmath.workprec(digits + 64):
            scale = mpmath.mpf(self.scale)
            value = -scale * mpmath.log(mpmath.ldexp(key, -digits))
            return _widen(value, scale / key, scale, digits)  # log(1 + 1/key) < 1/key


class _GaussianLaw:
    """Magnitude of the rounded Gaussian plus one half: ``sigma * quantile + 1/2``."""

    digits, tail, magnitudes = 64, staticmethod(gaussian_tail), staticmethod(gaussian_magnitudes)

    def __init__(self, scale):
        self.scale = scale

    def in_floats(self, tail, function_error):
        """Return the value at a tail in [tail, tail + 1] * 2**-64, and its largest error."""
        score = -ndtri((tail + 0.5) * 2.0**-64)
        # |d score / d p| = 1 / density, and density >= p * max(score, 0.4) for p <= 1/2
        error = 4.0 * (1.0 / tail + _CONVERSION_ERROR) + score * function_error
        return score * self.scale + 0.5, error * self.scale

    def bounds(self, key, digits):
        """Return the integers of the ends of a tail in [key, key + 1] * 2**-digits."""
        import mpmath

        with mpmath.workprec(digits + 64):
            score, scale = _upper_quantile(mpmath.ldexp(key, -digits)), mpmath.mpf(self.scale)
            density = mpmath.npdf(score)  # and no less from here to zero
            step = mpmath.ldexp(1, -digits) / density
            return _widen(scale * score + mpmath.mpf(0.5), scale * step, scale, digits)


def _near(guess, steps, key, digits):
    """Return the integers of the ends of a tail where they are the guess or one more, else None.

    `steps` are the tails at which a magnitude becomes the guess, and one and two more.
    """
    if digits > _PLACED or not steps or None in steps:
        return None
    low_tail, high_tail = (end << (DIGITS - digits) for end in (key, key + 1))
    first, middle, last = steps
    if high_tail > first - SLACK or low_tail < last + SLACK:
        return None
    return guess + (high_tail <= middle - SLACK), guess + (low_tail < middle + SLACK)


def _upper_quantile(tail):
    """Solve ``log P(N > score) = log tail``, which is concave, by Newton's method."""
    import mpmath

    score = mpmath.mpf(-float(ndtri(max(float(tail), 1e-300))))
    for _ in range(60):
        density = mpmath.exp(-score * score / 2) / mpmath.sqrt(2 * mpmath.pi)
        above = mpmath.erfc(score / mpmath.sqrt(2)) / 2
        step = above / density * mpmath.log(above / tail)
        score += step
        if abs(step) <= (abs(score) + 1) * mpmath.ldexp(1, -mpmath.mp.prec // 2 - 8):
            return score
    raise ArithmeticError(f"The Gaussian quantile at {tail} did not converge.")


def _widen(value, width, scale, digits):
    import mpmath

    # the 64 further digits of the working precision leave errors of a few (value + scale) 2**-64
    slack = (abs(value) + scale + 1) * mpmath.ldexp(1, -digits - 16)
    return int(mpmath.floor(value - width - slack)), int(mpmath.floor(value + slack))


def _locate(weights, low, high):
    """Index whose cumulative interval holds [low, high], or None when a boundary lies inside."""
    before = 0
    for index, weight in enumerate(weights):
        after = before + weight
        last = index == len(weights) - 1
        if low > before or index == 0:
            if high < after or last:
                return index
            if low < after:
                return None
        before = after
    return None


def _check_choice(utilities, copies):
    """Return the utilities of a choice, and how often each stands in it, as int64, or raise."""
    utilities = np.asarray(utilities)
    if utilities.ndim != 1 or utilities.size == 0 or utilities.dtype.kind not in "iu":
        raise ValueError("utilities must be a non-empty 1-d array of integers.")
    low, high = int(utilities.min()), int(utilities.max())
    if low < -MAX_UTILITY or high > MAX_UTILITY:
        raise ValueError(f"utilities must be within +-2**62, got {low} to {high}.")
    size = utilities.size
    copies = np.ones(size, dtype=np.int64) if copies is None else np.asarray(copies)
    if copies.shape != (size,) or copies.dtype.kind not in "iu" or (copies < 1).any():
        raise ValueError(f"copies must be {size} positive integers, got {copies!r}.")
    return utilities.astype(np.int64), copies.astype(np.int64)


def _system_words(count):
    # OpenSSL's generator (AES-256 in counter mode, keyed and re-keyed by the operating system, and
    # re-seeded after a fork) is an order of magnitude faster than reading os.urandom.
    import ssl

    return np.frombuffer(ssl.RAND_bytes(8 * count), dtype=np.uint64)


def _seeded(random_state):
    sequence = np.random.SeedSequence(_seed_number(random_state), spawn_key=(1,))
    bits = np.random.Philox(sequence)
    return NoiseSource(lambda count: bits.random_raw(count), seeded=True)


def _seed_number(random_state):
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    is_integer = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if is_integer and random_state >= 0:
        return int(random_state)
    raise ValueError(
        "random_state must be None, a non-negative integer or a numpy RandomState, "
        f"got {random_state!r}. Leave it out, or pass for example random_state=0."
    )
