"""One sketch over all rows, however they come: threads, processes, Dask, Spark."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from itertools import chain

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from .._sklearn import openmp_threads
from ..rows.partitions import WorkerSource


class Sketch:
    """The exact, mergeable answer to one query. Its integers leave only through ``release``."""

    def __init__(self, query):
        self.query = query
        self._state = query.zeros()

    def update(self, chunk):
        """Count the rows of one chunk, whatever numpy settings the user has made."""
        with np.errstate(all="ignore"):
            for part in chunk.in_units(self.query.units).parts():
                self.query.count(self._state, part)
        return self

    def update_all(self, chunks):
        """Count the rows of several chunks."""
        for chunk in chunks:
            self.update(chunk)
        return self

    @property
    def size(self):
        """Number of integers that are added up."""
        return sum(part.size for part in self._state)

    def merge(self, other):
        """Add the integers of a sketch of the same query over other rows."""
        for mine, theirs in zip(self._state, other._state, strict=True):
            mine += theirs
        return self

    def packed(self):
        """Return the integers in few bytes, for a journey to another machine."""
        return pack(self._state)

    def add_packed(self, packed):
        """Add the packed integers of a sketch of the same query; they stay as they are."""
        unpack_into(self._state, packed)
        return self

    def exact_blocks(self):
        """Return the answer before noise; only of 64-bit integers does noise hide every bit."""
        blocks = self.query.blocks(self._state)
        for block in blocks:
            if block.dtype != np.int64:
                raise TypeError(
                    f"{type(self.query).__name__}.blocks must return arrays of int64, got "
                    f"{block.dtype}: noise is made of integers. Round rows to integers in count, "
                    "and start from zeros of dtype=np.int64."
                )
        return blocks

    def picked(self, mechanism, noise, recorded=None, audit=None):
        """Return the picks of a query that makes them, whatever the numpy settings of the user."""
        with np.errstate(all="ignore"):
            return self.query.picked(self._state, mechanism, noise, recorded, audit)


# Counting rows: one sketch, however the rows come, identical integers.

_LEAST_EFFORT = 1 << 17  # of a piece: counting it takes ten times as long as starting a thread
_PIECES = 2  # a thread and chunk: who is done early takes another one
_EXTRA_BYTES = 1 << 27  # of the integers that all threads but one hold


def collect(query, rows, told=lambda share: None):
    """Return the sketch of `query` over all rows.

    Rows are counted in threads, one per core, or where they are, by Dask or Spark workers. Inside
    ``joblib.parallel_config(n_jobs=...)`` that many workers count them, of the kind asked for.
    Only sketches travel; they hold integers, which add up to the same in any order. ``told(share)``
    hears which share of the rows has been read.
    """
    source = rows.source
    if isinstance(source, WorkerSource):
        return _collect_on_workers(query, source)
    if wants_processes() and source.n_parts > 1:
        workers = min(effective_n_jobs(None), source.n_parts)
        shares = [range(start, source.n_parts, workers) for start in range(workers)]
        found = _merged(Parallel()(delayed(_count_parts)(query, source, share) for share in shares))
        told(1.0)
        return found
    workers = n_threads() if query.in_threads else 1
    total, chunks = Sketch(query), _chunks(source, range(source.n_parts), told)
    first = next(chunks, None)
    if first is None:
        return total
    chunks = chain([first], chunks)
    if workers > 1:
        room = max(_EXTRA_BYTES, first.X.nbytes // 4)
        workers = min(workers, 1 + room // max(8 * total.size, 1))
    if workers == 1 or _n_pieces(total, workers, first) == 1:
        return total.update_all(chunks)
    pieces = (piece for each in chunks for piece in each.pieces(_n_pieces(total, workers, each)))
    return _merged(
        [total, *share_out(lambda some: Sketch(query).update_all(some), pieces, workers)]
    )


def _n_pieces(sketch, workers, chunk):
    """Number of pieces of a chunk: each is worth its thread, and its integers."""
    effort = len(chunk.X) * sketch.query.row_effort(chunk.X.shape[1])
    return int(np.clip(effort // max(_LEAST_EFFORT, sketch.size), 1, _PIECES * workers))


def _merged(sketches):
    total, *others = sketches
    for sketch in others:
        total.merge(sketch)
    return total


def _chunks(source, parts, told=lambda share: None):
    """Yield all chunks of some parts, and tell which share of all parts has been read."""
    n_parts = source.n_parts
    for part in parts:
        yield from source.read(part)
        told((part + 1) / n_parts)


def _count_parts(query, source, parts):
    return Sketch(query).update_all(_chunks(source, parts))


def _count_tables(query, reader, parts):
    sketch = Sketch(query)
    # counting a slice has to take more work than adding its table to the others
    least_rows = sketch.size // max(query.row_effort(reader.n_features), 1)
    chunks = chain.from_iterable(reader.chunks(least_rows, *part) for part in parts)
    return sketch.update_all(chunk for chunk in chunks if len(chunk.X))


def _collect_on_workers(query, source):
    def count(reader, parts):
        return to_bytes(_count_tables(query, reader, parts).packed())

    def merge(answers):
        total = Sketch(query)
        for answer in answers:  # which stay as they are: a task may run twice
            total.add_packed(from_bytes(answer, query.zeros()))
        return to_bytes(total.packed())

    found = source.answers(count, merge)
    total = Sketch(query)
    return total if found is None else total.add_packed(from_bytes(found, query.zeros()))


# States of sketches on their way between machines: as few bytes as their integers need.


@dataclass(frozen=True, eq=False)
class PackedIntegers:
    """An array of int64, exactly: in the shortest integers, without zeros where that is shorter.

    Parameters
    ----------
    shape : tuple of int
    values : ndarray
        All integers, or those at `places`.
    places : ndarray or None
        Flat places of the integers that are not zero; None when all are given.
    """

    shape: tuple
    values: np.ndarray
    places: np.ndarray | None

    @property
    def n_bytes(self):
        """Bytes of the arrays."""
        return self.values.nbytes + (0 if self.places is None else self.places.nbytes)


def pack(state):
    """Return a state with its arrays packed; parts that are not arrays are sparse by themselves."""
    packed = []
    for part in state:
        if isinstance(part, np.ndarray):
            flat = part.reshape(-1)
            low, high = (int(flat.min()), int(flat.max())) if flat.size else (0, 0)
            kind = np.result_type(np.min_scalar_type(low), np.min_scalar_type(high))
            if kind.itemsize == 8:  # int64 adds up with the arrays of sketches, uint64 does not
                kind = np.dtype(np.int64)
            places = np.flatnonzero(flat).astype(np.int32) if flat.size < 1 << 31 else None
            # places are kept where they and the values at them take fewer bytes than all values
            if places is not None and len(places) * (kind.itemsize + 4) < flat.size * kind.itemsize:
                flat = flat[places]
            else:
                places = None
            part = PackedIntegers(part.shape, flat.astype(kind), places)
        packed.append(part)
    return tuple(packed)


def unpack_into(state, packed):
    """Add a packed state to `state` in place; the packed one is not changed."""
    for mine, theirs in zip(state, packed, strict=True):
        if not isinstance(theirs, PackedIntegers):
            mine += theirs
        elif theirs.places is None:
            mine += theirs.values.reshape(mine.shape)
        else:
            mine.reshape(-1)[theirs.places] += theirs.values  # places are different


def to_bytes(packed):
    """Return a packed state as bytes that hold arrays and nothing that could be run."""
    arrays = {}
    for i, part in enumerate(packed):
        if isinstance(part, PackedIntegers):
            arrays |= {f"{i}.shape": np.array(part.shape, dtype=np.int64), f"{i}.0": part.values}
            arrays |= {} if part.places is None else {f"{i}.1": part.places}
        else:
            arrays |= {f"{i}.{j}": array for j, array in enumerate(part.arrays())}
    stream = BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def from_bytes(data, zeros):
    """Return the packed state of which `data` was made.

    Parameters
    ----------
    data : bytes
    zeros : tuple
        The state of no rows: parts that are not arrays are added to it.
    """
    with np.load(BytesIO(data), allow_pickle=False) as arrays:
        return tuple(_part(arrays, i, part) for i, part in enumerate(zeros))


def _part(arrays, i, part):
    if isinstance(part, np.ndarray):
        shape = tuple(arrays[f"{i}.shape"].tolist())
        return PackedIntegers(shape, arrays[f"{i}.0"], arrays.get(f"{i}.1"))
    part.add_arrays(*(arrays[name] for name in arrays.files if name.startswith(f"{i}.")))
    return part


# Threads that share the cores: how many there are, and linear algebra that leaves them alone.


def n_threads():
    """Return the number of threads for one piece of work, as the user wishes.

    That is ``n_jobs`` of ``joblib.parallel_config``; where it was not called, the number of
    available cores, and at most ``OMP_NUM_THREADS``; one in a worker of joblib, which shares the
    cores with others already.
    """
    backend, n_jobs = get_active_backend()
    if n_jobs is not None:
        return effective_n_jobs(None)
    return 1 if getattr(backend, "nesting_level", 0) else openmp_threads()


def wants_processes():
    """Whether ``joblib.parallel_config`` asks for workers that are not threads."""
    backend, _ = get_active_backend()
    return effective_n_jobs(None) > 1 and not getattr(backend, "supports_sharedmem", False)


_controller = cache(ThreadpoolController)  # looks for the libraries, which takes 10 ms


class _OneThread:
    """Holds the linear algebra libraries at one thread while anyone wants them to be.

    The limit is one of the process: of several fits in threads the first sets it, and the last one
    lifts it.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._wanted = 0
        self._limit = None

    @contextmanager
    def held(self):
        with self._lock:
            self._wanted += 1
            if self._wanted == 1:
                self._limit = _controller().limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with self._lock:
                self._wanted -= 1
                if self._wanted == 0:
                    self._limit.restore_original_limits()


one_blas_thread = _OneThread().held


@cache
def keep_freed_memory():
    """Let the C library keep some freed memory for the next array, once in a process.

    The GNU library hands freed arrays back to the system at once, and has to be given them page by
    page again for every block of rows, until a program has freed an array of 32 MiB. This frees
    one that was never written on. From then on up to 64 MiB a thread stay where they are.
    """
    np.empty((32 << 20) - (1 << 16), dtype=np.uint8)


class SharedTasks:
    """An iterator that several threads may draw from.

    Parameters
    ----------
    tasks : iterator
    """

    def __init__(self, tasks):
        self._tasks = tasks
        self._lock = threading.Lock()
        self._over = False

    def __iter__(self):
        return self

    def __next__(self):
        with self._lock:
            if self._over:
                raise StopIteration
            return next(self._tasks)

    def close(self):
        """Let every thread find that there are no more tasks."""
        self._over = True


def share_out(work, tasks, n_threads):
    """Results of ``work(tasks)`` in every one of several threads that share `tasks`.

    Parameters
    ----------
    work : callable
        Takes an iterator, and draws from it as long as there are tasks.
    tasks : iterator
    n_threads : int
        This thread is one of them.
    """
    if n_threads == 1:
        return [work(tasks)]
    shared = SharedTasks(tasks)
    with one_blas_thread(), ThreadPoolExecutor(n_threads - 1) as others:
        found = [others.submit(work, shared) for _ in range(n_threads - 1)]
        try:
            return [work(shared), *(each.result() for each in found)]
        finally:
            shared.close()  # after an error or an interrupt in one thread the others stop too
