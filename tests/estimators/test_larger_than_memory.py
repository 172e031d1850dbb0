"""Four gigabytes of Parquet through two workers of one: none of them holds what it counts."""

import os
from pathlib import Path

import numpy as np
import pytest

from skdp_bary import (
    DPSlicedWasserstein,
    PrivateDriftSketch,
    PrivateEMDHeatmap,
    PrivateGenerator,
    PrivateKMeans,
    PrivateMeasure,
    PrivateTable,
    PrivateTwoSampleTest,
    PrivateWassersteinBarycenter,
)
from skdp_bary.schema import Category, Number

pytestmark = pytest.mark.slow

GROUP = 1 << 20  # rows of a row group, as many as writers of Parquet make by default
FILES = 16
WIDE = [f"x{place}" for place in range(32)]
PLANE = ["lon", "lat"]
LABELS = [0, 1]
MOST_MB = 700  # of a worker that has done nothing else, 250 of which are libraries


def write(path, names, n_groups, seed, labeled):
    """Write one file of uniform rows, incompressible, a row group at a time."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(seed)
    fields = [(name, arrow.float64()) for name in names] + [("label", arrow.int64())] * labeled
    with parquet.ParquetWriter(path, arrow.schema(fields)) as file:
        for _ in range(n_groups):
            columns = {name: rng.random(GROUP) for name in names}
            if labeled:
                columns["label"] = rng.integers(len(LABELS), size=GROUP)
            file.write_table(arrow.table(columns))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return folders of 4 GB each: of long rows with labels, and of places."""
    home = tmp_path_factory.mktemp("larger")
    found = {"wide": home / "wide", "plane": home / "plane"}
    for folder in found.values():
        folder.mkdir()
    for number in range(FILES):
        name = f"{number:02d}.parquet"
        write(found["wide"] / name, WIDE, 1, number, labeled=True)
        write(found["plane"] / name, PLANE, 16, number, labeled=False)
    yield found
    for file in home.glob("*/*.parquet"):
        file.unlink()


@pytest.fixture
def workers():
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        memory_limit="1GB",
        dashboard_address=None,
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def forget_peak():
    """Let the largest memory of this process be what it has now."""
    Path("/proc/self/clear_refs").write_text("5")


def peak():
    """Return the process and its largest memory in megabytes."""
    status = Path("/proc/self/status").read_text()
    return os.getpid(), int(status.split("VmHWM:")[1].split()[0]) >> 10


SEEN = {"bounds": (0, 1)}
SIZED = SEEN | {"n_hint": FILES * GROUP}
LABELED = {"y": "label"}
TABLE = {name: Number(0, 1) for name in WIDE} | {"label": Category(LABELS)}
FITS = {
    "kmeans": (PrivateKMeans(8, n_init=1, **SIZED), "wide", {}),
    "barycenter": (
        PrivateWassersteinBarycenter(8, classes=LABELS, n_init=1, **SIZED),
        "wide",
        LABELED,
    ),
    "sliced": (DPSlicedWasserstein(delta=1e-8, n_min=GROUP, **SEEN), "wide", LABELED),
    "generator": (PrivateGenerator(delta=1e-9, classes=LABELS, **SIZED), "wide", LABELED),
    "two samples": (PrivateTwoSampleTest(classes=LABELS, n_resamples=99, **SEEN), "wide", LABELED),
    "drift": (PrivateDriftSketch(delta=1e-9, **SIZED), "wide", {}),
    "table": (PrivateTable(TABLE), "wide", {}),
    "measure": (PrivateMeasure(**SIZED), "plane", {}),
    "heatmap": (PrivateEMDHeatmap(**SIZED), "plane", {}),
}


@pytest.mark.parametrize("name", FITS)
def test_two_workers_of_one_gigabyte(folders, workers, name):
    estimator, folder, beside = FITS[name]
    workers.run(forget_peak)
    before = {pid for pid, _ in workers.run(peak).values()}
    estimator.fit(folders[folder], **beside)
    after = dict(workers.run(peak).values())
    assert after.keys() == before, "a worker died on the way"
    assert max(after.values()) < MOST_MB
