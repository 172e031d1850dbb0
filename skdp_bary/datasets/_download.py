"""Files from the network, kept in scikit-learn's data folder and recognised by their checksums."""

import hashlib
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from sklearn.datasets import get_data_home

_FOLDER = "skdp_bary"
_TIMEOUT = 60.0  # seconds without an answer
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Downloads:
    """How files are fetched: where they are kept, and what is done when they are missing.

    Attributes
    ----------
    data_home : str, path-like or None
        scikit-learn's data folder; None takes its default.
    download_if_missing : bool
    n_retries : int
    delay : float
        Seconds between two tries.
    """

    data_home: object = None
    download_if_missing: bool = True
    n_retries: int = 3
    delay: float = 1.0

    def get(self, url, name, checksum=None, shown=None):
        """Return the path of a file, downloaded when it is not there yet.

        The SHA-256 of the first download is recorded beside the file, in a file whose name ends in
        ``.sha256``; a file that no longer agrees with it, or with the `checksum` given, is refused.

        Parameters
        ----------
        url : str
        name : str
            Name in the data folder.
        checksum : str or None
            SHA-256 that the file must have.
        shown : str or None
            What errors name instead of the address, where it holds a secret.
        """
        path = Path(get_data_home(self.data_home)) / _FOLDER / name
        record = path.with_name(f"{path.name}.sha256")
        if not path.exists():
            if not self.download_if_missing:
                raise OSError(f"{path} is not there and download_if_missing is False.")
            path.parent.mkdir(parents=True, exist_ok=True)
            self._download(url, path, checksum, url if shown is None else shown)
            record.write_text(f"{sha256(path)}  {path.name}\n")
            return path
        found = sha256(path)
        known = record.read_text().split()[0] if record.exists() else None
        if found != (checksum or known or found):
            raise OSError(
                f"{path} has the SHA-256 {found}, not {checksum or known}: it is not the file that "
                "was asked for, or it has changed. Delete it to download it again."
            )
        return path

    def _download(self, url, path, checksum, shown):
        descriptor, part = tempfile.mkstemp(prefix=f"{path.name}.part_", dir=path.parent)
        os.close(descriptor)
        try:
            self._copy(url, part, path, shown)
            found = sha256(part)
            if checksum is not None and found != checksum:
                raise OSError(f"{shown} has the SHA-256 {found}, not the expected {checksum}.")
            os.replace(part, path)
        finally:
            Path(part).unlink(missing_ok=True)

    def _copy(self, url, part, path, shown):
        for left in reversed(range(self.n_retries + 1)):
            try:
                with urlopen(url, timeout=_TIMEOUT) as answer, open(part, "wb") as file:
                    shutil.copyfileobj(answer, file)
                    if getattr(answer, "length", None):  # bytes announced and not sent
                        raise ConnectionError(f"{answer.length} bytes are missing")
                return
            except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
                if left == 0 or isinstance(error, HTTPError):
                    raise OSError(
                        f"{shown} could not be downloaded ({error}). Without a network, get the "
                        f"file elsewhere and put it at {path}."
                    ) from None
                time.sleep(self.delay)


def sha256(path):
    """Return the SHA-256 of a file in hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
