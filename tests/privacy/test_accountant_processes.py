"""Budgets and processes: workers, forks and models that travel."""

import os
import threading
import time

import joblib
import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import BudgetError, PrivacyWarning, ReadOnlyLedgerError
from tests.privacy.test_ledger_crash import start, wait

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform cannot fork")


@needs_fork
@pytest.mark.parametrize("in_memory", [True, False])
def test_a_forked_process_never_multiplies_the_budget(tmp_path, in_memory):
    accountant = BudgetAccountant(1.0, ledger=None if in_memory else tmp_path / "budget.db")
    accountant.spend(0.25)

    def child():
        if accountant.total() != (0.25, 0.0):
            return 1
        try:
            accountant.spend(0.5, who="child")
        except ReadOnlyLedgerError:
            return 2
        return 3

    assert run_in_fork(child) == (2 if in_memory else 3)
    assert len(accountant.entries) == (1 if in_memory else 2)


@needs_fork
def test_a_forked_process_that_got_the_same_number_never_multiplies_the_budget(monkeypatch):
    """As in a container, where the number of every first process is 1."""
    accountant, number = BudgetAccountant(1.0), os.getpid()

    def child():
        monkeypatch.setattr(os, "getpid", lambda: number)
        try:
            accountant.spend(0.5)
        except ReadOnlyLedgerError:
            return 2
        return 3

    assert run_in_fork(child) == 2
    accountant.spend(1.0)


def test_joblib_workers_refuse_a_budget_in_memory():
    accountant = BudgetAccountant(1.0)
    attempts = [joblib.delayed(spender(accountant))()] * 5
    with pytest.warns(PrivacyWarning, match="every fit on it will be refused"):
        assert joblib.Parallel(n_jobs=2)(attempts) == ["copy"] * 5
    outcomes = joblib.Parallel(n_jobs=2, prefer="threads")(attempts)
    assert sorted(outcomes) == ["fitted"] * 4 + ["refused"]


@needs_fork
@pytest.mark.parametrize("in_memory", [True, False])
def test_a_fork_never_inherits_a_held_lock(tmp_path, monkeypatch, in_memory):
    accountant = BudgetAccountant(1.0, ledger=None if in_memory else tmp_path / "budget.db")
    charging = threading.Event()

    def slow(*_):
        charging.set()
        time.sleep(0.3)

    monkeypatch.setattr(BudgetAccountant, "_admit", slow)
    thread = threading.Thread(target=accountant.spend, args=(0.25,))
    thread.start()
    charging.wait()
    assert run_in_fork(lambda: 0 if accountant.total() == (0.25, 0.0) else 1) == 0
    thread.join()


def spender(accountant):
    """Return a function that workers can load without importing this module."""

    def attempt():
        try:
            accountant.spend(0.25, who="worker")
        except ReadOnlyLedgerError:
            return "copy"
        except BudgetError:
            return "refused"
        return "fitted"

    return attempt


def run_in_fork(function, seconds=10.0):
    """Return the exit status of a forked child that runs `function`, or kill it when it hangs."""
    pid = start(lambda: os._exit(function()))
    watchdog = threading.Timer(seconds, os.kill, (pid, 9))
    watchdog.start()
    status = wait(pid)
    watchdog.cancel()
    return status
