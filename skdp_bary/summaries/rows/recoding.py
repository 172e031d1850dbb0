"""Tables on their way to numbers: a public function that is given before any value is looked at."""

from collections.abc import Iterable

import numpy as np

from ..._optional import import_optional
from ..._values import column_names
from .persons import split_chunk


class RecodedChunks:
    """Chunks whose rows are recoded, iterated anew as often as the chunks themselves.

    Parameters
    ----------
    chunks : iterable
        Chunks, as rows or tuples.
    recode : callable
        Takes a table and returns its rows as numbers, each row by itself.
    """

    def __init__(self, chunks, recode):
        self._chunks, self._recode = chunks, recode

    def __iter__(self):
        return (recoded_chunk(item, self._recode) for item in self._chunks)


class RecodedFunction:
    """The same for a function that returns chunks."""

    def __init__(self, function, recode):
        self._function, self._recode = function, recode
        self._last = None, None

    def __call__(self):
        """Return the next chunks; the same object where the function returns the same iterator."""
        chunks = self._function()
        if not isinstance(chunks, Iterable):
            return chunks
        if chunks is not self._last[0] or not hasattr(chunks, "__next__"):
            self._last = chunks, iter(RecodedChunks(chunks, self._recode))
        return self._last[1]


def recoded_chunk(item, recode):
    """Return one chunk with its rows recoded."""
    X, *beside = split_chunk(item)
    return (recode(X), *beside) if isinstance(item, tuple) else recode(X)


def recoded_collection(X, recode):
    """Return a Dask collection, or delayed chunks, whose rows are recoded on the workers."""
    if isinstance(X, (list, tuple)):
        delayed = import_optional("dask", "dask", "rows on a cluster").delayed
        return [delayed(recoded_chunk, pure=False)(chunk, recode) for chunk in X]
    if hasattr(X, "divisions"):
        of_frame = RecodedFrame(recode)
        return X.map_partitions(of_frame, meta=of_frame(X._meta))
    X = X.rechunk({1: -1})
    return X.map_blocks(recode, dtype=np.float64, meta=np.empty((0, 0)))


class RecodedFrame:
    """Recodes a pandas frame and keeps its index and the names of its columns."""

    def __init__(self, recode):
        self._recode = recode

    def __call__(self, frame):
        """Return the frame of numbers."""
        rows = self._recode(frame)
        names = self._recode.names or column_names(frame)
        return type(frame)(rows, columns=names, index=frame.index)
