"""A plan: the named steps of one fit, their relation, and what they cost together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from scipy.optimize import brentq

from ..exceptions import check_delta, check_epsilon, check_integer, check_real, exact, float_below
from .mechanisms import (
    ADD_REMOVE,
    DiscreteLaplace,
    RoundedGaussian,
    check_neighbors,
    check_order,
    gaussian_delta,
    gaussian_mu,
    gaussian_renyi,
    log1p_ratio,
    pure_renyi,
)

# A plan: the named steps of one fit, the relation they speak of, and what they cost together.

_FINEST_PART = 1 << 20  # of what later steps cost: a division anew takes a whole number of these


@dataclass(frozen=True)
class Step:
    """One release of a fit: its name and its mechanism."""

    name: str
    mechanism: object


@dataclass(frozen=True)
class Plan:
    """What one fit will release, checked to cost at most (epsilon, delta) under one relation.

    Pure steps add up; Gaussian steps compose exactly (``mu**2`` adds up), and so does one race with
    them; the kinds together cost the pure sum on top of the profile of the others.

    Parameters
    ----------
    relation : {"add_remove", "replace_one", "replace_any"}
        Neighboring relation of every step.
    epsilon, delta : float
        What the plan promises, and what is charged.
    steps : tuple of Step
        In the order of release; names are unique.
    one_of_several : bool, default=False
        Whether a search made other fits too, and nothing adds up what they cost together.
    """

    relation: str
    epsilon: float
    delta: float
    steps: tuple
    one_of_several: bool = field(default=False, kw_only=True)

    scope = ""  # what (epsilon, delta) are the price of, where it is more than these steps

    def __post_init__(self):
        check_neighbors(self.relation, "relation")
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        names = [step.name for step in self.steps]
        if not names or len(set(names)) != len(names):
            raise ValueError(f"A plan needs steps with unique names, got {names!r}.")
        if self.pure_epsilon > exact(self.epsilon):
            raise ValueError(
                f"The steps of this plan cost epsilon={float(self.pure_epsilon)}, more than the "
                f"{self.epsilon} it promises."
            )
        if sum(_is_race(step) for step in self.steps) > 1:
            raise ValueError(f"A plan holds at most one race, got the steps {names!r}.")
        if self._cost_delta() > self.delta:
            raise ValueError(
                f"The steps of this plan cost delta={self._cost_delta()} at "
                f"epsilon={self.epsilon}, more than the {self.delta} it promises."
            )

    @property
    def pure_epsilon(self):
        """Sum of the pure steps, as a fraction."""
        return sum((exact(s.mechanism.epsilon) for s in self.steps if _is_pure(s)), Fraction(0))

    @property
    def mu(self):
        """Gaussian parameter of all Gaussian steps together."""
        squares = [Fraction(s.mechanism.mu) ** 2 for s in self.steps if _is_gaussian(s)]
        return math.nextafter(math.sqrt(sum(squares)), math.inf) if squares else 0.0

    def renyi(self, order):
        """Return the Renyi divergence bound of the whole plan at `order`."""
        pure = [s.mechanism.epsilon for s in self.steps if _is_pure(s)]
        loss = sum(pure_renyi(epsilon, order) for epsilon in pure) + gaussian_renyi(self.mu, order)
        if self.race is not None:
            loss += self.race.renyi(order, self.relation)
        return loss * (1.0 + len(self.steps) * 2.0**-52)  # roundings of the sum

    @property
    def race(self):
        """The race among the steps, or None."""
        return next((s.mechanism for s in self.steps if _is_race(s)), None)

    def _cost_delta(self):
        if self.race is None and not self.mu:
            return 0.0
        left = exact(self.epsilon) - self.pure_epsilon
        rounded = float(left)
        if exact(rounded) > left:
            rounded = math.nextafter(rounded, -math.inf)
        rounded = max(rounded, 0.0)
        if self.race is None:
            return gaussian_delta(self.mu, rounded)
        return self.race.delta(rounded, self.relation, self.mu)


def split_epsilon(epsilon, shares):
    """Split a pure budget by name: each step gets its share, rounded so that the sum never exceeds.

    `shares` maps step names to positive numbers; they are normalised by their sum.
    """
    amounts = _amounts(check_epsilon(epsilon), tuple(map(float, shares.values())))
    return dict(zip(shares, amounts, strict=True))


@lru_cache(maxsize=1 << 8)
def _amounts(epsilon, shares):
    """Return the parts of a split; a search over many small fits asks for the same few."""
    total = sum(map(exact, shares))
    return tuple(float_below(exact(epsilon) * exact(share) / total) for share in shares)


def split_mu(epsilon, delta, shares):
    """Split an (epsilon, delta) budget among Gaussian steps: shares are fractions of ``mu**2``."""
    total = sum(exact(share) for share in shares.values())
    square = Fraction(gaussian_mu(check_epsilon(epsilon), check_delta(delta))) ** 2
    shrink = 1 - Fraction(1, 2**40)  # room for the upward rounding of the composed mu
    return {name: math.sqrt(square * shrink * exact(s) / total) for name, s in shares.items()}


class NoBudget:
    """What pays for a fit without an accountant: its plan is checked, and nothing adds it up."""

    terms = None

    def check(self, plan, *, who="", unit=None, origin=None):
        """Refuse nothing."""

    def charge(self, plan, who, *, unit=None, note="", origin=None):
        """Keep nothing."""

    def covers(self, charged, plan):
        """Return whether one plan promises at most what another does."""
        return plan.epsilon <= charged.epsilon and plan.delta <= charged.delta

    def unit_advice(self, unit):
        """Return "": of one fit alone there is nothing to say."""
        return ""


NO_BUDGET = NoBudget()


def divided_anew(plan, n_done, shares, covers):
    """Return the plan in which the steps after the first `n_done` share otherwise what they cost.

    Gaussian steps may be chosen by earlier releases as long as the sum of all ``mu**2`` stays below
    one fixed before, and pure steps as long as the sum of their epsilons does (adaptive
    composition). What a budget counts need not be these sums: Renyi losses are convex in epsilon,
    so unequal steps lose more than equal ones of the same sum. Where what was charged does not pay
    for all of the new steps, all of them get the same smaller part.

    Parameters
    ----------
    plan : Plan
        All of its later steps are Gaussian, or all are pure.
    n_done : int
        Steps that stay as they are.
    shares : dict
        Names of the later steps, in order, and their fractions of ``mu**2``, or of epsilon.
    covers : callable
        ``covers(plan)`` says whether what was charged pays for a plan.
    """
    done, later = plan.steps[:n_done], plan.steps[n_done:]
    if all(isinstance(step.mechanism, DiscreteLaplace) for step in later):
        divide = _pure_divided
    elif all(map(_is_gaussian, later)):
        divide = _gaussian_divided
    else:
        raise ValueError("Only steps with Gaussian noise, or all with Laplace, are divided anew.")

    def with_part(units):
        part = Fraction(units, _FINEST_PART)
        return replace(plan, steps=(*done, *divide(later, shares, part)))

    paid, unpaid = 0, _FINEST_PART
    if covers(with_part(unpaid)):
        return with_part(unpaid)
    while unpaid - paid > 1:
        middle = (paid + unpaid) // 2
        paid, unpaid = (middle, unpaid) if covers(with_part(middle)) else (paid, middle)
    return with_part(paid)  # a part of 0 is no step, and raises


def _pure_divided(later, shares, part):
    """Return steps whose epsilons add up to at most a part of those of other steps."""
    budget = part * sum((exact(step.mechanism.epsilon) for step in later), Fraction(0))
    total = sum(exact(share) for share in shares.values())
    amounts = {name: float_below(budget * exact(s) / total) for name, s in shares.items()}
    return [Step(name, DiscreteLaplace(amount)) for name, amount in amounts.items()]


def _gaussian_divided(later, shares, part):
    """Return steps whose squared mus add up to at most a part of those of other steps."""
    square = part * sum(Fraction(step.mechanism.mu) ** 2 for step in later)
    total = sum(exact(share) for share in shares.values())
    shrink = 1 - Fraction(1, 2**40)  # room for the rounding of the roots
    new = [
        Step(name, RoundedGaussian(math.sqrt(square * shrink * exact(share) / total)))
        for name, share in shares.items()
    ]
    if sum(Fraction(step.mechanism.mu) ** 2 for step in new) > square:
        raise ArithmeticError("The new steps would cost more than those they replace.")
    return new


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


def _is_gaussian(step):
    return isinstance(step.mechanism, RoundedGaussian)


def _is_race(step):
    return isinstance(step.mechanism, RaceChoice)


def _is_pure(step):
    return not (_is_gaussian(step) or _is_race(step))


# Races: a whole sequence of choices among covering sets, priced as one draw.

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


# When a failure probability is too large for what it promises. By public facts alone.

LARGE_DELTA = 1e-3  # no usual number of persons is below one over it


def failure_advice(delta: float, persons: int | None = None) -> str:
    """Return what is wrong with a failure probability, or "".

    Parameters
    ----------
    delta : float
    persons : int or None, default=None
        A public number of persons.
    """
    if persons and delta * persons > 1.0:
        why = f"above one over the {persons:,} persons that are publicly known of"
    elif delta >= LARGE_DELTA:
        why = "large"
    else:
        return ""
    return (
        f"delta={delta:g} is {why}: a release that shows each person's row with this probability "
        "would keep the promise. Take a delta far below one over the number of persons, such as "
        "1e-6 or less."
    )
