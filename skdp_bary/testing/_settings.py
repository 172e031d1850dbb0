"""The settings under which an estimator is checked, and how a check reports what it found."""

import numpy as np
from sklearn.base import clone

from ..privacy._neighbors import ADD_REMOVE, RELATIONS
from ..privacy.ledger.accountant import BudgetAccountant

DELTAS = (0.0, 1e-5)


def require(condition, message):
    """Raise an AssertionError that says what the estimator does wrong."""
    if not condition:
        raise AssertionError(message)


def settings(estimator):
    """Return clones for every relation and kind of noise that the estimator accepts."""
    accepted = []
    for relation in RELATIONS:
        for delta in DELTAS:
            candidate = clone(estimator).set_params(
                neighbors=relation, delta=delta, accountant=None, random_state=None
            )
            if _accepts(candidate, feature_count(estimator)):
                accepted.append(candidate)
    require(accepted, f"{estimator} accepts no relation with delta in {DELTAS}.")
    return accepted


def default_setting(estimator):
    """Return a clone under add_remove if the estimator accepts it, with delta=0 if it does."""
    return settings(estimator)[0]


def feature_count(estimator):
    """Number of features that a schema or bounds speak about; 2 where they do not say."""
    declared = _declared_columns(estimator)
    if declared is not None:
        return declared
    bounds = estimator.bounds
    if hasattr(bounds, "n_features"):
        return bounds.n_features
    width = 1 if bounds is None else max(np.size(bound) for bound in bounds)
    return width if width > 1 else 2


def feature_counts(estimator):
    """Numbers of features to try: those of 1 to 50 that the estimator and its bounds accept."""
    bounds = estimator.bounds
    free = bounds is None or (
        not hasattr(bounds, "n_features") and all(np.size(bound) == 1 for bound in bounds)
    )
    free = free and _declared_columns(estimator) is None
    tried = range(1, 51) if free else (feature_count(estimator),)
    return [n_features for n_features in tried if _accepts(estimator, n_features)]


def with_budget(estimator, fits=1000):
    """Return a clone and the accountant, with room for many fits, that pays for it."""
    accountant = BudgetAccountant(
        fits * estimator.epsilon,
        min(fits * estimator.delta, 0.5),
        neighbors=estimator.neighbors or ADD_REMOVE,
    )
    return clone(estimator).set_params(accountant=accountant), accountant


def is_unfitted(estimator):
    """Whether fit left no attribute behind."""
    return set(vars(estimator)) <= set(estimator.get_params(deep=False))


def _declared_columns(estimator):
    """Number of columns of the schema of an estimator, or None."""
    return getattr(getattr(estimator, "schema", None), "n_columns", None)


def _accepts(estimator, n_features):
    try:
        estimator.privacy_plan(n_features)
    except ValueError:
        return False
    return True
