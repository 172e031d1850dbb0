"""Faults of a cluster in the middle of a fit: the same release, or a charge and no release."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from sklearn.base import clone

from skdp_bary import BudgetAccountant, PrivateEMDHeatmap, PrivateKMeans
from tests.world import fingerprint

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning"),
]

N_PARTS = 12
X = np.clip(np.random.default_rng(0).normal(0.5, 0.2, size=(6000, 2)), 0, 1)
KMEANS = PrivateKMeans(3, bounds=(0, 1), n_hint=6000, n_init=1, random_state=1)
N_STEPS = 4  # looks


def chunks(folder, at, act):
    """Return delayed chunks; a worker calls ``act()`` once, at the `at`-th reading of a chunk.

    Every reading leaves a file behind.
    """

    def make(rows, number):
        place = f"{folder}/{time.time_ns()}-{number}"
        open(place, "w").close()
        if len([name for name in os.listdir(folder) if "-" in name]) >= at:
            try:
                os.mkdir(f"{folder}/acted")
            except FileExistsError:
                return rows
            act()
        time.sleep(0.02)
        return rows

    read = dask.delayed(make, pure=False)
    return [read(part, number) for number, part in enumerate(np.array_split(X, N_PARTS))]


def readings(folder):
    return sum("-" in name for name in os.listdir(folder))


@pytest.fixture(scope="module")
def undisturbed():
    model = clone(KMEANS).fit(X)
    assert len(model.privacy_.steps) == N_STEPS
    return fingerprint(model)


def local_cluster(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None
    )


@pytest.mark.parametrize("step", range(N_STEPS))
def test_a_worker_that_is_killed_changes_nothing(tmp_path, undisturbed, step):
    """With it go the sketches it held, so partitions are read again, and none counts twice."""

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    budget = BudgetAccountant(1.0)
    with local_cluster(2) as cluster, distributed.Client(cluster):
        model = clone(KMEANS).set_params(accountant=budget)
        model.fit(chunks(tmp_path, 1 + N_PARTS * step + N_PARTS // 2, die))
    assert (tmp_path / "acted").exists()
    assert readings(tmp_path) > 1 + N_PARTS * N_STEPS
    assert fingerprint(model) == undisturbed
    assert len(budget.entries) == 1


@pytest.mark.parametrize("late", [0, N_PARTS])
def test_a_worker_that_is_killed_during_a_shuffle(tmp_path, late):
    """All rows of a person come together once, whatever was moved before."""
    pytest.importorskip("dask.dataframe")

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    people = np.random.default_rng(1).integers(300, size=len(X))
    heatmap = PrivateEMDHeatmap(bounds=(0, 1), resolution=32, random_state=2)
    whole = fingerprint(clone(heatmap).fit(X, groups=people))
    with local_cluster(2) as cluster, distributed.Client(cluster):
        ids = [dask.delayed(part) for part in np.array_split(people, N_PARTS)]
        rows = chunks(tmp_path, 1 + late + N_PARTS // 2, die)
        found = fingerprint(clone(heatmap).fit(rows, groups=ids))
    assert (tmp_path / "acted").exists()
    assert found == whole


SCHEDULER = """
import sys, time, os
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    print(cluster.scheduler_address, os.getpid(), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def remote_cluster(tmp_path_factory):
    """A cluster whose scheduler is a process of its own: address and process id."""
    script = tmp_path_factory.mktemp("cluster") / "cluster.py"
    script.write_text(textwrap.dedent(SCHEDULER))
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    address, pid = process.stdout.readline().split()
    yield address, int(pid)
    process.kill()
    process.wait()


@pytest.mark.parametrize("step", [0, 1])
def test_a_scheduler_that_is_lost(tmp_path, remote_cluster, step):
    """The fit fails; it is charged if anything was drawn, and releases nothing."""
    address, pid = remote_cluster

    def kill():
        os.kill(pid, signal.SIGKILL)

    budget = BudgetAccountant(1.0)
    model = clone(KMEANS).set_params(accountant=budget)
    settings = {"distributed.comm.timeouts.connect": "2s", "distributed.comm.retry.count": 0}
    begin = time.monotonic()
    with (
        dask.config.set(settings),
        distributed.Client(address, timeout=10),
        pytest.raises(Exception) as failure,
    ):
        model.fit(chunks(tmp_path, 1 + N_PARTS * step + N_PARTS // 2, kill))
    assert time.monotonic() - begin < 120
    words = repr(failure.value)
    lost = "distributed" in type(failure.value).__module__ or "Cancelled" in words
    assert lost or "its source raised" in words  # an error of Dask, which is told by its kind
    assert len(budget.entries) == step
    assert not hasattr(model, "cluster_centers_") and not hasattr(model, "privacy_")
