"""Steps that draw at random, one row at a time: no row moves what is drawn for another."""

from functools import cache

from sklearn.base import clone

from tests.model_selection.row_independence import steps_alone, stream_trial

from .promises import Promise, Trial, repeated, spawn

_steps = cache(lambda: list(steps_alone()))


def turn_the_rows(rng):
    """Bring rows to a step with a stream of its own in other orders, and behind hostile ones."""
    steps = _steps()
    found = stream_trial(clone(steps[rng.integers(len(steps))]), spawn(rng))
    return Trial(violation="; ".join(found or ()))


PROMISE = Promise(
    "streams",
    "Behind RowByRow no row moves what a step draws for another",
    repeated(turn_the_rows),
)
