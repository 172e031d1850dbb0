"""Threads that share the cores: how many there are, and linear algebra that leaves them alone.

Rows are counted and measures are solved for in threads of their own, each of which uses one core.
A linear algebra library that splits its small products as well would make all of them wait for
each other. One thread in the library also means one order of sums, so what follows from releases
has the same bits however many cores there are.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numpy as np
from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from ._sklearn import openmp_threads


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
    """Return whether ``joblib.parallel_config`` asks for workers that are no threads."""
    backend, _ = get_active_backend()
    return effective_n_jobs(None) > 1 and not getattr(backend, "supports_sharedmem", False)


class _OneThread:
    """Holds the linear algebra libraries at one thread while anybody wants them to be.

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


@cache
def _controller():
    return ThreadpoolController()  # looks for the libraries, which takes 10 ms


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
    """Return what ``work(tasks)`` returns in every one of several threads that share `tasks`.

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
