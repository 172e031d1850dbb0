"""What a worker reads: the rows of one partition, checked."""

from dataclasses import dataclass

import numpy as np

from ..._values import columns_like
from .persons import (
    PERSON_UNITS,
    WEIGHT_UNITS,
    Chunk,
    check_floats,
    encode_labels,
    encode_persons,
    encode_weights,
    shared_masses,
    split_chunk,
)

BESIDE = "skdp_bary "  # what columns that are joined to the rows are called
_SLICE_VALUES = 1 << 18  # counted at once: what is computed of them is a multiple of 2 MB


@dataclass(frozen=True, eq=False)
class PartReader:
    """What workers are told about the rows: public facts, no budget, no randomness.

    Parameters
    ----------
    n_features : int
    classes : ndarray or None
        Public labels.
    weighted, grouped : bool
        Whether there are weights and person ids.
    mass_bounds : (low, high), Box, Ball, Mask or None
        Public domain outside of which rows carry no mass of a person.
    names : list or None
        Of the columns, in order; None where rows have no names.
    """

    n_features: int
    classes: np.ndarray | None
    weighted: bool
    grouped: bool
    mass_bounds: object
    names: list | None

    def chunks(self, least_rows, *part):
        """Yield the rows of one partition, checked, slice by slice.

        Parameters
        ----------
        least_rows : int
            Slices are not shorter, except the last one.
        *part
            The partition and what is beside it.
        """
        n_rows = max(least_rows, _SLICE_VALUES // max(self.n_features, 1), 1)
        if not self.grouped:
            for piece in _slices(n_rows, *part):
                X, codes, masses, _ = self.read(*piece)
                yield Chunk(X, codes, masses, units=WEIGHT_UNITS)
            return
        X, codes, masses, persons = self.read(*part)
        if not len(X):
            return
        starts, masses = shared_masses(X, codes, persons, masses, self.mass_bounds)
        del persons
        yield from Chunk(X, codes, masses, starts=starts, units=PERSON_UNITS).parts(n_rows)

    def n_persons(self, *part):
        """Return the number of persons of one partition."""
        if not self.grouped:
            return sum(len(chunk.X) for chunk in self.chunks(1, *part))
        persons = self.read(*part)[-1]
        return int(persons.max(initial=-1)) + 1

    def one_class(self, *part):
        """Return whether no person of one partition has rows in two classes."""
        _, codes, _, persons = self.read(*part)
        if codes is None or persons is None:
            return True
        return len(np.unique(np.stack([persons, codes]), axis=1).T) == len(np.unique(persons))

    def read(self, X, y, weights, ids, limits):
        """Return rows, codes, weights and persons of one partition."""
        X, codes, weights, ids = self.values(X, y, weights, ids)
        if limits is not None:
            ids = limits.checked(ids)
        persons = encode_persons(ids, len(X)) if self.grouped else None
        return X, codes, weights, persons

    def values(self, X, y, weights, ids):
        """Return rows, codes, integer weights and ids of one partition."""
        if hasattr(X, "iloc"):
            X, y, weights, ids = _apart(X, y, weights, ids)
        elif isinstance(X, tuple):
            X, y, weights = split_chunk(X)
        X = check_floats(columns_like(X, self.names, "A partition"))
        if X.shape[1] != self.n_features:
            raise ValueError(f"A partition has {X.shape[1]} features, but X has {self.n_features}.")
        if (weights is not None) != self.weighted:
            raise ValueError("Either every chunk carries sample_weight or none does.")
        codes = None if self.classes is None else encode_labels(y, self.classes, len(X))
        return X, codes, encode_weights(weights, len(X)), ids


@dataclass(frozen=True)
class Limits:
    """The person ids that may be in one partition: from `low` on, up to `high`."""

    low: object
    high: object
    last: bool

    def checked(self, ids):
        """Return ids that are all within: those of different partitions are different then."""
        values = np.asarray(ids)
        below = values <= self.high if self.last else values < self.high
        if not bool(np.all((values >= self.low) & below)):
            raise ValueError(
                "groups has ids outside the divisions of their partition, so the rows of a person "
                "may not lie together. Set the index anew, or pass groups as a column."
            )
        return ids


def _slices(n_rows, X, y, weights, ids, limits):
    """Yield a partition slice by slice; in one where its rows are in no array or dataframe."""
    if isinstance(X, tuple):
        X, y, weights = split_chunk(X)
    values = (X, y, weights)
    length = len(X) if _can_be_cut(X) else 0
    if not all(v is None or (_can_be_cut(v) and len(v) == length) for v in values):
        length = 0
    for start in range(0, max(length, 1), n_rows):
        rows = slice(start, start + n_rows) if length else None
        yield *(_cut(v, rows) for v in values), ids, limits


def _can_be_cut(values):
    return hasattr(values, "iloc") or isinstance(values, np.ndarray)


def _cut(values, rows):
    if values is None or rows is None:
        return values
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


def _apart(frame, *beside):
    """Return rows, labels, weights and ids of a partition; some may have been joined to it."""
    names = ("y", "sample_weight", "groups")
    values = zip(names, beside, strict=True)
    beside = [frame[BESIDE + n] if BESIDE + n in frame.columns else v for n, v in values]
    return frame.drop(columns=[BESIDE + n for n in names], errors="ignore"), *beside
