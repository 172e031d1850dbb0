"""Barycenters of a random batch of people, with the cost that the batch amplifies.

Differentially private Wasserstein barycenters. arXiv 2510.03021, 2025.

Claimed: an epsilon for everyone in the United States, of whom 200,000 are sampled. Wrong: the text
samples with replacement, for which its formula is no bound, and on the sample its epsilon is about
8. SubsampledBarycenter draws one batch of people for all steps from the source of the noise, states
both costs, and charges the amplified one (Balle, Barthe and Gaboardi, NeurIPS 2018).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp

from ..base import Number
from ..estimators.barycenter import PrivateWassersteinBarycenter
from ..exceptions import (
    Neighbors,
    RandomState,
    RelationError,
    as_charged,
    check_delta,
    check_epsilon,
    check_option,
    check_real,
    exact,
    float_above,
)
from ..geometry.bounds import Bounds
from ..privacy.mechanisms import (
    ADD_REMOVE,
    REPLACE_ONE,
    check_neighbors,
    check_order,
    gaussian_renyi,
)
from ..privacy.plans import Plan, steps_of
from ..privacy.spending import SharedBudget

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
    if epsilon - math.log(rate) > _LARGE / 2.0:  # where expm1 may overflow
        loss = epsilon - math.log(rate) + math.log1p((rate - 1.0) * math.exp(-epsilon))
    else:
        loss = math.log1p(math.expm1(epsilon) / rate)
    return min(_above(rate * profile(loss * (1.0 - _MARGIN))), 1.0)


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
        How the batch is drawn, see :func:`draw_batch`.
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
    epsilon = check_epsilon(epsilon)
    # the largest on a batch, rounded down, that is amplified to epsilon: log(1 + (exp(epsilon) - 1)
    # / rate), which does not overflow written like this
    batch_epsilon = epsilon - math.log(rate) + math.log1p((rate - 1.0) * math.exp(-epsilon))
    if epsilon < 1.0:
        batch_epsilon = math.log1p(math.expm1(epsilon) / rate)
    step = _SUBSAMPLED_PLAN_MARGIN
    while amplify(batch_epsilon, 0.0, rate, sampling, relation)[0] > epsilon:
        batch_epsilon, step = batch_epsilon * (1.0 - step), 2.0 * step
    if check_delta(delta) == 0.0:
        batch_delta = 0.0
    else:
        batch_delta = min(delta / rate * (1.0 - _SUBSAMPLED_PLAN_MARGIN), _LARGEST_BATCH_DELTA)
    steps = steps_of(batch_epsilon, batch_delta, shares)
    batch = (rate, sampling, batch_epsilon, batch_delta)
    return SubsampledPlan(relation, epsilon, delta, steps, *batch)


def sampling_for(relation):
    """Return the way of sampling that is proved to amplify privacy under a relation."""
    if check_neighbors(relation) not in _SAMPLING:
        raise RelationError(
            "subsample needs neighbors='add_remove' (Poisson sampling) or 'replace_one' (sampling "
            f"without replacement): no amplification is proved under {relation!r}."
        )
    return _SAMPLING[relation]


# The barycenter of a batch, and how the batch is drawn.


class SubsampledBarycenter(PrivateWassersteinBarycenter):
    """Private Wasserstein barycenter that reads a random batch of the people.

    The batch is drawn once, and all steps see it. They may cost more on it than (epsilon, delta),
    because no one knows who is in it. This rarely helps: noise shrinks less than the batch.

    Parameters
    ----------
    n_atoms : int, default=8
        Number of atoms.

    method : {"auto", "coreset", "pyramid", "clusters", "subspace"}, default="auto"
        As in :class:`~skdp_bary.PrivateWassersteinBarycenter`.

    p : {1, 2}, default=2
        Power of the distance in the transport cost.

    classes : array-like, default=None
        Public labels of the distributions.

    class_weights : array-like of shape (n_classes,), default=None
        Public weight of each distribution in the mean; equal by default.

    n_init : int, default=None
        Number of starts of the barycenter search.

    n_components : int, default=None
        Number of axes of "subspace".

    subsample : float, default=None
        Share of the people, in (0, 1], that a fit reads. Under "add_remove" each person enters with
        this probability, under "replace_one" this share of every class is drawn. Other relations,
        chunks and Dask collections are refused. None reads all rows.

    epsilon : float, default=1.0
        Privacy loss of one fit.

    delta : float, default=0.0
        Failure probability, much smaller than one over the number of people. 0 means Laplace noise,
        other values mean Gaussian noise.

    bounds : (low, high), Box, Ball or Mask, default=None
        Public domain, to which rows are clipped. None estimates a box with 20% of the budget.

    n_hint : int, default=None
        Public estimate of the number of people, before the batch is drawn.

    neighbors : {"add_remove", "replace_one"}, default=None
        Neighboring relation. None takes the accountant's, by default "add_remove".

    accountant : BudgetAccountant, default=None
        Budget shared by several fits. None limits each fit separately.

    random_state : int or RandomState, default=None
        None draws noise and batch from the operating system. Anything else makes them
        reproducible; the release is then not private.

    verbose : {0, 1, 2}, default=0
        Progress output: none, a bar, or every step.

    Attributes
    ----------
    support_ : ndarray of shape (n_atoms, n_features)
        The atoms.
    weights_ : ndarray of shape (n_atoms,)
        Masses ``1 / n_atoms``.
    class_weights_ : ndarray of shape (n_classes,)
        Weight of each distribution.
    classes_ : ndarray of shape (n_classes,)
        Labels of the distributions.
    potentials_ : ndarray of shape (n_classes, n_atoms)
        Optimal potentials between each private measure and the atoms.
    private_measures_ : list of DiscreteMeasure
        The private measure of each distribution.
    release_cost_ : float
        Mean transport cost from the private measures to the atoms.
    domain_ : Box, Ball or Mask
        Public or estimated domain.
    privacy_ : SubsampledPlan
        Releases and charges of the fit, with the rate, the sampling and the cost on the batch.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Feature names, if `X` has string column names.

    Privacy
    -------
    Neighbors
        ``neighbors``, by default "add_remove" of one person: a row, or all rows with one value of
        ``groups``.
    Mechanism
        RoundedGaussian when ``delta > 0``, DiscreteLaplace when ``delta=0`` and
        ``method!="subspace"``.
    Sensitivity
        That of :class:`~skdp_bary.PrivateWassersteinBarycenter`, for the people of the batch.
    Budget
        All steps together are one mechanism on the batch. Its epsilon is at most
        ``log(1 + (exp(epsilon) - 1) / subsample)`` and its delta ``delta / subsample`` where
        (epsilon, delta) is charged: amplification by Poisson sampling under "add_remove", and by
        sampling without replacement, class by class, under "replace_one".
    Released
        support_, weights_, class_weights_, classes_, potentials_, private_measures_,
        release_cost_, domain_, privacy_, n_features_in_, feature_names_in_
    Not covered
        predict, transform, fit_transform, map, score: exact functions of their input.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary.papers import SubsampledBarycenter
    >>> X = np.random.default_rng(0).normal(0.5, 0.1, size=(20000, 2))
    >>> model = SubsampledBarycenter(2, subsample=0.2, bounds=(0, 1), n_hint=20000).fit(X)
    >>> model.privacy_.epsilon, round(model.privacy_.batch_epsilon, 2)
    (1.0, 2.26)
    """

    _parameter_rules = PrivateWassersteinBarycenter._parameter_rules | {
        "subsample": Number(0.0, 1.0, open_low=True) | None
    }

    def __init__(
        self,
        n_atoms: int = 8,
        *,
        method: Literal["auto", "coreset", "pyramid", "clusters", "subspace"] = "auto",
        p: float = 2,
        classes: ArrayLike | None = None,
        class_weights: ArrayLike | None = None,
        n_init: int | None = None,
        n_components: int | None = None,
        subsample: float | None = None,
        epsilon: float = 1.0,
        delta: float = 0.0,
        bounds: Bounds | None = None,
        n_hint: int | None = None,
        neighbors: Neighbors | None = None,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
        verbose: Literal[0, 1, 2] = 0,
    ) -> None:
        super().__init__(
            n_atoms,
            method=method,
            p=p,
            classes=classes,
            class_weights=class_weights,
            n_init=n_init,
            n_components=n_components,
            epsilon=epsilon,
            delta=delta,
            bounds=bounds,
            n_hint=n_hint,
            neighbors=neighbors,
            accountant=accountant,
            random_state=random_state,
            verbose=verbose,
        )
        self.subsample = subsample

    def _plan(self, n_features):
        if self.subsample is None:
            return super()._plan(n_features)
        amounts = as_charged(self.epsilon, self.delta)
        shares = self._all_shares(n_features)
        return subsampled_plan(self._relation(), *amounts, shares, self.subsample)

    def _choose_rows(self, rows, plan, noise):
        if isinstance(plan, SubsampledPlan):
            keep_batch(rows, plan.rate, plan.sampling, noise)

    def _hinted_size(self, plan):
        if self.n_hint is None or not isinstance(plan, SubsampledPlan):
            return self.n_hint
        return max(1, round(self.n_hint * plan.rate))


def keep_batch(rows, rate, sampling, noise):
    """Keep a random batch of people, the same one for every step of a fit.

    Parameters
    ----------
    rows : Rows
    rate, sampling, noise
        See :func:`draw_batch`.
    """
    if not hasattr(rows.source, "keep_persons"):
        raise ValueError(
            "subsample draws one batch of persons for all steps of a fit and needs X as one "
            "array or dataframe, not as chunks or rows on a cluster. Pass subsample=None."
        )
    if sampling == "without_replacement" and rows.persons_move_classes:
        raise ValueError(
            "subsample under neighbors='replace_one' needs each person in one class, "
            "because labels are public. Give each person one label."
        )
    rows.source.keep_persons(lambda strata: draw_batch(strata, rate, sampling, noise))


def draw_batch(strata, rate, sampling, noise):
    """Whether each person is in the batch.

    Parameters
    ----------
    strata : ndarray of int of shape (n_persons,)
        Class of every person: 0, 1 and so on. Where it matters it is public.
    rate : float in (0, 1]
    sampling : {"poisson", "without_replacement"}
    """
    if rate == 1.0:
        return np.ones(len(strata), dtype=bool)
    if sampling == "poisson":  # each alone, with the rate rounded down to a multiple of 2**-64
        return noise.words(len(strata)) < np.uint64(int(exact(rate) * 2**64))
    # The same share, rounded down, of every class: a person outside the batch can take the place
    # of one inside only when nothing public, as labels are here, tells the two apart.
    kept = np.zeros(len(strata), dtype=bool)
    for stratum in range(int(strata.max(initial=0)) + 1):
        members = np.flatnonzero(strata == stratum)
        size = int(exact(rate) * len(members))
        kept[members[random_order(len(members), noise)[:size]]] = True
    return kept


def random_order(count, noise):
    """Return the numbers below `count` in a uniformly random order, that of distinct words."""
    while True:
        words = noise.words(count)
        order = np.argsort(words, kind="stable")
        if (np.diff(words[order]) != 0).all():
            return order
