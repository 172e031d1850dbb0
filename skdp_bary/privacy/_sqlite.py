"""Entries of a budget in a SQLite file, shared by the processes of one host."""

import os
import sqlite3
import uuid
from contextlib import closing, contextmanager
from dataclasses import astuple
from pathlib import Path

from ..exceptions import LedgerError
from ._chain import Receipt, first_link, next_link
from ._entries import FIELDS, Entry, differing_terms, terms_now
from ._filters import Cost, Tally
from ._lock import LOCK

_APPLICATION_ID = 0x736B6470  # marks the file as a ledger
_FORMAT = 3
_BUSY_SECONDS = 10.0
# A rollback journal rather than WAL: between two charges everything is in one file, so a copy or a
# backup of that file can never leave recent charges behind in a side file. EXTRA, because with a
# rollback journal FULL does not sync the folder after the journal is deleted: power lost just
# then could bring the journal back and undo a charge whose release is already out.
_JOURNAL, _SYNCHRONOUS = "DELETE", "EXTRA"

_SCHEMA = """
CREATE TABLE ledger (
    id TEXT NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL, neighbors TEXT NOT NULL,
    composition TEXT NOT NULL, renyi_order REAL
);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, who TEXT NOT NULL, relation TEXT NOT NULL,
    epsilon REAL NOT NULL, delta REAL NOT NULL, part TEXT NOT NULL, note TEXT NOT NULL,
    kind TEXT NOT NULL,
    loss_units INTEGER NOT NULL CHECK (loss_units >= 0),
    delta_units INTEGER NOT NULL CHECK (delta_units >= 0),
    link TEXT NOT NULL
);
CREATE TABLE totals (
    part TEXT PRIMARY KEY, n_entries INTEGER NOT NULL,
    loss_units INTEGER NOT NULL, delta_units INTEGER NOT NULL
);
CREATE INDEX raises ON entries (number) WHERE kind = 'raise';
CREATE INDEX totals_by_loss ON totals (loss_units);
CREATE INDEX totals_by_delta ON totals (delta_units);
"""

_TERMS = ("epsilon", "delta", "neighbors", "composition", "renyi_order")
_COLUMNS = ", ".join(FIELDS)
_INSERT = f"""
INSERT INTO entries ({_COLUMNS}, loss_units, delta_units, link)
VALUES ({", ".join("?" * (len(FIELDS) + 3))})
"""
# Running sums, so that a charge does not read all earlier entries.
_ADD_UP = """
INSERT INTO totals (part, n_entries, loss_units, delta_units) VALUES (?, 1, ?, ?)
ON CONFLICT (part) DO UPDATE SET
    n_entries = n_entries + 1,
    loss_units = loss_units + excluded.loss_units,
    delta_units = delta_units + excluded.delta_units
"""

_REASONS = {
    "SQLITE_BUSY": f"it stayed locked by another process for {_BUSY_SECONDS:g} seconds",
    "SQLITE_READONLY": "the file, or the folder it is in, is read-only",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_CANTOPEN": "the file is missing, or its folder is missing or read-only",
    "SQLITE_PERM": "permission is denied",
    "SQLITE_NOTADB": "it is not a budget ledger, nor any SQLite database",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_IOERR": "reading or writing the disk failed",
}


class SqliteLedger:
    """Entries in the file `path`, created on first use; pickles to the path.

    Every call opens its own connection and closes it, so none is ever shared by threads or
    inherited through a fork.

    Parameters
    ----------
    path : str or path-like
        The file.
    terms : dict
        What the entries are measured against (ceiling, relation, composition, order). They are
        stored in a new file, and must equal what an existing file holds.
    """

    def __init__(self, path, terms):
        self.path = _check_path(path)
        if not os.path.exists(self.path) or self._is_blank():
            self._create(terms)
        with self._session("DEFERRED") as db:
            self._id, self.terms = self._check_terms(db, terms)
            self._check_totals(db)

    def append(self, entry, cost, admit):
        """Add `entry` unless ``admit(tally)`` raises."""
        with self._session("IMMEDIATE") as db:
            self._check_identity(db)
            admit(_read_tally(db, entry.part))
            link = next_link(self._last(db)[1], entry, cost)
            db.execute(_INSERT, (*astuple(entry), cost.loss, cost.delta, link))
            db.execute(_ADD_UP, (entry.part, cost.loss, cost.delta))

    def tally(self, part):
        """Return the sums that decide about a spend on `part`."""
        with self._session("DEFERRED") as db:
            self._check_identity(db)
            return _read_tally(db, part)

    def entries(self):
        """Return the entries, oldest first."""
        with self._session("DEFERRED") as db:
            self._check_identity(db)
            rows = db.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY number")
            return tuple(Entry(*row) for row in rows)

    def receipt(self):
        """Return the receipt of the latest entry."""
        with self._session("DEFERRED") as db:
            self._check_identity(db)
            return Receipt(self._id, *self._last(db))

    @property
    def identity(self):
        """What tells this ledger from all others, wherever it is kept."""
        return self._id

    def first_link(self):
        """Return the link before the first entry."""
        return first_link(self._id, self.terms)

    def records(self):
        """Return the rows of all entries, oldest first, and the sums by part, see ``take_in``."""
        with self._session("DEFERRED") as db:
            self._check_identity(db)
            rows = db.execute(
                f"SELECT {_COLUMNS}, loss_units, delta_units, link FROM entries ORDER BY number"
            ).fetchall()
            sums = db.execute("SELECT part, loss_units, delta_units FROM totals").fetchall()
        return rows, {part: Cost(loss, delta) for part, loss, delta in sums}

    def refuse_copy(self):
        """Do nothing: a copy of this object reads and writes the same file."""

    def stored_terms(self):
        """Return what the entries are measured against now."""
        with self._session("DEFERRED") as db:
            self._check_format(db)
            row = db.execute(f"SELECT {', '.join(_TERMS)} FROM ledger").fetchone()
            return terms_now(dict(zip(_TERMS, row, strict=True)), _raised(db))

    def _is_blank(self):
        # A creation that was killed leaves an empty file, or a journal that empties it.
        with self._session("DEFERRED") as db:
            return _is_blank(db)

    def _create(self, terms):
        with self._session("IMMEDIATE", mode="rwc") as db:
            if not _is_blank(db):  # another process was faster
                return
            for statement in _SCHEMA.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {_FORMAT}")
            columns = ", ".join(terms)
            marks = ", ".join("?" for _ in terms)
            db.execute(
                f"INSERT INTO ledger (id, {columns}) VALUES (?, {marks})",
                (uuid.uuid4().hex, *terms.values()),
            )

    def _check_format(self, db):
        if _pragma(db, "application_id") != _APPLICATION_ID:
            raise self._error("it is a SQLite database, but not a budget ledger")
        if _pragma(db, "user_version") != _FORMAT:
            raise self._error(
                f"it has ledger format {_pragma(db, 'user_version')}, this version of skdp_bary "
                f"reads format {_FORMAT}"
            )

    def _check_terms(self, db, terms):
        self._check_format(db)
        names = ("id", *terms)
        rows = db.execute(f"SELECT {', '.join(names)} FROM ledger").fetchall()
        if len(rows) != 1:
            raise self._error(f"it holds {len(rows)} ceilings instead of one")
        stored = dict(zip(terms, rows[0][1:], strict=True))
        differing = differing_terms(stored, _raised(db), terms, "in the file")
        if differing:
            raise self._error(f"it was created for another budget: {differing}")
        return rows[0][0], stored

    def _check_totals(self, db):
        summed = db.execute(
            "SELECT part, COUNT(*), SUM(loss_units), SUM(delta_units) FROM entries "
            "GROUP BY part ORDER BY part"
        ).fetchall()
        kept = db.execute(
            "SELECT part, n_entries, loss_units, delta_units FROM totals ORDER BY part"
        ).fetchall()
        if summed != kept:
            raise self._error("its running totals differ from the sum of its entries")

    def _last(self, db):
        """Return the number of entries and the link of the latest."""
        row = db.execute("SELECT number, link FROM entries ORDER BY number DESC LIMIT 1").fetchone()
        return (0, self.first_link()) if row is None else row

    def _check_identity(self, db):
        # The path alone is not enough: a file deleted and created anew would start at zero.
        if db.execute("SELECT id FROM ledger").fetchall() != [(self._id,)]:
            raise self._error("it was replaced by another ledger since this budget was opened")

    @contextmanager
    def _session(self, lock, mode="rw"):
        """Open one transaction: committed when the block ends, undone when it raises."""
        with LOCK:
            try:
                with closing(self._connect(mode)) as db:
                    db.execute(f"BEGIN {lock}")
                    try:
                        yield db
                        db.execute("COMMIT")
                    except BaseException:
                        if db.in_transaction:
                            db.execute("ROLLBACK")
                        raise
            except sqlite3.Error as error:
                raise self._error(_reason(error)) from error

    def _connect(self, mode):
        # mode=rw never creates: a budget whose file disappeared must not start again from zero.
        uri = f"{Path(self.path).as_uri()}?mode={mode}"
        db = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            db.execute(f"PRAGMA journal_mode = {_JOURNAL}")
            db.execute(f"PRAGMA synchronous = {_SYNCHRONOUS}")
        except BaseException:
            db.close()
            raise
        return db

    def _error(self, reason):
        return LedgerError(
            f"The ledger {self.path!r} cannot be used: {reason}. Nothing was released."
        )


def read_terms(path):
    """Return the terms that an existing ledger file holds."""
    ledger = SqliteLedger.__new__(SqliteLedger)
    ledger.path = _check_path(path)
    return ledger.stored_terms()


def _read_tally(db, part):
    sums = {
        name: Cost(loss, delta)
        for name, loss, delta in db.execute(
            "SELECT part, loss_units, delta_units FROM totals WHERE part IN ('', ?)", (part,)
        )
    }
    return Tally(
        part,
        sums.get("", Cost()),
        sums.get(part, Cost()) if part else Cost(),
        _two_largest(db, "loss_units", part),
        _two_largest(db, "delta_units", part),
        _raised(db),
    )


def _raised(db):
    """Return the (epsilon, delta) that the ceiling was last raised to, or None."""
    return db.execute(
        "SELECT epsilon, delta FROM entries WHERE kind = 'raise' ORDER BY number DESC LIMIT 1"
    ).fetchone()


def _two_largest(db, column, part):
    rows = db.execute(
        f"SELECT {column} FROM totals WHERE part NOT IN ('', ?) ORDER BY {column} DESC LIMIT 2",
        (part,),
    )
    return tuple(units for (units,) in rows)


def _is_blank(db):
    return db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() == (0,)


def _pragma(db, name):
    return db.execute(f"PRAGMA {name}").fetchone()[0]


def _reason(error):
    name = getattr(error, "sqlite_errorname", "")
    known = [reason for code, reason in _REASONS.items() if name.startswith(code)]
    return f"{known[0]} ({error})" if known else str(error)


def _check_path(path):
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path) or path == ":memory:":
        raise ValueError(
            "ledger must be None (entries stay in memory) or the path of a file, such as "
            f"'budget.db', got {path!r}."
        )
    return os.path.abspath(os.fspath(path))
