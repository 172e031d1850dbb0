"""What is cheapest against noise, and the number that it reaches. From public facts alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

_DELTA = 1e-6  # what is proposed where there is none


def cheapest(
    remedies: Iterable[tuple[str, float]], good: Callable[[float], bool], rows: str
) -> str:
    """Return the first remedy that is enough, in words.

    Parameters
    ----------
    remedies : iterable of (str, float)
        From the cheapest on: what to change, and the level that it reaches.
    good : callable
        Whether a level is enough.
    rows : str
        What always helps: so many persons.
    """
    for words, level in remedies:
        if good(level):
            return f"The cheapest remedy is {words}, which reaches {level:.2g}."
    return f"The cheapest remedy is {rows}; no change of parameters is enough."


def projections(n_features: int) -> list[int]:
    """Return numbers of features that rows could be projected to, the largest first."""
    top = math.ceil(math.log2(max(n_features, 2)))
    return [2**k for k in range(top - 1, 1, -1)]


def rounded_up(persons: float) -> str:
    """Return a number of persons with two digits, rounded up."""
    unit = 10 ** max(math.floor(math.log10(max(persons, 1.0))) - 1, 0)
    return f"{math.ceil(persons / unit) * unit:,} persons"


def proposed_delta(delta: float) -> float:
    """Return the failure probability to compare with: the given one, or one to propose."""
    return delta if delta > 0 else _DELTA
