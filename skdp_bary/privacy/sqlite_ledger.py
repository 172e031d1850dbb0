"""Entries of a budget in a SQLite file, shared by the processes of one host."""

import os
import shutil
import sqlite3
import stat
import tempfile
import uuid
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from ..exceptions import LedgerError, ReadOnlyLedgerError
from .entries import (
    Chained,
    Cost,
    Entry,
    Receipt,
    RunningSums,
    differing_terms,
    first_link,
    next_link,
    take_in,
)
from .memory_ledger import LOCK
from .sqlite_file import (
    BACKUP,
    COLUMNS,
    DAMAGED,
    FOREIGN,
    FORMAT,
    JOURNAL,
    LEDGER,
    ROWS,
    SCHEMA,
    SYNCHRONOUS,
    TERMS,
    Mark,
    SideFile,
    check_path,
    expected_schema,
    fcntl,
    give_to_group,
    group_of,
    in_memory,
    insert,
    make_file,
    pragma,
    read_mark,
    reason_of,
    schema_of,
    write_mark,
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

    **File, journal and side file belong together**, and every call checks that they do. The side
    file holds a receipt of the latest charge, which the file must hold too, and either holds the
    inode of the other, which no copy on that file system has; the number of its device would tell
    others, and may be another after a reboot. A journal is what a killed process left in the
    middle of a charge. Before SQLite undoes that charge with it, a copy is tried: a journal that
    was left behind when the file was renamed or exchanged would undo later charges or damage the
    file.

    Parameters
    ----------
    path : str or path-like
        The file.
    terms : dict or None
        What the entries are measured against (ceiling, relation, composition, order). They are
        stored in a new file, and must equal what an existing file holds. With None the file must
        exist.
    file_group : str, default=None
        Group that may spend from a new file.
    """

    def __init__(self, path, terms=None, file_group=None):
        self._find(path)
        group = None if file_group is None else group_of(file_group, self.path)
        if terms is not None:
            self._create_where_there_is_none(terms, group)
        with self._session() as db:
            raised = self._caught_up(db).raised
        if differing := terms and differing_terms(self.terms, raised, terms, "in the file"):
            raise self._error(f"it was created for another budget: {differing}")

    def append(self, entry, cost, admit):
        """Add `entry` unless ``admit(tally, entries)`` raises; ``entries()`` returns them all."""
        if os.path.exists(self.path) and not os.path.exists(self._side.path):
            self.refuse_copy()
        with self._held(writing=True) as side:
            with self._transaction(writing=True) as db:
                mark = self._check_together(side, db)
                sums = self._caught_up(db)
                self._refuse_copy(mark, db)
                admit(sums.tally(entry.part), lambda: _entries(db))
                number, link = sums.head[0] + 1, next_link(sums.head[1], entry, cost)
                insert(db, number, entry, cost, link)
            sums.add_entry(entry, cost, link)  # once it is on disk, and before anybody else asks
            with self._on_disk():
                write_mark(side, Mark(Receipt(self._id, *sums.head), mark.inode))

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
        """Raise when this is a backup or another copy; copies of this object use the same file."""
        with self._held() as side, self._transaction() as db:
            mark = self._check_together(side, db)
            if side is not None or not os.path.exists(self._side.path):
                self._refuse_copy(mark, db)

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
                reason = reason_of(error, _BUSY_SECONDS)
                if isinstance(error, FileExistsError):
                    reason = f"{error.filename!r} exists already; name another file"
                raise LedgerError(
                    f"The backup {os.fspath(path)!r} cannot be written: {reason}. "
                    "The ledger is as it was."
                ) from error

    @classmethod
    def restore(cls, source, path, entry_for):
        """Make a ledger of a backup, see ``BudgetAccountant.restore``.

        A file that was moved away, because it did not belong to its journal or its side file, will
        do as well: with the journal next to it or without, whichever is whole and holds more.
        ``entry_for(terms)`` returns the entry that says so.
        """
        source = cls._at(source)
        with source._locked() as side, source._tried() as trials:
            whole = [trial for trial in trials if isinstance(trial, cls)]
            if not whole:
                raise trials[-1]
            best = max(whole, key=lambda trial: trial._sums.head[0])
            with best._transaction() as db:
                if source._lives(side, best, db):
                    raise source._error(
                        "it is a ledger and no backup, and two of it would not add up"
                    )
                copy = in_memory(db)
        with closing(copy):
            entry, (number, link) = entry_for(best.terms), best._sums.head
            receipt = Receipt(best._id, number + 1, next_link(link, entry, Cost()))
            copy.execute(f"PRAGMA application_id = {LEDGER}")
            insert(copy, receipt.number, entry, Cost(), receipt.link)
            made = cls._at(path)
            with made._locked(writing=True, creating=True) as side:
                in_the_way = [each for each in (made._journal, made.path) if os.path.exists(each)]
                if in_the_way:
                    raise made._error(
                        f"{in_the_way[0]!r} is there already; move it into another folder to "
                        "restore a backup"
                    )
                mark = made._read_mark(side)
                if mark is not None and mark.receipt.ledger != receipt.ledger:
                    raise made._error(
                        f"{made._side.path!r} speaks of another ledger; move it into another folder"
                    )
                copy.execute("UPDATE ledger SET side_file = ?", (_inode(side.fileno()),))
                with made._on_disk():
                    write_new(copy, made.path)
                    write_mark(side, Mark(receipt, os.stat(made.path).st_ino))

    @classmethod
    def _at(cls, path):
        ledger = cls.__new__(cls)
        ledger._find(path)
        return ledger

    def _find(self, path):
        self.path = check_path(path)
        self._side = SideFile(self.path)
        self._id = self.terms = self._sums = None

    @property
    def _journal(self):
        return os.path.realpath(self.path) + "-journal"

    def _create_where_there_is_none(self, terms, group):
        self._refuse_irregular()
        if os.path.exists(self.path):
            if not os.path.exists(self._side.path):
                if os.path.getsize(self.path):
                    return
                raise self._error(
                    "the file is empty, and no creation of a ledger left it behind: a new ledger "
                    "makes its own file"
                )
            # A creation that was killed leaves an empty file, or a journal that empties it.
            if os.path.getsize(self.path):
                with self._held():
                    blank = self._blank_now()
                if not blank:
                    return
        with self._held(writing=True, creating=True) as side:
            known = self._read_mark(side)
            if known is None:
                self._create(terms, side)
                if group is not None:
                    give_to_group(group, os.path.realpath(self.path), self._side.path)
            elif not os.path.exists(self.path) or self._blank_now():
                raise self._error(
                    f"the file is missing or empty, and {self._side.path!r} says that a ledger was "
                    f"there. {self._in_order()}. To start anew from zero, remove that file too"
                )

    def _blank_now(self):
        with self._transaction() as db:
            return db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() == (0,)

    def _create(self, terms, side):
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
                f"INSERT INTO ledger (id, {columns}, number, link, side_file) "
                f"VALUES (?, {marks}, 0, ?, ?)",
                (identity, *terms.values(), first_link(identity, terms), _inode(side.fileno())),
            )

    def _stored(self, db):
        """Return the identity and the terms that the file was created with."""
        self._check_format(db)
        rows = db.execute(f"SELECT id, {', '.join(TERMS)} FROM ledger").fetchall()
        if len(rows) != 1:
            raise self._error(self._damaged(f"it holds {len(rows)} ceilings instead of one"))
        identity, *values = rows[0]
        terms = dict(zip(TERMS, values, strict=True))
        if not (isinstance(identity, str) and all(isinstance(terms[n], TERMS[n]) for n in TERMS)):
            raise self._error(self._damaged())
        return identity, terms

    def _check_format(self, db):
        if pragma(db, "application_id") not in (LEDGER, BACKUP):
            raise self._error(self._damaged("it is a SQLite database, but not a budget ledger"))
        if pragma(db, "user_version") != FORMAT:
            raise self._error(
                f"it has ledger format {pragma(db, 'user_version')}, this version of skdp_bary "
                f"reads format {FORMAT}"
            )

    def _check_file(self, db):
        """Raise unless the pages of the file are whole and hold what a ledger holds."""
        self._check_format(db)
        if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise self._error(self._damaged())
        if schema_of(db) != expected_schema():
            raise self._error(self._damaged("its tables are not those of a ledger"))

    def _caught_up(self, db):
        """Return the sums of all entries; those that were not known are read and checked."""
        stored = self._stored(db)
        if self._id is None:
            self._id, self.terms = stored
        # The path alone is not enough: a file deleted and created anew would start at zero.
        if stored != (self._id, self.terms):
            raise self._error("it was replaced by another ledger since this budget was opened")
        sums = self._sums
        if sums is None:
            self._check_file(db)
            sums = RunningSums(self.first_link())
        head = db.execute("SELECT number, link FROM ledger").fetchone()
        try:
            take_in(self.path, sums, db.execute(ROWS, (sums.head[0],)))
        except LedgerError as error:
            raise LedgerError(f"{error} {self._in_order()}.") from None
        (latest,) = db.execute("SELECT COALESCE(MAX(number), 0) FROM entries").fetchone()
        if not (head == sums.head and latest == head[0]):
            raise self._error(
                "it does not hold the entries that it should: an older copy may have been put in "
                f"its place. {self._in_order()}"
            )
        self._sums = sums
        return sums

    def _refuse_copy(self, mark, db):
        """Raise where what is spent would not add up with what is spent from another copy."""
        side = repr(self._side.path)
        if pragma(db, "application_id") == BACKUP:
            reason = "it is a backup"
            advice = (
                f"BudgetAccountant.restore({self.path!r}, ledger) puts it in the place of a ledger "
                "that was lost."
            )
        elif mark is None:
            reason = f"it has no lock file {side}, so it is a copy, or was moved alone"
            advice = (
                "If it was moved, move its lock file, and its journal if there is one, next to it. "
                f"If these are gone: {self._in_order()}."
            )
        elif not self._know_each_other(mark, db):
            reason = f"it and {side} do not belong together: one or both were copied"
            advice = f"Use the originals. If they are gone: {self._in_order()}."
        else:
            return
        raise ReadOnlyLedgerError(
            f"The ledger {self.path!r} can be read, and not spent from: {reason}, and what is "
            f"spent from two copies would not add up. Nothing was charged. {advice}"
        )

    @contextmanager
    def _session(self, *, writing=False):
        """Hold the side file and open one transaction on the ledger that it refers to."""
        with self._held(writing=writing) as side, self._transaction(writing=writing) as db:
            self._check_together(side, db)
            yield db

    def _check_together(self, side, db):
        """Content of the side file about the ledger, which must hold it; None: nothing."""
        mark, (identity, terms) = self._read_mark(side), self._stored(db)
        if mark is None:
            is_new = db.execute("SELECT COUNT(*) FROM entries").fetchone() == (0,)
            if not (is_new and side is not None and side.writable()):
                return None
            first = Receipt(identity, 0, first_link(identity, terms))
            mark = Mark(first, os.stat(self.path).st_ino)
            with self._on_disk():
                write_mark(side, mark)
        elif mark.receipt.ledger != identity:
            raise self._error(
                f"it is not the ledger that {self._side.path!r} speaks of: it was replaced by "
                f"another ledger. {self._in_order()}"
            )
        elif not _holds(db, *mark.head, first_link(identity, terms)):
            raise self._error(
                f"it does not hold the {mark.receipt.number} entries that {self._side.path!r} "
                f"speaks of: an older copy was put in its place. {self._in_order()}"
            )
        return mark

    def _lives(self, side, trial, db):
        """Whether a ledger, tried as a copy, is the one that its side file refers to."""
        try:
            mark = self._read_mark(side)
        except LedgerError:  # damaged: nothing is spent beside it
            return False
        return (
            pragma(db, "application_id") == LEDGER
            and mark is not None
            and self._know_each_other(mark, db)
            and mark.receipt.ledger == trial.identity
            and _holds(db, *mark.head, trial.first_link())
        )

    def _know_each_other(self, mark, db):
        """Whether neither the ledger nor its side file is a copy on one file system."""
        known = db.execute("SELECT side_file FROM ledger").fetchone()
        return mark.inode == os.stat(self.path).st_ino and known == (_inode(self._side.path),)

    def _check_journal(self, side):
        """Raise unless what a killed process left behind undoes its own charge and no other."""
        if not _has_bytes(self._journal) or not os.path.exists(self.path) or fcntl is None:
            return
        mark = self._read_mark(side)
        if mark is None and os.path.exists(self._side.path):
            return  # the creation was killed, or who reads may not take the lock
        with self._tried(mark) as (undone, alone):
            if not isinstance(undone, LedgerError):
                return
            if isinstance(alone, LedgerError):
                raise self._error(
                    f"the journal {self._journal!r} that a killed process left does not belong to "
                    f"it: the file was exchanged. {self._in_order()}"
                )
        raise self._error(
            "a journal is older than its latest charge: the file had another name when that was "
            f"made. Move {self._journal!r}, and nothing else, into another folder"
        )

    @contextmanager
    def _tried(self, mark=None):
        """Give copies as SQLite reads them with the journal and without, or what is wrong.

        The first is missing where there is no journal.
        """
        with ExitStack() as stack, self._on_disk():
            trials = []
            for journal in (self._journal, None):
                if journal is None or _has_bytes(journal):
                    folder = stack.enter_context(tempfile.TemporaryDirectory())
                    trials.append(self._trial(os.path.join(folder, "ledger"), journal, mark))
            yield trials

    def _trial(self, path, journal, mark):
        shutil.copyfile(self.path, path)
        if journal is not None:
            shutil.copyfile(journal, f"{path}-journal")
        trial = SqliteLedger._at(path)
        try:
            with trial._transaction() as db:
                trial._caught_up(db)
                if mark is None or _holds(db, *mark.head, trial.first_link()):
                    return trial
                return self._error(DAMAGED)
        except LedgerError as error:
            return LedgerError(str(error).replace(repr(path), repr(self.path)))

    def _damaged(self, reason=DAMAGED):
        """Text of the fix; empty if no side file identifies the ledger."""
        if not os.path.exists(self._side.path):
            return reason
        return (
            f"{reason}. If it was renamed after a process was killed, move the journal which that "
            f"left to {self._journal!r}, and open it again. Otherwise: {self._in_order()}"
        )

    def _in_order(self):
        """Text: steps to restore the ledger, whatever file is at its path now."""
        present = [
            repr(path)
            for path in (self._journal, self._side.path, os.path.realpath(self.path))
            if os.path.exists(path)
        ]
        return (
            f"Move {', then '.join(present)} into another folder. Then call "
            f"BudgetAccountant.restore(backup, {self.path!r}) with the latest backup, or with the "
            "ledger that was moved, and charge again what was charged since"
        )

    def _read_mark(self, side):
        if side is None:
            return None
        try:
            return read_mark(side)
        except ValueError as error:
            raise self._error(f"{error}. {self._in_order()}") from None

    @contextmanager
    def _held(self, *, writing=False, creating=False):
        """Hold the locks on files that belong together."""
        with self._locked(writing=writing, creating=creating) as side:
            self._check_journal(side)
            yield side

    @contextmanager
    def _locked(self, *, writing=False, creating=False):
        """Hold the lock of this process, and that of the side file."""
        with LOCK, ExitStack() as stack:
            self._refuse_irregular()
            with self._on_disk():
                side = stack.enter_context(
                    self._side.held(_BUSY_SECONDS, create=creating, writing=writing)
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
            reason = reason_of(error, _BUSY_SECONDS)
            told = self._damaged(reason) if reason.startswith((DAMAGED, FOREIGN)) else reason
            raise self._error(told) from error

    def _connect(self):
        # SQLite's journal is named after the file: one that was left under the other name is not
        # seen here, and undoes later on what is charged here in the meantime.
        if os.path.exists(self.path) and os.stat(self.path).st_nlink > 1:
            raise self._error(
                "it has a second name, a hard link. Remove one of the two, and make a symbolic "
                "link or a backup instead"
            )
        if os.path.exists(self._side.path) and not os.path.exists(self.path):
            raise self._error(
                f"the file is missing, and {self._side.path!r} says that a ledger was there. "
                f"{self._in_order()}"
            )
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

    def _refuse_irregular(self):
        if os.path.isdir(self.path):
            raise self._error("it is a folder; name a file in it")
        for path in (self.path, self._side.path, self._journal):
            try:
                mode = os.stat(path).st_mode  # once: journals go while others write
            except OSError:
                continue
            if not stat.S_ISREG(mode):  # reading a FIFO never ends
                raise self._error(f"{path!r} is not a regular file")

    def __getstate__(self):
        return self.__dict__ | {"_sums": None}


def _holds(db, number, link, first):
    """Whether a ledger holds an entry; the one before the first has the `first` link."""
    if number == 0:
        return link == first
    return db.execute("SELECT link FROM entries WHERE number = ?", (number,)).fetchone() == (link,)


def _inode(file):
    """Return the number of a file as text: it may be larger than an integer of SQLite."""
    return str(os.stat(file).st_ino)


def _has_bytes(path):
    """Whether there is a file that is not empty: SQLite takes no notice of an empty journal."""
    return os.path.exists(path) and os.path.getsize(path) > 0


def _entries(db):
    rows = db.execute(f"SELECT {COLUMNS} FROM entries ORDER BY number")
    return tuple(Entry(*row) for row in rows)
