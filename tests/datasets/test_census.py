"""Files of the Census Bureau in their original formats, written here line by line."""

import json
import zipfile

import numpy as np
import pytest

from tests.world import load_acs_tracts, load_gazetteer_tracts

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
VARIABLES = ["B03002_001E", "B03002_003E", "B03002_004E", "B03002_006E", "B03002_012E"]


def write_gazetteer(path, names=NAMES_2010, rows=ROWS_2010, separator="\t"):
    lines = [separator.join(names) + " " * 40, *(separator.join(row) for row in rows)]
    text = "\r\n".join(lines) + "\r\n"
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{path.stem}.txt", text)
    else:
        path.write_bytes(text.encode())
    return path


def write_survey(path, rows, names=None):
    names = [*VARIABLES, "state", "county", "tract"] if names is None else names
    path.write_text(json.dumps([names, *rows]))
    return path


@pytest.mark.parametrize("name", ["Gaz_tracts_national.txt", "Gaz_tracts_national.zip"])
@pytest.mark.parametrize("separator", ["\t", "|"])
def test_places_of_tracts(tmp_path, name, separator):
    tracts = load_gazetteer_tracts(write_gazetteer(tmp_path / name, separator=separator))
    assert tracts.geoid.tolist() == ["01001020100", "48453001100"]
    assert tracts.data.tolist() == [[-86.490249, 32.481794], [-97.743061, 30.267153]]
    assert tracts.population.tolist() == [1912, 4210]


def test_later_files_have_no_people_and_may_lose_zeros(tmp_path):
    names = ["USPS", "GEOID", "INTPTLAT", "INTPTLONG"]
    rows = [["AL", "1001020100", "32.5", "-86.5"]]
    tracts = load_gazetteer_tracts(write_gazetteer(tmp_path / "a.txt", names, rows))
    assert tracts.population is None and tracts.geoid.tolist() == ["01001020100"]


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
        load_gazetteer_tracts(write_gazetteer(tmp_path / "a.txt", names, rows))


def test_empty_files_and_other_archives_are_refused(tmp_path):
    (tmp_path / "a.txt").touch()
    with pytest.raises(ValueError, match="is empty"):
        load_gazetteer_tracts(tmp_path / "a.txt")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("readme.md", "nothing")
    with pytest.raises(ValueError, match="one .txt file"):
        load_gazetteer_tracts(tmp_path / "a.zip")


def test_people_of_tracts(tmp_path):
    path = write_survey(
        tmp_path / "acs.json",
        [["1948", "1700", "150", "0", "17", "01", "001", "020100"],
         ["10", "4", "3", "2", "1", "01", "001", "020200"]],
    )  # fmt: skip
    tracts = load_acs_tracts(path)
    assert tracts.geoid.tolist() == ["01001020100", "01001020200"]
    assert tracts.population.tolist() == [1948, 10]
    assert tracts.by_group.tolist() == [[1700, 150, 0, 17], [4, 3, 2, 1]]
    assert tracts.group_names == ["white", "black", "asian", "hispanic"]
    assert tracts.by_group.dtype == np.int64


@pytest.mark.parametrize(
    "content",
    ["error: unknown variable", "[]", '[["B03002_001E"], ["1"]]', "3", '{"a": 1}'],
)
def test_other_answers_are_refused(tmp_path, content):
    (tmp_path / "acs.json").write_text(content)
    with pytest.raises(ValueError, match="must hold a list of lists"):
        load_acs_tracts(tmp_path / "acs.json")
