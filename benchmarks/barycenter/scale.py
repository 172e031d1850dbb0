"""A barycenter of ten million rows: one array, chunks, and a Dask cluster of processes.

The same people of three classes are read as one array, as chunks that are made when they are asked
for, and as a Dask array whose chunks are made on the workers of a local cluster. Fits with the same
seed must find the same support, bit for bit. Each way runs in a process of its own; reported are
the seconds of the fit (which makes the rows, except for the array) and peak memory above that after
a tiny fit, of the process and of the largest worker.

    python -m benchmarks.barycenter.scale [--rows 10000000]
"""

import argparse
import hashlib
import json
import os
import time
import warnings

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

from benchmarks.recording import Results, peak_bytes, run_alone  # noqa: E402
from skdp_bary import PrivateWassersteinBarycenter  # noqa: E402
from skdp_bary.datasets import COUNTRY_BOUNDS, make_population  # noqa: E402
from skdp_bary.exceptions import PrivacyWarning  # noqa: E402

RESULTS = Results("barycenter_scale")
CHUNK = 250_000
WAYS = ("array", "chunks", "dask")


def make_chunk(number, n_rows):
    """Return the people of one chunk as one array: position and class."""
    X, y = make_population(n_rows, random_state=number)
    return np.column_stack([X, y])


def chunk_sizes(n_rows):
    """Return the number of rows of every chunk."""
    whole, rest = divmod(n_rows, CHUNK)
    return [CHUNK] * whole + [rest] * (rest > 0)


def as_array(n_rows):
    """Return all rows and labels as arrays."""
    X, y = np.empty((n_rows, 2)), np.empty(n_rows, dtype=int)
    for number, size in enumerate(chunk_sizes(n_rows)):
        place = slice(number * CHUNK, number * CHUNK + size)
        people = make_chunk(number, size)
        X[place], y[place] = people[:, :2], people[:, 2]
    return X, y


def as_chunks(n_rows):
    """Return a function that makes the chunks one after the other, and no labels beside them."""

    def chunks():
        for number, size in enumerate(chunk_sizes(n_rows)):
            people = make_chunk(number, size)
            yield people[:, :2], people[:, 2].astype(int)

    return chunks, None


def as_dask(n_rows):
    """Return rows and labels as Dask arrays; nothing is made before a worker asks."""
    import dask
    import dask.array as da

    make = dask.delayed(make_chunk)
    people = da.concatenate(
        [
            da.from_delayed(make(number, size), (size, 3), dtype=float)
            for number, size in enumerate(chunk_sizes(n_rows))
        ]
    )
    return people[:, :2], people[:, 2].astype(int)


def fit(X, y, n_rows):
    """Return a model fitted with a fixed seed."""
    warnings.simplefilter("ignore", PrivacyWarning)
    return PrivateWassersteinBarycenter(
        n_atoms=12,
        n_init=1,
        classes=[0, 1, 2],
        bounds=COUNTRY_BOUNDS,
        n_hint=n_rows,
        random_state=0,
    ).fit(X, y)


def peak_memory():
    """Return the peak of this process in megabytes, on Linux."""
    return peak_bytes() / 2**20


def measure(way, n_rows):
    """Fit one way and return what is reported."""
    fit(*as_array(100), 100)  # loads what is imported lazily
    before = peak_memory()
    X, y = {"array": as_array, "chunks": as_chunks, "dask": as_dask}[way](n_rows)
    start = time.perf_counter()
    model = fit(X, y, n_rows)
    seconds = time.perf_counter() - start
    return {
        "seconds": round(seconds, 2),
        "peak_mb": round(peak_memory() - before, 1),
        "support": hashlib.sha256(model.support_.tobytes()).hexdigest(),
    }


def measure_on_cluster(n_rows):
    """Fit on a cluster of processes on this machine."""
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        client.run(lambda: fit(*as_array(100), 100) and None)
        before = client.run(peak_memory)
        found = measure("dask", n_rows)
        after = client.run(peak_memory)
    found["peak_worker_mb"] = round(max(after[key] - before[key] for key in after), 1)
    return found


def child(way, n_rows):
    """Measure one way and print it as JSON."""
    found = measure_on_cluster(n_rows) if way == "dask" else measure(way, n_rows)
    print(json.dumps(found))


def main():
    """Parse the command line and run all ways, one process after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--child", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Results, default=RESULTS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.rows)
        return
    result = {"rows": arguments.rows, "input_mb": round(arguments.rows * 24 / 2**20, 1)}
    for way in WAYS:
        out = run_alone(__spec__.name, "--child", way, "--rows", arguments.rows)
        result[way] = json.loads(out.splitlines()[-1])
        print(f"{way:7s} {result[way]}", flush=True)
    result["same_support"] = len({result[way]["support"] for way in WAYS}) == 1
    print(f"the same support: {result['same_support']}")
    arguments.output.write(result)


if __name__ == "__main__":
    main()
