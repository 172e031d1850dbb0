"""Errors and warnings, and the checks that raise them."""

import importlib
import math
from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

# Errors and warnings of the package.


class BudgetError(ValueError):
    """A spend would exceed the ceiling of a budget; nothing was charged or released."""


class ReadOnlyLedgerError(BudgetError):
    """A copy of an in-memory budget (unpickled, or sent to a worker) was asked to spend."""


class LedgerError(RuntimeError):
    """A ledger file cannot be opened, written or trusted; nothing was released."""


class RelationError(ValueError):
    """A plan and a budget speak about different neighboring relations."""


class LeakError(ValueError):
    """Rows would be learned from without noise, or without paying for all of it."""


class PlanError(RuntimeError):
    """A fit asked something else than its plan names: a mistake of the author of an estimator."""


class PrivacyWarning(UserWarning):
    """Something a user should know about the privacy or the accuracy of a release."""


class VersionWarning(UserWarning):
    """The data was written by another version of the package."""


# What is a number and what is text, and numbers of any type as plain ones of Python.

BYTES = (bytes, bytearray, memoryview)  # types that numpy reads as numbers or as text


def is_integer(value):
    """Whether a value is a whole number; truth values are none, and neither are durations."""
    # numpy registers its durations as integers, with which they cannot be compared
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_, np.timedelta64))


def is_number(value):
    """Whether a value is a real number; truth values are none, and neither are durations."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_, np.timedelta64))


def plain(value):
    """Return a number, truth value or text as that of Python, and anything else as it is.

    Numbers of numpy overflow, lose digits and divide by zero in silence; fractions are rejected by
    functions of numpy.
    """
    if isinstance(value, (tuple, list)):
        made = [plain(one) for one in value]
        same = all(new is old for new, old in zip(made, value, strict=True))
        return value if same or type(value) not in (tuple, list) else type(value)(made)
    if isinstance(value, (np.bool_, np.str_)):
        return value.item()
    if type(value) in (int, float) or not is_number(value):
        return value
    try:
        return int(value) if is_integer(value) else float(value)
    except OverflowError:  # a fraction beyond all floats, which no rule allows
        return value


def is_text(value):
    """Whether text can be written: half of a surrogate pair is in no file of UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


# Number checks that no scikit-learn setting can switch off.

EPSILON_DIGITS, DELTA_DIGITS = 6, 18  # decimal places of the amounts that budgets count


def check_real(value, name, *, low=None, high=None, open_low=False, open_high=False):
    """Return `value` as a float within the stated interval, or raise naming parameter and value."""

    def is_inside(number):
        above = low is None or (number > low if open_low else number >= low)
        below = high is None or (number < high if open_high else number <= high)
        return math.isfinite(number) and above and below

    is_real = is_number(value)
    try:
        number = float(value) if is_real else math.nan
    except OverflowError:  # an integer beyond the largest float
        number = math.inf
    if not is_inside(number):
        fitting = (n for n in (1.0, 0.5, low, high) if n is not None and is_inside(n))
        raise (ValueError if is_real else TypeError)(
            f"{name} must be a finite number in {_interval(low, high, open_low, open_high)}, "
            f"got {shown(value)}.{for_example(name, next(fitting, ''))}"
        )
    return number


def check_integer(value, name, *, low=None, high=None):
    """Return `value` as an int within ``[low, high]``, or raise naming parameter and value."""
    whole = is_integer(value)
    if not whole or (low is not None and value < low) or (high is not None and value > high):
        example = max(10 if high is None else min(10, high), 10 if low is None else low)
        raise (ValueError if whole else TypeError)(
            f"{name} must be an integer in {_interval(low, high, False, False)}, "
            f"got {shown(value)}.{for_example(name, example)}"
        )
    return int(value)


def for_example(name, value):
    """Return the end of an error that says what to type; nothing where `name` is no keyword."""
    return f" For example {name}={value}." if name.isidentifier() and value != "" else ""


def refuse_class(value, name):
    """Raise, naming the parameter, where a class is given instead of an estimator."""
    if isinstance(value, type):
        raise TypeError(
            f"{name} must be an estimator, and {value.__name__} is a class: pass "
            f"{value.__name__}(...) with its parameters."
        )


def check_option(value, name, options):
    """Return `value` when it is one of `options`, or raise listing them."""
    if not isinstance(value, str) or value not in options:
        allowed = [repr(option) for option in options]
        raise ValueError(
            f"{name} must be one of {', '.join(allowed)}, got {shown(value)}."
            f"{for_example(name, allowed[0])}"
        )
    return value


def check_epsilon(value):
    """Return a privacy loss: a finite number above zero."""
    return check_real(value, "epsilon", low=0.0, open_low=True)


def check_delta(value):
    """Return a failure probability: a number in ``[0, 1)``."""
    return check_real(value, "delta", low=0.0, high=1.0, open_high=True)


def exact(value):
    """Return the decimal number a user reads when `value` is printed, as a fraction.

    Budgets add up as people add them: ``exact(0.1) * 3 == exact(0.3)``.
    """
    return _read(float(value))


@lru_cache(maxsize=1 << 10)
def _read(value):
    """Return the fraction that a float is printed as; a plan asks for the same few very often."""
    return Fraction(repr(value))


def float_below(value, digits=12):
    """Return the largest decimal of `digits` places that reads as at most the fraction `value`."""
    unit = 10**digits
    number = float(Fraction(math.floor(Fraction(value) * unit), unit))
    while exact(number) > value:
        number = math.nextafter(number, -math.inf)
    return number


def as_charged(epsilon, delta):
    """Return the largest amounts that budgets count and that are not above what a person writes.

    A plan promises these, so its steps cost no more than the charge, and k fits of a k-th of
    a budget fit into it.
    """
    return _whole_below(epsilon, EPSILON_DIGITS), _whole_below(delta, DELTA_DIGITS)


def in_digits(amount):
    """Return an amount with all of its digits: rounded, it would seem to be more than it is."""
    return f"{amount}".removesuffix(".0")


def float_above(value, read=Fraction):
    """Return the next float that reads as at least the fraction `value`, in binary or `exact`."""
    number = float(value)
    while read(number) < value:
        number = math.nextafter(number, math.inf)
    return number


def _whole_below(amount, digits):
    """Return the largest float that reads as a decimal of `digits` places, not above an amount."""
    limit, unit = exact(amount), 10**digits
    count = math.floor(limit * unit)
    number = count / unit
    while exact(number) > limit or (exact(number) * unit).denominator > 1:
        count -= 1
        number = count / unit
    return number


def _interval(low, high, open_low, open_high):
    left = "(-inf" if low is None else f"{'(' if open_low else '['}{low}"
    right = "inf)" if high is None else f"{high}{')' if open_high else ']'}"
    return f"{left}, {right}"


# Modules that come with an extra are imported here, when they are first needed.


def import_optional(name, extra, caller):
    """Return the module `name`, or raise an ImportError naming the extra that installs it.

    Parameters
    ----------
    name : str
        Module to import, with dots.
    extra : str
        The extra of this package that installs it.
    caller : str
        Name of the caller that needs it, as the user called it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{caller} needs the module {name!r}, which could not be imported ({error}). "
            f'Install it with: pip install "skdp_bary[{extra}]"'
        ) from error


# Refused values in messages: short, on one line, and never what may be private rows.

LONGEST = 200  # characters of a refused value
_FEW = 4  # lists in a list: more may be rows


def shown(value):
    """Return a refused value as text of one line, cut where it is long.

    Tables, arrays and lists of many lists may be private rows in the wrong place: of those only the
    type is told.
    """
    may_be_rows = getattr(value, "shape", ()) != ()
    if isinstance(value, (list, tuple)):
        inside = [one for one in value if isinstance(one, Collection) and not isinstance(one, str)]
        may_be_rows |= len(inside) > _FEW or any(getattr(o, "shape", ()) != () for o in inside)
    try:
        text = "" if may_be_rows else " ".join(repr(value).split())
    except Exception:  # a number of thousands of digits, an object that cannot say what it is
        may_be_rows = True
    if may_be_rows:
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


# Names of types that public signatures share.

Neighbors: TypeAlias = Literal["add_remove", "replace_one", "replace_any"]
RandomState: TypeAlias = int | np.integer[Any] | np.random.RandomState | np.random.Generator
# arrays, frames, Dask collections, chunks, paths: each source of rows says itself what it takes
Rows: TypeAlias = Any
# of public draws; both have the methods that are used
Draws: TypeAlias = np.random.Generator | np.random.RandomState


class Estimator(Protocol):
    """What can be cloned and given parameters: an estimator of this package or another one."""

    def get_params(self, deep: bool = True) -> dict: ...

    def set_params(self, **params: object) -> object: ...
