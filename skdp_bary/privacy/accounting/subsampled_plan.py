"""Plans whose steps all see one and the same random batch of persons."""

import math
from dataclasses import dataclass

from ...exceptions import RelationError
from .._checks import check_delta, check_epsilon, check_real, float_above
from .._neighbors import ADD_REMOVE, REPLACE_ONE, check_neighbors
from ..noise.mechanisms import DiscreteLaplace, RoundedGaussian
from .plans import Plan, Step, split_epsilon, split_mu
from .subsampling import (
    amplify,
    poisson_gaussian_renyi,
    poisson_pure_renyi,
    without_replacement_gaussian_renyi,
    without_replacement_pure_renyi,
)

_SAMPLING = {ADD_REMOVE: "poisson", REPLACE_ONE: "without_replacement"}
_RENYI = {
    "poisson": (poisson_pure_renyi, poisson_gaussian_renyi),
    "without_replacement": (without_replacement_pure_renyi, without_replacement_gaussian_renyi),
}
_MARGIN = 2.0**-32  # below its target by more than `amplify` rounds up
_LARGEST_BATCH_DELTA = 0.5


@dataclass(frozen=True)
class SubsampledPlan(Plan):
    """A plan on a random batch: all of its steps together are one mechanism that sees the batch.

    The steps cost (batch_epsilon, batch_delta) for a person known to be in the batch, and
    (epsilon, delta), which is what is charged, for a person who may not be.

    Parameters
    ----------
    relation, epsilon, delta, steps
        See :class:`~skdp_bary.privacy.accounting.plans.Plan`.
    rate : float
        Probability that a person is in the batch, or an upper bound of it, in (0, 1].
    sampling : {"poisson", "without_replacement"}
        How the batch is drawn, see :mod:`~skdp_bary.privacy.accounting.subsampling`.
    batch_epsilon, batch_delta : float
        Cost of the steps on the batch.
    """

    rate: float = 1.0
    sampling: str = "poisson"
    batch_epsilon: float = 1.0
    batch_delta: float = 0.0

    def __post_init__(self):
        Plan(self.relation, self.batch_epsilon, self.batch_delta, self.steps)
        epsilon, delta = amplify(
            self.batch_epsilon, self.batch_delta, self.rate, self.sampling, self.relation
        )
        if epsilon > check_epsilon(self.epsilon) or delta > check_delta(self.delta):
            raise ValueError(
                f"The steps of this plan cost epsilon={epsilon}, delta={delta} on a random batch, "
                f"more than the epsilon={self.epsilon}, delta={self.delta} it promises."
            )

    def renyi(self, order):
        """Return the Renyi divergence bound of the whole plan at `order`."""
        pure_curve, gaussian_curve = _RENYI[self.sampling]
        if self.race is not None:
            return super().renyi(order)  # no amplified curve of a race is known
        if not self.mu:
            return pure_curve(float_above(self.pure_epsilon), self.rate, order, self.relation)
        if not self.pure_epsilon:
            return gaussian_curve(self.mu, self.rate, order, self.relation)
        return super().renyi(order)  # a random batch never costs more than all rows


def subsampled_plan(relation, epsilon, delta, shares, rate):
    """Return the plan whose steps share what (epsilon, delta) allows on a batch.

    Parameters
    ----------
    relation : str
        "add_remove" means Poisson sampling, "replace_one" sampling without replacement.
    epsilon, delta : float
        What is charged.
    shares : dict of str to float
        Of the budget, by name of the step.
    rate : float
        Probability that a person is in the batch.
    """
    sampling = sampling_for(relation)
    rate = check_real(rate, "subsample", low=0.0, high=1.0, open_low=True)
    batch_epsilon = _batch_epsilon(check_epsilon(epsilon), rate, sampling, relation)
    if check_delta(delta) == 0.0:
        batch_delta = 0.0
        amounts = split_epsilon(batch_epsilon, shares)
        steps = tuple(Step(name, DiscreteLaplace(amounts[name])) for name in shares)
    else:
        batch_delta = min(delta / rate * (1.0 - _MARGIN), _LARGEST_BATCH_DELTA)
        amounts = split_mu(batch_epsilon, batch_delta, shares)
        steps = tuple(Step(name, RoundedGaussian(amounts[name])) for name in shares)
    return SubsampledPlan(
        relation, epsilon, delta, steps, rate, sampling, batch_epsilon, batch_delta
    )


def sampling_for(relation):
    """Return the way of sampling that is proved to amplify privacy under a relation."""
    if check_neighbors(relation) not in _SAMPLING:
        raise RelationError(
            "subsample needs neighbors='add_remove' (Poisson sampling) or 'replace_one' (sampling "
            f"without replacement): no amplification is proved under {relation!r}."
        )
    return _SAMPLING[relation]


def _batch_epsilon(epsilon, rate, sampling, relation):
    """Return the largest epsilon on a batch, rounded down, that is amplified to `epsilon`."""
    # log(1 + (exp(epsilon) - 1) / rate), which does not overflow written like this
    wanted = epsilon - math.log(rate) + math.log1p((rate - 1.0) * math.exp(-epsilon))
    if epsilon < 1.0:
        wanted = math.log1p(math.expm1(epsilon) / rate)
    step = _MARGIN
    while amplify(wanted, 0.0, rate, sampling, relation)[0] > epsilon:
        wanted, step = wanted * (1.0 - step), 2.0 * step
    return wanted
