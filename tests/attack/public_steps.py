"""Steps called public, behind a declared form: no row moves a bit of another one."""

from tests.model_selection.row_independence import trial

from .promises import Promise, Trial, repeated, spawn


def bring_a_hostile_row(rng):
    """Put some step behind some form, and bring it rows of which one is hostile."""
    violations, _ = trial(spawn(rng))
    return Trial(violation="; ".join(violations))


PROMISE = Promise(
    "public steps",
    "Behind a declared form, a public step makes of a row what it makes of it alone",
    repeated(bring_a_hostile_row),
)
