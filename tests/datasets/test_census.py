"""The gazetteer of the Census Bureau in its original format, written here line by line."""

import zipfile

import pytest

from tests.world import load_gazetteer_tracts

NAMES_2010 = [
    "USPS", "GEOID", "POP10", "HU10", "ALAND", "AWATER", "ALAND_SQMI", "AWATER_SQMI", "INTPTLAT",
    "INTPTLONG",
]  # fmt: skip
ROWS_2010 = [
    ["AL", "01001020100", "1912", "752", "9809939", "36312", "3.788", "0.014", " 32.481794",
     "-86.490249"],
    ["TX", "48453001100", "4210", "3211", "1500000", "10000", "0.58", "0.004", " 30.267153",
     "-97.743061"],
]  # fmt: skip


def write_gazetteer(path, names=NAMES_2010, rows=ROWS_2010):
    lines = ["\t".join(names) + " " * 40, *("\t".join(row) for row in rows)]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{path.stem}.txt", "\r\n".join(lines) + "\r\n")
    return path


def test_places_of_tracts(tmp_path):
    tracts = load_gazetteer_tracts(write_gazetteer(tmp_path / "a.zip"))
    assert tracts.geoid.tolist() == ["01001020100", "48453001100"]
    assert tracts.data.tolist() == [[-86.490249, 32.481794], [-97.743061, 30.267153]]
    assert tracts.population.tolist() == [1912, 4210]


@pytest.mark.parametrize(
    ("names", "rows", "match"),
    [
        (["USPS", "GEOID"], [["AL", "1"]], "no columns"),
        (NAMES_2010, [["AL", "1"]], "Line 2 of"),
        (NAMES_2010, [[*ROWS_2010[0][:9], "west"]], "must hold numbers"),
    ],
)
def test_other_tables_are_refused(tmp_path, names, rows, match):
    with pytest.raises(ValueError, match=match):
        load_gazetteer_tracts(write_gazetteer(tmp_path / "a.zip", names, rows))


def test_other_archives_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("readme.md", "nothing")
    with pytest.raises(ValueError, match="one .txt file"):
        load_gazetteer_tracts(tmp_path / "a.zip")
