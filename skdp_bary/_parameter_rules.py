"""What a parameter of a constructor may be: kinds of values, in words and as a check."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from os import PathLike

import numpy as np

from ._plain import is_integer, is_number
from ._shown import shown

MOST_PERSONS = 1 << 53  # whole numbers of persons that a float holds
MOST_STEPS = 10_000  # of a plan, of starts, of epochs: more are never meant
MOST_FEATURES = 1 << 24


class Rule(ABC):
    """What one parameter may be. ``str(rule)`` says it in words, ``rule | other`` allows both."""

    note = ""  # what else the refused should know
    detailed = False  # whether its own error says more than the words

    @abstractmethod
    def _admits(self, value):
        """Return whether a value is allowed."""

    def _knows(self, value):
        """Return whether a value is of the right kind, though it may not be allowed."""
        return False

    def check(self, value: object, name: str) -> None:
        """Raise TypeError or ValueError, naming the parameter, unless `value` is allowed."""
        if not self._admits(value):
            error = ValueError if self._knows(value) else TypeError
            note = f" {self.note}" if self.note else ""
            raise error(f"{name} must be {self}, got {shown(value)}.{note}")

    def __or__(self, other):
        return Either((self, Nothing() if other is None else other))


@dataclass(frozen=True)
class Either(Rule):
    """What one of several rules allows."""

    rules: tuple

    def __str__(self):
        return " or ".join(str(rule) for rule in self.rules)

    def __or__(self, other):
        return Either((*self.rules, Nothing() if other is None else other))

    @property
    def note(self):
        """What the rules add."""
        return " ".join(rule.note for rule in self.rules if rule.note)

    def _admits(self, value):
        return any(rule._admits(value) for rule in self.rules)

    def check(self, value, name):
        """Raise unless one of the rules allows a value, in the words of one that knows better."""
        for rule in self.rules:
            if rule.detailed and rule._knows(value):
                return rule.check(value, name)
        return super().check(value, name)

    def _knows(self, value):
        return any(rule._knows(value) for rule in self.rules)


@dataclass(frozen=True)
class Nothing(Rule):
    """None."""

    def __str__(self):
        return "None"

    def _admits(self, value):
        return value is None


@dataclass(frozen=True)
class Integer(Rule):
    """A whole number from `low` to `high`; bools are none. `note` is added to what it says."""

    low: int
    high: int
    note: str = ""

    def __str__(self):
        return f"an integer in [{self.low}, {self.high}]"

    def _admits(self, value):
        return self._knows(value) and self.low <= value <= self.high

    def _knows(self, value):
        return is_integer(value)


@dataclass(frozen=True)
class PowerOfTwo(Integer):
    """A power of two from `low` to `high`."""

    def __str__(self):
        return f"a power of two in [{self.low}, {self.high}]"

    def _admits(self, value):
        return super()._admits(value) and int(value).bit_count() == 1


@dataclass(frozen=True)
class Number(Rule):
    """A finite number from `low` to `high`; bools are none.

    With `open_low` or `open_high` that end is left out. `note` is added to what it says.
    """

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False
    note: str = ""

    def __str__(self):
        left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
        return f"a finite number in {left}{self.low}, {self.high}{right}"

    def _admits(self, value):
        if not self._knows(value):
            return False
        above = self.low < value if self.open_low else self.low <= value
        below = value < self.high if self.open_high else value <= self.high
        # what is above zero and too small for a float would be zero in the end
        return bool(above and below) and (not self.open_low or float(value) > self.low)

    def _knows(self, value):
        return is_number(value)


@dataclass(frozen=True)
class OneOf(Rule):
    """One of a few numbers."""

    numbers: tuple
    note: str = ""

    def __str__(self):
        return " or ".join(str(number) for number in self.numbers)

    def _admits(self, value):
        return self._knows(value) and value in self.numbers

    def _knows(self, value):
        return is_number(value)


@dataclass(frozen=True)
class Option(Rule):
    """One of a few words, the `options`. `note` is added to what it says."""

    options: tuple
    note: str = ""

    def __str__(self):
        return f"one of {', '.join(repr(option) for option in self.options)}"

    def _admits(self, value):
        return isinstance(value, str) and value in self.options

    def _knows(self, value):
        return True


@dataclass(frozen=True)
class Flag(Rule):
    """True or False."""

    def __str__(self):
        return "True or False"

    def _admits(self, value):
        return isinstance(value, (bool, np.bool_))


@dataclass(frozen=True)
class Name(Rule):
    """The name of a column, or its place."""

    def __str__(self):
        return "the name of a column, or its place"

    def _admits(self, value):
        return (isinstance(value, str) and value != "") or Integer(0, MOST_FEATURES)._admits(value)

    def _knows(self, value):
        return isinstance(value, str) or Integer(0, MOST_FEATURES)._knows(value)


@dataclass(frozen=True)
class Function(Rule):
    """Something that can be called."""

    def __str__(self):
        return "a callable"

    def _admits(self, value):
        return callable(value)


@dataclass(frozen=True)
class File(Rule):
    """A place to write to."""

    def __str__(self):
        return "a str or path-like"

    def _admits(self, value):
        return isinstance(value, (str, PathLike)) and str(value) != ""

    def _knows(self, value):
        return isinstance(value, str)


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
