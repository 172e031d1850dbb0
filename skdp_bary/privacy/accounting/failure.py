"""When a failure probability is too large for what it promises. By public facts alone."""

from __future__ import annotations

LARGE_DELTA = 1e-3  # no usual number of persons is below one over it


def failure_advice(delta: float, persons: int | None = None) -> str:
    """Return what is wrong with a failure probability, or "".

    Parameters
    ----------
    delta : float
    persons : int or None, default=None
        A public number of persons.
    """
    if persons and delta * persons > 1.0:
        why = f"above one over the {persons:,} persons that are publicly known of"
    elif delta >= LARGE_DELTA:
        why = "large"
    else:
        return ""
    return (
        f"delta={delta:g} is {why}: a release that shows each person's row with this probability "
        "would keep the promise. Take a delta far below one over the number of persons, such as "
        "1e-6 or less."
    )
