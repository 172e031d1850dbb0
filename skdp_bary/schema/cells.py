"""Public cells of the values of a column and of a whole table, and the way back to frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from ..exceptions import import_optional
from ..values import column_names, column_values, some_columns
from .kinds import _UNITS, Boolean, Category, Date, Integer, Kind, Number, Ordinal, _Range
from .schema import warn_of_unnamed
from .values import moment_of

# Public cells of the values of a column: a row becomes numbers of cells, and cells become values.

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
    def alone(self):
        """Whether each cell on the line is that of one value that many rows may hold."""
        return np.zeros(self.n_ordered, dtype=bool)

    apart = alone  # whether it has no share of a mass that is spread over the line

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
    def strays(self, values):
        """Whether each value is one that the kind does not declare: clipped, or made "other"."""

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

    def strays(self, values):
        """Whether each value is none of the list."""
        return self.has_others & (self.encode(values) == len(self.values))

    def draw(self, cells, rng):
        """Return the cells themselves."""
        return np.where(cells == self.missing, np.nan, cells)

    def label(self, cell):
        """Return the value of a cell as text."""
        if cell == self.missing:
            return "missing"
        return str(self.values[cell]) if cell < len(self.values) else "other"


class LineCells(Cells):
    """Cells of a range of numbers or dates: of one value each where there are few.

    Special values and both ends of the range, to which values are clipped, have cells of their own
    on the line, and are drawn exactly.
    """

    @cached_property
    def step(self):
        """Distance of neighboring values; None where there is none."""
        return self.kind.resolution if isinstance(self.kind, Number) else 1.0

    @cached_property
    def n_steps(self):
        """Number of different values on the line; None where they are not counted."""
        if self.step is None:
            return None
        low, high = self.kind.line
        # 0.3 / 0.1 is a little less than 3
        return int(np.floor((high - low) / self.step + 1e-9)) + 1

    @cached_property
    def starts(self):
        """Start of every cell, as a value or, where values are counted, in steps from the first."""
        (low, high), log = self.kind.line, getattr(self.kind, "log", False)
        space = np.geomspace if log else np.linspace
        if self.step is None:
            first, last = low, high
            even = np.concatenate([[low], space(low, high, MOST_CELLS + 1)[1:-1]])
        else:
            first, last = 0.0, self.n_steps - 1.0
            if self.n_steps < MOST_SINGLE:
                even = np.arange(float(self.n_steps))
            else:
                even = np.rint(space(1.0, self.n_steps + 1.0, MOST_CELLS + 1))
                even = np.unique(even)[:-1] - 1.0
        # special values and ends have cells of their own, and another begins after each
        inside = [p for p in self._points if first <= p < last]
        after = np.nextafter(inside, np.inf) if self.step is None else np.add(inside, 1.0)
        return np.unique(np.concatenate([even, list(self._points), after]))

    @cached_property
    def alone(self):
        """Whether each cell is that of one special value, or of an end."""
        return np.isin(self.starts, list(self._points))

    @cached_property
    def apart(self):
        """Whether each cell is alone among wider ones, or outside of the range."""
        if self.n_steps is None or self.n_steps >= MOST_SINGLE:
            return self.alone
        return (self.starts < 0.0) | (self.starts > self.n_steps - 1.0)

    @cached_property
    def _points(self):
        """Special values and the ends by where they lie, sorted."""
        ends = self.kind.line
        if self.step is None:
            return dict.fromkeys(sorted({*ends, *self.kind.special}))
        found = {0.0: ends[0], self.n_steps - 1.0: self._numbers(self.n_steps - 1.0)}
        found |= {float(self.steps_of(np.array([v]))[0]): v for v in self.kind.special}
        return dict(sorted(found.items()))

    @cached_property
    def _values(self):
        """The one value of every cell that is alone; NaN for others."""
        found = np.full(self.n_values, np.nan)
        points = self._points
        found[self.alone] = [k if v is None else v for k, v in points.items()]
        return found

    @property
    def n_values(self):
        """Number of cells on the line."""
        return len(self.starts)

    n_ordered = n_values

    def encode(self, values):
        """Return the cell that every value lies in."""
        return self.cells_of(self.kind.read(values, self.what))

    def strays(self, values):
        """Whether each value is clipped to the range."""
        return self.kind.strays(self.kind.numbers_of(values, self.what))

    def cells_of(self, numbers):
        """Return the cells of numbers of the range; NaN is missing."""
        places = self.steps_of(numbers)
        cells = np.searchsorted(self.starts[1:], places, side="right")
        return np.where(np.isnan(places), self.n_values, cells)

    def steps_of(self, numbers):
        """Position of numbers on the line."""
        if self.step is None:
            return numbers
        (low, high), exact = self.kind.line, (numbers - self.kind.line[0]) / self.step
        places = np.clip(np.rint(exact), 0, self.n_steps - 1)
        return np.where((numbers < low) | (numbers > high), exact, places)  # special ones

    def meeting(self, low, high):
        """Return 1.0 for every cell that holds numbers from `low` to `high`, and 0.0 for others."""
        low, high = self.steps_of(np.array([low, high]))
        first, last = np.searchsorted(self.starts, [low, high], side="right")
        found = np.zeros(self.n_cells)
        found[max(first - 1, 0) : last] = 1.0
        values = self.starts[self.alone]
        found[: self.n_values][self.alone] = (low <= values) & (values <= high)
        return found

    def draw(self, cells, rng):
        """Return special values, and numbers spread evenly in the other cells; whole steps where
        values are counted."""
        inside = np.minimum(cells, self.n_values - 1)
        low, high = self.starts[inside], np.append(self.starts[1:], self.starts[-1] + 1.0)[inside]
        # uniform in the cell, and whole steps where values are counted
        places = low + rng.random(len(cells)) * (high - low)
        if self.step is not None:
            places = np.minimum(np.floor(places), high - 1.0)
        numbers = np.where(self.alone[inside], self._values[inside], self._numbers(places))
        return np.where(cells == self.missing, np.nan, numbers)

    def _numbers(self, places):
        if self.step is None:
            return places
        low, high = self.kind.line
        return np.clip(low + places * self.step, low, high)

    def label(self, cell):
        """Return a cell as its value, or as its lowest value and the end."""
        return "missing" if cell == self.missing else self.in_words(*self.ends(cell))

    def in_words(self, low, high):
        """Return a range of numbers of the column as text: dates as dates."""
        digits = ".10g" if low == high else "g"
        said = self.kind.in_words if isinstance(self.kind, Date) else f"{{:{digits}}}".format
        return said(low) if low == high else f"{said(low)} to {said(high)}"

    def ends(self, cell):
        """Return the lowest and the highest number of a cell."""
        if self.alone[cell]:
            return float(self._values[cell]), float(self._values[cell])
        low, high = self.starts[cell], self.starts[cell + 1]  # the last cell is alone
        if self.step is None:
            low = self._values[cell - 1] if self.alone[cell - 1] else low
        else:
            high -= 1.0
        return tuple(float(end) for end in self._numbers(np.array([low, high])))


def spans_magnitudes(kind: Kind) -> bool:
    """Whether a range of numbers is so wide that skewed values would share few even cells.

    Parameters
    ----------
    kind : Kind
    """
    if not isinstance(kind, (Number, Integer)) or kind.log or kind.low < 0:
        return False
    low, high = kind.line
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
            raise ValueError(
                f"{what}: low and high of its schema must be within {_FARTHEST:g}. Declare a "
                "narrower range, for example Number(0, 1e6)."
            )
        return LineCells(kind, what)
    raise ValueError(
        f"{what} is declared as {kind.word}, which has no values to count: leave it out, or "
        "declare a list of values, for example Category(['a', 'b'])."
    )


# A whole table as numbers of cells, column by column and row by row.


class TableCells:
    """The cells of every column of a schema: what makes a table numbers.

    Parameters
    ----------
    schema : Schema
        Public. One kind for all columns is that of as many as a table has.
    unread : tuple of str, default=()
        Columns that a table may have next to those of the schema.
    """

    def __init__(self, schema, unread=()):
        self.schema = schema
        self.unread = unread
        self._told = False
        self.names = None if schema.names is None else list(schema.names)

    def __call__(self, X):
        """Return the cells of all rows of a table, as float64 of shape (n_rows, n_columns)."""
        return self._by_column(X, lambda cells, values: cells.encode(values))

    def strays(self, X):
        """Return 1.0 for all values of a table that are clipped or made "other", 0.0 for others."""
        return self._by_column(X, lambda cells, values: cells.strays(values))

    def _by_column(self, X, read):
        if issparse(X):
            raise TypeError("Sparse data was passed, but dense data is required: use X.toarray().")
        shape = getattr(X, "shape", ())
        if len(shape) == 2 and shape[0] == 0 < shape[1]:  # a part without rows
            return np.empty((0, len(self.names or range(shape[1]))))
        own = column_names(X)
        if self.unread and own is not None:
            X = some_columns(X, [name for name in own if name not in self.unread])
        self._told = self._told or warn_of_unnamed(self.schema, column_names(X))
        X = self.schema.matched(X)
        width = self.schema.width_of(X)
        columns = self.columns(width, self.names or column_names(X))
        rows = np.empty((len(X), width))
        for place, cells in enumerate(columns):
            rows[:, place] = read(cells, column_values(X, place))
        return rows

    def columns(self, n_columns, names=None):
        """Return the cells of each column.

        Parameters
        ----------
        n_columns : int
            Of the table; a schema of another width is rejected.
        names : list, default=None
            Of the columns, for errors.
        """
        schema = self.schema
        if schema.n_columns not in (None, n_columns):
            raise ValueError(
                f"schema declares {schema.n_columns} columns, but n_features={n_columns}."
            )
        names = self.names or names or range(n_columns)
        kinds = schema.kinds(n_columns)
        return [cells_of_kind(kind, f"Column {n!r}") for kind, n in zip(kinds, names, strict=True)]


# From units back to values: frames whose columns have the types that a schema declares.


def container_of(X: object, named: bool) -> str:
    """Container of a table: "pandas", "polars", "arrow" or "array".

    Parameters
    ----------
    X : object
        A table, chunks of one, or a path.
    named : bool
        Whether the columns have names: chunks and files are frames then, those of pandas where it
        is installed.
    """
    root = type(X).__module__.split(".")[0]
    if root in ("polars", "pyarrow"):
        return "arrow" if root == "pyarrow" else root
    if not named and column_names(X) is None:
        return "array"
    return "pandas" if find_spec("pandas") else "arrow"


def frame_of(units: list, columns: list, names: list, container: str) -> Any:
    """Return a frame of drawn units.

    Parameters
    ----------
    units : list of ndarray of shape (n_rows,)
        By column: what :class:`Cells` draws, NaN where missing.
    columns : list of Cells
    names : list of str or int
    container : {"pandas", "polars", "arrow", "array"}
    """
    parts = [restored(values, cells) for values, cells in zip(units, columns, strict=True)]
    if container != "array":
        library, frame, column = _FRAMES[container]
        module, made = import_optional(library, "cli", f"tables of {library}"), {}
        for name, cells, part in zip(names, columns, parts, strict=True):
            made[str(name)] = column(module, cells, *part)
        return getattr(module, frame)(made)
    if not any(isinstance(cells.kind, (Category, Date)) for cells in columns):
        found = [np.where(gone, np.nan, values) for values, gone in parts]
        return np.column_stack(found).astype(np.float64)
    rows = np.empty((len(parts[0][0]), len(parts)), dtype=object)
    for place, (cells, (values, gone)) in enumerate(zip(columns, parts, strict=True)):
        rows[:, place] = _objects(values, gone, cells)
    return rows


def with_column(frame: Any, name: str, values: ArrayLike) -> Any:
    """Return a frame with one more column, the last one."""
    if hasattr(frame, "column_names"):
        return frame.append_column(name, [import_module("pyarrow").array(values)])
    if hasattr(frame, "with_columns"):
        return frame.with_columns(import_module("polars").Series(name, values))
    return frame.assign(**{name: values})


def restored(units, cells):
    """Return the values of a column, and where they are missing.

    Numbers are float64, whole numbers int64, flags bool, dates datetime64, and values of lists the
    places in ``levels_of(cells)``.
    """
    gone, kind = np.isnan(units), cells.kind
    filled = np.where(gone, 0.0, units)
    if isinstance(cells, ListCells):
        levels = levels_of(cells)
        gone = gone | (filled >= len(levels))  # other numbers and flags are no value
        places = np.where(gone, 0, filled).astype(np.int64)
        return (places == 1 if isinstance(kind, Boolean) else places), gone
    if isinstance(kind, Date):
        moments = moment_of(kind.low) + filled.astype(np.int64) * _UNITS[kind.resolution]
        return moments.astype("datetime64[us]"), gone
    return (units if isinstance(kind, Number) else filled.astype(np.int64)), gone


def instants(units, cells):
    """Return units as numbers that can be compared between columns: dates in microseconds."""
    kind = cells.kind
    if isinstance(kind, Date):
        return moment_of(kind.low) + units * float(_UNITS[kind.resolution])
    return units


def levels_of(cells):
    """Return the values that a column of a list can have."""
    others = cells.has_others and isinstance(cells.values[0], str)
    return [*cells.values, *(["other"] if others else [])]


def _objects(values, gone, cells):
    """Return values one by one, None where missing."""
    found = values.astype(object)
    if isinstance(cells.kind, Category):
        levels = levels_of(cells)
        found = np.array([levels[place] for place in values] + [None], dtype=object)[:-1]
    found[gone] = None
    return found


def _pandas(pandas, cells, values, gone):
    kind = cells.kind
    if isinstance(kind, Category):
        codes, ordered = np.where(gone, -1, values), isinstance(kind, Ordinal)
        return pandas.Categorical.from_codes(codes, levels_of(cells), ordered=ordered)
    if isinstance(kind, Date):
        values[gone] = np.datetime64("NaT")
        dates = pandas.to_datetime(["2000-01-01"]).dtype  # of this version of pandas
        return pandas.Series(values).astype(dates)
    if kind.missing and not isinstance(kind, Number):
        masked = "boolean" if isinstance(kind, Boolean) else "Int64"
        return pandas.array(_objects(values, gone, cells), dtype=masked)
    return values


def _polars(polars, cells, values, gone):
    kind = cells.kind
    texts = isinstance(kind, Category) and isinstance(cells.values[0], str)
    dtypes = {"number": polars.Float64, "integer": polars.Int64, "boolean": polars.Boolean}
    dtype = polars.Enum(levels_of(cells)) if texts else dtypes.get(kind.word)
    if isinstance(kind, Date):
        dtype = polars.Date if kind.resolution == "day" else polars.Datetime("us")
    return polars.Series(_objects(values, gone, cells).tolist(), dtype=dtype, strict=False)


def _arrow(arrow, cells, values, gone):
    kind, found = cells.kind, _objects(values, gone, cells).tolist()
    if isinstance(kind, Category):
        found = arrow.array(found)
        return found.dictionary_encode() if isinstance(cells.values[0], str) else found
    if isinstance(kind, Date):
        dtype = arrow.date32() if kind.resolution == "day" else arrow.timestamp("us")
        return arrow.array(found, arrow.timestamp("us")).cast(dtype)
    dtype = {"number": arrow.float64(), "integer": arrow.int64(), "boolean": arrow.bool_()}
    return arrow.array(found, dtype[kind.word])


# by container: the library, what makes a frame of columns by name, and what makes a column
_FRAMES = {
    "pandas": ("pandas", "DataFrame", _pandas),
    "polars": ("polars", "DataFrame", _polars),
    "arrow": ("pyarrow", "table", _arrow),
}
