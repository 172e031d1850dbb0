"""Entries of a budget in memory, the lock of a process, and the address of a server."""

import os
import re
import sys
import threading
import uuid
import warnings
from dataclasses import astuple, dataclass, field
from urllib.parse import unquote

from ..exceptions import LedgerError, PrivacyWarning, ReadOnlyLedgerError
from .entries import Chained, Receipt, RunningSums, next_link

# Entries of a budget in the memory of one process.


class _Owner:
    """What tells one process from all others, though numbers of processes are given out again."""

    def __init__(self):
        self.renew()

    def renew(self):
        """Draw anew: this is another process now."""
        self.token = os.getpid(), uuid.uuid4().hex


_PROCESS = _Owner()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PROCESS.renew)


_ADVICE = (
    "Give the accountant a file that processes share, BudgetAccountant(..., ledger='budget.db'), "
    "or run in one process (n_jobs=1 or threads)."
)
_POOLS = ("concurrent.futures.process", "distributed", "joblib.externals.loky", "multiprocessing")
_WARNED = set()


def _goes_to_a_worker():
    """Whether what is being pickled is pickled by a pool of processes."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(_POOLS):
            return True
        frame = frame.f_back
    return False


class MemoryLedger(Chained):
    """Entries of one process; a pickled or forked copy can be read but not spent from.

    The list of entries is the ledger, and an entry gets there in one step, with its cost and its
    link: what interrupts a spend leaves all of the entry or nothing. Sums are taken from the list
    afterwards, by whoever asks next.
    """

    path = None

    def __init__(self, terms):
        self.terms = terms
        self._id = uuid.uuid4().hex
        self._log = []  # (entry, cost, link), oldest first
        self._sums = RunningSums(self.first_link())
        self._owner = _PROCESS.token

    def append(self, entry, cost, admit):
        """Add `entry` unless ``admit(tally, entries)`` raises; ``entries()`` returns them all."""
        with LOCK:
            self.refuse_copy()
            sums = self._summed()
            admit(sums.tally(entry.part), self._entries)
            self._log.append((entry, cost, next_link(sums.head[1], entry, cost)))

    def tally(self, part):
        """Return the sums that decide about a spend on `part`."""
        with LOCK:
            return self._summed().tally(part)

    def entries(self):
        """Return the entries, oldest first."""
        with LOCK:
            return self._entries()

    def _entries(self):
        return tuple(entry for entry, _, _ in self._log)

    def receipt(self):
        """Return the receipt of the latest entry."""
        with LOCK:
            return Receipt(self._id, *self._summed().head)

    def records(self):
        """Return the rows of all entries, oldest first, and the sums by part, see ``take_in``."""
        with LOCK:
            rows = [(*astuple(e), cost.loss, cost.delta, link) for e, cost, link in self._log]
            return rows, self._summed().totals

    def backup(self, path):
        """Raise: there is no file to copy."""
        raise LedgerError(
            "This budget lives in the memory of a process: there is no ledger file to back up."
        )

    def refuse_copy(self):
        """Raise unless this is the ledger that was created, in the process that created it."""
        if self._owner != _PROCESS.token or self._owner[0] != os.getpid():
            raise ReadOnlyLedgerError(
                f"{_ADVICE} This budget lives in the memory of another process; what is here is a "
                "copy, and spends from copies would not add up. Nothing was charged."
            )

    def __getstate__(self):
        # say, before any worker fails, why all of them will
        if self._id not in _WARNED and self._owner == _PROCESS.token and _goes_to_a_worker():
            _WARNED.add(self._id)
            warnings.warn(
                f"{_ADVICE} A budget in memory is on its way to another process, where it can be "
                "read, and every fit on it will be refused.",
                PrivacyWarning,
                stacklevel=2,
            )
        with LOCK:
            return self.__dict__ | {"_log": list(self._log), "_sums": None, "_owner": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._sums = RunningSums(self.first_link())

    def _summed(self):
        """Return the sums of all entries."""
        for record in self._log[self._sums.head[0] :]:
            self._sums.add_entry(*record)
        return self._sums


# The lock of every ledger of this process.

# One lock for every ledger of the process. Charges are short and rare next to the fits they
# precede, and with a single lock a fork can wait until no charge is under way, so that a child
# never inherits a held lock or a half-used database.
LOCK = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
    )


# The address of a budget on a server, read once, with its password kept apart.

SCHEMES = ("postgresql://", "postgres://")
_FORM = "postgresql://user@host/database#budget"
_SECRET = {"password", "sslpassword", "oauth_client_secret"}
_HOST = re.compile(r"([\w.~%-]*|\[[0-9A-Fa-f:.%]+\])(?::(\d+))?", re.ASCII)
_NEARLY = re.compile(
    r"\w+(\+\w+)?://|postgres(ql)?[:+].*@"
    r"|(^|\s)(host|hostaddr|port|dbname|user|password|passfile|service)\s*=",
    re.IGNORECASE,
)


class Secrets(dict):
    """Passwords by keyword, which nothing prints and no pickle keeps."""

    def __repr__(self):
        return "<kept apart>"

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return Secrets, ()

    def hide(self, text):
        """Return a text, or that it was withheld because one of these is in it."""
        if any(secret in text for secret in self.values() if secret):
            return "its answer is withheld, because it repeats the password"
        return text


@dataclass(frozen=True)
class ServerAddress:
    """Where a budget is on a server.

    Attributes
    ----------
    shown : str
        The address without passwords and options.
    budget : str
        Name of the budget.
    settings : tuple of (str, str)
        What libpq is told, without passwords.
    secrets : Secrets
        The rest of it; empty in a copy that was pickled.
    n_secrets : int
        How many there were.
    """

    shown: str
    budget: str
    settings: tuple
    secrets: Secrets = field(repr=False)
    n_secrets: int

    @property
    def lost_secrets(self):
        """Whether a password was left out of a pickle."""
        return len(self.secrets) < self.n_secrets


def is_address(ledger):
    """Whether a ledger is named by the address of a PostgreSQL server."""
    return isinstance(ledger, str) and ledger.startswith(SCHEMES)


def refuse_near_address(ledger):
    """Raise for a text that is not the path of a file, but nearly the address of a server."""
    if isinstance(ledger, str) and _NEARLY.match(ledger) and not is_address(ledger):
        raise ValueError(
            f"ledger must be the path of a file or an address of the form {_FORM}, got something "
            "that is neither. It is not shown: it may hold a password."
        )


def read_address(address):
    """Return the pieces of an address.

    Parameters
    ----------
    address : str
        ``postgresql://user@host/database#budget``, with options of libpq after a question mark.

    Returns
    -------
    ServerAddress
    """
    rest = address.partition("://")[2]
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    authority, _, database = rest.partition("/")
    login, at, hosts = authority.rpartition("@")
    if re.search(r"[@/:]", database) or "@" in query + fragment + login or " " in address:
        raise _malformed()  # what belongs to a password may stand in the wrong piece
    user, _, password = login.partition(":")
    named = {"user": user, "password": password, "dbname": database}
    found = [_HOST.fullmatch(host) for host in hosts.split(",")]
    if not all(found):
        raise _malformed()
    names = [_decoded(match[1]).strip("[]") for match in found]
    ports = [match[2] or "" for match in found]
    read_hosts = {"host": ",".join(names), "port": ",".join(ports) if any(ports) else ""}
    given = read_hosts | {name: _decoded(text) for name, text in named.items()}
    settings = {}
    for option in filter(None, query.split("&")):
        name, equals, value = option.partition("=")
        if not (equals and re.fullmatch(r"[a-z_]+", name)):
            raise _malformed()
        settings[name] = _decoded(value)
    settings |= {name: value for name, value in given.items() if value}
    if not {"dbname", "service"} & set(settings):
        raise ValueError(
            f"ledger must name a database, as {_FORM}, and this address names none. It is not "
            "shown: it may hold a password."
        )
    secrets = Secrets({name: value for name, value in settings.items() if name in _SECRET})
    shown = f"postgresql://{user}{at}{hosts}/{database}" + (f"#{fragment}" if fragment else "")
    public = tuple(sorted((name, v) for name, v in settings.items() if name not in _SECRET))
    return ServerAddress(shown, _decoded(fragment) or "default", public, secrets, len(secrets))


def _decoded(text):
    decoded = unquote(text)
    if re.search(r"%(?![0-9A-Fa-f]{2})", text) or "\N{REPLACEMENT CHARACTER}" in decoded:
        raise _malformed()
    return decoded


def _malformed():
    return ValueError(
        f"ledger must be an address of the form {_FORM}; in a name or a password the characters "
        "@ : / ? # % and blanks are written as %40 %3A %2F %3F %23 %25 %20. What was given is not "
        "shown: it may hold a password. Passwords belong into a password file (PGPASSFILE), a "
        "service file or the environment."
    )
