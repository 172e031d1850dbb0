"""What a fit accepts, keeps, draws and is charged for."""

import copy
import itertools
import math
import pickle
import struct
import warnings
from fractions import Fraction
from importlib.util import find_spec
from unittest import mock

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from ..exceptions import BudgetError, PrivacyWarning, ReadOnlyLedgerError, exact
from ..inspection.replay import per_noise, quiet, record_fit
from ..privacy.accountant import BudgetAccountant
from ..privacy.entries import COMPOSITIONS
from ..privacy.filters import LARGEST_EPSILON
from ..privacy.mechanisms import ADD_REMOVE, gaussian_delta
from ..privacy.plans import Step
from .hostile import (
    default_setting,
    feature_counts,
    is_unfitted,
    make_arguments,
    public_classes,
    require,
    settings,
    with_budget,
)
from .one_fit import leaves, watched_draws

# Checks of what a fit accepts, what it keeps, and where its noise comes from.

_CONFIGURATIONS = [
    {"skip_parameter_validation": skip, "assume_finite": finite}
    for skip in (False, True)
    for finite in (False, True)
]
_BAD_PARAMETERS = {
    "epsilon": (0.0, -1.0, np.nan, np.inf, "1", None),
    "delta": (-0.1, 1.0, np.nan, "0", None),
    "neighbors": ("swap", 1),
    "n_hint": (0, -5, 2.5, "many"),
    "random_state": ("seed", -1),
}


def check_bad_rows_are_refused_before_the_charge(estimator):
    """NaN and infinity raise under every scikit-learn configuration, and nothing is charged."""
    charged, accountant = with_budget(default_setting(estimator))
    for configuration in _CONFIGURATIONS:
        for name, arguments in _bad_rows(charged):
            with config_context(**configuration), quiet():
                _require_refused(charged, arguments, f"{name} under {configuration}")
            require(not accountant.entries, f"{name} was charged under {configuration}.")


def check_bad_parameters_are_refused_before_the_charge(estimator):
    """Numbers that carry the guarantee are checked under every scikit-learn configuration."""
    charged, accountant = with_budget(default_setting(estimator))
    arguments = make_arguments(charged)
    for configuration in _CONFIGURATIONS:
        for name, values in _BAD_PARAMETERS.items():
            for value in values:
                bad = clone(charged).set_params(**{name: value})
                if getattr(bad, name) is None and getattr(charged, name) is None:
                    continue
                with config_context(**configuration), quiet():
                    _require_refused(bad, arguments, f"{name}={value!r} under {configuration}")
    require(not accountant.entries, "A fit with a bad parameter was charged.")


def check_no_rows_are_kept(estimator):
    """A fitted estimator holds no value of a row and nothing of the length of the data."""
    for candidate in settings(estimator):
        candidate.set_params(random_state=0, epsilon=min(candidate.epsilon, 0.05))
        suspects = []
        for n_rows in (137, 211):
            arguments = make_arguments(candidate, n_rows, seed=n_rows)
            arguments["X"] += np.random.default_rng(n_rows).random(arguments["X"].shape) * 1e-3
            with quiet():
                fitted = clone(candidate).fit(**arguments)
            # look for the numbers of the rows in everything that is pickled
            X = arguments["X"]
            held = pickle.dumps({k: v for k, v in vars(fitted).items() if k != "accountant"})
            for value in X.ravel().tolist():
                little, big = struct.pack("<d", value), struct.pack(">d", value)
                if little in held or big in held:
                    raise AssertionError(f"The fitted estimator holds the value {value} of a row.")
            private_size = candidate.neighbors == ADD_REMOVE
            found = set()  # arrays, containers and, where it is private, numbers of that size
            for path, leaf in leaves(vars(fitted), "fitted"):
                counts = private_size or path.endswith(".length")
                number = isinstance(leaf, (int, float, np.number)) and not isinstance(leaf, bool)
                if n_rows in np.shape(leaf) or (counts and number and leaf == n_rows):
                    found.add(path)
            suspects.append(found)
        kept = sorted(suspects[0] & suspects[1])
        require(not kept, f"These fitted attributes have the length of the data: {kept}.")


def check_fresh_noise(estimator):
    """Without random_state every fit has new noise, whatever the state of numpy's generator."""
    for candidate in settings(estimator):
        candidate.set_params(epsilon=min(candidate.epsilon, 1e-3))  # equal draws are then rare
        arguments = make_arguments(candidate)
        state = np.random.get_state()  # noqa: NPY002
        runs, repeated = [], True
        while repeated and len(runs) < 4:  # equal draws of few numbers may be luck
            np.random.seed(0)  # noqa: NPY002
            runs.append(record_fit(candidate, arguments, answers_only=True).records)
            released = [[record.released for record in records] for records in runs]
            repeated = _equal(released[0], released[-1])
        np.random.set_state(state)  # noqa: NPY002
        require(all(released), "A fit released nothing.")
        require(
            not repeated, "Fits with random_state=None released the same numbers again and again."
        )
        noisy = [  # what should have noise differs from the exact answers
            answer != value
            for record in itertools.chain(*runs)
            if not (found := record.released).query.picks
            for answer, value, scale in zip(record.exact, found.values, found.scales, strict=True)
            if scale > 0
        ]
        moved, drawn = sum(int(each.sum()) for each in noisy), sum(each.size for each in noisy)
        require(moved > 0.5 * drawn, f"Only {moved} of {drawn} released numbers have noise.")


def check_seeded_noise_is_marked(estimator):
    """An integer random_state reproduces the noise, warns, and is noted in the ledger."""
    charged, accountant = with_budget(default_setting(estimator).set_params(random_state=7))
    arguments = make_arguments(charged)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        charged.fit(**arguments)
    said = [str(w.message) for w in caught if issubclass(w.category, PrivacyWarning)]
    require(any("random_state" in text for text in said), "A seeded fit did not warn.")
    notes = [entry.note for entry in accountant.entries]
    marked = [note.endswith("seeded, not private") for note in notes]
    require(marked == [True], f"The ledger notes a seeded fit as {notes}.")
    first, second, other = (
        [r.released for r in record_fit(e, arguments, answers_only=True).records]
        for e in (charged, charged, clone(charged).set_params(random_state=8))
    )
    require(_equal(first, second), "Two fits with one random_state released different numbers.")
    require(not _equal(first, other), "Fits with different random_state released equal numbers.")
    require(all(r.seeded for r in first), "A seeded release does not say so.")
    fresh = clone(charged).set_params(random_state=None)
    unseeded = record_fit(fresh, arguments, answers_only=True).records
    require(not any(r.released.seeded for r in unseeded), "An unseeded release says seeded.")


def _bad_rows(estimator):
    for value in (np.nan, np.inf, -np.inf):
        arguments = make_arguments(estimator)
        arguments["X"][-1, -1] = value
        yield f"{value} in X", arguments
        yield f"{value} in a list", arguments | {"X": arguments["X"].tolist()}
        if "y" not in arguments:
            yield f"{value} in a chunk", {"X": [arguments["X"][:30], arguments["X"][30:]]}
        if find_spec("pandas") is not None:
            import pandas

            yield f"{value} in a dataframe", arguments | {"X": pandas.DataFrame(arguments["X"])}
    for value in (np.nan, np.inf, -1.0):
        arguments = make_arguments(estimator, kind="weights")
        arguments["sample_weight"][-1] = value
        yield f"{value} in sample_weight", arguments
    if public_classes(estimator) is not None:
        arguments = make_arguments(estimator)
        labels = arguments["y"].astype(object)
        labels[-1] = "a label outside the public classes"
        yield "an unknown label", arguments | {"y": labels}


def _require_refused(estimator, arguments, what):
    _require_raises((ValueError, TypeError), estimator, arguments, what)
    require(is_unfitted(estimator), f"{what} was refused but left fitted attributes.")


def _equal(first, second):
    ours, theirs = ([v.tobytes() for r in records for v in r.values] for records in (first, second))
    return ours == theirs


# Checks that what is drawn is what was charged, once, before the first draw.

_MANY = 9  # numbers of features
_SPENT = 0.99  # of what was charged must be used


def check_drawn_noise_adds_up_to_the_charge(estimator):
    """For 1 to 50 features the loss of what is drawn is at most, and nearly, what was charged.

    Where there are many numbers of features the relations take turns: with either noise, each
    meets every third of them.
    """
    candidates = settings(estimator)
    for candidate in candidates:
        counts = feature_counts(candidate)
        if len(counts) > _MANY:
            alike = [other for other in candidates if other.delta == candidate.delta]
            counts = counts[alike.index(candidate) :: len(alike)]
        for n_features in counts:
            arguments = make_arguments(candidate, 8, n_features=n_features)
            accountant = with_budget(candidate)[1]
            candidate.set_params(random_state=0)
            recording = record_fit(candidate, arguments, accountant=accountant, answers_only=True)
            require(recording.error is None, f"fit failed: {recording.error!r}")
            # the pure epsilon and the ``mu**2`` of what was drawn, exactly
            epsilon, mu_squared = Fraction(0), Fraction(0)
            for record in recording.records:
                released = record.released
                if released.mechanism.is_gaussian:
                    mu_squared += _worst(record.sensitivity.l2_squared, released.scales, 2)
                elif released.mechanism.is_pure:
                    epsilon += _worst(record.sensitivity.l1, released.scales, 1)
                else:  # a race among sets, which draws no noise of a scale
                    require(released.query.picks, f"{released.mechanism} has an unknown loss.")
            where = f"for n_features={n_features}"
            n_entries = len(accountant.entries)
            require(n_entries == 1, f"One fit made {n_entries} entries.")
            (entry,) = accountant.entries
            left = exact(entry.epsilon) - epsilon
            if mu_squared == 0:
                used = float(epsilon / exact(entry.epsilon))
                require(used <= 1 and left >= 0, f"Drawn noise costs {used} of the charge {where}.")
                require(used >= _SPENT, f"Drawn noise uses only {used} of the charge {where}.")
                continue
            require(left > 0, f"Pure releases alone cost the whole epsilon {where}.")
            # what epsilon leaves beside pure releases pays for Gaussian ones, at the charged delta
            mu = math.nextafter(math.sqrt(mu_squared), math.inf)
            costs = [gaussian_delta(each, float(left)) for each in (mu, mu / _SPENT)]
            require(
                costs[0] <= entry.delta,
                f"Drawn noise costs delta={costs[0]} at the charged epsilon {where}, charged is "
                f"{entry.delta}.",
            )
            least = f"Drawn noise uses less than {_SPENT} of the charge {where}."
            require(costs[1] >= entry.delta, least)


def check_release_costs_no_more_than_its_charge(estimator):
    """What a fit has drawn is paid for, in every composition of budgets and at several orders.

    Plans may be divided anew where the size is not given: few rows then make the most of it.
    """
    for candidate in settings(estimator):
        for n_hint in dict.fromkeys((candidate.n_hint, None)):
            counts = feature_counts(candidate.set_params(n_hint=n_hint))
            for accountant in budgets(candidate):
                for n_features in counts[:1] + counts[6:7]:
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
    search = GridSearchCV(charged, grid, cv=2, scoring=lambda *fitted: 0.0, error_score="raise")
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


def _worst(cases, scales, power):
    return max(
        sum((per_noise(n, s, power) for n, s in zip(case, scales, strict=True)), Fraction(0))
        for case in cases
    )


def _require_raises(kinds, estimator, arguments, what="A fit"):
    try:
        estimator.fit(**arguments)
    except kinds:
        return
    except Exception as error:
        raise AssertionError(f"{what} was refused by {error!r}, not by {kinds}.") from error
    raise AssertionError(f"{what} was accepted.")
