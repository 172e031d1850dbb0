"""One value in, one value out: how values of any type are read as numbers, text, days or flags.

Each function looks at one value. What cannot be read is ``UNREADABLE``, what is missing is None.
"""

import datetime
from decimal import Decimal, InvalidOperation
from numbers import Integral, Real

import numpy as np

from ..values import is_missing

UNREADABLE = object()
_MOST_DIGITS = 400  # more than a float has
_NO_TIME, _MICROSECOND = datetime.timedelta(0), datetime.timedelta(microseconds=1)
_REAL = (Real, Decimal, np.bool_)
_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": None}


def number_of(value):
    """Return a value as a float; beyond all floats, infinity."""
    if is_missing(value):
        return None
    if isinstance(value, np.timedelta64) or not isinstance(value, (*_REAL, str)):
        return UNREADABLE
    try:
        found = float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf
    except ValueError:
        return None if isinstance(value, str) and not value.strip() else UNREADABLE
    return None if found != found else found


def text_of(value):
    """Return a value as text; whole numbers as integers, however they were stored."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, np.timedelta64) or not isinstance(value, _REAL):
        return UNREADABLE
    return str(whole) if (whole := integer_of(value)) is not UNREADABLE else repr(float(value))


def integer_of(value):
    """Return a value as an integer where it is one."""
    if is_missing(value):
        return None
    if isinstance(value, (Integral, np.bool_)) and not isinstance(value, np.timedelta64):
        return int(value)
    if isinstance(value, str):
        try:
            value = Decimal(value.strip())
        except InvalidOperation:
            return UNREADABLE if value.strip() else None
    if isinstance(value, np.timedelta64) or not isinstance(value, _REAL):
        return UNREADABLE
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() > _MOST_DIGITS:
        return UNREADABLE  # it would take all of the memory
    try:
        return int(value) if value == int(value) else UNREADABLE
    except (OverflowError, ValueError):
        return UNREADABLE


def flag_of(value):
    """Return a value as True or False."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        word = value.strip().lower()
        return _WORDS.get(word, UNREADABLE)
    number = number_of(value)
    return bool(number) if number in (0.0, 1.0) else UNREADABLE


def moment_of(value):
    """Return a date, a time or ISO text as microseconds since 1970, in UTC."""
    if is_missing(value):
        return None
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value.strip())
        except ValueError:
            return UNREADABLE if value.strip() else None
    ahead = 0  # of UTC
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        ahead = (value.utcoffset() or _NO_TIME) // _MICROSECOND
        value = value.replace(tzinfo=None)
    if not isinstance(value, (np.datetime64, datetime.date)):
        return UNREADABLE
    return int(np.datetime64(value, "us").astype(np.int64)) - ahead


def each(values, read):
    """Return ``[read(value) for value in values]``; equal values of one type are read once."""
    if values.dtype.kind in "biuf":
        distinct, places = np.unique(values, return_inverse=True)
        found = [read(value) for value in distinct.tolist()]
        return [found[place] for place in places.tolist()]
    texts, known = _Texts(read), {}
    return [
        texts[value] if type(value) is str else _look_up(value, read, known) for value in values
    ]


class _Texts(dict):
    """What was read of texts, without a call for one that is there already."""

    def __init__(self, read):
        self._read = read

    def __missing__(self, text):
        found = self[text] = self._read(text)
        return found


def _look_up(value, read, known):
    try:
        key = (type(value), value, getattr(value, "fold", 0))  # an hour twice, equal and not one
        if key not in known:
            known[key] = read(value)
        return known[key]
    except TypeError:  # not hashable
        return read(value)
