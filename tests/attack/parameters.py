"""Odd parameters of every public class: refused by name before a charge, or fitted to numbers."""

from tests.parameter_fuzz import trial

from .promises import Promise, Trial, repeated


def try_odd_parameters(rng):
    """Give some class some odd parameters."""
    fault, case = trial(int(rng.integers(2**31)))
    return Trial(violation=f"{fault}: {case}" if fault else "")


PROMISE = Promise(
    "parameters",
    "Odd parameters are refused by name before a charge, or make sense",
    repeated(try_odd_parameters, seconds=10.0),
)
