"""Notices of an estimator: its guarantee, warnings at no privacy cost, the cheapest fix."""

from __future__ import annotations

import math
import warnings
import weakref
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from fractions import Fraction
from html import escape
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from .._sklearn import (
    BaseSearchCV,
    captioned_block,
    groups_of_steps,
    search_among_callers,
    steps_before,
)
from ..exceptions import (
    PrivacyWarning,
    as_charged,
    check_integer,
    exact,
    import_optional,
    in_digits,
)
from ..geometry.domains import Box
from ..privacy.mechanisms import gaussian_epsilon, gaussian_mu
from ..privacy.quote import (
    UnknownCostError,
    candidates_of,
    may_charge,
    number_of_fits,
    number_of_folds,
    parts_of,
)
from ..rows.opening import warn
from .noisy_trees import noisy_total

# What a private estimator promises and what is left of its budget, in diagrams and notebooks.

_RELATIONS = {
    "add_remove": "adding or removing one person",
    "replace_one": "replacing one person by another with the same label",
    "replace_any": "replacing one person by any other",
}
_REFUSALS = (TypeError, ValueError, ArithmeticError)  # of parameters that no fit accepts
_ONE_OF_SEVERAL = "one of several fits of a search, which nothing adds up"
_CHOSEN = "chosen by a search on exact scores of the rows, which no budget pays for"
_SEEDED = "seeded noise: NOT PRIVATE"


class GuaranteeRepr:
    """Show the guarantee in diagrams and notebooks.

    The estimator has an ``accountant`` and a method ``_guarantee``. That returns the plan of a fit,
    whether its noise can be drawn again, so that nothing is promised, and in words when the plan
    holds ("" for a fit that was made). It raises where the parameters allow no fit.
    """

    def _sk_visual_block_(self):
        return captioned_block(self, _caption(self))

    def _html_repr(self):
        return super()._html_repr() + _table(self)

    def _get_params_html(self, *given, **named):
        shown = super()._get_params_html(*given, **named)
        # scikit-learn reads the docstring, once, and does not know its section "Privacy"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Unknown section Privacy", UserWarning)
            shown._repr_html_inner()
        return shown


class DrawsItself:
    """Draw the release, by the display of :mod:`skdp_bary.plotting` that a class names."""

    _display = "NumbersDisplay"
    _if_alone = {}  # options where a figure is opened, and so has room

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the release with matplotlib. No rows are read and nothing is charged.

        Parameters
        ----------
        ax : matplotlib Axes or array of them, default=None
            Axes to draw on; None opens a figure.
        **options
            Passed to ``from_estimator`` of the display in :mod:`skdp_bary.plotting`.

        Returns
        -------
        display : object
            With ``axes_`` and ``figure_``.
        """
        check_is_fitted(self)
        # only drawing imports displays, which lie above estimators
        display = getattr(import_module("skdp_bary.plotting"), self._display)
        options = (self._if_alone if ax is None else {}) | options
        return display.from_estimator(self, ax=ax, **options)


def _caption(estimator):
    try:
        plan, seeded, _ = estimator._guarantee()
    except _REFUSALS:
        return "parameters that no fit accepts"
    if seeded:
        return _SEEDED
    several = told_of_several(estimator, plan)
    mechanisms = ", ".join(dict.fromkeys(type(step.mechanism).__name__ for step in plan.steps))
    budget = estimator.accountant
    left = "" if budget is None else f"left: {_left(budget)}"
    words = f"{_amounts(plan)}, {plan.relation}", plan.scope, several, mechanisms, left
    return "; ".join(filter(None, words))


def _table(estimator):
    try:
        lines = _lines(estimator, *estimator._guarantee())
    except _REFUSALS as error:
        lines = [("Guarantee", f"none: {error}")]
    lines.append(("Budget", _budget(estimator.accountant)))
    fitted = sorted((k, v) for k, v in vars(estimator).items() if k.endswith("_") and k[0] != "_")
    if released := [f"{name}: {_form(value)}" for name, value in fitted if value is not None]:
        lines.append(("Released", "; ".join(released)))
    body = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in lines
    )
    return f'<table class="skdp-guarantee"><caption>Privacy</caption><tbody>{body}</tbody></table>'


def _form(value):
    """Return the type of a released value, with its shape or length; no part of the value."""
    shape = getattr(value, "shape", len(value) if isinstance(value, (list, tuple, dict)) else ())
    return type(value).__name__ + (f" of {shape}" if shape else "")


def told_of_several(estimator, plan):
    """Say where a fit was one of several of a search, "" where it was not.

    Parameters
    ----------
    estimator : estimator of this package
    plan : Plan
        Of its fit.
    """
    if not plan.one_of_several:
        return ""
    return _ONE_OF_SEVERAL if estimator.accountant is None else _CHOSEN


def _lines(estimator, plan, seeded, condition):
    promise = _amounts(plan)
    if plan.scope:
        promise += f" for the whole search; {plan.scope}"
    if several := told_of_several(estimator, plan):
        promise += f"; {several}"
    if seeded:
        promise = f"{_SEEDED}. It would be {promise} with random_state=None."
    steps = "; ".join(f"{step.name}: {type(step.mechanism).__name__}" for step in plan.steps)
    neighbors = f"{plan.relation}: {_RELATIONS[plan.relation]}"
    return [("Guarantee", promise + condition), ("Neighbors", neighbors), ("Mechanisms", steps)]


def _amounts(terms):
    return f"epsilon={terms.epsilon}, delta={terms.delta}"


def _budget(accountant):
    if accountant is None:
        return "of its own: nothing adds up what several fits cost together"
    try:
        return f"left: {_left(accountant)} of {_amounts(accountant)}"
    except AttributeError:
        return f"accountant must be a BudgetAccountant, got {accountant!r}"


def _left(accountant):
    try:
        epsilon, delta = accountant.remaining()
    except Exception as error:  # a picture must not fail because a server or a file cannot be read
        return f"cannot be read ({type(error).__name__})"
    return f"epsilon={epsilon}, delta={delta}"


# Signs in a release that bounds do not fit the rows. Post-processing: they cost nothing.

ENOUGH = 200.0  # persons times epsilon from which noise alone cannot look like this
_DROWNED = 8.0  # ... in a class, below which nothing but noise is seen
_FEW = 0.1  # of the persons expected
_CLEAR = 3.0  # standard deviations of the noise, which no empty map is likely to pass
_THIN = 1.0 / 16.0  # of the width of the domain
_MOST = 0.95  # of the mass
_COARSE = 4  # level of a grid of 256 cells
_FEW_CELLS = 4  # around one corner
_FEATURES = 3  # with more, rows of many zeros lie at a face by nature


def warn_of_missing(total, measurements, facts, epsilon):
    """Warn when a map holds few of the people expected, or no more than noise would show.

    Parameters
    ----------
    total : float
        Released number of people on the map.
    measurements : list of Measurement
        The noisy masses that it was made of.
    facts : Facts
    epsilon : float
    """
    known = facts.size is not None and facts.size * epsilon >= ENOUGH
    noisy, deviation = noisy_total(measurements)
    if known and total < _FEW * facts.size:
        found, hint = f"of {facts.size} expected", ", and n_hint if it was given"
    elif noisy < _CLEAR * deviation:
        found = f"on the map, no more than its noise alone would show at epsilon={epsilon:g}"
        hint = "; if they are right, there are too few people for this epsilon"
    else:
        return
    warn(
        f"The release holds about {max(noisy, 0.0):.0f} people {found}. Rows outside of bounds "
        f"carry no mass: check the units and the order of the columns{hint}.",
        stacklevel=5,
    )


def warn_of_hint(total, hint, n_clusters, epsilon):
    """Warn when a release has far more or fewer people than its budget was divided for.

    Parameters
    ----------
    total : float
        Released number of people.
    hint : int or None
        What ``n_hint`` says; None: nothing.
    n_clusters : int
    epsilon : float
    """
    if hint is None or max(total, hint) * epsilon < ENOUGH * n_clusters:
        return
    if not _FEW * hint <= total <= hint / _FEW:
        warn(
            f"The release has about {max(total, 0.0):.2g} people, and n_hint says {hint}. The "
            "budget was divided for that many, so costs can be many times too high.",
            stacklevel=5,
        )


UNKNOWN_SIZE = "Pass n_hint, a public number of people, to see how much noise there would be."


def few_persons(size, n_classes, epsilon, known=""):
    """Return what is wrong with about as many people in a class as the noise of a count, or "".

    Parameters
    ----------
    size : int or None
        A public or released number of people; None: not known.
    n_classes : int
    epsilon : float
    known : str, default=""
        How the number is known, where that is not plain.
    """
    if size is None or size * epsilon >= _DROWNED * n_classes:
        return ""
    in_classes = "" if n_classes == 1 else f" in {n_classes} classes"
    enough = math.ceil(2.0 * _DROWNED * n_classes / epsilon)
    return (
        f"About {size} people{in_classes}{known} are within the noise at epsilon={epsilon:g}: "
        f"the release is mostly noise. It needs {enough} people or more."
    )


def warn_of_few_persons(facts, epsilon):
    """Warn when there are about as many people in a class as the noise of a count.

    Parameters
    ----------
    facts : Facts
        Their `size` is public, or was released.
    epsilon : float

    Returns
    -------
    warned : bool
    """
    known = "" if facts.mass_public else ", by n_hint or a noisy count,"
    told = few_persons(facts.size, facts.n_classes, epsilon, known)
    if told:
        warn(told, stacklevel=5)
    return bool(told)


def warn_of_few_cells(fit, facts, epsilon):
    """Warn when nearly all mass of a map lies in a few of the cells of a coarse grid.

    Parameters
    ----------
    fit : HeatmapFit
    facts : Facts
    epsilon : float
    """
    total = fit.mass.sum()
    if fit.level.max() < _COARSE or total * epsilon < ENOUGH:
        return
    above, below = np.maximum(fit.level - _COARSE, 0), np.maximum(_COARSE - fit.level, 0)
    first = (fit.code >> 2 * above) << 2 * below
    rises = np.zeros(4**_COARSE + 1)  # from one coarse cell to the next, in Morton order
    np.add.at(rises, first, fit.mass / 4.0**below)
    np.add.at(rises, first + 4**below, -fit.mass / 4.0**below)
    coarse = np.cumsum(rises[:-1])
    if np.sort(coarse)[-_FEW_CELLS:].sum() > _MOST * total:
        warn(
            f"Nearly all mass of the map lies in {_FEW_CELLS} of {4**_COARSE} equal cells. "
            f"bounds is read as {facts.domain!r}: check it, the units and the order of the "
            "columns. If it is right, pass narrower bounds.",
            stacklevel=5,
        )


CHECK_UNITS = (
    "Rows outside bounds are clipped to them: check the units and the order of the columns. If "
    "they are right, pass narrower bounds."
)
SURE = 3.0  # standard deviations of the noise: one false alarm in 700 where it is Gaussian
_FILLS = "By the release, rows fill less than 1/16 of bounds."
NARROW = 1.0 / 32.0  # of the radius of the domain: the root mean square distance from the mean


def warn_of_narrow(are_narrow, bounds):
    """Warn when all rows lie in a tiny part of the given bounds, or at one place of their border.

    Parameters
    ----------
    are_narrow : bool
        Whether a release says so even with `SURE` standard deviations of its noise added.
    bounds : object
        As given to the estimator; bought ones fit.
    """
    if bounds is not None and are_narrow:
        warn(f"{_FILLS} {CHECK_UNITS}", stacklevel=5)


def warn_of_border(points, weights, facts, epsilon, bounds, are_narrow=False):
    """Warn when nearly all mass of a release lies in a thin layer at one face of the given box.

    Rows outside of a domain are moved to its border, where they look like rows. Where all rows lie
    in a tiny part elsewhere, that is told.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
    weights : ndarray of shape (n_points,)
        Both released.
    facts : Facts
    epsilon : float
    bounds : object
        As given to the estimator; bought ones fit.
    are_narrow : bool, default=False
        See :func:`warn_of_narrow`.
    """
    domain, told = facts.domain, _FILLS if are_narrow else ""
    if bounds is None or facts.size is None or facts.size * epsilon < ENOUGH:
        return
    width = facts.n_features if isinstance(domain, Box) and facts.n_features <= _FEATURES else 0
    total, layer = weights.sum(), _THIN * (domain.high - domain.low)
    low, high = domain.low + layer, domain.high - layer
    for name, sign, edge in (("low", 1.0, low), ("high", -1.0, -high)):
        # a feature at a time: of a million points, a table of places is the peak of a fit
        near = (sign * points[:, j] <= edge[j] for j in range(width))
        shares = [weights.sum(where=here) / total for here in near]
        if max(shares, default=0.0) > _MOST:
            named = facts.named(int(np.argmax(shares)))
            told = f"Nearly all of the release lies at the {name} end of {named}."
            break
    if told:
        warn(f"{told} {CHECK_UNITS}", stacklevel=5)


# What is cheapest against noise, and the number that it reaches. From public facts alone.

_DELTA = 1e-6  # what is proposed where there is none


def cheapest(remedies, good, rows):
    """Return the first remedy that is enough, in words.

    Parameters
    ----------
    remedies : iterable of (str, float)
        From the cheapest on: what to change, and the level that it reaches.
    good : callable
        Whether a level is enough.
    rows : str
        What always helps: so many people.
    """
    for words, level in remedies:
        if good(level):
            return f"The cheapest fix is {words}, which reaches {level:.2g}."
    return f"The cheapest fix is {rows}; no change of parameters is enough."


def noise_of_last(query, plan):
    """Return the standard deviations of the blocks of a query that the last step of a plan asks.

    Parameters
    ----------
    query : Query
    plan : Plan
    """
    mechanism = plan.steps[-1].mechanism
    scales = mechanism.scales(query.sensitivity(plan.relation), query.weights())
    return [mechanism.standard_deviation(scale) for scale in scales]


def more_of(setting, persons, factor):
    """Return the epsilon, or the people, with which noise is a factor smaller, in words.

    Parameters
    ----------
    setting : object
        Its `epsilon` and `delta` are those of the fit.
    persons : float
    factor : float
    """
    epsilon, delta = setting.epsilon, setting.delta
    if delta > 0:
        needed = gaussian_epsilon(factor * gaussian_mu(epsilon, delta), delta)
    else:
        needed = factor * epsilon
    return f"It needs epsilon={needed:.2g} or {rounded_up(factor * persons)}"


_COARSE_PARTS = 0.4  # of a side, from where a measure is nearer to even rows than to its own


def parts_in_words(setting, persons, n_features):
    """Return how narrow parts of bounds can be told from noise, and whether they are too wide.

    Cells of a tree are told down to about as many as people times epsilon.

    Parameters
    ----------
    setting : object
        Its `epsilon` and `delta` are those of the fit.
    persons : float
    n_features : int
    """
    delta = setting.delta
    amount = gaussian_mu(setting.epsilon, delta) if delta > 0 else setting.epsilon

    def part(width):
        return float(np.clip(persons * amount, 1.0, 1e300)) ** (-1.0 / width)

    told = f"Parts of bounds narrower than {part(n_features):.2g} of a side are hidden by noise"
    if part(n_features) <= _COARSE_PARTS:
        return f"{told}.", False
    remedies = [(words, part(width)) for width, words in projections(n_features)]
    more = rounded_up(_COARSE_PARTS**-n_features / amount)
    best = cheapest(remedies, lambda reached: reached <= _COARSE_PARTS, more)
    return f"{told}; above {_COARSE_PARTS} most of the release is noise. {best}", True


def projections(n_features):
    """Return numbers of features that rows could be projected to, the largest first, and how."""
    top = math.ceil(math.log2(max(n_features, 2)))
    words = "JLTransformer(n_components={}) before it, with its output_bounds_".format
    return [(2**k, words(2**k)) for k in range(top - 1, 1, -1)]


def rounded_up(persons):
    """Return a number of people with two digits, rounded up."""
    unit = 10 ** max(math.floor(math.log10(max(persons, 1.0))) - 1, 0)
    return f"{math.ceil(persons / unit) * unit:,} people"


def proposed_delta(delta):
    """Return the failure probability to compare with: the given one, or one to propose."""
    return delta if delta > 0 else _DELTA


# How many rows are drawn at once.


def check_samples(n_samples, n_features):
    """Return the number of rows to draw, or raise where so many do not fit in memory."""
    n_samples = check_integer(n_samples, "n_samples", low=1)
    try:
        np.empty((n_samples, n_features))
    except (MemoryError, ValueError):
        raise ValueError(
            f"n_samples must be a number of rows that fits in memory, got {n_samples}. Draw them "
            "in pieces, for example sample(1_000_000) several times: draws have no privacy cost."
        ) from None
    return n_samples


# Synthetic rows as a dataframe, with the names of the columns that a fit has seen.


def as_dataframe(estimator, X):
    """Return rows as a pandas DataFrame, with the feature names of a fitted estimator, if any."""
    pandas = import_optional("pandas", "cli", f"{type(estimator).__name__}.sample(as_frame=True)")
    return pandas.DataFrame(X, columns=getattr(estimator, "feature_names_in_", None))


# What searches and cross-validations of scikit-learn cost, whose fits have no budget together.

_LEAKS_TOLD = weakref.WeakSet()  # searches whose pipelines were said to leak
_CLONING = ContextVar("skdp_bary_cloning", default=False)
_PRICE = (
    "{search} fits {estimator} without an accountant. {price}, and nothing adds that up: privacy_ "
    "is the price of one fit, and the scores are exact functions of the rows. To choose, write "
    "PrivateSearchCV(estimator, param_grid, epsilon=...), which pays once for all fits and the "
    "choice, or search on public or generated rows."
)


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
        """Return a plan that says so where its fit is one of several that nothing adds up.

        A budget adds up what the fits cost, not the choice among them.
        """
        search = search_among_callers(skipped=2)
        several = search is not None and (self.accountant is None or search.chooses)
        return replace(plan, one_of_several=True) if several else plan


def _warn_of_search(estimator):
    """Say once of a search, before its first fit, what its fits cost together."""
    search = search_among_callers()
    if search is None or search.jobs is None or not search.is_news(_PRICE):
        return
    try:
        fits, *amounts = _folds_of(search) * _cost(search.fitted)
        epsilon, delta = (in_digits(float(amount)) for amount in amounts)
        price = f"Its {fits} fits together spend up to epsilon={epsilon}, delta={delta}"
    except UnknownCostError:
        price = "Every candidate and fold spends epsilon again"
    told = _PRICE.format(search=search.name, estimator=type(estimator).__name__, price=price)
    warnings.warn(told, PrivacyWarning, stacklevel=search.depth)


def warn_of_leaking_steps():
    """Say which steps a pipeline fitted to the same rows before, without noise."""
    steps, search, depth = steps_before()
    if not steps or search in _LEAKS_TOLD:
        return
    # audits lie above estimators, and only fits in pipelines need one
    check_private = import_module("skdp_bary.inspection.check_private")
    leaking = check_private.learning_steps(steps)
    if not leaking:
        return
    if search is not None:
        _LEAKS_TOLD.add(search)
    each = "; ".join(f"{step.name} ({step.estimator}): {step.advice}" for step in leaking)
    warnings.warn(
        "This pipeline is not private: steps before the private one learn from all rows without "
        f"noise. {each}. check_private(pipeline) audits every step.",
        PrivacyWarning,
        stacklevel=depth,
    )


def refuse_groups_of_some():
    """Raise where a pipeline gives groups to some of its private steps, and not to the others."""
    steps = [
        (name, has_groups)
        for name, step, has_groups in groups_of_steps()
        if hasattr(step, "privacy_plan") and not isinstance(step, FrozenEstimator)
    ]
    without = [name for name, has_groups in steps if not has_groups]
    if 0 < len(without) < len(steps):
        typed = ", ".join(f"{name}__groups=ids" for name in without)
        raise ValueError(
            "groups must be passed to all private steps of a pipeline or to none, got none for "
            f"{', '.join(without)}. Pass {typed} to its fit too, with the same unit."
        )


def refused_in_a_search(left):
    """Say how many fits a search would have made, and what pays for all of them at once.

    Parameters
    ----------
    left : float
        Epsilon that the budget still admits.
    """
    search, fits = search_among_callers(), ""
    if search is None:
        return ""
    with suppress(UnknownCostError):
        number = _folds_of(search) * number_of_fits(search.fitted)
        fits = f"{search.name} asks for {number} fits, each charged. "
    once = f"epsilon={in_digits(left)}" if left > 0 else "epsilon=..."
    return f"{fits}PrivateSearchCV(estimator, param_grid, {once}) is charged once for all fits."


def _folds_of(search):
    """Return how often a call fits what it was given, whose own fits count apart."""
    return number_of_folds(search.cv) if search.folds else 1


def _cost(estimator):
    """Fits without an accountant that one fit of this makes, and their epsilon and delta.

    An array of objects: amounts are fractions, so 0.1 + 0.2 is said to be 0.3.
    """
    if estimator is None:
        raise UnknownCostError
    nothing = np.array([0, Fraction(0), Fraction(0)])
    if isinstance(estimator, BaseSearchCV):
        costs = [_cost(each) for each in candidates_of(estimator)]
        times = number_of_folds(estimator.cv) * sum(costs, start=nothing)
        return times + max(costs, key=lambda cost: tuple(cost[1:])) if estimator.refit else times
    if hasattr(estimator, "privacy_plan"):
        if estimator.accountant is not None:
            return nothing
        return np.array([1, *map(exact, as_charged(estimator.epsilon, estimator.delta))])
    parts = [part for _, part, _ in parts_of(estimator, None)]
    if not parts and may_charge(estimator):
        raise UnknownCostError
    return sum(map(_cost, parts), start=nothing)
