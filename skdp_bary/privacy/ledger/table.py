"""The entries of a budget as a table, in plain text and in HTML."""

import re
from html import escape

from .._checks import in_digits
from .entry import RAISE, RESTORE, SPEND

_COLUMNS = ("time", "who", "unit", "part", "epsilon", "delta", "note")
_WIDEST = 40
# also marks that turn the direction of text, and halves of pairs that nothing can print
_CONTROL = re.compile(
    "[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_KINDS = {SPEND: "", RAISE: "new ceiling", RESTORE: "restored from a backup"}


def shown(text):
    """Return a text of one line in which control characters are escaped."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def text_table(title, entries, closing):
    """Return a table with aligned columns between a title and closing lines."""
    cells = [_COLUMNS, *(_cells(entry) for entry in entries)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return "\n".join([title, *rows, *closing])


def html_table(title, entries, closing):
    """Return the same table for notebooks."""
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(entry)) + "</tr>"
        for entry in entries
    )
    return (
        f"<table><caption>{escape(title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{'<br>'.join(escape(line) for line in closing)}</p>"
    )


def _cells(entry):
    who = shown(" ".join(entry.who.split()))
    if len(who) > _WIDEST:
        who = who[: _WIDEST - 3] + "..."
    note = "; ".join(filter(None, [_KINDS[entry.kind], shown(entry.note)]))
    amounts = in_digits(entry.epsilon), in_digits(entry.delta)
    return (entry.time, who, shown(entry.unit), shown(entry.part), *amounts, note)
