"""One sketch over all rows, however they come: threads, processes, Dask, Spark."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from itertools import chain

import numpy as np
from joblib import effective_n_jobs
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

    def to_bytes(self):
        """Return the integers for a journey to another machine: few bytes, none of them code."""
        arrays = {}
        for i, part in enumerate(self._state):
            # parts that are not arrays are sparse by themselves
            held = packed(part) if isinstance(part, np.ndarray) else part.arrays()
            arrays |= {f"{i}.{j}": array for j, array in enumerate(held)}
        stream = BytesIO()
        np.savez(stream, **arrays)
        return stream.getvalue()

    def add_bytes(self, data):
        """Add the integers of a sketch of the same query, as its `to_bytes` returned them."""
        with np.load(BytesIO(data), allow_pickle=False) as arrays:
            for i, part in enumerate(self._state):
                held = [arrays[name] for name in arrays.files if name.startswith(f"{i}.")]
                if isinstance(part, np.ndarray):
                    values, *places = held  # places are different
                    part.reshape(-1)[places[0] if places else slice(None)] += values
                else:
                    part.add_arrays(*held)
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


def collect(query, rows):
    """Return the sketch of `query` over all rows.

    Rows are counted in threads, or where they are, by Dask or Spark workers. Only sketches travel;
    they hold integers, which add up to the same in any order.
    """
    source = rows.source
    if isinstance(source, WorkerSource):
        return _collect_on_workers(query, source)
    workers = n_threads() if query.in_threads else 1
    total = Sketch(query)
    chunks = chain.from_iterable(map(source.read, range(source.n_parts)))
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
    for sketch in share_out(lambda some: Sketch(query).update_all(some), pieces, workers):
        total.merge(sketch)
    return total


def _n_pieces(sketch, workers, chunk):
    """Number of pieces of a chunk: each is worth its thread, and its integers."""
    effort = len(chunk.X) * sketch.query.row_effort(chunk.X.shape[1])
    return int(np.clip(effort // max(_LEAST_EFFORT, sketch.size), 1, _PIECES * workers))


def _count_tables(query, reader, parts):
    sketch = Sketch(query)
    # counting a slice has to take more work than adding its table to the others
    least_rows = sketch.size // max(query.row_effort(reader.n_features), 1)
    chunks = chain.from_iterable(reader.chunks(least_rows, *part) for part in parts)
    return sketch.update_all(chunk for chunk in chunks if len(chunk.X))


def _collect_on_workers(query, source):
    def count(reader, parts):
        return _count_tables(query, reader, parts).to_bytes()

    def merge(answers):
        total = Sketch(query)
        for answer in answers:
            total.add_bytes(answer)
        return total.to_bytes()

    found = source.answers(count, merge)
    return Sketch(query) if found is None else Sketch(query).add_bytes(found)


def packed(array):
    """Return integers in the shortest type; without zeros, with places, where that is shorter."""
    flat = array.reshape(-1)
    low, high = (int(flat.min()), int(flat.max())) if flat.size else (0, 0)
    kind = np.result_type(np.min_scalar_type(low), np.min_scalar_type(high))
    if kind.itemsize == 8:  # int64 adds up with the arrays of sketches, uint64 does not
        kind = np.dtype(np.int64)
    if flat.size < 1 << 31:
        places = np.flatnonzero(flat).astype(np.int32)
        if len(places) * (kind.itemsize + places.itemsize) < flat.size * kind.itemsize:
            return flat[places].astype(kind), places
    return (flat.astype(kind),)


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
    lock, over = threading.Lock(), threading.Event()

    def shared():
        while not over.is_set():
            with lock:
                task = next(tasks, over)
            if task is over:
                return
            yield task

    with one_blas_thread(), ThreadPoolExecutor(n_threads - 1) as others:
        found = [others.submit(work, shared()) for _ in range(n_threads - 1)]
        try:
            return [work(shared()), *(each.result() for each in found)]
        finally:
            over.set()  # after an error or an interrupt in one thread the others stop too
