"""Rules of constructor parameters, in words and as a check."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from .exceptions import BYTES, for_example, is_integer, is_number, is_text, plain, shown
from .geometry.bounds import ALLOWED, box_of, check_domain
from .geometry.domains import Domain
from .privacy.filters import DELTA_UNIT, LARGEST_EPSILON, LOSS_UNIT
from .privacy.mechanisms import RELATIONS
from .privacy.spending import SharedBudget
from .schema.schema import Derived, InOrder, Key, Schema, Shares

# What a parameter of a constructor may be: kinds of values, in words and as a check.

MOST_PERSONS = 1 << 53  # whole numbers of persons that a float holds
MOST_STEPS = 10_000  # of a plan, of starts, of epochs: more are never meant
MOST_FEATURES = 1 << 24


class Rule(ABC):
    """Rule of one parameter. ``str(rule)`` says it in words, ``rule | other`` allows both."""

    note = ""  # what else the refused should know
    detailed = False  # whether its own error says more than the words
    _words = ""
    _example = ""  # an allowed value as it is typed, "" where the words show one
    _kinds: Any = ()  # types of values that are of the right kind, though they may not be allowed

    def __str__(self):
        return self._words

    @abstractmethod
    def _admits(self, value):
        """Whether a value is allowed."""

    def _knows(self, value):
        """Whether a value is of the right kind: what is wrong is then no type."""
        return isinstance(value, self._kinds)

    def check(self, value: object, name: str) -> None:
        """Raise TypeError or ValueError, naming the parameter, unless `value` is allowed."""
        if not self._admits(value):
            error = ValueError if self._knows(value) else TypeError
            note = f" {self.note}" if self.note else ""
            if f"{name}=" not in note:  # which says itself what to type
                note += for_example(name, self._example)
            raise error(f"{name} must be {self}, got {shown(value)}.{note}")

    def __or__(self, other):
        mine = self.rules if isinstance(self, Either) else (self,)
        return Either((*mine, Nothing() if other is None else other))


@dataclass(frozen=True)
class Either(Rule):
    """Values that one of several rules allows."""

    rules: tuple

    def __str__(self):
        return " or ".join(map(str, self.rules))

    @property
    def note(self):
        """What the rules add."""
        return " ".join(rule.note for rule in self.rules if rule.note)

    @property
    def _example(self):
        return next((rule._example for rule in self.rules if rule._example), "")

    def _admits(self, value):
        return any(rule._admits(value) for rule in self.rules)

    def _knows(self, value):
        return any(rule._knows(value) for rule in self.rules)

    def check(self, value, name):
        """Raise unless one of the rules allows a value, in the words of one that knows better."""
        for rule in self.rules:
            if rule.detailed and rule._knows(value):
                return rule.check(value, name)
        return super().check(value, name)


class Nothing(Rule):
    """None."""

    _words = "None"

    def _admits(self, value):
        return value is None


@dataclass(frozen=True)
class Integer(Rule):
    """A whole number from `low` to `high`, not a bool. `note` is added to the error message."""

    low: int
    high: int
    note: str = ""
    _knows = staticmethod(is_integer)

    def __str__(self):
        return f"an integer in [{self.low}, {self.high}]"

    @property
    def _example(self):
        return str(min(max(10, self.low), self.high))

    def _admits(self, value):
        return self._knows(value) and self.low <= value <= self.high


@dataclass(frozen=True)
class PowerOfTwo(Integer):
    """A power of two from `low` to `high`."""

    def __str__(self):
        return f"a power of two in [{self.low}, {self.high}]"

    @property
    def _example(self):
        return str(min(max(16, self.low), self.high))

    def _admits(self, value):
        return super()._admits(value) and int(value).bit_count() == 1


@dataclass(frozen=True)
class Number(Rule):
    """A finite number from `low` to `high`, not a bool.

    With `open_low` or `open_high` that end is left out. `note` is added to what it says.
    """

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False
    note: str = ""
    _knows = staticmethod(is_number)

    def __str__(self):
        left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
        return f"a finite number in {left}{self.low}, {self.high}{right}"

    @property
    def _example(self):
        found = (1.0, 1e-6, self.low, self.high, (self.low + self.high) / 2)
        return next((str(number) for number in found if self._admits(number)), "")

    def _admits(self, value):
        if not self._knows(value):
            return False
        above = self.low < value if self.open_low else self.low <= value
        below = value < self.high if self.open_high else value <= self.high
        # what is above zero and too small for a float would be zero in the end
        return bool(above and below) and (not self.open_low or float(value) > self.low)


@dataclass(frozen=True)
class OneOf(Rule):
    """One of a few numbers."""

    numbers: tuple
    note: str = ""
    _knows = staticmethod(is_number)

    def __str__(self):
        return " or ".join(map(str, self.numbers))

    @property
    def _example(self):
        return str(self.numbers[0])

    def _admits(self, value):
        return self._knows(value) and value in self.numbers


@dataclass(frozen=True)
class Option(Rule):
    """One of the words in `options`. `note` is added to the error message."""

    options: tuple
    note: str = ""
    _kinds = object

    def __str__(self):
        return f"one of {', '.join(map(repr, self.options))}"

    @property
    def _example(self):
        return repr(self.options[0])

    def _admits(self, value):
        return isinstance(value, str) and value in self.options


class Flag(Rule):
    """True or False."""

    _words, _example = "True or False", "True"

    def _admits(self, value):
        return isinstance(value, (bool, np.bool_))


class Name(Rule):
    """The name of a column, or its place."""

    _words, _example = "the name of a column, or its place", "'age'"

    def _admits(self, value):
        return value != "" if isinstance(value, str) else Integer(0, MOST_FEATURES)._admits(value)

    def _knows(self, value):
        return isinstance(value, str) or is_integer(value)


class Function(Rule):
    """Something that can be called."""

    _words, _example = "a callable", "lambda rows: rows"

    def _admits(self, value):
        return callable(value)


class File(Rule):
    """A place to write to."""

    _words, _example, _kinds = "a str or path-like", "'training.pt'", str

    def _admits(self, value):
        return isinstance(value, (str, PathLike)) and str(value) != ""


@dataclass(frozen=True)
class Having(Rule):
    """An object that has one of the attributes named; `words` say what it is."""

    words: str
    attributes: tuple

    def __str__(self):
        return self.words

    def _admits(self, value):
        found = any(hasattr(value, name) for name in self.attributes)
        return found and not isinstance(value, type)


# The rules of constructor parameters: what each allows, in words and as a check.

_LIGHTEST, _HEAVIEST = 1e-100, 1e100  # weights: sums and ratios stay within the floats


def _passes(check, *arguments):
    """Whether a check of a value raises nothing about it."""
    try:
        check(*arguments)
    except (TypeError, ValueError):
        return False
    return True


class PublicDomain(Rule):
    """Public bounds of rows, of a width that is not known yet."""

    detailed = True
    _words, _example = ALLOWED, "(0, 1)"
    _kinds = (Domain, Mapping, tuple, list, np.ndarray)

    def _admits(self, value):
        return _passes(self.check, value, "bounds")

    def check(self, value, name):
        """Raise, naming what is wrong with the bounds."""
        if isinstance(value, Mapping):
            value = box_of(value)
        if isinstance(value, Domain):
            check_domain(value, value.n_features)
        else:
            sides = value if isinstance(value, (tuple, list)) or np.ndim(value) > 0 else ()
            check_domain(value, max([1, *(np.size(_objects(side)) for side in sides)]))


class OfColumns(Rule):
    """A schema, or what makes one."""

    _words = (
        "a Schema, kinds by name as in {'age': Integer(18, 99)}, or a kind that all columns have"
    )

    def _admits(self, value):
        return isinstance(value, Schema) or _passes(Schema, value)


class Rules(Rule):
    """Public rules of a table."""

    _words = "a tuple or list of Derived, InOrder, Key or Shares"
    _example = "[InOrder('born', 'died')]"

    def _admits(self, value):
        kinds = (Derived, InOrder, Key, Shares)
        return isinstance(value, (tuple, list)) and all(isinstance(rule, kinds) for rule in value)


class Budget(Rule):
    """Budget of a fit."""

    _words, _example = "a BudgetAccountant or a part of one", "BudgetAccountant(epsilon=1.0)"

    def _admits(self, value):
        return isinstance(value, SharedBudget)


@dataclass(frozen=True)
class Seed(Rule):
    """Seed or generator for reproducible draws."""

    largest: float = math.inf
    _example = "0"
    _knows = staticmethod(is_integer)

    def __str__(self):
        most = "" if self.largest == math.inf else f" up to {self.largest}"
        return f"a non-negative integer{most} or a numpy RandomState"

    def _admits(self, value):
        is_seed = self._knows(value) and 0 <= value <= self.largest
        return is_seed or isinstance(value, np.random.RandomState)


class Listed(Rule):
    """Rules of lists, tuples and flat arrays, of which every entry is allowed by itself."""

    fewest, most = 1, math.inf

    def _admits(self, value):
        is_long = self._knows(value) and self.fewest <= len(value) <= self.most
        return is_long and all(map(self._holds, value))

    def _knows(self, value):
        return _is_listed(value)

    @abstractmethod
    def _holds(self, one):
        """Whether an entry is allowed."""


class Labels(Listed):
    """Distinct public labels."""

    _words = "distinct labels, integers or strings, in one dimension"
    _example = "[0, 1]"

    def _admits(self, value):
        return super()._admits(value) and len(np.unique(np.asarray(value))) == len(value)

    def _holds(self, one):
        if isinstance(one, str):
            return is_text(one)
        if isinstance(one, (float, np.floating)):
            return math.isfinite(one)
        return is_integer(one) or isinstance(one, (bool, np.bool_))


@dataclass(frozen=True)
class Weights(Listed):
    """Finite numbers of at least `least`, one per class."""

    least: float = _LIGHTEST
    _example = "[0.5, 0.5]"

    def __str__(self):
        return f"{'positive' if self.least > 0 else 'non-negative'} finite numbers, one a class"

    def _holds(self, one):
        return Number(self.least, _HEAVIEST)._admits(one)


@dataclass(frozen=True)
class Integers(Listed):
    """A tuple or list of whole numbers, all of which `each` allows."""

    each: Integer
    fewest: int = 1
    most: int = MOST_STEPS

    @property
    def _example(self):
        return str((int(self.each._example),) * self.fewest)

    def __str__(self):
        return f"a tuple of {self.fewest} to {self.most} numbers, each {self.each}"

    def _holds(self, one):
        return self.each._admits(one)


@dataclass(frozen=True)
class Cells(Listed):
    """Cells of a quadtree of so many levels: pairs of a level and a Morton code."""

    depth: int
    _example = "[(0, 0)]"

    def __str__(self):
        return f"(level, code) pairs, of levels in [0, {self.depth}] and codes below 4**level"

    def _knows(self, value):
        return _is_listed(value) or np.ndim(_objects(value)) == 2

    def _holds(self, one):
        if not _is_listed(one) or len(one) != 2:
            return False
        level, code = one
        return Integer(0, self.depth)._admits(level) and Integer(0, 4**level - 1)._admits(code)


@dataclass(frozen=True)
class Points(Rule):
    """A table of finite numbers."""

    words: str = "an array of finite numbers, of shape (n_points, n_features)"
    _example = "[[0.0, 1.0]]"

    def __str__(self):
        return self.words

    def _admits(self, value):
        table = _objects(value)
        if table is None or table.ndim != 2 or table.dtype.kind not in "iuf" or not table.size:
            return False
        return bool(np.isfinite(table.astype(np.float64)).all())

    def _knows(self, value):
        return not isinstance(value, str) and np.ndim(_objects(value)) > 0


class Grid(Rule):
    """Candidates of a search."""

    _words = "a dict, or a list of dicts, of names of parameters and lists of values"
    _example = "{'n_clusters': [4, 8]}"
    _kinds = (Mapping, list, tuple)

    def _admits(self, value):
        grids = [value] if isinstance(value, Mapping) else value
        if not self._knows(value) or not all(isinstance(grid, Mapping) for grid in grids):
            return False
        return len(grids) > 0 and all(
            isinstance(name, str) and _is_listed(values) and len(values) > 0
            for grid in grids
            for name, values in grid.items()
        )


class PlainParameters:
    """Keep the numbers of a constructor, whatever their types, as plain numbers of Python."""

    def __setattr__(self, name, value):
        super().__setattr__(name, plain(value) if name in self._parameter_rules else value)


def check_parameters(owner):
    """Raise TypeError or ValueError unless every parameter is what its rule allows."""
    for name, rule in owner._parameter_rules.items():
        rule.check(getattr(owner, name), name)


PRIVACY_RULES = {  # of every private estimator
    "epsilon": Number(1 / LOSS_UNIT, LARGEST_EPSILON, note="Budgets count it in millionths."),
    "delta": OneOf((0.0,))
    | Number(1 / DELTA_UNIT, 1.0, open_high=True, note="Budgets count it in units of 1e-18."),
    "bounds": PublicDomain() | None,
    "n_hint": Integer(1, MOST_PERSONS) | None,
    "neighbors": Option(RELATIONS) | None,
    "accountant": Budget() | None,
    "random_state": Seed() | None,
    "verbose": OneOf((0, 1, 2)),
}


def _is_listed(value):
    return isinstance(value, (tuple, list)) or np.ndim(_objects(value)) == 1


def _objects(value):
    """Return a value as numpy sees it, or None where it is no array of anything."""
    held = value if isinstance(value, (tuple, list)) else (value,)
    if any(isinstance(one, BYTES) for one in held):
        return None
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        return None
