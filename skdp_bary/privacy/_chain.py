"""A chain of hashes through the entries of a ledger, so that changed or missing ones are found.

The link of an entry is a hash of the entry and of the link before it; the first link is a hash of
the ledger's identity and of what its entries are measured against. Whoever keeps the latest link
elsewhere, as a receipt, can tell later that a ledger still holds everything up to that entry: an
older copy in its place, or an entry altered behind the ledger's back, has other links.
"""

import hashlib
import json
from dataclasses import asdict, dataclass

from ..exceptions import LedgerError


@dataclass(frozen=True)
class Receipt:
    """The state of a ledger after an entry; keep it apart from the ledger.

    Attributes
    ----------
    ledger : str
        Identity of the ledger.
    number : int
        Number of entries.
    link : str
        Hash that stands for all of them.
    """

    ledger: str
    number: int
    link: str

    def to_json(self):
        """Return the receipt as a line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text):
        """Return the receipt that a line of JSON holds.

        Parameters
        ----------
        text : str
        """
        return cls(**json.loads(text))


def first_link(ledger, terms):
    """Return the link before the first entry, given the identity and the terms of a ledger."""
    return _hash([ledger, terms])


def next_link(previous, entry, cost):
    """Return the link of an entry, given the one before it."""
    return _hash([previous, asdict(entry), cost.loss, cost.delta])


def check_records(name, first, entries, costs, links, totals):
    """Raise unless the links are those of the entries, and the sums by part those of the costs."""
    previous, summed = first, {}
    for number, (entry, cost, link) in enumerate(zip(entries, costs, links, strict=True), start=1):
        previous = next_link(previous, entry, cost)
        if previous != link:
            raise LedgerError(
                f"The ledger {name!r} cannot be trusted: entry {number} was altered, or one before "
                "it was altered or removed."
            )
        before = summed.get(entry.part)
        summed[entry.part] = cost if before is None else before + cost
    if summed != totals:
        raise LedgerError(
            f"The ledger {name!r} cannot be trusted: its running totals differ from the sum of its "
            "entries."
        )


def check_receipt(name, first, now, links, receipt):
    """Raise unless a ledger still holds everything up to a receipt."""
    if not isinstance(receipt, Receipt):
        raise TypeError(f"receipt must be a Receipt, got {receipt!r}.")
    if receipt.ledger != now.ledger:
        raise LedgerError(f"The receipt is of another ledger than {name!r}.")
    held = [first, *links]
    if receipt.number >= len(held) or held[receipt.number] != receipt.link:
        raise LedgerError(
            f"The ledger {name!r} cannot be trusted: it does not hold the {receipt.number} entries "
            "of the receipt. An older copy may have been put in its place."
        )


def _hash(record):
    text = json.dumps(record, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
