"""The file behind a budget: what it stores, what it refuses to open, and how it fails."""

import os
import pickle
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import BudgetError, LedgerError
from tests.world import RunningSums, home

_sqlite = home("SqliteLedger")

needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits and permissions")


def opened(path, **options):
    return BudgetAccountant(**{"epsilon": 1.0, "delta": 1e-6, **options}, ledger=path)


def side_file(path):
    return path.with_name(f"{path.name}.lock")


def run_sql(path, *statements):
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def assert_holds(path, *who):
    """Assert that the file opens and holds these entries, and that spending goes on."""
    accountant = opened(path)
    assert [entry.who for entry in accountant.entries] == list(who)
    accountant.spend(0.001)


class TestFile:
    def test_a_charge_reaches_the_disk_before_it_returns(self, path, monkeypatch):
        statements = []
        connect = _sqlite.SqliteLedger._connect

        def traced(self):
            db = connect(self)
            (level,) = db.execute("PRAGMA synchronous").fetchone()
            db.set_trace_callback(statements.append)
            statements.append(level)
            return db

        accountant = opened(path)
        monkeypatch.setattr(_sqlite.SqliteLedger, "_connect", traced)
        accountant.spend(0.1)
        assert statements[:2] == [3, "BEGIN IMMEDIATE"]  # 3: EXTRA
        assert statements[-1] == "COMMIT"
        assert statements.count("COMMIT") == 1

    @needs_posix
    @pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
    def test_only_its_owner_may_read_it(self, path, umask):
        before = os.umask(umask)
        try:
            accountant = opened(path)
            accountant.backup(path.parent / "copy.db")
        finally:
            os.umask(before)
        for file in (path, side_file(path), path.parent / "copy.db"):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        for file in (path, side_file(path)):
            file.chmod(0o660)  # a group may share it if its owner says so
        accountant.spend(0.1)
        assert stat.S_IMODE(side_file(path).stat().st_mode) == 0o660

    def test_a_second_name_is_refused(self, path):
        """A journal left under one name undid what was charged under the other."""
        opened(path).spend(0.01)
        os.link(path, other := path.with_name("other.db"))
        before = path.read_bytes()
        begun = (
            f"db = sqlite3.connect({str(path)!r}, isolation_level=None)",
            "db.execute('PRAGMA cache_size = 1')",
            "db.execute('BEGIN IMMEDIATE')",
            "db.execute('UPDATE ledger SET link = link || 0')",
            "db.execute('UPDATE entries SET who = who || 0')",
            "db.execute('CREATE TABLE t (a)')",
            "for _ in range(300): db.execute('INSERT INTO t VALUES (hex(zeroblob(1500)))')",
            "os.kill(os.getpid(), 9)",
        )
        subprocess.run([sys.executable, "-c", "\n".join(["import os, sqlite3", *begun])])
        with path.open("r+b") as file:  # as if it was killed when only the journal was on disk
            file.write(before)
            file.truncate()
        for name in (other, path):
            with pytest.raises(LedgerError, match="second name"):
                opened(name).spend(0.9)
        other.unlink()
        accountant = opened(path)
        assert accountant.total() == (0.01, 0.0)
        os.symlink(path, other)
        opened(other).spend(0.9)
        assert accountant.total() == (0.91, 0.0)

    @pytest.mark.parametrize("remains", ["nothing", "empty file", "empty database"])
    def test_a_creation_that_was_cut_short_is_taken_up(self, path, remains):
        side_file(path).touch()  # made before the ledger, and marked after it
        if remains != "nothing":
            path.touch()
        if remains == "empty database":
            run_sql(path, "CREATE TABLE t (x)", "DROP TABLE t")
        assert_holds(path)

    def test_threads_may_create_it_at_the_same_time(self, path):
        barrier, failures = threading.Barrier(6), []

        def create():
            barrier.wait()
            try:
                opened(path).spend(0.1)
            except LedgerError as error:
                failures.append(error)

        threads = [threading.Thread(target=create) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert opened(path).total() == (0.6, 0.0)

    def test_threads_of_one_accountant_count_every_entry_once(self, path, monkeypatch):
        """Also when a thread is held up just after its charge."""
        accountant, add_entry = opened(path), RunningSums.add_entry

        def slowly(self, *record):
            time.sleep(0.02)
            add_entry(self, *record)

        monkeypatch.setattr(RunningSums, "add_entry", slowly)
        threads = [
            threading.Thread(target=lambda: [accountant.spend(0.01) for _ in range(5)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert accountant.total() == (0.2, 0.0)
        assert accountant.verify() == 20


class TestTerms:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"epsilon": 2.0}, r"epsilon is 1\.0 in the file and 2\.0 here"),
            ({"delta": 1e-5}, r"delta is 1e-06 in the file and 1e-05 here"),
            ({"neighbors": "replace_one"}, "neighbors is 'add_remove' .* and 'replace_one' here"),
            ({"composition": "renyi"}, "composition is 'sum' .* and 'renyi' here; renyi_order"),
        ],
    )
    def test_another_budget_is_refused(self, path, options, message):
        opened(path).spend(0.1, who="first")
        with pytest.raises(LedgerError, match=message):
            opened(path, **options)
        assert_holds(path, "first")

    def test_another_format_is_refused(self, path):
        opened(path)
        run_sql(path, "PRAGMA user_version = 4")
        with pytest.raises(LedgerError, match="format 4, this version .* reads format 5"):
            opened(path)

    def test_a_foreign_file_is_refused_and_left_alone(self, path, tmp_path):
        path.write_text("epsilon,delta\n" * 100)
        run_sql(other := tmp_path / "other.db", "CREATE TABLE entries (name)")
        foreign = (path, "nor any SQLite database"), (other, "not a budget ledger")
        for file, message in foreign:
            before = file.read_bytes()
            with pytest.raises(LedgerError, match=message):
                opened(file)
            assert file.read_bytes() == before
        with pytest.raises(LedgerError, match="its folder is missing"):
            opened(tmp_path / "nowhere" / "budget.db")
        with pytest.raises(LedgerError, match="it is a folder"):
            BudgetAccountant.open(tmp_path)


class TestTampering:
    @pytest.mark.parametrize(
        "statement",
        [
            "DELETE FROM entries WHERE number = 1",
            "DELETE FROM entries WHERE number = 2",
            "DELETE FROM entries",
            "UPDATE entries SET loss_units = 1 WHERE number = 2",
            "UPDATE entries SET number = 7 WHERE number = 2",
            "UPDATE entries SET number = -1 WHERE number = 1",
            "UPDATE entries SET kind = 'raise', epsilon = 9 WHERE number = 1",
            "UPDATE entries SET note = x'00' WHERE number = 1",
            "UPDATE ledger SET number = 1",
            "UPDATE ledger SET link = 'other'",
            "UPDATE ledger SET id = 'other'",
            "UPDATE ledger SET epsilon = 9",
            "UPDATE ledger SET delta = 0.5",
            "CREATE INDEX more ON entries (who)",
            "ALTER TABLE entries ADD COLUMN more",
            "DROP TABLE entries",
        ],
    )
    def test_it_is_found_when_the_file_is_opened(self, path, statement):
        accountant = opened(path)
        accountant.spend(0.1)
        accountant.part("north").spend(0.1, 1e-7)
        run_sql(path, statement)
        for find in (lambda: BudgetAccountant.open(path), accountant.verify):
            with pytest.raises(LedgerError, match="cannot be (used|trusted)"):
                find()

    def test_a_raised_ceiling_is_covered(self, path):
        opened(path).raise_ceiling(2.0)
        run_sql(path, "UPDATE entries SET epsilon = 3.0")
        with pytest.raises(LedgerError, match="entry 1 was altered"):
            BudgetAccountant.open(path)

    def test_what_is_open_goes_by_what_it_has_seen(self, path):
        """Earlier entries altered in the file give nothing back to those who read them before."""
        accountant = opened(path)
        accountant.spend(0.9)
        run_sql(path, "UPDATE entries SET loss_units = 0")
        with pytest.raises(BudgetError):
            accountant.spend(0.2)

    def test_a_deleted_file_is_not_started_again_from_zero(self, path):
        accountant = opened(path)
        copies = [accountant, pickle.loads(pickle.dumps(accountant))]
        path.unlink()
        for copy in copies:
            with pytest.raises(LedgerError, match="missing"):
                copy.spend(0.1)
        with pytest.raises(LedgerError, match="says that a ledger was there"):
            opened(path)
        assert not path.exists()
        side_file(path).unlink()
        opened(path)
        for copy in copies:
            for ask in (lambda c=copy: c.spend(0.1), copy.total, lambda c=copy: c.entries):
                with pytest.raises(LedgerError, match="replaced by another ledger"):
                    ask()
        assert_holds(path)

    @pytest.mark.parametrize("side", ["kept", "lost"])
    def test_a_file_cut_to_nothing_is_not_started_again_from_zero(self, path, side):
        accountant = opened(path)
        accountant.spend(0.9)
        os.truncate(path, 0)
        if side == "lost":
            side_file(path).unlink()
        for find in (lambda: opened(path), lambda: BudgetAccountant.open(path), accountant.total):
            with pytest.raises(LedgerError, match="empty|missing|damaged|cannot be used"):
                find()
        assert path.stat().st_size == 0

    def test_a_side_file_of_another_ledger_is_refused(self, path, tmp_path):
        opened(path)
        opened(tmp_path / "other.db")
        shutil.copy(tmp_path / "other.db", path)
        with pytest.raises(LedgerError, match="replaced by another ledger"):
            BudgetAccountant.open(path)
        side_file(path).write_text("something")
        with pytest.raises(LedgerError, match="lock file .* is damaged"):
            BudgetAccountant.open(path)


class TestFailures:
    @pytest.mark.parametrize("reading", [False, True])
    def test_a_locked_file(self, path, monkeypatch, reading):
        accountant = opened(path)
        accountant.spend(0.1, who="first")
        monkeypatch.setattr(_sqlite, "_BUSY_SECONDS", 0.05)
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("BEGIN" if reading else "BEGIN EXCLUSIVE")
        db.execute("SELECT * FROM entries").fetchall()  # of a reader the commit itself fails
        asks = (lambda: accountant.spend(0.1), accountant.total, lambda: opened(path))
        for ask in asks[: 1 if reading else 3]:
            with pytest.raises(LedgerError, match="locked by another process"):
                ask()
        db.close()
        assert_holds(path, "first")

    def test_a_wait_for_the_lock(self, path):
        accountant = opened(path)
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        db.execute("BEGIN EXCLUSIVE")
        release = threading.Timer(0.2, db.execute, ("ROLLBACK",))
        release.start()
        accountant.spend(0.1)
        release.join()

    def test_a_full_database(self, path, monkeypatch):
        connect = _sqlite.SqliteLedger._connect

        def limited(self):
            db = connect(self)
            db.execute("PRAGMA max_page_count = 12")
            return db

        monkeypatch.setattr(_sqlite.SqliteLedger, "_connect", limited)
        accountant, charged = opened(path), []
        with pytest.raises(LedgerError, match="the disk is full.*Nothing was released"):
            for number in range(900):
                accountant.spend(0.001, who=f"{number:0200}")
                charged.append(f"{number:0200}")
        assert charged
        monkeypatch.undo()
        assert_holds(path, *charged)

    @needs_posix
    @pytest.mark.parametrize("read_only", ["file", "folder"])
    def test_read_only(self, path, read_only):
        accountant = opened(path)
        accountant.spend(0.1, who="first")
        with unprivileged(path, read_only):
            for copy in (accountant, opened(path)):
                assert copy.total() == (0.1, 0.0)
                with pytest.raises(LedgerError, match="read-only"):
                    copy.spend(0.1)
        assert_holds(path, "first")


@contextmanager
def unprivileged(path, read_only):
    """Make a file, or its folder, read-only, and give up root where there is any."""
    target = path if read_only == "file" else path.parent
    for file in (path, side_file(path)):
        file.chmod(0o644)
    folders = [path.parent, *path.parents[1:-1]]
    modes = {place: place.stat().st_mode for place in [*folders, target]}
    user = os.geteuid()
    try:
        if user == 0:
            for folder in folders:
                os.chmod(folder, modes[folder] | 0o755)
        os.chmod(target, 0o444 if read_only == "file" else 0o555)
        if user == 0:
            os.seteuid(65534)
        yield
    finally:
        os.seteuid(user)
        for place, mode in modes.items():
            os.chmod(place, mode)


@needs_posix
class TestFileGroup:
    """A ledger file that a group of the computer may spend from."""

    @staticmethod
    def mine():
        import grp

        return grp.getgrgid(os.getgid()).gr_name

    @pytest.mark.parametrize("shared", [True, False])
    def test_both_files_are_the_groups_or_the_owners_alone(self, path, shared):
        path.parent.chmod(0o2770)
        opened(path, **({"file_group": self.mine()} if shared else {})).spend(0.1)
        for file in (path, side_file(path)):
            assert stat.S_IMODE(file.stat().st_mode) == (0o660 if shared else 0o600)
            assert file.stat().st_gid == os.getgid() or not shared

    @pytest.mark.parametrize(
        ("mode", "group", "advice"),
        [(0o2750, None, "chmod g"), (0o770, None, "chmod g"), (0o2770, "no such", "getent group")],
    )
    def test_a_group_that_could_not_share_is_refused(self, path, mode, group, advice):
        path.parent.chmod(mode)
        with pytest.raises(ValueError, match=f"file_group.*{advice}"):
            opened(path, file_group=group or self.mine())
        assert list(path.parent.iterdir()) == []
        with pytest.raises(ValueError, match="file_group must be None"):
            BudgetAccountant(1.0, file_group=self.mine())
