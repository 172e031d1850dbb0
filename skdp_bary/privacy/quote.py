"""Privacy cost of a fit, for one estimator or for all private steps of a pipeline."""

from __future__ import annotations

import copy
import itertools
import re
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from html import escape

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, ParameterGrid, RandomizedSearchCV

from .._sklearn import (
    BaseSearchCV,
    branches_of,
    called_by_a_union,
    chains_to_come,
    pipeline_among_callers,
)
from ..exceptions import check_integer, exact, in_digits, is_integer, refuse_class
from .plans import Plan, failure_advice


@dataclass(frozen=True)
class Quote:
    """Privacy cost of a fit, computed before it runs.

    Parameters
    ----------
    epsilon, delta : float
        Charge of the fit, or of all fits of a pipeline together.
    fits : bool
        Whether the budget admits it now.
    now : tuple of float
        The (epsilon, delta) that is left before the charge.
    after : tuple of float or None
        The (epsilon, delta) that would be left after it; None if it does not fit.
    plans : tuple of (str, Plan)
        Path and plan of every private step. The path of a single estimator is empty. In a search
        of scikit-learn it names the candidate, and the number of its fits.
    advice : str, default=""
        Settings that would fit, if these do not, and notes of the estimators about the noise at
        this cost, from public facts alone.
    bounds : str, default=""
        The public bounds of the estimators, feature by feature, to check before the fit.
    unit : str, default=None
        Privacy unit that the budget declares, if any: a fit that protects another one raises.
    """

    epsilon: float
    delta: float
    fits: bool
    now: tuple
    after: tuple | None
    plans: tuple
    advice: str = ""
    bounds: str = ""
    unit: str | None = None

    @property
    def plan(self) -> Plan:
        """The steps of the fit; of the first private step of a pipeline."""
        return self.plans[0][1]

    @property
    def remaining(self) -> tuple[float, float]:
        """Budget left after the charge, or left now if it does not fit."""
        return self.now if self.after is None else self.after

    def __str__(self):
        after = "it does not fit" if self.after is None else _in_words(self.after)
        told = [
            ("costs", _in_words((self.epsilon, self.delta))),
            ("left now", _in_words(self.now)),
            ("left after", after),
        ]
        for name, plan in self.plans:
            steps = ", ".join(step.name for step in plan.steps)
            told.append((name or "steps", f"{_in_words((plan.epsilon, plan.delta))}: {steps}"))
        notes = ("unit", self.unit), ("bounds", self.bounds), ("advice", self.advice)
        return "\n".join(f"{name}: {text}" for name, text in (*told, *notes) if text)

    def _repr_html_(self):
        return f'<pre style="white-space: pre-wrap">{escape(str(self))}</pre>'


@dataclass(frozen=True)
class Asked:
    """One private step: its path, its plan, the number of its fits, and its notes."""

    name: str
    estimator: object
    plan: Plan
    n_features: int | None
    n_fits: int = 1
    noted: bool = True

    def advice(self):
        """Notes on delta and on the noise of the estimator, or ""."""
        advise = getattr(self.estimator, "privacy_advice", None)
        known = getattr(self.estimator, "_known_persons", None)
        told = (
            failure_advice(self.plan.delta, None if known is None else known()),
            "" if advise is None else advise(self.n_features),
        )
        return " ".join(filter(None, told))

    def bounds(self):
        """Return the bounds of the estimator in words, or ""."""
        told = getattr(self.estimator, "_bounds_in_words", None)
        return "" if told is None else told()


def of_steps(noted: list[Asked], told: list[str]) -> list[str]:
    """Return notes with the names of their steps; those that several steps share once."""
    names = {text: [] for text in told if text}
    for each, text in zip(noted, told, strict=True):
        if text:
            names[text].append(each.name)
    return [f"{', '.join(of)}: {text}" if of[0] else text for text, of in names.items()]


def find_plans(asked: object, n_features: int | None) -> list[Asked]:
    """Plans to quote: a plan, that of an estimator, or those of a pipeline.

    Parameters
    ----------
    asked : Plan, estimator, or a pipeline, union, column transformer or search of some
    n_features : int or None
        Columns of the rows; not used for a plan. None: the number that public parameters
        determine.
    """
    if isinstance(asked, Plan):
        return [Asked("", None, asked, None)]
    refuse_class(asked, "plan_or_estimator")
    if not (hasattr(asked, "privacy_plan") or parts_of(asked, None) or may_charge(asked)):
        is_many = isinstance(asked, (list, tuple, dict, set))
        got = f"a {type(asked).__name__}: quote estimators one by one" if is_many else repr(asked)
        raise TypeError(
            "plan_or_estimator must be a Plan or an estimator with a privacy_plan method or a "
            f"pipeline of some, got {got}."
        )
    n_features = known_width(asked) if n_features is None else n_features
    if n_features is None:
        raise TypeError(
            "n_features must be the number of columns that would be fitted, got None: it does not "
            "follow from bounds or a schema. For example quote(estimator, n_features=2)."
        )
    found = list(_walk("", asked, check_integer(n_features, "n_features", low=1)))
    if not found:
        raise ValueError(
            "The pipeline has no private step, so nothing would be charged for it. End it in one, "
            "for example PrivateKMeans(3)."
        )
    return found


def known_width(estimator: object) -> int | None:
    """Number of columns from public parameters, for a pipeline those of its first step."""
    known = getattr(estimator, "_known_features", None)
    if known is not None:
        return known()
    if isinstance(estimator, BaseSearchCV):
        return known_width(estimator.estimator)
    steps = (step for _, step in getattr(estimator, "steps", ()))
    first = next((step for step in steps if step is not None and step != "passthrough"), None)
    return None if first is None else known_width(first)


def unfit_advice(asked: list[Asked], now: tuple) -> str:
    """Settings that would fit when these plans do not."""
    epsilon = sum(each.n_fits * each.plan.epsilon for each in asked)
    delta = sum(each.n_fits * each.plan.delta for each in asked)
    if now[0] <= 0.0:
        return f"Nothing is left of the budget. {_RAISE}"
    if delta > now[1] == 0.0:
        asked_for = f"delta={in_digits(delta)}"
        return f"The budget has no delta left, and {asked_for} is asked for: set delta=0."
    if epsilon > now[0]:
        largest = f"epsilon={in_digits(now[0])}"
        if sum(each.n_fits for each in asked) > 1:
            largest = f"every epsilon times {np.floor(1e3 * now[0] / epsilon) / 1e3:g}"
        return f"The remaining budget admits {largest}. {_RAISE}"
    return f"The remaining budget admits delta={in_digits(now[1])}."


_RAISE = "Only its owner may make the budget larger: raise_ceiling."


def _walk(path, estimator, width):
    """Yield every private step of an estimator with its plan."""
    if type(estimator) is FrozenEstimator:  # is not fitted again
        return
    if hasattr(estimator, "privacy_plan"):
        if width is None:
            raise ValueError(
                f"The number of features that reach {path!r} is not known before a fit. Quote that "
                "step itself, with its n_features."
            )
        yield Asked(path, estimator, estimator.privacy_plan(width), width)
        return
    if isinstance(estimator, BaseSearchCV):
        yield from _searched(path, estimator, width)
        return
    if not parts_of(estimator, width) and may_charge(estimator):
        raise ValueError(
            f"The charge of {path!r} is not known before a fit. Quote the other steps one by one."
        )
    for name, part, columns in parts_of(estimator, width):
        yield from _walk(f"{path}__{name}" if path else name, part, columns)


def _searched(path, search, width):
    """Yield the private steps of every candidate of a search, fitted once a fold.

    The final fit is that of the candidate with the largest epsilon: which one it is depends on
    the rows.
    """
    try:
        candidates, folds = candidates_of(search), number_of_folds(search.cv)
    except UnknownCostError:
        raise ValueError(
            f"The number of fits of {path or type(search).__name__!r} is not known before it runs. "
            "Give param_grid, and cv as a number, or quote its estimator."
        ) from None
    # every fold fits every candidate, and each of these fits reads rows and is charged
    found = [list(_walk(path, each, width)) for each in candidates]
    dearest = max(found, key=lambda steps: sum(exact(each.plan.epsilon) for each in steps))
    for place, steps in enumerate([*found, dearest] if search.refit else found):
        is_last = place == len(found)
        label = "final fit" if is_last else f"candidate {place + 1}, {folds} folds"
        for each in steps:
            yield replace(
                each,
                name=f"{each.name} ({label})" if each.name else label,
                n_fits=each.n_fits * (1 if is_last else folds),
                noted=each.noted and place == 0,
            )


def plans_to_come(estimator: object, n_features: int) -> list[Plan]:
    """Plans that compositions around a fit will charge to the same budget after it.

    Those are left out of which nothing is known: unions that work in other threads, code of others,
    and under a Renyi budget steps whose columns are not known without trying the step before.

    Parameters
    ----------
    estimator : estimator
        The step that is fitted now.
    n_features : int
        Columns of its rows.
    """
    budget = getattr(estimator, "accountant", None)
    if budget is None:
        return []
    found: list[Plan] = []
    # what is charged in sum depends on no columns
    fallback = n_features if budget._filter.composition == "sum" else None
    for (current, *rest), rows in chains_to_come():
        shape = getattr(rows, "shape", ())
        width = n_features if current is estimator else shape[1] if len(shape) == 2 else None
        for before, step in itertools.pairwise([current, *rest]):
            known = hasattr(before, "_features_after") or before in (None, "passthrough")
            width = _width_after(before, width) if known else None
            found += _plans_of(step, width, budget, fallback)
    return found


def _plans_of(step, width, budget, fallback):
    """Yield the plans of the private steps of a step that are charged to a budget.

    `fallback` is the number of columns where it is not known.
    """
    if type(step) is FrozenEstimator or step is None or isinstance(step, str):
        return
    if not isinstance(step, BaseSearchCV) and not hasattr(step, "privacy_plan"):
        for _, part, columns in parts_of(step, width):
            yield from _plans_of(part, columns, budget, fallback)
        return
    width = width or known_width(step) or fallback
    with suppress(ValueError, TypeError):  # its own fit raises them
        for each in list(_walk("", step, width)):
            if _adds_up(getattr(each.estimator, "accountant", None), budget):
                yield from [each.plan] * each.n_fits


def _adds_up(other, budget):
    """Whether what is charged to another budget is added up in this one."""
    ledgers = [getattr(each, "_ledger", None) for each in (other, budget)]
    parts = [getattr(each, "_part", "") for each in (other, budget)]
    policies = [getattr(each, "_policy", None) for each in (other, budget)]
    return (
        other is not None
        and ledgers[0] is ledgers[1]
        and parts[0] in ("", parts[1])
        and policies[0] is policies[1]
    )


def told_of_a_pipeline(error: Exception, accountant: object) -> str:
    """Text of a refusal: it says which charges the pipeline around a fit has made already.

    Parameters
    ----------
    error : Exception
    accountant : BudgetAccountant
        Budget that refuses.
    """
    before, rest = pipeline_among_callers()
    told = str(error)
    paid = [plan for _, step in before for plan in _charged(step, accountant)]
    others = ""
    if paid:
        amounts = (sum(exact(getattr(p, name)) for p in paid) for name in ("epsilon", "delta"))
        others = f"earlier steps of the pipeline have paid {_in_words(tuple(map(float, amounts)))}"
    elif called_by_a_union():  # which does not say what it has fitted
        others = "budget.entries lists what others have paid"
    if others:
        told = told.replace("Nothing was charged.", f"Nothing was charged for this step; {others}.")
    if paid or len(rest) > 1:
        told += " budget.quote(pipeline, n_features) prices all steps before a fit."
    return told


def told_by_step(text: str) -> str:
    """Text of a refusal, with parameters as the pipeline around a fit takes them.

    Parameters
    ----------
    text : str
    """
    _, rest = pipeline_among_callers()
    return re.sub(r"\b(groups|unit)(?==| and)", rf"{rest[0][0]}__\1", text) if rest else text


def _charged(step, accountant):
    """Yield the plans of fits of a step, and of its parts, that a budget has charged."""
    if type(step) is FrozenEstimator:
        return
    if getattr(step, "accountant", None) is accountant and hasattr(step, "privacy_"):
        yield step.privacy_
    for _, part, _ in parts_of(step, None):
        yield from _charged(part, accountant)


class UnknownCostError(Exception):
    """The object to fit, or the number of fits, cannot be read."""


def number_of_fits(estimator):
    """Return how often one fit of this fits something, by public parameters."""
    if estimator is None:
        raise UnknownCostError
    if not isinstance(estimator, BaseSearchCV):
        return 1
    once = sum(map(number_of_fits, candidates_of(estimator)))
    return number_of_folds(estimator.cv) * once + bool(estimator.refit)


def candidates_of(search):
    """Return the candidates of a search, or as many like its estimator."""
    if isinstance(search, GridSearchCV):
        grid = ParameterGrid(search.param_grid)
        return [clone(search.estimator).set_params(**params) for params in grid]
    if isinstance(search, RandomizedSearchCV):
        drawn = search.param_distributions
        names = [name for each in ([drawn] if isinstance(drawn, dict) else drawn) for name in each]
        if not {"epsilon", "delta", "accountant"} & {name.split("__")[-1] for name in names}:
            return [search.estimator] * search.n_iter
    raise UnknownCostError


def number_of_folds(cv):
    """Return the number of folds by public parameters; of splitters by rows it may be private."""
    if cv is None:
        return 5
    if isinstance(cv, int):
        return cv
    try:
        return cv.get_n_splits()
    except (AttributeError, TypeError, ValueError):
        raise UnknownCostError from None


def parts_of(estimator, width):
    """Return (name, part, number of its columns) for each part of a composite estimator."""
    if hasattr(estimator, "steps"):
        parts = []
        for name, step in estimator.steps:
            parts.append((name, step, width))
            width = _width_after(step, width)
        return parts
    branches = branches_of(estimator)
    if branches is not None:
        taken = [_columns_of(columns, width) for _, _, columns in branches]
        if hasattr(estimator, "remainder"):
            others, taken[-1] = taken[:-1], None
            if width is not None and None not in others:
                names = set(itertools.chain(*others))
                if len({isinstance(name, str) for name in names}) < 2:
                    taken[-1] = range(width - len(names))
        return [
            (name, step, None if columns is None else len(columns))
            for (name, step, _), columns in zip(branches, taken, strict=True)
        ]
    if hasattr(getattr(estimator, "step", None), "privacy_plan"):  # around a private step
        return [("step", estimator.step, width)]
    return []


def _columns_of(columns, width):
    """Return the places or names of columns, of all for None; None where they cannot be seen."""
    if columns is None:
        columns = slice(None)
    if isinstance(columns, slice):
        whole = all(isinstance(end, int | None) for end in (columns.start, columns.stop))
        return list(range(width))[columns] if whole and width is not None else None
    columns = columns.tolist() if isinstance(columns, np.ndarray) else columns
    columns = columns if isinstance(columns, list) else [columns]
    if columns and all(isinstance(each, bool) for each in columns):
        return [place for place, is_in in enumerate(columns) if is_in]
    if all(isinstance(each, str) for each in columns):
        return columns
    if all(is_integer(each) for each in columns):
        return [each % width if width else each for each in columns]
    return None


def may_charge(estimator):
    """Whether an estimator, or one in it, has an accountant."""
    if hasattr(estimator, "privacy_plan"):
        return True
    names = estimator.get_params() if hasattr(estimator, "get_params") else ()
    return any(name.split("__")[-1] == "accountant" for name in names)


def _width_after(step, width):
    """Number of columns a step makes, tried on a row of zeros, or None if it is unknown.

    Private steps say it, or are not tried: their fits are charged.
    """
    if step is None or isinstance(step, str) or width is None:
        return width
    if hasattr(step, "steps"):
        for _, part in step.steps:
            width = _width_after(part, width)
        return width
    says = hasattr(step, "_features_after")
    if not says and (may_charge(step) or parts_of(step, None)):
        return None
    try:
        if says:  # the bounds of some want names, which zeros lack
            return step._features_after(width)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return copy.deepcopy(step).fit_transform(np.zeros((1, width))).shape[1]
    except Exception:  # of steps that need names, labels or more rows
        return None


def _in_words(amount):
    return f"epsilon={in_digits(amount[0])}, delta={in_digits(amount[1])}"
