"""All rows of a person in one partition: a shuffle by Dask, and keys that agree on every worker."""

import hashlib
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from ..._optional import import_optional
from ..._values import is_missing
from .partitions import PartReader
from .persons import as_objects, column

_LOW, _HIGH, _CODE, _WEIGHT = "person_low", "person_high", "code", "weight"
_MISSING, _HASHED = 2, 1  # second words of keys; integers that fit have 0 there


@dataclass(frozen=True, eq=False)
class GatheredReader(PartReader):
    """Reads partitions of a shuffle: frames of checked rows with the keys of their persons."""

    def read(self, frame):
        """Return rows, codes, weights and persons of one partition."""
        X = frame[_feature_names(self.n_features)].to_numpy(dtype=np.float64)
        codes = None if self.classes is None else frame[_CODE].to_numpy()
        weights = frame[_WEIGHT].to_numpy() if self.weighted else None
        return X, codes, weights, _persons(frame[_LOW].to_numpy(), frame[_HIGH].to_numpy())


def gathered(reader, parts):
    """Return the reader and the parts of the same rows after a shuffle by person.

    Which partition a person goes to follows from the id alone.
    """
    dask = import_optional("dask", "dask", "groups on a cluster")
    frames = import_optional("dask.dataframe", "dask", "groups on a cluster")
    shuffled = GatheredReader(**vars(reader))
    frame_of = dask.delayed(_frame, pure=False)
    of_all = dask.delayed(reader, pure=False, traverse=False)
    frame = frames.from_delayed(
        [frame_of(of_all, *part) for part in parts], meta=_meta(reader), verify_meta=False
    )
    frame = frame.shuffle(on=[_LOW, _HIGH], npartitions=len(parts))
    return shuffled, [(part,) for part in frame.to_delayed()]


def person_keys(groups, n_rows):
    """Return two arrays of int64 that agree for equal person ids, whichever worker computes them.

    Integers are their own keys. Strings, and integers beyond 64 bits, are hashed to 127 bits, so
    those of two persons agree with a probability below ``n**2 / 2**127`` for n persons. All missing
    ids are one person.
    """
    plain = isinstance(getattr(groups, "dtype", None), np.dtype)
    values = column(groups if plain else as_objects(groups), "groups", n_rows)
    low, high = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
    if values.dtype.kind in "bi" or values.dtype in (np.uint8, np.uint16, np.uint32):
        low[:] = values
        return low, high
    if values.dtype.kind not in "uUO":
        raise ValueError(f"groups must hold integers or strings, got dtype {values.dtype}.")
    known, places = {}, np.empty(n_rows, dtype=np.int64)
    for row, value in enumerate(values.tolist()):
        value = None if is_missing(value) else value
        places[row] = known.setdefault(value, len(known))
    keys = np.array([_key(value) for value in known], dtype=np.int64).reshape(-1, 2)
    return keys[places, 0], keys[places, 1]


def _key(value):
    if value is None:
        return 0, _MISSING
    if isinstance(value, (Integral, np.bool_)):
        value = int(value)
        if -(1 << 63) <= value < 1 << 63:
            return value, 0
        text = f"integer {value}"
    elif isinstance(value, str):
        text = f"text {value}"
    else:
        raise ValueError(
            f"groups on a cluster must hold integers or strings, got {type(value).__name__}."
        )
    words = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    low, high = np.frombuffer(words, dtype="<i8").tolist()
    return low, high | _HASHED


def _frame(reader, X, y, weights, ids, limits):
    """Return a partition as a frame of checked rows (runs on a worker)."""
    pandas = import_optional("pandas", "dask", "groups on a cluster")
    X, codes, weights, ids = reader.values(X, y, weights, ids)
    low, high = person_keys(ids, len(X))
    rows = pandas.DataFrame(X, columns=_feature_names(X.shape[1]))
    columns = {_LOW: low, _HIGH: high}
    if codes is not None:
        columns[_CODE] = codes
    if weights is not None:
        columns[_WEIGHT] = weights
    return pandas.concat([rows, pandas.DataFrame(columns)], axis=1)


def _feature_names(n_features):
    return [f"x{i}" for i in range(n_features)]


def _meta(reader):
    reader = replace(reader, names=None)
    empty = np.zeros((0, reader.n_features))
    labels = None if reader.classes is None else np.asarray(reader.classes)[:0]
    weights = np.zeros(0) if reader.weighted else None
    return _frame(reader, empty, labels, weights, np.zeros(0, dtype=np.int64), None)


def _persons(low, high):
    """Return equal integers, counted from 0, exactly for equal keys."""
    first, second = (np.unique(words, return_inverse=True)[1] for words in (low, high))
    return np.unique(first * (int(second.max(initial=0)) + 1) + second, return_inverse=True)[1]
