"""What a fit on a cluster costs: a model of three numbers an estimator, and runs that check it.

Every reading of n rows in P partitions takes the workers ``start + n * per_row + tasks(P) *
per_task`` seconds of processor time, with one task for each partition and one for every eight
results that are merged. ``start`` is measured with one partition of one row, ``per_task`` with many
of them, and ``per_row`` with a few partitions of a million rows, after the workers have warmed up.
Together they predict runs of 10**6, 10**7 and 10**8 rows, which the workers make when they are
asked for them and which are never stored; the time to make them is part of ``per_row``.

Processor time, not the clock, is what is predicted and checked, less what idle workers take in the
same time: it depends least on what else the machine does. ``per_row`` is measured both before and
after the runs. The transfers between workers are compared with the most that the model allows.

    python -m benchmarks.rows.scaling [--rows 1000000 10000000 100000000] [--only measure heatmap]
"""

import argparse
import os
import statistics
import time
import warnings
from dataclasses import dataclass
from functools import partial

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import dask  # noqa: E402
import numpy as np  # noqa: E402
from dask.distributed import Client, LocalCluster  # noqa: E402

from benchmarks.recording import Results, peak_bytes  # noqa: E402
from skdp_bary import (  # noqa: E402
    DPSlicedWasserstein,
    PrivateEMDHeatmap,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
)
from skdp_bary.desk.counting import Sketch, collect  # noqa: E402
from skdp_bary.estimators import base as _base  # noqa: E402
from skdp_bary.exceptions import PrivacyWarning  # noqa: E402
from skdp_bary.rows.persons import Chunk  # noqa: E402

RESULTS = Results("scaling")
CHUNK = 1_000_000
# By default Dask has its workers return every temporary array to the system at once.
MEMORY_KEPT = {"MALLOC_TRIM_THRESHOLD_": 1 << 27, "MALLOC_MMAP_THRESHOLD_": 1 << 26}
SMALL_PARTS, WARM_PARTS = 200, 12
IDLE_SECONDS = 10
N_WORKERS = 2
N_CLASSES = 3
FAN_IN = 8
REPEATS = 3
HINT = 10**8  # public, the same for all runs: the same questions are asked
PLANNED = {"rows": 10**10, "workers": 1000}
MOST_ROWS = {"kmeans": 10**7, "sliced": 10**7}  # the dearest, a row and reading


def estimators():
    """Return the estimators, all for rows of the plane."""
    common = {"bounds": (0, 1), "random_state": 0}
    sized = common | {"n_hint": HINT}
    return {
        "measure": PrivateMeasure(depth=14, **sized),
        "barycenter": PrivateWassersteinBarycenter(
            3, classes=list(range(N_CLASSES)), method="coreset", n_init=1, **sized
        ),
        "heatmap": PrivateEMDHeatmap(**sized),
        "kmeans": PrivateKMeans(8, n_init=1, **sized),
        "sliced": DPSlicedWasserstein(n_projections=20, delta=1e-8, n_min=10**6, **common),
    }


def make_chunk(number, n_rows):
    """Return rows in three blobs, and their labels."""
    rng = np.random.default_rng(number)
    labels = rng.integers(N_CLASSES, size=n_rows)
    return rng.random((n_rows, 2)) * 0.3 + 0.3 * labels[:, None], labels


def chunks(n_rows, size):
    """Return delayed chunks of `size` rows."""
    make = dask.delayed(make_chunk, pure=False)
    return [make(number, size) for number in range(max(1, n_rows // size))]


class WatchedCollect:
    """The way to count rows; it remembers how often, and what integers there were."""

    def __init__(self):
        self.passes, self.dense, self.seconds = 0, 0, 0.0

    def __call__(self, query, rows):
        begin = time.perf_counter()
        sketch = collect(query, rows)
        self.seconds += time.perf_counter() - begin
        self.passes += 1
        arrays = [part for part in query.zeros() if isinstance(part, np.ndarray)]
        self.dense = max(self.dense, sum(part.size for part in arrays))
        self.query = query
        return sketch


class Workers:
    """The workers of a cluster: what they have used, and what they use without work."""

    def __init__(self, client):
        self._client = client
        before, begin = self.numbers(), time.perf_counter()
        time.sleep(IDLE_SECONDS)
        self.idle_rate = (self.numbers()[0] - before[0]) / (time.perf_counter() - begin)

    def numbers(self):
        """Return processor seconds and incoming transfers of all workers."""

        def ask(dask_worker):
            return time.process_time(), dask_worker.state.transfer_incoming_count_total

        found = self._client.run(ask).values()
        return tuple(sum(numbers) for numbers in zip(*found, strict=True))


def run(workers, estimator, n_rows, size):
    """Fit once and return what it took."""
    watched = WatchedCollect()
    _base.collect = watched
    before, begin = workers.numbers(), time.perf_counter()
    try:
        estimator.fit(chunks(n_rows, size))
    finally:
        _base.collect = collect
    clock = time.perf_counter() - begin
    after = workers.numbers()
    return {
        "passes": watched.passes,
        "integers": watched.dense,
        "cpu_s": after[0] - before[0] - workers.idle_rate * clock,
        "transfers": after[1] - before[1],
        "clock_s": clock,
        "client_peak_mb": peak_mb(),
        "query": watched.query,
    }


def n_tasks(n_parts):
    """Return the number of tasks of one reading."""
    tasks = n_parts
    while n_parts > 1:
        n_parts = -(-n_parts // FAN_IN)
        tasks += n_parts
    return tasks


@dataclass(frozen=True)
class Model:
    """Seconds of processor time: of a reading, of a task, of a row."""

    passes: int
    start: float
    per_task: float
    per_row: float

    def cpu_s(self, n_rows, n_parts):
        """Return the prediction for a fit."""
        reading = self.start + n_tasks(n_parts) * self.per_task + n_rows * self.per_row
        return self.passes * reading


def seconds_a_reading(workers, estimator, passes, n_rows, size):
    """Return processor seconds of a few fits, for each reading."""
    return [run(workers, estimator, n_rows, size)["cpu_s"] / passes for _ in range(REPEATS)]


def middle_run(workers, estimator, n_rows):
    """Return the run of median processor time: of five where it is short, else the only one."""
    taken = [run(workers, estimator, n_rows, CHUNK) for _ in range(5 if n_rows <= CHUNK else 1)]
    return sorted(taken, key=lambda found: found["cpu_s"])[len(taken) // 2]


def calibrate(workers, estimator, sizes):
    """Return the model of an estimator, one of its runs, and its runs of the given sizes."""
    seen = run(workers, estimator, WARM_PARTS * CHUNK, CHUNK)
    ask = partial(seconds_a_reading, workers, estimator, seen["passes"])
    one, many = (statistics.median(ask(n_rows, 1)) for n_rows in (1, SMALL_PARTS))
    per_task = max(0.0, (many - one) / (n_tasks(SMALL_PARTS) - 1))
    start = max(0.0, one - per_task)
    n_rows = WARM_PARTS * CHUNK
    large = ask(n_rows, CHUNK)
    runs = {size: middle_run(workers, estimator, size) for size in sizes}
    large += ask(n_rows, CHUNK)
    beside = start + n_tasks(WARM_PARTS) * per_task
    per_row = (statistics.median(large) - beside) / n_rows
    return Model(seen["passes"], start, per_task, per_row), seen, runs


def sketch_bytes(query):
    """Return the bytes of the sketch of one full partition as it travels."""
    X, labels = make_chunk(0, CHUNK)
    codes = labels if getattr(query, "n_classes", 1) > 1 else None
    return len(Sketch(query).update(Chunk(X, codes, None)).to_bytes())


def peak_mb():
    """Return the peak memory of this process, the client, in megabytes, on Linux."""
    return round(peak_bytes() / 2**20, 1)


def examine(workers, name, estimator, sizes):
    """Return the model of one estimator, and how far runs are from it."""
    sizes = [n_rows for n_rows in sizes if n_rows <= MOST_ROWS.get(name, n_rows)]
    model, seen, runs = calibrate(workers, estimator, sizes)
    result = {
        "passes": model.passes,
        "bytes_per_row": 16,
        "integers": seen["integers"],
        "most_bytes": 8 * seen["integers"],
        "bytes_of_a_partition": sketch_bytes(seen["query"]),
        "ns_per_row": round(1e9 * model.per_row, 1),
        "ms_per_task": round(1e3 * model.per_task, 2),
        "ms_per_reading": round(1e3 * model.start, 1),
        "runs": {str(n_rows): check(model, n_rows, taken) for n_rows, taken in runs.items()},
        "load": round(os.getloadavg()[0], 1),
    }
    result["planned"] = plan(model, result["bytes_of_a_partition"])
    return result


def check(model, n_rows, taken):
    """Return what a run took beside what the model says."""
    n_parts = max(1, n_rows // CHUNK)
    predicted = model.cpu_s(n_rows, n_parts)
    return {
        "predicted_cpu_s": round(predicted, 3),
        "measured_cpu_s": round(taken["cpu_s"], 3),
        "ratio": round(taken["cpu_s"] / predicted, 3),
        "clock_s": round(taken["clock_s"], 1),
        "client_peak_mb": taken["client_peak_mb"],
        "transfers": taken["transfers"],
        "most_transfers": model.passes * (n_tasks(n_parts) - 1 + 2 * (N_WORKERS - 1)),
    }


def plan(model, sketch):
    """Return what a fit of the planned size costs, by the model."""
    n_parts = PLANNED["rows"] // CHUNK
    tasks = model.passes * n_tasks(n_parts)
    cpu = model.cpu_s(PLANNED["rows"], n_parts)
    return {
        "cpu_hours": round(cpu / 3600, 3),
        "busy_s_per_worker": round(cpu / PLANNED["workers"], 2),
        "tasks": tasks,
        "messages_per_worker": round(2 * tasks / PLANNED["workers"]),
        "mb_sent_per_worker": round(tasks / PLANNED["workers"] * sketch / 1e6, 2),
    }


def main():
    """Parse the command line, measure and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7, 10**8])
    parser.add_argument("--only", nargs="+", choices=list(estimators()))
    parser.add_argument("--output", type=Results, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    kept = arguments.output.read({})
    dask.config.set({"distributed.nanny.pre-spawn-environ": MEMORY_KEPT})
    cluster = LocalCluster(
        n_workers=N_WORKERS, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        workers = Workers(client)
        for name, estimator in estimators().items():
            if arguments.only is None or name in arguments.only:
                kept[name] = examine(workers, name, estimator, arguments.rows)
                print(name, kept[name], flush=True)
                arguments.output.write(kept)


if __name__ == "__main__":
    main()
