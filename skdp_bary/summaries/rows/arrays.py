"""Rows in memory: arrays, sparse arrays, dataframes and lists."""

import warnings

import numpy as np

from ..._values import as_numbers, refuse_other_shapes, refuse_sparse
from ...exceptions import PrivacyWarning
from .chunks import distinct_values
from .grouping import name_of
from .named import taken_out
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
)


class ArraySource:
    """Rows held in memory as one array or dataframe, read slice by slice."""

    rereadable = True

    @staticmethod
    def takes(X):
        """Whether `X` is rows in memory: what no other source takes is read as such."""
        return True

    @staticmethod
    def columns(X, **beside):
        """Take the columns that `beside` names out of the rows, which are a dataframe or table."""
        beside |= {"groups": name_of(beside["groups"])}
        named = {part: name for part, name in beside.items() if isinstance(name, str)}
        if not named:
            return X, beside
        X, columns = taken_out(X, named)
        return X, beside | columns

    distinct_labels = staticmethod(distinct_values)

    @staticmethod
    def recoded(X, recode):
        """Return the rows as numbers."""
        return recode(X)

    def __init__(self, X, y, groups, sample_weight, classes, mass_bounds=None):
        self.named = X[:0] if hasattr(X, "columns") else None
        if hasattr(X, "iloc"):
            refuse_other_shapes(X)
            _warn_of_other_order(X, y=y, groups=groups, sample_weight=sample_weight)
        else:
            refuse_sparse(X)
            X = as_numbers(X)
            refuse_other_shapes(X)
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
            self._n_persons = self._n_kept = int(persons.max(initial=-1)) + 1
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
        return max(-(-self._n_rows // CHUNK_ROWS), 1)

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


def _warn_of_other_order(X, **beside):
    """Warn where values have the index of the rows in another order: they stand beside others."""
    for name, values in beside.items():
        index = values.index if hasattr(values, "iloc") else X.index
        if len(index) != len(X.index) or index.equals(X.index) or not index.isin(X.index).all():
            continue
        warnings.warn(
            f"The index of {name} is that of X in another order. Values are matched by position, "
            f"as everywhere in scikit-learn. If the index is right, pass {name}.loc[X.index].",
            PrivacyWarning,
            stacklevel=5,
        )
