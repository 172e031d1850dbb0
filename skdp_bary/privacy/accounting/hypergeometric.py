"""Kummer's function 1F1 on the logarithmic scale, rounded up.

``1F1(a; b; t)`` is the moment generating function of the Beta(a, b - a) law at t. Library routines
overflow where privacy curves need it, at t in the thousands; the series has positive terms only, so
it is summed by their logarithms.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, logsumexp

_LARGEST = 2.0**17  # argument up to which the series is summed
_ROUNDING = 2.0**-50  # relative error of log-gamma and log (tests compare with 40 digits)


def log_kummer(a, b, t):
    """Return ``log 1F1(a; b; t)`` for ``0 < a <= b`` and ``t >= 0``, rounded up.

    A law on [0, 1] has a log moment generating function of slope at most one, which bounds it
    where the series would be long.
    """
    if t == 0.0:
        return 0.0
    summed = _log_series(float(a), float(b), min(float(t), _LARGEST))
    return min((summed + max(t - _LARGEST, 0.0)) * (1.0 + _ROUNDING), float(t))


@lru_cache(maxsize=4096)
def _log_series(a, b, t):
    """Sum the series from its second term on, so that small values keep their digits.

    The ratio of a term to the one before is at most ``t / n``, which bounds what is left out by a
    geometric series.
    """
    n = np.arange(1.0, math.ceil(t + 60.0 * math.sqrt(t)) + 400.0)
    parts = (
        gammaln(a + n),
        -gammaln(b + n),
        -gammaln(n + 1.0),
        n * math.log(t),
        np.full(n.size, gammaln(b) - gammaln(a)),
    )
    size = sum(np.abs(part) for part in parts) + abs(gammaln(b)) + abs(gammaln(a)) + 1.0
    terms = sum(parts) + _ROUNDING * size
    ratio = t / (n[-1] + 1.0)
    tail = terms[-1] + math.log(ratio) - math.log1p(-ratio)
    return float(np.logaddexp(0.0, np.logaddexp(logsumexp(terms), tail))) * (1.0 + _ROUNDING)
