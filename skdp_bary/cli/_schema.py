"""The command that writes a schema for a person to fill in."""

import sys
from pathlib import Path

from ..schema._template import template_of
from ._tables import open_file, refuse_values_as_names
from ._text import say


def run(given):
    """Write the skeleton of a schema."""
    names = open_file(given.table).names
    refuse_values_as_names(names, given.table)
    text = template_of(names)
    if given.out is None:
        say(text.rstrip("\n"))
        return 0
    with Path(given.out).open("x", encoding="utf-8") as file:
        file.write(text)
    say(f"skdp-bary: note: {given.out} has blanks, to be filled in by hand.", sys.stderr)
    return 0
