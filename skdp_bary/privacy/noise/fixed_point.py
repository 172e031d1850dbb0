"""Tails of noise as integers in units of ``2**-192``, with an error that is proved.

Where floats cannot tell between two magnitudes m - 1 and m, the tail of a draw is compared with the
tail T(m) at which the magnitude steps. That takes integers only.

*Laplace.* ``T(m) = exp(-m / scale)``. Cutting the exponent moves it by less than a unit, and log 2,
which is off by at most 124, by as much a halving; of either, what is left after the halvings is
below 64 units. What whole halvings leave of the exponent is divided by ``2**8``, so the series ends
after 20 terms, of which the next is below ``2**-240``. Every term and product loses at most two
units, and eight squarings double what was lost: below ``2**14`` units in all.

*Gauss.* ``T(m) = Q((m - 1/2) / sigma)``, with Q(x) the upper tail. Around the nearest node x0, at
most ``h = 2**-11`` away, ``Q(x0 + d) = Q(x0) - f(x0) sum_k (-1)**k He_k(x0) d**(k+1) / (k+1)!``. As
``f(x) abs(He_k(x)) <= .44 sqrt(k!)``, what the sum of 14 terms leaves out is below ``.44 sqrt(14!)
h**15 / 15! < 2**-188``, and what is cut below ``.44 sqrt(k!)`` units a term, ``2**17`` in all; what
the polynomials lose is multiplied by powers of d and lost in that. Tails of the nodes come from
one another by the same series at both ends of a step, where terms cancel in pairs; those up to the
14th stay, and the next is below ``2**-200``. The ratio of the densities at two places, half a step
apart, is off by at most 7 units more a half step: one of its product, six of the factor. So the
density at ``x = j / 1024`` is off by at most ``7 (2 j**2 + 2 j)`` units of itself, by ``2**12``
that its products lose, and by ``2**7`` that pi does: below ``2**23`` as ``x**2 f(x) <= .3``. The
tails lose what 6144 steps of ``2**-10`` times that add up to: ``2**26`` units. Together below
``2**-165``.

`SLACK` is ``2**-160``; a draw that is nearer than that takes further bits.
"""

import math
from functools import cache

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
    return tails[node] - (densities[node] * _rise(place, score - place) >> DIGITS)


def _rise(place, d):
    """Return the integral of the density from `place` by `d`, over the density there."""
    total, before, hermite, power = 0, 0, ONE, d
    for k in range(_TAIL_TERMS):
        total += hermite * power >> DIGITS
        power = -(power * d >> DIGITS) // (k + 2)
        before, hermite = hermite, (place * hermite >> DIGITS) - k * before
    return total


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
        tail -= density * _mean_of_density(2 * j + 1, h) >> (DIGITS + NODES)
        density = density * ratio >> DIGITS
        ratio = ratio * falling >> DIGITS
    return tails, densities


def _mean_of_density(place, h):
    """Return the mean over places within ``2**-h`` of ``place * 2**-h``, over the density there."""
    x = place << (DIGITS - h)
    total, before, hermite, odd = 0, 0, ONE, 1
    for k in range(_STEP_TERMS + 1):
        if k % 2 == 0:
            total += (hermite >> (h * k)) // odd
        before, hermite = hermite, (x * hermite >> DIGITS) - k * before
        odd *= k + 2
    return total


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
