"""Entries of a ledger, the table they are printed as, and the chain of hashes through them."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from dataclasses import asdict, astuple, dataclass, field, fields
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii as quoted
from typing import Self

from ..exceptions import LedgerError, check_integer, in_digits

# What a ledger holds: entries, and the terms that they are measured against.

COMPOSITIONS = ("sum", "renyi")
SPEND, RAISE, RESTORE = "spend", "raise", "restore"
ROWS, UNNAMED = "rows", "persons by groups"  # units that nobody stated
FIELDS = ("time", "who", "relation", "unit", "epsilon", "delta", "part", "note", "kind", "nonce")


@dataclass(frozen=True, slots=True)
class Entry:
    """One spend of a budget, one raise of its ceiling, or one restoring of a backup.

    Parameters
    ----------
    time : str
        When it was charged, in UTC.
    who : str
        Name of the spender.
    relation : str
        Neighboring relation of the release.
    unit : str
        What one person was to the release: "rows", "persons by groups" where the IDs have no name,
        or the name that was stated; empty where no one said.
    epsilon, delta : float
        What was asked for; the new ceiling of a raise; zero where a backup was restored.
    part : str
        The part of the data it was charged on; empty for the whole data.
    note : str
        Free text, as in ``fit(note=)``. Fits write "seeded, not private" where it is so.
    kind : {"spend", "raise", "restore"}
    nonce : str
        Random digits from the operating system. Two entries that say the same differ in them, so
        a ledger in which a lost charge was repeated has another chain of hashes.
    """

    time: str
    who: str
    relation: str
    unit: str
    epsilon: float
    delta: float
    part: str
    note: str
    kind: str = SPEND
    nonce: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)


def now():
    """Return this moment as entries write it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def new_entry(who, relation, unit="", epsilon=0.0, delta=0.0, part="", note="", kind=SPEND):
    """Return an entry of this moment."""
    return Entry(
        time=now(),
        who=check_text(who, "who"),
        relation=relation,
        unit=unit,
        epsilon=float(epsilon),
        delta=float(delta),
        part=part,
        note=check_text(note, "note"),
        kind=kind,
    )


def check_unit(unit):
    """Return the name of a privacy unit, or raise."""
    if not check_text(unit, "unit").strip():
        raise ValueError(f"unit must name what one person is, as 'patient_id', got {unit!r}.")
    return unit


def check_text(value, name):
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r}.")
    if any("\ud800" <= sign <= "\udfff" for sign in value):  # halves of pairs
        raise ValueError(f"{name} must be text that UTF-8 can write, got {value!r}.")
    return value


def note_of(seeded, note=""):
    """Return the note of a fit: whether its noise is seeded, and what the caller writes."""
    return "; ".join(
        filter(None, ["seeded, not private" if seeded else "", check_text(note, "note")])
    )


def units_of(entries):
    """Privacy units of the spends of a ledger, where declared, in order."""
    return tuple(dict.fromkeys(e.unit for e in entries if e.kind == SPEND and e.unit))


def terms_now(terms, raised):
    """Return the terms of a ledger with the ceiling that it was last raised to."""
    return terms if raised is None else terms | {"epsilon": raised[0], "delta": raised[1]}


def differing_terms(stored, raised, terms, where):
    """Text: the terms that differ from those of a ledger; empty when none does.

    The order of a raised ceiling is that of the first one, and follows from nothing else.
    """
    stored = terms_now(stored, raised)
    return "; ".join(
        f"{name} is {stored[name]!r} {where} and {given!r} here"
        for name, given in terms.items()
        if stored[name] != given and not (raised and name == "renyi_order")
    )


# The entries of a budget as a table.

_COLUMNS = ("time", "who", "unit", "part", "epsilon", "delta", "note")
_WIDEST, _WIDEST_NOTE = 40, 80
# also marks that turn the direction of text, and halves of pairs that nothing can print
_CONTROL = re.compile(
    "[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_KINDS = {SPEND: "", RAISE: "new ceiling", RESTORE: "restored from a backup"}


def shown(text):
    """Return a text of one line in which control characters are escaped."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def text_table(title, entries, closing):
    """Return a table with aligned columns between a title and closing lines."""
    cells = [_COLUMNS, *(_cells(entry) for entry in entries)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return "\n".join([title, *rows, *closing])


def _cells(entry):
    who = _cut(shown(" ".join(entry.who.split())), _WIDEST)
    note = "; ".join(filter(None, [_KINDS[entry.kind], shown(entry.note)]))
    amounts = in_digits(entry.epsilon), in_digits(entry.delta)
    unit, part = shown(entry.unit), shown(entry.part)
    return (entry.time, who, unit, part, *amounts, _cut(note, _WIDEST_NOTE))


def _cut(text, widest):
    """Return a text of at most so many letters; the entry itself has all of them."""
    return text if len(text) <= widest else text[: widest - 3] + "..."


# A chain of hashes through the entries of a ledger, so that changed or missing ones are found.


@dataclass(frozen=True)
class Receipt:
    """The state of a ledger after an entry; keep it apart from the ledger.

    Parameters
    ----------
    ledger : str
        Identity of the ledger.
    number : int
        Number of entries.
    link : str
        Hash that represents all of them.
    """

    ledger: str
    number: int
    link: str

    def __post_init__(self):
        for name in ("ledger", "link"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise TypeError(f"{name} of a receipt must be a string, got {value!r}.")
        check_integer(self.number, "number of a receipt", low=0)

    def to_json(self) -> str:
        """Return the receipt as a line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the receipt that a line of JSON holds.

        Parameters
        ----------
        text : str
        """
        try:
            held = json.loads(text)
        except ValueError:
            held = None
        names = [field.name for field in fields(cls)]
        if not isinstance(held, dict) or sorted(held) != sorted(names):
            raise ValueError(
                f"A receipt must be a line of JSON with {', '.join(names)} and nothing else, as "
                "to_json writes it."
            )
        return cls(**held)


def first_link(ledger, terms):
    """Return the link before the first entry, given the identity and the terms of a ledger."""
    record = [ledger, terms]
    text = json.dumps(record, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class Chained:
    """Identity of a ledger, and its chain, from `_id`, `path`, `terms` and ``records()``."""

    @property
    def identity(self):
        """What tells this ledger from all others, wherever it is kept."""
        return self._id

    def first_link(self):
        """Return the link before the first entry."""
        return first_link(self._id, self.terms)

    def _error(self, reason):
        return LedgerError(
            f"The ledger {self.path!r} cannot be used: {reason}. Nothing was released."
        )

    def verify(self, receipt=None):
        """Return the number of entries, see ``BudgetAccountant.verify``."""
        rows, totals = self.records()
        sums, called = RunningSums(self.first_link()), _called(self.path)
        take_in(self.path, sums, rows)
        if sums.totals != totals:
            raise LedgerError(
                f"{called} cannot be trusted: its running totals differ from the sum of its "
                "entries. Call BudgetAccountant.restore with its latest backup."
            )
        if receipt is None:
            return len(rows)
        if not isinstance(receipt, Receipt):
            raise TypeError(
                f"receipt must be a Receipt, got {receipt!r}. Read a stored one with "
                "Receipt.from_json(text)."
            )
        if receipt.ledger != self._id:
            raise LedgerError(f"The receipt is of another ledger. {called} is not compared.")
        held = [self.first_link(), *(row[-1] for row in rows)]
        if receipt.number >= len(held) or held[receipt.number] != receipt.link:
            raise LedgerError(
                f"{called} cannot be trusted: it does not hold the {receipt.number} entries "
                "of the receipt. An older copy may have been put in its place."
            )
        return len(rows)


def next_link(previous, entry, cost):
    """Return the link of an entry, given the one before it."""
    return _link(previous, astuple(entry), cost.loss, cost.delta)


def take_in(name, sums, rows):
    """Add rows of a ledger to running sums, and raise at the first one whose link is wrong.

    Parameters
    ----------
    name : str
        Name of the ledger.
    sums : RunningSums
        Sums of the entries before the rows.
    rows : iterable of tuple
        The fields of an entry in their order, its loss and delta in units, and its link.
    """
    previous = sums.head[1]
    for *entry, loss, delta_units, link in rows:
        _, _, _, _, epsilon, delta, part, _, kind, _ = entry
        try:
            right = link == _link(previous, entry, loss, delta_units)
        except (TypeError, ValueError):  # a field of another type
            right = False
        if not right:
            raise LedgerError(
                f"{_called(name)} cannot be trusted: entry {sums.head[0] + 1} was altered, or "
                "one before it was altered or removed. Nothing was released."
            )
        sums.add(part, loss, delta_units, link, (epsilon, delta) if kind == RAISE else None)
        previous = link


def _called(name):
    return "The ledger in memory" if name is None else f"The ledger {name!r}"


def _link(previous, entry, loss, delta_units):
    # JSON with sorted keys, written by hand: opening a ledger hashes all of its entries
    time, who, relation, unit, epsilon, delta, part, note, kind, nonce = entry
    text = (
        f'["{previous}", {{"delta": {delta!r}, "epsilon": {epsilon!r}, "kind": {quoted(kind)}, '
        f'"nonce": {quoted(nonce)}, "note": {quoted(note)}, "part": {quoted(part)}, '
        f'"relation": {quoted(relation)}, "time": {quoted(time)}, "unit": {quoted(unit)}, '
        f'"who": {quoted(who)}}}, {loss!r}, {delta_units!r}]'
    )
    return hashlib.sha256(text.encode()).hexdigest()


# Sums of the entries of a ledger, by part of the data.


@dataclass(frozen=True, slots=True)
class Cost:
    """An amount of a filter: `loss` in millionths, `delta` in units of 1e-18, both integers."""

    loss: int = 0
    delta: int = 0

    def __add__(self, other):
        return Cost(self.loss + other.loss, self.delta + other.delta)

    def fits(self, ceiling):
        """Whether neither amount exceeds its ceiling."""
        return self.loss <= ceiling.loss and self.delta <= ceiling.delta

    def below(self, ceiling):
        """Cost that is left under `ceiling`."""
        return Cost(max(ceiling.loss - self.loss, 0), max(ceiling.delta - self.delta, 0))

    def shared_by(self, number):
        """Largest size of each of the given number of equal amounts."""
        return Cost(self.loss // number, self.delta // number)


@dataclass(frozen=True, slots=True)
class Tally:
    """Content of a ledger that decides about a spend on one part of the data.

    Parameters
    ----------
    sums : dict of str to Cost
        Sums of the entries by part; that of "" is the sum of those on the whole data. Of the
        parts that are not asked about, the two with the largest losses and the two with the
        largest deltas suffice, see :func:`~skdp_bary.privacy.mechanisms.compose_parts`.
    raised : tuple of float or None
        The (epsilon, delta) that the ceiling was last raised to; None when it never was.
    """

    sums: dict
    raised: tuple | None = None


_NOTHING = (0, 0, 0)
_AMOUNTS = (1, 2)  # places of loss and delta in a total


class RunningSums:
    """Total of the entries of a ledger, taken in one after another.

    Every step of :meth:`add` can be repeated, and the number of entries changes last. So whatever
    interrupts it, taking in the same entry once more leaves what one undisturbed call would have.

    Parameters
    ----------
    link : str
        The link before the first entry.

    Attributes
    ----------
    head : tuple
        Number and link of the latest entry that was taken in.
    raised : tuple of float or None
        The (epsilon, delta) that the ceiling was last raised to.
    """

    def __init__(self, link):
        self.head = 0, link
        self.raised = None
        self._totals = {}  # by part: number of its latest entry, loss and delta up to it
        self._leading = dict.fromkeys(_AMOUNTS, ())  # names of the two largest parts

    @property
    def totals(self):
        """The sums by part."""
        return {part: Cost(*total[1:]) for part, total in self._totals.items()}

    def add(self, part, loss, delta, link, raised=None):
        """Take in the entry after the latest.

        Parameters
        ----------
        part : str
            The part of the data it was charged on.
        loss, delta : int
            Its cost in units.
        link : str
            Its link.
        raised : tuple of float or None
            The (epsilon, delta) that it raised the ceiling to.
        """
        number = self.head[0] + 1
        latest, losses, deltas = self._totals.get(part, _NOTHING)
        if latest < number:
            self._totals[part] = number, losses + loss, deltas + delta
        if part:
            # sums only grow: the two largest are among the two before and the part just charged
            for amount in _AMOUNTS:
                names = {*self._leading[amount], part}
                ranked = sorted(names, key=lambda name: self._totals[name][amount])
                self._leading[amount] = ranked[-2:]
        if raised is not None:
            self.raised = raised
        self.head = number, link

    def add_entry(self, entry, cost, link):
        """Take in the entry after the latest, see :meth:`add`."""
        raised = (entry.epsilon, entry.delta) if entry.kind == RAISE else None
        self.add(entry.part, cost.loss, cost.delta, link, raised)

    def tally(self, part):
        """Return the sums that decide about a spend on `part`."""
        names = {part, *(name for leading in self._leading.values() for name in leading), ""}
        sums = {name: Cost(*self._totals.get(name, _NOTHING)[1:]) for name in names}
        return Tally(sums, self.raised)
