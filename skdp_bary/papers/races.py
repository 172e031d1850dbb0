"""Races: any number of picks among covering sets, priced as one draw.

A pick takes a set with probability proportional to ``exp(rate * mass that it covers first)``. Draw
an exponential clock for every row and set instead: the picks are a function of the clocks of single
rows, so one person changes the law of one clock, and all picks together cost what that clock does.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from ..exceptions import check_delta, check_epsilon, check_integer, check_real, exact
from ..privacy.mechanisms import (
    ADD_REMOVE,
    RoundedGaussian,
    check_neighbors,
    check_order,
    gaussian_mu,
    log1p_ratio,
)
from ..privacy.plans import Plan, Step

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

    is_pure = is_gaussian = False
    amount = math.inf  # it buys no noise

    def __post_init__(self):
        check_real(self.rate, "rate", low=0.0, open_low=True, high=_LARGEST_RATE)

    def unit_rate(self, units):
        """Return the rate of one unit of mass, where a person has at most `units`, rounded down."""
        limit = Fraction(self.rate) / check_integer(units, "units", low=1)
        rate = float(limit)
        return rate if Fraction(rate) <= limit else math.nextafter(rate, 0.0)

    def scales(self, sensitivity, weights=None):
        """Return the noise scales of the blocks: picks have none."""
        return ()

    def compare(self, before, after):
        """Losses of two records of one step: allowed, lost, their ratio, moved, and faults.

        The picks of `before` were recorded, and `after` follows them on other rows.
        """
        old, units = before.released, before.released.query.units
        same = np.array_equal(old.values[0], after.released.values[0])
        found = [] if same else ["the picks are not those that were recorded"]
        picks, one_sided = old.values[0].ravel().tolist(), old.relation == ADD_REMOVE
        moved, more = compare_picks(before.exact, after.exact, picks, units, one_sided)
        lost = self.unit_rate(units) * moved
        return self.rate, lost, lost / self.rate, moved, found + more

    def delta(self, epsilon, relation, mu=0.0):
        """Cost of the picks next to Gaussian steps of `mu`, see :func:`race_delta`."""
        return race_delta(self.rate, epsilon, relation, mu)

    def renyi(self, order, relation):
        """Return the Renyi divergence bound of the picks, see :func:`race_renyi`."""
        return race_renyi(self.rate, order, relation)


def race_delta(rate, epsilon, relation, mu=0.0):
    """Return the delta at `epsilon` of a race next to Gaussian releases, rounded up.

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
    directions = (_join, _leave) if check_neighbors(relation) == ADD_REMOVE else (_replace,)
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
    """Return the largest ``mu``, rounded down, of Gaussian releases next to a race.

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


def race_plan(relation, epsilon, delta, shares, race):
    """Return the plan of one race and of Gaussian steps that share what it leaves.

    `shares` are fractions of ``mu**2`` by name, in the order of the steps. The share of the step
    named `race` does not count: a race costs its part of mu once, see ``RATE_OF_MU``.
    """
    mu = race_mu(check_epsilon(epsilon), check_delta(delta), check_neighbors(relation))
    others = {name: exact(share) for name, share in shares.items() if name != race}
    square = Fraction(mu) ** 2 * (1 - Fraction(1, 2**40))  # room for the rounding of the sum
    amounts = {name: math.sqrt(square * s / sum(others.values())) for name, s in others.items()}
    choice = RaceChoice(RATE_OF_MU * mu)
    steps = (
        Step(name, choice if name == race else RoundedGaussian(amounts[name])) for name in shares
    )
    return Plan(relation, epsilon, delta, tuple(steps))


# What two runs of a race must not show: the audit of picks by what they chose from.


def compare_picks(before, after, picks, units, one_sided):
    """Return the largest change of what a point covers, and what contradicts the guarantee.

    Parameters
    ----------
    before, after : sequence of Offer
        What every pick chose from, on the two datasets.
    picks : sequence of int
        What was picked, the same on both.
    units : int
        Largest mass of one person.
    one_sided : bool
        Whether the neighbor has one row more or less; otherwise one row replaces another.
    """
    if not len(before) == len(after) == len(picks):
        counts = f"{len(before)} picks on one data set, {len(after)} on the other"
        return units, [f"there were {counts}, and {len(picks)} are released"]
    violations = []
    if any(a.n_places != b.n_places for a, b in zip(before, after, strict=True)):
        violations.append("the number of points to choose from depends on the rows")
    changes = [_changes(a, b) for a, b in zip(before, after, strict=True)]
    moved = max((int(np.abs(change).max(initial=0)) for _, change in changes), default=0)
    if moved > units:
        violations.append(f"a point covers {moved} more or less, one person has {units}")
    signs = sorted({int(s) for _, change in changes for s in np.sign(change)})
    if one_sided and len(signs) > 1:
        violations.append("one row more makes some points cover more and others less")
    if any(_outlasts_its_pick(changes, picks, sign) for sign in signs):
        violations.append("a person is still counted after a pick that covers it")
    return moved, violations


def _outlasts_its_pick(changes, picks, sign):
    """Whether a change of one sign is still there after a point that shows it was picked."""
    covered = False
    for (places, change), pick in zip(changes, picks, strict=True):
        shown = places[np.sign(change) == sign]
        if covered and shown.size:
            return True
        covered = covered or pick in shown
    return False


def _changes(old, new):
    """Return the points whose mass differs, in order, and by how much."""
    places = np.union1d(old.places, new.places)
    change = np.zeros(len(places), dtype=np.int64)
    change[np.searchsorted(places, new.places)] += new.masses
    change[np.searchsorted(places, old.places)] -= old.masses
    return places[change != 0], change[change != 0]
