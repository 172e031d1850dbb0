"""What searches and cross-validations of scikit-learn cost, whose fits have no budget together."""

import warnings
import weakref
from contextvars import ContextVar
from dataclasses import replace
from fractions import Fraction

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, RandomizedSearchCV

from ..._sklearn import BaseSearchCV, search_among_callers
from ...exceptions import PrivacyWarning
from ...privacy._checks import as_charged, exact, in_digits
from ...privacy.ledger.quote import may_charge, parts_of

_TOLD = weakref.WeakSet()  # of every search, what runs its fits
_CLONING = ContextVar("skdp_bary_cloning", default=False)
_PRICE = (
    "{search} fits {estimator} without an accountant. {price}, and nothing adds that up: privacy_ "
    "is the price of one fit, and the scores are exact functions of the rows. To choose, write "
    "PrivateSearchCV(estimator, param_grid, epsilon=...), which pays once for all fits and the "
    "choice, or search on public or generated rows."
)


class _UnknownError(Exception):
    """What is fitted, or how often, cannot be read."""


class KnowsSearches:
    """An estimator that says what searches cost which fit it without an accountant."""

    def __sklearn_clone__(self):
        """Return a clone; searches clone in the process that calls them, before they fit."""
        before = _CLONING.get()  # a part of a private search, or of what is priced here
        token = _CLONING.set(True)
        try:
            if self.accountant is None and not before:
                _warn_of_search(self)
            return super().__sklearn_clone__()
        finally:
            _CLONING.reset(token)

    def _as_searched(self, plan):
        """Return a plan that says so where its fit is one of several of a search."""
        several = self.accountant is None and search_among_callers(skipped=2) is not None
        return replace(plan, one_of_several=True) if several else plan


def _warn_of_search(estimator):
    """Say once of a search, before its first fit, what its fits cost together."""
    search = search_among_callers()
    if search is None or search.jobs is None or search.jobs in _TOLD:
        return
    _TOLD.add(search.jobs)
    try:
        price = _in_words(_times(_folds(search.cv) if search.folds else 1, _cost(search.fitted)))
    except _UnknownError:
        price = "Every candidate and fold spends epsilon again"
    told = _PRICE.format(search=search.name, estimator=type(estimator).__name__, price=price)
    warnings.warn(told, PrivacyWarning, stacklevel=search.depth)


def _in_words(cost):
    fits, epsilon, delta = cost
    amounts = f"epsilon={in_digits(float(epsilon))}, delta={in_digits(float(delta))}"
    return f"Its {fits} fits together spend up to {amounts}"


def _cost(estimator):
    """Return how many fits without an accountant one fit of this makes, and their amounts."""
    if estimator is None:
        raise _UnknownError
    if isinstance(estimator, BaseSearchCV):
        costs = [_cost(each) for each in _candidates(estimator)]
        times = _times(_folds(estimator.cv), _sum(costs))
        return _sum([times, max(costs, key=lambda cost: cost[1:])]) if estimator.refit else times
    if hasattr(estimator, "privacy_plan"):
        if estimator.accountant is not None:
            return 0, Fraction(0), Fraction(0)
        return 1, *map(exact, as_charged(estimator.epsilon, estimator.delta))
    parts = [part for _, part, _ in parts_of(estimator, None)]
    if not parts and may_charge(estimator):
        raise _UnknownError
    return _sum([_cost(part) for part in parts])


def _candidates(search):
    """Return the candidates of a search, or as many like its estimator."""
    if isinstance(search, GridSearchCV):
        grid = ParameterGrid(search.param_grid)
        return [clone(search.estimator).set_params(**params) for params in grid]
    if isinstance(search, RandomizedSearchCV):
        drawn = search.param_distributions
        names = [name for each in ([drawn] if isinstance(drawn, dict) else drawn) for name in each]
        if not {"epsilon", "delta", "accountant"} & {name.split("__")[-1] for name in names}:
            return [search.estimator] * search.n_iter
    raise _UnknownError


def _folds(cv):
    """Return the number of folds by public parameters; of splitters by rows it may be private."""
    if cv is None:
        return 5
    if isinstance(cv, int):
        return cv
    try:
        return cv.get_n_splits()
    except (AttributeError, TypeError, ValueError):
        raise _UnknownError from None


def _times(number, cost):
    return tuple(number * each for each in cost)


def _sum(costs):
    return tuple(map(sum, zip(*costs, strict=True))) if costs else (0, Fraction(0), Fraction(0))
