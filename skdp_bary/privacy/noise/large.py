"""Exact noise at large scales: magnitudes from float64 pairs, with an error that is proved.

A magnitude is ``floor(scale * q)`` where q is a quantile of which the word of a draw gives an
interval. At a scale of ``2**45`` a float64 q has no digit left after the point. Here q is a node of
a table plus a small rest, and the product with the scale is added up in pieces of which the large
ones are exact. Only additions, products, roundings and tables are used, no function of the
mathematical library has to be trusted: where scipy's quantile is asked, its answer is checked.

*Notation.* u = 2**-53 bounds the relative error of an addition or product of floats. Keys are the
63 upper bits of a word.

*Laplace.* A key in ``[2**(L-1), 2**L)`` is ``2**(L-1) * m * (1 + r)`` with m one of 2048 middles
``(4097 + 2 i) / 4096`` and ``abs(r) <= 2**-12``; the difference of the shifted key to its middle
is an integer below ``2**51``, so exact. Then::

    -log(key * 2**-63) = (64 - L) log 2 - log m - log(1 + r) = large + small

where `large` collects the multiples of ``2**-20`` in both logs of the tables: at most ``64 *
0.7``, so of 26 bits, and exact. `small` has the rests of the tables, below ``2**-14.5``, and
``log(1 + r)`` by five terms. Its errors are: two roundings of r, ``2 u 2**-12``; two of the
series, ``2 u 2**-12``, all others in it being smaller by ``2**-12``, and its end, ``r**6 / 6 <
2**-74``; those of the rests of the tables, below ``2**-66``; of the last subtraction, ``u
2**-11.75``. Together below ``2**-62``.

*Gauss.* A key is the interval ``[key, key + 1] * 2**-64`` of tail probabilities. The node ``x = j
/ 1024`` nearest to a float quantile has a tail Q and a density f in the table. With ``d =
quantile - x`` (exact, at most ``2**-11``) and p in the middle of the interval, the quantile of p
is ``x + d + c`` where ``F(d + c) = (Q - p) / f`` for ``F(s) = int_0^s exp(-x t - t**2 / 2) dt``.
One step of Newton gives ``c = ((Q - p) / f - F(d)) (1 + x d + e)``, where e is left out: ``abs(e)
< 2**-17.7`` for ``x <= 6``. Draws with ``x > 6`` or ``abs(c) > 2**-46`` are not decided here, so
the float quantile need not be trusted. Errors: Q - p in units of ``2**-64`` is an integer below
``2**53`` and a fraction, so three roundings, ``3 u 2**-10.99``; F by five terms in d, with an end
of ``He_5(6) d**6 / 720 < 2**-63`` and two roundings, ``2 u 2**-10.99``; e times c, ``2**-63.7``;
second order of the step, ``4 c**2 < 2**-89``; c added to d, ``u 2**-11``. Together below
``2**-60.7``. Half an interval is ``2**-65 / f`` or less than 1 % more, as f changes by less than
``exp(6 * 2**-11)`` from the node.

*Product.* The scale is s1 + s2, s1 with so few leading digits that its product with `large` is
exact, as is that of s2. With ``w = floor(s1 * large)`` the rest ``(s1 * large - w) + s2 * large +
scale * small`` and the ends of its interval have five roundings, each at most ``u (scale *
2**-10.99 + 2)``; for Laplace ``2**-11.7`` stands in that. Altogether the error is below ``scale *
2**-61 + 2**-49`` for Laplace and below ``scale * 2**-60 + 2**-49`` for Gauss. The interval is
widened by that.
"""

import math
from functools import cache

import numpy as np
from scipy.special import ndtri

from .fixed_point import (
    DIGITS,
    LARGEST_SCORE,
    NODES,
    ONE,
    inverse_series,
    log_of_two,
    tails_of_nodes,
)

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
