"""Where the entries of a budget live: here, in memory.

``_sqlite`` keeps them in a file and ``_postgres`` on a server. All answer the same calls:
``append(entry, cost, admit)`` adds an entry in one atomic step with the question whether it is
admitted; ``tally(part)``, ``entries()``, ``receipt()`` and ``records()`` read; ``terms`` is what
the ledger was created with, and ``refuse_copy()`` raises when it cannot spend.
"""

import os
import threading
import uuid
from dataclasses import dataclass

from ..exceptions import LedgerError, ReadOnlyLedgerError
from ._chain import Receipt, first_link, next_link
from ._filters import Cost, Tally

# One lock for every ledger of the process. Charges are short and rare next to the fits they
# precede, and with a single lock a fork can wait until no charge is under way, so that a child
# never inherits a held lock or a half-used database.
LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
    )


SPEND, RAISE = "spend", "raise"
FIELDS = ("time", "who", "relation", "epsilon", "delta", "part", "note", "kind")


@dataclass(frozen=True, slots=True)
class Entry:
    """One spend of a budget, or one raise of its ceiling.

    Parameters
    ----------
    time : str
        When it was charged, in UTC.
    who : str
        Who asked for it.
    relation : str
        Neighbouring relation of the release.
    epsilon, delta : float
        What was asked for; the new ceiling of a raise.
    part : str
        The part of the data it was charged on; empty for the whole data.
    note : str
        Free text. Fits write what one person is to them, "rows" or "persons by groups", and
        "seeded, not private" where it is so.
    kind : {"spend", "raise"}
    """

    time: str
    who: str
    relation: str
    epsilon: float
    delta: float
    part: str
    note: str
    kind: str = SPEND


def note_of(person, seeded):
    """Return the note of a fit: what one person is to it, and whether its noise is seeded."""
    return f"{person}; seeded, not private" if seeded else person


def open_ledger(path, terms):
    """Return a ledger in memory, in the file `path`, or on the server at that address."""
    if path is None:
        return MemoryLedger(terms)
    if is_server(path):
        from ._postgres import PostgresLedger

        return PostgresLedger(path, terms)
    from ._sqlite import SqliteLedger  # budgets in memory do not need sqlite3

    return SqliteLedger(path, terms)


def terms_now(terms, raised):
    """Return the terms of a ledger with the ceiling that it was last raised to."""
    return terms if raised is None else terms | {"epsilon": raised[0], "delta": raised[1]}


def differing_terms(stored, raised, terms, where):
    """Return in words which terms differ from those that a ledger holds; empty when none does.

    The order of a raised ceiling is that of the first one, and follows from nothing else.
    """
    stored = terms_now(stored, raised)
    return "; ".join(
        f"{name} is {stored[name]!r} {where} and {given!r} here"
        for name, given in terms.items()
        if stored[name] != given and not (raised and name == "renyi_order")
    )


def read_records(rows, sums):
    """Return entries, costs and links of rows, and the running sums by part, see ``records``.

    Parameters
    ----------
    rows : sequence of tuple
        The fields of an entry, loss and delta in units, and the link.
    sums : sequence of tuple
        Part, loss and delta in units.
    """
    n = len(FIELDS)
    entries, costs = [Entry(*row[:n]) for row in rows], [Cost(*row[n : n + 2]) for row in rows]
    totals = {part: Cost(loss, delta) for part, loss, delta in sums}
    return entries, costs, [row[n + 2] for row in rows], totals


def is_server(ledger):
    """Whether a ledger is named by the address of a PostgreSQL server."""
    return isinstance(ledger, str) and ledger.startswith(("postgresql://", "postgres://"))


def read_terms(path):
    """Return what the entries of an existing ledger are measured against now."""
    if is_server(path):
        from ._postgres import PostgresLedger

        return PostgresLedger.terms_at(path)
    from ._sqlite import read_terms

    return read_terms(path)


def refuse_existing(path):
    """Raise when a ledger is there already."""
    if is_server(path):
        from ._postgres import PostgresLedger

        PostgresLedger.refuse_existing(path)
    elif os.path.exists(path) and os.path.getsize(path):
        raise LedgerError(f"The ledger {os.fspath(path)!r} exists already. Nothing was changed.")


class MemoryLedger:
    """Entries of one process; a pickled or forked copy can be read but not spent from."""

    path = None

    def __init__(self, terms):
        self.terms = terms
        self._id = uuid.uuid4().hex
        self._raised = None
        self._entries, self._costs, self._links = [], [], []
        self._totals = {}
        self._leading_losses = []
        self._leading_deltas = []
        self._owner = os.getpid()

    def append(self, entry, cost, admit):
        """Add `entry` unless ``admit(tally)`` raises."""
        with LOCK:
            self.refuse_copy()
            admit(self._tally(entry.part))
            total = self._totals.get(entry.part, Cost()) + cost
            self._totals[entry.part] = total  # before the entry: an interrupt may only overcount
            if entry.part:
                self._leading_losses = self._leading(self._leading_losses, entry.part, "loss")
                self._leading_deltas = self._leading(self._leading_deltas, entry.part, "delta")
            if entry.kind == RAISE:
                self._raised = entry.epsilon, entry.delta
            self._links.append(next_link(self._last_link(), entry, cost))
            self._costs.append(cost)
            self._entries.append(entry)

    def tally(self, part):
        """Return the sums that decide about a spend on `part`."""
        with LOCK:
            return self._tally(part)

    def entries(self):
        """Return the entries, oldest first."""
        with LOCK:
            return tuple(self._entries)

    def receipt(self):
        """Return the receipt of the latest entry."""
        with LOCK:
            return Receipt(self._id, len(self._links), self._last_link())

    def first_link(self):
        """Return the link before the first entry."""
        return first_link(self._id, self.terms)

    def records(self):
        """Return entries, costs and links, oldest first, and the running sums by part."""
        with LOCK:
            return list(self._entries), list(self._costs), list(self._links), dict(self._totals)

    def refuse_copy(self):
        """Raise unless this is the ledger that was created, in the process that created it."""
        if self._owner != os.getpid():
            raise ReadOnlyLedgerError(
                "This budget lives in the memory of another process; what is here is a copy, and "
                "spends from copies would not add up. Nothing was charged. Give the accountant a "
                "file that processes share, BudgetAccountant(..., ledger='budget.db'), or run in "
                "one process (n_jobs=1 or threads)."
            )

    def __getstate__(self):
        with LOCK:
            return {
                **self.__dict__,
                "_entries": list(self._entries),
                "_costs": list(self._costs),
                "_links": list(self._links),
                "_totals": dict(self._totals),
                "_owner": None,
            }

    def _tally(self, part):
        return Tally(
            part,
            self._totals.get("", Cost()),
            self._totals.get(part, Cost()) if part else Cost(),
            self._others(self._leading_losses, part, "loss"),
            self._others(self._leading_deltas, part, "delta"),
            self._raised,
        )

    def _last_link(self):
        return self._links[-1] if self._links else self.first_link()

    # Sums only grow, so the two leading parts after a spend are among the two before and the part
    # that was charged.
    def _leading(self, leading, part, amount):
        names = dict.fromkeys([*leading, part])
        return sorted(names, key=lambda name: getattr(self._totals[name], amount))[-2:]

    def _others(self, leading, part, amount):
        others = (getattr(self._totals[name], amount) for name in leading if name != part)
        return tuple(sorted(others, reverse=True))
