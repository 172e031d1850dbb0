"""The commands for the owner of a budget, on a file and on a server."""

import csv
import io
import json
import uuid

import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.cli import main


@pytest.fixture
def ledger(tmp_path):
    place = str(tmp_path / "budget.db")
    BudgetAccountant.create(place, 1.0, 1e-6).spend(0.25, who="survey", note="wave one")
    return place


def test_a_limit_per_period(ledger, tmp_path, capsys):
    """A release that the budget admits is refused in words where the year has spent its share."""
    table = tmp_path / "rows.csv"
    table.write_text("x,y\n" + "0.5,0.5\n" * 50)
    out = str(tmp_path / "measure.csv")
    asked = ["measure", str(table), "--bounds", "0", "1", "--out", out, "--epsilon", "0.2"]
    asked += ["--ledger", ledger]
    for dry in (["--dry-run"], []):
        assert main([*asked, "--at-most", "0.4/year", *dry]) == 3
        told = "".join(capsys.readouterr())
        assert "policy leaves" in told and "0.15" in told and "of this year" in told
    assert len(BudgetAccountant.open(ledger).entries) == 1
    assert main([*asked, "--at-most", "0.5/year"]) == 0
    told = capsys.readouterr().out
    assert "left of this year: epsilon=0.05" in told and "pass it every time" in told
    assert main(["budget", "show", ledger, "--at-most", "0.5/year"]) == 0
    told = capsys.readouterr().out
    assert "left of this year: epsilon=0.05, delta=1e-06" in told and "not within" not in told
    assert main(["budget", "show", ledger, "--at-most", "0.4/year"]) == 0
    assert "more than was left of the year, by epsilon=0.05, delta=0" in capsys.readouterr().out
    for wrong in ("0.5", "year", "-1/year", "1/decade", "nan/day", "\uff11/year"):
        assert main([*asked, f"--at-most={wrong}"]) == 2
        assert "must be a positive epsilon per day, month" in capsys.readouterr().err
    assert main([*asked[:-2], "--at-most", "1/year"]) == 2
    assert "needs --ledger" in capsys.readouterr().err


def test_verify_with_a_receipt(ledger, tmp_path, capsys):
    files = [tmp_path / "budget.db", tmp_path / "budget.db.lock"]
    old = [file.read_bytes() for file in files]
    BudgetAccountant.open(ledger).spend(0.1)
    assert main(["budget", "receipt", ledger]) == 0
    kept = tmp_path / "receipt.json"
    kept.write_text(capsys.readouterr().out)
    assert main(["budget", "verify", ledger, "--receipt", str(kept)]) == 0
    assert "2 entries add up to its running totals, and hold the 2" in capsys.readouterr().out
    for file, content in zip(files, old, strict=True):  # all is put back as it was
        file.write_bytes(content)
    assert main(["budget", "verify", ledger]) == 0
    assert main(["budget", "verify", ledger, "--receipt", str(kept)]) != 0
    assert "older copy" in capsys.readouterr().err


def test_a_raised_ceiling_is_not_exported_as_a_spend(ledger, capsys):
    """Whoever sums the column gets what was spent."""
    BudgetAccountant.open(ledger).raise_ceiling(2.0)
    assert main(["budget", "export", ledger]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["epsilon"], row["delta"]) for row in rows] == [("0.25", "0.0"), ("", "")]
    assert [row["kind"] for row in rows] == ["spend", "raise"] and rows[0]["note"] == "wave one"
    assert [row["ceiling_epsilon"] for row in rows] == ["", "2.0"]
    assert main(["budget", "export", ledger, "--format", "json"]) == 0
    spend, raised = json.loads(capsys.readouterr().out)
    assert spend["ceiling_epsilon"] is raised["epsilon"] is None
    assert (raised["ceiling_epsilon"], raised["ceiling_delta"]) == (2.0, 1e-6)


def test_on_a_server(request, tmp_path, capsys):
    """Addresses with a password are never printed with it."""
    import subprocess
    import sys

    pytest.importorskip("psycopg")
    secret = "correct-horse"
    broken = f"postgresql://me:{secret}@127.0.0.1:1/postgres#{uuid.uuid4().hex}"
    for action in (["show"], ["create", "--epsilon", "1"], ["raise", "--epsilon", "2"], ["verify"]):
        assert main(["budget", action[0], broken, *action[1:]]) != 0
    captured = capsys.readouterr()
    command = [sys.executable, "-m", "skdp_bary", "budget", "show", broken]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    for text in (captured.out, captured.err, done.stdout, done.stderr):
        assert secret not in text
    assert "127.0.0.1" in captured.err
