"""Threads: how many, over what they share, and the linear algebra below them."""

import itertools
import threading

import joblib
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skdp_bary import _threads
from skdp_bary._threads import n_threads, one_blas_thread, share_out, wants_processes


@pytest.fixture
def many_cores(monkeypatch):
    monkeypatch.setattr(_threads, "openmp_threads", lambda: 7)


def test_all_cores_are_used_unless_joblib_is_told_otherwise(many_cores):
    assert n_threads() == 7
    assert not wants_processes()
    for n_jobs in (1, 3):
        with joblib.parallel_config(backend="threading", n_jobs=n_jobs):
            assert n_threads() == n_jobs
            assert not wants_processes()
    with joblib.parallel_config(backend="threading"):
        assert n_threads() == 7
    with joblib.parallel_config(n_jobs=2):
        assert wants_processes()


def test_the_limit_of_openmp_is_respected():
    with threadpool_limits(1, "openmp"):
        assert n_threads() == 1


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
