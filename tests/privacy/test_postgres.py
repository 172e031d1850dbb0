"""Budgets on a PostgreSQL server: roles, tampering, faults."""

import inspect
import re
import traceback
import uuid
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import LedgerError, ReadOnlyLedgerError
from tests.world import DiscreteLaplace, Plan, Step, home

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def address(postgres_server):
    return f"{postgres_server.address}#{uuid.uuid4().hex}"


@pytest.fixture
def run_sql(postgres_server):
    def run(*statements):
        with psycopg.connect(postgres_server.address, autocommit=True) as db:
            for statement in statements:
                db.execute(statement)

    return run


def opened(address, **options):
    return BudgetAccountant(**{"epsilon": 1.0, **options}, ledger=address)


def test_budgets_have_names_and_entries_that_cannot_be_changed_in_passing(
    address, run_sql, postgres_server
):
    opened(address).spend(0.5)
    for change in ("UPDATE {} SET loss_units = 0", "DELETE FROM {}", "TRUNCATE {}"):
        with pytest.raises(psycopg.Error, match="never changed"):
            run_sql(change.format("skdp_bary.entries"))
    names = [uuid.uuid4().hex for _ in range(2)]
    one, two = (opened(f"{postgres_server.address}#{name}") for name in names)
    one.spend(0.9)
    two.spend(0.8)
    assert (one.total(), two.total()) == ((0.9, 0.0), (0.8, 0.0))


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE skdp_bary.entries SET loss_units = 1 WHERE number = 2 AND budget = '{id}'",
        "UPDATE skdp_bary.entries SET who = 'x' WHERE number = 1 AND budget = '{id}'",
        "DELETE FROM skdp_bary.entries WHERE number = 3 AND budget = '{id}'",
        "DELETE FROM skdp_bary.entries WHERE number = 2 AND budget = '{id}'",
        "UPDATE skdp_bary.totals SET loss_units = 0 WHERE budget = '{id}'",
        "UPDATE skdp_bary.entries SET kind = 'raise', epsilon = 9 WHERE number = 1 "
        "AND budget = '{id}'",
    ],
)
def test_tampering_is_found(address, run_sql, tampering):
    accountant = opened(address)
    for _ in range(3):
        accountant.spend(0.1)
    receipt = accountant.receipt()
    assert accountant.verify(receipt) == 3
    run_sql(
        "ALTER TABLE skdp_bary.entries DISABLE TRIGGER append_only",
        tampering.format(id=receipt.ledger),
        "ALTER TABLE skdp_bary.entries ENABLE TRIGGER append_only",
    )
    with pytest.raises(LedgerError, match="cannot be (trusted|used)"):
        accountant.verify(receipt)


def test_a_charge_repeated_after_a_restore_is_not_the_one_that_was_lost(
    address, run_sql, monkeypatch
):
    """The same words, amounts and second: what tells the two apart is drawn at random."""
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(home("new_entry"), "datetime", SimpleNamespace(now=lambda zone: moment))
    accountant = opened(address)
    for _ in range(2):
        accountant.spend(0.1, who="same")
    receipt = accountant.receipt()
    run_sql(
        "ALTER TABLE skdp_bary.entries DISABLE TRIGGER append_only",
        f"DELETE FROM skdp_bary.entries WHERE number = 2 AND budget = '{receipt.ledger}'",
        "ALTER TABLE skdp_bary.entries ENABLE TRIGGER append_only",
        f"UPDATE skdp_bary.totals SET loss_units = 100000 WHERE budget = '{receipt.ledger}'",
    )
    BudgetAccountant.open(address).spend(0.1, who="same")
    with pytest.raises(LedgerError, match="older copy"):
        BudgetAccountant.open(address).verify(receipt)
    with pytest.raises(LedgerError, match="older copy"):
        accountant.spend(0.1)


GUIDE = Path(__file__).parents[2] / "doc" / "explanation" / "budget.rst"


@pytest.fixture
def with_role(address, run_sql):
    """Return an address of a new role that got what the guide says such a role gets."""
    made = {}

    def make(kind):
        if kind not in made:
            role = f"{kind}_{uuid.uuid4().hex}"
            granted = re.findall(rf"^    (GRANT .* TO )[\w, ]*\b{kind}\b", GUIDE.read_text(), re.M)
            assert granted
            run_sql(f"CREATE ROLE {role} LOGIN")
            run_sql(*(f"{grant}{role}" for grant in granted))
            made[kind] = role
        return address.replace("tests@", f"{made[kind]}@")

    return make


class TestRoles:
    def test_a_reader_cannot_spend(self, address, with_role):
        owner = opened(address)
        owner.spend(0.25)
        reader = BudgetAccountant.open(with_role("reader"))
        assert reader.total() == (0.25, 0.0)
        assert reader.verify(owner.receipt()) == 1
        for act, amount in ((reader.spend, 0.5), (reader.raise_ceiling, 2.0)):
            with pytest.raises(LedgerError, match="permission denied"):
                act(amount)
        plan = Plan("add_remove", 0.1, 0.0, (Step("one", DiscreteLaplace(0.1)),))
        with pytest.raises(ReadOnlyLedgerError, match="only read"):
            reader.check(plan)
        assert len(owner.entries) == 1

    def test_a_spender_spends_and_raises_nothing(self, address, with_role):
        owner = opened(address)
        spender = BudgetAccountant.open(with_role("spender"))
        spender.spend(0.5, who="team")
        with pytest.raises(LedgerError, match="only the owner of a budget may raise"):
            spender.raise_ceiling(2.0)
        assert owner.verify() == 1 and owner.epsilon == 1.0
        owner.raise_ceiling(2.0)
        spender.spend(1.5)
        assert owner.verify() == 3

    def test_a_spender_changes_no_entry(self, address, with_role):
        opened(address).spend(0.5)
        with psycopg.connect(with_role("spender").partition("#")[0], autocommit=True) as db:
            for change in ("UPDATE {} SET loss_units = 0", "DELETE FROM {}", "TRUNCATE {}"):
                with pytest.raises(psycopg.Error, match="permission denied"):
                    db.execute(change.format("skdp_bary.entries"))
            for change in ("UPDATE {} SET epsilon = 9", "DELETE FROM {}"):
                with pytest.raises(psycopg.Error, match="permission denied"):
                    db.execute(change.format("skdp_bary.budgets"))

    def test_only_owners_make_budgets(self, address, with_role):
        opened(address)
        elsewhere = f"#{uuid.uuid4().hex}"
        for kind in ("reader", "spender"):
            with pytest.raises(LedgerError, match="permission denied"):
                BudgetAccountant.create(with_role(kind).partition("#")[0] + elsewhere, 1.0)
        mine = with_role("owner").partition("#")[0] + elsewhere
        budget = BudgetAccountant.create(mine, 1.0)
        budget.raise_ceiling(2.0)
        assert BudgetAccountant.open(mine).epsilon == 2.0
        other = BudgetAccountant.open(with_role("owner"))  # somebody else's
        with pytest.raises(LedgerError, match="only the owner of a budget may raise"):
            other.raise_ceiling(2.0)


def test_a_budget_created_anew_is_not_mistaken_for_the_old_one(address, run_sql):
    accountant = opened(address)
    name = address.rpartition("#")[2]
    run_sql(f"DELETE FROM skdp_bary.budgets WHERE name = '{name}'")
    opened(address)
    with pytest.raises(LedgerError, match="replaced by another budget"):
        accountant.spend(0.1)


def test_a_wrong_password_is_not_printed(postgres_server, run_sql):
    """The server refuses it here, so its own words are what is shown."""
    role, secret = f"locked_{uuid.uuid4().hex}", "correct-horse-battery"
    run_sql(f"CREATE ROLE {role} LOGIN PASSWORD 'another one'", f"ALTER ROLE {role} NOLOGIN")
    place = f"{postgres_server.address}?application_name=test".replace(
        "tests@", f"{role}:{secret}@"
    )
    with pytest.raises(LedgerError) as caught:
        opened(place)
    trace = "".join(traceback.format_exception(caught.value))
    assert secret not in trace.replace(inspect.getsource(test_a_wrong_password_is_not_printed), "")
    assert role in trace
