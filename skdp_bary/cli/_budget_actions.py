"""What the commands for the owner of a budget do."""

import csv
import json
import sys
from dataclasses import asdict
from pathlib import Path

from ..privacy.ledger.accountant import BudgetAccountant
from ..privacy.ledger.chain import Receipt
from ..privacy.ledger.entry import FIELDS, RAISE
from ._text import cell, say

_CEILINGS = ("ceiling_epsilon", "ceiling_delta")


def create(given):
    """Make a ledger."""
    accountant = BudgetAccountant.create(
        given.ledger,
        given.epsilon,
        given.delta,
        neighbors=given.neighbors,
        composition=given.composition,
        unit=given.unit,
    )
    say(accountant)
    return 0


def show(given):
    """Print the entries and what is left."""
    say(BudgetAccountant.open(given.ledger))
    return 0


def raise_(given):
    """Raise the ceiling."""
    accountant = BudgetAccountant.open(given.ledger)
    accountant.raise_ceiling(given.epsilon, given.delta, who=given.who, note=given.note)
    say(accountant)
    return 0


def receipt(given):
    """Print a receipt."""
    print(BudgetAccountant.open(given.ledger).receipt().to_json())
    return 0


def verify(given):
    """Check a ledger."""
    accountant = BudgetAccountant.open(given.ledger)
    receipt = given.receipt and Receipt.from_json(Path(given.receipt).read_text())
    number = accountant.verify(receipt)
    held = f", and hold the {receipt.number} of the receipt" if receipt else ""
    say(f"{accountant.ledger}: {number} entries add up to its running totals{held}")
    return 0


def backup(given):
    """Write a backup."""
    BudgetAccountant.open(given.ledger).backup(given.copy)
    return 0


def restore(given):
    """Put a backup in the place of a ledger."""
    print(BudgetAccountant.restore(given.copy, given.ledger, who=given.who, note=given.note))
    return 0


def export(given):
    """Print the entries as data."""
    entries = [_exported(entry) for entry in BudgetAccountant.open(given.ledger).entries]
    if given.format == "json":
        json.dump(entries, sys.stdout, indent=1)
        print()
        return 0
    table = csv.DictWriter(sys.stdout, (*FIELDS, *_CEILINGS), lineterminator="\n")
    table.writeheader()
    table.writerows(map(_for_spreadsheets, entries))
    return 0


def _for_spreadsheets(entry):
    return {name: cell(value) if isinstance(value, str) else value for name, value in entry.items()}


def _exported(entry):
    """Return an entry as a record whose ceilings, raised, are not in the columns of the spends."""
    record = asdict(entry) | dict.fromkeys(_CEILINGS)
    if entry.kind == RAISE:
        ceiling = zip(_CEILINGS, (entry.epsilon, entry.delta), strict=True)
        record |= {"epsilon": None, "delta": None} | dict(ceiling)
    return record
