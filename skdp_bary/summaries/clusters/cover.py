"""Max cover: picks of grid points that cover many rows, over grids of growing radius."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...privacy._neighbors import ADD_REMOVE
from ...privacy.noise.mechanisms import Sensitivity
from ..asking.query import Query
from ..moments.frames import Frame
from ..rows.persons import ROW_UNITS
from .cluster_sums import ClusterQuery
from .cover_grid import DENSE_CELLS, MOST_PAIRS, MOST_PLACES, REACH, Coverage, CoverGrid, KeyTable

_FINE_STEPS = 4  # of the fine lattice within the smallest step of a grid
_BLOCK_ROWS = 1 << 20


@dataclass(frozen=True, eq=False)
class CoverQuery(Query):
    """Picks at every radius, the smallest first, each by how many uncovered rows it covers.

    A pick takes away the rows that it covers, for all later picks. The number of picks is public
    and nothing stops earlier, not even when all rows are covered. A row counts as the point of a
    fine lattice it is rounded to, so the sketch is a histogram of that lattice.

    Parameters
    ----------
    frame : Frame
        Its leading axes are covered.
    halfwidths : ndarray of shape (p,)
        The grids reach this far to both sides of the frame's center; rows beyond are moved there.
    radii : tuple of float
        Increasing.
    n_picks : int
        At every radius.
    units : int
        Largest mass of one person, who has one row.
    """

    frame: Frame
    halfwidths: np.ndarray
    radii: tuple
    n_picks: int
    units: int = 1

    def __post_init__(self):
        if self.units not in ROW_UNITS:
            raise ValueError("A cover is proved for persons with one row each, not with groups.")
        if min(self.radii) <= 0 or list(self.radii) != sorted(self.radii):
            raise ValueError(f"radii must be positive and increasing, got {self.radii!r}.")
        if math.prod(2 * half + 1 for half in self.halves) >= MOST_PLACES:
            raise ValueError(f"radii are too small to number the cells, got {self.radii!r}.")

    @cached_property
    def fine(self):
        """Width of a cell of the fine lattice in units of the frame, a power of two."""
        step = _side(self.radii[0], len(self.halfwidths)) / (_FINE_STEPS * self.frame.step)
        return 2.0 ** max(0, math.floor(math.log2(max(step, 1.0))))

    @cached_property
    def halves(self):
        """Largest coordinate of each axis in fine units."""
        width = self.fine * self.frame.step
        return tuple(max(1, round(half / width)) for half in self.halfwidths)

    @cached_property
    def grids(self):
        """One grid a radius."""
        width = self.fine * self.frame.step
        sides = (_side(radius, len(self.halfwidths)) for radius in self.radii)
        return tuple(CoverGrid(self.halves, max(1, round(side / width))) for side in sides)

    def zeros(self):
        """Return the empty histogram."""
        return (KeyTable(),)

    def count(self, state, chunk):
        """Add the rows of a chunk to the cells of the fine lattice."""
        keys = np.empty(len(chunk.X), dtype=np.int64)
        masses = np.ones(len(keys), dtype=np.int64) if chunk.masses is None else chunk.masses
        done = 0
        for rows, _ in self.frame.blocks(chunk, _BLOCK_ROWS):
            keys[done : done + len(rows)] = self._keys(rows)
            done += len(rows)
        state[0].add(keys, masses)

    def blocks(self, state):
        """Return the keys of the occupied cells and their masses."""
        return state[0].sorted()

    def sensitivity(self, relation):
        """One person changes what a grid point covers by at most its mass.

        Under ``replace_one`` some points lose a row and others gain one; both count once.
        """
        if relation != ADD_REMOVE and self.units != 1:
            raise ValueError(
                "A cover of weighted rows is proved under neighbors='add_remove' only."
            )
        return Sensitivity.single(self.units, self.units**2)

    def race(self, state, rate, noise, recorded=None, audit=None):
        """Return the picks, of shape (n_radii, n_picks), as flat points of their grids.

        Parameters
        ----------
        state : tuple
        rate : float
            Of one unit of mass.
        noise : NoiseSource
        recorded : ndarray or None
            Picks to repeat instead of drawing.
        audit : callable or None
            Called before every pick with the Coverage, for the audit tools.
        """
        columns, masses = self._decoded(state)
        picks = np.empty((len(self.radii), self.n_picks), dtype=np.int64)
        for i, grid in enumerate(self.grids):
            places = grid.places_of(columns)
            coverage = Coverage(grid, places, masses)
            for j in range(self.n_picks):
                if audit is not None:
                    audit(coverage)
                place = coverage.draw(rate, noise) if recorded is None else int(recorded[i, j])
                coverage.cover(place)
                picks[i, j] = place
            left = coverage.is_left(places)
            columns, masses = [column[left] for column in columns], masses[left]
        return picks

    def points(self, released):
        """Return the picks in lengths relative to the frame's center, of shape (n, p)."""
        picks = released.values[0]
        width = self.fine * self.frame.step
        return width * np.concatenate(
            [grid.coordinates(row) for grid, row in zip(self.grids, picks, strict=True)]
        )

    def pick_radii(self):
        """Return the radius at which each of the points was picked."""
        return np.repeat(np.array(self.radii), self.n_picks)

    def _keys(self, rows):
        key = 0
        for axis, half in enumerate(self.halves):
            place = np.rint(rows[:, axis] * (1.0 / self.fine))
            key = key * (2 * half + 1) + (np.clip(place, -half, half).astype(np.int64) + half)
        return key

    def _decoded(self, state):
        keys, masses = state[0].sorted()
        sides = tuple(2 * half + 1 for half in self.halves)
        return list(np.unravel_index(keys, sides)), masses


def cover_radii(halfwidths, n_rows, ratio, most):
    """Return the radii of a cover, a public choice: from the smallest that can be counted.

    Parameters
    ----------
    halfwidths : ndarray of shape (p,)
    n_rows : int
        Public guess of the number of rows; the smallest radius is at least the n-th part of the
        largest, and no radius is skipped because of the rows themselves.
    ratio : float
        Of two radii that follow each other.
    most : int
        Number of radii at most.
    """
    largest = float(np.max(halfwidths))
    radii = [largest]
    while len(radii) < most:
        radius = radii[-1] / ratio
        if radius < largest / n_rows or not _countable(halfwidths, radius, n_rows):
            break
        radii.append(radius)
    return tuple(radii[::-1])


def _countable(halfwidths, radius, n_rows):
    """Whether the public size of a grid is within the limits."""
    p = len(halfwidths)
    halves = [math.ceil(half / _side(radius, p)) for half in halfwidths]
    places = math.prod(2 * half + 1 for half in halves)
    if places <= DENSE_CELLS:
        return True
    fine = math.prod(4 * _FINE_STEPS * half + 1 for half in halves)
    pairs = min(n_rows, places) * _ball_size(p)
    return fine < MOST_PLACES and pairs <= MOST_PAIRS


def _ball_size(p):
    return len(CoverGrid((1,) * p, 1).offsets)


def _side(radius, p):
    return REACH * radius / math.sqrt(p)


@dataclass(frozen=True, eq=False)
class ClusterCounts(ClusterQuery):
    """Mass of every cluster."""

    def zeros(self):
        """Return zero counts."""
        return (np.zeros(len(self.centers), dtype=np.int64),)

    def count(self, state, chunk):
        """Add the rows of a chunk."""
        for rows, squares, masses in self.frame.measured_blocks(chunk, self.digits.block):
            label = self.nearest(rows, squares)[0]
            sums = np.bincount(label, weights=masses, minlength=len(self.centers))
            state[0][:] += sums.astype(np.int64)

    def blocks(self, state):
        """Return the counts."""
        return (state[0].copy(),)

    @property
    def _l1_join(self):
        return (1,)

    @property
    def _l2_join(self):
        return (1,)

    def sensitivity(self, relation):
        """A row is in one cluster, or leaves one for another."""
        touched = 1 if relation == ADD_REMOVE else 2
        return self._assemble([(touched,)], [(touched,)])

    def read(self, released):
        """Return the counts in rows, and the standard deviation of their noise."""
        return released.values[0] / self.units, released.noise_sd[0] / self.units
