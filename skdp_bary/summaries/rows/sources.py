"""Where rows come from: arrays and dataframes, chunks; those of a cluster are in ``dask``."""

from collections.abc import Iterable
from itertools import chain

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from ..._values import as_numbers, column_names, columns_like
from .dask import DaskSource, is_dask
from .persons import (
    CHUNK_ROWS,
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


def open_source(X, y=None, *, groups=None, sample_weight=None, classes=None, mass_bounds=None):
    """Return the source that fits the kind of `X`.

    Parameters
    ----------
    X : array-like, dataframe, Dask array or dataframe, or chunks
        Chunks come from an iterator, or from a list or a function that can be read again. A chunk
        is ``X`` or a tuple ``(X, y)`` or ``(X, y, sample_weight)``; those of a list may be delayed.
    y, groups, sample_weight : array-like of shape (n_rows,), optional
        Labels, person ids and weights; chunks carry their own labels and weights. Delayed chunks
        have ids beside them, as a list of delayed values.
    classes : ndarray or None
        Public labels. None: labels do not matter.
    mass_bounds : (low, high), Box, Ball, Mask or None
        Public domain among whose rows a person's mass is shared; None: among all rows. A query
        that is asked with such bounds leaves out the rows outside.
    """
    if is_dask(X):
        if isinstance(X, (list, tuple)):
            _refuse_beside_chunks(y=y, sample_weight=sample_weight)
        return DaskSource(X, y, groups, sample_weight, classes, mass_bounds)
    if is_chunked(X):
        _refuse_beside_chunks(y=y, groups=groups, sample_weight=sample_weight)
        return ChunkSource(X, classes)
    return ArraySource(X, y, groups, sample_weight, classes, mass_bounds)


_CHUNK_MESSAGES = {
    "y": "With chunked X, y must be None: give labels inside the chunks, as tuples (X, y).",
    "sample_weight": "With chunked X, sample_weight must be None: give it inside the chunks, as "
    "tuples (X, y, sample_weight).",
    "groups": "groups needs all rows of a person at once, and chunks may split them; pass one "
    "array, or one row per person.",
}


def _refuse_beside_chunks(**given):
    for name, values in given.items():
        if values is not None:
            raise ValueError(_CHUNK_MESSAGES[name])


def is_chunked(X):
    """Whether `X` is an iterator, a function returning one, or a list of 2-d chunks."""
    if is_dask(X):
        return False
    if hasattr(X, "__next__") or (callable(X) and not hasattr(X, "__array__")):
        return True
    if not isinstance(X, (list, tuple)) or not X:
        return False
    first = X[0][0] if isinstance(X[0], tuple) and X[0] else X[0]
    return np.ndim(first) == 2


class ArraySource:
    """Rows held in memory as one array or dataframe, read slice by slice."""

    rereadable = True

    def __init__(self, X, y, groups, sample_weight, classes, mass_bounds=None):
        self.named = X[:0] if hasattr(X, "columns") else None
        if not hasattr(X, "iloc"):
            numbers = X if issparse(X) else as_numbers(X)
            X = check_array(numbers, dtype=None, ensure_all_finite=False)
        elif X.shape[0] == 0:
            raise ValueError("Found a dataframe with 0 sample(s): at least one row is required.")
        self._X = X
        self._views, self._memos = {}, {}
        self._n_rows, self.n_features = X.shape
        self.weighted = sample_weight is not None
        self.grouped = groups is not None
        self._n_persons = self._n_kept = self._n_rows
        self._persons = self._kept = self._starts = None
        self._codes = None if classes is None else encode_labels(y, classes, self._n_rows)
        self._masses = encode_weights(sample_weight, self._n_rows)
        if self.grouped:
            persons = encode_persons(groups, self._n_rows)
            self._n_persons = self._n_kept = int(persons.max()) + 1
            self._persons = persons
            self._starts, self._masses = shared_masses(
                check_floats(X), self._codes, persons, self._masses, mass_bounds
            )

    def count_persons(self):
        """Number of persons that are read."""
        return self._n_kept

    def keep_persons(self, draw):
        """From now on read the rows of some persons only.

        Parameters
        ----------
        draw : callable
            Returns which persons to keep, from the class of each (zeros without classes).
        """
        kept = draw(self._classes_of_persons())
        self._n_kept = int(kept.sum())
        self._kept = kept if self._persons is None else kept[self._persons]
        self._views, self._memos = {}, {}

    def __getstate__(self):
        return vars(self) | {"_views": {}, "_memos": {}}  # workers fill their own

    def _classes_of_persons(self):
        if self._codes is None:
            return np.zeros(self._n_persons, dtype=np.int64)
        if self._persons is None:
            return self._codes
        classes = np.empty(self._n_persons, dtype=np.int64)
        classes[self._persons] = self._codes
        return classes

    @property
    def persons_have_one_class(self):
        """Whether no person has rows in two classes; to be asked only where labels are public."""
        if self._codes is None or self._persons is None:
            return True
        return bool((self._classes_of_persons()[self._persons] == self._codes).all())

    @property
    def n_parts(self):
        """Number of parts that can be read independently."""
        return -(-self._n_rows // CHUNK_ROWS)

    def read(self, part):
        """Yield the chunks of one part; one that is a view of the rows is checked once and kept."""
        if part in self._views:
            yield self._views[part]
            return
        rows = slice(part * CHUNK_ROWS, (part + 1) * CHUNK_ROWS)
        X = self._X.iloc[rows] if hasattr(self._X, "iloc") else self._X[rows]
        codes = None if self._codes is None else self._codes[rows]
        masses = None if self._masses is None else self._masses[rows]
        starts = None if self._starts is None else self._starts[rows]
        units = PERSON_UNITS if self.grouped else WEIGHT_UNITS
        view, X = X, check_floats(X)
        memo = self._memos.setdefault(part, {})
        if self._kept is None:
            chunk = Chunk(X, codes, masses, memo, starts, units)
            if isinstance(view, np.ndarray) and np.may_share_memory(X, view):
                self._views[part] = chunk
            yield chunk
        else:
            kept = self._kept[rows]
            columns = (codes, masses, starts)
            codes, masses, starts = (a if a is None else a[kept] for a in columns)
            yield Chunk(X[kept], codes, masses, memo, starts, units)


class ChunkSource:
    """Rows that come in chunks, from an iterator or from something that can be read again."""

    grouped = False
    n_parts = 1

    def __init__(self, chunks, classes):
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
