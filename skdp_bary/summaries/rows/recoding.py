"""Tables on their way to numbers: a public function that is given before any value is looked at."""

from collections.abc import Iterable

import numpy as np

from ..._optional import import_optional
from ..._values import column_names
from .persons import split_chunk
from .quiet import Quiet, quiet_items


def mapped(chunks, function):
    """Return what a function makes of chunks, which can be read as often as those given.

    Parameters
    ----------
    chunks : iterator, iterable or function
        Where it has ``before_rows``, a chunk without rows, so has what is returned.
    function : callable
        Takes a chunk, as rows or a tuple.
    """
    if hasattr(chunks, "__next__"):
        return iter(MappedChunks(chunks, function))
    if callable(chunks):
        return MappedFunction(chunks, function)
    return MappedChunks(chunks, function)


class MappedChunks:
    """What a function makes of chunks, iterated anew as often as the chunks themselves."""

    def __init__(self, chunks, function):
        self._chunks, self._function = chunks, function
        before = getattr(chunks, "before_rows", None)
        self.before_rows = None if before is None else function(before)

    def __iter__(self):
        return (self._function(item) for item in quiet_items(iter(self._chunks)))


class MappedFunction:
    """The same for a function that returns chunks."""

    def __init__(self, chunks, function):
        self._chunks, self._function = chunks, function
        self._last = None, None

    def __call__(self):
        """Return the next chunks; the same object where the function returns the same iterator."""
        chunks = self._chunks()
        if not isinstance(chunks, Iterable):
            return chunks
        if chunks is not self._last[0] or not hasattr(chunks, "__next__"):
            self._last = chunks, iter(MappedChunks(chunks, self._function))
        return self._last[1]


def recoded_chunk(item, recode):
    """Return one chunk with its rows recoded; what stands beside them stays as it is."""
    X, *beside = split_chunk(item, 4)
    return (recode(X), *beside[: len(item) - 1]) if isinstance(item, tuple) else recode(X)


def recoded_collection(X, recode):
    """Return a Dask collection, or delayed chunks, whose rows are recoded on the workers."""
    if isinstance(X, (list, tuple)):
        delayed = import_optional("dask", "dask", "rows on a cluster").delayed
        return [delayed(Quiet(recoded_chunk), pure=False)(chunk, recode) for chunk in X]
    if hasattr(X, "divisions"):
        of_frame = RecodedFrame(recode)
        return X.map_partitions(Quiet(of_frame), meta=of_frame(X._meta))
    X = X.rechunk({1: -1})
    return X.map_blocks(Quiet(recode), dtype=np.float64, meta=np.empty((0, 0)))


class RecodedFrame:
    """Recodes a pandas frame and keeps its index and the names of its columns."""

    def __init__(self, recode):
        self._recode = recode

    def __call__(self, frame):
        """Return the frame of numbers."""
        rows = self._recode(frame)
        names = self._recode.names or column_names(frame)
        return type(frame)(rows, columns=names, index=frame.index)
