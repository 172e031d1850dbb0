"""How far a fit is, for whoever waits for it.

What is said is public: steps of the plan, their mechanisms, and quarters of the rows, as many lines
however many rows there are. That a line comes late tells how long a step took, as the fit itself
does.
"""

import sys
import warnings
from contextlib import contextmanager
from contextvars import ContextVar

from .exceptions import PrivacyWarning

_HEARD = ContextVar("skdp_bary_heard", default=True)
_WIDTH = 24  # of the bar
_LINES = 4  # about the rows in a step: one a part would count the parts, and so the rows


def warn(text: str, stacklevel: int = 1) -> None:
    """Issue a PrivacyWarning about a release.

    A rehearsal of a fit releases noise that describes no rows, so nothing is heard of it.

    Parameters
    ----------
    text : str
    stacklevel : int, default=1
        As of :func:`warnings.warn`.
    """
    if _HEARD.get():
        warnings.warn(text, PrivacyWarning, stacklevel=stacklevel + 1)


@contextmanager
def unheard():
    """Rehearse; the filters of warnings, which all threads share, stay as they are."""
    token = _HEARD.set(False)
    try:
        yield
    finally:
        _HEARD.reset(token)


class Progress:
    """What a fit calls at its stations, and what these calls print to the standard error.

    Parameters
    ----------
    who : str
        What is fitted.
    verbose : {0, 1, 2}
        0 prints nothing, 1 a bar that is drawn anew in its line, 2 a line for every station.
    """

    def __init__(self, who="", verbose=0):
        self._who = who
        self._verbose = verbose
        self._drawn = ""  # what stands in the line of the bar
        self._told = 0  # lines about the rows of this step

    def step(self, number, total, step):
        """Say which step of a plan comes next; numbers begin at 0."""
        self._told = 0
        if self._verbose == 1:
            self._draw(number / total, f"{number + 1}/{total} {step.name}")
        elif self._verbose:
            self._line(f"step {number + 1} of {total}, {step.name}: {step.mechanism}")

    def read(self, share):
        """Say which quarters of the rows have been read for the present step; each is said once."""
        while self._verbose == 2 and self._told < int(_LINES * share):
            self._told += 1
            self._line(f"read {self._told / _LINES:.0%} of the rows")

    def finish(self):
        """Say that all is released, and what is left is to compute on it."""
        if self._verbose == 1:
            self._draw(1.0, "post-processing")
        elif self._verbose:
            self._line("post-processing")

    def end(self):
        """Leave the line of the bar."""
        if self._drawn:
            _write("\n")
            self._drawn = ""

    def _draw(self, share, text):
        full = round(_WIDTH * share)
        bar = f"{self._who} [{'#' * full}{'.' * (_WIDTH - full)}] {text}"
        _write(f"\r{bar:<{len(self._drawn)}}")
        self._drawn = bar

    def _line(self, text):
        _write(f"{self._who}: {text}\n")


def _write(text):
    """Write what may be lost: a fit does not fail where nobody can read."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # there is none, or it is closed
        pass


SILENT = Progress()
