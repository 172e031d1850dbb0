"""Places of rows: comparison of two sources by their objects, and never by values.

Sources have the same rows where they share memory, also in other columns of it, or a file. That is
public: it follows from how the program was written. Copies cannot be told from other people's rows.
"""

import os
import weakref
from bisect import bisect
from dataclasses import dataclass, field
from glob import glob
from itertools import chain
from math import gcd, prod
from pathlib import Path
from stat import S_ISREG
from sys import getrefcount
from types import SimpleNamespace

import numpy as np

from .._sklearn import rows_among_callers

_OUR_REFERENCES = 3  # to what is looked at in a dictionary: without others it is gone
_MAX_WORK = 10_000  # of numpy, in telling whether two layouts have a byte in common
_MAX_LAYOUTS = 20_000  # pairs of them that are told; of more it is taken that they have


@dataclass(frozen=True, eq=False)
class Memory:
    """Some memory that rows are in.

    Parameters
    ----------
    low, high : int
        Addresses that they span; with columns left out of them where `whose` reports these.
    layout : tuple
        Where their bytes are: address, shape, strides and size of an item.
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
    layout: tuple
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
        """Whether the memory is other people's by now, or no one's."""
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
    given: object = lambda: None  # a reference to the object, which may be refilled

    @property
    def is_gone(self):
        """Whether nothing is left by which these rows could be known again."""
        return (
            all(memory.is_lost for memory in self.memories)
            and all(thing() is None for thing in self.things.values())
            and all(getrefcount(index) <= _OUR_REFERENCES for index in self.indexes.values())
            and self.given() is None
            and not self.files
            and not self.names
        )

    def meets(self, other):
        """Whether two sources have the same rows; None where that cannot be told.

        Parameters
        ----------
        other : Origin
        """
        if self.names & other.names:
            return True
        for address, there in self.things.items():
            if address in other.things and there() is not None is not other.things[address]():
                return True
        is_doubtful = self.given() is not None and self.given() is other.given()
        is_doubtful |= bool(self.indexes.keys() & other.indexes.keys())  # of copies, or others
        files = (self.files[k] == other.files[k] for k in self.files.keys() & other.files.keys())
        for is_same in chain(files, self._shared_memory(other)):
            if is_same:
                return True
            is_doubtful = True  # perhaps used anew since
        return None if is_doubtful else False

    def _shared_memory(self, other):
        """Yield of memory that both have whether it is known that it was the same people's.

        Rows that lie between one another, of which no table tells, may be others or other columns.
        """
        # one at a time against all of the others at once, of shape (n_many,)
        few, many = sorted((self.memories, other.memories), key=len)
        numbers = {whose: number for number, whose in enumerate({m.whose for m in many}, 1)}
        spans = [(m.low, m.high, numbers[m.whose], m.rows.start, m.rows.stop) for m in many]
        low, high, number, start, stop = np.array(spans, dtype=np.uint64).reshape(-1, 5).T
        n_told = 0
        for one in few:
            near = (low < one.high) & (high > one.low)
            if one.whose is not None:
                cut = number == numbers.get(one.whose, 0)
                near |= cut & (start < one.rows.stop) & (stop > one.rows.start)
            for memory in map(many.__getitem__, np.flatnonzero(near)):
                overlap = one.low < memory.high and memory.low < one.high
                if one.is_there and memory.is_there:
                    if one.whose != memory.whose or one.whose is None:
                        n_told += 1
                        yield n_told > _MAX_LAYOUTS or _share_bytes(one, memory)
                    elif _meet(one, memory):
                        yield True
                elif overlap and not (one.is_lost or memory.is_lost):
                    yield False


def _share_bytes(one, other):
    """Whether two pieces of memory have a byte in common, which numpy tells by their layouts."""
    layouts = []
    for address, shape, strides, size in (one.layout, other.layout):
        told = {"data": (address, True), "shape": shape, "strides": strides, "version": 3}
        layouts.append(SimpleNamespace(__array_interface__=told | {"typestr": f"|V{size}"}))
    try:
        return np.shares_memory(*layouts, max_work=_MAX_WORK)
    except np.exceptions.TooHardError:
        return True


def _meet(one, other):
    """Whether two ascending ranges have a number in common."""
    first, second = one.rows, other.rows
    # both hold start + step * k: the remainder theorem says where, every lcm of their steps
    common = gcd(first.step, second.step)
    if not first or not second or (second.start - first.start) % common:
        return False
    turn = second.step // common
    steps = (second.start - first.start) // common * pow(first.step // common, -1, turn) % turn
    number, both = first.start + steps * first.step, first.step * turn
    number += max(-(-(second.start - number) // both), 0) * both
    return number <= min(first[-1], second[-1])


def origin_of(X):
    """Place of the rows of a source, as given to ``fit``; none of them is read.

    Rows that a pipeline was given count too: what reaches its private step may be made of them.

    Parameters
    ----------
    X : object
    """
    origin = Origin()
    for rows in {id(rows): rows for rows in (X, *rows_among_callers())}.values():
        _add(origin, rows)
    _add_mapped_files(origin)
    if getattr(type(X), "__weakrefoffset__", 0):
        origin.given = weakref.ref(X)
    return origin


def _add(origin, X):
    """Add what is known of a source."""
    kind = type(X)
    home = kind.__module__.split(".")[0]
    try:
        if isinstance(X, np.ndarray):
            _add_array(origin, X)
        elif isinstance(X, (str, os.PathLike)):
            path = os.fspath(X)
            if "://" in path or "::" in path:
                origin.unknown = origin.unknown or "a path on a server"
                origin.names.add(path)
                return
            found = [path] if Path(path).exists() else glob(path, recursive=True)
            if Path(path).is_dir():
                found = [each for each in Path(path).rglob("*") if each.is_file()]
            for file in found:
                _add_file(origin, file)
            if not found:
                origin.unknown = origin.unknown or "a path that names no file"
        elif isinstance(X, (list, tuple)):
            for item in X:  # lists of plain numbers leave nothing to know them by
                rows = item[0] if isinstance(item, tuple) and item else item
                if isinstance(rows, (list, tuple)) or np.isscalar(rows):
                    origin.unknown = origin.unknown or "lists of numbers"
                    break
                is_one_row = isinstance(rows, np.ndarray) and rows.ndim == 1
                _add(origin, rows[None] if is_one_row else rows)
        elif any(cls.__module__.split(".")[0] == "pandas" for cls in kind.__mro__):
            index = getattr(X.index, "_id", None)
            origin.indexes |= {} if index is None else {id(index): index}
            for place in range(X.shape[1]):  # copies on write share memory until they are written
                column = X.iloc[:, place].array
                arrow = getattr(column, "_pa_array", None)
                own = getattr(column, "_data", getattr(column, "_ndarray", None))
                values = getattr(column, "codes", own)
                if arrow is not None:
                    _add_arrow(origin, arrow, arrow)
                elif isinstance(values, np.ndarray):
                    _add_array(origin, values)
                else:
                    _add_thing(origin, X)
        elif home == "pyarrow" and hasattr(X, "columns"):
            for column in X.columns:
                _add_arrow(origin, column, X)
        elif home == "polars" and hasattr(kind, "get_columns"):
            import polars

            level = polars.CompatLevel.newest()  # of other levels text is a copy
            for chunk in chain.from_iterable(c.get_chunks() for c in X.get_columns()):
                _add_arrow(origin, chunk.to_arrow(compat_level=level), X)
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


def _add_array(origin, rows, given=None):
    """Add rows, or one column of them, by the array that they are views of."""
    root = rows
    while isinstance(root.base, np.ndarray):
        root = root.base
    if isinstance(root, np.memmap) and root.filename is not None:
        _add_file(origin, root.filename)
    if not rows.size:
        return
    low, high, whose, places = _rows_in(root, rows)
    known = origin.memories[-1:]
    if whose is not None and known and (known[0].whose, known[0].rows) == (whose, places):
        return  # another column of one frame
    layout = _address(rows), rows.shape, rows.strides, rows.itemsize
    watched = weakref.ref(root if given is None else given)
    origin.memories.append(Memory(low, high, layout, watched, whose, places, root.flags.owndata))


def _rows_in(root, rows):
    """Return the addresses of rows, what tells their table from others, and which of it they are.

    Columns of a table are the same rows, however it lies in memory, and every second row is not.
    Its rows are the lines of the root, or the places in a line where it lies by columns; of other
    views, like a line cut into several rows or several lines in a row, no table tells.
    """
    low, high = np.lib.array_utils.byte_bounds(rows)
    base, small, step = _address(root), root.itemsize, abs(rows.strides[0])
    contiguous = root.flags.c_contiguous or root.flags.f_contiguous
    inside = base <= low and high <= base + root.nbytes
    if root.ndim < 2 or not contiguous or not inside or len(rows) < 2 or not step:
        return low, high, None, range(0)
    large = small * (prod(root.shape[1:]) if root.flags.c_contiguous else root.shape[0])
    number, place = divmod(low - base, large)
    last = step * (len(rows) - 1)
    # whole lines of the root, or parts of them: a table that lies by rows
    if step % large == 0 and place + high - low - last <= large:
        low = base + number * large
        lines = range(number, number + last // large + 1, step // large)
        return low, low + last + large, (base, large, large), lines
    # places within its lines: a table that lies by columns
    beside = zip(rows.shape[1:], rows.strides[1:], strict=True)
    in_one_line = place % small + rows.itemsize <= small and place + last < large
    if in_one_line and step % small == 0 and all(n == 1 or s % large == 0 for n, s in beside):
        places = range(place // small, (place + last) // small + 1, step // small)
        return base, base + root.nbytes, (base, large, small), places
    return low, high, None, range(0)


def _address(array):
    return array.__array_interface__["data"][0]


def _add_arrow(origin, column, given):
    """Add a column of Arrow, whose slices say where in the whole they begin."""
    for array in getattr(column, "chunks", [column]):
        buffers = array.buffers()
        buffer = next(filter(None, [*buffers[1:], *buffers]), None)
        if buffer is None:
            continue
        rows = range(array.offset, array.offset + len(array))
        low, high = buffer.address, buffer.address + buffer.size
        try:
            whole = array.type.bit_width % 8 == 0
            width = getattr(array.type, "byte_width", None) if whole else None
        except ValueError:  # of texts and lists
            width = None
        if width:  # arrays of numpy see it without the rest
            low, high = low + width * rows.start, low + width * rows.stop
        layout, whose = (low, (high - low,), (1,), 1), ("arrow", buffer.address)
        origin.memories.append(Memory(low, high, layout, weakref.ref(given), whose, rows, False))


def _add_file(origin, path):
    told = os.stat(path)
    origin.files[told.st_dev, told.st_ino] = told.st_mtime_ns


def _add_mapped_files(origin):
    """Add the files that memory is mapped from, by any library; told on Linux alone."""
    addresses = [memory.layout[0] for memory in origin.memories if not memory.is_last]
    if not addresses:  # all is allocated by numpy
        return
    try:
        lines = Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return
    starts = [int(line.split("-", 1)[0], 16) for line in lines]  # in order
    numbers = {bisect(starts, address) - 1 for address in addresses}
    for line in (lines[number] for number in numbers if number >= 0):
        _, _, _, device, inode, path = [*line.split(maxsplit=5), ""][:6]
        if inode == "0":
            continue
        key, written = (os.makedev(*(int(each, 16) for each in device.split(":"))), int(inode)), 0
        if os.path.exists(path):  # else it has no name any more
            told = os.stat(path)
            if not S_ISREG(told.st_mode):  # memory of a device
                continue
            if told.st_ino == key[1]:  # some file systems show another device here
                key, written = (told.st_dev, told.st_ino), told.st_mtime_ns
        origin.files[key] = written
