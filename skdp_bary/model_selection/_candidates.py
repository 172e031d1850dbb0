"""The candidates of a private search: what a trial of one may spend, its fit and its score."""

import math
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from ..privacy._checks import as_charged
from ..privacy.accounting.selection import make_trials
from ..summaries.asking.counting import require_readable
from ._scores import score_of
from ._search_parts import search_parts
from ._trial import make_trial

_ONE_SHOT = (
    "A search reads the rows in every trial, and an iterator of chunks is spent after one reading; "
    "pass a list of chunks or a function that returns a new iterator."
)
_SET_HERE = frozenset(
    {"delta", "bounds", "schema", "rules", "neighbors", "accountant", "random_state"}
)


class Candidates:
    """What a search searches over, from its public parameters alone.

    Parameters
    ----------
    search : PrivateSearchCV

    Attributes
    ----------
    parts : SearchParts
    grid : list of dict
        Parameters of every candidate.
    trial : Trial
    payer : BasePrivateEstimator
        The estimator with the budget of the search, of which it knows the terms.
    """

    def __init__(self, search):
        self.parts = search_parts(search.estimator, search.scoring)
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
        law = make_trials(search.trials, mean)
        epsilon, delta = as_charged(search.epsilon, search.delta)
        self.trial = make_trial(law, epsilon, delta, search.score_share)
        self._kind = score_of(self.parts.private, search.scoring)
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
        """Return what all trials and the choice cost together."""
        return self.trial.plan(self.relation, self.payer.epsilon, self.payer.delta)

    def score_stderr(self, n_features, names=None):
        """Return the standard deviation of the noise of a score, or None where it is not known."""
        return self._kind.stderr(self.payer, self.trial, n_features, names)

    def advice(self, n_features):
        """Return what a score tells, in words."""
        return self._kind.advice(self.payer, self.trial, n_features)

    def open(self, names, X, y, groups, sample_weight):
        """Open the rows that every trial reads, and record the names of the features."""
        rows = self.payer._open(names, X, y, groups, sample_weight)
        if not rows.reopenable:
            raise ValueError(_ONE_SHOT)
        return rows

    def check(self, n_features):
        """Raise unless every candidate's fit costs at most what a trial may spend on it."""
        for params in self.grid:
            self.trial.check(self.candidate(params, None).privacy_plan(n_features), params)

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
            delta=self.trial.fit_delta,
            neighbors=self.relation,
            accountant=None,
            random_state=seed,
        )

    def draw(self, noise):
        """Return the parameters of a candidate picked at random, and the candidate, unfitted."""
        params = self.grid[noise.uniform_integer(len(self.grid))]
        seed = noise.uniform_integer(1 << 31) if noise.seeded else None
        return params, self.candidate(params, seed)

    def score(self, fitted, noise, rows, given):
        """Return the noisy score of a fitted candidate; `given` are the rows for `fit`."""
        return self._kind.score(fitted, self.trial, noise, rows, given)

    def rehearse(self, rows):
        """Raise, before the charge, what would make a trial fail: public facts, and rows not read.

        A trial that fails costs the whole search, and must not say why.
        """
        require_readable(rows)
        self._kind.rehearse(self.payer, self.trial, rows)
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
    if best is None:
        raise RuntimeError(
            "The number of trials came out as zero, which has probability "
            f"{math.exp(-law.mean):.2g}; the search was charged. Raise mean_trials."
        )
    return best


def _rank(score):
    """Return the place of a score in a total order, for which alone the price of a choice is known.

    Estimators of others may release what no distance is known from: such a score is the lowest.
    """
    return -math.inf if math.isnan(score) else score
