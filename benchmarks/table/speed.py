"""CPU time and memory of a PrivateTable of forty columns, from one frame and from Dask partitions.

The table is drawn: 28 numbers, eleven columns of eight categories and a flag, all from four hidden
numbers. From Dask, every partition is made where it is counted, so that no table is held.

``python -m benchmarks.table.speed [--rows 1000000] [--partitions 0 10]``; 0 is one frame. Memory is
that of the whole process at its peak, so each setting is to be run by itself. At most `SAMPLED`
rows are sampled afterwards.
"""

import argparse
import resource
import time
import warnings

import numpy as np
import pandas as pd

from benchmarks.recording import Results
from skdp_bary import PrivateTable
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.schema import Boolean, Category, Number, Schema

RESULTS = Results("table_speed")
KEYS = ("rows", "partitions")
SAMPLED = 1_000_000
N_NUMBERS, N_CATEGORIES, LETTERS = 28, 11, list("abcdefgh")
SCHEMA = Schema(
    {f"x{i}": Number(-10, 10) for i in range(N_NUMBERS)}
    | {f"c{i}": Category(LETTERS, outside="refuse") for i in range(N_CATEGORIES)}
    | {"y": Boolean()}
)


def table(n_rows, seed=0):
    """Return rows of which all columns depend on four hidden numbers."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n_rows, 4))
    mix = np.random.default_rng(0).standard_normal((4, N_NUMBERS))
    numbers = hidden @ mix + rng.standard_normal((n_rows, N_NUMBERS))
    columns = {f"x{i}": numbers[:, i] for i in range(N_NUMBERS)}
    for i in range(N_CATEGORIES):
        codes = np.clip(2.0 * hidden[:, i % 4] + rng.standard_normal(n_rows) + 4.0, 0, 7)
        columns[f"c{i}"] = pd.Categorical.from_codes(codes.astype(int), LETTERS)
    label = hidden[:, 0] + hidden[:, 1] + 0.5 * rng.standard_normal(n_rows) > 0
    return pd.DataFrame(columns | {"y": label})


def source(n_rows, n_partitions):
    """Return one frame, or a Dask collection of frames that are made when they are read."""
    if not n_partitions:
        return table(n_rows)
    import dask.dataframe as dd

    made = dd.from_map(table, [n_rows // n_partitions] * n_partitions, range(n_partitions))
    return made


def main():
    """Measure what is not yet there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--partitions", nargs="+", type=int, default=[0, 10])
    given = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    for n_partitions in given.partitions:
        rows = source(given.rows, n_partitions)
        walls, began = time.perf_counter(), time.process_time()
        model = PrivateTable(SCHEMA, "y").fit(rows)
        found = dict(zip(KEYS, (given.rows, n_partitions), strict=True))
        found["cpu_seconds"] = round(time.process_time() - began, 1)
        found["seconds"] = round(time.perf_counter() - walls, 1)
        found["peak_gb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)
        began = time.process_time()
        model.sample(min(given.rows, SAMPLED))
        found["sample_cpu_seconds"] = round(time.process_time() - began, 1)
        RESULTS.merge([found], KEYS)
        print(found, flush=True)


if __name__ == "__main__":
    main()
