"""Arithmetic on rows whose bits depend on the row alone.

A guarantee that counts how far one row can move a sum assumes that the other rows stay where they
are. Floating point sums break that quietly: a matrix product may round one row differently when
the block around it has another height. Everything here uses correctly rounded elementwise
operations in an order fixed by the number of columns, so a row gives the same bits in any block,
memory layout and process.
"""

import numpy as np

from .._values import as_floats

_BLOCK_VALUES = 2**16  # half a megabyte of float64: temporaries stay in cache


def as_table(X, n_features):
    """Return `X` as a float64 array of shape (n_rows, n_features), or raise."""
    X = as_floats(X)
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(f"X must have shape (n_rows, {n_features}), got {X.shape}.")
    return X


def as_rows(X, n_features):
    """Return `X` as a finite float64 array of shape (n_rows, n_features), or raise.

    No scikit-learn setting can switch this check off.
    """
    X = as_table(X, n_features)
    with np.errstate(over="ignore", invalid="ignore"):
        total_is_finite = np.isfinite(X.sum())
    if not total_is_finite and not np.isfinite(X).all():
        raise ValueError("X must not contain NaN or infinity.")
    return X


def row_blocks(n_rows, n_columns):
    """Yield slices that cut `n_rows` rows into blocks of about half a megabyte."""
    step = max(1, _BLOCK_VALUES // max(1, n_columns))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def unit_rows(X):
    """Divide each row by a power of two so that no entry is above 1, and the largest near 1.

    Returns the divided rows and the exponents of the powers. Only entries below 2**-1000 of the
    largest one, or of 1, can lose digits.
    """
    _, exponent = np.frexp(np.abs(X).max(axis=1))
    exponent = np.maximum(exponent, -1000)  # 2**1074 is no float64; 2**-1024 is
    return X * np.ldexp(1.0, -exponent)[:, None], exponent


def row_norms(unit):
    """Return the Euclidean norms of rows of moderate size, folding the columns in halves."""
    squares = unit * unit
    width = squares.shape[1]
    while width > 1:
        half = width // 2
        squares[:, :half] += squares[:, width - half : width]
        width -= half
    return np.sqrt(squares[:, 0])
