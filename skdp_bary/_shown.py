"""Refused values in messages: short, on one line, and never what may be private rows."""

from collections.abc import Collection

LONGEST = 200  # characters of a refused value
_FEW = 4  # lists in a list: more may be rows


def shown(value):
    """Return a refused value as text of one line, cut where it is long.

    Tables, arrays and lists of many lists may be private rows in the wrong place: of those only the
    type is told.
    """
    if getattr(value, "shape", ()) != () or _may_be_rows(value):
        return f"a value of type {type(value).__name__}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a number of thousands of digits, an object that cannot say what it is
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _may_be_rows(value):
    if not isinstance(value, (list, tuple)):
        return False
    inside = [one for one in value if isinstance(one, Collection) and not isinstance(one, str)]
    return len(inside) > _FEW or any(getattr(one, "shape", ()) != () for one in inside)
