"""Rows of a person brought together in bounded memory, on disk where they do not fit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap
from os import PathLike
from pathlib import Path

import numpy as np

from ..exceptions import is_integer
from .persons import PERSON_UNITS, Chunk, in_batches, numbered, person_keys, shared_masses

# Persons in rows that come in chunks: their rows are brought together, in bounded memory.

_MOST_PARTS = 1 << 16


@dataclass(frozen=True)
class SortedPersons:
    """Person IDs of rows that come in chunks, sorted by person in ascending order.

    The rows of the last person of a chunk are kept until the next chunk, so memory holds a chunk
    and the rows of one person. An ID that is smaller than the one before it raises an error.

    Parameters
    ----------
    ids : str, default=None
        Name of the column of IDs. None: every chunk is ``(X, y, sample_weight, IDs)``.

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
        """Grouping of the rows of every person, for one fit."""
        return InOrder()


@dataclass(frozen=True)
class SpilledPersons:
    """Person IDs of rows that come in chunks, in any order, brought together on disk.

    The rows are written once to a file without a name. No one else can open it, and it is gone when
    the fit ends, even if the fit is interrupted or killed. The file is not encrypted: choose a
    folder on an encrypted disk if that matters. Memory holds a chunk and one part of the rows.

    Parameters
    ----------
    ids : str, default=None
        Name of the column of IDs. None: every chunk is ``(X, y, sample_weight, IDs)``.
    folder : str, default=None
        Folder on a disk with room for all rows. None: Python's folder for temporary files.
    n_parts : int, default=256
        How many parts the rows are cut into, by their people.

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
            raise ValueError(
                f"n_parts must be from 1 to {_MOST_PARTS}, got {self.n_parts!r}. For example "
                "n_parts=256."
            )
        if self.folder is not None and not Path(self.folder).is_dir():
            raise ValueError(
                f"folder must be a folder that exists, got {str(self.folder)!r}. For example "
                "folder=tempfile.gettempdir()."
            )

    def gathering(self) -> Spill:
        """Grouping of the rows of every person, for one fit."""
        return Spill(self.folder, self.n_parts)


def declared(groups):
    """Way to bring people together: None if `groups` is not a declaration."""
    if isinstance(groups, str):
        return SpilledPersons(groups)
    return groups if isinstance(groups, (SortedPersons, SpilledPersons)) else None


def name_of(groups):
    """Return `groups`, or the name of the column where it declares one: people are in memory."""
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
        """Yield rows, codes, people, counted from 0 in every piece, and weights.

        Parameters
        ----------
        read : callable
            Returns an iterator of rows, codes, weights and IDs.
        """
        held, last = [], None
        for *columns, ids in read():
            if not len(ids):
                continue
            is_new = _begins(ids, last)
            last = ids[-1:].tolist()[0]
            # what comes before the last person of a chunk is complete
            rows, begins = (*columns, is_new), np.flatnonzero(is_new)
            if len(begins):
                before, rows = (
                    [v if v is None else v[part] for v in rows]
                    for part in (slice(begins[-1]), slice(begins[-1], None))
                )
                if any(len(part[0]) for part in [*held, before]):
                    yield _joined([*held, before])
                held = []
            held.append(rows)
        if held:
            yield _joined(held)

    def chunks(self, read, bounds):
        """Yield chunks with the masses of people."""
        for piece in self.pieces(read):
            starts, masses = shared_masses(*piece, bounds)
            yield from Chunk(*piece[:2], masses, starts=starts, units=PERSON_UNITS).parts()

    def close(self):
        """Nothing is kept."""


def _begins(ids, last):
    """Rows in which another person begins than in the row before; `last` is before all."""
    if (ids[1:] < ids[:-1]).any() or (last is not None and ids[:1].tolist()[0] < last):
        raise ValueError(
            "groups=SortedPersons(...) needs rows in ascending order of their person ids, also "
            "from chunk to chunk, and an id came after a larger one. Sort them (ORDER BY), or pass "
            "groups=SpilledPersons(...), which takes any order."
        )
    is_new = np.empty(len(ids), dtype=bool)
    is_new[1:] = ids[1:] != ids[:-1]
    is_new[0] = last is None or ids[:1].tolist()[0] != last
    return is_new


def _joined(held):
    X, codes, weights, is_new = (
        None if parts[0] is None else np.concatenate(parts) for parts in zip(*held, strict=True)
    )
    return X, codes, np.cumsum(is_new) - 1, weights


# Rows on disk, cut into parts by person: in files without a name, gone when they are closed.

_LEAST_ROWS = 1 << 16  # written at once: every part gets some
_SPANS = np.dtype((np.int32, 2))  # of at most PERSON_UNITS


class Spill:
    """Rows, codes, weights and keys of people in a file, which parts are read from.

    A person is in the part that the person's key names. Every block of rows is written in the order
    of parts, and where parts begin in it is kept.

    Parameters
    ----------
    folder : str or None
    n_parts : int
    """

    def __init__(self, folder, n_parts):
        self._folder, self._n_parts = folder, int(n_parts)
        self._rows = self._spans = self._kind = None
        self._begins = []  # of every block: where its parts begin, in rows of the file
        self._has_spans = np.zeros(self._n_parts, dtype=bool)

    def pieces(self, read):
        """Yield rows, codes, people, counted from 0 in every piece, and weights.

        Parameters
        ----------
        read : callable
            Returns an iterator of rows, codes, weights and IDs.
        """
        self._fill(read)
        for part in np.flatnonzero(self._sizes):
            yield self._rows_of(part)

    def chunks(self, read, bounds):
        """Yield chunks with the masses of people, which are kept from the first reading."""
        self._fill(read)
        for part in np.flatnonzero(self._sizes):
            X, codes, persons, weights = self._rows_of(part)
            self._spans.seek(int(self._sizes[:part].sum()) * _SPANS.itemsize)
            if self._has_spans[part]:
                kept = np.empty(self._sizes[part], dtype=_SPANS)
                self._spans.readinto(kept.data.cast("B"))
                starts, masses = kept.T.astype(np.int64)
            else:
                starts, masses = shared_masses(X, codes, persons, weights, bounds)
                self._spans.write(np.stack([starts, masses], axis=1).astype(np.int32).data)
                self._has_spans[part] = True
            yield from Chunk(X, codes, masses, starts=starts, units=PERSON_UNITS).parts()

    def _fill(self, read):
        """Write all rows, once."""
        if self._rows is not None:
            return
        self._begins = []
        file = _unnamed(self._folder)
        try:
            for records in in_batches(starmap(_records, read()), _LEAST_ROWS):
                self._write(file, np.concatenate(records))
        except BaseException:
            file.close()
            raise
        self._rows = file
        sizes = np.diff(np.array(self._begins, dtype=np.int64).reshape(-1, self._n_parts + 1))
        self._sizes = sizes.sum(axis=0)
        self._spans = _unnamed(self._folder)

    def _write(self, file, records):
        self._kind = records.dtype
        # the part of a record follows from the person alone
        mixed = (records["low"] ^ records["high"]).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        parts = ((mixed >> np.uint64(32)) % np.uint64(self._n_parts)).astype(np.uint16)
        file.write(records[np.argsort(parts, kind="stable")].data)
        sizes = np.bincount(parts, minlength=self._n_parts)
        start = self._begins[-1][-1] if self._begins else 0
        self._begins.append(start + np.concatenate([[0], np.cumsum(sizes)]))

    def _rows_of(self, part):
        """Return rows, codes, people, counted from 0, and weights of one part."""
        records = np.empty(self._sizes[part], dtype=self._kind)
        done = 0
        for begins in self._begins:
            size = int(begins[part + 1] - begins[part])
            if size:
                self._rows.seek(int(begins[part]) * self._kind.itemsize)
                self._rows.readinto(records[done : done + size].data.cast("B"))
                done += size
        names = self._kind.names
        codes = records["code"].astype(np.int64) if "code" in names else None
        weights = records["weight"].astype(np.int64) if "weight" in names else None
        persons = numbered(records["low"], records["high"])
        return np.ascontiguousarray(records["X"]), codes, persons, weights

    def close(self):
        """Give the disk back; rows would be read anew."""
        for file in (self._rows, self._spans):
            if file is not None:
                file.close()
        self._rows = self._spans = None
        self._has_spans[:] = False


def _unnamed(folder):
    """Return a file that only this process can open; readers and others never see a name."""
    return tempfile.TemporaryFile(dir=folder)


def _records(X, codes, weights, ids):
    """Return one record per row: its values, the key of its person, and what else there is."""
    low, high = person_keys(ids, len(X))
    fields = {"X": X, "low": low, "high": high, "code": codes, "weight": weights}
    types = {"X": (np.float64, X.shape[1:]), "low": np.int64, "high": np.int64}
    types |= {n: np.int32 for n in ("code", "weight") if fields[n] is not None}
    records = np.empty(len(X), dtype=list(types.items()))
    for name in types:
        records[name] = fields[name]
    return records
