"""What a ledger holds: entries, and the terms that they are measured against."""

import secrets
from dataclasses import dataclass, field

COMPOSITIONS = ("sum", "renyi")
SPEND, RAISE, RESTORE = "spend", "raise", "restore"
FIELDS = ("time", "who", "relation", "epsilon", "delta", "part", "note", "kind", "nonce")


@dataclass(frozen=True, slots=True)
class Entry:
    """One spend of a budget, one raise of its ceiling, or one restoring of a backup.

    Parameters
    ----------
    time : str
        When it was charged, in UTC.
    who : str
        Who asked for it.
    relation : str
        Neighboring relation of the release.
    epsilon, delta : float
        What was asked for; the new ceiling of a raise; zero where a backup was restored.
    part : str
        The part of the data it was charged on; empty for the whole data.
    note : str
        Free text. Fits write what one person is to them, "rows" or "persons by groups", and
        "seeded, not private" where it is so.
    kind : {"spend", "raise", "restore"}
    nonce : str
        Random digits from the operating system. Two entries that say the same differ in them, so
        a ledger in which a lost charge was repeated has another chain of hashes.
    """

    time: str
    who: str
    relation: str
    epsilon: float
    delta: float
    part: str
    note: str
    kind: str = SPEND
    nonce: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)


def note_of(person, seeded):
    """Return the note of a fit: what one person is to it, and whether its noise is seeded."""
    return f"{person}; seeded, not private" if seeded else person


def protect_rows_and_persons(entries):
    """Whether a person was one row to some fits, and all rows with one id to others."""
    noted = {entry.note.partition(";")[0] for entry in entries if entry.kind == SPEND}
    return {"rows", "persons by groups"} <= noted


def terms_now(terms, raised):
    """Return the terms of a ledger with the ceiling that it was last raised to."""
    return terms if raised is None else terms | {"epsilon": raised[0], "delta": raised[1]}


def differing_terms(stored, raised, terms, where):
    """Return in words which terms differ from those that a ledger holds; empty when none does.

    The order of a raised ceiling is that of the first one, and follows from nothing else.
    """
    stored = terms_now(stored, raised)
    return "; ".join(
        f"{name} is {stored[name]!r} {where} and {given!r} here"
        for name, given in terms.items()
        if stored[name] != given and not (raised and name == "renyi_order")
    )
