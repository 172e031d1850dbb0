"""Entries of budgets on a PostgreSQL server, shared by many hosts."""

import uuid
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit, urlunsplit

from .._optional import import_optional
from ..exceptions import LedgerError, ReadOnlyLedgerError
from ._chain import FIRST, Receipt, next_link
from ._filters import Cost, Tally
from ._ledger import Entry, differing_terms, read_records

_FORMAT = 1
_LOCK = 0x736B6470  # first half of the advisory lock; the second names the budget
_CONNECT_SECONDS = 10
_LOCK_SECONDS = 30

_SCHEMA = """
CREATE SCHEMA IF NOT EXISTS skdp_bary;
CREATE TABLE IF NOT EXISTS skdp_bary.budgets (
    name TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, format INTEGER NOT NULL,
    owner TEXT NOT NULL DEFAULT session_user,
    epsilon DOUBLE PRECISION NOT NULL, delta DOUBLE PRECISION NOT NULL, neighbors TEXT NOT NULL,
    composition TEXT NOT NULL, renyi_order DOUBLE PRECISION
);
CREATE TABLE IF NOT EXISTS skdp_bary.entries (
    budget TEXT NOT NULL REFERENCES skdp_bary.budgets (id), number BIGINT NOT NULL,
    time TEXT NOT NULL, who TEXT NOT NULL, relation TEXT NOT NULL,
    epsilon DOUBLE PRECISION NOT NULL, delta DOUBLE PRECISION NOT NULL,
    part TEXT NOT NULL, note TEXT NOT NULL,
    loss_units BIGINT NOT NULL CHECK (loss_units >= 0),
    delta_units BIGINT NOT NULL CHECK (delta_units >= 0),
    link TEXT NOT NULL, PRIMARY KEY (budget, number)
);
CREATE TABLE IF NOT EXISTS skdp_bary.totals (
    budget TEXT NOT NULL REFERENCES skdp_bary.budgets (id), part TEXT NOT NULL,
    loss_units BIGINT NOT NULL, delta_units BIGINT NOT NULL, PRIMARY KEY (budget, part)
);
CREATE OR REPLACE FUNCTION skdp_bary.refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'entries of a budget are never changed'; END $$;
CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE
    ON skdp_bary.entries FOR EACH STATEMENT EXECUTE FUNCTION skdp_bary.refuse();
"""
_TERMS = ("epsilon", "delta", "neighbors", "composition", "renyi_order")
_FIELDS = "time, who, relation, epsilon, delta, part, note"
_INSERT = f"""
INSERT INTO skdp_bary.entries (budget, number, {_FIELDS}, loss_units, delta_units, link)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
# Running sums, so that a charge does not read all earlier entries.
_RAISE = """
INSERT INTO skdp_bary.totals AS t (budget, part, loss_units, delta_units) VALUES (%s, %s, %s, %s)
ON CONFLICT (budget, part) DO UPDATE SET
    loss_units = t.loss_units + excluded.loss_units,
    delta_units = t.delta_units + excluded.delta_units
"""


class PostgresLedger:
    """Entries of one named budget on a server; pickles to its address.

    A charge holds an advisory lock of the budget, so that charges wait for one another instead of
    failing, and is one serialisable transaction with synchronous commit. When the connection is
    lost while a charge is committed, the charge may stand and nothing is released.

    Parameters
    ----------
    address : str
        ``postgresql://user@host/database#name``; the name of the budget is "default" when left out.
        Passwords belong into a password file or the environment.
    terms : dict
        What the entries are measured against. They are stored with a new budget, and must equal
        what an existing one holds.
    """

    def __init__(self, address, terms):
        self._connect_to(address)
        stored = self._stored()
        if stored is None:
            self._create(terms)
            stored = self._stored()  # another process may have been faster
        differing = differing_terms(stored, terms, "on the server")
        if differing:
            raise self._error(f"it was created for another budget: {differing}")
        self._id = stored["id"]

    @classmethod
    def terms_at(cls, address):
        """Return the terms of an existing budget."""
        ledger = cls.__new__(cls)
        ledger._connect_to(address)
        stored = ledger._stored()
        if stored is None:
            raise ledger._error("there is no such budget")
        return {name: stored[name] for name in _TERMS}

    @classmethod
    def refuse_existing(cls, address):
        """Raise when there is a budget of this name."""
        ledger = cls.__new__(cls)
        ledger._connect_to(address)
        if ledger._stored() is not None:
            raise LedgerError(f"The ledger {ledger.path!r} exists already. Nothing was changed.")

    def append(self, entry, cost, admit):
        """Add `entry` unless ``admit(tally)`` raises."""
        with self._session() as db:
            db.execute("SELECT pg_advisory_lock(%s, hashtext(%s))", (_LOCK, self._id))
            with db.transaction():
                db.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE")
                db.execute("SET LOCAL synchronous_commit = on")
                self._check_identity(db)
                admit(self._read_tally(db, entry.part))
                number, link = self._last(db)
                fields = (entry.time, entry.who, entry.relation, entry.epsilon, entry.delta,
                          entry.part, entry.note, cost.loss, cost.delta)  # fmt: skip
                new = next_link(link, entry, cost)
                db.execute(_INSERT, (self._id, number + 1, *fields, new))
                db.execute(_RAISE, (self._id, entry.part, cost.loss, cost.delta))

    def tally(self, part):
        """Return the sums that decide about a spend on `part`."""
        with self._reading() as db:
            return self._read_tally(db, part)

    def entries(self):
        """Return the entries, oldest first."""
        with self._reading() as db:
            rows = db.execute(
                f"SELECT {_FIELDS} FROM skdp_bary.entries WHERE budget = %s ORDER BY number",
                (self._id,),
            )
            return tuple(Entry(*row) for row in rows.fetchall())

    def receipt(self):
        """Return the receipt of the latest entry."""
        with self._reading() as db:
            return Receipt(self._id, *self._last(db))

    def records(self):
        """Return entries, costs and links, oldest first, and the running sums by part."""
        with self._reading() as db:
            rows = db.execute(
                f"SELECT {_FIELDS}, loss_units, delta_units, link FROM skdp_bary.entries "
                "WHERE budget = %s ORDER BY number",
                (self._id,),
            ).fetchall()
            sums = db.execute(
                "SELECT part, loss_units, delta_units FROM skdp_bary.totals WHERE budget = %s",
                (self._id,),
            ).fetchall()
        return read_records(rows, sums)

    def refuse_copy(self):
        """Raise when the role that is connected may only read."""
        with self._reading() as db:
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
        self._address, self._name = _split_address(address)
        self.path = _without_password(address)
        self._psycopg = import_optional("psycopg", "postgres", "a ledger on PostgreSQL")
        self._id = None

    def _stored(self):
        with self._session() as db:
            there = db.execute("SELECT to_regclass('skdp_bary.budgets')").fetchone()[0]
            if there is None:
                return None
            row = db.execute(
                f"SELECT id, format, {', '.join(_TERMS)} FROM skdp_bary.budgets WHERE name = %s",
                (self._name,),
            ).fetchone()
        if row is None:
            return None
        if row[1] != _FORMAT:
            raise self._error(f"it has ledger format {row[1]}, this version reads {_FORMAT}")
        return dict(zip(("id", *_TERMS), (row[0], *row[2:]), strict=True))

    def _create(self, terms):
        marks = ", ".join(["%s"] * (3 + len(_TERMS)))
        with self._session() as db:
            db.execute("SELECT pg_advisory_lock(%s, 0)", (_LOCK,))  # one creation at a time
            with db.transaction():
                for statement in _SCHEMA.split(";\n"):
                    if statement.strip():
                        db.execute(statement)
                db.execute(
                    f"INSERT INTO skdp_bary.budgets (name, id, format, {', '.join(_TERMS)}) "
                    f"VALUES ({marks}) ON CONFLICT (name) DO NOTHING",
                    (self._name, uuid.uuid4().hex, _FORMAT, *(terms[name] for name in _TERMS)),
                )

    def _check_identity(self, db):
        # A budget dropped and created anew under the same name would start at zero.
        row = db.execute(
            "SELECT id FROM skdp_bary.budgets WHERE name = %s", (self._name,)
        ).fetchone()
        if row != (self._id,):
            raise self._error("it was replaced by another budget since this one was opened")

    def _last(self, db):
        row = db.execute(
            "SELECT number, link FROM skdp_bary.entries WHERE budget = %s "
            "ORDER BY number DESC LIMIT 1",
            (self._id,),
        ).fetchone()
        return (0, FIRST) if row is None else row

    def _read_tally(self, db, part):
        rows = db.execute(
            "SELECT part, loss_units, delta_units FROM skdp_bary.totals "
            "WHERE budget = %s AND part IN ('', %s)",
            (self._id, part),
        )
        sums = {name: Cost(loss, delta) for name, loss, delta in rows.fetchall()}
        own = sums.get(part, Cost()) if part else Cost()
        losses = self._two_largest(db, "loss_units", part)
        return Tally(
            part, sums.get("", Cost()), own, losses, self._two_largest(db, "delta_units", part)
        )

    def _two_largest(self, db, column, part):
        rows = db.execute(
            f"SELECT {column} FROM skdp_bary.totals WHERE budget = %s AND part NOT IN ('', %s) "
            f"ORDER BY {column} DESC LIMIT 2",
            (self._id, part),
        )
        return tuple(units for (units,) in rows.fetchall())

    @contextmanager
    def _reading(self):
        """Open a read-only transaction on the budget."""
        with self._session() as db, db.transaction():
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self._check_identity(db)
            yield db

    @contextmanager
    def _session(self):
        """Connect for one call, so that no connection is shared by threads or crosses a fork."""
        try:
            with self._psycopg.connect(
                self._address, autocommit=True, connect_timeout=_CONNECT_SECONDS
            ) as db:
                db.execute(f"SET lock_timeout = '{_LOCK_SECONDS}s'")
                yield db
        except self._psycopg.Error as error:
            raise self._error(_reason(error)) from None  # the address may hold a password

    def _error(self, reason):
        return LedgerError(
            f"The ledger {self.path!r} cannot be used: {reason}. Nothing was released."
        )

    def __getstate__(self):
        return {"_address": self._address, "_name": self._name, "_id": self._id}

    def __setstate__(self, state):
        self._connect_to(f"{state['_address']}#{state['_name']}")
        self._id = state["_id"]


def _split_address(address):
    """Return the address of the database and the name of the budget."""
    parts = urlsplit(address)
    if not parts.path.strip("/"):
        raise ValueError(
            "ledger must name a database, as postgresql://user@host/database#budget, got "
            f"{_without_password(address)!r}."
        )
    name = unquote(parts.fragment) or "default"
    return urlunsplit(parts._replace(fragment="")), name


def _without_password(address):
    parts = urlsplit(address)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=user.partition(":")[0] + at + host, query=""))


def _reason(error):
    """Return the first line of what the server said, which never holds a password."""
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
