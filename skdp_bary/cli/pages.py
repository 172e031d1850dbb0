"""The words of the command line: help pages, text that others wrote, what is not interrupted."""

import argparse
import math
import os
import re
import signal
import sys
import threading
from contextlib import contextmanager
from importlib.resources import files
from shlex import quote

from ..privacy.entries import shown

# The text of ``--help``: what a command does, examples, exit status and environment.

ERROR, REFUSED, KEPT = 2, 3, 4
NEED_DELTA = ("generate", "sketch")  # releases that have no pure form


def _read():
    """Return pages by command: a line for the list, a text, and examples, which are set in."""
    text = files(__package__).joinpath("pages.txt").read_text(encoding="utf-8")
    found, shared = {}, {}
    for head, *lines in map(str.splitlines, text.strip().split("\n\n")):
        name, colon, brief = head.partition(": ")
        if not colon:  # a paragraph of several pages
            shared[head] = "\n".join(["", *lines])
            continue
        told = [line for line in lines if not line.startswith("  ")]
        examples = "\n".join(lines[len(told) :])
        ends = (f"\n{end}{shared[end]}\n" for end in ("exit status:", "environment:"))
        found[name] = {
            "help": brief,
            "description": "\n".join(shared.get(line, line) for line in told)
            or f"{brief[0].upper()}{brief[1:]}.",
            "epilog": "\n".join([f"examples:\n{examples}", *ends]).rstrip("\n"),
            "formatter_class": argparse.RawDescriptionHelpFormatter,
        }
    return found


PAGES = _read()


# What messages tell to write in Python, as it is typed in a shell and written in a schema.

_TYPED = {
    r"^Column (.+) has values that are not numbers\. .*": lambda m: (
        f"Column {m[1]} has values that are not numbers such as 1234.5. With missing: true, cells "
        "may be empty, NA, NaN or null. Leave out other words by --where "
        f"{quote(f'{m[1][1:-1]} != unknown')}, or declare a category."
    ),
    r"(?<=values that are not dates)\. .*": " such as 2026-12-31. Convert 31.12.2026 and "
    "12/31/2026: sed -E 's#([0-9]{2})[.]([0-9]{2})[.]([0-9]{4})#\\\\3-\\\\2-\\\\1#g; "
    "s#([0-9]{2})/([0-9]{2})/([0-9]{4})#\\\\3-\\\\1-\\\\2#g' rows.csv > new.csv",
    r"\bCategory\((\[.*?\])\)": r"{kind: category, values: \1}",
    r"\bSchema\.template\(frame\)": "skdp-bary schema rows.csv",
    r"\bNumber\((.+?), (.+?)\)": r"{kind: number, low: \1, high: \2}",
    r"\b(missing|log)=True": r"\1: true",
    r"\bspecial=\(([^()]+),\)": r"special: [\1]",
    r"\boutside=['\"](\w+)['\"]": r"outside: \1",
    r"\b(special|values|low|high)=|(?<=^Column )(.+resolution)=": r"\1\2: ",
    r"\b(example|fix is|admits|set) (epsilon|delta|resolution)=": r"\1 --\2 ",
    r"\bn_(clusters|atoms)=": r"--\1 ",
    r"\by is needed(.*)Call fit\(X, y\)": r"--label is needed\1Name their column: --label NAME",
    r"\bPass label=None": "Leave --label out",
    r"\bThose in domain_": "Those found",
    r"BudgetAccountant\.create makes": "skdp-bary budget create makes",
    r"BudgetAccountant\.open opens it": "Releases spend from it by --ledger",
    r"frame\.dropna\(\)": "--drop-missing",
    r"(Then call )?BudgetAccountant\.restore\((\w+|'.*?'), (\w+|'.*?')\)": r"skdp-bary budget "
    r"restore \2 \3",
    r"Call BudgetAccountant\.restore": "Type skdp-bary budget restore",
    r"BudgetAccountant\(\.\.\., unit='(\w+)'\)": r"skdp-bary budget create --unit \1",
    r"\braise_ceiling\b": "skdp-bary budget raise",
    r"\by holds labels": "--label holds labels",
    r", with the type, case and blanks of y:.*": ", with their case and blanks: --classes a b. Or "
    "leave out each other label by --where 'NAME != c', NAME being the --label.",
    r"\bclasses=\[.*": "--classes a b.",
    r"\bbounds=None\b": "Without --bounds",
    r"\b(groups|unit)=": r"--\1 ",
    r"\bn_(hint|min)(?:(=)|\b)": lambda m: f"--n-{m[1]}{' ' * bool(m[2])}",
    r"\btotal_ is": "their number is",
}


def in_shell(text):
    """Return a message of the package in the words of the command line."""
    for python, typed in _TYPED.items():
        text = re.sub(python, typed, text)
    return text


# Numbers as they are typed.


def number(text):
    """Return a finite number as in files: float also reads 1_0, and digits of all scripts."""
    found = float("" if "_" in text or not text.isascii() else text)
    if not math.isfinite(found):
        raise ValueError
    return found


def integer(text):
    """Return an integer."""
    number(text)
    return int(text)


# Text that others wrote, on terminals and in tables for spreadsheets.

_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # some of them in full width, too


def cell(text):
    """Return the text of a cell that spreadsheets take for text."""
    return f"'{shown(text)}" if text.startswith(_FORMULA) else shown(text)


def say(text, stream=None):
    """Print lines, escaped, now; an OSError says that no one can read them.

    Parameters
    ----------
    text : str or object
        What it prints as.
    stream : file, default=None
        None: the standard output.
    """
    stream = sys.stdout if stream is None else stream
    lines = "\n".join(shown(line) for line in str(text).split("\n"))
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        print(lines.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
    except OSError:
        # let what could not be written go nowhere, or the interpreter fails again at its end
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, stream.fileno())
        os.close(null_device)
        raise


# What must be done once it is begun is not interrupted by the keyboard.


@contextmanager
def uninterrupted():
    """Let requests to stop wait: a release that is paid for is written first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = []
    before = {
        number: signal.signal(number, lambda number, _: asked.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in asked:
            signal.raise_signal(number)
