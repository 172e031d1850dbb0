"""Comparing two private tables, or two released sketches, on the command line."""

import re

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateTwoSampleTest
from skdp_bary.cli import main

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

PLACES = ["--columns", "x", "y", "--bounds", "0", "1"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with two tables of one law and one of another, as the working directory."""
    rng = np.random.default_rng(0)
    for name, middle, first in (("a", 0.4, 0), ("b", 0.4, 400), ("far", 0.6, 400)):
        table = pandas.DataFrame(rng.normal(middle, 0.1, size=(800, 2)), columns=["x", "y"])
        table["user"] = first + np.arange(800) // 2
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pvalue(said):
    return float(re.search(r"p=([0-9.e-]+)", said)[1])


@pytest.mark.parametrize("groups", [[], ["--groups", "user"]])
def test_two_private_tables_cost_one_charge(groups, capsys):
    BudgetAccountant.create("budget.db", 10.0)
    options = [*PLACES, *groups, "--epsilon", "4", "--ledger", "budget.db"]
    assert main(["compare", "a.csv", "far.csv", *options]) == 0
    said = capsys.readouterr().out
    assert pvalue(said) < 0.01 and "left of the budget: epsilon=6" in said
    (entry,) = BudgetAccountant.open("budget.db").entries
    assert entry.who == "PrivateTwoSampleTest" and entry.epsilon == 4.0
    assert main(["compare", "a.csv", "b.csv", *options]) == 0
    assert pvalue(capsys.readouterr().out) > 0.001


def test_an_id_in_both_tables_is_one_person(monkeypatch, capsys):
    seen = {}

    def fit(self, X, y, *, groups, unit, note):
        seen.update(rows=len(X), cohorts=list(np.unique(y)), persons=len(np.unique(groups)))
        seen["unit"] = unit
        raise ValueError("seen")

    monkeypatch.setattr(PrivateTwoSampleTest, "fit", fit)
    assert main(["compare", "a.csv", "b.csv", *PLACES, "--groups", "user"]) == 2
    assert seen == {"rows": 1600, "cohorts": ["first", "second"], "persons": 800, "unit": "user"}
    pandas.read_csv("b.csv").assign(user=lambda t: t["user"] - 400).to_csv("b.csv", index=False)
    assert main(["compare", "a.csv", "b.csv", *PLACES, "--groups", "user"]) == 2
    assert seen["persons"] == 400


@pytest.mark.parametrize(
    ("tables", "options", "text"),
    [
        (["a.csv", "a.csv"], [], "one file"),
        (["a.csv", "b.npz"], [], "two tables or two sketches"),
        (["a.csv", "nowhere.csv"], [], "nowhere.csv"),
        (["a.csv", "b.csv"], ["--n-min", "1", "2", "3"], "--n-min must be"),
        (["a.csv", "b.csv"], ["--epsilon", "-1"], "epsilon"),
    ],
)
def test_what_cannot_be_compared_costs_nothing(capsys, tables, options, text):
    BudgetAccountant.create("budget.db", 1.0)
    assert main(["compare", *tables, *PLACES, *options, "--ledger", "budget.db"]) == 2
    assert text in capsys.readouterr().err
    assert BudgetAccountant.open("budget.db").entries == ()


def test_released_sketches_are_compared_for_nothing(folder, capsys):
    BudgetAccountant.create("budget.db", 15.0, 1e-4)
    options = ["--epsilon", "5", "--ledger", "budget.db", "--out"]
    for name in ("a", "b", "far"):
        assert main(["sketch", f"{name}.csv", *PLACES, *options, f"{name}.npz"]) == 0
        (folder / f"{name}.csv").unlink()  # rows are not needed any more
    capsys.readouterr()
    assert main(["compare", "a.npz", "far.npz"]) == 0
    said = capsys.readouterr().out
    assert pvalue(said) < 0.01 and "nothing was charged" in said
    assert main(["compare", "a.npz", "b.npz"]) == 0
    assert pvalue(capsys.readouterr().out) > 0.001
    assert len(BudgetAccountant.open("budget.db").entries) == 3


def test_sketches_that_do_not_suit_each_other_are_refused(capsys):
    for bounds, columns, name in ((1, "xy", "a"), (2, "xy", "b"), (1, "yx", "c")):
        options = ["--columns", *columns, "--bounds", "0", str(bounds), "--out", f"{name}.npz"]
        assert main(["sketch", "far.csv", *options]) == 0
    np.savez("other.npz", x=1)
    for other, text in (
        ("b", "the same bounds"),
        ("c", "has the columns"),
        ("other", "not made by"),
    ):
        assert main(["compare", "a.npz", f"{other}.npz"]) == 2
        assert text in capsys.readouterr().err
    assert main(["sketch", "far.csv", "--columns", "x", "--out", "d.npz"]) == 2
    assert "--bounds must be given" in capsys.readouterr().err
