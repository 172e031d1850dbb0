"""Synthetic tables on the command line: columns of all kinds, by a public schema."""

import numpy as np
import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.cli import main

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("yaml")

SCHEMA = """\
columns:
  age: {kind: integer, low: 18, high: 99, missing: true}
  job: {kind: category, values: [office, trade, "=SUM(A1)"], outside: refuse}
  since: {kind: date, low: "2020-01-01", high: "2024-12-31"}
  income: {kind: number, low: 0, high: 100}
  trouble: {kind: boolean}
"""
TABLE = ["--schema", "bank.yaml", "--label", "trouble", "--epsilon", "5"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with a table of customers and its schema, as the working directory."""
    rng = np.random.default_rng(0)
    trouble = rng.random(400) < 0.3
    table = pandas.DataFrame(
        {
            "id": np.arange(400) // 2,
            "trouble": trouble,
            "age": pandas.array(np.where(rng.random(400) < 0.2, None, 18 + 40 * trouble), "Int64"),
            "job": rng.choice(["office", "trade", "=SUM(A1)"], size=400),
            "since": pandas.Timestamp("2021-03-05"),
            "income": rng.normal(50.0, 5.0, size=400),
        }
    )
    table.to_csv(tmp_path / "bank.csv", index=False)
    table.to_parquet(tmp_path / "bank.parquet", index=False)
    (tmp_path / "bank.yaml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("groups", [[], ["--groups", "id"]])
def test_rows_of_all_kinds(ending, groups, capsys):
    BudgetAccountant.create("budget.db", 5.0, 1e-6)
    options = [*TABLE, *groups, "--rows", "300", "--ledger", "budget.db", "--out", "made.csv"]
    assert main(["table", f"bank.{ending}", *options]) == 0
    said = capsys.readouterr().out
    assert "job: category, values" in said and "left of the budget: epsilon=0" in said
    made = pandas.read_csv("made.csv")
    assert list(made.columns) == ["age", "job", "since", "income", "trouble"] and len(made) == 300
    assert set(made["job"]) == {"office", "trade", "'=SUM(A1)"}  # no formula for spreadsheets
    assert made["since"].str.fullmatch(r"2021-03-\d\d").mean() > 0.5
    assert 0.1 < made["age"].isna().mean() < 0.3 and made["trouble"].dtype == bool
    ages = made.groupby("trouble")["age"].median()
    assert ages[True] > 50 > ages[False]


def test_rules_in_a_schema_file_are_refused_in_words(capsys):
    with open("bank.yaml", "a", encoding="utf-8") as file:
        file.write("rules: []\n")
    assert main(["table", "bank.csv", *TABLE, "--out", "made.csv"]) == 2
    assert "rules: they are given to PrivateTable" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--rows", "0", "--out", "m.csv"], "--rows"),
        (["--rows", "99999999999999", "--out", "m.csv"], "--rows"),
        (["--out", "bank.csv", "--overwrite"], "would be replaced"),
        (["--out", "m.csv", "--label", "income"], "label must be a column of flags"),
        (["--out", "m.csv", "--groups", "age"], "leave ids out of the schema"),
        (["--out", "m.csv", "--groups", "who"], "no column 'who', which --groups names"),
        (["--out", "m.csv", "--schema", "wide.yaml"], "no column 'color', which wide.yaml decl"),
        (["--out", "m.csv", "--schema", "nowhere.yaml"], "nowhere.yaml"),
        (["--out", "m.csv", "--schema", "strict.yaml"], "has missing values, and its schema"),
    ],
)
def test_what_cannot_be_released_costs_nothing(folder, capsys, options, text):
    (folder / "wide.yaml").write_text(SCHEMA + "  color: {kind: boolean}\n")
    (folder / "strict.yaml").write_text(SCHEMA.replace("99, missing: true", "99"))
    BudgetAccountant.create("budget.db", 9.0, 1e-6)
    assert main(["table", "bank.csv", *TABLE, *options, "--ledger", "budget.db"]) == 2
    assert text in capsys.readouterr().err
    assert BudgetAccountant.open("budget.db").entries == () and not (folder / "m.csv").exists()
