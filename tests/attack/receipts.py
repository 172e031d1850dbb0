"""Older states of a ledger put back, and the lost charges repeated within their second."""

import shutil
import tempfile
import uuid
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import LedgerError
from tests.privacy.conftest import running_server
from tests.world import home

from .promises import Promise, Trial

_STOPPED = SimpleNamespace(now=lambda zone: datetime(2030, 1, 1, tzinfo=UTC))


def put_back(rng):
    """Yield what receipts and open budgets say of ledgers in files and, where one is, a server."""
    with tempfile.TemporaryDirectory() as name, running_server() as server:
        places = [_File, _Table] if server else [_File]
        while True:
            for place in places:
                ledger = place(Path(name), server)
                try:
                    with mock.patch.object(home("new_entry"), "datetime", _STOPPED):
                        _repeat(ledger, rng)
                except AssertionError as failure:
                    yield Trial(place.subject, violation=str(failure))
                else:
                    yield Trial(place.subject)


def _repeat(ledger, rng):
    """Forget some charges of a ledger and make them, or others, again."""
    n_kept, n_lost = int(rng.integers(0, 4)), int(rng.integers(1, 4))
    n_again = int(rng.integers(0, n_lost + 2))
    budget = BudgetAccountant(1.0, ledger=ledger.place)
    receipts = [budget.receipt()]
    for number in range(n_kept + n_lost):
        if number == n_kept:
            ledger.keep()
        budget.spend(0.1, who=f"{number}")
        receipts.append(budget.receipt())
    ledger.put_back(receipts[n_kept])
    again = BudgetAccountant.open(ledger.place)
    for number in range(n_kept, n_kept + n_again):
        again.spend(0.1, who=f"{number}")
    for receipt in receipts:
        held = receipt.number <= n_kept
        assert _verifies(again, receipt) == held, (
            f"{n_kept} entries kept, {n_lost} lost, {n_again} repeated: the receipt of "
            f"{receipt.number} {'fails' if held else 'verifies'}"
        )
    try:
        budget.spend(0.1)
    except LedgerError:
        return
    raise AssertionError("an open budget did not notice that its ledger was exchanged")


def _verifies(budget, receipt):
    try:
        budget.verify(receipt)
    except LedgerError:
        return False
    return True


class _File:
    """A ledger file; it and its side file are put back as they were."""

    subject = "in files"

    def __init__(self, folder, server):
        self.place = folder / f"{uuid.uuid4().hex}.db"

    def keep(self):
        for end in ("", ".lock"):
            shutil.copy(f"{self.place}{end}", f"{self.place}{end}.kept")

    def put_back(self, receipt):
        for end in ("", ".lock"):
            shutil.copy(f"{self.place}{end}.kept", f"{self.place}{end}")


class _Table:
    """A budget on a server; its tables are put back, as from a dump."""

    subject = "on PostgreSQL"

    def __init__(self, folder, server):
        self.place = f"{server.address}#{uuid.uuid4().hex}"
        self._address = server.address

    def keep(self):
        pass

    def put_back(self, receipt):
        import psycopg

        own = "WHERE budget = %s"
        with psycopg.connect(self._address, autocommit=True) as db:
            db.execute("SET session_replication_role = replica")  # no triggers
            late = f"DELETE FROM skdp_bary.entries {own} AND number > %s"
            db.execute(late, (receipt.ledger, receipt.number))
            db.execute(f"DELETE FROM skdp_bary.totals {own}", (receipt.ledger,))
            db.execute(
                "INSERT INTO skdp_bary.totals SELECT budget, part, sum(loss_units), "
                f"sum(delta_units) FROM skdp_bary.entries {own} GROUP BY budget, part",
                (receipt.ledger,),
            )


PROMISE = Promise(
    "receipts",
    "Receipts and open budgets reveal a restored older ledger, whatever is charged afterward",
    put_back,
)
