"""Amplification by random batches of people, and plans whose steps all see one batch."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from ..exceptions import (
    RelationError,
    check_delta,
    check_epsilon,
    check_option,
    check_real,
    float_above,
)
from .mechanisms import (
    ADD_REMOVE,
    REPLACE_ONE,
    DiscreteLaplace,
    RoundedGaussian,
    check_neighbors,
    check_order,
    gaussian_renyi,
)
from .plans import Plan, Step, split_epsilon, split_mu

# Amplification by subsampling, each scheme under the one relation it is proved for.

_RELATIONS = {"poisson": ADD_REMOVE, "without_replacement": REPLACE_ONE}
_MARGIN = 2.0**-40
_QUADRATURE = 2.0**-30
_LARGE = 700.0  # exp of more overflows
_LARGEST_ORDER = 10_000
_MOST_PANELS = 10_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def check_sampling(sampling, relation):
    """Return the relation, or raise when amplification is not proved under it."""
    check_option(sampling, "sampling", tuple(_RELATIONS))
    if check_neighbors(relation, "relation") != _RELATIONS[sampling]:
        raise RelationError(
            f"Sampling {sampling!r} amplifies privacy under {_RELATIONS[sampling]!r} only, "
            f"got relation={relation!r}."
        )
    return relation


def amplify(epsilon, delta, rate, sampling, relation):
    """Return the (epsilon, delta) of an (epsilon, delta) private mechanism on a random batch.

    ``log(1 + rate (exp(epsilon) - 1))`` and ``rate delta`` (Balle, Barthe and Gaboardi, 2018,
    Theorems 8 and 9).
    """
    check_sampling(sampling, relation)
    epsilon = check_real(epsilon, "epsilon", low=0.0)
    delta = check_delta(delta)
    rate = _check_rate(rate)
    loss = float(_amplified_loss(epsilon, rate)) * (1.0 + _MARGIN)
    return min(loss, epsilon), _above(rate * delta)


def amplified_delta(profile, epsilon, rate, sampling, relation):
    """Return the delta at `epsilon`, at least zero, of a mechanism on a random batch.

    Parameters
    ----------
    profile : callable
        From an epsilon of at least zero to the mechanism's delta under `relation`.
    epsilon : float
        Of the mechanism on the batch.
    rate, sampling, relation
        See the module.
    """
    check_sampling(sampling, relation)
    epsilon = check_real(epsilon, "epsilon", low=0.0)
    rate = _check_rate(rate)
    return min(_above(rate * profile(_original_loss(epsilon, rate) * (1.0 - _MARGIN))), 1.0)


def poisson_gaussian_renyi(mu, rate, order, relation):
    """Return the Renyi divergence of `order` of a mu-GDP release on a Poisson batch.

    Exact at integer orders (Mironov, Talwar and Zhang, 2019, Section 3.3). In between,
    ``(a - 1) D_a`` is convex in a and its chord is returned; below two, the value at two.
    """
    check_sampling("poisson", relation)
    plain = gaussian_renyi(mu, order)
    rate = _check_rate(rate)
    if rate == 1.0 or plain == 0.0 or order > _LARGEST_ORDER:
        return plain  # a random batch never costs more than the mechanism itself
    order = max(float(order), 2.0)
    low = math.floor(order)
    moment = (low + 1.0 - order) * _log_poisson_moment(mu, rate, low)
    if order > low:
        moment += (order - low) * _log_poisson_moment(mu, rate, low + 1)
    return min(moment / (order - 1.0) * (1.0 + _MARGIN), plain)


def poisson_pure_renyi(epsilon, rate, order, relation):
    """Return the Renyi divergence of `order` of a pure `epsilon` release on a Poisson batch.

    The mixture ``(1 - rate) Q + rate P`` against Q, and Q against it, dominate when P and Q are
    randomized response (Zhu, Dong and Wang, 2022).
    """
    check_sampling("poisson", relation)
    ceiling, _ = amplify(epsilon, 0.0, rate, "poisson", relation)
    order = max(check_order(order), 1.0 + 2.0**-10)  # near one the excess drowns in rounding
    if ceiling == 0.0 or max(order * ceiling, epsilon) > _LARGE:
        return ceiling
    excess = max(
        _two_point_excess(epsilon, rate, order), _two_point_excess(epsilon, rate, 1.0 - order)
    )
    return min(math.log1p(excess) / (order - 1.0) * (1.0 + _MARGIN), ceiling)


def without_replacement_gaussian_renyi(mu, rate, order, relation):
    """Return the Renyi divergence of `order` of a mu-GDP release on a batch without replacement.

    The amplified profile, mirrored to negative epsilons, is convex and therefore the profile of a
    pair that dominates the release (Zhu, Dong and Wang, 2022): it has the loss
    ``l = log(1 + rate (exp(x) - 1))`` with the upper law and ``-l`` with the lower law, where the
    mechanism's own loss x is positive, and no loss elsewhere. The excess of its moment over one is
    the integral of ``(exp(a l) - 1) (1 - exp(-(a - 1) l))`` under the lower law.
    """
    check_sampling("without_replacement", relation)
    plain = gaussian_renyi(mu, order)
    rate = _check_rate(rate)
    if rate == 1.0 or plain == 0.0 or order == math.inf:
        return plain
    nodes = _loss_nodes(mu, rate, order)
    if nodes is None:
        return plain
    x, log_weights = nodes
    loss = _amplified_loss(mu * x - mu * mu / 2.0, rate)
    log_lower = log_weights - x * x / 2.0 - math.log(2.0 * math.pi) / 2.0
    return min(_mirrored_renyi(log_lower, loss, order) * (1.0 + _QUADRATURE), plain)


def without_replacement_pure_renyi(epsilon, rate, order, relation):
    """Return the Renyi divergence of `order` of a pure release on a batch without replacement.

    As in :func:`without_replacement_gaussian_renyi`, from randomized response, whose loss is
    `epsilon` with lower probability ``1 / (1 + exp(epsilon))``.
    """
    check_sampling("without_replacement", relation)
    ceiling, _ = amplify(epsilon, 0.0, rate, "without_replacement", relation)
    order = check_order(order)
    if ceiling == 0.0 or order == math.inf:
        return ceiling
    log_lower = np.array([-np.logaddexp(0.0, epsilon)])
    return min(_mirrored_renyi(log_lower, np.array([ceiling]), order) * (1.0 + _MARGIN), ceiling)


def _log_poisson_moment(mu, rate, order):
    """Return ``log E_Q[(dR / dQ)**order]`` for the mixture R; binomial weights sum to one."""
    k = np.arange(2, order + 1)
    log_binomial = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1)
    log_weight = k * math.log(rate) + (order - k) * math.log1p(-rate)
    terms = log_binomial + log_weight + _log_expm1(k * (k - 1.0) * mu * mu / 2.0)
    rounding = 2.0**-48 * (gammaln(order + 1) - log_weight + k * k * mu * mu)
    return float(np.logaddexp(0.0, logsumexp(terms + rounding)))


def _two_point_excess(epsilon, rate, power):
    """Return ``E_Q[u**power] - 1`` with ``u = 1 - rate + rate dP / dQ``, rounded up.

    The mean of u is one, which takes the first order out of both terms.
    """
    low = 1.0 / (1.0 + math.exp(epsilon))
    up = rate * math.expm1(epsilon)
    down = rate * math.expm1(-epsilon)
    log_down = math.log1p(down) if down > -0.5 else math.log(1.0 - rate + rate * math.exp(-epsilon))
    first = power * up * low
    excess = low * math.expm1(power * math.log1p(up)) - first
    excess += (1.0 - low) * math.expm1(power * log_down) + first
    return max(excess, 0.0) + 2.0**-48 * abs(first)


def _mirrored_renyi(log_lower, loss, order):
    rise = _log_expm1(order * loss)
    if order == 1.0:
        return math.exp(logsumexp(log_lower + rise + np.log(loss)))
    fall = np.log(-np.expm1(-(order - 1.0) * loss))
    return float(np.logaddexp(0.0, logsumexp(log_lower + rise + fall))) / (order - 1.0)


def _loss_nodes(mu, rate, order):
    """Return quadrature nodes and log weights for the mirrored integral, None if too many.

    What lies beyond the last node is below 1e-20 of the integral: either by
    ``u <= exp(loss)``, or where ``u <= (1 + 1 / order) rate exp(loss)``.
    """
    log_rate = -math.log(rate)
    far = math.sqrt(2.0 * (order * log_rate + 50.0))
    near = (math.log(order) + log_rate) / mu + mu / 2.0 - order * mu
    length = (order - 0.5) * mu + min(far, max(near, 10.0))
    width = min(0.5, 1.0 / mu, 8.0 / (order * mu))
    if length / width > _MOST_PANELS:
        return None
    panels = math.ceil(length / width)
    width = length / panels
    starts = mu / 2.0 + width * np.arange(panels)
    x = starts[:, np.newaxis] + width * (1.0 + _NODES) / 2.0
    log_weights = np.log(_WEIGHTS * width / 2.0)
    return x.ravel(), np.tile(log_weights, panels)


def _amplified_loss(loss, rate):
    near = np.log1p(rate * np.expm1(np.minimum(loss, _LARGE)))
    far = np.maximum(loss, _LARGE)
    return np.where(loss > _LARGE, far + np.log(rate + (1.0 - rate) * np.exp(-far)), near)


def _original_loss(epsilon, rate):
    if epsilon - math.log(rate) > _LARGE / 2.0:
        return epsilon - math.log(rate) + math.log1p((rate - 1.0) * math.exp(-epsilon))
    return math.log1p(math.expm1(epsilon) / rate)


def _log_expm1(x):
    return x + np.log(-np.expm1(-x))


def _check_rate(rate):
    return check_real(rate, "rate", low=0.0, high=1.0, open_low=True)


def _above(value):
    return value * (1.0 + _MARGIN)


# Plans whose steps all see one and the same random batch of persons.

_SAMPLING = {ADD_REMOVE: "poisson", REPLACE_ONE: "without_replacement"}
_RENYI = {
    "poisson": (poisson_pure_renyi, poisson_gaussian_renyi),
    "without_replacement": (without_replacement_pure_renyi, without_replacement_gaussian_renyi),
}
_SUBSAMPLED_PLAN_MARGIN = 2.0**-32  # below its target by more than `amplify` rounds up
_LARGEST_BATCH_DELTA = 0.5


@dataclass(frozen=True)
class SubsampledPlan(Plan):
    """A plan on a random batch: all of its steps together are one mechanism that sees the batch.

    The steps cost (batch_epsilon, batch_delta) for a person known to be in the batch, and
    (epsilon, delta), which is what is charged, for a person who may not be.

    Parameters
    ----------
    relation, epsilon, delta, steps
        See :class:`~skdp_bary.privacy.plans.Plan`.
    rate : float
        Probability that a person is in the batch, or an upper bound of it, in (0, 1].
    sampling : {"poisson", "without_replacement"}
        How the batch is drawn, see :mod:`~skdp_bary.privacy.subsampling`.
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
        if self.joint is not None:
            return super().renyi(order)  # no amplified curve of such a mechanism is known
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
        batch_delta = min(delta / rate * (1.0 - _SUBSAMPLED_PLAN_MARGIN), _LARGEST_BATCH_DELTA)
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
    step = _SUBSAMPLED_PLAN_MARGIN
    while amplify(wanted, 0.0, rate, sampling, relation)[0] > epsilon:
        wanted, step = wanted * (1.0 - step), 2.0 * step
    return wanted
