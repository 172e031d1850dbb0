"""Tapes: how the audit tools look at a fit before and after noise.

A tape shows exact answers, so a fit under a tape is private to no one. Only ``inspection`` opens
one; ``tests/test_layers.py`` enforces it.
"""

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

_ACTIVE = ContextVar("skdp_bary_tape", default=None)
active_tape = _ACTIVE.get  # of the current context, or None


@dataclass(frozen=True)
class Record:
    """One release as the audit sees it: what came out, what was asked, and the exact answer."""

    released: object
    query: object
    exact: tuple
    sensitivity: object


class AllAnswered(BaseException):
    """Ends a fit that has made its last release: nothing that follows was asked for.

    No ``Exception``, so that no estimator takes it for an error of its own.

    Attributes
    ----------
    plan : Plan
        Releases and charges of the fit.
    """

    def __init__(self, plan):
        super().__init__("The tape has all releases of this fit.")
        self.plan = plan


class Tape:
    """Records every release of the fits run under it, and hands back recorded ones on replay.

    Parameters
    ----------
    script : sequence of Record, default=()
        Releases of an earlier fit, handed back in order instead of drawing noise, so that later
        queries are asked as they were then.
    answers_only : bool, default=False
        Whether fits end with their last release, by raising :class:`AllAnswered`: what follows is
        computed from releases alone.
    """

    def __init__(self, script=(), *, answers_only=False):
        self.records = []
        self.answers_only = answers_only
        self._script = list(script)

    def recall(self, name):
        """Return the scripted values of the next release, or None past the end of the script."""
        position = len(self.records)
        if position >= len(self._script):
            return None
        scripted = self._script[position].released
        if scripted.name != name:
            raise ValueError(
                f"Release number {position} is {name!r}, but was {scripted.name!r} when recorded: "
                "the sequence of releases depends on the rows."
            )
        return scripted.values

    def record(self, released, query, exact, sensitivity):
        """Append one release."""
        self.records.append(Record(released, query, exact, sensitivity))


@contextmanager
def use_tape(tape):
    """Run fits under `tape`; nothing they release is private."""
    token = _ACTIVE.set(tape)
    try:
        yield tape
    finally:
        _ACTIVE.reset(token)
