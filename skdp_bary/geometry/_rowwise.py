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
    return np.sqrt(folded((unit * unit).T))


def folded(values):
    """Return the sum of the rows of `values`, which is overwritten, adding halves to each other.

    An entry of the sum depends, bit for bit, on its column alone.
    """
    count = len(values)
    while count > 1:
        half = count // 2
        values[:half] += values[count - half : count]
        count -= half
    return values[0]


def row_distances(X, points):
    """Return the Euclidean distance of every row to every point, of shape (n_rows, n_points).

    Library functions multiply whole matrices, and round a row otherwise beside other rows.
    """
    distances = np.empty((len(X), len(points)))
    for rows, place, block in _blocks_of_distances(X, points):
        distances[rows, place] = block
    return distances


def nearest_points(X, points):
    """Return the place of the nearest point of every row, the first of several, and its distance.

    See :func:`row_distances`.
    """
    nearest, least = np.zeros(len(X), dtype=np.int64), np.full(len(X), np.inf)
    for rows, place, block in _blocks_of_distances(X, points):
        nearest[rows][block < least[rows]] = place
        np.minimum(least[rows], block, out=least[rows])
    return nearest, least


def _blocks_of_distances(X, points):
    """Yield a slice of rows, the place of a point, and the distances of the rows to it."""
    for rows in row_blocks(*X.shape):
        columns = np.ascontiguousarray(X[rows].T)
        squares = np.empty_like(columns)
        for place, point in enumerate(points):
            with np.errstate(over="ignore"):  # farther than any float
                np.subtract(columns, point[:, None], out=squares)
                np.square(squares, out=squares)
                block = np.sqrt(folded(squares))
            yield rows, place, block
