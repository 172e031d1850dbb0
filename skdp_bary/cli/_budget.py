"""Commands for the owner of a budget."""

from ..privacy._neighbors import ADD_REMOVE, RELATIONS
from ..privacy.ledger.entry import COMPOSITIONS
from ._later import later
from ._pages import BUDGET_STATUS, Page

_LEDGER = "ledger file, or postgresql://user@host/database#budget"
_BUDGET = Page(
    "create, read, raise and check budgets",
    """\
Budgets kept in ledger files or on a PostgreSQL server, whose password belongs into a password file
and not into the address. Every release that is given --ledger is charged to the budget, and refused
when it does not fit.""",
    """\
  skdp-bary budget create budget.db --epsilon 2 --delta 1e-6
  skdp-bary budget show postgresql://analyst@host/database#clinic
  skdp-bary budget receipt budget.db > receipt.json
  skdp-bary budget verify budget.db --receipt receipt.json
  skdp-bary budget backup budget.db copy.db
""",
    BUDGET_STATUS,
)


def add_budget(commands):
    """Add ``budget`` and its commands to the subparsers `commands`."""
    budget = commands.add_parser("budget", **_BUDGET.options())
    actions = budget.add_subparsers(metavar="ACTION", required=True)
    _add_create(actions)
    _add(actions, "show", "print the entries and what is left")
    _add_raise(actions)
    _add(actions, "receipt", "print a receipt of all entries, to be kept elsewhere")
    verify = _add(actions, "verify", "check that a ledger is whole", "--receipt r.json")
    verify.add_argument(
        "--receipt", metavar="FILE", help="and that it holds all entries of a receipt"
    )
    backup = _add(actions, "backup", "write a backup that cannot be spent from", "copy.db")
    backup.add_argument("copy", help="file to be made")
    _add_restore(actions)
    export = _add(actions, "export", "print the entries as CSV or JSON", "--format json")
    export.add_argument("--format", choices=["csv", "json"], default="csv")


def _add_create(actions):
    create = _add(actions, "create", "make a ledger with a ceiling", "--epsilon 2")
    create.add_argument("--epsilon", type=float, required=True, help="ceiling of the privacy loss")
    create.add_argument(
        "--delta", type=float, default=0.0, help="ceiling of the failure probability (default: 0)"
    )
    create.add_argument("--neighbors", choices=RELATIONS, default=ADD_REMOVE)
    create.add_argument("--composition", choices=COMPOSITIONS, default="sum")
    create.add_argument(
        "--unit", metavar="NAME", help="what a person is, as patient_id: others are refused"
    )


def _add_raise(actions):
    text = "raise the ceiling, by an entry that says who and why; it cannot be lowered"
    raise_ = _add(actions, "raise", text, '--epsilon 3 --who "M. Curie" --note "year 2"')
    raise_.add_argument("--epsilon", type=float, required=True, help="new ceiling")
    raise_.add_argument("--delta", type=float, default=None, help="new ceiling (default: as it is)")
    raise_.add_argument("--who", default="", help="who decided it, kept with the entry")
    raise_.add_argument("--note", default="", help="why, kept with the entry")


def _add_restore(actions):
    text = "put a backup in the place of a ledger file that was lost"
    page = Page(
        text,
        "Put a backup in the place of a ledger file that was lost. What was charged after the "
        "backup was made has to be charged again.",
        '  skdp-bary budget restore copy.db budget.db --who "M. Curie"\n',
        BUDGET_STATUS,
    )
    restore = actions.add_parser("restore", **page.options())
    restore.add_argument("copy", help="what backup wrote, or a refused ledger file that was moved")
    restore.add_argument("ledger", help="ledger file to be made")
    restore.add_argument("--who", default="", help="who decided it, kept with the entry")
    restore.add_argument("--note", default="", help="why, kept with the entry")
    restore.set_defaults(run=later("_budget_actions", "restore"), parser=restore)


def _add(actions, name, text, options=""):
    example = f"  skdp-bary budget {name} budget.db {options}".rstrip() + "\n"
    page = Page(text, f"{text[0].upper()}{text[1:]}.", example, BUDGET_STATUS)
    action = actions.add_parser(name, **page.options())
    action.add_argument("ledger", help=_LEDGER)
    action.set_defaults(
        run=later("_budget_actions", "raise_" if name == "raise" else name), parser=action
    )
    return action
