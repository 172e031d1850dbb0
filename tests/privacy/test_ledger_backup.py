"""Backups of a ledger file, and locks that copies of it do not drop."""

import os
import pickle
import random
import shutil
import stat
import traceback

import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import BudgetError, LedgerError, ReadOnlyLedgerError
from tests.privacy.test_ledger_crash import start, wait
from tests.world import RESTORE, home

_sqlite = home("SqliteLedger")


class TestBackup:
    def test_it_is_read_and_not_spent_from(self, path, tmp_path):
        budget = BudgetAccountant(1.0, ledger=path)
        budget.spend(0.5, who="first")
        budget.backup(tmp_path / "copy.db")
        copy = BudgetAccountant.open(tmp_path / "copy.db")
        assert copy.entries == budget.entries and copy.verify(budget.receipt()) == 1
        for act in (lambda: copy.spend(0.1), lambda: copy.part("a").spend(0.1)):
            with pytest.raises(ReadOnlyLedgerError, match="is a backup"):
                act()
        with pytest.raises(ReadOnlyLedgerError, match="is a backup"):
            pickle.loads(pickle.dumps(copy)).raise_ceiling(2.0)
        assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600 or os.name == "nt"
        budget.spend(0.5)

    def test_what_cannot_be_written_is_refused(self, path, tmp_path):
        (tmp_path / "copy.db").write_text("mine")
        budget = BudgetAccountant(1.0, ledger=path)
        with pytest.raises(LedgerError, match="copy.db' exists already; name another"):
            budget.backup(tmp_path / "copy.db")
        assert (tmp_path / "copy.db").read_text() == "mine"
        with pytest.raises(LedgerError, match="The backup .*nowhere.*folder is missing") as caught:
            budget.backup(tmp_path / "nowhere" / "copy.db")
        assert str(path) not in str(caught.value)
        with pytest.raises(LedgerError, match="memory"):
            BudgetAccountant(1.0).backup(tmp_path / "other.db")
        assert (_sqlite.LEDGER ^ _sqlite.BACKUP).bit_count() >= 8  # marks of the files

    def test_restoring_is_an_entry(self, path, tmp_path):
        budget = BudgetAccountant(1.0, ledger=path)
        budget.spend(0.5, who="first")
        budget.backup(tmp_path / "copy.db")
        early, _ = budget.receipt(), budget.spend(0.25, who="lost")
        late = budget.receipt()
        with pytest.raises(LedgerError, match="move it into another folder"):
            BudgetAccountant.restore(tmp_path / "copy.db", path)
        path.unlink()
        restored = BudgetAccountant.restore(tmp_path / "copy.db", path, who="me", note="disk died")
        assert [entry.kind for entry in restored.entries] == ["spend", RESTORE]
        assert restored.verify(early) == 2
        with pytest.raises(LedgerError, match="older copy"):
            restored.verify(late)
        with pytest.raises(LedgerError):
            budget.spend(0.25)  # what was open knows of the entry that was lost
        restored.spend(0.5)
        with pytest.raises(BudgetError):
            restored.spend(0.1)


def spend_and_copy(path, seed, rounds):
    """Spend nine tenths of many budgets, opening and closing their files in between."""
    chance = random.Random(seed)
    for number in range(rounds):
        ledger = f"{path}{number}.db"
        budget = BudgetAccountant(1.0, ledger=ledger)
        connect = _sqlite.SqliteLedger._connect

        def connected(self, connect=connect):
            db = connect(self)
            db.set_trace_callback(lambda _: disturb(self.path, chance))
            return db

        _sqlite.SqliteLedger._connect = connected
        try:
            budget.spend(0.9, who=str(seed))
        except BudgetError:
            pass
        finally:
            _sqlite.SqliteLedger._connect = connect


def disturb(ledger, chance):
    """Open and close the ledger file and its side file, as copying them does."""
    for path in (ledger, f"{ledger}.lock"):
        if chance.random() < 0.5:
            with open(path, "rb") as file:
                file.read(chance.choice([1, 1000, -1]))
    if chance.random() < 0.1:
        shutil.copy(ledger, f"{ledger}.{chance.random()}")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform cannot fork")
@pytest.mark.parametrize("rounds", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_copies_made_while_spending_never_pass_the_ceiling(tmp_path, rounds):
    race_beside_copies(tmp_path, rounds, seed=0)


def race_beside_copies(folder, rounds, seed):
    """Let four processes that copy ledgers race for budgets that have room for one of them."""
    children = []
    for racer in range(4):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                spend_and_copy(folder / "budget", 4 * seed + racer, rounds)
                status = 0
            except BaseException:
                traceback.print_exc()  # else nobody would hear of it
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4, "a racer failed"
    for number in range(rounds):
        budget = BudgetAccountant.open(folder / f"budget{number}.db")
        assert budget.verify() == 1 and budget.total() == (0.9, 0.0), "the ceiling was passed"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform cannot fork")
def test_the_lock_survives_any_other_handle(tmp_path, monkeypatch):
    """Another opening and closing of either file drops no lock, and processes wait for it."""
    monkeypatch.setattr(_sqlite, "_BUSY_SECONDS", 0.1)
    path = tmp_path / "budget.db"
    budget = BudgetAccountant(1.0, ledger=path)
    first, second = outsider(path), outsider(path)  # forked while nothing is locked
    with budget._ledger._session(writing=True):
        for name in (path, f"{path}.lock"):
            open(name, "rb").close()
        assert "locked by another process" in first()
    assert second() == "spent"


def outsider(path):
    """Return a function that lets another process try to spend, and returns what it said."""
    ends = [os.pipe(), os.pipe()]
    (waiting, go), (told, tell) = ends

    def attempt():
        os.read(waiting, 1)
        try:
            BudgetAccountant.open(path).spend(0.1)
            os.write(tell, b"spent")
        except LedgerError as error:
            os.write(tell, str(error).encode())

    child = start(attempt)

    def ask():
        os.write(go, b"!")
        said = os.read(told, 1000).decode()
        wait(child)
        for each in (*ends[0], *ends[1]):
            os.close(each)
        return said

    return ask
