"""The questions of a max cover: picks of grid points over grids of growing radius, and counts."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..base import Frame, Query, Sensitivity
from ..privacy.mechanisms import ADD_REMOVE
from ..queries.clusters import ClusterQuery
from ..rows.persons import ROW_UNITS

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

    picks = True

    def __post_init__(self):
        if self.units not in ROW_UNITS:
            raise ValueError(
                "groups must be None: a cover is proved for people with one row each. Keep one "
                "row per person, or use PrivateKMeans(...)."
            )
        if min(self.radii) <= 0 or list(self.radii) != sorted(self.radii):
            raise ValueError(
                f"radii must be positive and increasing, got {self.radii!r}. Try (0.1, 0.2)."
            )
        if math.prod(2 * half + 1 for half in self.halves) >= MOST_PLACES:
            raise ValueError(
                f"radii must be larger: the cells are too many to number, got {self.radii!r}."
            )

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
            key = 0
            for axis, half in enumerate(self.halves):
                place = np.rint(rows[:, axis] * (1.0 / self.fine))
                key = key * (2 * half + 1) + (np.clip(place, -half, half).astype(np.int64) + half)
            keys[done : done + len(rows)] = key
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
                "sample_weight must be None unless neighbors='add_remove': a cover of weights is "
                "proved for that relation only."
            )
        return Sensitivity.single(self.units, self.units**2)

    def picked(self, state, mechanism, noise, recorded=None, audit=None):
        """Return the picks that a race draws; `audit` is told what each of them chose from."""
        heard = None if audit is None else lambda coverage: audit(coverage.offer())
        return self.race(state, mechanism.unit_rate(self.units), noise, recorded, heard)

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
        keys, masses = state[0].sorted()
        columns = list(np.unravel_index(keys, [2 * half + 1 for half in self.halves]))
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


def cover_radii(halfwidths, n_rows, ratio, most):
    """Return the radii of a cover, a public choice: from the smallest that can be counted.

    Parameters
    ----------
    halfwidths : ndarray of shape (p,)
    n_rows : int
        Public estimate of the number of rows; the smallest radius is at least the n-th part of the
        largest, and no radius is skipped because of the rows themselves.
    ratio : float
        Of two radii that follow each other.
    most : int
        Number of radii at most.
    """
    largest, p = float(np.max(halfwidths)), len(halfwidths)
    radii = [largest]
    while len(radii) < most and radii[-1] / ratio >= largest / n_rows:
        radius = radii[-1] / ratio
        # the grid must stay within the limits, by its public size alone
        halves = [math.ceil(half / _side(radius, p)) for half in halfwidths]
        places = math.prod(2 * half + 1 for half in halves)
        if places > DENSE_CELLS:
            fine = math.prod(4 * _FINE_STEPS * half + 1 for half in halves)
            pairs = min(n_rows, places) * len(CoverGrid((1,) * p, 1).offsets)
            if fine >= MOST_PLACES or pairs > MOST_PAIRS:
                break
        radii.append(radius)
    return tuple(radii[::-1])


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

    _joins = (1,), (1,)

    def sensitivity(self, relation):
        """A row is in one cluster, or leaves one for another."""
        touched = 1 if relation == ADD_REMOVE else 2
        return Sensitivity.single(touched * self.units, touched * self.units**2)

    def read(self, released):
        """Return the counts in rows, and the standard deviation of their noise."""
        return released.values[0] / self.units, released.noise_sd[0] / self.units


# How many rows the balls around grid points cover, in exact integers, and how picks are made.

REACH = 0.9  # side of a grid's cells relative to the radius, times the root of the dimension
DENSE_CELLS = 8_000_000  # above this a grid is held as the points that cover something
MOST_PAIRS = 50_000_000  # of cells and offsets: a larger grid is left out, by public numbers alone
MOST_PLACES = 1 << 62
_PAIRS_AT_ONCE = 1 << 22


class KeyTable:
    """Masses by integer key: a histogram of which only the occupied cells are held.

    The tables of two parts of the rows add up to that of all of them.
    """

    def __init__(self):
        self._parts = []

    @property
    def size(self):
        """Number of keys that are held."""
        return sum(len(keys) for keys, _ in self._parts)

    def arrays(self):
        """State for another machine: keys and masses."""
        return _added_up(self._parts) if self._parts else self.sorted()

    def add(self, keys, masses):
        """Add masses to keys; both are arrays of int64."""
        self._parts.append((keys, masses))
        sizes = [len(part) for part, _ in self._parts]
        if sum(sizes[1:]) >= sizes[0]:  # so that a key is sorted a logarithmic number of times
            self._parts = [_added_up(self._parts)]

    add_arrays = add  # what another table sent

    def __iadd__(self, other):
        for keys, masses in other._parts:
            self.add(keys, masses)
        return self

    def sorted(self):
        """Return the keys of positive mass in order, and their masses."""
        if not self._parts:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        keys, masses = _added_up(self._parts)
        return keys[masses > 0], masses[masses > 0]


def _added_up(parts):
    keys = np.concatenate([keys for keys, _ in parts])
    masses = np.concatenate([masses for _, masses in parts])
    return add_up(keys, masses)


def add_up(keys, masses):
    """Return the different keys in order and the sum of the masses of each."""
    if (masses == 1).all():
        return np.unique(keys, return_counts=True)
    order = np.argsort(keys)  # sums do not depend on the order of equal keys
    keys, masses = keys[order], masses[order]
    first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]][: len(keys)])
    return keys[first], np.add.reduceat(masses, first) if len(first) else masses


@dataclass(frozen=True)
class CoverGrid:
    """The points that are multiples of one step, and which cells each of them covers.

    A fine cell at integer coordinate z belongs to the grid point nearest to it; a grid point covers
    the cells of all points within the reach.

    Parameters
    ----------
    halves : tuple of int
        Largest fine coordinate of each axis; the smallest is minus that.
    step : int
        Distance of two grid points in fine units.
    """

    halves: tuple
    step: int

    @cached_property
    def sides(self):
        """Number of grid points along each axis."""
        return tuple(2 * self._nearest(half) + 1 for half in self.halves)

    @property
    def n_places(self):
        """Number of grid points: all of them can be picked, whatever they cover."""
        return math.prod(self.sides)

    @cached_property
    def reach(self):
        """Largest squared length of an offset: a radius of ``sqrt(p) step / 0.9``."""
        return math.floor(len(self.halves) / REACH**2)

    @cached_property
    def offsets(self):
        """Offsets from a grid point to all it covers, of shape (n_offsets, p)."""
        side = np.arange(-math.isqrt(self.reach), math.isqrt(self.reach) + 1)
        mesh = np.meshgrid(*[side] * len(self.halves), indexing="ij")
        offsets = np.stack([axis.ravel() for axis in mesh], axis=1)
        return offsets[(offsets**2).sum(axis=1) <= self.reach]

    def places_of(self, columns):
        """Return the flat grid point of fine cells, given as one column of coordinates an axis.

        Coordinates count from the smallest one.
        """
        total = 0
        for column, half, stride in zip(columns, self.halves, self._strides, strict=True):
            fine = np.arange(-half, half + 1)
            table = (self._nearest(fine) + self._nearest(half)) * stride
            total = total + table[column]
        return total

    def around(self, places):
        """Return the grid points that cover given ones, with the position of the given one."""
        flat = places[:, None] + self.offsets @ np.array(self._strides)
        inside = np.ones(flat.shape, dtype=bool)
        reach = math.isqrt(self.reach)
        for axis, column in enumerate(np.unravel_index(places, self.sides)):
            side = self.sides[axis]
            near = np.flatnonzero((column < reach) | (column >= side - reach))
            moved = column[near, None] + self.offsets[:, axis]
            inside[near] &= (moved >= 0) & (moved < side)
        return flat[inside], np.repeat(np.arange(len(places)), inside.sum(axis=1))

    def coordinates(self, places):
        """Return grid points in fine units, of shape (n_places, p)."""
        middle = np.array([side // 2 for side in self.sides])
        return (np.stack(np.unravel_index(places, self.sides), axis=-1) - middle) * self.step

    @cached_property
    def _strides(self):
        return tuple(math.prod(self.sides[i + 1 :]) for i in range(len(self.sides)))

    def _nearest(self, fine):
        return (2 * fine + self.step) // (2 * self.step)


@dataclass(frozen=True, eq=False)
class Offer:
    """What a pick chose from, as the audit sees it: exact, so private to no one.

    Attributes
    ----------
    places, masses : ndarray of int64
        Grid points that covered something, in order, and what they covered.
    n_places : int
        All grid points that could be picked.
    """

    places: np.ndarray
    masses: np.ndarray
    n_places: int


class Coverage:
    """How much mass every grid point covers that no pick has covered yet.

    Whether all grid points are held or those that cover something depends on public numbers; the
    law of a pick is the same.

    Parameters
    ----------
    grid : CoverGrid
    places : ndarray of int64
        Grid point of every fine cell.
    masses : ndarray of int64
    """

    def __init__(self, grid, places, masses):
        self.grid = grid
        self._dense = grid.n_places <= DENSE_CELLS
        if self._dense:
            self._held = None
            self._own = np.bincount(places, masses, grid.n_places).astype(np.int64)
            self._covered = ball_sums(self._own.reshape(grid.sides), grid.reach).ravel()
        else:
            self._cells, self._own = add_up(places, masses)
            # the grid points that cover some of the cells, in order, and the mass of each
            table = KeyTable()
            size = max(1, _PAIRS_AT_ONCE // len(grid.offsets))
            for start in range(0, len(self._cells), size):
                part = slice(start, start + size)
                flat, origin = grid.around(self._cells[part])
                table.add(*add_up(flat, self._own[part][origin]))
            self._held, self._covered = table.sorted()
        self._tally = {}
        self._count(self._covered, 1)

    def offers(self):
        """Return the masses that grid points cover, zero first, and how many points cover each."""
        values = np.array([0, *sorted(self._tally)], dtype=np.int64)
        copies = np.array([0, *(self._tally[v] for v in values[1:].tolist())], dtype=np.int64)
        copies[0] = self.grid.n_places - copies.sum()
        return values[copies > 0], copies[copies > 0]

    def draw(self, rate, noise):
        """Pick a grid point with probability proportional to ``exp(rate * mass)``."""
        values, copies = self.offers()
        index = noise.choose(values, rate, copies)
        value, rank = int(values[index]), noise.uniform_integer(int(copies[index]))
        if value:
            return int(self._places(np.flatnonzero(self._covered == value)[rank]))
        taken = self._places(self._covering())
        free_before = taken - np.arange(len(taken))
        return rank + int(np.searchsorted(free_before, rank, side="right"))

    def offer(self):
        """Candidates of the next pick."""
        held = self._covering()
        return Offer(self._places(held), self._covered[held], int(self.offers()[1].sum()))

    def cover(self, place):
        """Take away what a grid point covers."""
        ball = np.sort(self.grid.around(np.array([place]))[0])  # offsets come in pairs of signs
        at = ball if self._dense else _positions(self._cells, ball)
        at = at[self._own[at] > 0]
        masses = self._own[at].copy()
        self._own[at] = 0
        touched, origin = self.grid.around(at if self._dense else self._cells[at])
        touched = touched if self._dense else _positions(self._held, touched)
        different = np.unique(touched)
        self._count(self._covered[different], -1)
        np.subtract.at(self._covered, touched, masses[origin])
        self._count(self._covered[different], 1)

    def is_left(self, places):
        """Fine cells, given by their grid points, that no pick has covered."""
        at = places if self._dense else np.searchsorted(self._cells, places)
        return self._own[at] > 0

    def _places(self, held):
        return held if self._dense else self._held[held]

    def _covering(self):
        return np.flatnonzero(self._covered > 0)

    def _count(self, masses, sign):
        masses = masses[masses > 0]
        if len(masses) and masses.max() > 4 * len(masses):  # a table by value would be mostly empty
            values, numbers = np.unique(masses, return_counts=True)
        else:
            table = np.bincount(masses)
            values = np.flatnonzero(table)
            numbers = table[values]
        for value, number in zip(values.tolist(), numbers.tolist(), strict=True):
            left = self._tally.get(value, 0) + sign * number
            if left:
                self._tally[value] = left
            else:
                del self._tally[value]


def ball_sums(histogram, reach):
    """Return the sum of a histogram over the offsets of squared length at most `reach`.

    A ball is a stack of runs along the last axis; runs of one length are sums of one table.
    """
    p = histogram.ndim
    longest = math.isqrt(reach)
    # shape (..., side + 1): a run's sum is the difference of two entries
    running = np.zeros((*histogram.shape[:-1], histogram.shape[-1] + 1), dtype=np.int64)
    np.cumsum(histogram, axis=-1, out=running[..., 1:])
    place = np.arange(histogram.shape[-1])
    runs = {}
    total = np.zeros(histogram.shape, dtype=np.int64)
    for offset in np.ndindex(*[2 * longest + 1] * (p - 1)):
        offset = np.array(offset, dtype=np.int64) - longest
        left = reach - int((offset**2).sum())
        if left < 0:
            continue
        half = math.isqrt(left)
        if half not in runs:
            end = np.minimum(place + half + 1, len(place))
            runs[half] = running[..., end] - running[..., np.maximum(place - half, 0)]
        moves = list(zip(offset.tolist(), total.shape, strict=False))  # along the leading axes
        if all(abs(shift) < side for shift, side in moves):
            target = tuple(slice(max(shift, 0), side + min(shift, 0)) for shift, side in moves)
            source = tuple(slice(max(-shift, 0), side - max(shift, 0)) for shift, side in moves)
            total[target] += runs[half][source]
    return total


def _positions(held, keys):
    """Positions of those of the keys that are held among the held ones."""
    at = np.searchsorted(held, keys)
    found = at < len(held)
    found[found] = held[at[found]] == keys[found]
    return at[found]
