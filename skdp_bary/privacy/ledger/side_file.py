"""The small file beside a ledger file: a lock that stays, and the word that the ledger was made.

SQLite locks its files with POSIX locks, and these fall off as soon as *any* handle of the process
on that file is closed, a copy being made for instance. Another process could then charge in the
middle of a charge. The lock here is on a file of its own and belongs to the handle that took it
(``flock``), so that no other opening and closing drops it. On Windows, where locks belong to
handles anyway, SQLite's own are enough.

It also says which ledger was made there, in which file, and holds a receipt of the latest charge.
So a ledger that is empty, missing, copied, or an older copy of itself is not taken for what was
there.
"""

import errno
import io
import os
import random
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass

from .chain import Receipt

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

# of one length, so that a later mark covers the one before it
_TEXT = "skdp-bary ledger {} in file {:020d} with {:012d} entries to {}\n"
_MARK = re.compile(
    rb"skdp-bary ledger ([0-9a-f]{32}) in file (\d{20}) with (\d{12}) entries to ([0-9a-f]{64})\n"
)
_LONGEST_PAUSE = 0.005
_LEFT_TO_READERS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT)


@dataclass(frozen=True)
class Mark:
    """What a side file says of its ledger.

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
            file = self._opened(create, writing)
            if file is None or fcntl is None:
                return file
            _wait_for(file, deadline)
            try:
                if os.path.samestat(os.stat(self.path), os.fstat(file.fileno())):
                    return file
            except FileNotFoundError:  # removed while this process waited
                pass
            file.close()

    def _opened(self, create, writing):
        try:
            return io.FileIO(self.path, "r+", opener=self._open_or_make if create else None)
        except OSError as error:
            if writing or error.errno not in _LEFT_TO_READERS:
                raise
        try:
            return io.FileIO(self.path)
        except (PermissionError, FileNotFoundError):
            return None

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


def read_mark(file):
    """Return the mark in an open side file, None where the ledger is still being made."""
    file.seek(0)
    text = file.read()
    if not text:
        return None
    found = _MARK.fullmatch(text)
    if found is None:
        raise ValueError(f"its side file {os.fspath(file.name)!r} is damaged")
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
