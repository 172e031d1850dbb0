"""Public ranges of columns, as they are written on the command line."""

import numpy as np

from ..geometry._bounds import check_domain


def read_bounds(given, columns, named):
    """Return the domain that ``--bounds`` names, or None.

    Parameters
    ----------
    given : list of str or None
        ``name=low:high`` for every column; or two numbers, or two lists of numbers.
    columns : list of str
        Columns that make a row.
    named : bool
        Whether the columns were named, and are not all that the table has.
    """
    if given is None:
        return None
    if any("=" in text for text in given):
        return check_domain(dict(map(_range, given)), len(columns), columns)
    if len(given) != 2:
        raise ValueError(f"--bounds must be {_SPELLINGS}, got {' '.join(given)}.")
    low, high = ([_number(number) for number in text.split(",")] for text in given)
    for corner in (low, high):
        if len(corner) not in (1, len(columns)):
            raise ValueError(
                f"--bounds must be {_SPELLINGS}, two lists of {len(columns)} for the columns "
                f"{', '.join(columns)}; got {' '.join(given)}."
                + ("" if named else " Without --columns all columns of the table make a row.")
            )
    _refuse_other_reading(low, high, columns)
    sides = (np.full(len(columns), c[0]) if len(c) == 1 else np.array(c) for c in (low, high))
    return check_domain(tuple(sides), len(columns))


_SPELLINGS = "name=low:high for every column, or two numbers, or two lists of numbers"


def _refuse_other_reading(low, high, columns):
    """Refuse two lists of two that could be the ranges of two columns."""
    if len(low) == len(high) == 2 and low[1] != high[0]:
        by_column = low[0] < low[1] and high[0] < high[1]
        if by_column:
            first, second = columns
            raise ValueError(
                f"--bounds {_list(low)} {_list(high)} can be read in two ways. For all lows and "
                f"all highs write --bounds {first}={low[0]:g}:{high[0]:g} "
                f"{second}={low[1]:g}:{high[1]:g}; for one range after the other write --bounds "
                f"{first}={low[0]:g}:{low[1]:g} {second}={high[0]:g}:{high[1]:g}."
            )


def _range(text):
    name, _, ends = text.rpartition("=")
    low, colon, high = ends.partition(":")
    if not name or not colon:
        raise ValueError(f"--bounds must be {_SPELLINGS}, got {text!r}.")
    return name, (_number(low), _number(high))


def _number(text):
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--bounds must be {_SPELLINGS}, got {text!r} for a number.") from None


def _list(corner):
    return ",".join(f"{number:g}" for number in corner)
