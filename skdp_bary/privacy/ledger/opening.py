"""Where the entries of a budget live: in memory, in a file, or on a server.

``memory``, ``sqlite`` and ``postgres`` answer the same calls: ``append(entry, cost, admit)``
adds an entry in one atomic step with the question whether it is admitted; ``tally(part)``,
``entries()``, ``receipt()`` and ``records()`` read; ``terms`` is what the ledger was created with,
and ``refuse_copy()`` raises when it cannot spend.
"""

import os

from ...exceptions import LedgerError
from .address import is_address, refuse_near_address
from .memory import MemoryLedger


def open_ledger(path, terms):
    """Return a ledger in memory, in the file `path`, or on the server at that address."""
    if path is None:
        return MemoryLedger(terms)
    if is_address(path):
        from .postgres import PostgresLedger

        return PostgresLedger(path, terms)
    refuse_near_address(path)
    from .sqlite import SqliteLedger  # budgets in memory do not need sqlite3

    return SqliteLedger(path, terms)


def find_ledger(path):
    """Return the ledger in the file `path`, or on the server at that address, which must exist."""
    if path is None:
        raise TypeError("ledger must be a path or the address of a budget, got None.")
    return open_ledger(path, None)


def refuse_existing(path):
    """Raise when a ledger is there already."""
    if is_address(path):
        from .postgres import PostgresLedger

        PostgresLedger.refuse_existing(path)
        return
    refuse_near_address(path)
    if os.path.exists(path) and os.path.getsize(path):
        raise LedgerError(
            f"The ledger {os.fspath(path)!r} exists already. "
            "BudgetAccountant.open opens it. Nothing was changed."
        )
