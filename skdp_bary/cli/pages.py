"""The words of the command line: help pages, text that others wrote, what is not interrupted."""

import argparse
import os
import re
import signal
import sys
import threading
from contextlib import contextmanager

from ..privacy.entries import shown

# The text of ``--help``: what a command does, examples, exit status and environment.

ERROR, REFUSED, KEPT = 2, 3, 4
NEED_DELTA = ("generate", "sketch")  # releases that have no pure form

RELEASE_STATUS = """\
  0  done; the release was written to --out, or printed
  2  something was wrong with the command, the file or the ledger; nothing was written
  3  the budget refused the release, or would (--dry-run); nothing was charged or written
  4  the release was charged and could not be written to --out; it is kept where the message says
"""
BUDGET_STATUS = """\
  0  done
  2  something was wrong with the command or the ledger
  3  the budget refused, as it does a ceiling below the present one
"""
_AUDIT_STATUS = """\
  0  every step keeps the guarantee, or learns nothing from the rows
  2  a step leaks, or nothing is known about it; or there is no such pipeline
"""
_ANY_STATUS = """\
  0  done
  2  something was wrong with the command, a file or the ledger, or a step that was audited leaks
  3  the budget refused, or would (--dry-run)
  4  the release was charged, and is not in --out but where the message says
"""
ENVIRONMENT = """\
environment:
  OMP_NUM_THREADS   number of threads of the numerical libraries
  PGPASSFILE        file with the password of a ledger on a PostgreSQL server
  COLUMNS           width of this text
"""
_TABLES = """\
Rows outside of --bounds {outside}. Bounds, sizes, groups and columns must be known
without looking at the rows: what is chosen by looking is not covered by epsilon. With --groups all
rows of one person count as one person, and the table is read as a whole; without, every row is a
person, and rows are read in chunks.
"""
_PERSONS = """\
With --groups all rows of one person count as one person, and the table is read as a whole; without,
every row is a person, and rows are read in chunks.
"""
_OTHERS = {  # of pages that do not end as those of releases: the last paragraph, and the status
    "table": (_PERSONS, RELEASE_STATUS),
    "audit": ("", _AUDIT_STATUS),
    "schema": ("", BUDGET_STATUS.replace("the ledger", "the file").split("  3")[0]),
    "budget": ("", BUDGET_STATUS),
    "skdp-bary": ("", _ANY_STATUS),
}


def page(brief, description, examples, status):
    """Return arguments of a parser: a line for the list of commands, a text, lines to type."""
    return {
        "help": brief,
        "description": description,
        "epilog": f"examples:\n{examples}\nexit status:\n{status}\n{ENVIRONMENT}",
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


_PAGES = r"""
measure: a private set of weighted points
Release a private set of weighted points that is close to the rows in Wasserstein distance: a
stand-in for the table, from which any number of synthetic rows can be drawn. Weights are shares of
the persons and add up to one.
  skdp-bary measure rows.csv --columns age income --bounds age=18:100 income=0:200000 \
      --out rows_private.csv
  skdp-bary measure rows.parquet --bounds 0 1 --n-hint 50000 --ledger budget.db --dry-run

barycenter: the mean of several groups
Release the Wasserstein barycenter of the rows, or of several groups of them: the points that are
on average closest to all groups. --label names the column of the group, --classes the groups; they
are public, and labels that are not among them are an error. Weights add up to one.
  skdp-bary barycenter visits.csv --columns lon lat --label town --classes east west \
      --bounds lon=139.5:139.9 lat=35.5:35.9 --atoms 12 --ledger budget.db --out towns.geojson

heatmap: a private heatmap of places
Release a heatmap of places: two columns, longitude and latitude or any other two. --bounds is the
map and must be given. The weights of a .csv are shares of the persons on the map; about how many
these are is printed.
  skdp-bary heatmap checkins.csv --columns lon lat --groups user --n-hint 3000 \
      --bounds lon=139.5:139.9 lat=35.5:35.9 --epsilon 0.5 --ledger budget.db --out city.png
  skdp-bary heatmap checkins.csv --columns lon lat --bounds lon=-97.95:-97.55 lat=30.1:30.5 \
      --out a.geojson

kmeans: the centers of clusters
Release the centers of clusters and, in a column of its own, about how many persons each has. A dry
run with --n-hint says how much noise there would be.
  skdp-bary kmeans rows.csv --columns x y z --bounds 0 1 --clusters 10 --n-hint 20000 --dry-run
  skdp-bary kmeans rows.csv --columns x y z --bounds 0 1 --clusters 10 --ledger budget.db \
      --out centers.csv

generate: synthetic rows, of every class
Release a generator of synthetic rows and write --rows of them. --label names the column of the
class, --classes the classes; they are public, and every synthetic row has one. More rows cost
nothing; a second run of the command is a second release.
  skdp-bary generate stores.csv --columns x y z --label region --classes east west \
      --bounds 0 1 --n-hint 20000 --ledger budget.db --rows 5000 --out synthetic.csv

distance: the distance to a public table
Print the sliced Wasserstein distance of order 2 between the private table and a public one with
the same columns, and its standard error. With --delta 0 that one number is released. With a
positive --delta a sketch is released, noisy quantiles on many directions, and the distance is
computed from it; the sketch has less noise when there are many columns. The public table is not
protected.
  skdp-bary distance checkins.csv --reference public.csv --columns lon lat --groups user \
      --bounds lon=139.5:139.9 lat=35.5:35.9 --epsilon 0.5 --ledger budget.db
  skdp-bary distance wide.csv --reference public.csv --bounds 0 1 --delta 1e-6

sketch: a sketch to be compared with others later
Release a sketch of the rows that can be compared with other sketches at any later time, as often as
wanted, by skdp-bary compare. Two sketches can be compared that have the same --columns and
--bounds, which must be given.
  skdp-bary sketch march.csv --columns x y --bounds 0 1 --ledger budget.db --out march.npz
  skdp-bary sketch april.csv --columns x y --bounds 0 1 --ledger budget.db --out april.npz
  skdp-bary compare march.npz april.npz

compare: whether two private tables have the same distribution
Print the p-value of a test whether two private tables come from the same distribution, and how far
apart the distributions are, with an interval. One charge pays for both tables, and an id that is in
both of them is one person. Less is needed where --n-min is known, or with --neighbors replace_one,
where the sizes of the tables are public. Two sketches, .npz files of skdp-bary sketch, are compared
at no cost and without other options.
  skdp-bary compare north.csv south.csv --columns age weight --groups patient \
      --bounds age=0:120 weight=0:300 --ledger budget.db
  skdp-bary compare march.npz april.npz

table: a synthetic table, by a schema
Release histograms of the columns of a table and tables of their pairs, and write --rows of a
synthetic table that has them. --schema says what every column can hold; columns that it does not
declare are not read; empty cells, and words such as NA that it does not list, are missing values.
It must be known without looking at the rows. More rows cost nothing; a second run of the command is
a second release. Rules, such as dates in order, are for Python: PrivateTable(schema, rules=...).
  skdp-bary schema customers.csv --out customers.yaml
  skdp-bary table customers.csv --schema customers.yaml --label trouble --dry-run
  skdp-bary table customers.csv --schema customers.yaml --label trouble --ledger budget.db \
      --rows 5000 --out synthetic.csv

audit: say which steps of a pipeline keep the guarantee
Import an estimator or a pipeline and say of every step whether fitting it is private, learns
nothing from the rows, or leaks, and what to do about it. No row is read. The module is looked for
in the working directory first.
  skdp-bary audit mypackage.models:pipe

schema: a schema of a table with blanks to fill in
Write a YAML file with the names of the columns of a table and blanks for what they can hold. A
person fills them in from public knowledge, for Schema.from_yaml. No row is read: ranges and lists
of values that are copied from the rows are not public.
  skdp-bary schema customers.csv --out customers.yaml

skdp-bary: all commands together
Differentially private releases of a table: the rows stay where they are, what is written to --out
may be published. Give public bounds, and a ledger that all releases of the same people share.
  skdp-bary budget create budget.db --epsilon 2
  skdp-bary heatmap checkins.csv --columns lon lat --groups user --n-hint 3000 \
      --bounds lon=139.5:139.9 lat=35.5:35.9 --epsilon 0.5 --ledger budget.db --out city.png
  skdp-bary kmeans rows.csv --columns x y z --bounds 0 1 --clusters 10 --dry-run
  skdp-bary budget show budget.db

budget: create, read, raise and check budgets
Budgets kept in ledger files or on a PostgreSQL server, whose password belongs into a password file
and not into the address. Every release that is given --ledger is charged to the budget, and refused
when it does not fit.
  skdp-bary budget create budget.db --epsilon 2 --delta 1e-6
  skdp-bary budget show postgresql://analyst@host/database#clinic
  skdp-bary budget receipt budget.db > receipt.json
  skdp-bary budget verify budget.db --receipt receipt.json
  skdp-bary budget backup budget.db copy.db
"""


def _read(text):
    """Return pages by command: a line for the list, a text, and examples, which are set in."""
    found = {}
    for block in text.strip().split("\n\n"):
        head, *lines = block.splitlines()
        name, _, brief = head.partition(": ")
        told = [line for line in lines if not line.startswith("  ")]
        outside = "carry no mass" if name == "heatmap" else "are moved to their border"
        more, status = _OTHERS.get(name, (_TABLES.format(outside=outside), RELEASE_STATUS))
        examples = "\n".join([*lines[len(told) :], ""])
        found[name] = page(brief, "\n".join([*told, "", more]), examples, status)
    return found


PAGES = _read(_PAGES)


# What messages tell to write in Python, as it is typed in a shell and written in a schema.

_TYPED = {
    r"missing=True after pd\.to_numeric\(.*?\)(?=,)": "missing: true for numbers as 1234.5 or NA",
    r"missing=True after pd\.to_datetime\(.*?\), or Text\(\)": "missing: true for dates as "
    "2024-03-31 or NA",
    r"\bCategory\((\[.*?\])\)": r"{kind: category, values: \1}",
    r"\bNumber\((.+?), (.+?)\)": r"{kind: number, low: \1, high: \2}",
    r"\b(missing|log)=True": r"\1: true",
    r"\boutside='(\w+)'": r"outside: \1",
    r"\bspecial=\(0,\)": "special: [0]",
    r"frame\.dropna\(\)": "--drop-missing",
    r"(Then call )?BudgetAccountant\.restore\((\w+|'.*?'), (\w+|'.*?')\)": r"skdp-bary budget "
    r"restore \2 \3",
    r"Call BudgetAccountant\.restore": "Type skdp-bary budget restore",
    r"BudgetAccountant\(\.\.\., unit='(\w+)'\)": r"skdp-bary budget create --unit \1",
    r"\braise_ceiling\b": "skdp-bary budget raise",
    r"\by holds labels": "--label holds labels",
    r"(?:, of the type in y(: )|\b)classes=\[.*": r"\1--classes a b.",
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
