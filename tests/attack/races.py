"""Threads and processes that spend one budget at once: together never more than the ceiling."""

import os
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import BudgetError, LedgerError
from tests.privacy.test_ledger_backup import race_beside_copies
from tests.privacy.test_ledger_crash import start, wait

from .promises import Promise, Trial, repeated

_MOST_PROCESSES, _MOST_THREADS, _MOST_SPENDS = 4, 6, 12


def race(rng):
    """Let some threads, of one process or of several, spend random amounts until one is refused."""
    amounts = [Fraction(int(n), 100) for n in rng.integers(1, 60, size=_MOST_SPENDS)]
    n_threads = int(rng.integers(2, _MOST_THREADS + 1))
    if rng.random() < 0.5:
        accountant = BudgetAccountant(1.0)
        granted = _spend_in_threads(accountant, amounts, n_threads)
        return _judged(accountant, granted)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.db"
        BudgetAccountant(1.0, ledger=path)
        n_processes = int(rng.integers(1, _MOST_PROCESSES + 1))
        granted = _spend_in_processes(path, amounts, n_threads, n_processes)
        return _judged(BudgetAccountant(1.0, ledger=path), granted)


def _judged(accountant, granted):
    """Return a trial: how much of the ceiling was granted, and what is wrong with it."""
    held = sorted(Fraction(str(entry.epsilon)) for entry in accountant.entries)
    total, problems = sum(granted, Fraction(0)), []
    if total > 1:
        problems.append(f"{float(total)} was granted under a ceiling of 1.0")
    if held != sorted(granted):
        problems.append(f"{len(granted)} charges were granted, the ledger holds {len(held)}")
    if Fraction(str(accountant.total()[0])) != sum(held, Fraction(0)):
        problems.append("the total is not the sum of the entries")
    try:
        accountant.verify()
    except LedgerError as error:
        problems.append(str(error))
    return Trial("", float(total), "; ".join(problems))


def _spend_in_threads(accountant, amounts, n_threads):
    barrier = threading.Barrier(n_threads)

    def spend_all(first):
        barrier.wait()
        return [amount for amount in amounts[first:] + amounts[:first] if spent(amount)]

    def spent(amount):
        try:
            accountant.spend(float(amount))
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(n_threads) as pool:
        granted = [amount for own in pool.map(spend_all, range(n_threads)) for amount in own]
    return granted


def _spend_in_processes(path, amounts, n_threads, n_processes):
    def spend_all(number):
        shift = number % len(amounts)
        own = amounts[shift:] + amounts[:shift]
        granted = _spend_in_threads(BudgetAccountant(1.0, ledger=path), own, n_threads)
        path.with_suffix(f".{number}").write_text(" ".join(map(str, granted)))
        os._exit(0)

    pids = [start(lambda number=number: spend_all(number)) for number in range(n_processes)]
    failed = [status for status in map(wait, pids) if status]
    assert not failed, "a process that was spending failed"
    texts = [path.with_suffix(f".{number}").read_text() for number in range(n_processes)]
    return [Fraction(amount) for text in texts for amount in text.split()]


def race_or_copy(rng):
    """Race for one budget; one race in four is beside copies of the ledger's file."""
    if rng.random() < 0.75:
        return race(rng)
    with tempfile.TemporaryDirectory() as folder:
        race_beside_copies(Path(folder), 2, int(rng.integers(2**31)))
    return None


PROMISE = Promise(
    "races",
    "Simultaneous threads and processes together are granted no more than the limit of the budget",
    repeated(race_or_copy),
)
