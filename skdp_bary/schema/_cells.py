"""Public cells of the values of a column: a row becomes numbers of cells, and cells become values.

The cells follow from the declared kind alone. Every value is put in its cell by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from ._kinds import Boolean, Category, Date, Integer, Kind, Number, Ordinal, _Range

MOST_SINGLE = 200  # values of a line that have a cell each
MOST_CELLS = 512  # of a line with more
_FARTHEST = 1e100  # as of all bounds
_MAGNITUDES = 1e3  # highest number over the lowest, from which even cells are coarse for most
_AMOUNT = 1e5  # range from about zero on, that only amounts have


class Cells(ABC):
    """The cells of one column, those of values first and that of missing ones last.

    Parameters
    ----------
    kind : Kind
    what : str
        What the column is, for errors.
    """

    def __init__(self, kind, what):
        self.kind = kind
        self.what = what

    @property
    @abstractmethod
    def n_values(self):
        """Number of cells of values."""

    @property
    def n_ordered(self):
        """Number of cells, the first ones, that lie on a line in their order."""
        return 0

    @property
    def missing(self):
        """Cell of missing values, or None."""
        return self.n_values if self.kind.missing else None

    @property
    def n_cells(self):
        """Number of all cells."""
        return self.n_values + self.kind.missing

    @abstractmethod
    def encode(self, values):
        """Return the cell of every value."""

    @abstractmethod
    def draw(self, cells, rng):
        """Return a value for every cell, as float64: units for restoring, NaN where missing."""

    @abstractmethod
    def label(self, cell):
        """Return a cell in words."""


class ListCells(Cells):
    """A cell for every value of a list, and one for all others where they may be."""

    @property
    def n_values(self):
        """Number of values, and one for others."""
        return len(self.values) + self.has_others

    @cached_property
    def values(self):
        """The values themselves."""
        return (False, True) if isinstance(self.kind, Boolean) else self.kind.values

    @property
    def has_others(self):
        """Whether values may be none of the list."""
        return isinstance(self.kind, Category) and self.kind.outside == "other"

    @property
    def n_ordered(self):
        """All values of an ordinal."""
        return len(self.values) if isinstance(self.kind, Ordinal) else 0

    def encode(self, values):
        """Return the place of every value in the list."""
        if isinstance(self.kind, Boolean):
            flags = self.kind.read(values, self.what)
            return np.where(np.isnan(flags), 2, flags).astype(np.int64)
        codes = self.kind.codes(values, self.what)
        return np.where(codes < 0, self.n_values, codes)

    def draw(self, cells, rng):
        """Return the cells themselves."""
        return np.where(cells == self.missing, np.nan, cells)

    def label(self, cell):
        """Return the value of a cell as text."""
        if cell == self.missing:
            return "missing"
        return str(self.values[cell]) if cell < len(self.values) else "other"


class LineCells(Cells):
    """Cells of a range of numbers or dates: of one value each where there are few."""

    @cached_property
    def step(self):
        """Distance of neighboring values; None where there is none."""
        return self.kind.resolution if isinstance(self.kind, Number) else 1.0

    @cached_property
    def n_steps(self):
        """Number of different values; None where they are not counted."""
        if self.step is None:
            return None
        low, high = self.kind.range
        return int(np.floor((high - low) / self.step + 1e-9)) + 1

    @cached_property
    def edges(self):
        """Borders of the cells, in values or, where values are counted, in steps from the first."""
        log = getattr(self.kind, "log", False)
        if self.step is None:
            low, high = self.kind.range
            space = np.geomspace if log else np.linspace
            return np.concatenate([[low], space(low, high, MOST_CELLS + 1)[1:-1], [high]])
        if self.n_steps < MOST_SINGLE:
            return np.arange(self.n_steps + 1.0)
        space = np.geomspace if log else np.linspace
        return np.unique(np.rint(space(1.0, self.n_steps + 1.0, MOST_CELLS + 1))) - 1.0

    @property
    def n_values(self):
        """Number of cells between the edges."""
        return len(self.edges) - 1

    n_ordered = n_values

    def encode(self, values):
        """Return the cell that every value lies in."""
        return self.cells_of(self.kind.read(values, self.what))

    def cells_of(self, numbers):
        """Return the cells of numbers of the range; NaN is missing."""
        places = self.steps_of(numbers)
        cells = np.searchsorted(self.edges[1:-1], places, side="right")
        return np.where(np.isnan(places), self.n_values, cells)

    def steps_of(self, numbers):
        """Return where numbers lie between the edges."""
        if self.step is None:
            return numbers
        places = np.rint((numbers - self.kind.range[0]) / self.step)
        return np.clip(places, 0, self.n_steps - 1)

    def draw(self, cells, rng):
        """Return numbers spread evenly in their cells; whole steps where values are counted."""
        inside = np.minimum(cells, self.n_values - 1)
        low, high = self.edges[inside], self.edges[inside + 1]
        places = low + rng.random(len(cells)) * (high - low)
        if self.step is not None:
            places = np.minimum(np.floor(places), high - 1.0)
        return np.where(cells == self.missing, np.nan, self._numbers(places))

    def _numbers(self, places):
        if self.step is None:
            return places
        low, high = self.kind.range
        return np.clip(low + places * self.step, low, high)

    def label(self, cell):
        """Return a cell as its value, or as its lowest value and the end."""
        return "missing" if cell == self.missing else self.in_words(*self.ends(cell))

    def in_words(self, low, high):
        """Return a range of numbers of the column as text: dates as dates."""
        words = [
            self.kind.in_words(end) if isinstance(self.kind, Date) else f"{end:g}"
            for end in (low, high)
        ]
        return words[0] if low == high else " to ".join(words)

    def ends(self, cell):
        """Return the lowest and the highest number of a cell."""
        low, high = self.edges[cell], self.edges[cell + 1]
        if self.step is not None:
            high -= 1.0
        return tuple(float(end) for end in self._numbers(np.array([low, high])))


def spans_magnitudes(kind: Kind) -> bool:
    """Return whether a range of numbers is so wide that skewed values would share few even cells.

    Parameters
    ----------
    kind : Kind
    """
    if not isinstance(kind, (Number, Integer)) or kind.log:
        return False
    low, high = kind.range
    if low < 0:
        return False
    return high >= _MAGNITUDES * low > 0 or high - low >= _AMOUNT


def cells_of_kind(kind: Kind, what: str) -> ListCells | LineCells:
    """Return the cells of a column, or raise where its kind has none.

    Parameters
    ----------
    kind : Kind
    what : str
        What the column is, for errors.
    """
    if isinstance(kind, (Boolean, Category)):
        return ListCells(kind, what)
    if isinstance(kind, _Range):
        if max(map(abs, kind.range)) > _FARTHEST:
            raise ValueError(f"{what}: low and high of its schema must be within {_FARTHEST:g}.")
        return LineCells(kind, what)
    raise ValueError(
        f"{what} is declared as {kind.word}, which has no values to count: leave it out, or "
        "declare it as a category."
    )
