"""What one trial of a private search may spend on its fit and on its score."""

import math
from dataclasses import dataclass

from ..privacy._checks import exact
from ..privacy.accounting.calibration import gaussian_epsilon, gaussian_mu
from ..privacy.accounting.plans import Step, split_epsilon
from ..privacy.accounting.selection import selection_mu
from ..privacy.accounting.selection_plan import SelectionPlan
from ..privacy.noise.mechanisms import DiscreteLaplace, RoundedGaussian
from ..summaries.clusters.losses import NearestLoss


@dataclass(frozen=True)
class Trial:
    """What one trial of a search may spend.

    Attributes
    ----------
    law : NegativeBinomialTrials or PoissonTrials
    fit_epsilon, fit_delta : float
        Parameters of the fit.
    fit_mu : float
        What the Gaussian steps of a fit may cost; 0 for a pure trial.
    score_mechanism : DiscreteLaplace or RoundedGaussian
    score_epsilon, score_delta : float
        What an estimator may spend that is fitted to score a trial.
    """

    law: object
    fit_epsilon: float
    fit_delta: float
    fit_mu: float
    score_mechanism: object
    score_epsilon: float
    score_delta: float

    def plan(self, relation, epsilon, delta):
        """Return the plan of a search with such trials, which costs (epsilon, delta)."""
        kind, amount = (
            (RoundedGaussian, self.fit_mu) if self.fit_mu else (DiscreteLaplace, self.fit_epsilon)
        )
        steps = Step("fit", kind(amount)), Step("score", self.score_mechanism)
        return SelectionPlan(relation, epsilon, delta, steps, self.law)

    def score_query(self, points, domain, units=1):
        """Return the question that scores points: the clipped distances of rows to them."""
        return NearestLoss(points, 2.0 * domain.radius, units)

    def score_stderr(self, relation, domain):
        """Return the standard deviation of the noise of a score, a public number."""
        query = self.score_query(domain.center[None], domain)
        return self.noise_of(query, relation) * query.unit

    def noise_of(self, query, relation):
        """Return the standard deviation of the noise of a question of one number."""
        (scale,) = self.score_mechanism.scales(query.sensitivity(relation), query.weights())
        return self.score_mechanism.standard_deviation(scale)

    def check(self, plan, params):
        """Raise unless the steps of a plan cost at most what a trial may spend on its fit."""
        if not _within(plan, self.fit_epsilon, self.fit_mu):
            raise ValueError(
                f"The plan of candidate {params!r} mixes kinds of noise, and the price of a search "
                "is known for trials with one kind. Nothing was charged."
            )

    def check_score(self, plan):
        """Raise unless the steps of a plan cost at most what a trial may spend on its score."""
        if not _within(plan, self.score_epsilon, getattr(self.score_mechanism, "mu", 0.0)):
            raise ValueError("The plan that scores trials costs more than they have for it.")


def _within(plan, epsilon, mu):
    """Whether a plan has one kind of noise, and costs at most mu, or epsilon where mu is 0."""
    pure = plan.pure_epsilon <= (0 if mu else exact(epsilon))
    return pure and plan.mu <= mu and plan.race is None


def make_trial(law, epsilon, delta, score_share):
    """Split what one trial may spend between its fit and its score."""
    if delta == 0.0:
        base = law.pure_base(epsilon)
        parts = split_epsilon(base, {"fit": 1.0 - score_share, "score": score_share})
        score = DiscreteLaplace(parts["score"])
        return Trial(law, parts["fit"], 0.0, 0.0, score, parts["score"], 0.0)
    mu = selection_mu(law, epsilon, delta) * (1.0 - 2.0**-40)  # room for the rounding of squares
    fit_mu, score_mu = mu * math.sqrt(1.0 - score_share), mu * math.sqrt(score_share)
    fit_epsilon, score_epsilon = (_epsilon_of(part, delta) for part in (fit_mu, score_mu))
    if fit_epsilon <= 0.0:
        raise ValueError(
            f"epsilon={epsilon}, delta={delta} leave less to a trial than its delta alone allows. "
            "Lower mean_trials or raise epsilon."
        )
    return Trial(law, fit_epsilon, delta, fit_mu, RoundedGaussian(score_mu), score_epsilon, delta)


def _epsilon_of(mu, delta):
    """Return an epsilon at which (epsilon, delta) pays for at most mu, 0 where none does."""
    epsilon = gaussian_epsilon(mu, delta)
    while epsilon > 0.0 and gaussian_mu(epsilon, delta) > mu:
        epsilon *= 1.0 - 2.0**-30
    return max(epsilon, 0.0)
