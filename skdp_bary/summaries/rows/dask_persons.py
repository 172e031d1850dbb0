"""All rows of a person in one partition: a shuffle by Dask."""

from dataclasses import dataclass, replace

import numpy as np

from ..._optional import import_optional
from .partitions import PartReader
from .person_keys import numbered, person_keys
from .person_pieces import divided
from .quiet import Quiet

_LOW, _HIGH, _CODE, _WEIGHT = "person_low", "person_high", "code", "weight"


@dataclass(frozen=True, eq=False)
class GatheredReader(PartReader):
    """Reads partitions of a shuffle: frames of checked rows with the keys of their persons."""

    def read(self, frame):
        """Return rows, codes, weights and persons of one partition."""
        X = frame[_feature_names(self.n_features)].to_numpy(dtype=np.float64)
        codes = None if self.classes is None else frame[_CODE].to_numpy()
        weights = frame[_WEIGHT].to_numpy() if self.weighted else None
        return X, codes, weights, numbered(frame[_LOW].to_numpy(), frame[_HIGH].to_numpy())

    def of_whole_persons(self, n_rows, frame):
        """Yield a partition in pieces of about `n_rows`, in each of which persons are whole."""
        if len(frame) <= n_rows:
            yield (frame,)
            return
        for rows in divided(frame[_LOW].to_numpy(), len(frame), -(-len(frame) // n_rows)):
            yield (frame.iloc[rows],)


def gathered(reader, parts):
    """Return the reader and the parts of the same rows after a shuffle by person.

    Which partition a person goes to follows from the id alone.
    """
    dask = import_optional("dask", "dask", "groups on a cluster")
    frames = import_optional("dask.dataframe", "dask", "groups on a cluster")
    shuffled = GatheredReader(**vars(reader))
    frame_of = dask.delayed(Quiet(_frame), pure=False)
    of_all = dask.delayed(reader, pure=False, traverse=False)
    frame = frames.from_delayed(
        [frame_of(of_all, *part) for part in parts], meta=_meta(reader), verify_meta=False
    )
    frame = frame.shuffle(on=[_LOW, _HIGH], npartitions=len(parts))
    return shuffled, [(part,) for part in frame.to_delayed()]


def _frame(reader, X, y, weights, ids, limits):
    """Return a partition as a frame of checked rows (runs on a worker)."""
    pandas = import_optional("pandas", "dask", "groups on a cluster")
    X, codes, weights, ids = reader.values(X, y, weights, ids)
    low, high = person_keys(ids, len(X))
    rows = pandas.DataFrame(X, columns=_feature_names(X.shape[1]), copy=False)
    columns = {_LOW: low, _HIGH: high, _CODE: codes, _WEIGHT: weights}
    for name, values in columns.items():
        if values is not None:
            rows[name] = values
    return rows


def _feature_names(n_features):
    return [f"x{i}" for i in range(n_features)]


def _meta(reader):
    reader = replace(reader, names=None)
    empty = np.zeros((0, reader.n_features))
    labels = None if reader.classes is None else np.asarray(reader.classes)[:0]
    weights = np.zeros(0) if reader.weighted else None
    return _frame(reader, empty, labels, weights, np.zeros(0, dtype=np.int64), None)
