"""Plans of one release repeated on fresh random batches, as training loops need them."""

import math
from dataclasses import dataclass

from ...exceptions import RelationError
from .._checks import check_delta, check_epsilon, check_integer, exact
from .._neighbors import REPLACE_ONE, check_neighbors
from ..noise.mechanisms import RoundedGaussian
from .plans import Plan, Step
from .projection_curves import FixedLaw
from .projection_profile import calibrate_sigma, projection_delta
from .subsampling import without_replacement_gaussian_renyi

_UNIT = FixedLaw(1.0)
_SHRINK = 1.0 - 2.0**-30  # room for the rounding of one over mu


@dataclass(frozen=True)
class BatchedPlan(Plan):
    """The one step of a plan, taken on many batches, each drawn anew without replacement.

    Every batch is a uniformly random subset of `batch_size` of all persons, independent of the
    others, and what is asked about it may depend on all earlier answers. A step is mu-GDP for a
    person known to be in its batch. The amplified losses of the steps add up (Balle, Barthe and
    Gaboardi, 2018; Zhu, Dong and Wang, 2022); all of them are charged at once, before the first.

    Parameters
    ----------
    relation, epsilon, delta, steps
        See :class:`~skdp_bary.privacy.accounting.plans.Plan`; the relation is "replace_one", and
        there is one Gaussian step.
    n_batches : int
    batch_size, n_persons : int
        Public under the relation.
    """

    n_batches: int = 1
    batch_size: int = 1
    n_persons: int = 1
    sampling = "without_replacement"

    def __post_init__(self):
        if check_neighbors(self.relation, "relation") != REPLACE_ONE:
            raise RelationError(
                "Batches without replacement have a public size, drawn from a public number of "
                f"persons: neighbors must be {REPLACE_ONE!r}, got {self.relation!r}."
            )
        epsilon, delta = check_epsilon(self.epsilon), check_delta(self.delta)
        (step,) = self.steps
        cost = projection_delta(
            _UNIT, 1.0 / step.mechanism.mu, epsilon, sampling_rate=self.rate, n_steps=self.n_batches
        )
        if cost > delta:
            raise ValueError(
                f"The batches of this plan cost delta={cost} at epsilon={epsilon}, more than the "
                f"{delta} it promises."
            )

    @property
    def rate(self):
        """Smallest float that reads as at least the share of persons in a batch."""
        return _share(self.batch_size, self.n_persons)

    @property
    def mu(self):
        """Gaussian parameter of one step for a person in its batch."""
        return self.steps[0].mechanism.mu

    def renyi(self, order):
        """Return the Renyi divergence bound of all steps together at `order`."""
        single = without_replacement_gaussian_renyi(self.mu, self.rate, order, self.relation)
        return self.n_batches * single * (1.0 + 2.0**-50)


def batched_plan(relation, epsilon, delta, shares, *, n_batches, batch_size, n_persons):
    """Return the plan whose batches together cost what (epsilon, delta) allows.

    `shares` has the one step that is asked about every batch.
    """
    (name,) = shares
    sigma = calibrate_sigma(
        epsilon,
        delta,
        n_features=1,
        n_projections=1,
        sampling_rate=_share(batch_size, n_persons),
        n_steps=n_batches,
    )
    steps = (Step(name, RoundedGaussian(_SHRINK / sigma)),)
    return BatchedPlan(relation, epsilon, delta, steps, n_batches, batch_size, n_persons)


def _share(batch_size, n_persons):
    n_persons = check_integer(n_persons, "n_persons", low=1)
    batch_size = check_integer(batch_size, "batch_size", low=1, high=n_persons)
    share = batch_size / n_persons
    while exact(share) * n_persons < batch_size:
        share = math.nextafter(share, 2.0)
    return min(share, 1.0)
