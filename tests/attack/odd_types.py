"""Numbers of odd types as parameters: taken for the number that they are, or refused unpaid."""

from tests.parameter_fuzz import odd_type_trial

from .promises import Promise, Trial, repeated


def try_odd_types(rng):
    """Give some class a fraction, a number of numpy, a duration or bytes."""
    fault, case = odd_type_trial(int(rng.integers(2**31)))
    return Trial(violation=f"{fault}: {case}" if fault else "")


PROMISE = Promise(
    "odd types",
    "Fractions and numbers of numpy are taken as they are; durations and bytes are refused unpaid",
    repeated(try_odd_types, seconds=10.0),
)
