"""The address of a budget on a server, read once, with its password kept apart.

No error, no text and no pickle shows a password. So an address that cannot be read is not shown
at all: nobody knows which of its pieces was meant to be one.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

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
    given = _read_hosts(hosts) | {name: _decoded(text) for name, text in named.items()}
    settings = _read_options(query) | {name: value for name, value in given.items() if value}
    if not {"dbname", "service"} & set(settings):
        raise ValueError(
            f"ledger must name a database, as {_FORM}, and this address names none. It is not "
            "shown: it may hold a password."
        )
    secrets = Secrets({name: value for name, value in settings.items() if name in _SECRET})
    shown = f"postgresql://{user}{at}{hosts}/{database}" + (f"#{fragment}" if fragment else "")
    public = tuple(sorted((name, v) for name, v in settings.items() if name not in _SECRET))
    return ServerAddress(shown, _decoded(fragment) or "default", public, secrets, len(secrets))


def _read_hosts(hosts):
    found = [_HOST.fullmatch(host) for host in hosts.split(",")]
    if not all(found):
        raise _malformed()
    names = [_decoded(match[1]).strip("[]") for match in found]
    ports = [match[2] or "" for match in found]
    return {"host": ",".join(names), "port": ",".join(ports) if any(ports) else ""}


def _read_options(query):
    options = {}
    for option in filter(None, query.split("&")):
        name, equals, value = option.partition("=")
        if not (equals and re.fullmatch(r"[a-z_]+", name)):
            raise _malformed()
        options[name] = _decoded(value)
    return options


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
