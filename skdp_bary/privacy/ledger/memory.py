"""Entries of a budget in the memory of one process."""

import os
import sys
import uuid
import warnings
from dataclasses import astuple

from ...exceptions import LedgerError, PrivacyWarning, ReadOnlyLedgerError
from .chain import Chained, Receipt, next_link
from .lock import LOCK
from .running_sums import RunningSums


class _Owner:
    """What tells one process from all others, though numbers of processes are given out again."""

    def __init__(self):
        self.renew()

    def renew(self):
        """Draw anew: this is another process now."""
        self.token = os.getpid(), uuid.uuid4().hex


_PROCESS = _Owner()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PROCESS.renew)


_ADVICE = (
    "Give the accountant a file that processes share, BudgetAccountant(..., ledger='budget.db'), "
    "or run in one process (n_jobs=1 or threads)."
)
_POOLS = ("concurrent.futures.process", "distributed", "joblib.externals.loky", "multiprocessing")
_WARNED = set()


def _goes_to_a_worker():
    """Whether what is being pickled is pickled by a pool of processes."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(_POOLS):
            return True
        frame = frame.f_back
    return False


class MemoryLedger(Chained):
    """Entries of one process; a pickled or forked copy can be read but not spent from.

    The list of entries is the ledger, and an entry gets there in one step, with its cost and its
    link: what interrupts a spend leaves all of the entry or nothing. Sums are taken from the list
    afterwards, by whoever asks next.
    """

    path = None

    def __init__(self, terms):
        self.terms = terms
        self._id = uuid.uuid4().hex
        self._log = []  # (entry, cost, link), oldest first
        self._sums = RunningSums(self.first_link())
        self._owner = _PROCESS.token

    def append(self, entry, cost, admit):
        """Add `entry` unless ``admit(tally, entries)`` raises; ``entries()`` returns them all."""
        with LOCK:
            self.refuse_copy()
            sums = self._summed()
            admit(sums.tally(entry.part), self._entries)
            self._log.append((entry, cost, next_link(sums.head[1], entry, cost)))

    def tally(self, part):
        """Return the sums that decide about a spend on `part`."""
        with LOCK:
            return self._summed().tally(part)

    def entries(self):
        """Return the entries, oldest first."""
        with LOCK:
            return self._entries()

    def _entries(self):
        return tuple(entry for entry, _, _ in self._log)

    def receipt(self):
        """Return the receipt of the latest entry."""
        with LOCK:
            return Receipt(self._id, *self._summed().head)

    def records(self):
        """Return the rows of all entries, oldest first, and the sums by part, see ``take_in``."""
        with LOCK:
            rows = [(*astuple(e), cost.loss, cost.delta, link) for e, cost, link in self._log]
            return rows, self._summed().totals

    def backup(self, path):
        """Raise: there is no file to copy."""
        raise LedgerError(
            "This budget lives in the memory of a process: there is no ledger file to back up."
        )

    def refuse_copy(self):
        """Raise unless this is the ledger that was created, in the process that created it."""
        if self._owner != _PROCESS.token or self._owner[0] != os.getpid():
            raise ReadOnlyLedgerError(
                f"{_ADVICE} This budget lives in the memory of another process; what is here is a "
                "copy, and spends from copies would not add up. Nothing was charged."
            )

    def __getstate__(self):
        if self._owner == _PROCESS.token and _goes_to_a_worker():
            self._warn_once()
        with LOCK:
            return self.__dict__ | {"_log": list(self._log), "_sums": None, "_owner": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._sums = RunningSums(self.first_link())

    def _warn_once(self):
        """Say, before any worker fails, why all of them will."""
        if self._id not in _WARNED:
            _WARNED.add(self._id)
            warnings.warn(
                f"{_ADVICE} A budget in memory is on its way to another process, where it can be "
                "read, and every fit on it will be refused.",
                PrivacyWarning,
                stacklevel=3,
            )

    def _summed(self):
        """Return the sums of all entries."""
        for record in self._log[self._sums.head[0] :]:
            self._sums.add_entry(*record)
        return self._sums
