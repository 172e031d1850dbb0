"""Addresses of servers: read once, and no password is ever shown."""

import pickle
import traceback

import pytest

from skdp_bary import BudgetAccountant
from tests.cases import every
from tests.world import Secrets, is_address, main, read_address

SECRET = "hunter2"


def settings(address):
    return dict(read_address(address).settings)


class TestReading:
    def test_several_hosts_and_what_is_left_out(self):
        read = read_address("postgres:///clinic")
        assert dict(read.settings) == {"dbname": "clinic"} and read.budget == "default"
        assert settings("postgresql://?service=clinic") == {"service": "clinic"}
        found = settings("postgresql://a@one:1,two,[::1]:3/db")
        assert (found["host"], found["port"]) == ("one,two,::1", "1,,3")

    @every("address", ["postgresql://user@host", "postgresql://user@host/#name"])
    def test_a_database_must_be_named(self, address):
        with pytest.raises(ValueError, match="must name a database"):
            read_address(address)


NEARLY = [
    f"postgresql://user:{SECRET}@host",
    f"postgresql://user:x@{SECRET}@host/db",
    f"postgresql://user:x/{SECRET}@host/db",
    f"postgresql://user:12/{SECRET}@host/db",
    f"postgresql://user:x#{SECRET}@host/db",
    f"postgresql://user:x?{SECRET}@host/db",
    f"postgresql://user:x%{SECRET}@host/db",
    f"postgresql://user:%ff{SECRET}@host/db",
    f"postgresql://user:{SECRET} @host/db",
    f"postgresql://user:{SECRET}@host:port/db",
    f"postgresql://user:{SECRET}@[::1/db",
    f"postgresql://user:{SECRET}@host/db?sslmode",
    f"postgresql://user:{SECRET}/db",
    f"postgresql://host/db?password={SECRET}&Bad-One=1",
    f"postgresql:/user:{SECRET}@host/db",
    f"postgresql:user:{SECRET}@host/db",
    f"postgresql+psycopg://user:{SECRET}@host/db",
    f"Postgresql://user:{SECRET}@host/db",
    f"mysql://user:{SECRET}@host/db",
    f"host=db user=me password={SECRET} dbname=clinic",
    f"dbname=clinic password = {SECRET}",
    f"password={SECRET} host=db",
]


@pytest.mark.parametrize("address", NEARLY)
@pytest.mark.parametrize("find", [BudgetAccountant.open, BudgetAccountant.create, None])
def test_malformed_addresses_are_refused_unseen(address, find, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments = (1.0,) if find == BudgetAccountant.create else ()
    with pytest.raises(ValueError, match="not shown|must name a database") as caught:
        if find is None:
            BudgetAccountant(1.0, ledger=address)
        else:
            find(address, *arguments)
    shown = "".join(traceback.format_exception_only(caught.value))
    assert SECRET not in shown and caught.value.__context__ is None
    assert list(tmp_path.iterdir()) == []
    assert main(["budget", "show", address]) != 0
    assert SECRET not in "".join(capsys.readouterr())


@pytest.mark.parametrize("path", ["budget.db", "C:\\budgets\\a.db", "my host.db", "a=b.db"])
def test_paths_are_no_addresses(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert not is_address(path)
    BudgetAccountant(1.0, ledger=path)


class TestSecrets:
    READ = read_address(f"postgresql://me:{SECRET}@host/db?sslpassword={SECRET}2")

    def test_they_are_printed_and_pickled_nowhere(self):
        for text in (repr(self.READ), str(self.READ), repr(self.READ.secrets), self.READ.shown):
            assert SECRET not in text
        data = pickle.dumps(self.READ)
        assert SECRET.encode() not in data
        copy = pickle.loads(data)
        assert copy.lost_secrets and not self.READ.lost_secrets
        assert copy.settings == self.READ.settings and copy.secrets == {}
        secrets = Secrets(password=SECRET)
        assert SECRET not in secrets.hide(f"invalid value {SECRET}")
        assert secrets.hide("no route to host") == "no route to host"
