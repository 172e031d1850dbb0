"""The small file beside a ledger file: a lock that stays, and the word that the ledger was made.

SQLite locks its files with POSIX locks, and these fall off as soon as *any* handle of the process
on that file is closed, a copy being made for instance. Another process could then charge in the
middle of a charge. The lock here is on a file of its own and belongs to the handle that took it
(``flock``), so that no other opening and closing drops it. On Windows, where locks belong to
handles anyway, SQLite's own are enough.

Once a ledger is complete its identity is written into the side file. A ledger that is empty or
missing afterwards was lost, and is not started again from zero.
"""

import errno
import io
import os
import random
import re
import time
from contextlib import contextmanager

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_TEXT = "skdp-bary ledger {}\n"
_MARK = re.compile(_TEXT.format("([0-9a-f]{32})").encode())
_LONGEST_PAUSE = 0.005


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
            Whether it is made when it is missing; it gets the permissions of the ledger.
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
            if writing or not _is_forbidden(error):
                raise
        try:
            return io.FileIO(self.path)
        except (PermissionError, FileNotFoundError):
            return None

    def _open_or_make(self, path, flags):
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            mode = os.stat(self._ledger).st_mode & 0o666 if os.path.exists(self._ledger) else 0o600
            return make_file(path, mode)


def make_file(path, mode=0o600):
    """Make an empty file with these permissions, whatever the umask, and return its descriptor."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), mode)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)
    return descriptor


def read_mark(file):
    """Return the identity of the ledger that was made beside an open side file, or None."""
    file.seek(0)
    text = file.read()
    if not text:
        return None
    found = _MARK.fullmatch(text)
    if found is None:
        raise ValueError(f"its side file {os.fspath(file.name)!r} is damaged")
    return found[1].decode()


def write_mark(file, identity):
    """Write down that a ledger is complete."""
    file.seek(0)
    file.write(_TEXT.format(identity).encode())
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


def _is_forbidden(error):
    return error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
