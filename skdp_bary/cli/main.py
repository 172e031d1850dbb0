"""The command ``skdp-bary``: commands and options, imported fast; what becomes of errors."""

import argparse
import re
import sys
import warnings
from functools import partial
from importlib import import_module
from typing import get_args

from .._version import __version__
from ..exceptions import BudgetError, LeakError, LedgerError, Neighbors, PrivacyWarning
from ..privacy.entries import COMPOSITIONS
from .pages import (
    AUDIT,
    BARYCENTER,
    BUDGET_STATUS,
    COMPARE,
    DISTANCE,
    ERROR,
    EVERYTHING,
    GENERATE,
    HEATMAP,
    KMEANS,
    MEASURE,
    NEED_DELTA,
    REFUSED,
    SCHEMA,
    SKETCH,
    TABLE,
    Page,
    say,
)

# Commands, their options, and what becomes of errors.

_EXPECTED = (ValueError, TypeError, OSError, ImportError, KeyError, OverflowError, LedgerError)

_FEATURE = re.compile(r"\bfeature (\d+)\b")
_WHITE = re.compile(r"[ \n]+")
_NEGATIVE = re.compile(r"-[0-9.][0-9.eE+,-]*")  # such as -97.95,30.10


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status.

    Parameters
    ----------
    arguments : list of str or None, default=None
        What follows the name of the command; None takes the arguments of the process.

    Returns
    -------
    status : int
        0 for success, 2 for an error, 3 for a release that the budget refused or, in a dry run,
        would refuse.
    """
    parser = _parser()
    asked = _shielded(sys.argv[1:] if arguments is None else arguments)
    given, unknown = parser.parse_known_args(asked)
    if unknown:  # the usage to show is that of the command, not that of all commands
        given.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", PrivacyWarning)
            warnings.showwarning = partial(_show_warning, given)
            return given.run(given)
    except BudgetError as error:
        return _fail(error, REFUSED)
    except LeakError as error:
        say(error, sys.stderr)
        return ERROR
    except _EXPECTED as error:
        return _fail(error, ERROR)


def _shielded(arguments):
    """Put a blank before lists of numbers that begin with a minus, which are not options."""
    return [f" {text}" if _NEGATIVE.fullmatch(text) else text for text in arguments]


def _parser():
    options = EVERYTHING.options()
    options.pop("help")
    parser = argparse.ArgumentParser("skdp-bary", **options)
    parser.add_argument("--version", action="version", version=f"skdp_bary {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_releases(commands)
    add_budget(commands)
    audit = commands.add_parser("audit", **AUDIT.options())
    audit.add_argument(
        "pipeline", metavar="MODULE:NAME", help="where the pipeline is, as mypackage.models:pipe"
    )
    audit.set_defaults(run=later("actions", "run_audit"), parser=audit)
    schema = commands.add_parser("schema", **SCHEMA.options())
    schema.add_argument("table", metavar="TABLE", help="a file ending in .csv, .csv.gz or .parquet")
    _add_keep_columns(schema)
    _add_out(schema, "a .yaml file; printed without", what="the schema")
    schema.set_defaults(run=later("actions", "run_schema"), parser=schema)
    return parser


def _fail(error, status):
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    say(f"skdp-bary: {_WHITE.sub(' ', str(text)).strip()}", sys.stderr)
    return status


def _show_warning(given, message, category, filename, lineno, file=None, line=None):
    text = _WHITE.sub(" ", str(message))
    if columns := getattr(given, "columns", None):  # estimators are given arrays without names
        text = _FEATURE.sub(lambda found: f"column {columns[int(found[1])]!r}", text)
    say(f"skdp-bary: note: {text}", sys.stderr)


# What a command does is imported when it is asked for, so that help and errors come at once.


def later(module, name):
    """Return a function that calls one of a module of this folder, which is imported then."""

    def call(*given):
        return getattr(import_module(f".{module}", __package__), name)(*given)

    return call


# Commands that release something about a table, and their options: read before anything heavy.


def _number(default, what):
    """Return the terms of an option that is a whole number."""
    return {"type": int, "default": default, "metavar": "N", "help": f"{what} (default: {default})"}


_ROWS = {"--rows": _number(1000, "number of synthetic rows, which costs nothing")}
_LABELS = {
    "--label": {"metavar": "NAME", "help": "column that names the group of a row"},
    "--classes": {"nargs": "+", "metavar": "LABEL", "help": "public set of groups"},
}
_PUBLIC = {"metavar": "FILE", "required": True, "help": "public table with the same columns"}
_RELEASES = (  # name, page, options beside those that all have
    ("measure", MEASURE, {}),
    ("barycenter", BARYCENTER, {**_LABELS, "--atoms": _number(8, "number of points")}),
    ("heatmap", HEATMAP, {"--resolution": _number(256, "cells along a side")}),
    ("kmeans", KMEANS, {"--clusters": _number(8, "number of centers")}),
    ("generate", GENERATE, _LABELS | _ROWS),
    ("sketch", SKETCH, {}),
    ("distance", DISTANCE, {"--reference": _PUBLIC}),
)


def add_releases(commands):
    """Add the commands that release something to the subparsers `commands`."""
    for name, page, options in _RELEASES:
        command = commands.add_parser(name, **page.options())
        _add_rows(command.add_argument_group("rows"))
        release = command.add_argument_group("release")
        for option, terms in options.items():
            release.add_argument(option, **terms)
        if page is not DISTANCE:
            _add_out(release, _FORMS.get(name, ".csv, .npz, .geojson or .png"))
        privacy = command.add_argument_group("privacy")
        _add_privacy(privacy, pure=page is HEATMAP, delta=_DELTAS.get(name, 0.0))
        command.set_defaults(run=later("actions", "run_release"), release=name, parser=command)
    _add_compare(commands)
    _add_table(commands)


_FORMS = {"generate": ".csv or .npz", "sketch": ".npz"}
_DELTAS = dict.fromkeys(NEED_DELTA, 1e-6)


def _add_compare(commands):
    command = commands.add_parser("compare", **COMPARE.options())
    rows = command.add_argument_group("rows")
    _add_rows(rows, " or a sketch, .npz")
    rows.add_argument("other", help="another one of the kind, with the same columns")
    rows.add_argument(
        "--n-min", type=int, nargs="+", metavar="N",
        help="public lower bound of the number of persons of each table (default: bought)",
    )  # fmt: skip
    _add_privacy(command.add_argument_group("privacy"), pure=False, delta=0.0)
    command.set_defaults(run=later("actions", "run_compare"), parser=command)


def _add_table(commands):
    command = commands.add_parser("table", **TABLE.options())
    rows = command.add_argument_group("rows")
    rows.add_argument("table", help=_TABLE)
    rows.add_argument(
        "--schema", metavar="FILE", required=True,
        help="public .yaml or .json of what the columns can hold, see: skdp-bary schema",
    )  # fmt: skip
    _add_keep_columns(rows)
    _add_persons(rows)
    release = command.add_argument_group("release")
    release.add_argument("--label", metavar="NAME", help="column that others are to predict")
    release.add_argument("--rows", **_ROWS["--rows"])
    _add_out(release, ".csv, .npz or .parquet")
    _add_privacy(command.add_argument_group("privacy"), pure=False, delta=1e-6)
    command.set_defaults(run=later("actions", "run_synthetic"), parser=command)


def _add_keep_columns(group):
    group.add_argument(
        "--keep-columns", nargs="+", metavar="NAME", help="only these columns (default: all)"
    )


_TABLE = "private table: .csv, .csv.gz or .parquet, with a line of column names"


def _add_out(group, forms, what="the release"):
    group.add_argument("--out", metavar="FILE", help=f"where {what} goes: {forms}")
    group.add_argument(
        "--overwrite", action="store_true", help="replace a file that is there already"
    )


def _add_rows(group, others=""):
    add = group.add_argument
    add("table", help=_TABLE + others)
    add("--columns", nargs="+", metavar="NAME", help="columns that make a row (default: all)")
    add("--bounds", nargs="+", metavar="NAME=LOW:HIGH",
        help="public range of every column, as lon=-98:-97 lat=30:31; or LOW HIGH, two numbers or "
        "two comma-separated lists")  # fmt: skip
    _add_persons(group)


def _add_persons(group):
    add = group.add_argument
    add("--where", action="append", default=[], metavar="RULE",
        help="keep the rows that meet a public rule, as 'month == 2026-03', 'date startswith "
        "2026-03' or 'age >= 18'; may be given again")  # fmt: skip
    add("--drop-missing", action="store_true",
        help="leave out rows without a value in a column that is used")  # fmt: skip
    add("--groups", metavar="NAME", help="column of person ids: protect persons, not rows")
    add("--unit", metavar="NAME",
        help="what a person is, as in the ledger (default: the column of --groups)")  # fmt: skip
    add("--n-hint", type=int, metavar="N", help="public guess at the number of persons")


def _add_privacy(group, pure, delta):
    """Add the options of the guarantee; `pure` releases have no delta to choose."""
    add = group.add_argument
    add("--epsilon", type=float, default=1.0, help="privacy loss (default: 1)")
    if pure:
        group.set_defaults(delta=0.0)
    else:
        add("--delta", type=float, default=delta,
            help=f"failure probability (default: {delta:g})")  # fmt: skip
    add("--neighbors", choices=get_args(Neighbors), default=None,
        help="what is protected (default: the ledger's, or add_remove)")  # fmt: skip
    add("--ledger", metavar="FILE", help="budget that is charged, see: skdp-bary budget create")
    add("--note", default="", metavar="TEXT", help="kept with the entry of the ledger, as 2026-03")
    add("--dry-run", action="store_true", help="print what it would cost, read and charge nothing")


# Commands for the owner of a budget.

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
    create.add_argument("--neighbors", choices=get_args(Neighbors), default="add_remove")
    create.add_argument("--composition", choices=COMPOSITIONS, default="sum")
    create.add_argument(
        "--unit", metavar="NAME", help="what a person is, as patient_id: others are refused"
    )
    create.add_argument(
        "--file-group", metavar="GROUP", help="group of this computer that may spend from the file"
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
    restore.set_defaults(run=later("actions", "restore"), parser=restore)


def _add(actions, name, text, options=""):
    example = f"  skdp-bary budget {name} budget.db {options}".rstrip() + "\n"
    page = Page(text, f"{text[0].upper()}{text[1:]}.", example, BUDGET_STATUS)
    action = actions.add_parser(name, **page.options())
    action.add_argument("ledger", help=_LEDGER)
    action.set_defaults(run=later("actions", "raise_" if name == "raise" else name), parser=action)
    return action
