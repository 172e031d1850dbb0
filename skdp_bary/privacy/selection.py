"""Choosing the best of a random number of private candidates: its price and its plan."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from ..exceptions import check_delta, check_epsilon, check_integer, check_real, exact, float_below
from .mechanisms import check_neighbors, gaussian_delta, gaussian_renyi, renyi_delta
from .plans import Plan

# Choosing the best of a random number of private candidates, and what the choice costs.

_MARGIN = 2.0**-40  # above the rounding error of the sums here
_FINEST_MU = 1e-9


@dataclass(frozen=True)
class NegativeBinomialTrials:
    """Truncated negative binomial number of trials, at least one.

    ``P(K = k)`` is proportional to ``(1 - gamma)**(k - 1)`` times the product of
    ``(i + eta) / (i + 1)`` over i = 1..k-1: the logarithmic law for ``eta = 0`` and the geometric
    one for ``eta = 1``.

    Parameters
    ----------
    gamma : float
        In [2**-30, 1), read as the nearest fraction with a denominator of at most 2**40; small
        values mean many trials.
    eta : float, default=0.0
        In [0, 1]. Smaller values cost less and leave more of the mass on few trials.
    """

    gamma: float
    eta: float = 0.0

    def __post_init__(self):
        check_real(self.gamma, "gamma", low=2.0**-30, high=1.0, open_high=True)
        if self._stop == 1:
            raise ValueError(f"gamma must be below 1 by at least 2**-40, got {self.gamma!r}.")
        check_real(self.eta, "eta", low=0.0, high=1.0)

    @cached_property
    def mean(self):
        """Mean number of trials."""
        stop = float(self._stop)
        if self.eta == 0.0:
            return (1.0 / stop - 1.0) / -math.log(stop)
        return self.eta * (1.0 - stop) / (stop * -math.expm1(self.eta * math.log(stop)))

    def draw(self, noise):
        """Draw a number of trials by its exact distribution.

        A geometric number k is kept with probability ``prod (i + eta) / (i + 1)``; both are drawn
        from fractions.
        """
        stop, eta = self._stop, exact(self.eta)
        while True:
            count = 1
            while not _happens(stop, noise):
                count += 1
            if all(_happens((i + eta) / (i + 1), noise) for i in range(1, count)):
                return count

    def pure_base(self, epsilon):
        """Return the pure epsilon that one trial may cost when the choice costs `epsilon`."""
        return float_below(exact(check_epsilon(epsilon)) / (2 + exact(self.eta)))

    def gaussian_renyi(self, mu, order):
        """Return a bound on the Renyi divergence of the choice among mu-GDP trials.

        It is ``R(a) + (1 + eta) ((1 - 1/b) R(b) + log(1 / gamma) / b) + log(E K) / (a - 1)`` for
        any second order b; for Gaussian trials ``b = sqrt(2 log(1 / gamma)) / mu`` is the best.
        """
        if order == math.inf:
            return math.inf
        odds = -math.log(float(self._stop))
        second = max(math.sqrt(2.0 * odds) / mu, 1.0 + 2.0**-20)
        inner = (1.0 - 1.0 / second) * gaussian_renyi(mu, second) + odds / second
        return (
            gaussian_renyi(mu, order)
            + (1.0 + self.eta) * inner
            + math.log(max(self.mean, 1.0)) / (order - 1.0)
        ) * (1.0 + _MARGIN)

    @cached_property
    def _stop(self):
        return Fraction(self.gamma).limit_denominator(1 << 40)


@dataclass(frozen=True)
class PoissonTrials:
    """Poisson number of trials; with probability ``exp(-mean)`` there is none.

    It costs less than the other laws for Gaussian trials and has no pure guarantee.

    Parameters
    ----------
    mean : int
        Mean number of trials. An integer, so that the draw is a sum of exact Poisson(1) numbers.
    """

    mean: int

    def __post_init__(self):
        check_integer(self.mean, "mean", low=1)

    def draw(self, noise):
        """Draw a number of trials by its exact distribution."""
        return sum(_unit_poisson(noise) for _ in range(self.mean))

    def pure_base(self, epsilon):
        """Refuse: no pure guarantee holds."""
        raise ValueError(
            "A Poisson number of trials has no pure guarantee, got delta=0. Give delta > 0 or "
            'choose trials="logarithmic" or "geometric".'
        )

    def gaussian_renyi(self, mu, order):
        """Return a bound on the Renyi divergence of the choice among mu-GDP trials.

        It is ``R(a) + mean * delta + log(mean) / (a - 1)`` where a trial is
        ``(log(1 + 1 / (a - 1)), delta)`` private.
        """
        if order == math.inf:
            return math.inf
        epsilon = math.log1p(1.0 / (order - 1.0)) * (1.0 - _MARGIN)
        return (
            gaussian_renyi(mu, order)
            + self.mean * gaussian_delta(mu, epsilon)
            + math.log(self.mean) / (order - 1.0)
        ) * (1.0 + _MARGIN)


def make_trials(law, mean):
    """Return trials of the law named "logarithmic", "geometric" or "poisson" with a given mean."""
    mean = check_real(mean, "mean_trials", low=1.0 + 1e-6, high=1e6)
    if law == "geometric":
        return NegativeBinomialTrials(1.0 / mean, eta=1.0)
    if law == "poisson":
        return PoissonTrials(check_integer(round(mean), "mean_trials", low=1))
    if law == "logarithmic":
        # a gamma whose logarithmic law has the given mean; any gamma keeps the guarantee
        low, high = 0.0, 20.0  # -log(gamma)
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if math.expm1(middle) / middle < mean else (low, middle)
        logarithmic_gamma = math.exp(-high)
        return NegativeBinomialTrials(logarithmic_gamma)
    raise ValueError(f'trials must be "logarithmic", "geometric" or "poisson", got {law!r}.')


def selection_mu(trials, epsilon, delta):
    """Return the largest ``mu``, rounded down, of Gaussian trials whose choice is (epsilon, delta).

    Parameters
    ----------
    trials : NegativeBinomialTrials or PoissonTrials
    epsilon, delta : float
        What the choice costs; `delta` must be above zero.
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    if delta == 0.0:
        raise ValueError("delta must be above zero for Gaussian trials, got 0.")
    return _largest_mu(trials, epsilon, delta)


@lru_cache(maxsize=256)
def _largest_mu(trials, epsilon, delta):
    # seconds of work on public numbers, which quotes, plans and fits ask for again
    def admitted(mu):
        return renyi_delta(lambda order: trials.gaussian_renyi(mu, order), epsilon) <= delta

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


def _unit_poisson(noise):
    """Draw a Poisson number of mean one with integers alone (Duchon and Duvignau, 2016)."""
    n, guard, value = 1, 0, 1
    while True:
        i = int(noise.uniform_integer(n + 1)) + 1
        if i == n + 1:
            value += 1
        elif i > guard:
            value, guard = value - 1, n + 1
        else:
            return value
        n += 1


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
    trials : NegativeBinomialTrials or PoissonTrials
        Law of the number of trials.
    """

    trials: NegativeBinomialTrials | PoissonTrials

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
            fits = renyi_delta(self._renyi_of_choice, epsilon) <= delta
        if not fits:
            raise ValueError(
                f"The best of such trials costs more than the epsilon={self.epsilon}, "
                f"delta={self.delta} that this plan promises."
            )

    def renyi(self, order):
        """Return infinity: a search is charged what it promises, at any order."""
        return math.inf

    def _renyi_of_choice(self, order):
        return self.trials.gaussian_renyi(self.mu, order)
