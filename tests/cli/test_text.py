"""Names that others wrote: formulas in spreadsheets, control characters on terminals."""

import csv
import io
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.cli import main
from tests.cases import every
from tests.world import cell, home, say

shown = home("cell").shown

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1"]


@every("text", FORMULAS)
def test_no_cell_begins_a_formula(text):
    assert cell(text).startswith("'") and shown(text) in cell(text)


@pytest.mark.parametrize(
    "sign", ["\x1b[2J", "\r", "\x00", "\x7f", "\x9b", "\u202e", "\u2028", "\ud800"]
)
def test_terminals_get_no_control_characters(sign, capsys):
    say(f"before {sign} after\nnext")
    out = capsys.readouterr().out
    assert sign not in out and "\\" in out and out.endswith(" after\nnext\n")


def test_names_in_a_release_are_no_formulas(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    names = ["=cmd|' /C calc'!A0", "-b", "a\x1b[31m,b"]
    rows = np.random.default_rng(0).uniform(-1, 0, size=(100, 3))
    np.savetxt("numbers.csv", rows, delimiter=",")
    with open("rows.csv", "w", newline="") as file:
        csv.writer(file).writerow(names)
        file.write((tmp_path / "numbers.csv").read_text())
    options = ["--bounds", "-1", "0", "--n-hint", "100", "--out", "m.csv"]
    assert main(["kmeans", "rows.csv", *options]) == 0
    header, *rows = csv.reader((tmp_path / "m.csv").read_text().splitlines())
    assert header == ["'=cmd|' /C calc'!A0", "'-b", "a\\x1b[31m,b", "persons"]
    assert all(float(number) <= 0 for row in rows for number in row[:3])  # numbers stay numbers
    assert "\x1b" not in capsys.readouterr().out
    assert main(["kmeans", "rows.csv", *options, "--columns", "a\x1b[31m"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_entries_of_a_budget_are_no_formulas(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    accountant = BudgetAccountant.create("budget.db", 5.0)
    accountant.part("-part\x1b[2J").spend(0.5, who="=HYPERLINK(1)", note="@\x07note")
    for options in (["show"], ["export"], ["export", "--format", "json"]):
        assert main(["budget", options[0], "budget.db", *options[1:]]) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out and "\x07" not in out
        if options == ["export"]:
            (entry,) = csv.DictReader(io.StringIO(out))
            assert entry["who"] == "'=HYPERLINK(1)" and entry["epsilon"] == "0.5"
            assert entry["part"].startswith("'-part") and entry["note"].startswith("'@")
        if options[-1] == "json":
            (entry,) = json.loads(out)
            assert entry["who"] == "=HYPERLINK(1)"


def test_an_entry_is_one_line_of_the_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    accountant = BudgetAccountant.create("budget.db", 5.0)
    before = len(accountant.summary().split("\n"))
    accountant.part("north\nleft:  epsilon 99").spend(0.5, who="a\nb", note="x\r\ny\u202e")
    assert main(["budget", "show", "budget.db"]) == 0
    for table in (accountant.summary(), capsys.readouterr().out.rstrip("\n")):
        lines = table.split("\n")
        assert len(lines) == before + 1
        assert "north\\nleft:  epsilon 99" in lines[2] and lines[2].endswith("x\\r\\ny\\u202e")
    assert "\u202e" not in accountant._repr_html_()


# What to type is in the language of a shell, and is enough.

ROWS = "age,town\n" + "".join(f"{age}.5,north\n{age}.7,söuth\n" for age in range(20, 40))
PLACED = ["--columns", "age", "--bounds", "0", "99", "--label", "town", "--classes"]


@every(
    "content, words",
    [
        (ROWS.replace(",", ";").replace(".", ",").encode(), "commas between cells, got ';'"),
        (ROWS.replace(",", "\t").encode(), "commas between cells"),
        (ROWS.replace("\n", "\r").encode(), "carriage return"),
        (ROWS.replace("30.5", "\n30.5").encode() + b"\n", "empty line"),
        (ROWS.encode("latin1"), "not encoded in UTF-8"),
        (ROWS.encode("utf-16"), "must be UTF-8"),
    ],
)
def test_the_command_that_converts_a_file_is_enough(tmp_path, monkeypatch, capsys, content, words):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    Path("my rows.csv").write_bytes(content)
    asked = [*PLACED, "north", "söuth", "--atoms", "2", "--out", "out.csv", "--overwrite"]
    assert main(["barycenter", "my rows.csv", *asked]) == 2
    told = capsys.readouterr().err
    assert words in told
    subprocess.run(told.strip().split("Convert it: ")[1], shell=True, check=True)
    assert main(["barycenter", "new.csv", *asked]) == 0
    assert main(["barycenter", "new.csv", *PLACED, "North", "--out", "n.csv"]) == 2
    assert "with their case and blanks: --classes a b." in capsys.readouterr().err


PYTHON = re.compile(r"=True|=\(|pd\.|frame\.|\w\(\[|BudgetAccountant|n_hint|classes=|groups=|unit=")
SCHEMA = """columns:
  age: {kind: number, low: 0, high: 9}
  seen: {kind: date, low: "2020-01-01", high: "2029-12-31"}
  ill: {kind: boolean}
"""


@every(
    "row, asked, words",
    [
        ("$1;2020-01-01;no", [], "Leave out other words by --where 'age != unknown'"),
        ("1;2020-01-01;maybe", [], "{kind: category, values: ['yes', 'maybe']}"),
        ("NA;2020-01-01;no", [], "Declare missing: true, or leave out such rows: --drop-missing."),
        ("1;2020-01-01;no", ["--n-hint", "30", "--dry-run"], "With 30 rows at epsilon=1"),
        ("1;2020-01-01;no", ["--ledger", "unit.db"], "Pass --groups 'patient'"),
        ("1;2020-01-01;no", ["--ledger", "no.db"], "skdp-bary budget create makes one"),
        ("1;2020-01-01;no", ["--label", "age"], "Leave --label out."),
        ("1;2020-01-01;no", ["--n-hint", "0"], "For example --n-hint 10."),
        ("1;2020-01-01;no", ["--delta", "2"], "For example --delta 0.5."),
        ("1;2020-01-01;no", ["--schema", "no.yaml"], "There is no file 'no.yaml'."),
        ("1;2020-01-01;no", ["--ledger", "plain.db", "--epsilon", "10"], "skdp-bary budget raise"),
        ("1;2020-01-01;no", ["--ledger", "copy.db"], "skdp-bary budget restore backup '"),
        ("1;2020-01-01;no", ["--ledger", "backup.db"], "skdp-bary budget restore '"),
    ],
)
def test_messages_are_in_the_words_of_a_shell(tmp_path, monkeypatch, capsys, row, asked, words):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    if not Path("unit.db").exists():
        BudgetAccountant.create("unit.db", 9.0, 1e-5, unit="patient")
        BudgetAccountant.create("plain.db", 9.0, 1e-5).backup("backup.db")
        Path("copy.db").write_bytes(Path("plain.db").read_bytes())
    Path("s.yaml").write_text(SCHEMA)
    Path("rows.csv").write_text("age,seen,ill\n" + f"{row}\n".replace(";", ",") * 9)
    status = main(["table", "rows.csv", "--schema", "s.yaml", "--out", "out.csv", *asked])
    assert status == (0 if "--dry-run" in asked else 3 if "plain.db" in asked else 2)
    told = "".join(capsys.readouterr())
    assert words in told and not PYTHON.search(told)


def test_the_command_that_converts_dates_is_enough(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCHEMA)
    Path("rows.csv").write_text("age,seen,ill\n1,31.12.2026,no\n1,12/31/2026,no\n")
    assert main(["table", "rows.csv", "--schema", "s.yaml", "--out", "out.csv"]) == 2
    told = capsys.readouterr().err
    assert "not dates such as 2026-12-31" in told
    subprocess.run(told.strip().split("12/31/2026: ")[1], shell=True, check=True)
    assert Path("new.csv").read_text() == "age,seen,ill\n" + "1,2026-12-31,no\n" * 2


def test_a_column_is_found_by_what_it_is_called_nearly(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("Age ,town\n1,2\n")
    assert main(["measure", "rows.csv", "--columns", "age", "--dry-run"]) == 2
    assert "It is called 'Age ' there." in capsys.readouterr().err
