"""Number checks that no scikit-learn setting can switch off.

scikit-learn's parameter validation can be disabled by ``config_context``; a wrong epsilon must be
refused all the same, so everything that carries a guarantee checks its own numbers with these.
"""

import math
from fractions import Fraction
from functools import lru_cache

from .._plain import is_integer, is_number
from .._shown import shown

EPSILON_DIGITS, DELTA_DIGITS = 6, 18  # decimal places of the amounts that budgets count


def check_real(value, name, *, low=None, high=None, open_low=False, open_high=False):
    """Return `value` as a float within the stated interval, or raise naming parameter and value."""
    is_real = is_number(value)
    number = _as_float(value) if is_real else math.nan
    inside = math.isfinite(number)
    inside = inside and (low is None or (number > low if open_low else number >= low))
    inside = inside and (high is None or (number < high if open_high else number <= high))
    if not inside:
        raise (ValueError if is_real else TypeError)(
            f"{name} must be a finite number in {_interval(low, high, open_low, open_high)}, "
            f"got {shown(value)}."
        )
    return number


def check_integer(value, name, *, low=None, high=None):
    """Return `value` as an int within ``[low, high]``, or raise naming parameter and value."""
    whole = is_integer(value)
    if not whole or (low is not None and value < low) or (high is not None and value > high):
        raise (ValueError if whole else TypeError)(
            f"{name} must be an integer in {_interval(low, high, False, False)}, "
            f"got {shown(value)}."
        )
    return int(value)


def refuse_class(value, name):
    """Raise, naming the parameter, where a class is given in the place of an estimator."""
    if isinstance(value, type):
        raise TypeError(
            f"{name} must be an estimator, and {value.__name__} is a class: pass "
            f"{value.__name__}(...) with its parameters."
        )


def check_option(value, name, options):
    """Return `value` when it is one of `options`, or raise listing them."""
    if not isinstance(value, str) or value not in options:
        allowed = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name} must be one of {allowed}, got {shown(value)}.")
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

    A plan promises these, so its steps cost no more than what is charged, and k fits of a k-th of
    a budget fit into it.
    """
    return _whole_below(epsilon, EPSILON_DIGITS), _whole_below(delta, DELTA_DIGITS)


def in_digits(amount):
    """Return an amount with all of its digits: rounded, it would seem to be more than it is."""
    return f"{amount}".removesuffix(".0")


def float_above(value):
    """Return a float whose binary value is at least the fraction `value`, within two ulps."""
    number = float(value)
    while Fraction(number) < value:
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


def _as_float(value):
    try:
        return float(value)
    except OverflowError:  # an integer beyond the largest float
        return math.inf


def _interval(low, high, open_low, open_high):
    left = "(-inf" if low is None else f"{'(' if open_low else '['}{low}"
    right = "inf)" if high is None else f"{high}{')' if open_high else ']'}"
    return f"{left}, {right}"
