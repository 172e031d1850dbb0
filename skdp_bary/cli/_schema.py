"""The command that writes a schema for a person to fill in."""

import json
import sys
from pathlib import Path

from ..schema._kinds import KINDS
from ._tables import open_file, refuse_values_as_names
from ._text import say

_HEAD = f"""\
# What every column of {{path}} can hold. Only the names were read, no row.
#
# Fill in the blanks from what is known in public: a code book, a form, a law. Ranges and lists of
# values that are copied from the rows are NOT public: the highest income is somebody's income.
#
# kind: one of {", ".join(sorted(KINDS))}
#   number, integer  low, high                   (also: log; number also: resolution)
#                    special: [0, 999]           values that many rows may hold, also outside
#   date             low, high as '2020-01-31'   (also: resolution)
#   category         values: [one, another]      (ordinal: from the lowest to the highest)
#   boolean, text    nothing else
# missing: true where values may be missing, else false
#
# Take out the columns that are not to be in the release, such as ids, with all their lines: what is
# not declared is not read. Ids of persons are named by --groups.
columns:
"""
_COLUMN = """\
  {name}:
    kind:
    low:
    high:
    values:
    missing:
"""


def run(given):
    """Write the skeleton of a schema."""
    names = open_file(given.table).names
    refuse_values_as_names(names, given.table)
    # names in quotes: YAML reads some of them as something else
    columns = "".join(_COLUMN.format(name=json.dumps(name, ensure_ascii=False)) for name in names)
    text = _HEAD.format(path=Path(given.table).name.replace("\n", " ")) + columns
    if given.out is None:
        say(text.rstrip("\n"))
        return 0
    with Path(given.out).open("x", encoding="utf-8") as file:
        file.write(text)
    say(f"skdp-bary: note: {given.out} has blanks, to be filled in by hand.", sys.stderr)
    return 0
