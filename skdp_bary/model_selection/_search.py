"""PrivateSearchCV: choose hyper-parameters on private rows, with the choice itself private."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._parameters import PRIVACY_RULES, Grid, Having, Number, Option, check_parameters
from .._pickles import VersionedPickle
from ..estimators._alone import fitted_alone
from ..estimators._face.guarantee import Guarantee, GuaranteeRepr
from ..exceptions import PrivacyWarning
from ..geometry._bounds import check_domain
from ..privacy._checks import check_integer
from ..privacy.accounting.plans import Step
from ..privacy.accounting.selection import make_trials
from ..privacy.ledger.entry import note_of
from ..privacy.noise.sampler import noise_generator
from ..summaries.asking.counting import require_readable
from ..summaries.asking.desk import Desk, PaidSteps
from ..summaries.asking.release import require_noise
from ._search_parts import search_parts
from ._trial import make_trial

if TYPE_CHECKING:
    from .._types import RandomState, Rows
    from ..privacy.accounting.plans import Plan
    from ..privacy.ledger.spending import SharedBudget

_FAILED = (
    "A trial of the search failed; the search was charged. Which one and why is not told, because "
    "the budget covers the best trial alone. Fit the candidates one by one, each for its own "
    "budget, to find out."
)
_ONE_SHOT = (
    "A search reads the rows in every trial, and an iterator of chunks is spent after one reading; "
    "pass a list of chunks or a function that returns a new iterator."
)
_MORE_IS_BETTER = (
    "param_grid varies {}: a score is better with more points whatever the rows, so the search "
    "finds the largest number, blurred by noise, and is paid for all the same. Fix the number by "
    "what is known in public, or read a whole curve off one release with choose_n_clusters."
)
_MANY_PERSONS = 1 << 24  # are taken to be there where n_hint does not say: a score need not be fine
_NUMBERS_OF_POINTS = frozenset({"n_clusters", "n_atoms"})
_SET_HERE = frozenset({"epsilon", "delta", "bounds", "neighbors", "accountant", "random_state"})


def _best_of(law, attempt, noise):
    """Make a secret number of attempts and return the first of those with the largest score.

    Return None where one failed. Nothing is heard of a trial: warnings would count trials, and an
    error that knows another one, or a frame of a trial, would tell which was lost.
    """
    best = None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(law.draw(noise)):
            try:
                made = attempt()
            except Exception:
                return None
            if best is None or made[0] > best[0]:
                best = made
    if best is None:
        raise RuntimeError(
            "The number of trials came out as zero, which has probability "
            f"{math.exp(-law.mean):.2g}; the search was charged. Raise mean_trials."
        )
    return best


def _best_has(name):
    return available_if(lambda search: hasattr(search.estimator, name))


class PrivateSearchCV(VersionedPickle, GuaranteeRepr, MetaEstimatorMixin, BaseEstimator):
    """Hyper-parameter search whose choice is private.

    A random number of trials is made. Each picks a candidate at random, fits it on the rows with
    noise, and scores it on the rows with noise; the trial with the best noisy score is kept and
    all others are forgotten. How many trials were made stays secret: that is what lets the whole
    search cost only a small multiple of one trial, however many candidates there are.

    Parameters
    ----------
    estimator : estimator of this package, or Pipeline that ends in one
        Fitted with every candidate. Its `epsilon`, `delta`, `accountant` and `random_state` are
        set by the search; give public `bounds`, and a public `n_hint` where you have one. The
        earlier steps of a pipeline must learn nothing from the rows, see ``check_private``; they
        are fitted once.

    param_grid : dict or list of dict
        Candidates, as for ``GridSearchCV``: names of parameters and lists of values. Public. For
        a pipeline, parameters of its last step, as ``step__parameter``.

    trials : {"logarithmic", "geometric", "poisson"}, default="logarithmic"
        Law of the number of trials. For a pure budget one trial gets half of it under
        "logarithmic" and a third under "geometric", which makes few trials less often. "poisson"
        needs ``delta > 0``, where it leaves most to a trial; it may come out as no trial at all.

    mean_trials : float or None, default=None
        Mean number of trials; None takes twice the number of candidates, at least 4.

    score_share : float, default=0.1
        Share of a trial's budget that pays for its score.

    epsilon, delta : float, default=1.0, 0.0
        What the whole search costs.

    accountant : BudgetAccountant or None, default=None
        Budget that the search is charged to before it reads a row.

    random_state : None, int or RandomState, default=None
        None draws noise from the operating system. Anything else is reproducible and not private.

    Attributes
    ----------
    best_estimator_ : estimator
        The fitted estimator, or pipeline, of the best trial. Its ``privacy_`` is that of the
        search, because that it was the best tells about the rows too; its `epsilon` is what one
        trial had for a fit, and its `accountant` is that of the search: it pays when the estimator
        is fitted again.
    best_params_ : dict
        Its candidate.
    best_score_ : float
        Its noisy score: minus the sum over rows of the squared distance to the nearest of its
        points, each distance clipped to twice the radius of the domain. The noise may make it
        positive. More points always score better, so do not search over their number: a fit
        warns.
    best_score_stderr_ : float
        Standard deviation of the noise of every score; public. Candidates whose scores are closer
        than this are chosen among by chance.
    privacy_ : SelectionPlan
        What the whole search was charged: ``epsilon``, ``delta``, ``relation``, the law of the
        number of `trials`, and as ``steps`` what one trial spends.
    n_features_in_ : int
        Number of features.

    Privacy
    -------
    Neighbors
        The relation of the estimator's ``neighbors``, or of the accountant.
    Mechanism
        DiscreteLaplace when ``delta=0``, otherwise RoundedGaussian; the best of a random number of
        trials.
    Sensitivity
        That of the estimator; a person moves the sum of clipped losses by at most the largest loss.
    Budget
        All trials and the choice together cost (epsilon, delta). For pure trials of epsilon e the
        choice costs (2 + eta) e, with eta = 0 ("logarithmic") or 1 ("geometric"); for Gaussian
        trials the Renyi bounds of Papernot and Steinke (2022) are converted.
    Released
        best_estimator_, best_params_, best_score_, best_score_stderr_, privacy_, n_features_in_
    Not covered
        predict, transform, score: exact functions of the rows they are given. The time a fit takes
        tells how many trials were made: do not publish it.

    References
    ----------
    J. Liu, K. Talwar. Private selection from private candidates. STOC 2019.

    N. Papernot, T. Steinke. Hyperparameter tuning with Renyi differential privacy. ICLR 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateWassersteinBarycenter
    >>> from skdp_bary.model_selection import PrivateSearchCV
    >>> X = np.random.default_rng(0).normal(0.5, 0.1, size=(20000, 2))
    >>> search = PrivateSearchCV(
    ...     PrivateWassersteinBarycenter(bounds=(0, 1), n_hint=20000),
    ...     {"method": ["coreset", "pmm"]},
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
        "trials": Option(("logarithmic", "geometric", "poisson")),
        "mean_trials": Number(1.0 + 1e-6, 1e6) | None,
        "score_share": Number(1e-6, 1.0 - 1e-6),
    } | {name: PRIVACY_RULES[name] for name in ("epsilon", "delta", "accountant", "random_state")}

    def __init__(
        self,
        estimator: Any,
        param_grid: dict | list,
        *,
        trials: Literal["logarithmic", "geometric", "poisson"] = "logarithmic",
        mean_trials: float | None = None,
        score_share: float = 0.1,
        epsilon: float = 1.0,
        delta: float = 0.0,
        accountant: SharedBudget | None = None,
        random_state: RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.trials = trials
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
    ) -> Self:
        """Search among the candidates.

        Parameters
        ----------
        X : array-like, dataframe, Dask collection or list of chunks
            Private rows; they are read several times.
        y : array-like of shape (n_rows,), optional
            Labels, where the estimator uses them.
        groups : array-like of shape (n_rows,), optional
            Person ids.
        sample_weight : array-like of shape (n_rows,), optional
            Weights in [0, 1].

        Returns
        -------
        self : object
        """
        with fitted_alone(self):
            check_parameters(self)
            parts = search_parts(self.estimator)
            candidates, trial = self._candidates(parts), self._trial()
            names = BaseEstimator()
            payer = self._payer(parts)
            given, (public, X) = X, parts.before(X)
            rows = payer._open(names, X, y, groups, sample_weight)
            if not rows.rereadable:
                raise ValueError(_ONE_SHOT)
            plan = self.privacy_plan(rows.n_features)
            noise = noise_generator(self.random_state)
            accountant = payer._budget()
            accountant.check(plan)
            self._rehearse(candidates, parts, payer, trial, rows)
            self._warn(parts, noise.seeded)
            note = note_of(rows.person, noise.seeded)
            accountant.charge(plan, type(self).__name__, note=note, rows=given)

            def attempt():
                params = candidates[noise.uniform_integer(len(candidates))]
                seed = noise.uniform_integer(1 << 31) if noise.seeded else None
                fitted = self._candidate(payer, parts.own_params(params), trial, seed)
                fitted.fit(X, y, groups=groups, sample_weight=sample_weight)
                return self._score(fitted, rows, trial, noise), params, fitted

            best = _best_of(trial.law, attempt, noise)
            if best is None:
                raise RuntimeError(_FAILED)
            self.best_score_, self.best_params_, fitted = best
            fitted.privacy_ = self.privacy_ = plan  # the best of them is as private as the search
            self._seeded = noise.seeded
            domain = check_domain(payer.bounds, rows.n_features, rows.names)
            self.best_score_stderr_ = trial.score_stderr(plan.relation, domain)
            self.best_estimator_ = parts.whole(
                public, fitted.set_params(accountant=self.accountant)
            )
            self.n_features_in_ = (names if public is None else public).n_features_in_
        return self

    def privacy_plan(self, n_features: int) -> Plan:
        """Return what a fit will charge: the price of all trials and of the choice.

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
        parts = search_parts(self.estimator)
        payer, trial = self._payer(parts), self._trial()
        for params in self._candidates(parts):
            candidate = self._candidate(payer, parts.own_params(params), trial, None)
            trial.check(candidate.privacy_plan(n_features), params)
        return trial.plan(payer._relation(), self.epsilon, self.delta)

    def privacy_advice(self, n_features: int) -> str:
        """Return how large the noise of a score is, for the quote of a budget.

        Parameters
        ----------
        n_features : int
            As for ``privacy_plan``.

        Returns
        -------
        advice : str
        """
        payer = self._payer(search_parts(self.estimator))
        domain = check_domain(payer.bounds, n_features)
        stderr = self._trial().score_stderr(payer._relation(), domain)
        return (
            f"The noise of a score has standard deviation {stderr:.3g}. Candidates are told apart "
            f"where n rows differ by more than {stderr:.3g} / n in their mean squared distance to "
            "the nearest point; the others are chosen among by chance."
        )

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

    def _candidates(self, parts):
        candidates = list(ParameterGrid(self.param_grid))
        names = {name for params in candidates for name in parts.own_params(params)}
        if names & _SET_HERE:
            raise ValueError(
                f"param_grid must not vary {sorted(names & _SET_HERE)}: trials must be comparable."
            )
        return candidates

    def _rehearse(self, candidates, parts, payer, trial, rows):
        """Raise, before the charge, what would make a trial fail: public facts, and rows not read.

        A trial that fails costs the whole search, and must not say why.
        """
        require_readable(rows)
        domain = check_domain(payer.bounds, rows.n_features, rows.names)
        units = rows.units_for(payer.n_hint or _MANY_PERSONS)
        query = trial.score_query(domain.center[None], domain, units)
        require_noise(query, Step("score", trial.score_mechanism), payer._relation())
        for params in candidates:
            candidate = self._candidate(payer, parts.own_params(params), trial, 0)
            plan = candidate.privacy_plan(rows.n_features)
            candidate._rehearse(plan, candidate._public_facts(plan, rows))

    def _warn(self, parts, seeded):
        """Say what should be heard before the charge."""
        own = [parts.own_params(params) for params in ParameterGrid(self.param_grid)]
        for name in sorted(_NUMBERS_OF_POINTS):
            if len({params[name] for params in own if name in params}) > 1:
                warnings.warn(_MORE_IS_BETTER.format(name), PrivacyWarning, stacklevel=3)
        if seeded:
            warnings.warn(
                "random_state is given, so the noise can be reproduced and the search is seeded, "
                "not private. Leave random_state=None for anything that is published.",
                PrivacyWarning,
                stacklevel=3,
            )

    def _trial(self):
        """Return what one trial may spend, from public parameters."""
        mean = self.mean_trials
        if mean is None:
            mean = max(4, 2 * len(ParameterGrid(self.param_grid)))
        law = make_trials(self.trials, mean)
        return make_trial(law, self.epsilon, self.delta, self.score_share)

    def _candidate(self, payer, params, trial, seed):
        """Return an unfitted estimator that can spend what one trial has for its fit."""
        candidate = clone(payer).set_params(**params)
        return candidate.set_params(
            epsilon=trial.fit_epsilon,
            delta=trial.fit_delta,
            neighbors=payer._relation(),
            accountant=None,
            random_state=seed,
        )

    def _payer(self, parts):
        """Return the estimator with the budget of the search, of which it knows the terms."""
        return clone(parts.private).set_params(
            epsilon=self.epsilon, delta=self.delta, accountant=self.accountant
        )

    def _bounds_in_words(self):
        return search_parts(self.estimator).private._bounds_in_words()

    def _guarantee(self):
        if hasattr(self, "best_estimator_"):
            return Guarantee.of_plan(self.privacy_, seeded=self._seeded)
        payer = self._payer(search_parts(self.estimator))
        plan = self._trial().plan(payer._relation(), self.epsilon, self.delta)
        seeded = self.random_state is not None
        return Guarantee.of_plan(plan, seeded=seeded, condition=", once fitted")

    def _score(self, fitted, rows, trial, noise):
        """Return minus the noisy loss of a fitted candidate."""
        domain = check_domain(fitted.bounds, rows.n_features, rows.names)
        points = fitted.cluster_centers_ if hasattr(fitted, "cluster_centers_") else fitted.support_
        units = rows.units_for(fitted.n_hint or _MANY_PERSONS)
        query = trial.score_query(points, domain, units)
        paid = PaidSteps(fitted.privacy_.relation, (Step("score", trial.score_mechanism),))
        released = Desk(rows, paid, noise, charge=None).ask("score", query)
        return -float(released.values[0][0]) * query.unit
