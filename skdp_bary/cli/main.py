"""The command ``skdp-bary``: commands and options, imported fast; what becomes of errors."""

import argparse
import re
import sys
import warnings
from functools import partial
from importlib import import_module
from pathlib import Path
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
from .pages import ERROR, NEED_DELTA, PAGES, REFUSED, in_shell, integer, number, say

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
    except KeyboardInterrupt:
        sys.tracebacklimit = 0  # a note says what was charged, and is all there is to read
        raise


def _fail(error, status):
    text = error.args[0] if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, FileNotFoundError):
        text = f"There is no file {error.filename!r}. Check its name and the folder: ls"
    elif " is left of the budget of " in text:
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


def _out(*endings):
    def file(path):
        if Path(path).suffix not in endings:
            raise argparse.ArgumentTypeError(f"must end in {forms}, got {path!r}.")
        return path

    forms = " or ".join(endings)
    text = f"file of the release, ending in {forms}; can be repeated"
    return {"--out": _named("FILE", text, action="append", type=file), **_OVERWRITE}


_OVERWRITE = {"--overwrite": _flag("replace an existing file")}


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
        "--note": _named("TEXT", "text for the ledger entry, such as 2026-03", default=""),
        "--dry-run": _flag("print the privacy cost without reading or charging"),
    }


_AT_MOST = {
    "--at-most": _named(
        "EPSILON/PERIOD",
        "limit on all entries of this day, month, quarter or year (UTC), such as 1/year; the "
        "ledger does not store it, so pass it every time",
    )
}
_TABLE = "private table: .csv, .csv.gz or .parquet, with column names in the first line"
_KEEP = {"--keep-columns": _named("NAME", "only these columns (default: all)", nargs="+")}
_COLUMNS = {
    "--columns": _named("NAME", "columns to use (default: all)", nargs="+"),
    "--bounds": _named(
        "NAME=LOW:HIGH",
        "public range of every column, such as lon=-98:-97 lat=30:31; or two numbers LOW HIGH for "
        "all columns",
        nargs="+",
    ),
}
_PERSONS = {
    "--where": _named(
        "RULE",
        "keep the rows that meet a public rule, such as 'month == 2026-03', 'date startswith "
        "2026-03' or 'age >= 18'; repeated, all rules must hold",
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
_POINTS = _out(".csv", ".npz", ".geojson", ".png")
_RELEASES = {  # options beside those that all have
    "measure": _POINTS,
    "barycenter": {**_LABELS, "--atoms": _whole(8, "number of points"), **_POINTS},
    "heatmap": {"--resolution": _whole(256, "cells along a side"), **_POINTS},
    "kmeans": {"--clusters": _whole(8, "number of centers"), **_POINTS},
    "generate": _LABELS | _ROWS | _out(".csv", ".npz"),
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
    sizes = "public lower bound on the people in each table (default: estimated)"
    two = {
        "table": {"help": f"{_TABLE}; or a sketch, .npz"},
        **_COLUMNS,
        **_PERSONS,
        "other": {"help": "another file of the same kind and columns"},
        "--n-min": _named("N", sizes, type=integer, nargs="+"),
    }
    groups = {"rows": two, "privacy": _privacy(0.0)}
    _add(commands, "compare", PAGES["compare"], "run_compare", groups)
    schema = "public .yaml or .json file that declares the columns, see: skdp-bary schema"
    groups = {
        "rows": {
            "table": {"help": _TABLE},
            "--schema": _named("FILE", schema, required=True),
            **_KEEP,
            **_PERSONS,
        },
        "release": {
            "--label": _named("NAME", "column that models are to predict from the others"),
            **_ROWS,
            **_out(".csv", ".npz", ".parquet"),
        },
        "privacy": _privacy(1e-6),
    }
    _add(commands, "table", PAGES["table"], "run_synthetic", groups)
    budget = commands.add_parser("budget", **PAGES["budget"])
    actions = budget.add_subparsers(metavar="ACTION", required=True)
    for name, options in _ACTIONS.items():
        run = "raise_" if name == "raise" else name
        _add(actions, name, PAGES[f"budget {name}"], run, {None: options})
    place = {"pipeline": _named("MODULE:NAME", "the pipeline, such as mypackage.models:pipe")}
    _add(commands, "audit", PAGES["audit"], "run_audit", {None: place})
    written = {
        "table": _named("TABLE", "a file ending in .csv, .csv.gz or .parquet"),
        **_KEEP,
        "--out": _named("FILE", ".yaml file of the schema (default: print it)"),
        **_OVERWRITE,
    }
    _add(commands, "schema", PAGES["schema"], "run_schema", {None: written})
    return parser


def _add(commands, name, about, run, groups):
    """Add a command that runs one of the actions; its options by the title of their group."""
    command = commands.add_parser(name, **about)
    command.set_defaults(run=run, parser=command)
    command._negative_number_matcher = re.compile(r"-\.?\d")  # also -1e5
    for title, options in groups.items():
        group = command.add_argument_group(title) if title else command
        for option, terms in options.items():
            group.add_argument(option, **terms)
    return command


# Commands for the owner of a budget.

_LEDGER = {"ledger": {"help": "ledger file, or postgresql://user@host/database#budget"}}
_WHO = {
    "--who": {"default": "", "help": "who decided, for the entry"},
    "--note": {"default": "", "help": "reason, for the entry"},
}
_ACTIONS = {
    "create": {
        **_LEDGER,
        "--epsilon": {"type": number, "required": True, "help": "limit on the privacy loss"},
        "--delta": {
            "type": number,
            "default": 0.0,
            "help": "limit on the failure probability (default: 0)",
        },
        "--neighbors": {
            "choices": get_args(Neighbors),
            "default": "add_remove",
            "help": "neighboring relation (default: add_remove)",
        },
        "--composition": {
            "choices": COMPOSITIONS,
            "default": "sum",
            "help": "how charges add up; renyi fits more releases with a delta (default: sum)",
        },
        "--unit": _named("NAME", "privacy unit, such as patient_id: others are refused"),
        "--file-group": _named(
            "GROUP", "group of users of this computer who may spend from the file"
        ),
    },
    "show": _LEDGER | _AT_MOST,
    "raise": {
        **_LEDGER,
        "--epsilon": {"type": number, "required": True, "help": "new limit"},
        "--delta": {"type": number, "help": "new limit (default: unchanged)"},
        **_WHO,
    },
    "receipt": _LEDGER,
    "verify": {
        **_LEDGER,
        "--receipt": _named("FILE", "also check that it has all entries of this receipt"),
    },
    "backup": {**_LEDGER, "copy": {"help": "new file"}},
    "restore": {
        "copy": {"help": "backup, or a refused ledger file that was moved"},
        "ledger": {"help": "new ledger file"},
        **_WHO,
    },
    "export": {**_LEDGER, "--format": {"choices": ["csv", "json"], "default": "csv"}},
}
