"""Regular grids of cells over a bounding box."""

import math

import numpy as np

from .._plain import is_integer

MAX_CELLS = 2**24


def check_shape(shape, n_features, *, max_cells=MAX_CELLS, name="shape"):
    """Return the sizes of a grid as a tuple of `n_features` positive integers, or raise."""
    sizes = tuple(shape) if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)
    whole = all(is_integer(s) and s >= 1 for s in sizes)
    if not whole or len(sizes) != n_features:
        raise ValueError(f"{name} must hold {n_features} positive integers, got {shape!r}.")
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
    """Return the indices of every cell, in C order, one cell a row."""
    return np.indices(shape).reshape(len(shape), -1).T
