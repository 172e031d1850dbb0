"""A cluster of two hosts: executors that are killed, and slow tasks of which a copy is started.

Spark starts no copy on the host where a task runs, so the two workers are at two addresses of this
machine.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 is needed")

DRIVER = Path(__file__).with_name("driver.py")
HOSTS = ("127.0.0.1", "127.0.0.2")
ENVIRONMENT = {
    "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "SPARK_DAEMON_MEMORY": "256m",
    "PYSPARK_PYTHON": sys.executable,
    "PYTHONPATH": str(Path(__file__).parents[2]),
}
ADDRESS = re.compile(r"(?:Starting Spark master at|registered with master) (spark://\S+)")


def start(log, kind, *arguments):
    """Start a server of Spark; return its process and the address of the master."""
    script = Path(pyspark.__file__).parent / "bin" / "spark-class"
    command = [str(script), f"org.apache.spark.deploy.{kind}", *arguments, "--webui-port", "0"]
    with open(log, "w") as stream:
        process = subprocess.Popen(
            command, env=os.environ | ENVIRONMENT, stdout=stream, stderr=stream
        )
    for _ in range(600):
        found = ADDRESS.search(log.read_text())
        if found:
            return process, found[1]
        if process.poll() is not None:
            break
        time.sleep(0.1)
    process.kill()
    raise AssertionError(log.read_text())


@pytest.fixture
def master(tmp_path):
    started = []
    try:
        process, address = start(
            tmp_path / "master", "master.Master", "--host", HOSTS[0], "--port", "0"
        )
        started.append(process)
        for host in HOSTS:
            options = ["--host", host, "--cores", "2", "--memory", "700m"]
            options += ["--work-dir", str(tmp_path / f"work {host}"), address]
            started.append(start(tmp_path / host, "worker.Worker", *options)[0])
        yield address
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def test_killed_executors_and_copies_of_slow_tasks_count_once(master, tmp_path):
    command = [sys.executable, str(DRIVER), master, str(tmp_path)]
    environment = os.environ | ENVIRONMENT
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
