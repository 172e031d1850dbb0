"""Ledger file, journal and side file belong together, whatever is renamed, copied or restored."""

import os
import re
import shutil
import signal
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import BudgetError, LedgerError, ReadOnlyLedgerError
from tests.world import home

from .test_ledger_crash import start, wait

REFUSED = 7

pytestmark = pytest.mark.skipif(os.name != "posix", reason="other journals and locks")


def kill_in_a_charge(path, torn=True):
    """Kill a process in the middle of a charge, after its journal and maybe more is on the disk."""
    before = path.read_bytes()
    assert wait(start(lambda: spend_and_die(path))) in (-signal.SIGKILL, REFUSED)
    if not torn:
        with path.open("r+b") as file:
            file.write(before)
            file.truncate()


def spend_and_die(path):
    """Kill this process in a charge, with a journal and more on the disk."""
    sqlite = home("SqliteLedger")
    insert = sqlite.insert

    def insert_and_die(db, *arguments):
        db.execute("PRAGMA cache_size = 1")  # pages go to the disk before the commit
        insert(db, *arguments)
        db.execute("CREATE TABLE more (blob)")
        for _ in range(300):
            db.execute("INSERT INTO more VALUES (hex(zeroblob(1500)))")
        os.kill(os.getpid(), signal.SIGKILL)

    sqlite.insert = insert_and_die
    try:
        BudgetAccountant.open(path).spend(0.05, who="killed")
    except (BudgetError, LedgerError):
        os._exit(REFUSED)


def journal(path):
    return path.with_name(f"{path.name}-journal")


def side(path):
    return path.with_name(f"{path.name}.lock")


@pytest.fixture
def path(tmp_path):
    (tmp_path / "kept").mkdir()
    path = tmp_path / "kept" / "budget.db"
    BudgetAccountant(1.0, ledger=path).spend(0.25, who="first")
    return path


def names(path):
    return [entry.who for entry in BudgetAccountant.open(path).entries]


def move_as_told(error, folder):
    """Do what an error says to move, in its order; return where the ledger file is then."""
    told = re.search(r"Move (.*) into another folder", str(error))[1]
    folder.mkdir()
    moved = re.findall(r"'([^']*)'", told)
    assert moved and all(os.path.lexists(each) for each in moved)
    for each in moved:
        shutil.move(each, folder)
    return folder / "budget.db"


def restore_as_told(error, folder, backup=None):
    moved = move_as_told(error, folder)
    _, path = re.search(r"BudgetAccountant.restore\((.*), '(.*)'\)", str(error)).groups()
    return BudgetAccountant.restore(moved if backup is None else backup, path)


@pytest.mark.parametrize("torn", [True, False])
class TestKilled:
    """A process was killed in the middle of a charge."""

    def test_renamed_alone_it_is_not_spent_from(self, path, torn, tmp_path):
        kill_in_a_charge(path, torn)
        path.rename(other := tmp_path / "other.db")
        with pytest.raises((LedgerError, ReadOnlyLedgerError)):
            BudgetAccountant.open(other).spend(0.5)
        other.rename(path)
        assert names(path) == ["first"]

    def test_renamed_without_its_journal(self, path, torn, tmp_path):
        kill_in_a_charge(path, torn)
        other = tmp_path / "other.db"
        path.rename(other)
        side(path).rename(side(other))
        budget = BudgetAccountant.open(other)
        budget.spend(budget.remaining()[0], who="under another name")
        charged = budget.entries
        other.rename(path)
        side(other).rename(side(path))
        for ask in (BudgetAccountant.open, lambda path: BudgetAccountant(1.0, ledger=path)):
            with pytest.raises(LedgerError, match="older than its latest charge") as caught:
                ask(path)
        move_as_told(caught.value, tmp_path / "away")
        assert BudgetAccountant.open(path).entries == charged
        with pytest.raises(BudgetError):
            BudgetAccountant.open(path).spend(0.1)

    def test_renamed_half_written_without_its_journal(self, path, torn, tmp_path):
        kill_in_a_charge(path, torn)
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * 2 * 4096)
        other = tmp_path / "other.db"
        path.rename(other)
        side(path).rename(side(other))
        with pytest.raises(LedgerError, match="damaged") as caught:
            BudgetAccountant.open(other)
        told = re.search(r"move the journal which that left to '(.*?)'", str(caught.value))[1]
        journal(path).rename(told)
        assert names(other) == ["first"]

    @pytest.mark.parametrize("by", ["copy", "rename"])
    @pytest.mark.parametrize("source", ["backup", "moved"])
    def test_a_file_put_beside_the_journal(self, path, torn, tmp_path, by, source):
        budget = BudgetAccountant.open(path)
        budget.backup(tmp_path / "backup.db")
        shutil.copy(path, tmp_path / "copy.db")
        older = path.read_bytes()
        for number in range(40):  # several pages
            budget.spend(0.01, who=f"{number}", note="y" * 300)
        kill_in_a_charge(path, torn)
        (shutil.copy if by == "copy" else os.rename)(tmp_path / "copy.db", path)
        for find in (BudgetAccountant.open, lambda path: BudgetAccountant(1.0, ledger=path)):
            with pytest.raises(LedgerError, match="was exchanged") as caught:
                find(path)
        assert path.read_bytes() == older, "it was damaged"
        backup = tmp_path / "backup.db" if source == "backup" else None
        restored = restore_as_told(caught.value, tmp_path / "away", backup)
        assert [entry.kind for entry in restored.entries] == ["spend", "restore"]
        restored.spend(0.75)
        assert BudgetAccountant.open(path).remaining() == (0.0, 0.0)


class TestExchanged:
    def test_an_older_copy_is_found_by_the_side_file(self, path, tmp_path):
        shutil.copy(path, tmp_path / "copy.db")
        BudgetAccountant.open(path).spend(0.5, who="second")
        shutil.copy(tmp_path / "copy.db", path)
        with pytest.raises(LedgerError, match="2 entries .* an older copy") as caught:
            BudgetAccountant.open(path)
        restored = restore_as_told(caught.value, tmp_path / "away")
        restored.spend(0.5, who="second")
        assert names(path) == ["first", "", "second"]

    def test_a_lost_side_file(self, path, tmp_path):
        budget = BudgetAccountant.open(path)
        side(path).unlink()
        assert budget.total() == (0.25, 0.0) and names(path) == ["first"]
        for ask in (budget, BudgetAccountant.open(path), BudgetAccountant(1.0, ledger=path)):
            with pytest.raises(ReadOnlyLedgerError, match="has no lock file") as caught:
                ask.spend(0.1)
        assert not side(path).exists()
        restore_as_told(caught.value, tmp_path / "away").spend(0.75)

    def test_both_files_copied_are_not_spent_from(self, path, tmp_path):
        for file in (path, side(path)):
            shutil.copy2(file, tmp_path)
        copy = tmp_path / path.name
        assert names(copy) == ["first"]
        with pytest.raises(ReadOnlyLedgerError, match="one or both were copied") as caught:
            BudgetAccountant.open(copy).spend(0.1)
        BudgetAccountant.open(path).spend(0.1)
        shutil.rmtree(path.parent)
        restore_as_told(caught.value, tmp_path / "away").spend(0.75)

    def test_a_copied_side_file_is_not_one(self, path, tmp_path):
        """A second side file would go on while the first one, and a journal there, fell behind."""
        other = tmp_path / "other.db"
        shutil.copy(side(path), side(other))
        kill_in_a_charge(path, torn=False)
        path.rename(other)
        with pytest.raises(ReadOnlyLedgerError, match="one or both were copied"):
            BudgetAccountant.open(other).spend(0.5)
        other.rename(path)
        assert names(path) == ["first"]

    def test_a_living_ledger_is_not_restored_from(self, path, tmp_path):
        with pytest.raises(LedgerError, match="no backup"):
            BudgetAccountant.restore(path, tmp_path / "second.db")
        kill_in_a_charge(path)
        with pytest.raises(LedgerError, match="no backup"):
            BudgetAccountant.restore(path, tmp_path / "second.db")
        assert names(path) == ["first"]

    @pytest.mark.parametrize("damage", ["truncated", "garbage", "entry", "side file"])
    def test_what_is_damaged_is_restored_as_told(self, path, tmp_path, damage):
        BudgetAccountant.open(path).backup(tmp_path / "backup.db")
        if damage == "truncated":
            os.truncate(path, 4096)
        elif damage == "garbage":
            path.write_bytes(b"\xff" * 12288)
        elif damage == "entry":
            path.write_bytes(path.read_bytes().replace(b"first", b"other"))
        else:
            side(path).write_text("garbage")
        with pytest.raises(LedgerError) as caught:
            BudgetAccountant.open(path)
        restore_as_told(caught.value, tmp_path / "away", tmp_path / "backup.db").spend(0.75)

    def test_a_restore_refuses_what_is_in_the_way(self, path, tmp_path):
        BudgetAccountant.open(path).backup(tmp_path / "backup.db")
        kill_in_a_charge(path)
        path.rename(tmp_path / "moved.db")
        folders = iter("abc")
        for _ in range(2):
            try:
                BudgetAccountant.restore(tmp_path / "backup.db", path)
            except LedgerError as error:
                in_the_way = re.search(r"used: '([^']*)' is there already; move it", str(error))[1]
                (tmp_path / (folder := next(folders))).mkdir()
                shutil.move(in_the_way, tmp_path / folder)
        assert names(path) == ["first", ""]

    @pytest.mark.parametrize("name", ["budget.db", "budget.db.lock", "budget.db-journal"])
    def test_a_fifo_is_refused(self, path, name):
        place = path.with_name(name)
        place.unlink(missing_ok=True)
        os.mkfifo(place)
        with pytest.raises(LedgerError, match="is not a regular file"):
            BudgetAccountant.open(path)


def test_the_same_charge_in_the_same_second_is_another_one(path, tmp_path, monkeypatch):
    """After an older copy of all files was put back."""
    clock = SimpleNamespace(now=lambda zone: datetime(2030, 1, 1, tzinfo=UTC))
    monkeypatch.setattr(home("new_entry"), "datetime", clock)
    for file in (path, side(path)):
        shutil.copy(file, tmp_path)
    budget = BudgetAccountant.open(path)
    budget.spend(0.25, who="same")
    receipt = budget.receipt()
    for file in (path, side(path)):
        shutil.copy(tmp_path / file.name, file)
    BudgetAccountant.open(path).spend(0.25, who="same")
    for find in (lambda: BudgetAccountant.open(path).verify(receipt), lambda: budget.spend(0.1)):
        with pytest.raises(LedgerError, match="older copy"):
            find()
