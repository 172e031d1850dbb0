"""Pictures and densities of masses on quadtree cells."""

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.special import erf

from ...geometry._rowwise import folded
from ...transport._tree.nodes import cell_positions
from .tuning import TUNED

_BLOCK = 2**21  # cells by rows whose kernels are evaluated at once


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


def log_density(cells, domain, X, bandwidth):
    """Return the log density at rows of the blurred masses, one person's worth of uniform added.

    The kernel runs over the borders of the map; a bandwidth of 0 gives the density of the cells.
    """
    low, high = np.asarray(domain.low)[:2], np.asarray(domain.high)[:2]
    widths = high - low
    density = np.empty(len(X))
    per_area = cells.mass / np.prod((cells.high - cells.low) / widths, axis=1)
    n_cells = len(cells.mass)
    # cells of a quadtree share few sides, of which each is evaluated once
    sides = [
        np.unique(np.concatenate([cells.low[:, axis], cells.high[:, axis]]), return_inverse=True)
        for axis in (0, 1)
    ]
    rows = max(1, _BLOCK // max(n_cells, 1))
    for start in range(0, len(X), rows):
        part = X[start : start + rows]
        inside = np.ones((len(part), n_cells))
        for axis, (places, side) in enumerate(sides):
            steps = _step(part[:, axis, None] - places, bandwidth * widths[axis])
            inside *= steps[:, side[:n_cells]] - steps[:, side[n_cells:]]
        density[start : start + rows] = folded((inside * per_area).T)
    return np.log((density + 1.0) / (cells.mass.sum() + 1.0)) - np.log(widths).sum()


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


def _step(distance, sd):
    if sd == 0:
        return (distance >= 0).astype(float)
    return 0.5 * erf(distance / (sd * np.sqrt(2.0)))
