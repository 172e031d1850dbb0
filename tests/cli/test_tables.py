"""Tables: what one line may do to others (nothing), which columns make a row, and their bounds."""

import gzip
import os

import pytest

from skdp_bary.cli import main
from tests.cases import every
from tests.world import Table, read_bounds

pytest.importorskip("pyarrow")

GOOD = "user,town,lon,lat\nann,east,0.5,0.25\nbob,west,0.75,0.5\ncy,east,1.5,2.5\n"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function that writes a table and returns its path."""
    monkeypatch.chdir(tmp_path)

    def write(text, name="rows.csv"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    return write


def whole(path, **given):
    X, y, ids = Table(path, **({"columns": ["lon", "lat"], "groups": "user"} | given)).whole()
    return X.tolist(), y, ids.tolist()


def test_a_stray_quote_swallows_no_line(written):
    text = GOOD.replace("ann,east", 'ann,"east').replace("cy,east", 'cy,east"')
    with pytest.raises(ValueError, match="a quote that is not closed"):
        list(Table(written(text), ["lon", "lat"]).chunks())


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_words_for_missing_values_are_persons(written, ending):
    words = ["NA", "null", "None", "nan", "NULL", "N/A", "-", "0", "00", " "]
    text = "user,lon,lat\n" + "".join(f"{word},1,2\n" for word in [*words, "NA"])
    content = gzip.compress(text.encode()) if ending.endswith("gz") else text
    _, _, ids = whole(written(content, f"rows.{ending}"))
    assert len(set(ids)) == len(words) and ids[0] == ids[-1]


def test_ids_that_are_empty_are_refused(written):
    with pytest.raises(ValueError, match="column 'user' of rows.csv has empty cells"):
        whole(written(GOOD.replace("bob", "")))


@pytest.mark.parametrize("given", [{}, {"groups": "user"}])
def test_a_table_without_rows_is_read_like_others(written, given):
    table = Table(written("user,x\n"), ["x"], **given)
    (X,) = [table.whole()[0]] if given else table.chunks()
    assert X.shape == (0, 1)


def test_labels_are_text(written):
    _, y, _ = whole(written(GOOD.replace("east", "01").replace("west", "1")), label="town")
    assert y.tolist() == ["01", "1", "01"]
    table = Table(written(GOOD), ["lat"], label="town")
    ((X, labels),) = table.chunks()
    assert X.tolist() == [[0.25], [0.5], [2.5]] and labels.tolist() == ["east", "west", "east"]


def test_parquet_ids_with_a_gap_are_refused_and_integers_stay_exact(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    columns = {"lon": [1.0, 2.0, 3.0], "lat": [1.0, 2.0, 3.0], "user": [2**60, 2**60 + 1, 2**60]}
    parquet.write_table(pyarrow.table(columns), "rows.parquet")
    assert whole("rows.parquet")[2] == [0, 1, 0]
    for ids in ([2**60, None, 2], ["a", None, "b"]):
        parquet.write_table(pyarrow.table(columns | {"user": ids}), "rows.parquet")
        with pytest.raises(ValueError, match="'user' of rows.parquet has missing values"):
            whole("rows.parquet")


@pytest.mark.parametrize(
    ("header", "given", "text"),
    [
        ("lon,lat,lon", {"columns": ["lat"]}, "'lon' is named twice in the first line of rows.csv"),
        ("user,lon,lat", {"columns": ["lon", "lon"]}, "'lon' is named twice in --columns"),
        ("user,lon,lat", {"columns": ["user"], "groups": "user"}, "'user' is named twice in"),
        ("user,lon,lat", {"columns": ["lon"], "label": "user", "groups": "user"}, "named twice"),
        ("user,lon,lat", {"columns": ["height"]}, r"no column 'height'; it has \['user', 'lon'"),
        ("ann,0.5,7", {"columns": ["lon"]}, "no column 'lon': the first line must hold the names"),
        ("ann,0.5,7", {}, "first line of rows.csv must hold the names of the columns, and has a"),
        ("0,2,1", {}, "must hold the names of the columns"),
        ("user", {"groups": "user"}, "no column left to make a row"),
        (",lon,lat", {}, "column '' of rows.csv looks like an id, .* with --columns"),
        ("user_id,lon,lat", {}, "column 'user_id' of rows.csv looks like an id"),
        ("patientID,lon,lat", {"groups": "lon"}, "column 'patientID' of rows.csv looks like an id"),
        ("Unnamed: 0,lon,lat", {}, "column 'Unnamed: 0' of rows.csv looks like an id"),
    ],
)
def test_what_may_not_be_a_column(written, header, given, text):
    with pytest.raises(ValueError, match=text) as caught:
        Table(written(f"{header}\n1,2,3\n"), **given)
    assert "0.5" not in str(caught.value)


def test_a_table_that_can_be_read_once_only_is_refused(tmp_path):
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(ValueError, match="a regular file"):
        Table(str(tmp_path / "rows.csv"), ["lon"])


class Terminal:
    """Keeps what is printed on it."""

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_a_terminal_shows_the_steps_and_not_the_number_of_rows(written, monkeypatch):
    path, terminal = written("x\n" + "0.5\n" * 1237), Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert main(["measure", path, "--bounds", "0", "1", "--out", f"{path}.npz"]) == 0
    assert "PrivateMeasure [" in terminal.text and "post-processing" in terminal.text
    assert "1237" not in terminal.text.replace(",", "")


@pytest.mark.parametrize(
    "command", [["schema"], ["kmeans", "--bounds", "0", "1", "--out", "o.csv"]]
)
def test_a_name_that_is_too_long_is_an_error_in_words(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.csv").write_text(f"a,{'b' * 131_073}\n0.1,0.2\n")
    assert main([command[0], "long.csv", *command[1:]]) == 2
    assert "column name of more than 131,072 characters" in capsys.readouterr().err


@pytest.mark.parametrize(
    "schema",
    [
        "columns: !!python/object/apply:os.getcwd []",
        "columns: !!python/name:os.getcwd",
        "a: [b: c: d",
    ],
)
def test_a_schema_with_tags_of_programs_is_an_error_in_words(tmp_path, monkeypatch, capsys, schema):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a\n0.1\n")
    (tmp_path / "rows.yaml").write_text(schema)
    assert main(["table", "rows.csv", "--schema", "rows.yaml", "--out", "o.csv"]) == 2
    assert "The schema must be plain YAML" in capsys.readouterr().err


# Bounds name columns, in words that a shell takes back.

NAMED = ["my lat", "lon"]


@every("given", [["30,31", "35,38"], ["30", "31", "35", "38"], ["lon:0:1", "lat:0:1"], ["a=0-1"]])
def test_other_spellings_are_refused_with_one_that_a_shell_takes(given):
    with pytest.raises(ValueError, match="For example --bounds 'my lat=0:1' lon=0:1."):
        read_bounds(given, NAMED)


def test_two_numbers_serve_every_column():
    assert read_bounds(["-98", "31"], NAMED).high.tolist() == [31, 31]


def test_a_column_that_is_named_twice_is_refused():
    with pytest.raises(ValueError, match="The column 'lon' is named twice in --bounds"):
        read_bounds(["my lat=0:1", "lon=0:1", "lon=0:2"], NAMED)
