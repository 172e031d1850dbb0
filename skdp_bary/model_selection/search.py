"""PrivateSearchCV: choose hyper-parameters on private rows, with the choice itself private."""

from __future__ import annotations

import math
import warnings
from contextlib import ExitStack, closing
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._sklearn import VersionedPickle, checksum
from ..estimators.base import SEEDED, fitted_alone
from ..estimators.notices import GuaranteeRepr, KnowsSearches, warn_of_leaking_steps
from ..exceptions import (
    BudgetError,
    Estimator,
    PrivacyWarning,
    RandomState,
    Rows,
    as_charged,
    check_integer,
)
from ..parameters import PRIVACY_RULES, Grid, Having, Number, PlainParameters, check_parameters
from ..privacy.entries import note_of
from ..privacy.noise import noise_generator
from ..privacy.plans import LogarithmicTrials, Plan, failure_advice
from ..privacy.quote import known_width, plans_to_come, told_of_a_pipeline
from ..privacy.spending import SharedBudget
from ..queries.sizes import require_readable
from .trials import make_trial, score_of, search_parts

# PrivateSearchCV: choose hyper-parameters on private rows, with the choice itself private.

_FAILED = (
    "A trial of the search failed; the search was charged. Which one and why is not told, because "
    "the budget covers the best trial alone. Fit the candidates one by one, each for its own "
    "budget, to find out."
)
_MORE_IS_BETTER = (
    "param_grid varies {}: more points always score better, so the search finds the largest "
    "number, up to noise, and is charged for it. Fix the number by public knowledge, or compute "
    "the cost curve from one release with choose_n_clusters."
)
_NUMBERS_OF_POINTS = frozenset({"n_clusters", "n_atoms"})


def _best_has(name):
    return available_if(lambda search: hasattr(search.estimator, name))


class PrivateSearchCV(
    KnowsSearches,
    PlainParameters,
    VersionedPickle,
    GuaranteeRepr,
    MetaEstimatorMixin,
    BaseEstimator,
):
    """Differentially private hyperparameter search.

    A random, secret number of trials fit and score random candidates with noise. Only the best is
    kept. The search costs a small multiple of one trial, for any number of candidates
    (:doc:`/howto/model_selection`).

    Parameters
    ----------
    estimator : estimator of this package, or Pipeline that ends in one
        Fitted with every candidate. The search sets its `epsilon`, `delta`, `accountant` and
        `random_state`; pass public `bounds`. Earlier steps of a pipeline must not learn from the
        rows (``check_private``).

    param_grid : dict or list of dict
        Public candidates, as for ``GridSearchCV``; for a pipeline ``step__parameter`` of its last
        step. `epsilon` may vary up to what one trial has for its fit, at the same cost.

    mean_trials : float, default=None
        Mean number of trials, whose distribution is logarithmic. None: twice the number of
        candidates, at least 4.

    score_share : float, default=0.1
        Share of a trial's budget for its score.

    epsilon, delta : float, default=1.0, 0.0
        Cost of the whole search.

    accountant : BudgetAccountant, default=None
        Budget that the search is charged to before it reads a row.

    random_state : int or RandomState, default=None
        None, except in tests: other values make releases reproducible and not private.

    Attributes
    ----------
    best_estimator_ : estimator
        Fitted estimator, or pipeline, of the best trial. Its ``privacy_`` is that of the search,
        because the choice depends on the rows too, its `epsilon` that of a fit of one trial.
        Fitting it again charges the `accountant`.
    best_params_ : dict
        Its candidate.
    best_score_ : float
        Its noisy score. Of points: minus the sum of squared distances from rows to the nearest,
        clipped. Of measures, heatmaps, sketches and generators: minus the sliced Wasserstein
        distance to a PrivateMeasure that every trial releases.
    best_score_stderr_ : float or None
        Public standard deviation of the noise of a score. Closer candidates are chosen by chance.
        None for distances.
    privacy_ : SelectionPlan
        Cost of the whole search. ``steps`` are those of one trial.
    n_features_in_ : int
        Number of features.

    Privacy
    -------
    Neighbors
        ``neighbors`` of the estimator, or of the accountant.
    Mechanism
        DiscreteLaplace when ``delta=0``, otherwise RoundedGaussian.
    Sensitivity
        That of the estimator. A person moves the sum of clipped losses by at most the largest loss,
        whoever replaces whom. A score by distance is post-processing of the trial and a
        PrivateMeasure.
    Budget
        All trials and the choice together cost (epsilon, delta). For pure trials of epsilon e that
        is 2 e; for Gaussian trials the Renyi bound of Papernot and Steinke (2022) is converted.
    Released
        best_estimator_, best_params_, best_score_, best_score_stderr_, privacy_, n_features_in_
    Not covered
        predict, transform, score: exact functions of their input. The time of a fit reveals the
        number of trials: do not publish it.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateWassersteinBarycenter
    >>> from skdp_bary.model_selection import PrivateSearchCV
    >>> X = np.random.default_rng(0).normal(0.5, 0.1, size=(20000, 2))
    >>> search = PrivateSearchCV(
    ...     PrivateWassersteinBarycenter(bounds=(0, 1), n_hint=20000),
    ...     {"method": ["coreset", "pyramid"]},
    ... ).fit(X)
    >>> sorted(search.best_params_)
    ['method']
    >>> search.best_estimator_.privacy_.epsilon
    1.0
    """

    _parameter_rules = {
        "estimator": Having(
            "an estimator of this package, or a Pipeline that ends in one", ("fit",)
        ),
        "param_grid": Grid(),
        "mean_trials": Number(1.0 + 1e-6, 1e6) | None,
        "score_share": Number(1e-6, 1.0 - 1e-6),
    } | {name: PRIVACY_RULES[name] for name in ("epsilon", "delta", "accountant", "random_state")}

    def __init__(
        self,
        estimator: Estimator,
        param_grid: dict | list,
        *,
        mean_trials: float | None = None,
        score_share: float = 0.1,
        epsilon: float = 1.0,
        delta: float = 0.0,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.mean_trials = mean_trials
        self.score_share = score_share
        self.epsilon = epsilon
        self.delta = delta
        self.accountant = accountant
        self.random_state = random_state

    def fit(
        self,
        X: Rows,
        y: Rows | None = None,
        *,
        groups: Rows | None = None,
        sample_weight: Rows | None = None,
        unit: str | None = None,
        note: str = "",
    ) -> Self:
        """Search among the candidates.

        Parameters
        ----------
        X : array-like, dataframe, Dask collection or list of chunks
            Private rows; they are read several times.
        y : array-like of shape (n_rows,), optional
            Labels, where the estimator uses them.
        groups : array-like of shape (n_rows,), optional
            Person IDs.
        sample_weight : array-like of shape (n_rows,), optional
            Weights in [0, 1].
        unit : str, default=None
            Privacy unit; None: the name of `groups`, or "rows" without groups.
        note : str, default=""
            Text for the ledger, such as "2026-03".

        Returns
        -------
        self : object
        """
        with fitted_alone(self), ExitStack() as after:
            check_parameters(self)
            candidates = Candidates(self)
            passed, (public, X) = X, candidates.parts.before(X)
            names = BaseEstimator()
            rows = after.enter_context(closing(candidates.open(names, X, y, groups, sample_weight)))
            plan = self.privacy_plan(rows.n_features)
            accountant, noise = candidates.payer._budget(), noise_generator(self.random_state)
            terms = rows.terms(passed, unit)
            note = note_of(noise.seeded, note)
            try:
                later = plans_to_come(self, rows.n_features)
                accountant.check(plan, who=type(self).__name__, then=later, **terms)
            except BudgetError as error:
                raise type(error)(told_of_a_pipeline(error, accountant)) from None
            candidates.rehearse(rows)
            self._warn(candidates, plan, noise.seeded, accountant.unit_advice(terms["unit"]))
            accountant.charge(plan, type(self).__name__, note=note, **terms)
            beside = {"groups": groups, "sample_weight": sample_weight}

            def attempt():
                params, candidate = candidates.draw(noise)
                candidate.fit(X, y, **beside)
                trial, given = candidates.trial, (X, beside)
                score = candidates.kind.score(candidate, trial, noise, rows, given)
                return score, params, candidate

            if (best := best_of(candidates.trial.law, attempt, noise)) is None:
                raise RuntimeError(_FAILED)
            score, params, fitted = best
            plan = self._as_searched(plan)
            fitted.privacy_ = plan  # the best of them is as private as the search
            told = candidates.payer, candidates.trial, rows.n_features, rows.names
            fitted.set_params(accountant=self.accountant, **candidates.speech)
            fitted._searched_with = checksum(fitted.get_params())  # others are not what it found
            vars(self).update(  # in one step: an interrupt leaves an earlier search or this one
                best_score_=score,
                best_params_=params,
                best_score_stderr_=candidates.kind.stderr(*told),
                best_estimator_=candidates.parts.whole(public, fitted),
                privacy_=plan,
                _seeded=noise.seeded,
                n_features_in_=(names if public is None else public).n_features_in_,
            )
        return self

    def privacy_plan(self, n_features: int) -> Plan:
        """Charge of a fit: the cost of all trials and of the choice.

        Parameters
        ----------
        n_features : int
            Number of features; of the last step, where the estimator is a pipeline.

        Returns
        -------
        plan : SelectionPlan
        """
        n_features = check_integer(n_features, "n_features", low=1)
        check_parameters(self)
        candidates = Candidates(self)
        for params in candidates.grid:
            fit = candidates.candidate(params, None).privacy_plan(n_features)
            candidates.trial.check(fit, params)
        return candidates.plan()

    def privacy_advice(self, n_features: int) -> str:
        """Noise level of a score, for the quote of a budget.

        Parameters
        ----------
        n_features : int
            As for ``privacy_plan``.

        Returns
        -------
        advice : str
        """
        candidates = Candidates(self)
        return candidates.kind.advice(candidates.payer, candidates.trial, n_features)

    @_best_has("predict")
    def predict(self, X: Rows) -> np.ndarray:
        """Call ``predict`` of the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @_best_has("transform")
    def transform(self, X: Rows) -> np.ndarray:
        """Call ``transform`` of the best estimator."""
        check_is_fitted(self)
        return self.best_estimator_.transform(X)

    @_best_has("score")
    def score(self, X: Rows, y: Rows | None = None) -> float:
        """Call ``score`` of the best estimator on rows that may be published."""
        check_is_fitted(self)
        return self.best_estimator_.score(X, y)

    def _warn(self, candidates, plan, seeded, advice):
        """Say what should be heard before the charge."""
        warn_of_leaking_steps()
        own = [candidates.parts.own_params(params) for params in candidates.grid]
        for name in sorted(_NUMBERS_OF_POINTS):
            if len({params[name] for params in own if name in params}) > 1:
                warnings.warn(_MORE_IS_BETTER.format(name), PrivacyWarning, stacklevel=3)
        doubts = failure_advice(plan.delta, self._known_persons()), advice, seeded and SEEDED
        for doubt in filter(None, doubts):
            warnings.warn(doubt, PrivacyWarning, stacklevel=3)

    def _known_features(self):
        return known_width(self.estimator)

    def _known_persons(self):
        return search_parts(self.estimator).private._known_persons()

    def _bounds_in_words(self):
        return search_parts(self.estimator).private._bounds_in_words()

    def _guarantee(self):
        if hasattr(self, "best_estimator_"):
            return self.privacy_, self._seeded, ""
        return Candidates(self).plan(), self.random_state is not None, ", once fitted"


# The candidates of a private search: what a trial of one may spend, its fit and its score.

_ONE_SHOT = (
    "A search reads the rows in every trial, and an iterator of chunks is spent after one reading; "
    "pass a list of chunks or a function that returns a new iterator."
)
_SET_HERE = frozenset({"delta", "bounds", "neighbors", "accountant", "random_state"})


class Candidates:
    """Candidates of a search, from its public parameters alone.

    Parameters
    ----------
    search : PrivateSearchCV

    Attributes
    ----------
    parts : SearchParts
    grid : list of dict
        Parameters of every candidate.
    trial : Trial
    kind : NearestScore or TransportScore
        How trials are scored.
    payer : BasePrivateEstimator
        The estimator with the budget of the search, of which it knows the terms.
    """

    def __init__(self, search):
        self.parts = search_parts(search.estimator)
        self.grid = list(ParameterGrid(search.param_grid))
        varied = {name for params in self.grid for name in self.parts.own_params(params)}
        if not varied:
            raise ValueError(
                "param_grid names no parameter: there is nothing to choose, and a search would be "
                "charged in full. Fit the estimator itself, or name values to choose from."
            )
        known = set(self.parts.private.get_params())
        if varied - known:  # in scikit-learn's words the whole estimator would be shown
            raise ValueError(
                f"param_grid names {sorted(varied - known)}, which are no parameters of "
                f"{type(self.parts.private).__name__}; it has {sorted(known - _SET_HERE)}."
            )
        if varied & _SET_HERE:
            raise ValueError(
                f"param_grid must not vary {sorted(varied & _SET_HERE)}: trials must be comparable."
            )
        mean = max(4, 2 * len(self.grid)) if search.mean_trials is None else search.mean_trials
        law = LogarithmicTrials.of_mean(mean)
        epsilon, delta = as_charged(search.epsilon, search.delta)
        self.trial = make_trial(law, epsilon, delta, search.score_share)
        self.kind = score_of(self.parts.private)
        self.payer = clone(self.parts.private).set_params(
            epsilon=epsilon, delta=delta, accountant=search.accountant
        )

    @property
    def speech(self):
        """What the estimator says of a fit, by parameter: candidates say nothing, or lines would
        count the trials."""
        params = self.payer.get_params(deep=False)
        return {"verbose": params["verbose"]} if "verbose" in params else {}

    @property
    def relation(self):
        """The neighboring relation of all fits and scores."""
        return self.payer._relation()

    def plan(self):
        """Cost of all trials and the choice together."""
        return self.trial.plan(self.relation, self.payer.epsilon, self.payer.delta)

    def open(self, names, X, y, groups, sample_weight):
        """Open the rows that every trial reads, and record the names of the features."""
        rows = self.payer._open(names, X, y, groups, sample_weight)
        if not rows.reopenable:
            raise ValueError(_ONE_SHOT)
        return rows

    def candidate(self, params, seed):
        """Return an unfitted estimator that can spend what one trial has for its fit."""
        own = self.parts.own_params(params)
        most = self.trial.fit_epsilon
        epsilon = own.get("epsilon", most)
        if epsilon > most:
            raise ValueError(
                f"param_grid names epsilon={epsilon}, and one trial has {most:.6g} for its fit. "
                "Raise epsilon of the search, or name smaller ones."
            )
        candidate = clone(self.payer).set_params(**own)
        return candidate.set_params(
            **dict.fromkeys(self.speech, 0),
            epsilon=epsilon,
            delta=self.trial.delta,
            neighbors=self.relation,
            accountant=None,
            random_state=seed,
        )

    def draw(self, noise):
        """Return the parameters of a candidate picked at random, and the candidate, unfitted."""
        params = self.grid[noise.uniform_integer(len(self.grid))]
        seed = noise.uniform_integer(1 << 31) if noise.seeded else None
        return params, self.candidate(params, seed)

    def rehearse(self, rows):
        """Raise, before the charge, what would make a trial fail: public facts, and rows not read.

        A trial that fails costs the whole search, and must not say why.
        """
        require_readable(rows)
        self.kind.rehearse(self.payer, self.trial, rows)
        for params in self.grid:
            candidate = self.candidate(params, 0)
            plan = candidate.privacy_plan(rows.n_features)
            candidate._rehearse(plan, candidate._public_facts(plan, rows))


def best_of(law, attempt, noise):
    """Make a secret number of attempts and return the first of those with the largest score.

    Return None where one failed. Nothing is heard of a trial: warnings would count trials, and an
    error that knows another one, or a frame of a trial, would tell which was lost. So would an
    interrupt, which is raised anew.
    """
    best, stopped = None, False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(law.draw(noise)):
            try:
                made = attempt()
            except Exception:
                return None
            except KeyboardInterrupt:
                stopped = True
                break
            if best is None or _rank(made[0]) > _rank(best[0]):
                best = made
    if stopped:
        raise KeyboardInterrupt("The search was charged, and stays charged. It was not fitted.")
    return best


def _rank(score):
    """Return the place of a score in a total order, for which alone the price of a choice is known.

    Estimators of others may release what no distance is known from: such a score is the lowest.
    """
    return -math.inf if math.isnan(score) else score
