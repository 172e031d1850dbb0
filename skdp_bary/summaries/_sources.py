"""Where rows come from: arrays and dataframes, chunks, Dask collections."""

from itertools import chain

import numpy as np
from sklearn.utils.validation import check_array

from ..geometry._domains import check_domain
from ._rows import Chunk, check_floats, encode_labels, encode_persons, encode_weights, person_masses

CHUNK_ROWS = 1 << 19


def open_source(X, y=None, *, groups=None, sample_weight=None, classes=None, mass_bounds=None):
    """Return the source that fits the kind of `X`.

    Parameters
    ----------
    X : array-like, dataframe, Dask array or dataframe, or chunks
        Chunks come from an iterator, or from a list or a function that can be read again. A chunk
        is ``X`` or a tuple ``(X, y)`` or ``(X, y, sample_weight)``.
    y, groups, sample_weight : array-like of shape (n_rows,), optional
        Labels, person ids and weights; chunks carry their own labels and weights.
    classes : ndarray or None
        Public labels. None: labels do not matter.
    mass_bounds : (low, high), Box, Ball, Mask or None
        Public domain among whose rows a person's mass is shared; None: among all rows. A query
        that is asked with such bounds leaves out the rows outside.
    """
    if is_dask(X):
        return DaskSource(X, y, groups, sample_weight, classes)
    if is_chunked(X):
        for name, given in (("y", y), ("groups", groups), ("sample_weight", sample_weight)):
            if given is not None:
                raise ValueError(_CHUNK_MESSAGES[name])
        return ChunkSource(X, classes)
    return ArraySource(X, y, groups, sample_weight, classes, mass_bounds)


_CHUNK_MESSAGES = {
    "y": "With chunked X, y must be None: give labels inside the chunks, as tuples (X, y).",
    "sample_weight": "With chunked X, sample_weight must be None: give it inside the chunks, as "
    "tuples (X, y, sample_weight).",
    "groups": "groups needs all rows of a person at once, and chunks may split them; pass one "
    "array, or one row per person.",
}


def is_dask(X):
    """Whether `X` is a Dask collection, without importing Dask."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def is_chunked(X):
    """Whether `X` is an iterator, a function returning one, or a list of 2-d chunks."""
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
        if not hasattr(X, "iloc"):
            X = check_array(X, dtype="numeric", ensure_all_finite=False)
        elif X.shape[0] == 0:
            raise ValueError("Found a dataframe with 0 sample(s): at least one row is required.")
        self._X = X
        self._views = {}
        self._n_rows, self.n_features = X.shape
        self.weighted = sample_weight is not None
        self.grouped = groups is not None
        self._n_persons = self._n_rows
        self._persons = self._kept = None
        self._codes = None if classes is None else encode_labels(y, classes, self._n_rows)
        self._masses = encode_weights(sample_weight, self._n_rows)
        if self.grouped:
            persons = encode_persons(groups, self._n_rows)
            self._n_persons = int(persons.max()) + 1
            self._persons = persons
            points, weights = check_floats(X), self._masses
            if mass_bounds is not None:
                inside = check_domain(mass_bounds, self.n_features).contains(points)
                weights = inside.astype(np.int64) if weights is None else weights * inside
            self._masses = person_masses(points, self._codes, persons, weights)

    def count_persons(self):
        """Number of persons."""
        return self._n_persons

    def keep_persons(self, draw):
        """From now on read the rows of some persons only.

        Parameters
        ----------
        draw : callable
            Returns which persons to keep, from the class of each (zeros without classes).
        """
        kept = draw(self._classes_of_persons())
        self._n_persons = int(kept.sum())
        self._kept = kept if self._persons is None else kept[self._persons]
        self._views = {}

    def __getstate__(self):
        return vars(self) | {"_views": {}}  # workers fill their own

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
        view, X = X, check_floats(X)
        if self._kept is None:
            chunk = Chunk(X, codes, masses)
            if isinstance(view, np.ndarray) and np.may_share_memory(X, view):
                self._views[part] = chunk
            yield chunk
        else:
            kept = self._kept[rows]
            yield Chunk(X[kept], *(a if a is None else a[kept] for a in (codes, masses)))


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
        X, _, weights = _split(first)
        self.n_features = check_floats(X).shape[1]
        self.weighted = weights is not None

    def count_persons(self):
        """Number of rows; chunks carry no person ids."""
        if not self.rereadable:
            raise ValueError(
                "An iterator of chunks can be read once; give n_hint, the public number of rows."
            )
        return sum(len(_split(item)[0]) for item in self._iterate())

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
        return iter(self._chunks()) if callable(self._chunks) else iter(self._chunks)

    def _check(self, item):
        X, y, weights = _split(item)
        X = check_floats(X)
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"A chunk has {X.shape[1]} features, but the first one has {self.n_features}."
            )
        if (weights is not None) != self.weighted:
            raise ValueError("Either every chunk carries sample_weight or none does.")
        codes = None if self._classes is None else encode_labels(y, self._classes, len(X))
        return Chunk(X, codes, encode_weights(weights, len(X)))


class DaskSource:
    """Rows of a Dask array or dataframe; every partition is a part, read on the workers."""

    grouped = False
    rereadable = True

    def __init__(self, X, y, groups, sample_weight, classes):
        if groups is not None:
            raise ValueError(
                "groups needs all rows of a person at once, and Dask partitions may split them; "
                "pass one array, or one row per person."
            )
        self._classes = classes
        self.weighted = sample_weight is not None
        self.n_features = X.shape[1]
        self.delayed_parts = list(
            zip(_delayed(X), _delayed_like(y, X), _delayed_like(sample_weight, X), strict=True)
        )
        self.n_parts = len(self.delayed_parts)
        self._X = X

    def count_persons(self):
        """Number of rows."""
        return int(len(self._X))

    def check(self, X, y, weights):
        """Return one partition as a checked chunk (runs on a worker)."""
        codes = None if self._classes is None else encode_labels(y, self._classes, len(X))
        return Chunk(check_floats(X), codes, encode_weights(weights, len(X)))

    def for_workers(self):
        """Return a copy without the collection, light enough to be sent to workers."""
        light = object.__new__(DaskSource)
        light._classes = self._classes
        return light


def _split(item):
    """Return (X, y, sample_weight) of one chunk."""
    parts = item if isinstance(item, tuple) else (item,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(
            f"A chunk is X, (X, y) or (X, y, sample_weight), got a tuple of {len(parts)}."
        )
    return parts + (None,) * (3 - len(parts))


def _delayed(X):
    if hasattr(X, "chunks"):
        if len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        return list(X.to_delayed()[:, 0])
    return list(X.to_delayed())


def _delayed_like(values, X):
    """Return the delayed parts of `values`, cut as `X` is; a list of None for None."""
    count = X.numblocks[0] if hasattr(X, "numblocks") else X.npartitions
    if values is None:
        return [None] * count
    if not is_dask(values):
        raise ValueError("With Dask X, y and sample_weight must be Dask collections too.")
    parts = list(np.ravel(values.to_delayed()))
    if len(parts) != count:
        raise ValueError(f"y or sample_weight has {len(parts)} partitions, but X has {count}.")
    return parts
