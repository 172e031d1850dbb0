"""Entries of budgets on a PostgreSQL server, shared by many hosts."""

import json
import os
import socket
import threading
import uuid
import weakref
from contextlib import contextmanager
from dataclasses import astuple

from ..exceptions import ReadOnlyLedgerError, import_optional
from .entries import FIELDS, Chained, Cost, Entry, Receipt, Tally, differing_terms, next_link
from .memory_ledger import read_address

# Entries of budgets on a PostgreSQL server, shared by many hosts.

_FORMAT = 3
_LOCK = 0x736B6470  # first half of the advisory lock; the second names the budget
_CONNECT_SECONDS = 10
_LOCK_SECONDS = 30
# One call, from its first word to the last answer: a network that swallows everything breaks no
# connection by itself, and no timeout of the server arrives.
_ANSWER_SECONDS = 60.0
_TURN_SECONDS = 120.0  # for the other threads of this process
# So that a dead peer is noticed in half a minute by either side. The client may set others.
_CLIENT = {
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
_SERVER = {
    "lock_timeout": f"{_LOCK_SECONDS}s",
    "statement_timeout": f"{_LOCK_SECONDS + 10}s",
    "idle_in_transaction_session_timeout": f"{_ANSWER_SECONDS:.0f}s",
    "synchronous_commit": "on",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "30000",
}

_SCHEMA = """
CREATE SCHEMA IF NOT EXISTS skdp_bary;
CREATE TABLE IF NOT EXISTS skdp_bary.budgets (
    name TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, format INTEGER NOT NULL,
    owner TEXT NOT NULL DEFAULT session_user,
    epsilon DOUBLE PRECISION NOT NULL, delta DOUBLE PRECISION NOT NULL, neighbors TEXT NOT NULL,
    composition TEXT NOT NULL, renyi_order DOUBLE PRECISION, unit TEXT
);
CREATE TABLE IF NOT EXISTS skdp_bary.entries (
    budget TEXT NOT NULL REFERENCES skdp_bary.budgets (id), number BIGINT NOT NULL,
    time TEXT NOT NULL, who TEXT NOT NULL, relation TEXT NOT NULL,
    unit TEXT NOT NULL, epsilon DOUBLE PRECISION NOT NULL, delta DOUBLE PRECISION NOT NULL,
    part TEXT NOT NULL, note TEXT NOT NULL, kind TEXT NOT NULL, nonce TEXT NOT NULL,
    loss_units BIGINT NOT NULL CHECK (loss_units >= 0),
    delta_units BIGINT NOT NULL CHECK (delta_units >= 0),
    link TEXT NOT NULL, PRIMARY KEY (budget, number)
);
CREATE INDEX IF NOT EXISTS raises ON skdp_bary.entries (budget, number) WHERE kind = 'raise';
CREATE TABLE IF NOT EXISTS skdp_bary.totals (
    budget TEXT NOT NULL REFERENCES skdp_bary.budgets (id), part TEXT NOT NULL,
    loss_units BIGINT NOT NULL, delta_units BIGINT NOT NULL, PRIMARY KEY (budget, part)
);
CREATE OR REPLACE FUNCTION skdp_bary.refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'entries of a budget are never changed'; END $$;
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE
    ON skdp_bary.entries FOR EACH STATEMENT EXECUTE FUNCTION skdp_bary.refuse();
CREATE OR REPLACE FUNCTION skdp_bary.ask_owner() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog AS
    $$ BEGIN
        IF NOT pg_has_role(session_user,
                (SELECT owner FROM skdp_bary.budgets WHERE id = NEW.budget), 'MEMBER') THEN
            RAISE EXCEPTION 'only the owner of a budget may raise its ceiling';
        END IF; RETURN NEW; END $$;
CREATE OR REPLACE TRIGGER owner_raises BEFORE INSERT ON skdp_bary.entries
    FOR EACH ROW WHEN (NEW.kind = 'raise') EXECUTE FUNCTION skdp_bary.ask_owner();
"""
_TERMS = ("epsilon", "delta", "neighbors", "composition", "renyi_order", "unit")
_COLUMNS = ", ".join(FIELDS)
# The identity of a budget, its latest entry, the latest raise of its ceiling, and the link of the
# entry that was seen last.
_HEAD = """
SELECT b.id, e.number, e.link, r.epsilon, r.delta, s.link FROM skdp_bary.budgets AS b
LEFT JOIN LATERAL (SELECT number, link FROM skdp_bary.entries
    WHERE budget = b.id ORDER BY number DESC LIMIT 1) AS e ON true
LEFT JOIN LATERAL (SELECT epsilon, delta FROM skdp_bary.entries
    WHERE budget = b.id AND kind = 'raise' ORDER BY number DESC LIMIT 1) AS r ON true
LEFT JOIN skdp_bary.entries AS s ON s.budget = b.id AND s.number = %s
WHERE b.name = %s
"""
# A part of the data, the whole, and of the others the two largest by either amount.
_TALLY = """
(SELECT part, loss_units, delta_units FROM skdp_bary.totals
    WHERE budget = %(id)s AND part IN ('', %(part)s))
UNION (SELECT part, loss_units, delta_units FROM skdp_bary.totals
    WHERE budget = %(id)s AND part NOT IN ('', %(part)s) ORDER BY loss_units DESC LIMIT 2)
UNION (SELECT part, loss_units, delta_units FROM skdp_bary.totals
    WHERE budget = %(id)s AND part NOT IN ('', %(part)s) ORDER BY delta_units DESC LIMIT 2)
"""
# Running sums, so that a charge does not read all earlier entries.
_APPEND = f"""
WITH appended AS (
    INSERT INTO skdp_bary.entries (budget, number, {_COLUMNS}, loss_units, delta_units, link)
    VALUES ({", ".join(["%s"] * (len(FIELDS) + 5))})
    RETURNING budget, part, loss_units, delta_units
)
INSERT INTO skdp_bary.totals AS t (budget, part, loss_units, delta_units)
SELECT budget, part, loss_units, delta_units FROM appended
ON CONFLICT (budget, part) DO UPDATE SET
    loss_units = t.loss_units + excluded.loss_units,
    delta_units = t.delta_units + excluded.delta_units
"""


class _Kept:
    """The connection of one process to one database, used by one thread at a time."""

    def __init__(self):
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.db = None

    def drop(self):
        """Close the connection, unless it belongs to the process that this one was forked from."""
        if self.db is not None and self.pid == os.getpid():
            self.db.close()
            self.db = None

    __del__ = drop


_ALL_KEPT = weakref.WeakValueDictionary()  # closed with the last ledger that uses them


def _kept_for(address):
    key = os.getpid(), address.settings, address.secrets
    return _ALL_KEPT.setdefault(key, _Kept())


class PostgresLedger(Chained):
    """Entries of one named budget on a server; pickles to its address.

    A charge holds an advisory lock of the budget, so that charges wait for one another instead of
    failing, and is one serialisable transaction with synchronous commit. When the connection is
    lost while a charge is committed, the charge may stand and nothing is released. A process keeps
    one connection to a database between calls; it is opened anew when it was lost, and after any
    failure.

    Parameters
    ----------
    address : str
        ``postgresql://user@host/database#name``; the name of the budget is "default" when left out.
        Passwords belong into a password file, a service file or the environment.
    terms : dict or None
        What the entries are measured against. They are stored with a new budget, and must equal
        what an existing one holds. With None the budget must exist.
    """

    def __init__(self, address, terms=None):
        self._connect_to(read_address(address))
        stored = self._stored()
        if stored is None and terms is None:
            raise self._error("there is no such budget")
        if stored is None:
            self._create(terms)
            stored = self._stored()  # another process may have been faster
        self._id, self.terms = stored
        with self._reading() as (_, head):
            raised = head[2]  # and an older copy put in its place is noticed from now on
        if differing := terms and differing_terms(self.terms, raised, terms, "on the server"):
            raise self._error(f"it was created for another budget: {differing}")

    @classmethod
    def exists(cls, address):
        """Whether there is a budget at an address."""
        ledger = cls.__new__(cls)
        ledger._connect_to(read_address(address))
        return ledger._stored() is not None

    def append(self, entry, cost, admit):
        """Add `entry` unless ``admit(tally, entries)`` raises; ``entries()`` returns them all."""
        lock = f"({_LOCK}, hashtext(%s))"
        with self._session(f"SELECT pg_advisory_lock{lock}", (self._id,)) as db:
            db.isolation_level, db.read_only = self._psycopg.IsolationLevel.SERIALIZABLE, False
            with db.transaction():
                number, link, raised = self._head(db)
                tally = self._read_tally(db, entry.part, raised)
                admit(tally, lambda: self._entries(db))
                link = next_link(link, entry, cost)
                fields = (*astuple(entry), cost.loss, cost.delta, link)
                db.execute(_APPEND, (self._id, number + 1, *fields))
            self._seen = number + 1, link
            db.execute(f"SELECT pg_advisory_unlock{lock}", (self._id,))

    def tally(self, part):
        """Return the sums that decide about a spend on `part`."""
        with self._reading() as (db, head):
            return self._read_tally(db, part, head[2])

    def entries(self):
        """Return the entries, oldest first."""
        with self._reading() as (db, _):
            return self._entries(db)

    def receipt(self):
        """Return the receipt of the latest entry."""
        with self._reading() as (_, head):
            return Receipt(self._id, *head[:2])

    def records(self):
        """Return the rows of all entries, oldest first, and the sums by part, see ``take_in``."""
        with self._reading() as (db, _):
            rows = db.execute(
                f"SELECT {_COLUMNS}, loss_units, delta_units, link FROM skdp_bary.entries "
                "WHERE budget = %s ORDER BY number",
                (self._id,),
            ).fetchall()
            sums = db.execute(
                "SELECT part, loss_units, delta_units FROM skdp_bary.totals WHERE budget = %s",
                (self._id,),
            ).fetchall()
        return rows, {part: Cost(loss, delta) for part, loss, delta in sums}

    def backup(self, path):
        """Raise: a server has its own backups."""
        raise self._error("it is on a server, which is backed up with its own tools, as pg_dump")

    def refuse_copy(self):
        """Raise when the role that is connected may only read."""
        with self._reading() as (db, _):
            may_write = db.execute(
                "SELECT has_table_privilege('skdp_bary.entries', 'INSERT') "
                "AND NOT pg_is_in_recovery()"
            ).fetchone()[0]
        if not may_write:
            raise ReadOnlyLedgerError(
                f"The role that is connected to {self.path!r} may only read this budget. Nothing "
                "was charged."
            )

    def _connect_to(self, address):
        self._address = address
        self.path, self._name = address.shown, address.budget
        self._psycopg = import_optional("psycopg", "postgres", "a ledger on PostgreSQL")
        self._id = None
        self._seen = 0, None  # number and link of the latest entry that was seen here
        self._kept = _kept_for(address)

    def _stored(self):
        """Return the identity and the terms of the budget, or None when there is none."""
        with self._session() as db:
            if not _has_tables(db):
                return None
            row = db.execute(
                f"SELECT id, format, {', '.join(_TERMS)} FROM skdp_bary.budgets WHERE name = %s",
                (self._name,),
            ).fetchone()
            if row is None:
                return None
            if row[1] != _FORMAT:
                raise self._error(f"it has ledger format {row[1]}, this version reads {_FORMAT}")
            return row[0], dict(zip(_TERMS, row[2:], strict=True))

    def _create(self, terms):
        marks = ", ".join(["%s"] * (3 + len(_TERMS)))
        # one creation at a time
        with self._session(f"SELECT pg_advisory_lock({_LOCK}, 0)") as db:
            db.isolation_level, db.read_only = None, None
            with db.transaction():
                if not _has_tables(db):  # the first budget; later ones may be made by other roles
                    db.execute(_SCHEMA)
                db.execute(
                    f"INSERT INTO skdp_bary.budgets (name, id, format, {', '.join(_TERMS)}) "
                    f"VALUES ({marks}) ON CONFLICT (name) DO NOTHING",
                    (self._name, uuid.uuid4().hex, _FORMAT, *(terms[name] for name in _TERMS)),
                )
            db.execute(f"SELECT pg_advisory_unlock({_LOCK}, 0)")

    def _head(self, db):
        """Return number and link of the latest entry, and the raised ceiling or None."""
        row = db.execute(_HEAD, (self._seen[0], self._name)).fetchone()
        # A budget dropped and created anew under the same name would start at zero.
        if row is None or row[0] != self._id:
            raise self._error("it was replaced by another budget since this one was opened")
        _, number, link, epsilon, delta, seen = row
        if seen != self._seen[1]:
            raise self._error(
                "it does not hold the entries that it held before: an older copy was put in its "
                "place"
            )
        raised = None if epsilon is None else (epsilon, delta)
        if number is None:
            return 0, self.first_link(), raised
        self._seen = number, link
        return number, link, raised

    def _entries(self, db):
        rows = db.execute(
            f"SELECT {_COLUMNS} FROM skdp_bary.entries WHERE budget = %s ORDER BY number",
            (self._id,),
        )
        return tuple(Entry(*row) for row in rows.fetchall())

    def _read_tally(self, db, part, raised):
        rows = db.execute(_TALLY, {"id": self._id, "part": part}).fetchall()
        return Tally({name: Cost(loss, delta) for name, loss, delta in rows}, raised)

    @contextmanager
    def _reading(self):
        """Open a read-only transaction on the budget, and look at its head."""
        with self._session() as db:
            db.isolation_level, db.read_only = self._psycopg.IsolationLevel.REPEATABLE_READ, True
            with db.transaction():
                yield db, self._head(db)

    @contextmanager
    def _session(self, statement="SELECT 1", parameters=()):
        """Run a statement that changes nothing, then give the connection for one call."""
        if self._kept.pid != os.getpid():
            # never closed here: that would end the session of the parent
            self._inherited, self._kept = self._kept, _kept_for(self._address)
        kept = self._kept
        if not kept.lock.acquire(timeout=_TURN_SECONDS):
            raise self._error("other threads of this process keep its connection busy")
        watchdog = Watchdog(_ANSWER_SECONDS)
        try:
            yield self._connected(statement, parameters, watchdog)
        except self._psycopg.Error as error:
            watchdog.stop()
            kept.drop()
            raise self._error(self._reason(error, watchdog)) from None
        except BaseException:
            watchdog.stop()
            kept.drop()  # and with it locks and what was not committed
            raise
        finally:
            watchdog.stop()
            kept.lock.release()

    def _connected(self, statement, parameters, watchdog):
        if self._kept.db is not None:
            try:
                watchdog.guard(self._kept.db)
                self._kept.db.execute(statement, parameters)
                return self._kept.db
            except self._psycopg.OperationalError:  # lost since the last call: nothing was written
                if watchdog.expired:
                    raise
                self._kept.drop()
        settings = _CLIENT | dict(self._address.settings) | self._address.secrets
        settings["connect_timeout"] = _CONNECT_SECONDS
        db = self._psycopg.connect(**settings, autocommit=True)
        self._kept.db = db
        watchdog.guard(db)
        # older servers know fewer of these
        db.execute(
            "SELECT set_config(name, %s::jsonb ->> name, false) FROM pg_settings "
            "WHERE %s::jsonb ? name",
            [json.dumps(_SERVER)] * 2,
        )
        db.execute(statement, parameters)
        return db

    def _reason(self, error, watchdog):
        if watchdog.expired:
            return f"the server did not answer within {_ANSWER_SECONDS:g} seconds"
        lines = str(error).strip().splitlines()
        reason = self._address.secrets.hide(lines[0] if lines else type(error).__name__)
        if self._address.lost_secrets:
            reason += (
                ". The password of its address was left out when it was pickled: put it into a "
                "password file (PGPASSFILE), a service file or the environment"
            )
        return reason

    def __getstate__(self):
        return {"_address": self._address, "_id": self._id, "terms": self.terms}

    def __setstate__(self, state):
        self._connect_to(state["_address"])
        self._id, self.terms = state["_id"], state["terms"]


def _has_tables(db):
    return db.execute("SELECT to_regclass('skdp_bary.budgets')").fetchone()[0] is not None


# A time limit for a conversation over the network that has none of its own.


class Watchdog:
    """Cut the connection that it guards when the time is over.

    Whoever waits for an answer on it then gets an error at once. The connection is cut below
    everything that is built on it, so that neither encryption nor a queue is in the way.

    Parameters
    ----------
    seconds : float
        From now on.

    Attributes
    ----------
    expired : bool
        Whether the time was over before :meth:`stop`.
    """

    def __init__(self, seconds):
        self.expired = False
        self._connection = None
        self._stopped = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def guard(self, connection):
        """Guard this connection, which has a ``fileno()``; at once when the time is over."""
        with self._lock:
            self._connection = connection
            if self.expired:
                _shut(connection)

    def stop(self):
        """Leave the connection alone from now on; it may be closed afterwards."""
        self._timer.cancel()
        with self._lock:
            self._stopped = True

    def _cut(self):
        with self._lock:
            if self._stopped:
                return
            self.expired = True
            if self._connection is not None:
                _shut(self._connection)


def _shut(connection):
    try:
        end = socket.socket(fileno=connection.fileno())
    except Exception:  # closed already, in the words of whatever library it belongs to
        return
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    finally:
        end.detach()  # its owner closes it
