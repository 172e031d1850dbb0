"""Rows that rules of the command line keep: each by its own values, in CSV and Parquet."""

import re
from pathlib import Path

import numpy as np
import pytest

from skdp_bary import PrivateMeasure, PrivateTable
from skdp_bary.cli import main
from skdp_bary.cli.tables import Table

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

FRAME = pandas.DataFrame(
    {
        "x": np.linspace(0.0, 1.0, 40),
        "date": np.repeat(["2026-02-27", "2026-03-01", "2026-03-31", "2026-04-01"], 10),
        "age": [17, 18, 19, 70] * 10,
        "ward": ["a, b", "c"] * 20,
        "ill": [True, True, False, True] * 10,
    }
)
RULES = {
    "date startswith 2026-03": FRAME["date"].str.startswith("2026-03"),
    "date == 2026-03-01": FRAME["date"] == "2026-03-01",
    "date != 2026-03-01": FRAME["date"] != "2026-03-01",
    "age>=18": FRAME["age"] >= 18,
    "age > 18": FRAME["age"] > 18,
    "age < 18.5": FRAME["age"] < 18.5,
    "age <= 18": FRAME["age"] <= 18,
    "age == 18.0": FRAME["age"] == 18,
    "ward == a, b": FRAME["ward"] == "a, b",
    "ill == TRUE": FRAME["ill"],
    "ill != true": ~FRAME["ill"],
    "ward > 3": FRAME["age"] < 0,  # what is no number meets no comparison
}


@pytest.fixture(params=["csv", "parquet"])
def table(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(FRAME, f"rows.{request.param}")
    return f"rows.{request.param}"


def write(frame, path):
    if path.endswith("csv"):
        frame.to_csv(path, index=False, lineterminator="\r\n")
    else:
        frame.to_parquet(path, row_group_size=7)


def fitted_rows(monkeypatch, *arguments, command="measure"):
    """Return the rows that a command hands to its estimator, None where it refuses them."""
    seen = []

    def fit(self, X, y=None, **others):
        pieces = X() if callable(X) else [X]
        for piece in pieces:
            seen.append(np.asarray(piece if not hasattr(piece, "to_pandas") else piece.to_pandas()))
        raise ValueError("seen")

    owner = PrivateTable if command == "table" else PrivateMeasure
    monkeypatch.setattr(owner, "fit", fit)
    assert main([command, *arguments, "--out", "out.csv"]) == 2
    return np.concatenate(seen) if seen else None


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_keeps_the_rows_that_meet_it(monkeypatch, table, rule):
    asked = [table, "--columns", "x", "--bounds", "0", "1", "--where", rule]
    assert fitted_rows(monkeypatch, *asked)[:, 0].tolist() == FRAME["x"][RULES[rule]].tolist()


def test_a_row_that_goes_takes_no_other_with_it(table):
    """What is kept of a file without one row is what was kept before, without that row."""
    rules, columns = ["date startswith 2026-03", "age >= 18", "ward != c"], ["x"]
    holes = FRAME.assign(age=FRAME["age"].where(FRAME.index % 7 != 0))

    def kept(frame):
        write(frame, table)
        chunks = Table(table, columns, rules=rules, drop_missing=True).chunks()
        return np.concatenate(list(chunks))[:, 0].tolist()

    before = kept(holes)
    assert 0 < len(before) < 20
    for row, x in holes["x"].items():
        assert kept(holes.drop(row)) == [other for other in before if other != x]


def test_tables_keep_rows_and_columns(monkeypatch, table):
    with open("schema.yaml", "w") as file:
        file.write("columns:\n  x: {kind: number, low: 0, high: 1}\n")
        file.write("  age: {kind: integer, low: 0, high: 99}\n")
        file.write("  ward: {kind: category, values: ['a, b', c]}\n")
    asked = [table, "--schema", "schema.yaml", "--where", "age >= 19"]
    asked += ["--keep-columns", "x", "ward"]
    found = fitted_rows(monkeypatch, *asked, command="table")
    assert found.shape == (20, 2) and set(found[:, 1]) == {"c", "a, b"} & set(found[:, 1])
    assert found[:, 0].astype(float).tolist() == FRAME["x"][FRAME["age"] >= 19].tolist()
    for wrong in (["--keep-columns", "height"], ["--keep-columns", "x", "--label", "ward"]):
        assert main(["table", table, "--schema", "schema.yaml", *wrong, "--out", "o.csv"]) == 2


def test_a_public_number_of_rows_and_rules_are_refused_together(table, capsys):
    """Who is replaced by somebody that a rule leaves out would change a number that is public."""
    asked = [table, "--columns", "x", "--bounds", "0", "1", "--neighbors", "replace_one"]
    for rule in (["--where", "age > 18"], ["--drop-missing"]):
        assert main(["measure", *asked, *rule, "--out", "out.csv"]) == 2
        assert "need the relation add_remove" in capsys.readouterr().err


def test_what_is_said_of_rules_is_the_same_whatever_is_left(table, capsys):
    """Whether rows are left is private, so one line says that nothing will tell it."""
    told = set()
    for rows in ("age >= 18", "age > 99"):
        asked = ["measure", table, "--columns", "x", "--bounds", "0", "1", "--where", rows]
        assert main([*asked, "--drop-missing", "--out", "m.csv", "--overwrite"]) == 0
        told.add(capsys.readouterr().out.replace(rows, "RULE"))
    (lines,) = told
    assert (
        "only rows with RULE and no missing value are read; whether any are left is private"
        in lines
    )


MESSY = ["0.1,0.2", "unknown,0.3", ",0.4", "0.5,0.6", "0.7,n/a"]


@pytest.mark.parametrize("command", ["heatmap", "distance", "compare"])
@pytest.mark.parametrize("cells", [MESSY[:1] + MESSY[2:4], MESSY[:2] + MESSY[3:4]])
def test_what_to_type_about_cells_is_enough(tmp_path, monkeypatch, capsys, command, cells):
    monkeypatch.chdir(tmp_path)
    Path("clean.csv").write_text("x,y\n0.1,0.9\n0.3,0.2\n")
    Path("messy.csv").write_text("\n".join(["x,y", *cells, ""]))
    asked = {
        "heatmap": ["heatmap", "messy.csv", "--out", "m.geojson"],
        "distance": ["distance", "messy.csv", "--reference", "clean.csv"],
        "compare": ["compare", "clean.csv", "messy.csv"],
    }[command] + ["--columns", "x", "y", "--bounds", "0", "1"]
    assert main(asked) == 2
    rule = re.search("--where '([^']+)'", capsys.readouterr().err).group(1)
    assert main([*asked, "--where", rule.replace("LOW", "0")]) == 0


@pytest.mark.parametrize("cells", [MESSY[:1] + MESSY[2:4], MESSY[:2] + MESSY[3:]])
def test_what_to_do_about_public_cells_is_enough(tmp_path, monkeypatch, capsys, cells):
    """A rule for the private table was given, which changed nothing about the public one."""
    monkeypatch.chdir(tmp_path)
    Path("clean.csv").write_text("x,y\n0.1,0.9\n0.3,0.2\n")
    Path("public.csv").write_text("\n".join(["x,y", *cells, ""]))
    asked = ["distance", "clean.csv", "--reference", "public.csv"]
    asked += ["--columns", "x", "y", "--bounds", "0", "1"]
    assert main(asked) == 2
    told = capsys.readouterr().err
    assert "out of that file, which is public" in told and "'x >= LOW'" not in told
    assert main([*asked, "--drop-missing"]) == (2 if "unknown,0.3" in cells else 0)
    Path("public.csv").write_text("x,y\n0.1,0.2\n")
    assert main(asked) == 0
