"""Entries of a budget in a SQLite file, shared by the processes of one host."""

import os
import sqlite3
import uuid
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from ...exceptions import LedgerError, ReadOnlyLedgerError
from .chain import Chained, Receipt, first_link, next_link, take_in
from .entry import Entry, differing_terms
from .filters import Cost
from .lock import LOCK
from .running_sums import RunningSums
from .side_file import SideFile, make_file, read_mark, write_mark
from .sqlite_format import (
    BACKUP,
    COLUMNS,
    DAMAGED,
    FORMAT,
    JOURNAL,
    LEDGER,
    ROWS,
    SCHEMA,
    SYNCHRONOUS,
    TERMS,
    check_path,
    expected_schema,
    in_memory,
    insert,
    pragma,
    reason_of,
    schema_of,
    write_new,
)

_BUSY_SECONDS = 10.0
_SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)  # the second for damaged texts


class SqliteLedger(Chained):
    """Entries in the file `path`, created on first use; pickles to the path.

    Every call takes the lock of the side file, opens a connection of its own and closes it, so
    none is ever shared by threads or inherited through a fork. The first call reads and checks the
    whole file. Later ones read the entries that were added since, and check that they continue
    what was known: sums are kept here, and whatever happens to earlier entries in the file gives
    no budget back.

    Parameters
    ----------
    path : str or path-like
        The file.
    terms : dict or None
        What the entries are measured against (ceiling, relation, composition, order). They are
        stored in a new file, and must equal what an existing file holds. With None the file must
        exist.
    """

    def __init__(self, path, terms=None):
        self._find(path)
        if terms is not None:
            self._create_where_there_is_none(terms)
        with self._session() as db:
            self._id, self.terms = self._stored(db)
            raised = self._caught_up(db).raised
        differing = terms and differing_terms(self.terms, raised, terms, "in the file")
        if differing:
            raise self._error(f"it was created for another budget: {differing}")

    def append(self, entry, cost, admit):
        """Add `entry` unless ``admit(tally, entries)`` raises; ``entries()`` returns them all."""
        with self._held(writing=True) as side:
            with self._transaction(writing=True) as db:
                self._check_mark(side, db)
                sums = self._caught_up(db)
                self._refuse_backup(db)
                admit(sums.tally(entry.part), lambda: _entries(db))
                number, link = sums.head[0] + 1, next_link(sums.head[1], entry, cost)
                insert(db, number, entry, cost, link)
            sums.add_entry(entry, cost, link)  # once it is on disk, and before anybody else asks

    def tally(self, part):
        """Return the sums that decide about a spend on `part`."""
        with self._session() as db:
            return self._caught_up(db).tally(part)

    def entries(self):
        """Return the entries, oldest first."""
        with self._session() as db:
            self._caught_up(db)
            return _entries(db)

    def receipt(self):
        """Return the receipt of the latest entry."""
        with self._session() as db:
            return Receipt(self._id, *self._caught_up(db).head)

    def records(self):
        """Return the rows of all entries, oldest first, and the sums by part, see ``take_in``."""
        with self._session() as db:
            self._check_file(db)
            sums = self._caught_up(db)
            return db.execute(ROWS, (0,)).fetchall(), sums.totals

    def refuse_copy(self):
        """Raise when this is a backup; a copy of this object reads and writes the same file."""
        with self._session() as db:
            self._refuse_backup(db)

    def backup(self, path):
        """Write a backup of this moment to a new file, see ``BudgetAccountant.backup``."""
        with self._session() as db:
            self._check_file(db)
            self._caught_up(db)
            copy = in_memory(db)
        with closing(copy):
            copy.execute(f"PRAGMA application_id = {BACKUP}")
            try:
                write_new(copy, path)
            except (OSError, *_SQLITE_ERRORS) as error:
                raise _not_written(path, error) from error

    def restore(self, path, entry):
        """Make a ledger of this backup, see ``BudgetAccountant.restore``."""
        with self._session() as db:
            if pragma(db, "application_id") != BACKUP:
                raise self._error("it is a ledger and no backup, and two of it would not add up")
            number, link = self._caught_up(db).head
            copy = in_memory(db)
        with closing(copy):
            copy.execute(f"PRAGMA application_id = {LEDGER}")
            insert(copy, number + 1, entry, Cost(), next_link(link, entry, Cost()))
            target = SqliteLedger.__new__(SqliteLedger)
            target._find(path)
            target._take_over(copy, self._id)

    def _take_over(self, copy, identity):
        with self._held(writing=True, creating=True) as side:
            if os.path.exists(self.path):
                raise self._error("there is a file already; move it away to restore a backup")
            if self._read_mark(side) not in (None, identity):
                raise self._error(f"{self._side.path!r} speaks of another ledger")
            with self._on_disk():
                write_mark(side, identity)
                write_new(copy, self.path)

    def _find(self, path):
        self.path = check_path(path)
        self._side = SideFile(self.path)
        self._id = self._sums = None

    def _create_where_there_is_none(self, terms):
        if os.path.isdir(self.path):
            raise self._error("it is a folder")
        if os.path.exists(self.path):
            if not os.path.exists(self._side.path):
                self._refuse_empty()
                return
            if os.path.getsize(self.path) and not self._is_blank():
                return
        with self._held(writing=True, creating=True) as side:
            known = self._read_mark(side)
            if known is None:
                self._create(terms)
            elif not os.path.exists(self.path) or self._blank_now():
                raise self._error(
                    f"the file is missing or empty, and {self._side.path!r} says that a ledger was "
                    "there. Restore a backup; to start anew from zero, remove that file too"
                )

    def _refuse_empty(self):
        if not os.path.getsize(self.path):
            raise self._error(
                "the file is empty, and no creation of a ledger left it behind: a new ledger makes "
                "its own file"
            )

    def _is_blank(self):
        # A creation that was killed leaves an empty file, or a journal that empties it.
        with self._held():
            return self._blank_now()

    def _blank_now(self):
        with self._transaction() as db:
            return db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() == (0,)

    def _create(self, terms):
        with self._on_disk():
            os.close(make_file(self.path))
        if not self._blank_now():  # another process was faster
            return
        with self._transaction(writing=True) as db:
            for statement in SCHEMA.split(";"):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {LEDGER}")
            db.execute(f"PRAGMA user_version = {FORMAT}")
            identity = uuid.uuid4().hex
            columns, marks = ", ".join(terms), ", ".join("?" for _ in terms)
            db.execute(
                f"INSERT INTO ledger (id, {columns}, number, link) VALUES (?, {marks}, 0, ?)",
                (identity, *terms.values(), first_link(identity, terms)),
            )

    def _stored(self, db):
        """Return the identity and the terms that the file was created with."""
        self._check_format(db)
        rows = db.execute(f"SELECT id, {', '.join(TERMS)} FROM ledger").fetchall()
        if len(rows) != 1:
            raise self._error(f"it holds {len(rows)} ceilings instead of one")
        identity, *values = rows[0]
        terms = dict(zip(TERMS, values, strict=True))
        if not (isinstance(identity, str) and all(isinstance(terms[n], TERMS[n]) for n in TERMS)):
            raise self._error(DAMAGED)
        return identity, terms

    def _check_format(self, db):
        if pragma(db, "application_id") not in (LEDGER, BACKUP):
            raise self._error("it is a SQLite database, but not a budget ledger")
        if pragma(db, "user_version") != FORMAT:
            raise self._error(
                f"it has ledger format {pragma(db, 'user_version')}, this version of skdp_bary "
                f"reads format {FORMAT}"
            )

    def _check_file(self, db):
        """Raise unless the pages of the file are whole and hold what a ledger holds."""
        self._check_format(db)
        if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise self._error(DAMAGED)
        if schema_of(db) != expected_schema():
            raise self._error("its tables are not those of a ledger")

    def _caught_up(self, db):
        """Return the sums of all entries; those that were not known are read and checked."""
        # The path alone is not enough: a file deleted and created anew would start at zero.
        if self._stored(db) != (self._id, self.terms):
            raise self._error("it was replaced by another ledger since this budget was opened")
        sums = self._sums
        if sums is None:
            self._check_file(db)
            sums = RunningSums(self.first_link())
        head = db.execute("SELECT number, link FROM ledger").fetchone()
        take_in(self.path, sums, db.execute(ROWS, (sums.head[0],)))
        (latest,) = db.execute("SELECT COALESCE(MAX(number), 0) FROM entries").fetchone()
        if not (head == sums.head and latest == head[0]):
            raise self._error(
                "it does not hold the entries that it should. An older copy may have been put in "
                "its place"
            )
        self._sums = sums
        return sums

    def _refuse_backup(self, db):
        if pragma(db, "application_id") == BACKUP:
            raise ReadOnlyLedgerError(
                f"{self.path!r} is a backup: it can be read, and what is spent from two copies of "
                "a ledger would not add up. Nothing was charged. BudgetAccountant.restore, or "
                "skdp-bary budget restore, puts it in the place of a ledger that was lost."
            )

    @contextmanager
    def _session(self, *, writing=False):
        """Hold the side file and open one transaction on the ledger that it speaks of."""
        with self._held(writing=writing) as side, self._transaction(writing=writing) as db:
            self._check_mark(side, db)
            yield db

    def _check_mark(self, side, db):
        if side is None:
            return
        known, (identity, _) = self._read_mark(side), self._stored(db)
        if known is None and side.writable():
            with self._on_disk():
                write_mark(side, identity)
        elif known not in (None, identity):
            raise self._error(
                f"it is not the ledger that {self._side.path!r} speaks of: it was replaced by "
                "another ledger"
            )

    def _read_mark(self, side):
        try:
            return read_mark(side)
        except ValueError as error:
            raise self._error(str(error)) from None

    @contextmanager
    def _held(self, *, writing=False, creating=False):
        """Hold the lock of this process, and that of the side file."""
        create = creating or os.path.exists(self.path)
        with LOCK, ExitStack() as stack:
            with self._on_disk():
                side = stack.enter_context(
                    self._side.held(_BUSY_SECONDS, create=create, writing=writing)
                )
            yield side

    @contextmanager
    def _on_disk(self):
        """Say in words what the operating system or SQLite refuses."""
        try:
            yield
        except (OSError, *_SQLITE_ERRORS) as error:
            raise self._error(reason_of(error, _BUSY_SECONDS)) from error

    @contextmanager
    def _transaction(self, *, writing=False):
        """Open one transaction: committed when the block ends, undone when it raises."""
        try:
            with closing(self._connect()) as db:
                db.execute("BEGIN IMMEDIATE" if writing else "BEGIN DEFERRED")
                try:
                    yield db
                    db.execute("COMMIT")
                except BaseException:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                    raise
        except _SQLITE_ERRORS as error:
            raise self._error(reason_of(error, _BUSY_SECONDS)) from error

    def _connect(self):
        self._refuse_second_name()
        # mode=rw never creates: a budget whose file disappeared must not start again from zero.
        uri = f"{Path(self.path).as_uri()}?mode=rw"
        db = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            db.execute(f"PRAGMA journal_mode = {JOURNAL}")
            db.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
        except BaseException:
            db.close()
            raise
        return db

    def _refuse_second_name(self):
        # SQLite's journal is named after the file: one that was left under the other name is not
        # seen here, and undoes later on what is charged here in the meantime.
        if os.path.isdir(self.path):
            raise self._error("it is a folder; name a file in it")
        if os.path.exists(self.path) and os.stat(self.path).st_nlink > 1:
            raise self._error(
                "it has a second name, a hard link. Remove one of the two, and make a symbolic "
                "link or a backup instead"
            )

    def _error(self, reason):
        return LedgerError(
            f"The ledger {self.path!r} cannot be used: {reason}. Nothing was released."
        )

    def __getstate__(self):
        return self.__dict__ | {"_sums": None}


def _not_written(path, error):
    """Return the error that a backup of a sound ledger cannot be written to a file."""
    reason = reason_of(error, _BUSY_SECONDS)
    if isinstance(error, FileExistsError):
        reason = f"{error.filename!r} exists already; name another file"
    return LedgerError(
        f"The backup {os.fspath(path)!r} cannot be written: {reason}. The ledger is as it was."
    )


def _entries(db):
    rows = db.execute(f"SELECT {COLUMNS} FROM entries ORDER BY number")
    return tuple(Entry(*row) for row in rows)
