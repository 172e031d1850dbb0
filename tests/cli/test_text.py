"""Names that others wrote: formulas in spreadsheets, control characters on terminals."""

import csv
import io
import json

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


def test_other_cells_stay_as_they_are():
    for text in ("", "lon", "a=b", "'quoted", "経度", "é"):
        assert cell(text) == shown(text) == text


@pytest.mark.parametrize(
    "sign", ["\x1b[2J", "\r", "\x00", "\x7f", "\x9b", "\u202e", "\u2028", "\ud800"]
)
def test_terminals_get_no_control_characters(sign, capsys):
    say(f"before {sign} after\nnext")
    out = capsys.readouterr().out
    assert sign not in out and "\\" in out and out.endswith(" after\nnext\n")


def test_what_a_terminal_cannot_show_is_escaped():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    say("経度", stream)
    stream.seek(0)
    assert stream.read() == "\\u7d4c\\u5ea6\n"


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
