"""Threads: how many, over what they share, and the linear algebra below them."""

import itertools
import os
import platform
import subprocess
import sys
import textwrap
import threading

import joblib
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tests.world import home, n_threads, one_blas_thread, share_out

_threads = home("n_threads")


@pytest.fixture
def many_cores(monkeypatch):
    monkeypatch.setattr(_threads, "openmp_threads", lambda: 7)


def test_all_cores_are_used_unless_joblib_is_told_otherwise(many_cores):
    assert n_threads() == 7
    for n_jobs in (1, 3):
        with joblib.parallel_config(backend="threading", n_jobs=n_jobs):
            assert n_threads() == n_jobs
    with joblib.parallel_config(backend="threading"):
        assert n_threads() == 7
    with joblib.parallel_config(n_jobs=2):
        assert n_threads() == 2


@pytest.mark.parametrize(("n_jobs", "expected"), [(1, 7), (2, 1)])
def test_a_worker_among_others_is_one_thread(many_cores, n_jobs, expected):
    workers = joblib.Parallel(n_jobs, backend="threading")
    assert workers(joblib.delayed(n_threads)() for _ in range(2)) == [expected] * 2


def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_linear_algebra_has_one_thread_until_the_last_one_leaves():
    with threadpool_limits(3, "blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert blas_threads() == {1}
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {3}


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_task_is_done_once(workers):
    found = share_out(list, iter(range(100)), workers)
    assert len(found) == workers
    assert sorted(task for some in found for task in some) == list(range(100))


def test_an_error_in_a_thread_is_raised_and_stops_the_others():
    both = threading.Barrier(2)

    def work(tasks):
        for task in tasks:
            if task < 2:
                both.wait()
            if task == 1:
                raise KeyError("a bad task")

    with pytest.raises(KeyError, match="a bad task"):
        share_out(work, itertools.count(), 2)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries keep memory or not")
def test_freed_memory_is_there_for_the_next_array():
    """Two arrays a turn, as of two blocks of rows: without it their pages are handed over anew."""
    code = """
        import resource
        import numpy as np
        from skdp_bary.desk.counting import keep_freed_memory
        def turn():
            first = np.ones(400_000)
            second = np.ones(400_000)
        for prepare in (int, keep_freed_memory):
            prepare()
            turn()
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            for _ in range(20):
                turn()
            print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """
    plain = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=plain)
    pages = 20 * 2 * 400_000 * 8 // 4096
    assert [int(faults) < 0.1 * pages for faults in done.stdout.split()] == [False, True]
