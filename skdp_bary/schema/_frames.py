"""From units back to values: frames whose columns have the types that a schema declares.

Types follow from the schema alone. The types of a table that was read may tell about its rows: one
missing value makes floats of whole numbers.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from .._optional import import_optional
from .._values import column_names
from ._cells import ListCells
from ._kinds import _UNITS, Boolean, Category, Date, Number, Ordinal
from ._values import moment_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def container_of(X: object, named: bool) -> str:
    """Return what a table is held by: "pandas", "polars", "arrow" or "array".

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
    if container == "array":
        return _array(columns, parts)
    make = {"pandas": _pandas, "polars": _polars, "arrow": _arrow}[container]
    return make([str(name) for name in names], columns, parts)


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


def _array(columns, parts):
    if not any(isinstance(cells.kind, (Category, Date)) for cells in columns):
        found = [np.where(gone, np.nan, values) for values, gone in parts]
        return np.column_stack(found).astype(np.float64)
    rows = np.empty((len(parts[0][0]), len(parts)), dtype=object)
    for place, (cells, (values, gone)) in enumerate(zip(columns, parts, strict=True)):
        rows[:, place] = _objects(values, gone, cells)
    return rows


def _pandas(names, columns, parts):
    pandas = import_optional("pandas", "cli", "tables as pandas frames")
    dates = pandas.to_datetime(["2000-01-01"]).dtype  # of this version of pandas
    series = {}
    for name, cells, (values, gone) in zip(names, columns, parts, strict=True):
        kind = cells.kind
        if isinstance(kind, Category):
            codes, ordered = np.where(gone, -1, values), isinstance(kind, Ordinal)
            values = pandas.Categorical.from_codes(codes, levels_of(cells), ordered=ordered)
        elif isinstance(kind, Date):
            values[gone] = np.datetime64("NaT")
            values = pandas.Series(values).astype(dates)
        elif kind.missing and not isinstance(kind, Number):
            masked = "boolean" if isinstance(kind, Boolean) else "Int64"
            values = pandas.array(_objects(values, gone, cells), dtype=masked)
        series[name] = values
    return pandas.DataFrame(series)


def _polars(names, columns, parts):
    polars = import_module("polars")
    series = []
    for name, cells, (values, gone) in zip(names, columns, parts, strict=True):
        kind = cells.kind
        found = _objects(values, gone, cells).tolist()
        texts = isinstance(kind, Category) and isinstance(cells.values[0], str)
        dtype = polars.Enum(levels_of(cells)) if texts else None
        if isinstance(kind, Date):
            dtype = polars.Date if kind.resolution == "day" else polars.Datetime("us")
        elif isinstance(kind, Number):
            dtype = polars.Float64
        elif not isinstance(kind, Category):
            dtype = polars.Boolean if isinstance(kind, Boolean) else polars.Int64
        series.append(polars.Series(name, found, dtype=dtype, strict=False))
    return polars.DataFrame(series)


def _arrow(names, columns, parts):
    arrow = import_optional("pyarrow", "cli", "tables as Arrow tables")
    arrays = []
    for cells, (values, gone) in zip(columns, parts, strict=True):
        kind, found = cells.kind, _objects(values, gone, cells).tolist()
        if isinstance(kind, Category):
            found = arrow.array(found)
            found = found.dictionary_encode() if isinstance(cells.values[0], str) else found
        elif isinstance(kind, Date):
            dtype = arrow.date32() if kind.resolution == "day" else arrow.timestamp("us")
            found = arrow.array(found, arrow.timestamp("us")).cast(dtype)
        elif isinstance(kind, Number):
            found = arrow.array(found, arrow.float64())
        else:
            found = arrow.array(found, arrow.bool_() if kind.word == "boolean" else arrow.int64())
        arrays.append(found)
    return arrow.table(dict(zip(names, arrays, strict=True)))
