"""Arithmetic on rows whose bits depend on the row alone, and regular grids of cells."""

import math

import numpy as np

from ..exceptions import is_integer
from ..values import as_floats, check_finite

# Arithmetic on rows whose bits depend on the row alone.

_BLOCK_VALUES = 2**16  # half a megabyte of float64: temporaries stay in cache


def as_table(X, n_features):
    """Return `X` as a float64 array of shape (n_rows, n_features), or raise."""
    X = as_floats(X)
    if X.ndim != 2 or X.shape[1] != n_features:
        got = f"{X.shape[1]} features" if X.ndim == 2 else f"{X.ndim} dimensions"
        raise ValueError(
            f"X must have shape (n_rows, {n_features}), got {got}. Pass the columns that were "
            "fitted, in their order."
        )
    return X


def as_rows(X, n_features):
    """Return `X` as a finite float64 array of shape (n_rows, n_features), or raise."""
    return check_finite(as_table(X, n_features))


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


def saturated(X):
    """Replace numbers beyond the largest float by it, in `X` itself.

    One such number would make the next step refuse the rows.
    """
    largest = np.finfo(np.float64).max
    return np.clip(X, -largest, largest, out=X)


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

    Library functions multiply whole matrices, and round a row otherwise next to other rows.
    """
    distances = np.empty((len(X), len(points)))
    for rows in row_blocks(*X.shape):
        columns = np.ascontiguousarray(X[rows].T)
        squares = np.empty_like(columns)
        for place, point in enumerate(points):
            with np.errstate(over="ignore"):  # farther than any float
                np.subtract(columns, point[:, None], out=squares)
                np.square(squares, out=squares)
                distances[rows, place] = np.sqrt(folded(squares))
    return distances


def nearest_points(X, points):
    """Return the place of the nearest point of every row, the first of several, and its distance.

    Both are those of :func:`row_distances`. A product of matrices finds the nearest point of rows
    whose second nearest is farther by more than rounding can be; only the others are compared
    point by point.
    """
    nearest, least = np.zeros(len(X), dtype=np.int64), np.empty(len(X))
    for rows in row_blocks(len(X), max(X.shape[1], len(points))):
        unsure = _shortlist(X[rows], points, nearest[rows])
        nearest[rows][unsure] = row_distances(X[rows][unsure], points).argmin(axis=1)
        with np.errstate(over="ignore"):
            squares = np.square(X[rows].T - points[nearest[rows]].T)
            least[rows] = np.sqrt(folded(squares))
    return nearest, least


def _shortlist(X, points, nearest):
    """Write the nearest points into `nearest`, and return which rows rounding may have decided.

    A score of d products is off by less than ``(d + 4) eps`` of the squared size of its terms
    (Higham 2002, section 3.1). So is a squared distance that is added up point by point. Moving
    rows and points by the same vector adds a few ``eps``.
    """
    if len(points) == 1:
        return np.zeros(len(X), dtype=bool)
    middle = points.mean(axis=0)
    with np.errstate(all="ignore"):
        rows, atoms = X - middle, points - middle
        scores = np.einsum("ij,ij->i", atoms, atoms) - 2.0 * (rows @ atoms.T)
        nearest[:] = scores.argmin(axis=1)
        first, second = np.partition(scores, 1, axis=1)[:, :2].T
        size = np.sqrt(np.einsum("ij,ij->i", rows, rows)) + np.sqrt(np.square(atoms).sum(1).max())
        margin = 8.0 * (X.shape[1] + 8) * np.finfo(float).eps * size**2
        return ~(second - first > margin)  # also where numbers leave the floats


# Regular grids of cells over a bounding box.

MAX_CELLS = 2**24


def check_shape(shape, n_features, *, max_cells=MAX_CELLS, name="shape"):
    """Return the sizes of a grid as a tuple of `n_features` positive integers, or raise."""
    sizes = tuple(shape) if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)
    whole = all(is_integer(s) and s >= 1 for s in sizes)
    if not whole or len(sizes) != n_features:
        raise ValueError(
            f"{name} must hold {n_features} positive integers, got {shape!r}. For example "
            f"{name}={(8,) * n_features}."
        )
    if max_cells is not None and math.prod(int(s) for s in sizes) > max_cells:
        raise ValueError(f"{name} must describe at most {max_cells} cells, got {shape!r}.")
    return tuple(int(size) for size in sizes)


def check_cells(cells, shape):
    """Return `cells` as an int64 array of cell indices within `shape`, or raise."""
    cells = np.asarray(cells)
    if cells.ndim != 2 or cells.shape[1] != len(shape) or cells.dtype.kind not in "iu":
        raise ValueError(
            f"cells must be an integer array of shape (n_points, {len(shape)}), "
            f"got {cells.dtype} of shape {cells.shape}."
        )
    if cells.size and (cells.min() < 0 or (cells >= np.array(shape)).any()):
        raise ValueError(f"cells must hold indices within the grid of shape {shape}.")
    return cells.astype(np.int64, copy=False)


def cell_indices(X, low, high, shape):
    """Return the cell of each row, a non-decreasing function of every coordinate.

    Division, product and floor round monotonically, so an edge between two points crosses no cell
    outside the range of theirs, and halving power-of-two grids halves the index exactly.
    """
    sizes = np.array(shape, dtype=np.float64)
    cells = np.floor((X - low) / (high - low) * sizes)
    return np.clip(cells, 0.0, sizes - 1.0).astype(np.int64)


def cell_boxes(cells, low, high, shape):
    """Return the lower and upper corners of the given cells."""
    sizes = np.array(shape, dtype=np.float64)
    width = high - low
    lower = np.minimum(low + width * (cells / sizes), high)
    upper = np.minimum(low + width * ((cells + 1) / sizes), high)
    return lower, upper


def all_cells(shape):
    """Return the indices of every cell, in C order, one cell per row."""
    return np.indices(shape).reshape(len(shape), -1).T
