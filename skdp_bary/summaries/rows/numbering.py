"""Equal integers for equal ids: by a table, by hashing, or one value after another.

Every way gives the same integers to the same ids up to their order, which nothing but seeded
batches of persons depends on; so which way is taken is a matter of time alone.
"""

import sys

import numpy as np

_TABLE = 4  # entries of a table of integers, for each row
_MANY = 1 << 16  # texts: importing what hashes them faster pays


def number_values(values):
    """Return equal integers, counted from 0, exactly for equal entries of a plain array."""
    if values.dtype.kind in "iu" and values.size:
        low, high = int(values.min()), int(values.max())
        if high - low < _TABLE * values.size:
            return _by_table(values, low, high)
    if values.dtype.kind == "U":
        found = _by_arrow(values)
        if found is not None:
            return found
    return np.unique(values, return_inverse=True)[1]


def number_objects(values):
    """Return equal integers, counted from 0, exactly for equal objects."""
    listed = values.tolist()
    if set(map(type, listed)) == {str}:
        found = _by_arrow(values)
        if found is not None:
            return found
    places = {}
    found = (places.setdefault(value, len(places)) for value in listed)
    return np.fromiter(found, np.int64, len(listed))


def _by_table(values, low, high):
    if values.dtype.kind == "i":
        values = values.astype(np.int64, copy=False)  # differences of shorter ones overflow
    offsets = (values - values.dtype.type(low)).astype(np.intp, copy=False)
    present = np.zeros(high - low + 1, dtype=bool)
    present[offsets] = True
    return (np.cumsum(present) - 1)[offsets]


def _by_arrow(texts):
    """Return the places of texts in a dictionary; None where Arrow is not there or cannot say."""
    if "pyarrow" not in sys.modules and len(texts) < _MANY:
        return None
    try:
        import pyarrow
    except ImportError:
        return None
    try:
        column = pyarrow.array(texts, type=pyarrow.large_string())
    except (pyarrow.ArrowException, UnicodeError):  # halves of surrogates are no UTF-8
        return None
    return column.dictionary_encode().indices.to_numpy().astype(np.int64)
