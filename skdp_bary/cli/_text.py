"""Text that others wrote, on terminals and in tables for spreadsheets.

Names and notes may come from anywhere. On a terminal control characters would move the cursor or
hide what was said; in a spreadsheet a cell that begins like a formula would be one.
"""

import os
import sys

from ..privacy.ledger.table import shown

_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # some of them in full width, too


def cell(text):
    """Return the text of a cell that spreadsheets take for text."""
    return f"'{shown(text)}" if text.startswith(_FORMULA) else shown(text)


def say(text, stream=None):
    """Print lines, escaped, now; an OSError says that nobody can read them.

    Parameters
    ----------
    text : str or object
        What it prints as.
    stream : file or None, default=None
        None: the standard output.
    """
    stream = sys.stdout if stream is None else stream
    lines = "\n".join(shown(line) for line in str(text).split("\n"))
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        print(lines.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
    except OSError:
        _close(stream)
        raise


def _close(stream):
    """Let what could not be written go nowhere, or the interpreter fails again at its end."""
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, stream.fileno())
    os.close(null_device)
