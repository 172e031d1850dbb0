"""States of sketches on their way between machines: as few bytes as their integers need."""

from dataclasses import dataclass

import numpy as np

_INDEX_BYTES = 4


@dataclass(frozen=True, eq=False)
class PackedIntegers:
    """An array of int64, exactly: in the shortest integers, without zeros where that is shorter.

    Parameters
    ----------
    shape : tuple of int
    values : ndarray
        All integers, or those at `places`.
    places : ndarray or None
        Flat places of the integers that are not zero; None when all are given.
    """

    shape: tuple
    values: np.ndarray
    places: np.ndarray | None

    @property
    def n_bytes(self):
        """Bytes of the arrays."""
        return self.values.nbytes + (0 if self.places is None else self.places.nbytes)

    def add_to(self, array):
        """Add the integers to an array of the same shape, in place."""
        flat = array.reshape(-1)
        if self.places is None:
            flat += self.values
        else:
            flat[self.places] += self.values  # places are different


def pack(state):
    """Return a state with its arrays packed; parts that are no arrays are sparse by themselves."""
    return tuple(_pack(part) if isinstance(part, np.ndarray) else part for part in state)


def unpack_into(state, packed):
    """Add a packed state to `state` in place; the packed one is not changed."""
    for mine, theirs in zip(state, packed, strict=True):
        if isinstance(theirs, PackedIntegers):
            theirs.add_to(mine)
        else:
            mine += theirs


def _pack(array):
    flat = array.reshape(-1)
    low, high = (int(flat.min()), int(flat.max())) if flat.size else (0, 0)
    kind = np.result_type(np.min_scalar_type(low), np.min_scalar_type(high))
    if kind.itemsize == 8:  # int64 adds up with the arrays of sketches, uint64 does not
        kind = np.dtype(np.int64)
    places = np.flatnonzero(flat)
    if flat.size < 1 << 31 and len(places) * (kind.itemsize + _INDEX_BYTES) < flat.size * (
        kind.itemsize
    ):
        return PackedIntegers(array.shape, flat[places].astype(kind), places.astype(np.int32))
    return PackedIntegers(array.shape, flat.astype(kind), None)
