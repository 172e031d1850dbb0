"""Where rows are: what can be told of two sources from their objects, and never from values.

Sources have the same rows where they share memory, also in other columns of it, or a file. That is
public: it follows from how the program was written. Copies cannot be told from other people's rows.
"""

import os
import weakref
from dataclasses import dataclass, field
from glob import glob
from math import gcd
from pathlib import Path
from sys import getrefcount

import numpy as np

_OUR_REFERENCES = 3  # to what is looked at in a dictionary: without others it is gone


@dataclass(frozen=True, eq=False)
class Memory:
    """Some memory that rows are in.

    Parameters
    ----------
    low, high : int
        Addresses that they span.
    watched : weakref
        Of an object without which they are gone.
    whose : tuple or None
        What they were cut from, while it is there; None where that cannot be told.
    rows : range
        Which rows of it.
    is_last : bool
        Whether the memory itself is gone with the object, and may be other people's then.
    """

    low: int
    high: int
    watched: weakref.ref
    whose: tuple | None
    rows: range
    is_last: bool

    @property
    def is_there(self):
        """Whether the object still lives."""
        return self.watched() is not None

    @property
    def is_lost(self):
        """Whether the memory is other people's by now, or nobody's."""
        return self.is_last and not self.is_there


@dataclass(eq=False)
class Origin:
    """Where the rows of one source are.

    Attributes
    ----------
    unknown : str
        What cannot be compared, in words; empty where everything can.
    """

    unknown: str = ""
    memories: list = field(default_factory=list)
    files: dict = field(default_factory=dict)  # device and inode, and when it was written last
    things: dict = field(default_factory=dict)  # addresses of objects, and references to them
    names: set = field(default_factory=set)  # on servers
    indexes: dict = field(default_factory=dict)  # what pandas knows an index by, in all its views

    @property
    def is_gone(self):
        """Whether nothing is left by which these rows could be known again."""
        return (
            all(memory.is_lost for memory in self.memories)
            and all(thing() is None for thing in self.things.values())
            and all(getrefcount(index) <= _OUR_REFERENCES for index in self.indexes.values())
            and not self.files
            and not self.names
        )

    def meets(self, other):
        """Return whether two sources have the same rows; None where that cannot be told.

        Parameters
        ----------
        other : Origin
        """
        if self.names & other.names:
            return True
        for address, there in self.things.items():
            if address in other.things and there() is not None is not other.things[address]():
                return True
        found = [self.files[k] == other.files[k] for k in self.files.keys() & other.files.keys()]
        found += [False for _ in self.indexes.keys() & other.indexes.keys()]  # of copies, or others
        found += self._shared_memory(other)
        return any(found) or (None if found else False)  # found, and perhaps used anew since

    def _shared_memory(self, other):
        """Yield of memory that both have whether it is known that it was the same people's."""
        few, many = sorted((self.memories, other.memories), key=len)
        numbers = {whose: number for number, whose in enumerate({m.whose for m in many}, 1)}
        spans = [(m.low, m.high, numbers[m.whose], m.rows.start, m.rows.stop) for m in many]
        low, high, number, start, stop = np.array(spans, dtype=np.uint64).reshape(-1, 5).T
        for one in few:
            near = (low < one.high) & (high > one.low)
            if one.whose is not None:
                cut = number == numbers.get(one.whose, 0)
                near |= cut & (start < one.rows.stop) & (stop > one.rows.start)
            for memory in map(many.__getitem__, np.flatnonzero(near)):
                if one.is_there and memory.is_there:
                    if one.whose != memory.whose or one.whose is None or _meet(one, memory):
                        yield True
                elif not (one.is_lost or memory.is_lost) and _overlap(one, memory):
                    yield False


def _overlap(one, other):
    return one.low < other.high and other.low < one.high


def _meet(one, other):
    """Return whether two ascending ranges have a number in common."""
    first, second = one.rows, other.rows
    common = gcd(first.step, second.step)
    if not first or not second or (second.start - first.start) % common:
        return False
    turn = second.step // common
    steps = (second.start - first.start) // common * pow(first.step // common, -1, turn) % turn
    number, both = first.start + steps * first.step, first.step * turn
    number += max(-(-(second.start - number) // both), 0) * both
    return number <= min(first[-1], second[-1])


def origin_of(X):
    """Return where the rows of a source are, as given to ``fit``; none of them is read.

    Parameters
    ----------
    X : object
    """
    origin = Origin()
    _add(origin, X)
    return origin


def _add(origin, X):
    """Add what is known of a source."""
    kind = type(X)
    home = kind.__module__.split(".")[0]
    try:
        if isinstance(X, np.ndarray):
            _add_array(origin, X)
        elif isinstance(X, (str, os.PathLike)):
            _add_path(origin, os.fspath(X))
        elif isinstance(X, (list, tuple)):
            _add_items(origin, X)
        elif any(cls.__module__.split(".")[0] == "pandas" for cls in kind.__mro__):
            index = getattr(X.index, "_id", None)
            origin.indexes |= {} if index is None else {id(index): index}
            for place in range(X.shape[1]):
                _add_column(origin, X.iloc[:, place].array, X)
        elif home == "pyarrow" and hasattr(X, "columns"):
            for column in X.columns:
                _add_arrow(origin, column, X)
        elif home == "polars" and hasattr(kind, "get_columns"):
            _add_polars(origin, X)
        elif home == "xarray" and isinstance(getattr(X.variable, "_data", None), np.ndarray):
            _add(origin, X.variable._data)
        elif hasattr(kind, "__dlpack__"):
            _add_array(origin, np.from_dlpack(X), X)
        else:
            _add_thing(origin, X)
    except Exception:  # of an engine, in words of its own
        _add_thing(origin, X)


def _add_thing(origin, X):
    """Add a source of which nothing is known but itself."""
    origin.unknown = origin.unknown or f"rows of type {type(X).__name__}"
    if getattr(type(X), "__weakrefoffset__", 0):
        origin.things[id(X)] = weakref.ref(X)


def _add_items(origin, items):
    """Add the chunks of a list; lists of plain numbers leave nothing to know them by."""
    for item in items:
        rows = item[0] if isinstance(item, tuple) and item else item
        if not isinstance(rows, (list, tuple)) and not np.isscalar(rows):
            is_one_row = isinstance(rows, np.ndarray) and rows.ndim == 1
            _add(origin, rows[None] if is_one_row else rows)
        else:
            origin.unknown = origin.unknown or "lists of numbers"
            return


def _add_array(origin, rows, given=None):
    """Add rows, or one column of them, by the array that they are views of."""
    root = rows
    while isinstance(root.base, np.ndarray):
        root = root.base
    if isinstance(root, np.memmap) and root.filename is not None:
        _add_file(origin, root.filename)
    low, high = np.lib.array_utils.byte_bounds(rows) if rows.size else (0, 0)
    whose, places = _rows_in(root, rows)
    known = origin.memories[-1:]
    if whose is not None and known and (known[0].whose, known[0].rows) == (whose, places):
        return  # another column of one frame
    watched = weakref.ref(root if given is None else given)
    origin.memories.append(Memory(low, high, watched, whose, places, root.base is None))


def _rows_in(root, rows):
    """Return what tells a table and its rows from others, and which of them these are.

    Columns of a table are the same rows, however it lies in memory, and every second row is not.
    """
    flat = root.flags.c_contiguous or root.flags.f_contiguous
    if root.ndim != 2 or not flat or len(rows) < 2 or not rows.size or not rows.strides[0]:
        return None, range(0)
    small = root.itemsize
    large = small * root.shape[1 if root.flags.c_contiguous else 0]
    start, step = _address(rows) - _address(root), rows.strides[0]
    if step % large == 0:
        stride, first = large, start // large
    elif step % small == 0:
        stride, first = small, start % large // small
    else:
        return None, range(0)
    last = first + (len(rows) - 1) * (step // stride)
    whose = _address(root), large, stride
    return whose, range(min(first, last), max(first, last) + 1, abs(step) // stride)


def _address(array):
    return array.__array_interface__["data"][0]


def _add_column(origin, column, frame):
    """Add a column of pandas, whose copies on write share memory until they are written."""
    arrow = getattr(column, "_pa_array", None)
    if arrow is not None:
        _add_arrow(origin, arrow, arrow)
        return
    values = getattr(column, "codes", getattr(column, "_data", getattr(column, "_ndarray", None)))
    if isinstance(values, np.ndarray):
        _add_array(origin, values)
    else:
        _add_thing(origin, frame)


def _add_polars(origin, frame):
    import polars

    level = polars.CompatLevel.newest()  # of other levels text is a copy
    for column in frame.get_columns():
        for chunk in column.get_chunks():
            _add_arrow(origin, chunk.to_arrow(compat_level=level), frame)


def _add_arrow(origin, column, given):
    """Add a column of Arrow, whose slices say where in the whole they begin."""
    for array in getattr(column, "chunks", [column]):
        buffers = array.buffers()
        buffer = next(filter(None, [*buffers[1:], *buffers]), None)
        if buffer is None:
            continue
        rows = range(array.offset, array.offset + len(array))
        low, high = buffer.address, buffer.address + buffer.size
        width = getattr(array.type, "byte_width", None) if _has_width(array.type) else None
        if width:  # arrays of numpy see it without the rest
            low, high = low + width * rows.start, low + width * rows.stop
        whose = ("arrow", buffer.address)
        origin.memories.append(Memory(low, high, weakref.ref(given), whose, rows, False))


def _has_width(kind):
    try:
        return kind.bit_width % 8 == 0
    except ValueError:
        return False


def _add_path(origin, path):
    """Add the files that a path names."""
    if "://" in path or "::" in path:
        origin.unknown = origin.unknown or "a path on a server"
        origin.names.add(path)
        return
    whole = Path(path)
    if whole.is_dir():
        files = [each for each in whole.rglob("*") if each.is_file()]
    else:
        files = [path] if whole.exists() else glob(path, recursive=True)
    for file in files:
        _add_file(origin, file)
    if not files:
        origin.unknown = origin.unknown or "a path that names no file"


def _add_file(origin, path):
    told = os.stat(path)
    origin.files[told.st_dev, told.st_ino] = told.st_mtime_ns
