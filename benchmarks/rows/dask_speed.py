"""Two Dask workers beside one process: rows per second of the sketches.

Timed is everything in a fit that reads rows; what is computed from the release afterwards is the
same for all. Rows of the plane come in four ways: as an array in this process, as chunks that this
process makes one after the other, as delayed chunks that two worker processes of one thread each
make, and as a Dask array that they hold in memory. Each way is run in turns with the others; kept
are the medians, and the medians of the ratios within a turn, of the workers that make rows to the
process that makes rows, and of the workers that hold rows to the process that holds them. All four
must count the same integers.

    python -m benchmarks.rows.dask_speed [--rows 10000000] [--repeats 5]
"""

import argparse
import os
import statistics
import time
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import dask  # noqa: E402
import dask.array as da  # noqa: E402
import numpy as np  # noqa: E402
from dask.distributed import Client, LocalCluster  # noqa: E402

from benchmarks.recording import Results  # noqa: E402
from skdp_bary import PrivateEMDHeatmap, PrivateKMeans, PrivateMeasure, PrivateWassersteinBarycenter  # noqa: E402
from skdp_bary.desk.counting import collect  # noqa: E402
from skdp_bary.estimators import base as _base  # noqa: E402
from skdp_bary.exceptions import PrivacyWarning  # noqa: E402

RESULTS = Results("dask_speed")
CHUNK = 1_000_000
# By default Dask has its workers return every temporary array to the system at once.
MEMORY_KEPT = {"MALLOC_TRIM_THRESHOLD_": 1 << 27, "MALLOC_MMAP_THRESHOLD_": 1 << 26}
N_CLASSES = 3


class TimedCollect:
    """The way to count rows, timed; it keeps the integers of the last fit."""

    def __init__(self):
        self.seconds, self.blocks = 0.0, []

    def __call__(self, query, rows):
        begin = time.perf_counter()
        sketch = collect(query, rows)
        self.seconds += time.perf_counter() - begin
        self.blocks.append([block.copy() for block in sketch.exact_blocks()])
        return sketch


def estimators(n_rows):
    """Return the estimators, and whether each uses labels."""
    common = {"bounds": (0, 1), "n_hint": n_rows, "random_state": 0}
    return {
        "heatmap": (PrivateEMDHeatmap(**common), False),
        "measure": (PrivateMeasure(method="haar", **common), False),
        "barycenter": (
            PrivateWassersteinBarycenter(
                4, classes=list(range(N_CLASSES)), method="coreset", n_init=1, **common
            ),
            True,
        ),
        "kmeans": (PrivateKMeans(8, n_init=1, **common), False),
    }


def make_chunk(number, n_rows, labeled):
    """Return rows in three blobs, and their labels if they are asked for."""
    rng = np.random.default_rng(number)
    labels = rng.integers(N_CLASSES, size=n_rows)
    X = np.clip(rng.normal(0.2 + 0.3 * labels[:, None], 0.1, size=(n_rows, 2)), 0, 1)
    return (X, labels) if labeled else X


def sizes(n_rows):
    """Return the number of rows of every chunk."""
    whole, rest = divmod(n_rows, CHUNK)
    return [CHUNK] * whole + [rest] * (rest > 0)


def as_array(n_rows):
    """Return rows and labels in memory."""
    X, y = np.empty((n_rows, 2)), np.empty(n_rows, dtype=int)
    for number, size in enumerate(sizes(n_rows)):
        place = slice(number * CHUNK, number * CHUNK + size)
        X[place], y[place] = make_chunk(number, size, True)
    return X, y


def as_chunks(n_rows, labeled):
    """Return a function that makes the chunks one after the other."""
    return lambda: (make_chunk(i, size, labeled) for i, size in enumerate(sizes(n_rows)))


def as_delayed(n_rows, labeled):
    """Return chunks that the workers make."""
    make = dask.delayed(make_chunk, pure=False)
    return [make(i, size, labeled) for i, size in enumerate(sizes(n_rows))]


def as_persisted(n_rows):
    """Return Dask arrays of rows and labels that the workers hold."""
    make, X, y = dask.delayed(make_chunk, nout=2), [], []
    for number, size in enumerate(sizes(n_rows)):
        rows, labels = make(number, size, True)
        X.append(da.from_delayed(rows, (size, 2), dtype=float))
        y.append(da.from_delayed(labels, (size,), dtype=int))
    held = dask.persist(da.concatenate(X), da.concatenate(y))
    dask.compute(*(part.sum() for part in held))  # all of it is there
    return held


def timed_fit(estimator, X, y):
    """Fit, and return the seconds of its sketches and their integers."""
    timed = TimedCollect()
    _base.collect = timed
    try:
        estimator.fit(X, y)
    finally:
        _base.collect = collect
    return timed.seconds, timed.blocks


def same(first, second):
    """Whether two fits counted the same integers."""
    return len(first) == len(second) and all(
        np.array_equal(a, b)
        for blocks, others in zip(first, second, strict=True)
        for a, b in zip(blocks, others, strict=True)
    )


def measure_speed(n_rows, repeats, wanted):
    """Yield the name of every estimator, seconds of all ways and their ratios."""
    here = as_array(n_rows)
    dask.config.set({"distributed.nanny.pre-spawn-environ": MEMORY_KEPT})
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, Client(cluster):
        there = as_persisted(n_rows)
        for name in wanted:
            estimator, labeled = estimators(n_rows)[name]
            ways = {
                "array": (here[0], here[1] if labeled else None),
                "chunks": (as_chunks(n_rows, labeled), None),
                "delayed": (as_delayed(n_rows, labeled), None),
                "persisted": (there[0], there[1] if labeled else None),
            }
            seconds, equal = {way: [] for way in ways}, True
            for _ in range(repeats):
                counted = {}
                for way, rows in ways.items():
                    taken, counted[way] = timed_fit(estimator, *rows)
                    seconds[way].append(taken)
                equal = equal and all(same(counted["array"], blocks) for blocks in counted.values())
            yield name, summary(n_rows, seconds) | {"same_integers": equal}


def summary(n_rows, seconds):
    """Return medians, and the median ratios within a turn."""
    medians = {f"{way}_s": round(statistics.median(taken), 3) for way, taken in seconds.items()}

    def ratio(one, other):
        pairs = zip(seconds[one], seconds[other], strict=True)
        return round(statistics.median(a / b for a, b in pairs), 2)

    return medians | {
        "rows_per_second": round(n_rows / statistics.median(seconds["delayed"])),
        "speedup_making_rows": ratio("chunks", "delayed"),
        "speedup_holding_rows": ratio("array", "persisted"),
    }


def main():
    """Parse the command line, measure and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=list(estimators(1)))
    parser.add_argument("--output", type=Results, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    wanted = arguments.only or list(estimators(1))
    kept = arguments.output.read({})
    result = kept if kept.get("rows") == arguments.rows else {"rows": arguments.rows, "speed": {}}
    for name, found in measure_speed(arguments.rows, arguments.repeats, wanted):
        found |= {"repeats": arguments.repeats, "load": round(os.getloadavg()[0], 1)}
        result["speed"][name] = found
        print(f"{name:11s} {found}", flush=True)
        arguments.output.write(result)


if __name__ == "__main__":
    main()
