"""Rows on disk, cut into parts by person: in files without a name, gone when they are closed."""

import tempfile

import numpy as np

from .person_keys import numbered, person_keys

_LEAST_ROWS = 1 << 16  # written at once: every part gets some
_SPANS = np.dtype((np.int32, 2))  # of at most PERSON_UNITS


class Spill:
    """Rows, codes, weights and keys of persons in a file, which parts are read from.

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

    def fill(self, read):
        """Write all rows, once.

        Parameters
        ----------
        read : callable
            Returns an iterator of rows, codes, weights and ids.
        """
        if self._rows is not None:
            return
        self._begins = []
        file = _unnamed(self._folder)
        try:
            for block in _blocks(read()):
                self._write(file, block)
        except BaseException:
            file.close()
            raise
        self._rows = file
        sizes = np.diff(np.array(self._begins, dtype=np.int64).reshape(-1, self._n_parts + 1))
        self._sizes = sizes.sum(axis=0)
        self._spans = _unnamed(self._folder)

    def _write(self, file, records):
        self._kind = records.dtype
        parts = self._part_of(records)
        file.write(records[np.argsort(parts, kind="stable")].data)
        sizes = np.bincount(parts, minlength=self._n_parts)
        start = self._begins[-1][-1] if self._begins else 0
        self._begins.append(start + np.concatenate([[0], np.cumsum(sizes)]))

    def _part_of(self, records):
        """Return the part of every record, which follows from the person alone."""
        mixed = (records["low"] ^ records["high"]).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return ((mixed >> np.uint64(32)) % np.uint64(self._n_parts)).astype(np.uint16)

    def parts(self):
        """Return the parts that have rows."""
        return np.flatnonzero(self._sizes)

    def rows(self, part):
        """Return rows, codes, persons, counted from 0, and weights of one part."""
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

    def spans(self, part):
        """Return what `keep_spans` was given, or None."""
        if not self._has_spans[part]:
            return None
        kept = np.empty(self._sizes[part], dtype=_SPANS)
        self._spans.seek(self._place(part))
        self._spans.readinto(kept.data.cast("B"))
        return kept.T.astype(np.int64)

    def keep_spans(self, part, spans):
        """Keep where the masses of the rows of one part begin, and how large they are."""
        self._spans.seek(self._place(part))
        self._spans.write(np.stack(spans, axis=1).astype(np.int32).data)
        self._has_spans[part] = True

    def _place(self, part):
        return int(self._sizes[:part].sum()) * 2 * 4

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


def _blocks(items):
    """Yield records of rows, many at a time."""
    held, n_held = [], 0
    for X, codes, weights, ids in items:
        held.append(_records(X, codes, weights, ids))
        n_held += len(X)
        if n_held >= _LEAST_ROWS:
            yield np.concatenate(held)
            held, n_held = [], 0
    if n_held:
        yield np.concatenate(held)


def _records(X, codes, weights, ids):
    fields = [("X", np.float64, (X.shape[1],)), ("low", np.int64), ("high", np.int64)]
    fields += [] if codes is None else [("code", np.int32)]
    fields += [] if weights is None else [("weight", np.int32)]
    records = np.empty(len(X), dtype=fields)
    records["X"] = X
    records["low"], records["high"] = person_keys(ids, len(X))
    if codes is not None:
        records["code"] = codes
    if weights is not None:
        records["weight"] = weights
    return records
