"""Tails of noise with proved errors: fixed point integers, and float64 pairs at large scales."""

import math
from functools import cache

import numpy as np
from scipy.special import ndtri

# Tails of noise as integers in units of ``2**-192``, with an error that is proved.

DIGITS = 192
ONE = 1 << DIGITS
SLACK = 1 << (DIGITS - 160)
NODES = 10  # 2**10 nodes for each unit of the quantile
LARGEST_SCORE = 6
_HALVINGS, _EXP_TERMS = 8, 20
_TAIL_TERMS, _STEP_TERMS = 14, 14


def laplace_tail(magnitude, scale):
    """Return ``exp(-magnitude / scale)``, for magnitudes of zero and below two."""
    if magnitude <= 0:
        return 2 * ONE
    numerator, denominator = scale.as_integer_ratio()
    exponent = (magnitude * denominator << DIGITS) // numerator
    halvings, rest = divmod(exponent, log_of_two())
    if halvings > DIGITS:
        return 0
    rest >>= _HALVINGS
    total = term = ONE
    for k in range(1, _EXP_TERMS + 1):
        term = -(term * rest >> DIGITS) // k
        total += term
    for _ in range(_HALVINGS):
        total = total * total >> DIGITS
    return total >> halvings


def gaussian_tail(magnitude, sigma):
    """Return the upper tail at ``(magnitude - 1/2) / sigma``, or None beyond the nodes.

    For magnitudes of zero and below it is two.
    """
    if magnitude <= 0:
        return 2 * ONE
    numerator, denominator = sigma.as_integer_ratio()
    score = ((2 * magnitude - 1) * denominator << DIGITS) // (2 * numerator)
    node = (score + (ONE >> (NODES + 1))) >> (DIGITS - NODES)
    if node > LARGEST_SCORE << NODES:
        return None
    tails, densities = tails_of_nodes()
    place = node << (DIGITS - NODES)
    # the integral of the density from `place` by `d`, over the density there
    d = score - place
    total, before, hermite, power = 0, 0, ONE, d
    for k in range(_TAIL_TERMS):
        total += hermite * power >> DIGITS
        power = -(power * d >> DIGITS) // (k + 2)
        before, hermite = hermite, (place * hermite >> DIGITS) - k * before
    return tails[node] - (densities[node] * total >> DIGITS)


@cache
def tails_of_nodes():
    """Return the tails and the densities at the nodes."""
    h = NODES + 1
    pi = 16 * inverse_series(5, -1) - 4 * inverse_series(239, -1)
    density = math.isqrt((1 << 3 * DIGITS) // (2 * pi))
    ratio, falling = _exp_of_power(2 * h + 1), _exp_of_power(2 * h)
    tail, tails, densities = ONE >> 1, [], []
    for j in range((LARGEST_SCORE << NODES) + 1):
        tails.append(tail)
        densities.append(density)
        density = density * ratio >> DIGITS  # in the middle
        ratio = ratio * falling >> DIGITS
        # the mean over places within ``2**-h`` of ``place * 2**-h``, over the density there
        place = 2 * j + 1
        x = place << (DIGITS - h)
        total, before, hermite, odd = 0, 0, ONE, 1
        for k in range(_STEP_TERMS + 1):
            if k % 2 == 0:
                total += (hermite >> (h * k)) // odd
            before, hermite = hermite, (x * hermite >> DIGITS) - k * before
            odd *= k + 2
        tail -= density * total >> (DIGITS + NODES)
        density = density * ratio >> DIGITS
        ratio = ratio * falling >> DIGITS
    return tails, densities


@cache
def log_of_two():
    """Return log 2."""
    return 2 * inverse_series(3, 1)


def _exp_of_power(digits):
    """Return ``exp(-2**-digits)``."""
    total = term = ONE
    k = 1
    while term:
        term = -((abs(term) >> digits) // k) if term > 0 else (abs(term) >> digits) // k
        total, k = total + term, k + 1
    return total


def inverse_series(n, sign):
    """Return atanh(1 / n), for sign -1 atan(1 / n), by its series."""
    power, total, k = ONE // n, 0, 0
    while power:
        total += sign**k * (power // (2 * k + 1))
        power, k = power // (n * n), k + 1
    return total


# Exact noise at large scales: magnitudes from float64 pairs, with an error that is proved.

LEAST_SCALE = 2.0**26  # below it float64 alone leaves fewer than one draw in 2**16 undecided
_LAPLACE_ERROR, _GAUSSIAN_ERROR = 2.0**-61, 2.0**-60
_LAST_ERROR = 2.0**-49
_BLOCK = 1 << 14  # temporaries stay in cache
_LEAST_KEY = 1 << 20
_LOG_BITS, _LOG_CELLS = 11, 1 << 11
_COARSE = 20  # digits after the point of the exact part of a logarithm
_LARGEST_STEP = 2.0**-46


def laplace_magnitudes(keys, scale, doubt=1.0):
    """Return ``floor(-scale * log(tail))`` for tails in ``[key, key + 1] * 2**-63``.

    Parameters
    ----------
    keys : ndarray of int64
        Of 63 bits.
    scale : float
    doubt : float, default=1.0
        By how much more than needed the interval is widened.

    Returns
    -------
    magnitudes : ndarray of int64
    unsure : ndarray of int
        Places where the interval holds two integers, or nothing is known.
    """
    return _by_blocks(_laplace_block, keys, scale, doubt * (scale * _LAPLACE_ERROR + _LAST_ERROR))


def gaussian_magnitudes(keys, sigma, doubt=1.0):
    """Return ``floor(sigma * quantile + 1/2)`` for upper tails in ``[key, key + 1] * 2**-64``.

    Parameters and results are those of `laplace_magnitudes`.
    """
    return _by_blocks(_gaussian_block, keys, sigma, doubt * (sigma * _GAUSSIAN_ERROR + _LAST_ERROR))


def _by_blocks(block, keys, scale, error):
    magnitudes, unsure = np.empty(len(keys), dtype=np.int64), []
    for start in range(0, len(keys), _BLOCK):
        part = slice(start, start + _BLOCK)
        with np.errstate(all="ignore"):  # keys near zero are not decided here, whatever comes out
            magnitudes[part], open_ones = block(keys[part], scale, error)
        unsure.append(start + np.flatnonzero(open_ones))
    return magnitudes, np.concatenate(unsure) if unsure else np.empty(0, dtype=np.int64)


def _laplace_block(keys, scale, error):
    inverse, coarse, fine, coarse_log2, fine_log2 = _log_tables()
    bits = (keys >> 11).astype(np.float64).view(np.int64)  # of 52 bits: no rounding
    octave = bits >> 52  # 1011 + L
    index = (bits >> (52 - _LOG_BITS)) & (_LOG_CELLS - 1)
    r = keys << ((1074 - octave) & 63)
    r &= (1 << (62 - _LOG_BITS)) - 1
    r -= 1 << (61 - _LOG_BITS)
    r = r * inverse.take(index)
    halvings = (1075 - octave).astype(np.float64)  # 64 - L
    large = halvings * coarse_log2 - coarse.take(index)
    small = halvings * fine_log2 - fine.take(index)
    series = r * 0.2
    for term in (0.25, 1.0 / 3.0, 0.5, 1.0):
        np.subtract(term, series, out=series)
        series *= r
    small -= series
    width = (1.0 + 2.0**-30) * scale / keys  # by which the far end of the interval lies below
    magnitudes, unsure = _floors(scale, 26, large, small, (error + width, error))
    return magnitudes, unsure | (keys < _LEAST_KEY)


def _gaussian_block(keys, sigma, error):
    tails, fractions, inverse = _tail_tables()
    score = -ndtri((keys + 0.5) * 2.0**-64)
    x = np.minimum(np.rint(score * 2.0**NODES), len(tails) - 1.0)
    index = x.astype(np.int64)
    x *= 2.0**-NODES
    d = score - x
    unit = inverse.take(index)
    # differences of integers wrap around and back; the fraction is that of Q less one half
    wanted = ((tails.take(index) - keys) + fractions.take(index)) * unit
    y = x * x
    series = ((y - 6.0) * y + 3.0) * (0.2 * d)
    for share, hermite in ((0.25, x * (y - 3.0)), (1.0 / 3.0, y - 1.0), (0.5, x), (1.0, 1.0)):
        np.subtract(hermite, series, out=series)
        series *= share * d
    wanted -= series
    unsure = (np.abs(wanted) > 0.99 * _LARGEST_STEP) | (score > LARGEST_SCORE)
    wanted *= 1.0 + x * d
    wanted += d
    error = error + (0.51 * sigma) * unit
    magnitudes, wide = _floors(sigma, 40, x, wanted, (error, error), 0.5)
    return magnitudes, unsure | wide


def _floors(scale, digits, large, small, errors, shift=0.0):
    """Return ``floor(scale * (large + small) + shift)`` and where `errors` leave it open.

    The first `digits` digits of the scale, and its rest, have exact products with `large`.
    """
    mantissa, exponent = math.frexp(scale)
    leading = math.ldexp(math.floor(math.ldexp(mantissa, digits)), exponent - digits)
    product = leading * large
    whole = np.floor(product)
    rest = product - whole
    rest += (scale - leading) * large
    rest += scale * small
    rest += shift
    low, high = np.floor(rest - errors[0]), np.floor(rest + errors[1])
    return whole.astype(np.int64) + low.astype(np.int64), low != high


@cache
def _log_tables():
    """Return 1 / (2**62 m), the two parts of log m for every middle m, and those of log 2."""
    log = 2 * inverse_series(8193, 1)
    coarse, fine = np.empty(_LOG_CELLS), np.empty(_LOG_CELLS)
    for i in range(_LOG_CELLS):
        coarse[i], fine[i] = _parts(log)
        log += 2 * inverse_series(4098 + 2 * i, 1)
    inverse = np.array([4096 / ((4097 + 2 * i) << 62) for i in range(_LOG_CELLS)])
    return inverse, coarse, fine, *_parts(log_of_two())


def _parts(number):
    """Return a number in fixed point as a multiple of ``2**-20`` and the rest."""
    shift = DIGITS - _COARSE
    whole = number >> shift
    return whole * 2.0**-_COARSE, (number - (whole << shift)) / ONE


@cache
def _tail_tables():
    """Return the tails Q of the nodes times 2**64, as integer and rest - 1/2, and 2**-64 / f."""
    tails, fractions, inverse = [], [], []
    for tail, density in zip(*tails_of_nodes(), strict=True):
        units = tail >> (DIGITS - 64)
        tails.append(units - (1 << 64) if units >> 63 else units)
        fractions.append((tail - (units << (DIGITS - 64))) / (1 << (DIGITS - 64)) - 0.5)
        inverse.append(ONE / (density << 64))
    return np.array(tails), np.array(fractions), np.array(inverse)
