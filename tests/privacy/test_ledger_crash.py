"""Kill processes while they spend: no release without its charge, and the file always opens."""

import os
import random
import signal
import time

import pytest

from skdp_bary import BudgetAccountant
from tests.world import DiscreteLaplace, Plan, Step, home

_sqlite = home("SqliteLedger")

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform cannot fork")

PLAN = Plan("add_remove", 0.001, 0.0, (Step("counts", DiscreteLaplace(0.001)),))
KILLS = [15, pytest.param(200, marks=pytest.mark.slow)]


@pytest.mark.parametrize("n_kills", KILLS)
def test_what_was_released_was_charged(path, n_kills):
    chance, pace = random.Random(n_kills), pace_of(path.parent)
    with Killings(path) as killings:
        for kill in range(n_kills):
            # on a busy machine too, some come far enough to release something
            killings.kill_one(chance.uniform(0.0, 4.0) * pace, after_a_release=kill % 3 == 0)
    assert len(killings.names()) >= n_kills / 3
    accountant = BudgetAccountant(1000.0, ledger=path)
    n_charged = len(accountant.entries)
    assert accountant.total()[0] == pytest.approx(0.001 * n_charged, rel=1e-12)


@pytest.mark.parametrize(
    "moment", ["BEGIN", "SELECT number", "\nINSERT INTO entries", "UPDATE ledger", "COMMIT"]
)
def test_a_process_killed_within_a_charge_leaves_the_file_as_it_was(path, moment):
    accountant = BudgetAccountant(1.0, ledger=path)
    accountant.spend(0.5, who="before")
    assert wait(start(lambda: spend_and_die(accountant, moment))) == -signal.SIGKILL
    reopened = BudgetAccountant(1.0, ledger=path)
    assert [entry.who for entry in reopened.entries] == ["before"]
    reopened.spend(0.5)


@pytest.mark.parametrize("moment", ["BEGIN", "\nCREATE TABLE entries", "INSERT", "COMMIT"])
def test_a_process_killed_within_the_creation(path, moment):
    def create():
        die_at(moment)
        BudgetAccountant(1.0, ledger=path)

    assert wait(start(create)) == -signal.SIGKILL
    BudgetAccountant(1.0, ledger=path).spend(1.0)


class Killings:
    """Processes that charge one ledger and write a name after each charge, until killed."""

    def __init__(self, path):
        self._path, self._names = path, path.parent / "released"
        self._kills = 0

    def __enter__(self):
        self._released = os.open(self._names, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        return self

    def __exit__(self, *_):
        os.close(self._released)

    def names(self):
        """Names of all releases."""
        return self._names.read_text().split()

    def kill_one(self, seconds, after_a_release=False):
        """Start a process and kill it after some time; whatever it released has to be charged."""
        size = os.fstat(self._released).st_size
        pid = start(lambda: charge_and_release(self._path, self._released, self._kills))
        if after_a_release:
            wait_until(lambda: os.fstat(self._released).st_size > size)
        time.sleep(seconds)
        stop(pid)
        self._kills += 1
        charged = [entry.who for entry in BudgetAccountant(1000.0, ledger=self._path).entries]
        names = self.names()
        assert set(names) <= set(charged), "a release without its charge"
        assert len(charged) - len(names) <= self._kills, "charges without their releases"


def wait_until(condition):
    deadline = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline, "the process did nothing for a minute"
        time.sleep(0.001)


def pace_of(folder):
    """Return how long this disk needs to create a ledger."""
    begin = time.perf_counter()
    BudgetAccountant(1.0, ledger=folder / "pace.db")
    return time.perf_counter() - begin


def charge_and_release(path, released, kill):
    accountant, number = BudgetAccountant(1000.0, ledger=path), 0
    while True:
        accountant.charge(PLAN, f"{kill}-{number}")
        os.write(released, f"{kill}-{number}\n".encode())
        number += 1


def spend_and_die(accountant, moment):
    die_at(moment)
    accountant.spend(0.25)


def die_at(moment):
    """Let this process kill itself just before SQLite runs a statement that starts so."""
    connect = _sqlite.SqliteLedger._connect

    def watch(statement):
        if statement.startswith(moment):
            os.kill(os.getpid(), signal.SIGKILL)

    def watched(self):
        db = connect(self)
        db.set_trace_callback(watch)
        return db

    _sqlite.SqliteLedger._connect = watched


def start(function):
    """Run `function` in a forked child."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
        finally:
            os._exit(101)
    return pid


def stop(pid):
    os.kill(pid, signal.SIGKILL)
    assert wait(pid) == -signal.SIGKILL


def wait(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
