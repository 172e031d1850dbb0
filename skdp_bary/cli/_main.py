"""Commands, their options, and what becomes of errors."""

import argparse
import re
import sys
import warnings
from functools import partial

from .._version import __version__
from ..exceptions import BudgetError, LeakError, LedgerError, PrivacyWarning
from ._budget import add_budget
from ._later import later
from ._options import add_releases
from ._pages import AUDIT, ERROR, EVERYTHING, REFUSED, SCHEMA
from ._text import say

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
    """Put a blank before lists of numbers that begin with a minus, which are no options."""
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
    audit.set_defaults(run=later("_audit", "run"), parser=audit)
    schema = commands.add_parser("schema", **SCHEMA.options())
    schema.add_argument("table", metavar="TABLE", help="a file ending in .csv, .csv.gz or .parquet")
    schema.add_argument("--out", metavar="FILE", help="a new .yaml file; printed without")
    schema.set_defaults(run=later("_schema", "run"), parser=schema)
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
