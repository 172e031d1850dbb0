"""The command ``skdp-bary``: commands and options, imported fast; what becomes of errors."""

import argparse
import re
import sys
import warnings
from functools import partial
from importlib import import_module
from typing import get_args

from .._version import __version__
from ..exceptions import (
    BudgetError,
    LeakError,
    LedgerError,
    Neighbors,
    PrivacyWarning,
    ReadOnlyLedgerError,
)
from ..privacy.entries import COMPOSITIONS
from .pages import (
    BUDGET_STATUS,
    ERROR,
    NEED_DELTA,
    PAGES,
    REFUSED,
    in_shell,
    integer,
    number,
    page,
    say,
)

# Commands, their options, and what becomes of errors.

_EXPECTED = (ValueError, TypeError, OSError, ImportError, KeyError, OverflowError, LedgerError)

_FEATURE = re.compile(r"\bfeature (\d+)\b")
_WHITE = re.compile(r"[ \n]+")


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status.

    Parameters
    ----------
    arguments : list of str, default=None
        What follows the name of the command; None takes the arguments of the process.

    Returns
    -------
    status : int
        0 for success, 2 for an error, 3 for a release that the budget refused or, in a dry run,
        would refuse.
    """
    given, unknown = _parser().parse_known_args(arguments)
    if unknown:  # the usage to show is that of the command, not that of all commands
        given.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", PrivacyWarning)
            warnings.showwarning = partial(_show_warning, given)
            # what a command does is imported now, so that help and errors come at once
            actions = import_module(".actions", __package__)
            return getattr(actions, given.run)(given) or 0
    except BudgetError as error:
        # a copy of a ledger is no budget that is too small
        return _fail(error, ERROR if isinstance(error, ReadOnlyLedgerError) else REFUSED)
    except LeakError as error:
        say(error, sys.stderr)
        return ERROR
    except _EXPECTED as error:
        return _fail(error, ERROR)


def _fail(error, status):
    text = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, FileNotFoundError):
        text = f"There is no file {error.filename!r}. Check its name and the folder: ls"
    elif " is left of the ceiling " in text:
        text += " Ask for less by --epsilon, or have its owner raise it: skdp-bary budget raise"
    say(f"skdp-bary: {in_shell(_WHITE.sub(' ', str(text)).strip())}", sys.stderr)
    return status


def _show_warning(given, message, category, filename, lineno, file=None, line=None):
    text = in_shell(_WHITE.sub(" ", str(message)))
    if columns := getattr(given, "columns", None):  # estimators are given arrays without names
        text = _FEATURE.sub(lambda found: f"column {columns[int(found[1])]!r}", text)
    say(f"skdp-bary: note: {text}", sys.stderr)


# Options, as the terms that argparse takes: read before anything heavy.


def _named(metavar, text, **terms):
    """Return the terms of an option with a value."""
    return {"metavar": metavar, "help": text} | terms


def _whole(default, text):
    return _named("N", f"{text} (default: {default})", type=integer, default=default)


def _flag(text):
    return {"action": "store_true", "help": text}


def _out(forms):
    return {
        "--out": _named("FILE", f"file of the release: {forms}; can be repeated", action="append"),
        "--overwrite": _flag("replace an existing file"),
    }


def _privacy(delta):
    """Return the options of the guarantee; None: releases without a delta to choose."""
    text = f"failure probability (default: {delta or 0:g})"
    return {
        "--epsilon": {"type": number, "default": 1.0, "help": "privacy loss (default: 1)"},
        **({} if delta is None else {"--delta": {"type": number, "default": delta, "help": text}}),
        "--neighbors": {
            "choices": get_args(Neighbors),
            "help": "neighboring relation (default: the ledger's, or add_remove)",
        },
        "--ledger": _named("FILE", "budget to charge, see: skdp-bary budget create"),
        **_AT_MOST,
        "--note": _named("TEXT", "text for the entry of the ledger, such as 2026-03", default=""),
        "--dry-run": _flag("print the privacy cost without reading or charging"),
    }


_AT_MOST = {
    "--at-most": _named(
        "EPSILON/PERIOD",
        "limit of all entries of this day, month, quarter or year, in UTC, such as 1/year; the "
        "ledger does not store it, so pass it every time",
    )
}
_TABLE = "private table: .csv, .csv.gz or .parquet, with a line of column names"
_KEEP = {"--keep-columns": _named("NAME", "only these columns (default: all)", nargs="+")}
_COLUMNS = {
    "--columns": _named("NAME", "columns to use (default: all)", nargs="+"),
    "--bounds": _named(
        "NAME=LOW:HIGH",
        "public range of every column, such as lon=-98:-97 lat=30:31; or LOW HIGH, two numbers or "
        "two comma-separated lists",
        nargs="+",
    ),
}
_PERSONS = {
    "--where": _named(
        "RULE",
        "keep the rows that meet a public rule, such as 'month == 2026-03', 'date startswith "
        "2026-03' or 'age >= 18'; can be repeated",
        action="append",
        default=[],
    ),
    "--drop-missing": _flag("leave out rows with a missing value in a used column"),
    "--groups": _named("NAME", "column of person IDs: protect people, not rows"),
    "--unit": _named("NAME", "privacy unit, as in the ledger (default: the column of --groups)"),
    "--n-hint": _named("N", "public estimate of the number of people", type=integer),
}
_LABELS = {
    "--label": _named("NAME", "column that names the group of a row"),
    "--classes": _named("LABEL", "public set of groups", nargs="+"),
}
_ROWS = {"--rows": _whole(1000, "number of synthetic rows, at no privacy cost")}
_FORMS = ".csv, .npz, .geojson or .png"
_RELEASES = {  # options beside those that all have
    "measure": _out(_FORMS),
    "barycenter": {**_LABELS, "--atoms": _whole(8, "number of points"), **_out(_FORMS)},
    "heatmap": {"--resolution": _whole(256, "cells along a side"), **_out(_FORMS)},
    "kmeans": {"--clusters": _whole(8, "number of centers"), **_out(_FORMS)},
    "generate": _LABELS | _ROWS | _out(".csv or .npz"),
    "sketch": _out(".npz"),
    "distance": {
        "--reference": _named("FILE", "public table with the same columns", required=True)
    },
}


def _parser():
    everything = {name: terms for name, terms in PAGES["skdp-bary"].items() if name != "help"}
    parser = argparse.ArgumentParser("skdp-bary", **everything)
    parser.add_argument("--version", action="version", version=f"skdp_bary {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, options in _RELEASES.items():
        delta = None if name == "heatmap" else 1e-6 if name in NEED_DELTA else 0.0
        groups = {
            "rows": {"table": {"help": _TABLE}, **_COLUMNS, **_PERSONS},
            "release": options,
            "privacy": _privacy(delta),
        }
        command = _add(commands, name, PAGES[name], "run_release", groups)
        command.set_defaults(release=name, **({"delta": 0.0} if delta is None else {}))
    sizes = "public lower bound of the people in each table (default: estimated)"
    two = {
        "table": {"help": f"{_TABLE} or a sketch, .npz"},
        **_COLUMNS,
        **_PERSONS,
        "other": {"help": "another file of the same kind and columns"},
        "--n-min": _named("N", sizes, type=integer, nargs="+"),
    }
    groups = {"rows": two, "privacy": _privacy(0.0)}
    _add(commands, "compare", PAGES["compare"], "run_compare", groups)
    schema = "public .yaml or .json file of the columns, see: skdp-bary schema"
    groups = {
        "rows": {
            "table": {"help": _TABLE},
            "--schema": _named("FILE", schema, required=True),
            **_KEEP,
            **_PERSONS,
        },
        "release": {
            "--label": _named("NAME", "column that the others predict"),
            **_ROWS,
            **_out(".csv, .npz or .parquet"),
        },
        "privacy": _privacy(1e-6),
    }
    _add(commands, "table", PAGES["table"], "run_synthetic", groups)
    budget = commands.add_parser("budget", **PAGES["budget"])
    actions = budget.add_subparsers(metavar="ACTION", required=True)
    for name, (text, options, example) in _ACTIONS.items():
        example = f"  skdp-bary budget {name} {example}\n"
        about = page(text, f"{text[0].upper()}{text[1:]}.", example, BUDGET_STATUS)
        _add(actions, name, about, "raise_" if name == "raise" else name, {None: options})
    place = {"pipeline": _named("MODULE:NAME", "the pipeline, such as mypackage.models:pipe")}
    _add(commands, "audit", PAGES["audit"], "run_audit", {None: place})
    written = {
        "table": _named("TABLE", "a file ending in .csv, .csv.gz or .parquet"),
        **_KEEP,
        **_out(""),
        "--out": _named("FILE", ".yaml file of the schema (default: print it)"),
    }
    _add(commands, "schema", PAGES["schema"], "run_schema", {None: written})
    return parser


def _add(commands, name, about, run, groups):
    """Add a command that runs one of the actions; its options by the title of their group."""
    command = commands.add_parser(name, **about)
    command.set_defaults(run=run, parser=command)
    command._negative_number_matcher = re.compile(r"-\.?\d")  # also of lists, as in -0.6,51.2
    for title, options in groups.items():
        group = command.add_argument_group(title) if title else command
        for option, terms in options.items():
            group.add_argument(option, **terms)
    return command


# Commands for the owner of a budget.

_LEDGER = {"ledger": {"help": "ledger file, or postgresql://user@host/database#budget"}}
_WHO = {"--who": {"default": "", "help": "decision maker, for the entry"}}
_NOTE = {"--note": {"default": "", "help": "reason, for the entry"}}
_ACTIONS = {  # what it does, options, an example
    "create": (
        "make a ledger with a budget limit",
        {
            **_LEDGER,
            "--epsilon": {"type": number, "required": True, "help": "limit of the privacy loss"},
            "--delta": {
                "type": number,
                "default": 0.0,
                "help": "limit of the failure probability (default: 0)",
            },
            "--neighbors": {"choices": get_args(Neighbors), "default": "add_remove"},
            "--composition": {"choices": COMPOSITIONS, "default": "sum"},
            "--unit": _named("NAME", "privacy unit, such as patient_id: others are refused"),
            "--file-group": _named("GROUP", "group of this computer that may spend from the file"),
        },
        "budget.db --epsilon 2",
    ),
    "show": (
        "print the entries and what is left",
        {**_LEDGER, **_AT_MOST},
        "budget.db --at-most 1/year",
    ),
    "raise": (
        "raise the limit, with who and why in an entry; it cannot be lowered",
        {
            **_LEDGER,
            "--epsilon": {"type": number, "required": True, "help": "new limit"},
            "--delta": {"type": number, "help": "new limit (default: unchanged)"},
            **_WHO,
            **_NOTE,
        },
        'budget.db --epsilon 3 --who "M. Curie" --note "year 2"',
    ),
    "receipt": ("print a receipt of all entries, to store elsewhere", _LEDGER, "budget.db"),
    "verify": (
        "check that a ledger is intact",
        {
            **_LEDGER,
            "--receipt": _named("FILE", "also check that it has all entries of this receipt"),
        },
        "budget.db --receipt r.json",
    ),
    "backup": (
        "write a backup that cannot be spent from",
        {**_LEDGER, "copy": {"help": "new file"}},
        "budget.db copy.db",
    ),
    "restore": (
        "replace a lost ledger file by a backup; then repeat the charges made after the backup",
        {
            "copy": {"help": "backup, or a refused ledger file that was moved"},
            "ledger": {"help": "new ledger file"},
            **_WHO,
            **_NOTE,
        },
        'copy.db budget.db --who "M. Curie"',
    ),
    "export": (
        "print the entries as CSV or JSON",
        {**_LEDGER, "--format": {"choices": ["csv", "json"], "default": "csv"}},
        "budget.db --format json",
    ),
}
