"""Pictures and densities of masses on quadtree cells."""

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array
from scipy.special import ndtr

from ...geometry._rowwise import folded
from ...transport._tree.nodes import cell_positions
from .tuning import TUNED

_BLOCK = 2**18  # sides by rows whose kernels are evaluated at once


def raster(cells, depth):
    """Return the masses on a grid of side ``2**depth``, spread evenly inside every cell.

    ``raster[i, j]`` is the mass in the i-th row (second coordinate) and j-th column (first), both
    counted from the lower corner.
    """
    grid = np.zeros((1, 1))
    for level in range(depth + 1):
        if level:
            grid = np.repeat(np.repeat(grid / 4.0, 2, axis=0), 2, axis=1)
        here = cells.level == level if level < depth else cells.level >= depth
        codes = cells.code[here] >> 2 * np.maximum(cells.level[here] - depth, 0)
        np.add.at(grid, cell_positions(codes), cells.mass[here])
    return grid


def rake(cells, depth):
    """Return a smooth raster that keeps the mass of every cell.

    The raster is smoothed over half the side of the cells and scaled back to the mass of each of
    them, twice. Steps between neighboring cells become slopes inside them.
    """
    grid = raster(cells, depth)
    for _ in range(TUNED.rakes):
        smooth = grid.copy()
        for level in np.unique(cells.level[cells.level < depth]):
            here = cells.level == level
            width = 2 ** (depth - int(level))
            blurred = gaussian_filter(grid, 0.5 * width, mode="nearest", truncate=3.0)
            _fill_cells(smooth, blurred, cell_positions(cells.code[here]), cells.mass[here], width)
        grid = smooth
    return grid


def blur(grid, bandwidth):
    """Return a raster after a Gaussian blur that keeps all mass on the map.

    Parameters
    ----------
    grid : ndarray of shape (side, side)
    bandwidth : float
        Standard deviation in units of the side of the map; 0 leaves the raster as it is.
    """
    if bandwidth == 0:
        return grid
    kernel = _kernel(len(grid), bandwidth * len(grid))
    return kernel @ grid @ kernel.T


def log_densities(cells, domain, X, bandwidths):
    """Return log densities at rows of the blurred masses, one person's worth of uniform added.

    The kernel runs over the borders of the map.

    Returns
    -------
    densities : ndarray of shape (n_rows, n_bandwidths)
    """
    low, high = np.asarray(domain.low)[:2], np.asarray(domain.high)[:2]
    widths = high - low
    per_area = cells.mass / np.prod((cells.high - cells.low) / widths, axis=1)
    # the kernel over a cell is a product of those over its two sides, which many cells share
    positions = cell_positions(cells.code)[::-1]
    sides = [_sides(cells, axis, positions[axis]) for axis in (0, 1)]
    shape = [ends.shape[1] for ends, _ in sides]
    masses = csr_array((per_area, (sides[1][1], sides[0][1])), shape=shape[::-1])
    densities = np.empty((len(X), len(bandwidths)))
    rows = max(1, _BLOCK // max(shape))
    for start in range(0, len(X), rows):
        part = X[start : start + rows, :2].T
        for scale, bandwidth in enumerate(bandwidths):
            along = [
                _between(ends, x, bandwidth * width)
                for (ends, _), x, width in zip(sides, part, widths, strict=True)
            ]
            # sums of sparse products are taken column by column: a row has its bits to itself
            inside = masses @ along[0]
            inside *= along[1]
            densities[start : start + rows, scale] = folded(inside)
    return np.log((densities + 1.0) / (cells.mass.sum() + 1.0)) - np.log(widths).sum()


def _sides(cells, axis, positions):
    """Return the sides (low, high) of cells along an axis, once each, and that of every cell."""
    _, first, place = np.unique(
        (1 << cells.level) + positions, return_index=True, return_inverse=True
    )
    return np.stack([cells.low[first, axis], cells.high[first, axis]]), place


def _between(sides, x, sd):
    """Return the share of the kernel at every x that lies in every side, of shape (sides, x)."""
    ends, place = np.unique(sides, return_inverse=True)
    steps = ndtr((x - ends[:, None]) / sd)
    first, last = place.reshape(sides.shape)
    shares = steps[first]
    shares -= steps[last]
    return shares


def _fill_cells(smooth, blurred, positions, masses, width):
    """Copy the blurred raster into cells of one size, scaled to their masses."""
    side = len(smooth) // width
    target = smooth.reshape(side, width, side, width)
    source = blurred.reshape(side, width, side, width)
    rows, columns = positions
    blocks = source[rows, :, columns, :]
    sums = blocks.sum(axis=(1, 2))
    scale = np.divide(masses, sums, out=np.zeros_like(masses), where=sums > 0)
    even = np.where(sums > 0, 0.0, masses / width**2)
    target[rows, :, columns, :] = blocks * scale[:, None, None] + even[:, None, None]


def _kernel(side, sd):
    """Gaussian weights from every place to every place; those of one source sum to 1."""
    places = np.arange(side)
    kernel = np.exp(-((places[:, None] - places) ** 2) / (2.0 * sd**2))
    return kernel / kernel.sum(axis=0)
