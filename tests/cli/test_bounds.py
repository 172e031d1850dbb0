"""Bounds of the command line name columns, in words that a shell takes back."""

import re

import pytest

from tests.cases import every
from tests.world import read_bounds

COLUMNS = ["my lat", "lon"]


@every(
    "given, range_",
    [
        (["31", "30"], "'my lat': (31.0, 30.0)"),
        (["30,-97", "31,-98"], "'lon': (-97.0, -98.0)"),
        (["my lat=30:31", "lon=-97:-98"], "'lon': (-97.0, -98.0)"),
    ],
)
def test_ranges_without_room_name_their_column(given, range_):
    with pytest.raises(ValueError, match=re.escape(f"for every column, got {range_}.")):
        read_bounds(given, COLUMNS, named=True)


def test_two_readings_are_offered_as_a_shell_takes_them():
    words = "write --bounds 'my lat=30:35' lon=31:38; .* write --bounds 'my lat=30:31' lon=35:38"
    with pytest.raises(ValueError, match=words):
        read_bounds(["30,31", "35,38"], COLUMNS, named=True)


@every(
    "given, high",
    [(["-98", "31"], [31, 31]), (["30,-98", "31,-97"], [31, -97]), (["-98", "31,-97"], [31, -97])],
)
def test_corners_of_one_number_serve_every_column(given, high):
    assert read_bounds(given, COLUMNS, named=True).high.tolist() == high


def test_a_column_that_is_named_twice_is_refused():
    with pytest.raises(ValueError, match="The column 'lon' is named twice in --bounds"):
        read_bounds(["my lat=0:1", "lon=0:1", "lon=0:2"], COLUMNS, named=True)
