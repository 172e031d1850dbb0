"""The one fit of every private estimator."""

from __future__ import annotations

import copy
import os
import pickle
import warnings
import weakref
from abc import ABC, abstractmethod
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from threading import get_ident
from types import FunctionType
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from .._sklearn import VersionedPickle, called_by_a_search, called_by_others
from ..desk.desk import Desk, Progress, Rehearsal, ends_with_answers
from ..exceptions import (
    BudgetError,
    Neighbors,
    PrivacyWarning,
    RandomState,
    ReadOnlyLedgerError,
    RelationError,
    Rows,
    as_charged,
    check_integer,
)
from ..geometry.bounds import Bounds, check_domain, in_words, width_of
from ..parameters import PRIVACY_RULES, PlainParameters, check_parameters
from ..privacy.entries import note_of
from ..privacy.mechanisms import ADD_REMOVE, REPLACE_ONE
from ..privacy.noise import noise_generator
from ..privacy.plans import UNLIMITED, Plan, check_shares, failure_advice, steps_of
from ..privacy.quote import plans_to_come, told_by_step, told_of_a_pipeline
from ..privacy.spending import SharedBudget
from ..rows.opening import open_rows, unheard, warn
from ..rows.persons import coarser_units
from ..values import read_rows, warn_of_ids, warn_of_unread_groups, warn_of_unread_ids
from .facts import DOMAIN_SHARES, SIZE_SHARES, buy_domain, buy_size, number_of_classes
from .notices import (
    UNKNOWN_SIZE,
    DrawsItself,
    GuaranteeRepr,
    KnowsSearches,
    few_persons,
    refuse_groups_of_some,
    refused_in_a_search,
    warn_of_leaking_steps,
)

# The one fit of every private estimator.

_ONE_SHOT = (
    "X must be readable more than once, got an iterator of chunks: this fit reads the rows once "
    "per step ({}). Pass a list of chunks or a function that returns a new iterator, or save steps "
    "with {}."
)
_NOBODY = (
    "X must have at least one row under neighbors={!r}, which makes their number public, got none."
)
_TWO_CLASSES = (
    "groups must leave each person in one class under neighbors='replace_one', which makes class "
    "sizes public. Give all rows of a person one label, or pass neighbors='replace_any'."
)
SEEDED = (
    "random_state is set, so the noise is reproducible: the release is seeded, not private. Use "
    "random_state=None for anything that is published."
)
_BOUGHT = (
    "bounds=None: a share of the budget is spent on estimating bounds. Pass public bounds to spend "
    "all of it on the release."
)
_GUESSED = (
    "bounds=None: too few people to estimate bounds with their share of epsilon={:g}. Those in "
    "domain_ are a guess, and the release is mostly noise. Pass public bounds, at no privacy cost."
)
_SWALLOWED = (
    "Budget exceeded: this fit released nothing. Searches and cross-validations of scikit-learn "
    'turn such errors into NaN scores. Pass error_score="raise" to see them.'
)
_SHOWN_FEATURES = 2  # of a plan in a diagram, where bounds do not tell
_WARNED_ACCOUNTANTS = weakref.WeakSet()
_REHEARSED = weakref.WeakKeyDictionary()  # of a class: its functions, digests of rehearsals
_MOST_REHEARSED = 10_000  # of a class
_NOT_REHEARSED = {"accountant", "random_state", "verbose"}  # parameters that change no computation


@dataclass(frozen=True)
class Facts:
    """Public facts at the start of a fit, given or estimated.

    Attributes
    ----------
    relation : str
        Neighboring relation.
    n_features : int
    classes : ndarray or None
        Public labels.
    units : int
        Largest mass of one person.
    total_public : bool
        Whether no neighbor can change the mass of a class.
    mass_public : bool
        Whether no neighbor can change the mass of all rows together.
    domain : Box, Ball, Mask or None
        Public or estimated domain of the rows; None before it is estimated privately.
    size : int or None
        Number of people in the data, or in the batch if the fit reads one: a public number or a
        noisy count. None before it is estimated privately.
    mechanisms : dict
        Mechanism of each step, by name.
    domain_guessed : bool
        Whether the domain was estimated and is a guess, because noise dominated the counts.
    names : list of str or None
        Of the columns that are features.
    """

    relation: str
    n_features: int
    classes: np.ndarray | None
    units: int
    total_public: bool
    mass_public: bool
    domain: object
    size: int | None
    mechanisms: dict
    domain_guessed: bool = False
    names: list | None = None

    def __post_init__(self):
        if self.domain is not None:  # before rows are read in it
            self.domain._filled()

    @property
    def n_classes(self) -> int:
        """Number of public labels; rows without any are one class."""
        return 1 if self.classes is None else len(self.classes)

    @property
    def labels(self) -> np.ndarray:
        """Labels of the classes; a zero for rows that have none."""
        return np.zeros(1, dtype=int) if self.classes is None else self.classes

    def named(self, feature: int) -> str:
        """Return how a message names a feature: by its column where that has a name."""
        return f"column {self.names[feature]!r}" if self.names else f"feature {feature}"

    @property
    def least(self) -> float:
        """The smallest epsilon or mu of a step whose noise is drawn by a scale."""
        return min((each.amount for each in self.mechanisms.values()), default=np.inf)


class BasePrivateEstimator(
    KnowsSearches, PlainParameters, VersionedPickle, GuaranteeRepr, DrawsItself, ABC, BaseEstimator
):
    """Base of all differentially private estimators: charge, query, add noise, post-process.

    A subclass writes ``_shares``, ``_questions`` and ``_finish``, none of which reads a row. Its
    constructor names its own parameters and these, because scikit-learn reads them there.

    Parameters
    ----------
    epsilon : float
    delta : float
    bounds : (low, high), Box, Ball, Mask or None
    n_hint : int or None
    neighbors : {"add_remove", "replace_one", "replace_any"} or None
    accountant : BudgetAccountant or None
    random_state : None, int or RandomState
    """

    _buys_size = True  # in a step before the others, where it is private and not hinted at
    _parameter_rules = PRIVACY_RULES
    _effort = ()  # parameters that only say for how long to compute on what was released
    _fewest_steps = None  # a setting that reads rows least often, for those that can be read once
    verbose = 0  # of classes whose constructor does not take it

    def __init__(
        self,
        epsilon: float,
        delta: float,
        bounds: Bounds | None,
        n_hint: int | None,
        neighbors: Neighbors | None,
        accountant: SharedBudget | None,
        random_state: RandomState | None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.n_hint = n_hint
        self.neighbors = neighbors
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
        """Fit on private rows with differential privacy.

        Parameters
        ----------
        X : array-like, dataframe, Arrow stream, Dask collection, Spark frame, chunks or Parquet \
path, of shape (n_rows, n_features)
            Private rows. Streams are lazy frames, relations, datasets and all objects with
            ``__arrow_c_stream__``. Chunks come from an iterator, which can be read once, or from a
            list (also of delayed chunks) or a function, which can be read again. A chunk is ``X``,
            ``(X, y)``, ``(X, y, sample_weight)`` or ``(X, y, sample_weight, groups)``. The workers
            of a cluster read its rows.
        y : array-like of shape (n_rows,), optional
            Labels, not person IDs; ignored if the estimator does not use them. If columns have
            names, `y`, `groups` and `sample_weight` may be those of columns, which are no features.
        groups : array-like of shape (n_rows,), optional
            Person IDs: all rows with one ID are one person. Without IDs every row is a person. For
            chunks and streams: the name of a column, :class:`~skdp_bary.SortedPersons` or
            :class:`~skdp_bary.SpilledPersons`.
        sample_weight : array-like of shape (n_rows,), optional
            Weights in [0, 1]; larger ones count as 1.
        unit : str, default=None
            Privacy unit, such as "patient_id". None: the name of the column passed as `groups`, or
            "rows" without groups. A budget that declares a unit rejects fits with another one.
        note : str, default=""
            Text for the ledger, such as "2026-03".

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with fitted_alone(self), ExitStack() as after:
            check_parameters(self)
            names = BaseEstimator()
            rows = after.enter_context(closing(self._open(names, X, y, groups, sample_weight)))
            plan = self._plan(rows.n_features)
            noise, accountant = noise_generator(self.random_state), self._budget()
            self._choose_rows(rows, plan, noise)
            facts = self._public_facts(plan, rows)
            if rows.names and self._recode() is None:  # no schema names the columns
                warn_of_ids(rows.names, self.bounds)
            nested = called_by_others()  # by what fits and clones many, of which more is asked then
            if nested:
                refuse_groups_of_some()
            if groups is None:
                warn_of_unread_ids(y)
                if nested:
                    warn_of_unread_groups()
            terms = rows.terms(X, unit)
            note = note_of(noise.seeded, note)
            self._before_charge(accountant, plan, facts, noise.seeded, terms, nested)
            self._rehearse(plan, facts)
            name = type(self).__name__
            pay = partial(accountant.charge, plan, name, note=note, **terms)
            desk = Desk(rows, plan, noise, pay, Progress(name, self.verbose), accountant.covers)
            with desk.watched(), np.errstate(all="ignore"):  # callers may let numpy raise
                facts, result = desk.answer(self._conversation(desk, facts))
                desk.close()
                plan = self._as_searched(desk.plan) if nested else desk.plan
                known = {"domain_": facts.domain, "privacy_": plan, "_seeded": noise.seeded}
                told = self._finished(facts, result, vars(names) | known)
            if told is not None:
                raise told
        return self

    def privacy_plan(self, n_features: int) -> Plan:
        """Plan of a fit on `n_features` features: its releases and its charge.

        Parameters
        ----------
        n_features : int

        Returns
        -------
        plan : Plan
            Named steps with their mechanisms, the neighboring relation, epsilon and delta.
        """
        n_features = check_integer(n_features, "n_features", low=1)
        check_parameters(self)
        return self._plan(n_features)

    def _all_shares(self, n_features):
        """Shares of the budget of every step, those that estimate missing facts first."""
        bought = self._bought_shares()
        own = check_shares(self._shares(n_features))
        rest = 1.0 - sum(bought.values())
        total = sum(own.values())
        return bought | {name: rest * share / total for name, share in own.items()}

    def _plan(self, n_features):
        """Return the plan of parameters that have been checked."""
        charged = as_charged(self.epsilon, self.delta)
        steps = steps_of(*charged, self._all_shares(n_features))
        return Plan(self._relation(), *charged, steps)

    def privacy_advice(self, n_features: int) -> str:
        """How much noise a release will have, or that noise will dominate it, from public facts.

        Parameters
        ----------
        n_features : int

        Returns
        -------
        advice : str
            Empty where public facts say nothing.
        """
        few = few_persons(self._known_persons(), self._known_classes(), self.epsilon)
        return " ".join(filter(None, (few, self._noise_in_words(n_features))))

    def _noise_in_words(self, n_features):
        """Return how much noise the release will have, where that follows from public facts."""
        return UNKNOWN_SIZE if self.n_hint is None else self._noise_of(n_features, self.n_hint)[0]

    def _noise_of(self, n_features, persons):
        """Return how much noise a release about so many people has, and whether it drowns it."""
        return "", False

    def _warn_of_noise(self, n_features, persons):
        """Warn after a fit whose noise drowns a release about so many people; return whether."""
        told, drowned = self._noise_of(n_features, persons)
        if drowned:
            warn(told, stacklevel=5)
        return drowned

    @abstractmethod
    def _shares(self, n_features):
        """Return the estimator's own steps, in order, and the share of the budget of each."""

    @abstractmethod
    def _questions(self, facts):
        """Query the estimator's own steps, and return the results computed from the releases.

        A generator: ``released = yield name, query`` runs the next step and gets a Release. Later
        queries may depend on earlier releases and on `facts`.
        """

    @abstractmethod
    def _finish(self, facts, result):
        """Set the fitted attributes from `result`, the return value of ``_questions``."""

    def _public_classes(self, y):
        """Return the public labels by which the answers are divided, or None.

        `y` is private, except that ``replace_one`` makes the labels public.
        """
        return None

    def _settled_shares(self, facts):
        """Return steps and shares for the size, which is public now, or None: as planned."""
        return None

    def _mass_bounds(self):
        """Return the public domain outside of which rows have no mass, or None: all rows count."""
        return None

    def _recode(self):
        """Return a public function that makes numbers of tables, or None: rows are numbers."""
        return None

    def _choose_rows(self, rows, plan, noise):
        """Leave out people at random, the same for all steps: nobody, unless a class says so."""

    def _hinted_size(self, plan):
        """Return the public guess of the number of people that a fit reads, or None."""
        return self.n_hint

    def _floats(self, X):
        """Return rows passed to a method of a fitted estimator, checked, as floats."""
        check_is_fitted(self)
        return read_rows(self, X, reset=False)

    def _open(self, names, X, y, groups, sample_weight):
        """Open the rows and record the names of the features; nothing is kept of the rows."""
        rows = open_rows(
            X,
            y,
            groups=groups,
            sample_weight=sample_weight,
            find_classes=self._public_classes,
            mass_bounds=self._mass_bounds(),
            recode=self._recode(),
            width=self._known_features(),
        )
        if rows.source.named is not None:
            validate_data(names, rows.source.named, skip_check_array=True)
        names.n_features_in_ = rows.n_features
        return rows

    def _public_facts(self, plan, rows):
        if len(plan.steps) > 1 and not rows.rereadable:
            steps = ", ".join(step.name for step in plan.steps)
            savers = filter(None, ["n_hint", "bounds", self._fewest_steps])
            raise ValueError(_ONE_SHOT.format(steps, ", ".join(savers)))
        if plan.relation == REPLACE_ONE and rows.persons_move_classes:
            raise ValueError(_TWO_CLASSES)
        domain = None
        if self.bounds is not None:
            domain = check_domain(self.bounds, rows.n_features, rows.names)
        one_class = rows.classes is None or len(rows.classes) == 1
        mass_public = plan.relation != ADD_REMOVE and not rows.source.weighted
        size = self._hinted_size(plan)
        if size is None and plan.relation != ADD_REMOVE:
            size = rows.source.count_persons()
            if size == 0:
                raise ValueError(_NOBODY.format(plan.relation))
        mechanisms = {step.name: step.mechanism for step in plan.steps}
        least = min(each.amount for each in mechanisms.values())
        return Facts(
            relation=plan.relation,
            n_features=rows.n_features,
            classes=rows.classes,
            units=coarser_units(rows.person_units, 1 if size is None else size, least),
            total_public=mass_public and (one_class or plan.relation == REPLACE_ONE),
            mass_public=mass_public,
            domain=domain,
            size=size,
            mechanisms=mechanisms,
            names=rows.names,
        )

    def _finished(self, facts, result, known):
        """Set the fitted attributes; return a warning that the caller's filters made an error.

        Warnings come last, so all is set then. Those of an earlier fit go first: an interrupt on
        the way leaves neither.
        """
        self._forget()
        told = None
        try:
            try:
                self._finish(facts, result)
                if facts.domain_guessed:
                    warn(_GUESSED.format(self.epsilon), stacklevel=3)
            except PrivacyWarning as error:
                told = error
            vars(self).update(known)
        except BaseException:
            self._forget()
            raise
        return told

    def _forget(self):
        """Remove the fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)

    def _before_charge(self, accountant, plan, facts, seeded, terms, nested=True):
        """Raise if the plan exceeds the budget, before any question is answered; issue warnings."""
        # nothing is bought yet, so the size is public where it is known
        persons = max(self._known_persons() or 0, facts.size or 0)
        later = plans_to_come(self, facts.n_features) if nested else []
        who = type(self).__name__
        if later:
            who = f"This pipeline, from {who} on,"
        try:
            accountant.check(plan, who=who, then=later, **terms)
        except RelationError as error:
            raise type(error)(told_by_step(str(error))) from None
        except ReadOnlyLedgerError:
            raise  # more fits would not be refused by what is left: its own advice is all there is
        except BudgetError as error:
            error = type(error)(told_of_a_pipeline(error, accountant))
            if not called_by_a_search():
                raise error from None
            if accountant not in _WARNED_ACCOUNTANTS:
                _WARNED_ACCOUNTANTS.add(accountant)
                warnings.warn(_SWALLOWED, PrivacyWarning, stacklevel=3)
            told = refused_in_a_search(accountant.remaining()[0])
            raise type(error)(f"{error} {told}".strip()) from None
        if nested:
            warn_of_leaking_steps()
        doubts = failure_advice(plan.delta, persons), accountant.unit_advice(terms["unit"])
        bought = "scale" in self._bought_shares()
        for doubt in (seeded and SEEDED, *doubts, bought and _BOUGHT):
            if doubt:
                warn(doubt, stacklevel=3)

    def _rehearse(self, plan, facts):
        """Fit an empty dataset from the first query to the last attribute, and raise its errors.

        So errors that follow from public facts show before the charge. A rehearsal from the same
        facts as an earlier one, with the same methods, is skipped, and so is that of a fit that
        ends with its answers.
        """
        if ends_with_answers():
            return
        # what the class and those above it define, weakly: equal until one is replaced
        defined = [value for each in type(self).__mro__[:-1] for value in vars(each).values()]
        inner = (getattr(value, "__func__", getattr(value, "fget", value)) for value in defined)
        functions = [weakref.ref(value) for value in inner if isinstance(value, FunctionType)]
        budget = self._budget()
        known, held = _REHEARSED.get(type(self), (None, None))
        if known != functions:
            _REHEARSED[type(self)] = functions, (held := set())
        key = self._rehearsal_key(plan, facts, budget.terms)
        if key in held:
            return
        actor, desk = copy.copy(self), Rehearsal(plan, budget.covers)
        vars(actor).update(dict.fromkeys(self._effort, 1))
        actor.random_state = copy.deepcopy(self.random_state)  # whose state would move
        with unheard(), np.errstate(all="ignore"), suppress(Warning):  # as errors they follow a fit
            facts, result = desk.answer(actor._conversation(desk, facts))
            desk.close()
            actor._finish(facts, result)
        if len(held) < _MOST_REHEARSED:
            held.add(key)

    def _rehearsal_key(self, *public):
        """Digest of everything that determines a rehearsal, or an object that equals no other.

        Parameters and attributes that are functions have no digest: a function may be redefined
        under its name.
        """
        given = self.get_params(deep=False)
        given |= dict.fromkeys(_NOT_REHEARSED & given.keys())
        if any(map(callable, (vars(self) | given).values())):
            return object()
        try:
            told = pickle.dumps((given, public))
        except Exception:  # whatever the bytes of an object of others raise
            return object()
        return blake2b(told, digest_size=16).digest()

    def _conversation(self, desk, facts):
        """Estimate what public facts are missing, then run the steps: return facts and result."""
        facts = self._settle(desk, (yield from self._buy_facts(facts)))
        return facts, (yield from self._questions(facts))

    def _buy_facts(self, facts):
        """Estimate the size and the domain if they were not passed, and add them to the facts."""
        wanted = self._bought_shares()
        if "count" in wanted:
            facts = yield from buy_size(facts)
        if "scale" in wanted:
            facts = yield from buy_domain(facts)
        return facts

    def _settle(self, desk, facts):
        """Let the estimator divide the charge of the plan again, before its first own step."""
        shares = self._settled_shares(facts)
        if shares is None:
            return facts
        desk.divide_anew(shares)
        facts = replace(facts, mechanisms={s.name: s.mechanism for s in desk.plan.steps})
        return replace(facts, units=coarser_units(facts.units, least=facts.least))

    def _bought_shares(self):
        """Shares of the steps that estimate a missing size and domain."""
        wanted = {}
        if self._buys_size and self.n_hint is None and self._relation() == ADD_REMOVE:
            wanted |= SIZE_SHARES
        if self.bounds is None:
            wanted |= DOMAIN_SHARES
        return wanted

    def _relation(self):
        if self.neighbors is not None:
            return self.neighbors
        return ADD_REMOVE if self.accountant is None else self.accountant.neighbors

    def _budget(self):
        return UNLIMITED if self.accountant is None else self.accountant

    def _bounds_in_words(self):
        """Return the bounds feature by feature, by name if names are known."""
        return in_words(self.bounds, getattr(self, "feature_names_in_", None))

    def _guarantee(self):
        """Plan of the last fit, or of one to come; whether it is seeded; when it holds."""
        if hasattr(self, "privacy_"):
            return self.privacy_, getattr(self, "_seeded", True), ""  # unknown is not private
        width = self._known_features() or _SHOWN_FEATURES
        condition = f", once fitted (shown for {width} features)"
        return self.privacy_plan(width), self.random_state is not None, condition

    def _known_features(self):
        """Number of features from public parameters, or None."""
        return width_of(self.bounds, None)

    def _known_persons(self):
        """Number of people from public parameters, or None."""
        sizes = [] if self.n_hint is None else [self.n_hint]
        least = vars(self).get("n_min")
        if least is not None:  # one number is that of every class
            sizes.append(int(np.sum(least) if np.ndim(least) else least * self._known_classes()))
        return max(sizes, default=None)

    def _known_classes(self):
        """Number of classes from public parameters, at least one."""
        return number_of_classes(getattr(self, "classes", None))

    def __sklearn_is_fitted__(self):
        return hasattr(self, "privacy_")


# One fit of an object at a time.

_FITS = {}  # identity of an object that is being fitted: the thread that does it
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_FITS.clear)  # the threads are not there


@contextmanager
def fitted_alone(estimator):
    """Raise RuntimeError, before anything is read or charged, while another thread fits the object.

    Otherwise attributes of two fits would mix, and one release would be charged but lost.
    """
    me = get_ident()
    key = id(estimator)
    nested = _FITS.get(key) == me
    if _FITS.setdefault(key, me) != me:  # one step: of several threads one comes first
        raise RuntimeError(
            f"This {type(estimator).__name__} is being fitted by another thread. Use one clone per "
            "thread; clones share the accountant. Nothing was charged."
        )
    try:
        yield
    finally:
        if not nested:
            del _FITS[key]
