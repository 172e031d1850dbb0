"""Public cells of values, and values drawn in them."""

import numpy as np
import pytest

from skdp_bary.schema import Boolean, Category, Date, Integer, Number, Ordinal, Schema, Text
from tests.cases import every
from tests.world import MOST_CELLS, TableCells, cells_of_kind, frame_of

KINDS = [
    Boolean(missing=True), Category(["a", "b"], missing=True), Ordinal([1, 2, 3], outside="refuse"),
    Integer(-3, 12, missing=True), Integer(0, 10**6), Integer(0, 10**6, log=True),
    Number(-1.0, 1.0), Number(1.0, 1e6, log=True, missing=True), Number(0.0, 10.0, 0.25),
    Number(0.0, 1.0, 1e-4), Number(1.0, 1e6, log=True, special=(-9, 0, 999.5), missing=True),
    Number(0.0, 10.0, 0.25, special=(-0.1, 5.0)), Integer(18, 99, special=(-1, 999)),
    Integer(0, 10**6, special=(500,)), Integer(-(2**53), 2**53), Date("2020-01-01", "2020-03-01"),
    Date("2010-01-01", "2024-12-31", missing=True), Date("2024-01-01", "2024-01-02", "minute"),
]  # fmt: skip


@every("kind", KINDS)
def test_what_is_drawn_in_a_cell_lies_in_it(kind):
    cells = cells_of_kind(kind, "x")
    n_special = 2 + len(getattr(kind, "special", ()))
    assert cells.n_cells <= MOST_CELLS + 1 + 2 * n_special
    asked = np.repeat(np.arange(cells.n_cells), 3)
    units = cells.draw(asked, np.random.default_rng(0))
    frame = frame_of([units], [cells], ["x"], "pandas")
    known = asked < len(cells.values) if hasattr(cells, "values") else np.ones(len(asked), bool)
    known |= asked == cells.missing
    found = TableCells(Schema({"x": kind}))(frame)[:, 0]
    assert np.array_equal(found[known], asked[known])


def test_few_values_have_a_cell_each_and_cells_of_a_log_grid_grow():
    cells = cells_of_kind(Integer(5, 60), "x")
    assert cells.n_cells == 56
    values = np.arange(5, 61)
    assert np.array_equal(cells.draw(cells.encode(values), np.random.default_rng(0)), values)
    widths = np.diff(cells_of_kind(Integer(0, 10**6, log=True), "x").starts)
    widths = widths[:-1]  # the highest value has a cell of its own, taken from the last one
    assert widths[0] == 1 and widths[-1] > 1e4 and (np.diff(widths[widths > 100]) > -2).all()


def test_text_and_ranges_beyond_all_bounds_have_no_cells():
    with pytest.raises(ValueError, match="low and high of its schema"):
        cells_of_kind(Number(-1e308, 1e308), "Column 'far'")
    with pytest.raises(ValueError, match="declared as text"):
        cells_of_kind(Text(), "Column 'note'")


SPECIAL = [
    (Number(0, 10_000), [0, 10_000]),
    (Number(0, 10_000, 10), [0, 10_000]),
    (Number(1, 1e6, log=True, special=(0, 999.5, -9)), [-9, 0, 1, 999.5, 1e6]),
    (Number(0.1, 10, 0.1, special=(-9.99, 99.9)), [-9.99, 99.9]),
    (Integer(0, 10_000, special=(77,)), [0, 77, 10_000]),
    (Integer(18, 99, special=(999,)), [18, 99, 999]),
]


@every("kind, values", SPECIAL)
def test_special_values_and_ends_have_cells_of_their_own_and_are_drawn_exactly(kind, values):
    values = np.array(values, dtype=float)
    assert np.array_equal(kind.read(values, "x"), values)
    cells = cells_of_kind(kind, "x")
    codes = cells.encode(values)
    assert len(set(codes)) == len(values) and cells.alone[codes].all()
    drawn = cells.draw(np.repeat(codes, 50), np.random.default_rng(0))
    assert np.array_equal(drawn, np.repeat(values, 50))
    beside = np.nextafter(values, np.inf) if kind.word == "number" and not kind.resolution else []
    beside = [v for v in beside if kind.low < v < kind.high]
    assert not cells.alone[cells.encode(np.array(beside))].any()


@every("kind, values", SPECIAL)
def test_cells_keep_the_order_of_values(kind, values):
    cells = cells_of_kind(kind, "x")
    numbers = np.sort(np.r_[values, np.random.default_rng(0).uniform(kind.low, kind.high, 500)])
    assert (np.diff(cells.encode(numbers)) >= 0).all()
    ends = np.array([cells.ends(cell) for cell in range(cells.n_values)])
    assert (ends[:, 0] <= ends[:, 1]).all() and (np.diff(ends[:, 0]) >= 0).all()


def test_cells_beside_special_values_are_told_by_them():
    cells = cells_of_kind(Number(1, 100, special=(0,)), "x")
    assert [cells.label(cell) for cell in (0, 1, cells.n_values - 1)] == ["0", "1", "100"]
    assert cells.label(2).startswith("1 to 1.19")
