"""Checks that what is drawn is what was charged, once, before the first draw."""

import copy
import math
import pickle
from fractions import Fraction
from unittest import mock

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from ..exceptions import BudgetError, ReadOnlyLedgerError
from ..inspection._recording import quiet, record_fit
from ..privacy._checks import exact
from ..privacy._neighbors import ADD_REMOVE
from ..privacy.accounting.calibration import gaussian_delta
from ..privacy.accounting.plans import Step
from ..privacy.ledger.accountant import BudgetAccountant
from ..privacy.ledger.entry import COMPOSITIONS
from ..privacy.ledger.filters import LARGEST_EPSILON
from ._hostile import make_arguments
from ._one_fit import watched_draws
from ._settings import (
    DELTAS,
    default_setting,
    feature_counts,
    is_unfitted,
    require,
    settings,
    with_budget,
)

_MANY = 9  # numbers of features
_SPENT = 0.99  # of what was charged must be used


def check_drawn_noise_adds_up_to_the_charge(estimator):
    """For 1 to 50 features the loss of what is drawn is at most, and nearly, what was charged.

    Where there are many numbers of features the relations take turns: with either noise, each
    meets every third of them.
    """
    for candidate, counts in _feature_counts_in_turns(settings(estimator)):
        for n_features in counts:
            arguments = make_arguments(candidate, 8, n_features=n_features)
            accountant = with_budget(candidate)[1]
            candidate.set_params(random_state=0)
            recording = record_fit(candidate, arguments, accountant=accountant, answers_only=True)
            require(recording.error is None, f"fit failed: {recording.error!r}")
            epsilon, mu = _drawn_loss(recording.records)
            _require_paid(epsilon, mu, accountant.entries, n_features)


def check_release_costs_no_more_than_its_charge(estimator):
    """What a fit has drawn is paid for, in every composition of budgets and at several orders.

    Plans may be divided anew where the size is not given: few rows then make the most of it.
    """
    for candidate in settings(estimator):
        for n_hint in dict.fromkeys((candidate.n_hint, None)):
            candidate.set_params(n_hint=n_hint)
            for accountant in budgets(candidate):
                for n_features in feature_counts(candidate)[:1] + feature_counts(candidate)[6:7]:
                    require_paid(candidate, accountant, n_features)


def require_paid(estimator, accountant, n_features):
    """Fit eight rows on a budget; what was drawn must be the plan, and not cost above its charge.

    Parameters
    ----------
    estimator : estimator
        Unfitted.
    accountant : BudgetAccountant, or a part of one
    n_features : int
    """
    before = accountant._exposure()
    arguments = make_arguments(estimator, 8, n_features=n_features)
    recording = record_fit(estimator, arguments, accountant=accountant, answers_only=True)
    require(recording.error is None, f"fit failed: {recording.error!r}")
    drawn = tuple(Step(r.released.name, r.released.mechanism) for r in recording.records)
    require(drawn == recording.plan.steps, f"Drawn is {drawn}, and the plan is {recording.plan}.")
    cost = accountant._filter.price_plan(recording.plan)
    charged = accountant._exposure()
    require(
        (before + cost).fits(charged),
        f"A release of {n_features} features costs {cost}, charged is {before} to {charged}, in "
        f"{accountant!r} at order {accountant._filter.order}.",
    )


def budgets(estimator):
    """Yield a budget for every composition, and for several orders where it has one."""
    epsilon, delta = float(estimator.epsilon), float(estimator.delta)
    for composition in COMPOSITIONS:
        for fits, least in ((40.0, 1e-9), (1e3, 1e-4), (1e6, 0.5)):
            accountant = BudgetAccountant(
                min(fits * epsilon, LARGEST_EPSILON),
                max(least, min(40 * delta, 0.5)),
                neighbors=estimator.neighbors or ADD_REMOVE,
                composition=composition,
            )
            yield accountant
            if accountant._filter.order is None:
                break


def check_refused_fit(estimator):
    """A fit that the budget cannot pay raises, charges nothing and leaves nothing fitted."""
    for candidate in settings(estimator):
        charged, accountant = with_budget(candidate, fits=0.5)
        with quiet(), watched_draws() as draws:
            _require_raises(BudgetError, charged, make_arguments(candidate))
        require(not accountant.entries, "A refused fit was charged.")
        require(not draws, "A refused fit drew noise.")
        require(is_unfitted(charged), "A refused fit left fitted attributes behind.")


def check_failed_fit_stays_charged(estimator):
    """A fit that fails after its charge stays charged, and is not fitted."""
    charged, accountant = with_budget(default_setting(estimator))
    finish = type(charged)._finish
    with quiet(), watched_draws() as draws:

        def fail(self, *told):
            if draws:  # and not in the rehearsal before
                raise RuntimeError("planted failure")
            finish(self, *told)

        with mock.patch.object(type(charged), "_finish", fail):
            _require_raises(RuntimeError, charged, make_arguments(charged))
    require(len(accountant.entries) == 1, "A fit that failed after its release was not charged.")
    require(is_unfitted(charged), "A failed fit left fitted attributes behind.")


def check_copies_share_the_budget(estimator):
    """clone, copy and deepcopy spend from the same budget."""
    charged, accountant = with_budget(default_setting(estimator))
    arguments = make_arguments(charged)
    with quiet():
        for duplicate in (clone, copy.copy, copy.deepcopy, lambda e: clone(e).set_params()):
            duplicate(charged).fit(**arguments)
    require(
        len(accountant.entries) == 4,
        f"4 fits of copies made {len(accountant.entries)} entries in the shared budget.",
    )


def check_grid_search_shares_the_budget(estimator):
    """Every fit of a grid search is charged to the one budget."""
    charged, accountant = with_budget(default_setting(estimator))
    arguments = make_arguments(charged)
    grid = {"epsilon": [charged.epsilon, charged.epsilon / 2]}
    search = GridSearchCV(charged, grid, cv=2, scoring=_no_score, error_score="raise")
    with quiet():
        search.fit(arguments["X"], arguments.get("y"))
    spent = sum(exact(entry.epsilon) for entry in accountant.entries)
    best = exact(search.best_params_["epsilon"])
    expected = 2 * sum(exact(epsilon) for epsilon in grid["epsilon"]) + best
    require(
        len(accountant.entries) == 5 and spent == expected,
        f"A search of 5 fits made {len(accountant.entries)} entries with epsilon={float(spent)} "
        f"in sum instead of {float(expected)}.",
    )


def check_pickled_copies_refuse(estimator):
    """A pickled estimator on a budget in memory refuses to fit; the original still fits."""
    charged, accountant = with_budget(default_setting(estimator))
    copied = pickle.loads(pickle.dumps(charged))
    arguments = make_arguments(charged)
    with quiet():
        _require_raises(ReadOnlyLedgerError, copied, arguments)
        require(is_unfitted(copied), "A refused copy left fitted attributes behind.")
        charged.fit(**arguments)
    require(len(accountant.entries) == 1, "The copy of a budget spent from it.")


def _feature_counts_in_turns(candidates):
    """Yield settings and the numbers of features that each tries, which share out many."""
    for delta in DELTAS:
        alike = [candidate for candidate in candidates if candidate.delta == delta]
        for turn, candidate in enumerate(alike):
            counts = feature_counts(candidate)
            yield candidate, counts[turn :: len(alike)] if len(counts) > _MANY else counts


def _drawn_loss(records):
    """Return the pure epsilon and the ``mu**2`` of what was drawn, exactly."""
    epsilon, square = Fraction(0), Fraction(0)
    for record in records:
        released = record.released
        if hasattr(released.mechanism, "mu"):
            square += _worst(record.sensitivity.l2_squared, released.scales, 2)
        else:
            epsilon += _worst(record.sensitivity.l1, released.scales, 1)
    return epsilon, square


def _worst(cases, scales, power):
    return max(
        sum((_per(n, s, power) for n, s in zip(case, scales, strict=True)), Fraction(0))
        for case in cases
    )


def _per(change, scale, power):
    if not change:
        return Fraction(0)
    return change / Fraction(scale) ** power if scale else math.inf


def _require_paid(epsilon, square, entries, n_features):
    require(len(entries) == 1, f"One fit made {len(entries)} entries.")
    (entry,) = entries
    left = exact(entry.epsilon) - epsilon
    where = f"for n_features={n_features}"
    if square == 0:
        used = float(epsilon / exact(entry.epsilon))
        require(used <= 1 and left >= 0, f"Drawn noise costs {used} of the charge {where}.")
        require(used >= _SPENT, f"Drawn noise uses only {used} of the charge {where}.")
        return
    require(left > 0, f"Pure releases alone cost the whole epsilon {where}.")
    mu = math.nextafter(math.sqrt(square), math.inf)
    cost = gaussian_delta(mu, float(left))
    require(
        cost <= entry.delta,
        f"Drawn noise costs delta={cost} at the charged epsilon {where}, charged is {entry.delta}.",
    )
    least = gaussian_delta(mu / _SPENT, float(left))
    require(least >= entry.delta, f"Drawn noise uses less than {_SPENT} of the charge {where}.")


def _require_raises(kind, estimator, arguments):
    try:
        estimator.fit(**arguments)
    except kind:
        return
    except Exception as error:
        raise AssertionError(f"fit should raise {kind.__name__}, raised {error!r}.") from error
    raise AssertionError(f"fit should raise {kind.__name__}, but went through.")


def _no_score(estimator, X, y=None):
    return 0.0
