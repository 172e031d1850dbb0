"""Rows that come in chunks, and what chunks and arrays do alike."""

from collections.abc import Iterable
from itertools import chain

import numpy as np

from ..._values import column_names, columns_like
from .persons import WEIGHT_UNITS, Chunk, check_floats, encode_labels, encode_weights, split_chunk
from .recoding import RecodedChunks, RecodedFunction

_CHUNK_MESSAGES = {
    "y": "With chunked X, y must be None: give labels inside the chunks, as tuples (X, y).",
    "sample_weight": "With chunked X, sample_weight must be None: give it inside the chunks, as "
    "tuples (X, y, sample_weight).",
    "groups": "groups needs all rows of a person at once, and chunks may split them; pass one "
    "array, or one row per person.",
}


def refuse_beside_chunks(**given):
    """Raise where labels, ids or weights stand beside chunks, which carry their own."""
    for name, values in given.items():
        if values is not None:
            raise ValueError(_CHUNK_MESSAGES[name])


def names_no_column(part, name):
    """Return in words that columns cannot be named here."""
    return (
        f"{part}={name!r} names a column, which works for Dask dataframes and Parquet paths. "
        f"Pass the values, such as frame[{name!r}], and leave that column out of X."
    )


def as_given(X, **beside):
    """Return rows and what is beside them, of which nothing may be the name of a column."""
    for part, name in beside.items():
        if isinstance(name, str):
            raise ValueError(names_no_column(part, name))
    return X, beside


def distinct_values(y):
    """Return the different labels in order."""
    return np.unique(np.asarray(y))


class ChunkSource:
    """Rows that come in chunks, from an iterator or from something that can be read again."""

    grouped = False
    n_parts = 1

    @staticmethod
    def takes(X):
        """Whether `X` is an iterator, a function returning one, or a list of 2-d chunks."""
        if hasattr(X, "__next__") or (callable(X) and not hasattr(X, "__array__")):
            return True
        if not isinstance(X, (list, tuple)) or not X:
            return False
        first = X[0][0] if isinstance(X[0], tuple) and X[0] else X[0]
        return np.ndim(first) == 2

    columns = staticmethod(as_given)
    distinct_labels = staticmethod(distinct_values)

    @staticmethod
    def recoded(X, recode):
        """Return chunks of numbers, which can be read as often as those given."""
        if hasattr(X, "__next__"):
            return iter(RecodedChunks(X, recode))
        return RecodedFunction(X, recode) if callable(X) else RecodedChunks(X, recode)

    def __init__(self, chunks, y, groups, sample_weight, classes, mass_bounds=None):
        refuse_beside_chunks(y=y, groups=groups, sample_weight=sample_weight)
        self._classes = classes
        self.rereadable = not hasattr(chunks, "__next__")
        self._chunks = chunks
        self._was_read = False
        iterator = self._iterate()
        if callable(chunks) and self._iterate() is iterator:
            raise ValueError("X must return a new iterator every time it is called.")
        first = next(iterator, None)
        if first is None:
            raise ValueError("X has no chunks: at least one row is required.")
        if not self.rereadable:
            self._chunks = chain([first], iterator)
        X, _, weights = split_chunk(first)
        self._names = column_names(X)
        self.named = None if self._names is None else X[:0]
        self.n_features = check_floats(X).shape[1]
        self.weighted = weights is not None

    def count_persons(self):
        """Number of rows; chunks carry no person ids."""
        if not self.rereadable:
            raise ValueError(
                "An iterator of chunks can be read once; give n_hint, the public number of rows."
            )
        return sum(len(split_chunk(item)[0]) for item in self._iterate())

    def read(self, part):
        """Yield every chunk, checked."""
        if self._was_read and not self.rereadable:
            raise ValueError(
                "This fit reads the rows more than once, and an iterator of chunks is spent after "
                "one reading; pass a list of chunks or a function that returns a new iterator."
            )
        self._was_read = True
        for item in self._iterate():
            yield self._check(item)

    def _iterate(self):
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        if not isinstance(chunks, Iterable):
            raise TypeError(
                "X is a function, which must return an iterator of chunks of rows, but returned "
                f"{type(chunks).__name__}."
            )
        return iter(chunks)

    def _check(self, item):
        X, y, weights = split_chunk(item)
        X = check_floats(columns_like(X, self._names, "A chunk"))
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"A chunk has {X.shape[1]} features, but the first one has {self.n_features}."
            )
        if (weights is not None) != self.weighted:
            raise ValueError("Either every chunk carries sample_weight or none does.")
        codes = None if self._classes is None else encode_labels(y, self._classes, len(X))
        return Chunk(X, codes, encode_weights(weights, len(X)), units=WEIGHT_UNITS)
