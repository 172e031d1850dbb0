"""A plan: the named steps of one fit, the relation they speak of, and what they cost together."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from .._checks import check_delta, check_epsilon, exact, float_below
from .._neighbors import check_neighbors
from ..noise.mechanisms import DiscreteLaplace, RoundedGaussian
from .calibration import gaussian_delta, gaussian_mu
from .curves import gaussian_renyi, pure_renyi
from .races import RATE_OF_MU, RaceChoice, race_mu

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
