"""One trial of a private search: what is searched, what it may spend, how it is scored."""

import math
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ..desk.desk import Desk, PaidSteps, require_noise
from ..estimators.adapter import PrivateDomainAdapter
from ..estimators.base import BasePrivateEstimator
from ..estimators.measure import PrivateMeasure
from ..estimators.table import PrivateTable
from ..exceptions import exact
from ..geometry.bounds import check_domain
from ..geometry.lattices import slicing_directions
from ..privacy.mechanisms import DiscreteLaplace, RoundedGaussian, gaussian_epsilon, gaussian_mu
from ..privacy.plans import SelectionPlan, Step, selection_mu, split_epsilon
from ..queries.power_cells import NearestLoss
from ..rows.opening import source_for
from ..rows.persons import coarser_units
from ..rows.sources import ArraySource
from ..transformers.public_steps import MISSING, RAW, form_after, public_fault, walk_steps
from ..transport.measures import DiscreteMeasure, univariate_cost

# What a private search searches over: an estimator of this package, and public steps before it.


@dataclass(frozen=True)
class SearchParts:
    """The private estimator of a search and the public steps in front of it.

    The public steps are the same for all trials: they are fitted once, and learn nothing from the
    rows, so neighboring rows come out of them as neighboring rows.

    Attributes
    ----------
    private : BasePrivateEstimator
    name : str
        Name of the private step; "" without a pipeline.
    public : Pipeline or None
    """

    private: BasePrivateEstimator
    name: str = ""
    public: Pipeline | None = None

    def own_params(self, params):
        """Return the parameters of the private estimator that a candidate sets."""
        if not self.name:
            return params
        prefix = f"{self.name}__"
        others = sorted(name for name in params if not name.startswith(prefix))
        if others:
            raise ValueError(
                f"param_grid may vary parameters of the last step, {prefix}..., got {others}: "
                "trials are scored on what the public steps make of the rows, so trials with "
                "other public steps could not be compared."
            )
        return {name.removeprefix(prefix): value for name, value in params.items()}

    def before(self, X):
        """Return fitted public steps, or None, and the rows that the private estimator sees."""
        if self.public is None:
            return None, X
        if source_for(X) is not ArraySource:
            raise ValueError(
                "A search over a pipeline needs X as one array or dataframe: the public steps "
                "take neither chunks nor Dask collections."
            )
        public = clone(self.public).fit(X)
        return public, public.transform(X)

    def whole(self, public, fitted):
        """Return the estimator that takes rows as the search does."""
        if public is None:
            return fitted
        return Pipeline([*public.steps, (self.name, fitted)])


def search_parts(estimator):
    """Split what a search was given, or raise when it cannot be searched privately."""
    if not isinstance(estimator, Pipeline):
        return SearchParts(_check_private(estimator))
    public = Pipeline(estimator.steps[:-1]) if len(estimator.steps) > 1 else None
    steps = [] if public is None else walk_steps("", public)
    for path, step, form in steps:
        if isinstance(step, BasePrivateEstimator):
            raise ValueError(
                f"estimator must have no private step before its last one, got {path!r}, which "
                "every trial would charge. Search in the last step: make_pipeline("
                f"{type(step).__name__}(...), PrivateSearchCV(...)) charges both once."
            )
        fault = public_fault(step, form)
        if fault is not None:
            raise ValueError(
                "All steps of the pipeline before the last one must learn nothing from the rows, "
                f"and treat each alone, which is not known of {path!r} ({type(step).__name__}): "
                f"{fault.advice or 'see check_private'}."
            )
    name, last = estimator.steps[-1]
    last = _check_private(last)
    if form_after(public, RAW).gaps:  # as of check_private
        raise ValueError(f"The last step of the pipeline: {MISSING.reason}; {MISSING.advice}.")
    return SearchParts(last, name, public)


def _check_private(estimator):
    if not isinstance(estimator, BasePrivateEstimator):
        raise TypeError(
            "estimator must be one of this package, or a pipeline that ends in one, got "
            f"{estimator!r}. For example PrivateKMeans(3, bounds=(0, 1))."
        )
    if score_of(estimator) is None:
        raise TypeError(
            "estimator must represent rows by points (have predict, and distances from them as "
            "transform) or by a distribution (have sample or to_measure), so that trials can be "
            f"scored, got {estimator!r}."
        )
    if estimator.accountant is not None:
        raise ValueError("Give the accountant to the search: it is charged once for all fits.")
    if estimator.get_params(deep=False).get("bounds", ()) is None:
        raise ValueError(
            "estimator must have public bounds, so that scores can be compared. Pass bounds, for "
            "example bounds=(0, 1)."
        )
    return estimator


# What one trial of a private search may spend on its fit and on its score.


@dataclass(frozen=True)
class Trial:
    """Budget of one trial of a search.

    Attributes
    ----------
    law : LogarithmicTrials
    delta : float
        Of the fit, and of an estimator that is fitted to score a trial.
    fit_epsilon : float
        Parameter of the fit.
    fit_mu : float
        Largest cost of the Gaussian steps of a fit; 0 for a pure trial.
    score_epsilon : float
        What an estimator may spend that is fitted to score a trial.
    score_mechanism : DiscreteLaplace or RoundedGaussian
    """

    law: object
    delta: float
    fit_epsilon: float
    fit_mu: float
    score_epsilon: float
    score_mechanism: object

    def plan(self, relation, epsilon, delta):
        """Return the plan of a search with such trials, which costs (epsilon, delta)."""
        pure = not self.fit_mu
        fit = DiscreteLaplace(self.fit_epsilon) if pure else RoundedGaussian(self.fit_mu)
        steps = Step("fit", fit), Step("score", self.score_mechanism)
        return SelectionPlan(relation, epsilon, delta, steps, self.law)

    def check(self, plan, params):
        """Raise unless the steps of a plan cost at most what a trial may spend on its fit."""
        if not _within(plan, self.fit_epsilon, self.fit_mu):
            raise ValueError(
                f"The plan of candidate {params!r} mixes kinds of noise, and the cost of a "
                "search is known for one kind only. Leave that candidate out. Nothing was "
                "charged."
            )

    def check_score(self, plan):
        """Raise unless the steps of a plan cost at most what a trial may spend on its score."""
        mechanism = self.score_mechanism
        if not _within(plan, self.score_epsilon, mechanism.mu if mechanism.is_gaussian else 0.0):
            raise ValueError("The plan that scores trials costs more than they have for it.")


def _within(plan, epsilon, mu):
    """Whether a plan has one kind of noise, and costs at most mu, or epsilon where mu is 0."""
    pure = plan.pure_epsilon <= (0 if mu else exact(epsilon))
    return pure and plan.mu <= mu and plan.joint is None


def make_trial(law, epsilon, delta, score_share):
    """Split what one trial may spend between its fit and its score."""
    if delta == 0.0:
        base = law.pure_base(epsilon)
        parts = split_epsilon(base, {"fit": 1.0 - score_share, "score": score_share})
        score = DiscreteLaplace(parts["score"])
        return Trial(law, 0.0, parts["fit"], 0.0, parts["score"], score)
    mu = selection_mu(law, epsilon, delta) * (1.0 - 2.0**-40)  # room for the rounding of squares
    fit_mu, score_mu = mu * math.sqrt(1.0 - score_share), mu * math.sqrt(score_share)
    fit_epsilon, score_epsilon = (_epsilon_of(part, delta) for part in (fit_mu, score_mu))
    if fit_epsilon <= 0.0:
        raise ValueError(
            f"epsilon={epsilon}, delta={delta} leave less to a trial than its delta alone allows. "
            "Lower mean_trials or raise epsilon."
        )
    return Trial(law, delta, fit_epsilon, fit_mu, score_epsilon, RoundedGaussian(score_mu))


def _epsilon_of(mu, delta):
    """Return an epsilon at which (epsilon, delta) pays for at most mu, 0 where none does."""
    epsilon = gaussian_epsilon(mu, delta)
    while epsilon > 0.0 and gaussian_mu(epsilon, delta) > mu:
        # the inverse is rounded: a little less is surely paid for
        epsilon *= 1.0 - 2.0**-30
    return max(epsilon, 0.0)


# How a trial of a private search is scored: what is asked of the rows, and what it costs.

_MANY_PERSONS = 1 << 24  # are taken to be there where n_hint does not say: a score need not be fine
_DRAWN = 256  # points of a distribution that can only be drawn from


class NearestScore:
    """Minus the noisy sum of the clipped squared distances of rows to the nearest point."""

    def question(self, estimator, n_features, names, units=1):
        """Return the clipped distances to the points, before the fit to the center of the domain.

        Both questions are as sensitive.
        """
        domain = check_domain(estimator.bounds, n_features, names)
        points = domain.center[None]
        if hasattr(estimator, "privacy_"):
            kmeans = hasattr(estimator, "cluster_centers_")
            points = estimator.cluster_centers_ if kmeans else estimator.support_
        return NearestLoss(points, 2.0 * domain.radius, units)

    def stderr(self, payer, trial, n_features, names=None):
        """Return the standard deviation of the noise of a score, a public number."""
        query = self.question(payer, n_features, names)
        mechanism, sensitivity = trial.score_mechanism, query.sensitivity(payer._relation())
        (scale,) = mechanism.scales(sensitivity, query.weights())
        return mechanism.standard_deviation(scale) * query.unit

    def advice(self, payer, trial, n_features):
        """Say which candidates can be told apart."""
        noise = self.stderr(payer, trial, n_features)
        return (
            f"The noise of a score has standard deviation {noise:.3g}. Candidates are told apart "
            f"where n rows differ by more than {noise:.3g} / n in their mean squared distance to "
            "the nearest point; the others are chosen among by chance."
        )

    def rehearse(self, payer, trial, rows):
        """Raise, before the charge, what would make scoring fail."""
        units = coarser_units(rows.person_units, payer.n_hint or _MANY_PERSONS)
        query = self.question(payer, rows.n_features, rows.names, units)
        require_noise(query, Step("score", trial.score_mechanism), payer._relation())

    def score(self, fitted, trial, noise, rows, given):
        """Return the noisy score of a fitted candidate."""
        units = coarser_units(rows.person_units, fitted.n_hint or _MANY_PERSONS)
        query = self.question(fitted, rows.n_features, rows.names, units)
        paid = PaidSteps(fitted.privacy_.relation, (Step("score", trial.score_mechanism),))
        released = Desk(rows, paid, noise, charge=None).ask("score", query)
        return -float(released.values[0][0]) * query.unit


class TransportScore:
    """Minus the sliced Wasserstein distance of the release to a noisy measure of the rows.

    The measure is a :class:`PrivateMeasure` of its own, bought anew in every trial with what a
    trial may spend on its score; the distance between two releases is post-processing.
    """

    def stderr(self, payer, trial, n_features, names=None):
        """Return None: no number is known for it."""
        return None

    def advice(self, payer, trial, n_features):
        """Say what a candidate is compared with."""
        judge = self._judge(payer, trial, None)
        return (
            "A score is minus the sliced Wasserstein distance to a PrivateMeasure that every trial "
            f"buys with epsilon={judge.epsilon:.3g}, delta={judge.delta:g}. Candidates that differ "
            "by less than the noise of that measure are chosen among by chance."
        )

    def rehearse(self, payer, trial, rows):
        """Raise, before the charge, what would make scoring fail."""
        judge = self._judge(payer, trial, 0)
        plan = judge.privacy_plan(rows.n_features)
        trial.check_score(plan)
        judge._rehearse(plan, judge._public_facts(plan, rows))

    def score(self, fitted, trial, noise, rows, given):
        """Return the noisy score of a fitted candidate."""
        seed = noise.uniform_integer(1 << 31) if noise.seeded else None
        judge = self._judge(fitted, trial, seed)
        X, beside = given
        judge.fit(X, **beside)
        return -sliced_distance(released_measure(fitted), judge.to_measure())

    def _judge(self, payer, trial, seed):
        return PrivateMeasure(
            trial.score_epsilon,
            trial.delta,
            payer.bounds,
            n_hint=payer.n_hint,
            neighbors=payer._relation(),
            random_state=seed,
        )


def score_of(estimator):
    """Scoring of the trials of an estimator, or None if no private score is known."""
    if isinstance(estimator, (PrivateDomainAdapter, PrivateTable)):
        return None
    if hasattr(estimator, "predict") and hasattr(estimator, "transform"):  # rows as points
        return NearestScore()
    as_distribution = hasattr(estimator, "sample") or hasattr(estimator, "to_measure")
    return TransportScore() if as_distribution else None


def released_measure(fitted):
    """Return a fitted distribution as a discrete measure, post-processing of its release."""
    if hasattr(fitted, "to_measure"):
        return fitted.to_measure()
    drawn = fitted.sample(_DRAWN, random_state=0)
    return DiscreteMeasure(drawn[0] if isinstance(drawn, tuple) else drawn)


def sliced_distance(first, second):
    """Return the sliced Wasserstein distance of order 2 on public directions."""
    directions = slicing_directions(first.n_features).T
    costs = [univariate_cost(_along(first, way), _along(second, way)) for way in directions]
    return float(np.sqrt(np.mean(costs)))


def _along(measure, direction):
    return DiscreteMeasure(measure.support @ direction[:, None], measure.weights)
