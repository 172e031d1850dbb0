"""Entries of a ledger, and the table they are printed as."""

import re
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape

from ..exceptions import in_digits

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


def new_entry(who, relation, unit="", epsilon=0.0, delta=0.0, part="", note="", kind=SPEND):
    """Return an entry of this moment."""
    return Entry(
        time=datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%SZ"),
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


# The entries of a budget as a table, in plain text and in HTML.

_COLUMNS = ("time", "who", "unit", "part", "epsilon", "delta", "note")
_WIDEST = 40
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


def html_table(title, entries, closing):
    """Return the same table for notebooks."""
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(entry)) + "</tr>"
        for entry in entries
    )
    return (
        f"<table><caption>{escape(title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{'<br>'.join(escape(line) for line in closing)}</p>"
    )


def _cells(entry):
    who = shown(" ".join(entry.who.split()))
    if len(who) > _WIDEST:
        who = who[: _WIDEST - 3] + "..."
    note = "; ".join(filter(None, [_KINDS[entry.kind], shown(entry.note)]))
    amounts = in_digits(entry.epsilon), in_digits(entry.delta)
    return (entry.time, who, shown(entry.unit), shown(entry.part), *amounts, note)
