"""A network that swallows everything: a spend fails in time, and nobody else waits for it."""

import pickle
import socket
import threading
import time
import uuid

import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import LedgerError
from tests.world import home

_postgres = home("_CONNECT_SECONDS")

pytest.importorskip("psycopg")


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(_postgres, "_CONNECT_SECONDS", 2)
    monkeypatch.setattr(_postgres, "_ANSWER_SECONDS", 1.5)


class Hole:
    """A way to a server, or to nowhere, that swallows everything once it is told to."""

    def __init__(self, port=None):
        self._target = port
        self.swallows = port is None
        self._ends = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        for end in [self._listener, *self._ends]:
            end.close()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._ends.append(near)
            if self._target is None:
                continue
            far = socket.create_connection(("127.0.0.1", self._target))
            self._ends.append(far)
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source, sink):
        try:
            while data := source.recv(65536):
                if not self.swallows:
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return


def in_time(act, seconds=10.0):
    """Run `act` in a thread that may not take longer, and return what it raised."""
    raised = []

    def run():
        try:
            act()
        except LedgerError as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "it waits for ever"
    return raised


def test_a_server_that_never_answers(impatient):
    hole = Hole()
    address = f"postgresql://me:hunter2@127.0.0.1:{hole.port}/db#{uuid.uuid4().hex}"
    (error,) = in_time(lambda: BudgetAccountant(1.0, ledger=address))
    assert "Nothing was released" in str(error) and "hunter2" not in str(error)
    hole.close()


@pytest.mark.parametrize("act", ["spend", "total", "verify"])
def test_a_network_that_breaks_off(postgres_server, impatient, act):
    hole = Hole(postgres_server.port)
    address = postgres_server.address.replace(str(postgres_server.port), str(hole.port))
    budget = BudgetAccountant(1.0, ledger=f"{address}#{uuid.uuid4().hex}")
    budget.spend(0.25)
    hole.swallows = True
    call = (lambda: budget.spend(0.25)) if act == "spend" else getattr(budget, act)
    (error,) = in_time(call)
    assert "did not answer within 1.5 seconds" in str(error)
    hole.swallows = False
    budget.spend(0.25)
    assert budget.verify() == 2
    hole.close()


def test_it_breaks_off_in_the_middle_of_a_charge(postgres_server, impatient):
    hole = Hole(postgres_server.port)
    address = postgres_server.address.replace(str(postgres_server.port), str(hole.port))
    name = uuid.uuid4().hex
    budget = BudgetAccountant(1.0, ledger=f"{address}#{name}")
    entry, cost = budget._entry("me", 0.5, 0.0, ""), budget._filter.price(0.5, 0.0)

    def swallow(*_):
        hole.swallows = True

    (error,) = in_time(lambda: budget._ledger.append(entry, cost, swallow))
    assert "did not answer" in str(error)
    direct = BudgetAccountant.open(f"{postgres_server.address}#{name}")
    hole.close()  # the server notices, as it does by keepalives, and lets the lock go
    direct.spend(0.5)
    assert direct.verify() == 1
    assert direct.total() == (0.5, 0.0)


def test_other_budgets_do_not_wait(postgres_server, impatient, tmp_path):
    hole = Hole(postgres_server.port)
    address = postgres_server.address.replace(str(postgres_server.port), str(hole.port))
    stuck = BudgetAccountant(1.0, ledger=f"{address}#{uuid.uuid4().hex}")
    others = [
        BudgetAccountant(1.0),
        BudgetAccountant(1.0, ledger=tmp_path / "budget.db"),
        BudgetAccountant(1.0, ledger=f"{postgres_server.address}#{uuid.uuid4().hex}"),
    ]
    hole.swallows = True
    failed = []
    thread = threading.Thread(target=lambda: failed.extend(in_time(lambda: stuck.spend(0.5))))
    thread.start()
    begin = time.monotonic()
    for other in others:
        other.spend(0.5)
    assert time.monotonic() - begin < 1.5 or not thread.is_alive()
    thread.join()
    assert len(failed) == 1
    hole.close()


def test_threads_of_one_budget_wait_for_their_turn_only_so_long(
    postgres_server, impatient, monkeypatch
):
    monkeypatch.setattr(_postgres, "_TURN_SECONDS", 0.2)
    budget = BudgetAccountant(1.0, ledger=f"{postgres_server.address}#{uuid.uuid4().hex}")
    with budget._ledger._kept.lock:
        (error,) = in_time(lambda: budget.spend(0.5))
    assert "other threads" in str(error)
    budget.spend(0.5)


def test_both_sides_have_timeouts(postgres_server):
    budget = BudgetAccountant(1.0, ledger=f"{postgres_server.address}#{uuid.uuid4().hex}")
    db = budget._ledger._kept.db
    assert db.info.get_parameters()["tcp_user_timeout"] == "30000"
    assert db.info.get_parameters()["keepalives_idle"] == "10"
    for name, value in _postgres._SERVER.items():
        (setting,) = db.execute(f"SHOW {name}").fetchone()
        if not (name.startswith("tcp_") and setting == "0"):  # not every platform has these
            assert setting in (value, "1min"), name


def test_a_pickle_has_no_password_and_says_so(postgres_server):
    name, secret = uuid.uuid4().hex, "correct-horse-battery"
    address = f"{postgres_server.address}#{name}".replace("tests@", f"tests:{secret}@")
    budget = BudgetAccountant(1.0, ledger=address)
    data = pickle.dumps(budget)
    assert secret.encode() not in data
    copy = pickle.loads(data)
    copy.spend(0.5)  # this server asks for none
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    nowhere = address.replace(str(postgres_server.port), str(port))
    copy._ledger._connect_to(pickle.loads(pickle.dumps(_postgres.read_address(nowhere))))
    with pytest.raises(LedgerError, match="left out when it was pickled.*PGPASSFILE"):
        copy.spend(0.5)
