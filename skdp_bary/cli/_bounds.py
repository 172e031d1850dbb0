"""Public ranges of columns, as they are written on the command line."""

from shlex import quote

from ..geometry._bounds import check_domain
from ._tables import refuse_doubles


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
        ranges = list(map(_range, given))
        refuse_doubles("--bounds", [name for name, _ in ranges])
        return check_domain(dict(ranges), len(columns), columns)
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
    sides = (c * len(columns) if len(c) == 1 else c for c in (low, high))
    ranges = dict(zip(columns, zip(*sides, strict=True), strict=True))
    return check_domain(ranges, len(columns), columns)


_SPELLINGS = "name=low:high for every column, or two numbers, or two lists of numbers"


def _refuse_other_reading(low, high, columns):
    """Refuse two lists of two that could be the ranges of two columns."""
    if len(low) == len(high) == 2 and low[1] != high[0]:
        by_column = low[0] < low[1] and high[0] < high[1]
        if by_column:
            corners = zip(columns, zip(low, high, strict=True), strict=True)
            in_turn = zip(columns, (low, high), strict=True)
            raise ValueError(
                f"--bounds {_list(low)} {_list(high)} can be read in two ways. For all lows and "
                f"all highs write --bounds {_by_name(corners)}; for one range after the other "
                f"write --bounds {_by_name(in_turn)}."
            )


def _by_name(ranges):
    return " ".join(quote(f"{name}={low:g}:{high:g}") for name, (low, high) in ranges)


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
