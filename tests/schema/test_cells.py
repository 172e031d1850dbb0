"""Public cells of values, and values drawn in them."""

import numpy as np
import pytest

from skdp_bary.schema import Boolean, Category, Date, Integer, Number, Ordinal, Schema, Text
from skdp_bary.schema._cells import MOST_CELLS, cells_of_kind
from skdp_bary.schema._frames import frame_of
from skdp_bary.schema._table_cells import TableCells

KINDS = [
    Boolean(missing=True),
    Category(["a", "b"], missing=True),
    Ordinal([1, 2, 3], outside="refuse"),
    Integer(-3, 12, missing=True),
    Integer(0, 10**6),
    Integer(0, 10**6, log=True),
    Number(-1.0, 1.0),
    Number(1.0, 1e6, log=True, missing=True),
    Number(0.0, 10.0, 0.25),
    Number(0.0, 1.0, 1e-4),
    Date("2020-01-01", "2020-03-01"),
    Date("2010-01-01", "2024-12-31", missing=True),
    Date("2024-01-01", "2024-01-02", "minute"),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_drawn_in_a_cell_lies_in_it(kind):
    cells = cells_of_kind(kind, "x")
    assert cells.n_cells <= MOST_CELLS + 1
    asked = np.repeat(np.arange(cells.n_cells), 3)
    units = cells.draw(asked, np.random.default_rng(0))
    frame = frame_of([units], [cells], ["x"], "pandas")
    known = asked < len(cells.values) if hasattr(cells, "values") else np.ones(len(asked), bool)
    known |= asked == cells.missing
    found = TableCells(Schema({"x": kind}))(frame)[:, 0]
    assert np.array_equal(found[known], asked[known])


def test_every_value_has_a_cell_of_its_own_where_there_are_few():
    cells = cells_of_kind(Integer(5, 60), "x")
    assert cells.n_cells == 56
    values = np.arange(5, 61)
    assert np.array_equal(cells.draw(cells.encode(values), np.random.default_rng(0)), values)


def test_cells_of_a_log_grid_grow():
    widths = np.diff(cells_of_kind(Integer(0, 10**6, log=True), "x").edges)
    assert widths[0] == 1 and widths[-1] > 1e4 and (np.diff(widths[widths > 100]) > -2).all()


def test_a_cell_is_a_function_of_its_value_alone():
    cells = cells_of_kind(Number(0.1, 1e5, log=True), "x")
    values = np.random.default_rng(0).lognormal(3, 3, 1001)
    whole = cells.encode(values)
    assert [int(cells.encode(values[i : i + 1])[0]) for i in range(len(values))] == whole.tolist()


def test_ranges_beyond_all_bounds_are_refused():
    with pytest.raises(ValueError, match="low and high of its schema"):
        cells_of_kind(Number(-1e308, 1e308), "Column 'far'")


def test_text_has_no_cells():
    with pytest.raises(ValueError, match="declared as text"):
        cells_of_kind(Text(), "Column 'note'")
