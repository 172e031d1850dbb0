"""Races: a whole sequence of choices among covering sets, priced as one draw.

One pick chooses a set with probability proportional to ``exp(rate * c)``, c being the number of
rows that the set covers and no earlier pick did. Let every set carry an exponential clock of rate
``exp(rate * c)`` and let the first clock that rings make the pick: the law is the same. One more
row multiplies the rates of the sets that cover it by ``a = exp(rate)``, until one of them is
picked, and nothing else. Measured in the total rate of those sets without the row, the waiting
time until one of them is picked is Exp(1) without the row and Exp(a) with it; given that time, the
picks have the same law, however many there are and whatever grids later picks use. So a sequence
of any length is post-processing of one draw of Exp(a) against Exp(1) ("add_remove"), or, when one
row replaces another, of Exp(a) x Exp(1) against Exp(1) x Exp(a). Both pairs have closed profiles,
alone and together with Gaussian releases, which compose adaptively with them (Zhu, Dong and Wang,
2022).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from scipy.optimize import brentq

from .._checks import check_delta, check_epsilon, check_integer, check_real
from .._neighbors import ADD_REMOVE, check_neighbors
from .calibration import gaussian_mu
from .curves import check_order, log1p_ratio

RATE_OF_MU = 0.2  # of a race beside Gaussian steps: costs about 5 % of their mu
_BITS = 160  # to start with; doubled until the terms have not cancelled
_MARGIN = 2.0**-40
_SLACK = 2.0**-36
_LARGEST_RATE = 30.0


@dataclass(frozen=True)
class RaceChoice:
    """Any number of picks among sets, by the rows that they cover first.

    Parameters
    ----------
    rate : float
        Natural logarithm of how much more likely one more covered row makes a pick. What the picks
        cost together follows from it, see :func:`race_delta`; it is no pure guarantee.
    """

    rate: float

    def __post_init__(self):
        check_real(self.rate, "rate", low=0.0, open_low=True, high=_LARGEST_RATE)

    def unit_rate(self, units):
        """Return the rate of one unit of mass, where a person has at most `units`, rounded down."""
        limit = Fraction(self.rate) / check_integer(units, "units", low=1)
        rate = float(limit)
        return rate if Fraction(rate) <= limit else math.nextafter(rate, 0.0)

    def delta(self, epsilon, relation, mu=0.0):
        """Return what the picks cost beside Gaussian steps of `mu`, see :func:`race_delta`."""
        return race_delta(self.rate, epsilon, relation, mu)

    def renyi(self, order, relation):
        """Return the Renyi divergence bound of the picks, see :func:`race_renyi`."""
        return race_renyi(self.rate, order, relation)


def race_delta(rate, epsilon, relation, mu=0.0):
    """Return the delta at `epsilon` of a race beside Gaussian releases, rounded up.

    Parameters
    ----------
    rate : float
    epsilon : float
        At least zero.
    relation : str
        Under "add_remove" the larger one of the two directions counts; replacing is symmetric.
    mu : float, default=0.0
        Gaussian parameter of all other releases together, under the same relation.
    """
    rate = check_real(rate, "rate", low=0.0, open_low=True, high=_LARGEST_RATE)
    epsilon = check_real(epsilon, "epsilon", low=0.0)
    mu = check_real(mu, "mu", low=0.0)
    directions = _joined if check_neighbors(relation) == ADD_REMOVE else _replaced
    return max(_rounded_up(terms, rate, epsilon, mu) for terms in directions)


def race_renyi(rate, order, relation):
    """Return the Renyi divergence of a race, rounded up; infinite from order ``a / (a - 1)``."""
    rate = check_real(rate, "rate", low=0.0, open_low=True, high=_LARGEST_RATE)
    order = check_order(order)
    relation = check_neighbors(relation)
    growth = math.expm1(rate)
    if order == math.inf or (order - 1.0) * growth >= 1.0 - _MARGIN:
        return math.inf
    without = -log1p_ratio(-growth, order)
    with_row = log1p_ratio(-math.expm1(-rate), order)
    slack = _MARGIN * (without + with_row + rate)
    joined, left = without - rate + slack, rate - with_row + slack
    return max(joined, left) if relation == ADD_REMOVE else joined + left


@lru_cache(maxsize=1024)
def race_mu(epsilon, delta, relation):
    """Return the largest ``mu``, rounded down, of Gaussian releases beside a race.

    The race has the rate ``RATE_OF_MU * mu`` and the two together are (epsilon, delta) private.
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    high = min(gaussian_mu(epsilon, delta), _LARGEST_RATE / RATE_OF_MU)

    def excess(mu):
        return math.log(race_delta(RATE_OF_MU * mu, epsilon, relation, mu) / delta) + 2.0 * _SLACK

    low = high / 2.0
    while excess(low) > 0.0:
        low /= 2.0
    mu = brentq(excess, low, high, rtol=1e-12) if excess(high) > 0.0 else high
    step = 2.0**-46
    while race_delta(RATE_OF_MU * mu, epsilon, relation, mu) > delta * (1.0 - _SLACK):
        mu, step = mu * (1.0 - step), 2.0 * step
    return mu


def _rounded_up(terms, rate, epsilon, mu):
    """Add up the terms of a profile with as many digits as their cancellation needs."""
    import mpmath

    bits = _BITS
    while True:
        with mpmath.workprec(bits):
            numbers = list(terms(*(mpmath.mpf(x) for x in (rate, epsilon, mu))))
            total = mpmath.fsum(value for value, _ in numbers)
            error = mpmath.fsum(abs(value) * (1 + size) for value, size in numbers)
            error = mpmath.ldexp(error, 8 - bits)
            if error <= mpmath.ldexp(abs(total), -50) or error < mpmath.mpf(2) ** -1074:
                bound = float(min(max(total + error, 0), 1))
                return min(math.nextafter(bound * (1.0 + _MARGIN), math.inf), 1.0) if bound else 0.0
        bits *= 2


# A direction yields the terms of its profile as pairs (value, size), with `size` a bound on the
# argument of exp: the relative error of a value is a few times (1 + size) 2**-bits.


def _join(rate, epsilon, mu):
    """Exp(1) against Exp(a): the row is not there, and would have been."""
    import mpmath

    growth = mpmath.expm1(rate)
    if mu:
        yield from _mixed(1, epsilon + rate, growth, mu)
    else:
        size = (epsilon + rate) / growth
        yield -mpmath.expm1(-rate) * mpmath.exp(-size), size + rate


def _leave(rate, epsilon, mu):
    """Exp(a) against Exp(1): the row is there."""
    import mpmath

    a, growth = mpmath.exp(rate), mpmath.expm1(rate)
    if mu:
        yield from _mixed(a, epsilon - rate, -growth, mu)
    elif epsilon < rate:
        s = (rate - epsilon) / growth
        yield -mpmath.expm1(-a * s), a * s
        yield mpmath.exp(epsilon) * mpmath.expm1(-s), epsilon + s


def _replace(rate, epsilon, mu):
    """One clock of each kind against one of each kind: the losses are ``(a - 1) (t - u)``."""
    import mpmath

    a, growth = mpmath.exp(rate), mpmath.expm1(rate)
    if not mu:
        size = epsilon / growth
        yield mpmath.tanh(rate / 2) * mpmath.exp(-size), size + rate
        return
    for weight, clock, slope in ((a / (a + 1), 1, growth), (1 / (a + 1), a, -growth)):
        for value, size in _mixed(clock, epsilon, slope, mu):
            yield weight * value, size


_joined = (_join, _leave)
_replaced = (_replace,)


def _mixed(clock, epsilon, slope, mu):
    """Yield the terms of the mean of ``gaussian_delta(mu, epsilon - slope t)`` over t ~ Exp(clock).

    ``gaussian_delta(mu, e) = Phi(mu / 2 - e / mu) - exp(e) Phi(-mu / 2 - e / mu)``, and the
    integrals of exponentials times Phi of a linear function are closed.
    """
    import mpmath

    for shift, decay, sign in ((mu / 2, clock, 1), (-mu / 2, clock + slope, -1)):
        log_weight = epsilon if sign < 0 else mpmath.mpf(0)
        factor = sign * mpmath.exp(log_weight) * clock / decay
        start, step = shift - epsilon / mu, slope / mu
        size = abs(log_weight) + start**2
        yield factor * mpmath.ncdf(start), size
        ratio = decay / step
        power = ratio * start + ratio**2 / 2
        tail = mpmath.ncdf(-(start + ratio)) if slope > 0 else -mpmath.ncdf(start + ratio)
        yield factor * mpmath.exp(power) * tail, size + abs(power) + (start + ratio) ** 2
