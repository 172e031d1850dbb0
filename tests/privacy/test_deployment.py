"""The deployment of the documentation: roles on a server, maps under a policy, an auditor."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import LedgerError, ReadOnlyLedgerError

HOME = Path(__file__).parents[2] / "examples" / "deployment"
pytest.importorskip("pyarrow")


@pytest.fixture
def scripts(monkeypatch):
    """Return the modules of the deployment."""
    monkeypatch.syspath_prepend(str(HOME))
    yield [__import__(name) for name in ("publish", "audit", "fill_warehouse", "decided")]
    for name in ("publish", "audit", "fill_warehouse", "decided"):
        sys.modules.pop(name)


@pytest.fixture
def ledger(postgres_server):
    """Return a function of a role, which returns the address of the budget for that role."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_server.address, autocommit=True) as db:
        for statement in (HOME / "roles.sql").read_text().split(";")[:-1]:
            db.execute(statement)

    def address(role):
        return f"postgresql://{role}@127.0.0.1:{postgres_server.port}/budgets#map"

    BudgetAccountant.create(address("curator"), 5.0, unit="person")
    with psycopg.connect(address("curator").partition("#")[0], autocommit=True) as db:
        db.execute((HOME / "grants.sql").read_text())
    return address


def test_maps_are_published_refused_and_audited(scripts, ledger, tmp_path, monkeypatch, capsys):
    publish, audit, warehouse, decided = scripts
    months = ["2026-01", "2026-02"]
    warehouse.fill(tmp_path, *months)
    for month in [*months, months[0]]:
        assert publish.publish(month, tmp_path, ledger("map_job"), tmp_path) == 0
    budget = BudgetAccountant.open(ledger("auditor"))
    assert [entry.who for entry in budget.entries] == ["monthly map: PrivateEMDHeatmap"] * 2
    assert json.loads((tmp_path / "2026-02.geojson").read_text())["type"] == "FeatureCollection"
    assert list(audit.findings(ledger("auditor"), tmp_path)) == []

    with pytest.raises(ReadOnlyLedgerError, match="may only read"):
        plan = publish.PrivateEMDHeatmap(0.1, bounds=decided.TOWN).privacy_plan(2)
        budget.under(decided.POLICY, spender="survey").check(plan, unit="person")
    with pytest.raises(LedgerError, match="owner"):
        BudgetAccountant.open(ledger("map_job")).raise_ceiling(9.0)

    monkeypatch.setattr(publish, "MAP", 0.9)
    assert publish.publish("2026-03", tmp_path, ledger("map_job"), tmp_path) == 3
    assert "The policy leaves epsilon=0.84" in capsys.readouterr().err
    (tmp_path / "2026-03.geojson").write_text("{}")
    BudgetAccountant.open(ledger("map_job")).spend(0.9, who="somebody")
    found = list(audit.findings(ledger("auditor"), tmp_path))
    words = ["2026-03.geojson: ", "3 maps are published, and 2", "does not name", "more than was"]
    assert [word in line for word, line in zip(words, found, strict=True)] == [True] * 4


@pytest.mark.slow
def test_the_script_runs_it_all(postgres_server, tmp_path):
    """With a server of its own; the fixture says whether there can be one."""
    environment = os.environ | {"PYTHON": sys.executable, "PORT": str(postgres_server.port + 1)}
    environment["PYTHONPATH"] = str(HOME.parents[1])
    command = [str(HOME / "run_here"), str(tmp_path), "2026-01", "2026-02"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("nothing was found\n")
    assert len(list((tmp_path / "site").glob("*.receipt"))) == 2
