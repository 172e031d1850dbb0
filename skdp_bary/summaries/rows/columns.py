"""Columns of files: numbers that are finite, and text exactly as it is written."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Batch:
    """Some rows of a file.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    texts : list of Arrow arrays
        Of the columns that are text.
    share : float
        How much of the file has been read, by bytes.
    """

    X: np.ndarray
    texts: list
    share: float

    def __len__(self):
        return len(self.X)


def finite_numbers(column, name, path):
    """Return an Arrow column of float64 as an array, refusing nulls, NaN and infinities."""
    if column.null_count:
        raise missing(name, path)
    numbers = column.to_numpy()
    if not np.isfinite(numbers).all():
        raise missing(name, path)
    return numbers


def missing(name, path):
    """Return the error that a column has cells without a finite number."""
    return ValueError(
        f"The column {name!r} of {path} has missing values or infinities. Leave out their rows, or "
        "put a public value in their place, and ask again."
    )


def not_numbers(name, path):
    """Return the error that a column has cells which are no numbers."""
    return ValueError(
        f"The column {name!r} of {path} must hold numbers, in every row: an empty cell, a word "
        "such as NA, or a decimal comma is none. Leave out such rows, or put a public value in "
        "their place; or name the columns that make a row with --columns."
    )
