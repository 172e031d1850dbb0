"""What tests of privacy share: plans, and a PostgreSQL server of their own."""

import getpass
import glob
import importlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.world import DiscreteLaplace, Plan, RoundedGaussian, Step, gaussian_mu

REQUIRED = bool(os.environ.get("SKDP_BARY_REQUIRE_POSTGRES"))
if REQUIRED:
    importlib.import_module("psycopg")  # so that no module of tests is skipped for want of it


def pure_plan(epsilon, relation="add_remove"):
    return Plan(relation, epsilon, 0.0, (Step("counts", DiscreteLaplace(epsilon)),))


def gaussian_plan(epsilon, delta):
    mu = gaussian_mu(epsilon, delta) * (1.0 - 1e-9)
    return Plan("add_remove", epsilon, delta, (Step("sums", RoundedGaussian(mu)),))


class Server:
    """A server on the loopback address, with its data in a temporary folder.

    It runs as the user ``postgres`` when the tests run as root, which PostgreSQL refuses.
    """

    def __init__(self, programs, folder):
        self._programs = programs
        self._data = folder / "data"
        self._user = "postgres" if os.geteuid() == 0 else None
        self.port = _free_port()
        if self._user:
            shutil.chown(folder, self._user, self._user)
        self._call("initdb", "-D", self._data, "-U", "tests", "-A", "trust", "--no-sync")
        settings = f"listen_addresses='127.0.0.1'\nport={self.port}\nunix_socket_directories=''\n"
        self._write("postgresql.auto.conf", settings)

    @property
    def address(self):
        """Address of the database of the tests."""
        return f"postgresql://tests@127.0.0.1:{self.port}/postgres"

    def start(self, patience=30):
        """Start the server and wait until it answers.

        The processes of a killed server hold its memory until they have noticed.
        """
        log = self._data.parent / "log"
        for _ in range(patience):
            try:
                return self._call("pg_ctl", "-D", self._data, "-l", log, "-w", "start")
            except RuntimeError as error:
                failed = error
                time.sleep(1.0)
        raise failed

    def stop(self, mode="fast"):
        """Stop the server; "immediate" is a crash."""
        self._call("pg_ctl", "-D", self._data, "-m", mode, "-w", "stop")

    def kill(self):
        """Kill the server and all of its processes with -9."""
        first = int((self._data / "postmaster.pid").read_text().split()[0])
        children = subprocess.run(
            ["pgrep", "-P", str(first)], capture_output=True, text=True, check=False
        ).stdout.split()
        for process in (first, *map(int, children)):
            try:
                os.kill(process, 9)
            except ProcessLookupError:
                continue

    def _write(self, name, text):
        subprocess.run(
            ["tee", str(self._data / name)], input=text, text=True, check=True,
            stdout=subprocess.DEVNULL, user=self._user,
        )  # fmt: skip

    def _call(self, program, *arguments):
        command = [str(self._programs / program), *map(str, arguments)]
        done = subprocess.run(
            command, user=self._user, cwd="/", check=False, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed: {done.stderr}")


def _free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def find_programs():
    """Folder of the server's programs, or None."""
    found = shutil.which("pg_ctl")
    folders = [Path(found).resolve().parent] if found else []
    folders += [Path(p) for p in sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)]
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def may_run():
    if os.geteuid() != 0:
        return getpass.getuser() is not None
    return any(entry.pw_name == "postgres" for entry in pwd.getpwall())


@contextmanager
def running_server():
    """Give a running server, or None where there can be none."""
    programs = find_programs()
    if programs is None or not may_run() or find_spec("psycopg") is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="ledger-server-") as folder:
        os.chmod(folder, 0o755)
        server = Server(programs, Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")


@pytest.fixture(scope="session")
def postgres_server():
    """A running server, or a failure that says what is missing where it is required."""
    with running_server() as server:
        if server is None:
            message = "no PostgreSQL server: install the packages postgresql and postgresql-client"
            if REQUIRED:
                pytest.fail(message)
            pytest.skip(message)
        yield server


@pytest.fixture
def path(tmp_path):
    """Where a ledger file may be made."""
    return tmp_path / "budget.db"


@pytest.fixture(params=["memory", "file", "server"])
def place(request, path):
    """Where entries live: None, a file, or a budget of its own on a server."""
    if request.param == "memory":
        return None
    if request.param == "file":
        return str(path)
    return f"{request.getfixturevalue('postgres_server').address}#{uuid.uuid4().hex}"
