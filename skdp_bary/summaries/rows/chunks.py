"""Rows that come in chunks, and what chunks and arrays do alike."""

from collections.abc import Iterable
from contextlib import closing, nullcontext
from functools import partial
from itertools import chain

import numpy as np

from ..._values import array_of, becomes_a_new_array, column_names, columns_like
from ...geometry._bounds import in_order
from .grouping import SpilledPersons, declared
from .named import Taken
from .persons import (
    WEIGHT_UNITS,
    Chunk,
    are_texts,
    check_floats,
    encode_labels,
    encode_weights,
    plain_ids,
    same_kind,
    split_chunk,
)
from .quiet import quiet_items
from .recoding import mapped, recoded_chunk

_CHUNK_MESSAGES = {
    "y": "With chunked X, y must be None: give labels inside the chunks, as tuples (X, y).",
    "sample_weight": "With chunked X, sample_weight must be None: give it inside the chunks, as "
    "tuples (X, y, sample_weight).",
    "groups": "With chunked X, groups must be the name of a column, SortedPersons(...) or "
    "SpilledPersons(...): give ids inside the chunks, as tuples (X, y, sample_weight, groups).",
}


_NO_IDS = (
    "groups={}(...) needs person ids: name their column, or give them inside the chunks, as tuples "
    "(X, y, sample_weight, groups)."
)


def refuse_beside_chunks(**given):
    """Raise where labels, ids or weights stand beside chunks, which carry their own."""
    for name, values in given.items():
        if values is not None:
            raise ValueError(_CHUNK_MESSAGES[name])


def distinct_values(y):
    """Return the different labels in order."""
    return np.unique(array_of(y, "y"))


class LabelsInChunks:
    """Labels that stand inside of chunks ``(X, y, ...)``.

    Parameters
    ----------
    chunks : iterator, iterable or function
    """

    def __init__(self, chunks):
        self._chunks = chunks

    def distinct(self):
        """Return the different labels in order."""
        if hasattr(self._chunks, "__next__"):
            raise ValueError("X can be read once only, so classes must name the labels of y.")
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        return np.unique(np.concatenate([distinct_values(split_chunk(c, 4)[1]) for c in chunks]))


class ChunkSource:
    """Rows that come in chunks, from an iterator or from something that can be read again."""

    n_parts = 1

    @staticmethod
    def takes(X):
        """Whether `X` is an iterator, a function returning one, or a list of 2-d chunks."""
        if isinstance(X, LabelsInChunks):
            return True
        if hasattr(X, "__next__") or (callable(X) and not hasattr(X, "__array__")):
            return True
        if not isinstance(X, (list, tuple)) or not X:
            return False
        first = X[0][0] if isinstance(X[0], tuple) and X[0] else X[0]
        if isinstance(first, (list, tuple)):
            return bool(first) and isinstance(first[0], (list, tuple, np.ndarray))
        return column_names(first) is not None or getattr(first, "ndim", 0) == 2

    @staticmethod
    def columns(X, **beside):
        """Take the columns that `beside` names out of every chunk."""
        rule = declared(beside["groups"])
        names = beside | {"groups": None if rule is None else rule.ids}
        named = {part: name for part, name in names.items() if isinstance(name, str)}
        if not named:
            return X, beside
        X = mapped(X, Taken(named))
        inside = {"y": LabelsInChunks(X), "groups": rule, "sample_weight": None}
        return X, beside | {part: inside[part] for part in named}

    @staticmethod
    def distinct_labels(y):
        """Return the different labels in order, of an array or inside of chunks."""
        return y.distinct() if isinstance(y, LabelsInChunks) else distinct_values(y)

    @staticmethod
    def recoded(X, recode):
        """Return chunks of numbers, which can be read as often as those given."""
        return mapped(X, partial(recoded_chunk, recode=recode))

    def __init__(self, chunks, y, groups, sample_weight, classes, mass_bounds=None, width=None):
        y = None if isinstance(y, LabelsInChunks) else y
        rule = declared(groups)
        refuse_beside_chunks(
            y=y, groups=groups if rule is None else None, sample_weight=sample_weight
        )
        self._classes = classes
        self._is_spent = False  # read, where that can be done once
        self.reopenable = not hasattr(chunks, "__next__")
        self._chunks = chunks
        self._n_rows = None  # of a whole reading
        self._ids_are_text = None
        first = getattr(chunks, "before_rows", None)
        if first is None:
            first = self._first()
        if first is None:
            first = _no_rows(width if self.reopenable else None, rule)
        X, _, weights, ids = split_chunk(first, 4)
        self._names = column_names(X)
        self.named = None if self._names is None else X[:0]
        self.n_features = check_floats(X).shape[1]
        self.weighted = weights is not None
        self.grouped = ids is not None
        if rule is not None and not self.grouped:
            raise ValueError(_NO_IDS.format(type(rule).__name__))
        rule = (rule or SpilledPersons()) if self.grouped else None
        self._gathering = None if rule is None else rule.gathering()
        self._mass_bounds = in_order(mass_bounds, self._names) if self.grouped else None
        self.rereadable = self.reopenable or isinstance(rule, SpilledPersons)

    def _first(self):
        """Return the first chunk, which is put back where there is one reading only."""
        iterator = self._iterate()
        if callable(self._chunks) and self._iterate() is iterator:
            raise ValueError("X must return a new iterator every time it is called.")
        first = next(quiet_items(iterator), None)
        if first is not None and not self.reopenable:
            self._chunks = chain([first], iterator)
        if self.reopenable and hasattr(iterator, "close"):
            iterator.close()  # some engines give one result at a time
        return first

    def count_persons(self):
        """Number of persons, which are rows where chunks carry no ids."""
        if not self.rereadable:
            raise ValueError(
                "An iterator of chunks can be read once; give n_hint, the public number of rows."
            )
        if self.grouped:
            return sum(int(piece[2].max()) + 1 for piece in self._gathering.pieces(self._checked))
        return sum(len(split_chunk(item, 4)[0]) for item in self._iterate())

    @property
    def persons_have_one_class(self):
        """Whether no person has rows in two classes; to be asked only where labels are public."""
        if self._classes is None or not self.grouped:
            return True
        if not self.rereadable:
            raise ValueError("X can be read once only, and labels would have to be read before.")
        pieces = self._gathering.pieces(self._checked)
        return all(_have_one_class(persons, codes) for _, codes, persons, _ in pieces)

    def read(self, part):
        """Yield every chunk, checked."""
        if self.grouped:
            yield from self._gathering.chunks(self._checked, self._mass_bounds)
            return
        for X, codes, weights, _ in self._checked():
            yield Chunk(X, codes, weights, units=WEIGHT_UNITS)

    def close(self):
        """Give back what the fit has put on disk."""
        if self.grouped:
            self._gathering.close()

    def _checked(self):
        """Yield rows, codes, integer weights and ids of every chunk."""
        if self._is_spent and not self.reopenable:
            raise ValueError(
                "This fit reads the rows more than once, and an iterator of chunks is spent after "
                "one reading; pass a list of chunks or a function that returns a new iterator."
            )
        self._is_spent = True
        n_rows = 0
        items = self._iterate()
        with closing(items) if hasattr(items, "close") else nullcontext():
            for item in quiet_items(items):
                checked = self._check(item)
                n_rows += len(checked[0])
                yield checked
        if self._n_rows not in (None, n_rows):
            raise ValueError(
                "X gave another number of rows when it was read again: a fit needs the same rows "
                "at every reading. Sort out what changes them, or write them to a file first."
            )
        self._n_rows = n_rows

    def _iterate(self):
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        if not isinstance(chunks, Iterable):
            raise TypeError(
                "X is a function, which must return an iterator of chunks of rows, but returned "
                f"{type(chunks).__name__}."
            )
        return iter(chunks)

    def _check(self, item):
        X, y, weights, ids = split_chunk(item, 4)
        X = columns_like(X, self._names, "A chunk")
        X = check_floats(X) if becomes_a_new_array(X) else _owned(check_floats(X))
        if X.shape[1] != self.n_features:
            raise ValueError(
                f"A chunk has {X.shape[1]} features, but the first one has {self.n_features}."
            )
        for name, values, has in (
            ("sample_weight", weights, self.weighted),
            ("groups", ids, self.grouped),
        ):
            if (values is not None) != has:
                raise ValueError(f"Either every chunk carries {name} or none does.")
        codes = None if self._classes is None else encode_labels(y, self._classes, len(X))
        if ids is not None:
            ids = _owned(plain_ids(ids, len(X)))
            self._ids_are_text = same_kind([self._ids_are_text, are_texts(ids)])
        return X, codes, encode_weights(weights, len(X)), ids


def _no_rows(width, rule):
    """Return a chunk in place of none."""
    if width is None:
        raise ValueError(
            "X has no chunks, so nothing says how many columns it has: give one without rows, "
            "np.empty((0, n_features)), or bounds with a low and a high end for every feature. An "
            "iterator that was read before is spent: pass a list of chunks, or a function that "
            "returns a new iterator."
        )
    return np.empty((0, width)), None, None, None if rule is None else np.empty(0, dtype=np.int64)


def _owned(values):
    """Return values that stay, where a source writes its next chunk into the same memory."""
    return np.array(values)


def _have_one_class(persons, codes):
    classes = np.empty(int(persons.max()) + 1, dtype=np.int64)
    classes[persons] = codes
    return bool((classes[persons] == codes).all())
