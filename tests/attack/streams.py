"""Steps that draw at random or call functions, one row at a time: no row moves another one."""

from functools import cache

from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from skdp_bary import PrivateMeasure, RowByRow, check_private
from tests.model_selection.row_independence import (
    steps_alone,
    steps_of_functions,
    steps_that_meet_rows,
    stream_trial,
)

from .promises import Promise, Trial, repeated, spawn


@cache
def _steps():
    """(Step, whether it is fitted on zeros) of those that are called public."""
    functions = filter(_called_public, [*steps_of_functions(), *steps_that_meet_rows()])
    return [(step, False) for step in steps_alone()] + [(step, True) for step in functions]


def _called_public(step):
    pipeline = make_pipeline(RowByRow(step), PrivateMeasure(bounds=(0, 1)))
    return check_private(pipeline).steps[0].verdict == "public"


def turn_the_rows(rng):
    """Bring rows to a step with a stream or a function in other orders, and behind hostile ones."""
    steps = _steps()
    step, on_zeros = steps[rng.integers(len(steps))]
    found = stream_trial(clone(step), spawn(rng), on_zeros)
    return Trial(violation="; ".join(found or ()))


PROMISE = Promise(
    "streams", "In RowByRow, no row changes the output for another row", repeated(turn_the_rows)
)
