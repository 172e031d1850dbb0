"""Persons in rows that come in chunks: their rows are brought together, in bounded memory.

A person's share of mass follows from all rows of that person, so these have to be seen together.
What is yielded here are pieces in which every person is whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from ..._plain import is_integer
from .persons import PERSON_UNITS, Chunk, shared_masses
from .spill import Spill

_MOST_PARTS = 1 << 16


@dataclass(frozen=True)
class SortedPersons:
    """Person ids of rows that come in chunks, sorted by person in ascending order.

    The rows of the last person of a chunk wait for the next chunk, so memory holds a chunk and the
    largest person. An id that is smaller than the one before it is an error.

    Parameters
    ----------
    ids : str, default=None
        Name of the column of ids. None: every chunk is ``(X, y, sample_weight, ids)``.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateMeasure, SortedPersons
    >>> def chunks():
    ...     rng = np.random.default_rng(0)
    ...     for day in range(10):
    ...         yield rng.random((100, 2)), None, None, 50 * day + np.arange(100) // 2
    >>> measure = PrivateMeasure(bounds=(0, 1), n_hint=500)
    >>> measure.fit(chunks, groups=SortedPersons()).n_features_in_
    2
    """

    ids: str | None = None

    def gathering(self) -> InOrder:
        """Return what brings the rows of every person together, for one fit."""
        return InOrder()


@dataclass(frozen=True)
class SpilledPersons:
    """Person ids of rows that come in chunks, in any order, brought together on disk.

    The rows are written once to a file without a name, which nobody else can open and which is gone
    when the fit ends, also when it is interrupted or killed. They lie there as they are: choose a
    folder on an encrypted disk where that matters. Memory holds a chunk, and one part of the rows.

    Parameters
    ----------
    ids : str, default=None
        Name of the column of ids. None: every chunk is ``(X, y, sample_weight, ids)``.
    folder : str, default=None
        On a disk with room for all rows; None: where Python keeps temporary files.
    n_parts : int, default=256
        How many parts the rows are cut into, by their persons.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp_bary import PrivateMeasure, SpilledPersons
    >>> rng = np.random.default_rng(0)
    >>> chunks = [(rng.random((100, 2)), None, None, rng.integers(50, size=100))] * 10
    >>> measure = PrivateMeasure(bounds=(0, 1), n_hint=50)
    >>> measure.fit(chunks, groups=SpilledPersons(n_parts=8)).n_features_in_
    2
    """

    ids: str | None = None
    folder: str | PathLike[str] | None = None
    n_parts: int = 256

    def __post_init__(self) -> None:
        if not is_integer(self.n_parts) or not 1 <= self.n_parts <= _MOST_PARTS:
            raise ValueError(f"n_parts must be from 1 to {_MOST_PARTS}, got {self.n_parts!r}.")
        if self.folder is not None and not Path(self.folder).is_dir():
            raise ValueError(f"folder must be a folder that exists, got {str(self.folder)!r}.")

    def gathering(self) -> OnDisk:
        """Return what brings the rows of every person together, for one fit."""
        return OnDisk(Spill(self.folder, self.n_parts))


def declared(groups):
    """Return how persons are brought together: None where `groups` is no declaration."""
    if isinstance(groups, str):
        return SpilledPersons(groups)
    return groups if isinstance(groups, (SortedPersons, SpilledPersons)) else None


def name_of(groups):
    """Return `groups`, or the name of the column where it declares one: persons are in memory."""
    if not isinstance(groups, (SortedPersons, SpilledPersons)):
        return groups
    if groups.ids is None:
        raise ValueError(
            f"groups={type(groups).__name__}() without the name of a column is for chunks that "
            "carry ids. Pass the ids themselves, or the name of their column."
        )
    return groups.ids


class InOrder:
    """Pieces of rows that are sorted by person."""

    def pieces(self, read) -> Iterator[tuple]:
        """Yield rows, codes, persons, counted from 0 in every piece, and weights.

        Parameters
        ----------
        read : callable
            Returns an iterator of rows, codes, weights and ids.
        """
        held, last = [], None
        for *columns, ids in read():
            if not len(ids):
                continue
            is_new = _begins(ids, last)
            last = ids[-1:].tolist()[0]
            rows, begins = (*columns, is_new), np.flatnonzero(is_new)
            if len(begins):
                held.append(_cut(rows, slice(begins[-1])))
                if any(len(part[0]) for part in held):
                    yield _joined(held)
                held, rows = [], _cut(rows, slice(begins[-1], None))
            held.append(rows)
        if held:
            yield _joined(held)

    def chunks(self, read, bounds):
        """Yield chunks with the masses of persons."""
        for piece in self.pieces(read):
            yield from _chunk(piece, shared_masses(*piece, bounds)).parts()

    def close(self):
        """Nothing is kept."""


class OnDisk:
    """Pieces of rows that are brought together by a file.

    Parameters
    ----------
    spill : Spill
    """

    def __init__(self, spill):
        self._spill = spill

    def pieces(self, read):
        """Yield rows, codes, persons, counted from 0 in every piece, and weights."""
        self._spill.fill(read)
        for part in self._spill.parts():
            yield self._spill.rows(part)

    def chunks(self, read, bounds):
        """Yield chunks with the masses of persons, which are kept from the first reading."""
        self._spill.fill(read)
        for part in self._spill.parts():
            piece = self._spill.rows(part)
            spans = self._spill.spans(part)
            if spans is None:
                spans = shared_masses(*piece, bounds)
                self._spill.keep_spans(part, spans)
            yield from _chunk(piece, spans).parts()

    def close(self):
        """Give the disk back."""
        self._spill.close()


def _chunk(piece, spans):
    return Chunk(*piece[:2], spans[1], starts=spans[0], units=PERSON_UNITS)


def _begins(ids, last):
    """Return in which rows another person begins than in the row before; `last` is before all."""
    if (ids[1:] < ids[:-1]).any() or (last is not None and ids[:1].tolist()[0] < last):
        raise ValueError(
            "groups=SortedPersons(...) needs rows in ascending order of their person ids, also "
            "from chunk to chunk, and an id came after a larger one. Sort them (ORDER BY), or take "
            "SpilledPersons, which takes any order."
        )
    is_new = np.empty(len(ids), dtype=bool)
    is_new[1:] = ids[1:] != ids[:-1]
    is_new[0] = last is None or ids[:1].tolist()[0] != last
    return is_new


def _cut(columns, rows):
    return tuple(values if values is None else values[rows] for values in columns)


def _joined(held):
    X, codes, weights, is_new = (
        None if parts[0] is None else np.concatenate(parts) for parts in zip(*held, strict=True)
    )
    return X, codes, np.cumsum(is_new) - 1, weights
