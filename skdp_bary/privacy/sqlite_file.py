"""The SQLite file of a ledger and the side file that goes with it: format, checks, copies."""

import errno
import io
import os
import random
import re
import secrets
import sqlite3
import time
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from functools import cache

from .entries import FIELDS, Receipt

# What a ledger file holds: its tables, its marks, and the words for what SQLite refuses.

# What marks a file as a ledger, and as a backup, which can be read and not spent from. No single
# flipped bit makes the one of the other.
LEDGER, BACKUP = 0x736B6470, 0x736BA28F
FORMAT = 5
# A rollback journal rather than WAL: between two charges all entries are in one file, so a copy or
# a backup of that file can never leave recent charges behind in another one. EXTRA, because with a
# rollback journal FULL does not sync the folder after the journal is deleted: power lost just
# then could bring the journal back and undo a charge whose release is already out.
JOURNAL, SYNCHRONOUS = "DELETE", "EXTRA"

# Nothing here can be derived from anything else, but for the number and the link of the latest
# entry, which tell that none was lost at the end. Sums are taken from the entries. The ledger and
# its side file hold the inodes of one another, which copies of either do not have.
SCHEMA = """
CREATE TABLE ledger (
    id TEXT NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL, neighbors TEXT NOT NULL,
    composition TEXT NOT NULL, renyi_order REAL, unit TEXT,
    number INTEGER NOT NULL, link TEXT NOT NULL, side_file TEXT NOT NULL
);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, who TEXT NOT NULL, relation TEXT NOT NULL,
    unit TEXT NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL, part TEXT NOT NULL,
    note TEXT NOT NULL, kind TEXT NOT NULL, nonce TEXT NOT NULL,
    loss_units INTEGER NOT NULL CHECK (loss_units >= 0),
    delta_units INTEGER NOT NULL CHECK (delta_units >= 0),
    link TEXT NOT NULL
);
"""

TERMS = {
    "epsilon": float,
    "delta": float,
    "neighbors": str,
    "composition": str,
    "renyi_order": (float, type(None)),
    "unit": (str, type(None)),
}
COLUMNS = ", ".join(FIELDS)
_INSERT = f"""
INSERT INTO entries (number, {COLUMNS}, loss_units, delta_units, link)
VALUES ({", ".join("?" * (len(FIELDS) + 4))})
"""
ROWS = f"""
SELECT {COLUMNS}, loss_units, delta_units, link FROM entries WHERE number > ? ORDER BY number
"""

_LOCKED = "it stayed locked by another process for {:g} seconds"
_READ_ONLY = "the file, or the folder it is in, is read-only"
_FULL = "the disk is full"
_MISSING = (
    "the file is missing, or its folder is missing or read-only. If there never was a file, "
    "BudgetAccountant.create makes one"
)
DAMAGED = "the file is damaged"
FOREIGN = "it is not a budget ledger, nor any SQLite database"
_BROKEN_DISK = "reading or writing the disk failed"
_REASONS = {
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_READONLY": _READ_ONLY,
    "SQLITE_FULL": _FULL,
    "SQLITE_CANTOPEN": _MISSING,
    "SQLITE_PERM": "permission is denied",
    "SQLITE_NOTADB": FOREIGN,
    "SQLITE_CORRUPT": DAMAGED,
    "SQLITE_IOERR": _BROKEN_DISK,
}
_FILE_REASONS = {
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.EROFS: _READ_ONLY,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.ENOENT: _MISSING,
    errno.ENOTDIR: _MISSING,
}


def insert(db, number, entry, cost, link):
    """Add an entry, and note that it is the latest."""
    db.execute(_INSERT, (number, *astuple(entry), cost.loss, cost.delta, link))
    db.execute("UPDATE ledger SET number = ?, link = ?", (number, link))


def in_memory(db):
    """Return a copy of a database in memory."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    db.backup(copy)
    return copy


def write_new(db, path):
    """Write a database to a file that does not exist yet, all of it or nothing."""
    path = os.path.realpath(path)
    if os.path.exists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    part = f"{path}.{secrets.token_hex(4)}.part"
    os.close(make_file(part))
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            copy.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            db.backup(copy)
        os.replace(part, path)
    except BaseException:
        os.unlink(part)
        raise


def schema_of(db):
    """Content of a database, in the words of SQLite."""
    return db.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
    ).fetchall()


@cache
def expected_schema():
    """Content of a ledger, see :func:`schema_of`."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        return schema_of(db)


def pragma(db, name):
    """Return one number of the head of a database."""
    return db.execute(f"PRAGMA {name}").fetchone()[0]


def reason_of(error, seconds):
    """Text: the refusal of SQLite or the operating system, after waiting for `seconds`."""
    if isinstance(error, TimeoutError):
        return _LOCKED.format(seconds)
    if isinstance(error, OSError):
        return f"{_FILE_REASONS.get(error.errno, _BROKEN_DISK)} ({error.strerror})"
    if isinstance(error, UnicodeDecodeError):
        return DAMAGED
    name = getattr(error, "sqlite_errorname", "")
    known = [reason for code, reason in _REASONS.items() if name.startswith(code)]
    return f"{known[0].format(seconds)} ({error})" if known else str(error)


def check_path(path):
    """Return a path of a ledger file that does not depend on the current folder."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path) or path == ":memory:":
        raise ValueError(
            "ledger must be None (entries stay in memory) or the path of a file, such as "
            f"'budget.db', got {path!r}."
        )
    return os.path.abspath(os.fspath(path))


# The small file beside a ledger file: a lock that stays, and the word that the ledger was made.

try:
    import fcntl
    import grp
except ImportError:  # Windows
    fcntl = grp = None

# of one length, so that a later mark covers the one before it
_TEXT = "skdp-bary ledger {} in file {:020d} with {:012d} entries to {}\n"
_MARK = re.compile(
    rb"skdp-bary ledger ([0-9a-f]{32}) in file (\d{20}) with (\d{12}) entries to ([0-9a-f]{64})\n"
)
_LONGEST_PAUSE = 0.005
_LEFT_TO_READERS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT)


@dataclass(frozen=True)
class Mark:
    """What a side file reports about its ledger.

    Attributes
    ----------
    receipt : Receipt
        Of the latest charge, or of one before it where a process was killed after it.
    inode : int
        Number of the file that holds the ledger, which no copy on its file system has.
    """

    receipt: Receipt
    inode: int

    @property
    def head(self):
        """Number and link of that charge."""
        return self.receipt.number, self.receipt.link


class SideFile:
    """The file ``<ledger>.lock``; symbolic links to a ledger lead to the same one.

    Parameters
    ----------
    ledger : str
        Path of the ledger file.
    """

    def __init__(self, ledger):
        self._ledger = ledger

    @property
    def path(self):
        """Where it is."""
        return os.path.realpath(self._ledger) + ".lock"

    @contextmanager
    def held(self, seconds, *, create, writing):
        """Hold the lock; give the open file, or None to a reader who may not open it.

        Parameters
        ----------
        seconds : float
            How long to wait for other processes before a TimeoutError.
        create : bool
            Whether it is made when it is missing.
        writing : bool
            Whether a charge follows. Only readers may go on without the lock, where their
            permissions leave them no other way.
        """
        file = self._locked(seconds, create, writing)
        try:
            yield file
        finally:
            if file is not None:
                if fcntl:  # also for a child that inherited the handle
                    fcntl.flock(file, fcntl.LOCK_UN)
                file.close()

    def _locked(self, seconds, create, writing):
        deadline = time.monotonic() + seconds
        while True:
            try:
                file = io.FileIO(self.path, "r+", opener=self._open_or_make if create else None)
            except OSError as error:
                if writing or error.errno not in _LEFT_TO_READERS:
                    raise
                try:
                    file = io.FileIO(self.path)
                except (PermissionError, FileNotFoundError):
                    return None
            if fcntl is None:
                return file
            _wait_for(file, deadline)
            try:
                if os.path.samestat(os.stat(self.path), os.fstat(file.fileno())):
                    return file
            except FileNotFoundError:  # removed while this process waited
                pass
            file.close()

    def _open_or_make(self, path, flags):
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            return make_file(path)


def make_file(path):
    """Make an empty file for its owner alone, whatever the umask, and return its descriptor."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, 0o600)
    return descriptor


def group_of(name, path):
    """Return the number of a group whose members can share a ledger file, or raise.

    SQLite makes the journal of every charge anew, in the folder: it must be of the group as well,
    or nobody else could undo the charge of a killed process.
    """
    try:
        number = grp.getgrnam(name).gr_gid
    except (KeyError, TypeError, AttributeError):
        raise ValueError(
            f"file_group must be a group of this computer, as `getent group` lists them, got "
            f"{name!r}."
        ) from None
    folder = os.path.dirname(os.path.realpath(path))
    found = os.stat(folder)
    if found.st_gid != number or found.st_mode & 0o2070 != 0o2070:
        raise ValueError(
            f"file_group={name!r} needs a folder that this group can write to and that hands the "
            f"group on. Type: chgrp {name} {folder} && chmod g+rwxs {folder}"
        )
    return number


def give_to_group(number, *paths):
    """Let a group read and write files of this user."""
    for path in paths:
        os.chown(path, -1, number)
        os.chmod(path, 0o660)


def read_mark(file):
    """Return the mark in an open side file, None where the ledger is still being made."""
    file.seek(0)
    text = file.read()
    if not text:
        return None
    found = _MARK.fullmatch(text)
    if found is None:
        raise ValueError(f"its lock file {os.fspath(file.name)!r} is damaged")
    identity, inode, number, link = (group.decode() for group in found.groups())
    return Mark(Receipt(identity, int(number), link), int(inode))


def write_mark(file, mark):
    """Write a mark into an open side file.

    Only the first one is forced to the disk: one that falls behind when power is lost is true.
    """
    receipt = mark.receipt
    is_first = file.seek(0, os.SEEK_END) == 0
    file.seek(0)
    file.write(_TEXT.format(receipt.ledger, mark.inode, receipt.number, receipt.link).encode())
    if is_first:
        os.fsync(file.fileno())


def _wait_for(file, deadline):
    kind = fcntl.LOCK_EX if file.writable() else fcntl.LOCK_SH
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                file.close()
                raise TimeoutError from None
        time.sleep(random.uniform(0.0, _LONGEST_PAUSE))
