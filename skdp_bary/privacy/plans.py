"""A plan: the named steps of one fit, their relation, and what they cost together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from ..exceptions import check_delta, check_epsilon, exact, float_below
from .mechanisms import (
    DiscreteLaplace,
    RoundedGaussian,
    check_neighbors,
    gaussian_delta,
    gaussian_mu,
    gaussian_renyi,
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

    Pure steps add up; Gaussian steps compose exactly (``mu**2`` adds up), and so does one mechanism
    with them that states their joint profile; the kinds together cost the pure sum on top of the
    profile of the others.

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
        if sum(not (m.is_pure or m.is_gaussian) for m in self._mechanisms()) > 1:
            raise ValueError(f"At most one step may be priced jointly, got the steps {names!r}.")
        if (cost := self._cost_delta()) > self.delta:
            raise ValueError(
                f"The steps of this plan cost delta={cost} at epsilon={self.epsilon}, more than "
                f"the {self.delta} it promises."
            )

    @property
    def pure_epsilon(self):
        """Sum of the pure steps, as a fraction."""
        return sum((exact(m.epsilon) for m in self._mechanisms() if m.is_pure), Fraction(0))

    @property
    def mu(self):
        """Gaussian parameter of all Gaussian steps together."""
        squares = [Fraction(m.mu) ** 2 for m in self._mechanisms() if m.is_gaussian]
        return math.nextafter(math.sqrt(sum(squares)), math.inf) if squares else 0.0

    def renyi(self, order):
        """Return the Renyi divergence bound of the whole plan at `order`."""
        pure = [m.epsilon for m in self._mechanisms() if m.is_pure]
        loss = sum(pure_renyi(epsilon, order) for epsilon in pure) + gaussian_renyi(self.mu, order)
        if self.joint is not None:
            loss += self.joint.renyi(order, self.relation)
        return loss * (1.0 + len(self.steps) * 2.0**-52)  # roundings of the sum

    @property
    def joint(self):
        """The mechanism that is priced together with all Gaussian ones, or None."""
        return next((m for m in self._mechanisms() if not (m.is_pure or m.is_gaussian)), None)

    def _mechanisms(self):
        return [step.mechanism for step in self.steps]

    def _cost_delta(self):
        if self.joint is None and not self.mu:
            return 0.0
        left = exact(self.epsilon) - self.pure_epsilon
        rounded = float(left)
        if exact(rounded) > left:
            rounded = math.nextafter(rounded, -math.inf)
        rounded = max(rounded, 0.0)
        if self.joint is None:
            return gaussian_delta(self.mu, rounded)
        return self.joint.delta(rounded, self.relation, self.mu)


def split_epsilon(epsilon, shares):
    """Split a pure budget by name: each step gets its share, rounded so that the sum never exceeds.

    `shares` maps step names to positive numbers; they are normalized by their sum.
    """
    return _pure_amounts(exact(check_epsilon(epsilon)), shares)


def split_mu(epsilon, delta, shares):
    """Split an (epsilon, delta) budget among Gaussian steps: shares are fractions of ``mu**2``."""
    square = Fraction(gaussian_mu(check_epsilon(epsilon), check_delta(delta))) ** 2
    return _gaussian_amounts(square, shares)


def _pure_amounts(budget, shares):
    """Return epsilons, by name, whose sum is at most a budget."""
    parts = _parts(budget, tuple(map(float, shares.values())))
    return dict(zip(shares, map(float_below, parts), strict=True))


def _gaussian_amounts(square, shares):
    """Return mus, by name, whose squares add up to at most a square."""
    shrink = 1 - Fraction(1, 2**40)  # room for the rounding of roots, and of the composed mu
    parts = _parts(square * shrink, tuple(map(float, shares.values())))
    amounts = dict(zip(shares, map(math.sqrt, parts), strict=True))
    if sum(Fraction(mu) ** 2 for mu in amounts.values()) > square:
        raise ArithmeticError("The steps would cost more than what they share.")
    return amounts


@lru_cache(maxsize=1 << 8)
def _parts(amount, shares):
    """Return the parts of an exact split; a search over many small fits asks for the same few."""
    total = sum(map(exact, shares))
    return tuple(amount * exact(share) / total for share in shares)


class NoBudget:
    """Budget of a fit without an accountant: its plan is checked, and nothing adds it up."""

    terms = None

    def check(self, plan, *, who="", unit=None, origin=None):
        """Refuse nothing."""

    def charge(self, plan, who, *, unit=None, note="", origin=None):
        """Keep nothing."""

    def covers(self, charged, plan):
        """Whether one plan promises at most what another does."""
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
    so unequal steps lose more than equal ones of the same sum. Where the charge does not pay
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
    old = [step.mechanism for step in later]
    if all(mechanism.is_pure for mechanism in old):
        kind, divide = DiscreteLaplace, _pure_amounts
        total = sum(exact(mechanism.epsilon) for mechanism in old)
    elif all(mechanism.is_gaussian for mechanism in old):
        kind, divide = RoundedGaussian, _gaussian_amounts
        total = sum(Fraction(mechanism.mu) ** 2 for mechanism in old)
    else:
        raise ValueError("Only steps with Gaussian noise, or all with Laplace, are divided anew.")

    def with_part(units):
        amounts = divide(total * Fraction(units, _FINEST_PART), shares)
        return replace(plan, steps=(*done, *(Step(name, kind(a)) for name, a in amounts.items())))

    paid, unpaid = 0, _FINEST_PART
    if covers(with_part(unpaid)):
        return with_part(unpaid)
    while unpaid - paid > 1:
        middle = (paid + unpaid) // 2
        paid, unpaid = (middle, unpaid) if covers(with_part(middle)) else (paid, middle)
    return with_part(paid)  # a part of 0 is no step, and raises


# When a failure probability is too large for what it promises. By public facts alone.

LARGE_DELTA = 1e-3  # no usual number of persons is below one over it


def failure_advice(delta: float, persons: int | None = None) -> str:
    """Text about an invalid failure probability, or "".

    Parameters
    ----------
    delta : float
    persons : int or None, default=None
        A public number of people.
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
