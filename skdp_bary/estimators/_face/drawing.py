"""How many rows are drawn at once."""

import numpy as np

from ...privacy._checks import check_integer


def check_samples(n_samples, n_features):
    """Return the number of rows to draw, or raise where so many do not fit in memory."""
    n_samples = check_integer(n_samples, "n_samples", low=1)
    try:
        np.empty((n_samples, n_features))
    except (MemoryError, ValueError):
        raise ValueError(
            f"n_samples={n_samples} rows do not fit in memory. Draw them in pieces, such as "
            "sample(1_000_000) again and again: rows are free, whatever their number."
        ) from None
    return n_samples
