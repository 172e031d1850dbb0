"""Commands for the owner of a budget."""

import csv
import json
import sys
from dataclasses import asdict

from ..privacy._accountant import BudgetAccountant
from ..privacy._filters import COMPOSITIONS
from ..privacy._neighbors import ADD_REMOVE, RELATIONS


def add_budget(commands):
    """Add ``budget`` and its commands to the subparsers `commands`."""
    budget = commands.add_parser(
        "budget", help="create and read budgets", description="Budgets kept in ledger files."
    )
    actions = budget.add_subparsers(metavar="ACTION", required=True)
    create = actions.add_parser("create", help="make a ledger with a ceiling")
    create.add_argument("ledger", help="file to create")
    create.add_argument("--epsilon", type=float, required=True, help="ceiling of the privacy loss")
    create.add_argument(
        "--delta", type=float, default=0.0, help="ceiling of the failure probability (default: 0)"
    )
    create.add_argument("--neighbors", choices=RELATIONS, default=ADD_REMOVE)
    create.add_argument("--composition", choices=COMPOSITIONS, default="sum")
    create.set_defaults(run=_create)
    show = actions.add_parser("show", help="print the entries and what is left")
    show.add_argument("ledger", help="an existing ledger")
    show.set_defaults(run=_show)
    verify = actions.add_parser("verify", help="check that a ledger is whole")
    verify.add_argument("ledger", help="an existing ledger")
    verify.set_defaults(run=_verify)
    export = actions.add_parser("export", help="print the entries as CSV or JSON")
    export.add_argument("ledger", help="an existing ledger")
    export.add_argument("--format", choices=["csv", "json"], default="csv")
    export.set_defaults(run=_export)


def _create(given):
    accountant = BudgetAccountant.create(
        given.ledger,
        given.epsilon,
        given.delta,
        neighbors=given.neighbors,
        composition=given.composition,
    )
    print(accountant)
    return 0


def _show(given):
    print(BudgetAccountant.open(given.ledger))
    return 0


def _verify(given):
    accountant = BudgetAccountant.open(given.ledger)
    print(f"{given.ledger}: {len(accountant.entries)} entries add up to its running totals")
    return 0


def _export(given):
    entries = [asdict(entry) for entry in BudgetAccountant.open(given.ledger).entries]
    if given.format == "json":
        json.dump(entries, sys.stdout, indent=1)
        print()
        return 0
    fields = ["time", "who", "relation", "epsilon", "delta", "part", "note"]
    table = csv.DictWriter(sys.stdout, fields, lineterminator="\n")
    table.writeheader()
    table.writerows(entries)
    return 0
