"""Odd containers of odd rows: what a fit says does not depend on how many rows there are."""

import warnings

from tests.test_zero_rows import IN_MEMORY, MEASURE, ODD, STREAMS, outcome

from .promises import Promise, Trial, repeated

_CONTAINERS = IN_MEMORY | STREAMS


def bring_more_rows(rng):
    """Fit nobody and somebody, or two numbers of odd rows, and compare all that is said."""
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        if rng.random() < 0.5:
            kind = str(rng.choice(list(_CONTAINERS)))
            rows = rng.random((1, 2))
            found = [outcome(MEASURE, X=_CONTAINERS[kind](rows[:n])) for n in (0, 1)]
        else:
            kind, n = str(rng.choice(list(ODD))), int(rng.integers(1000, 5000))
            found = [outcome(MEASURE, X=ODD[kind](each)) for each in (n, n + 1)]
    same = found[0] == found[1]
    return Trial(violation="" if same else f"{kind}: {found[0]} and {found[1]}")


PROMISE = Promise(
    "quiet",
    "What a fit says does not tell how many rows there are, nor whether there is any",
    repeated(bring_more_rows),
)
