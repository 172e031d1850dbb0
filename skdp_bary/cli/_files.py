"""A file for a release that has not been paid for yet.

It is opened before the charge, in the folder where it will be, and given room there; it gets its
name when all of it is on the disk. So a folder that cannot be written, or is full, costs nothing,
and a release of which a part is missing never bears its name. What can still fail once it is paid
for must not lose it: then it is kept elsewhere.
"""

import base64
import os
import secrets
import sys
import tempfile
from pathlib import Path

from ._text import say

ROOM = 1 << 23
_PIECE = 1 << 20
_UNFINISHED = "unfinished"


class PromisedFile:
    """The file that a release will be written to, as a context that leaves nothing else behind.

    Parameters
    ----------
    path : str
    overwrite : bool
        Whether a file of that name may be replaced.
    """

    def __init__(self, path, overwrite):
        self.path = path
        self._target = Path(path).resolve()
        self._overwrite = overwrite
        check_target(path, overwrite)
        self._draft = self._beside(f"{self._target.suffix}.{_UNFINISHED}")
        try:
            self._file = self._draft.open("xb", buffering=0)
        except OSError as error:
            raise self._cannot(error) from None
        try:
            self._take_room()
        except OSError as error:
            self.__exit__()
            raise self._cannot(error) from None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()
        self._draft.unlink(missing_ok=True)

    def deliver(self, content, ending=None):
        """Write the release, and return whether it has the name and form that were asked for.

        Parameters
        ----------
        content : bytes
        ending : str or None, default=None
            Of the name, where the form that was asked for could not be made.
        """
        try:
            _write(self._file, content)
        except OSError as error:
            self._keep_elsewhere(content, ending or self._target.suffix, error.strerror)
            return False
        try:
            if ending is None:
                self._publish()
                return True
            reason = "it has another form"
        except OSError as error:
            reason = error.strerror
        self._keep_here(ending or self._target.suffix, reason)
        return False

    def _take_room(self):
        for _ in range(ROOM // _PIECE):
            _write_all(self._file, bytes(_PIECE))
        os.fsync(self._file.fileno())

    def _publish(self):
        """Give the file its name; one that appeared meanwhile is not replaced unasked."""
        if self._overwrite:
            self._draft.replace(self._target)
        else:
            try:
                os.link(self._draft, self._target)
            except FileExistsError:
                raise
            except OSError:  # a file system without links
                if self._target.exists():
                    raise
                self._draft.replace(self._target)
        _sync_folder(self._target.parent)

    def _keep_here(self, ending, reason):
        kept = self._beside(ending)
        try:
            self._draft.replace(kept)
        except OSError:
            self._keep_elsewhere(self._draft.read_bytes(), ending, reason)
        else:
            _report(self.path, reason, kept)

    def _keep_elsewhere(self, content, ending, reason):
        kept = Path(tempfile.gettempdir()) / self._beside(ending).name
        try:
            with kept.open("xb", buffering=0) as file:
                _write(file, content)
        except OSError:
            kept.unlink(missing_ok=True)
            _report(self.path, reason, f"the lines below, to be read by: base64 -d > x{ending}")
            say(base64.encodebytes(content).decode(), sys.stdout)
        else:
            _report(self.path, reason, kept)

    def _beside(self, ending):
        stem = self._target.stem[:150]
        return self._target.with_name(f"{stem}.{secrets.token_hex(4)}{ending}")

    def _cannot(self, error):
        return ValueError(f"--out {self.path} cannot be written: {error.strerror}.")


def check_target(path, overwrite):
    """Raise unless a file may be made at `path`, where none may be replaced unasked."""
    target = Path(path)
    folder = target.absolute().parent
    if not folder.is_dir():
        raise ValueError(f"--out {path}: there is no folder {folder}.")
    if target.exists() and not target.is_file():
        raise ValueError(f"--out {path} is a folder or no regular file. Name a file.")
    if not overwrite and target.exists():
        raise ValueError(
            f"--out {path}: the file exists, and may be a release that was paid for. Name another, "
            "or give --overwrite."
        )


def _write(file, content):
    """Replace what is in a file, and return when it is on the disk."""
    file.seek(0)
    _write_all(file, content)
    file.truncate()
    os.fsync(file.fileno())


def _write_all(file, content):
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]


def _sync_folder(folder):
    """Let the name last, where folders can be opened."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(number)
    except OSError:
        pass
    finally:
        os.close(number)


def _report(path, reason, place):
    say(
        f"skdp-bary: the release was charged, and {path} could not be written ({reason}). "
        f"It was kept: {place}",
        sys.stderr,
    )
