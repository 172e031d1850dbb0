"""Plans: what the steps of one fit cost together, and those of a private search."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial

from ..exceptions import check_delta, check_epsilon, check_real, exact, float_below
from .mechanisms import (
    DiscreteLaplace,
    RoundedGaussian,
    check_neighbors,
    gaussian_delta,
    gaussian_mu,
    gaussian_renyi,
    pure_renyi,
    renyi_delta,
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
        Whether a search made other fits too, and nothing adds up what they cost together, or it
        chose among them by exact scores.
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


def steps_of(epsilon, delta, shares):
    """Return the steps that share a budget by name: all of them pure, or all Gaussian."""
    if delta == 0:
        mechanism, amounts = DiscreteLaplace, split_epsilon(epsilon, shares)
    else:
        mechanism, amounts = RoundedGaussian, split_mu(epsilon, delta, shares)
    return tuple(Step(name, mechanism(amounts[name])) for name in shares)


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
    return {name: float_below(budget * part) for name, part in _fractions(shares).items()}


def _gaussian_amounts(square, shares):
    """Return mus, by name, whose squares add up to at most a square."""
    shrink = 1 - Fraction(1, 2**40)  # room for the rounding of roots, and of the composed mu
    parts = _fractions(shares).items()
    amounts = {name: math.sqrt(square * shrink * part) for name, part in parts}
    if sum(Fraction(mu) ** 2 for mu in amounts.values()) > square:
        raise ArithmeticError("The steps would cost more than what they share.")
    return amounts


def _fractions(shares):
    """Return by name, exactly, which fraction of all each share is."""
    return dict(zip(shares, _of_all(tuple(map(float, check_shares(shares).values()))), strict=True))


def check_shares(shares):
    """Return shares of a budget by the names of steps, or raise where one is not positive."""
    if not all(0 < share < math.inf for share in shares.values()):
        raise ValueError(
            f"Shares of a budget must be positive numbers by step, got {shares!r}. For example "
            "{'count': 1.0}."
        )
    return shares


@lru_cache(maxsize=1 << 8)
def _of_all(shares):
    # a search over many small fits, and a division that looks for its part, ask for the same few
    total = sum(map(exact, shares))
    return tuple(exact(share) / total for share in shares)


class Unlimited:
    """The budget of a fit without an accountant: any plan fits, and nothing adds them up."""

    terms = None

    def check(self, plan, *, who="", unit=None, origin=None, then=()):
        """Refuse nothing."""

    def charge(self, plan, who, *, unit=None, note="", origin=None):
        """Keep nothing."""

    def covers(self, charged, plan):
        """Whether one plan promises at most what another does."""
        return plan.epsilon <= charged.epsilon and plan.delta <= charged.delta

    def unit_advice(self, unit):
        """Return "": of one fit alone there is nothing to say."""
        return ""


UNLIMITED = Unlimited()


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
    persons : int, default=None
        A public number of people.
    """
    if persons and delta * persons > 1.0:
        why = f"above one over the {persons:,} people that are publicly known"
    elif delta >= LARGE_DELTA:
        why = "large"
    else:
        return ""
    return (
        f"delta={delta:g} is {why}: publishing each person's row with this probability would "
        "satisfy the guarantee. Use a delta much smaller than one over the number of people, "
        "such as 1e-6."
    )


# Choosing the best of a random number of private candidates, and what the choice costs.

_MARGIN = 2.0**-40  # above the rounding error of the sums here
_FINEST_MU = 1e-9


@dataclass(frozen=True)
class LogarithmicTrials:
    """Logarithmic number of trials: ``P(K = k)`` is proportional to ``(1 - gamma)**k / k``.

    Of the truncated negative binomial laws, for which the price of a choice is known, this is the
    one that costs least.

    Parameters
    ----------
    gamma : float
        In [2**-30, 1), read as the nearest fraction with a denominator of at most 2**40; small
        values mean many trials.
    """

    gamma: float

    def __post_init__(self):
        check_real(self.gamma, "gamma", low=2.0**-30, high=1.0, open_high=True)
        if self._stop == 1:
            raise ValueError(f"gamma must be below 1 by at least 2**-40, got {self.gamma!r}.")

    @classmethod
    def of_mean(cls, mean):
        """Return the trials of a mean number; any gamma keeps the guarantee."""
        mean = check_real(mean, "mean_trials", low=1.0 + 1e-6, high=1e6)
        low, high = 0.0, 20.0  # -log(gamma)
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if math.expm1(middle) / middle < mean else (low, middle)
        return cls(math.exp(-high))

    @cached_property
    def mean(self):
        """Mean number of trials."""
        stop = float(self._stop)
        return (1.0 / stop - 1.0) / -math.log(stop)

    def draw(self, noise):
        """Draw a number of trials by its exact distribution.

        A geometric number k is kept with probability 1 / k, as a product of ``i / (i + 1)``; both
        are drawn from fractions.
        """
        while True:
            count = 1
            while not _happens(self._stop, noise):
                count += 1
            if all(_happens(Fraction(i, i + 1), noise) for i in range(1, count)):
                return count

    def pure_base(self, epsilon):
        """Return the pure epsilon that one trial may cost when the choice costs `epsilon`."""
        return float_below(exact(check_epsilon(epsilon)) / 2)

    def gaussian_renyi(self, mu, order):
        """Return a bound, rounded up, on the Renyi divergence of the choice among mu-GDP trials.

        It is ``R(a) + (1 - 1/b) R(b) + log(1 / gamma) / b + log(E K) / (a - 1)`` for any second
        order b; for Gaussian trials ``b = sqrt(2 log(1 / gamma)) / mu`` is the best.
        """
        if order == math.inf:
            return math.inf
        odds = -math.log(float(self._stop))
        second = max(math.sqrt(2.0 * odds) / mu, 1.0 + 2.0**-20)
        choice = (1.0 - 1.0 / second) * gaussian_renyi(mu, second) + odds / second
        number = math.log(max(self.mean, 1.0)) / (order - 1.0)
        return (gaussian_renyi(mu, order) + choice + number) * (1.0 + _MARGIN)

    @cached_property
    def _stop(self):
        return Fraction(self.gamma).limit_denominator(1 << 40)


@lru_cache(maxsize=256)  # seconds of work, which quotes, plans and fits ask for again
def selection_mu(trials, epsilon, delta):
    """Return the largest ``mu``, rounded down, of Gaussian trials whose choice is (epsilon, delta).

    Parameters
    ----------
    trials : LogarithmicTrials
    epsilon, delta : float
        What the choice costs; `delta` must be above zero.
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    if delta == 0.0:
        raise ValueError("delta must be above zero for Gaussian trials, got 0. For example 1e-6.")

    def admitted(mu):
        return renyi_delta(partial(trials.gaussian_renyi, mu), epsilon) <= delta

    low, high = _FINEST_MU, 1.0
    if not admitted(low):
        raise ValueError(
            f"epsilon={epsilon}, delta={delta} admit no choice among this many trials. Lower "
            "mean_trials or raise the budget."
        )
    while admitted(high):
        low, high = high, 2.0 * high
    while high > low * (1.0 + 1e-6):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if admitted(middle) else (low, middle)
    return low


def _happens(probability, noise):
    """Draw an event whose probability is a fraction."""
    return int(noise.uniform_integer(probability.denominator)) < probability.numerator


# The plan of a search: the best of a random number of trials, of which one is shown.


@dataclass(frozen=True)
class SelectionPlan(Plan):
    """The best of a random number of trials, checked to cost at most (epsilon, delta).

    What is charged is the privacy cost of all trials and of the choice. What is shown is one of
    them, and it is not cheaper than the search it came from: that it was the best tells about the
    rows too.

    Parameters
    ----------
    relation, epsilon, delta
        See :class:`~skdp_bary.privacy.plans.Plan`; the cost of the whole search.
    steps : tuple of Step
        What one trial spends: its fit, whose steps together cost at most the first one, and its
        score.
    trials : LogarithmicTrials
        Law of the number of trials.
    """

    trials: LogarithmicTrials

    scope = "best of a random number of trials"

    def __post_init__(self):
        check_neighbors(self.relation, "relation")
        epsilon, delta = check_epsilon(self.epsilon), check_delta(self.delta)
        if self.pure_epsilon and (self.mu or delta):
            raise ValueError(
                "The price of a search is known for trials with one kind of noise: Laplace where "
                f"delta=0, Gaussian where delta > 0, got the steps {self.steps!r}."
            )
        if delta == 0.0:
            fits = not self.mu and self.pure_epsilon <= exact(self.trials.pure_base(epsilon))
        else:
            fits = renyi_delta(partial(self.trials.gaussian_renyi, self.mu), epsilon) <= delta
        if not fits:
            raise ValueError(
                f"The best of such trials costs more than the epsilon={self.epsilon}, "
                f"delta={self.delta} that this plan promises."
            )

    def renyi(self, order):
        """Return infinity: a search is charged what it promises, at any order."""
        return math.inf
