"""The plan of a search: the best of a random number of trials, of which one is shown."""

import math
from dataclasses import dataclass

from .._checks import check_delta, check_epsilon, exact
from .._neighbors import check_neighbors
from .calibration import renyi_delta
from .plans import Plan
from .selection import NegativeBinomialTrials, PoissonTrials


@dataclass(frozen=True)
class SelectionPlan(Plan):
    """The best of a random number of trials, checked to cost at most (epsilon, delta).

    What is charged is the price of all trials and of the choice. What is shown is one of them, and
    it is not cheaper than the search it came from: that it was the best tells about the rows too.

    Parameters
    ----------
    relation, epsilon, delta
        See :class:`~skdp_bary.privacy.accounting.plans.Plan`; the cost of the whole search.
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
