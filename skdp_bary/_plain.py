"""What is a number and what is text, and numbers of any type as plain ones of Python."""

from numbers import Integral, Real

import numpy as np


def is_integer(value):
    """Whether a value is a whole number; truth values are none, and neither are durations."""
    # numpy registers its durations as integers, with which they cannot be compared
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_, np.timedelta64))


def is_number(value):
    """Whether a value is a real number; truth values are none, and neither are durations."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_, np.timedelta64))


def plain(value):
    """Return a number, truth value or text as that of Python, and anything else as it is.

    Numbers of numpy overflow, lose digits and divide by zero in silence; fractions are refused by
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


def is_bytes(value):
    """Whether a value is of bytes, which numpy reads as numbers or as text."""
    return isinstance(value, (bytes, bytearray, memoryview))


def is_text(value):
    """Whether text can be written: half of a surrogate pair is in no file of UTF-8."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
