"""States of sketches on their way between machines: as few bytes as their integers need."""

from dataclasses import dataclass
from io import BytesIO

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


def to_bytes(packed):
    """Return a packed state as bytes that hold arrays and nothing that could be run."""
    arrays = {}
    for i, part in enumerate(packed):
        if isinstance(part, PackedIntegers):
            arrays |= {f"{i}.shape": np.array(part.shape, dtype=np.int64), f"{i}.0": part.values}
            arrays |= {} if part.places is None else {f"{i}.1": part.places}
        else:
            arrays |= {f"{i}.{j}": array for j, array in enumerate(part.arrays())}
    stream = BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def from_bytes(data, zeros):
    """Return the packed state of which `data` was made.

    Parameters
    ----------
    data : bytes
    zeros : tuple
        The state of no rows: parts that are no arrays are added to it.
    """
    with np.load(BytesIO(data), allow_pickle=False) as arrays:
        return tuple(_part(arrays, i, part) for i, part in enumerate(zeros))


def _part(arrays, i, part):
    if isinstance(part, np.ndarray):
        shape = tuple(arrays[f"{i}.shape"].tolist())
        return PackedIntegers(shape, arrays[f"{i}.0"], arrays.get(f"{i}.1"))
    part.add_arrays(*(arrays[name] for name in arrays.files if name.startswith(f"{i}.")))
    return part


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
