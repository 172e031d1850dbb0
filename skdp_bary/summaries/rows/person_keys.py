"""Keys of persons that agree wherever they are computed: on every worker, in every chunk."""

import hashlib
from numbers import Integral

import numpy as np

from .numbering import number_objects
from .persons import plain_ids

_HASHED = 1  # in second words of keys; integers that fit have 0 there


def person_keys(groups, n_rows):
    """Return two arrays of int64 that agree for equal person ids, whichever worker computes them.

    Integers are their own keys. Strings, and integers beyond 64 bits, are hashed to 127 bits, so
    those of two persons agree with a probability below ``n**2 / 2**127`` for n persons.
    """
    values = plain_ids(groups, n_rows)
    low, high = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
    if values.dtype.kind in "bi" or values.dtype in (np.uint8, np.uint16, np.uint32):
        low[:] = values
        return low, high
    places = number_objects(values.astype(object))
    rows = np.empty(int(places.max(initial=-1)) + 1, dtype=np.int64)  # one of each
    rows[places] = np.arange(n_rows)
    keys = np.array([_key(value) for value in values[rows].tolist()], dtype=np.int64).reshape(-1, 2)
    return keys[places, 0], keys[places, 1]


def _key(value):
    if isinstance(value, (Integral, np.bool_)):
        value = int(value)
        if -(1 << 63) <= value < 1 << 63:
            return value, 0
        text = f"integer {value}"
    else:
        text = "text " + value  # formatted, a member of an Enum is its name
    words = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    low, high = np.frombuffer(words, dtype="<i8").tolist()
    return low, high | _HASHED


def numbered(low, high):
    """Return equal integers, counted from 0, exactly for equal keys."""
    first, second = (np.unique(words, return_inverse=True)[1] for words in (low, high))
    return np.unique(first * (int(second.max(initial=0)) + 1) + second, return_inverse=True)[1]
