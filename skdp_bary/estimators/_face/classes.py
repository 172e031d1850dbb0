"""The public labels by which rows are divided."""

import numpy as np

from ...privacy._neighbors import REPLACE_ONE
from ...summaries.rows.opening import distinct_labels


def named_classes(classes):
    """Return labels that a user named as an array, or raise unless they are distinct."""
    named = np.asarray(classes)
    if named.ndim != 1 or named.size == 0 or len(np.unique(named)) != named.size:
        raise ValueError(f"classes must be distinct labels, got {classes!r}.")
    return named


def named_or_found_classes(classes, y, relation):
    """Return the labels named, or those that occur where the relation makes them public.

    None where rows have no labels.
    """
    if classes is not None:
        return named_classes(classes)
    if y is None:
        return None
    if relation == REPLACE_ONE:
        return distinct_labels(y)
    raise ValueError(
        "y is given, so classes must name the public set of labels: under "
        f"neighbors={relation!r} the labels that occur are private."
    )


def number_of_classes(classes):
    """Return the number of public labels; rows without any are one class."""
    return 1 if classes is None else np.size(classes)


def class_shares(given, name, n_classes):
    """Return public weights of the classes, summing to one, or raise where they are not that."""
    weights = np.asarray(given, dtype=float)
    if weights.shape != (n_classes,) or not np.isfinite(weights).all() or weights.min() <= 0:
        raise ValueError(
            f"{name} must be {n_classes} positive numbers, got {given!r}; leave out the rows of a "
            "class that should not count."
        )
    return weights / weights.sum()
