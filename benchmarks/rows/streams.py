"""What persons in streams cost beside persons in a pandas frame: memory and processor time.

One Parquet file, one fit of a measure of persons, every way in a process of its own. Persons come
in the order of the file, which is random, except where a query sorts them. Memory is the peak of
the process less what it held after imports; time is that of all processors, reading included.
``python -m benchmarks.rows.streams --rows 4000000``
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.recording import Results, peak_bytes, run_alone

RESULTS = Results("streams")
N_FEATURES = 4
ROWS_EACH = 10  # of a person


def write_rows(path, n_rows):
    """Write rows of persons in random order, a block at a time."""
    import pyarrow
    from pyarrow import parquet

    rng, writer = np.random.default_rng(0), None
    for start in range(0, n_rows, 1 << 19):
        size = min(1 << 19, n_rows - start)
        table = {f"x{i}": rng.random(size) for i in range(N_FEATURES)}
        table = pyarrow.table(table | {"who": rng.integers(n_rows // ROWS_EACH, size=size)})
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def pandas_frame(path):
    """Return all rows in memory."""
    import pandas

    return pandas.read_parquet(path), "who"


def dataset_spilled(path):
    """Return a dataset, whose persons are brought together on disk."""
    import pyarrow.dataset

    return pyarrow.dataset.dataset(path), "who"


def lazy_spilled(path):
    """Return a lazy frame, whose persons are brought together on disk."""
    import polars

    return polars.scan_parquet(path), "who"


def duckdb_sorted(path):
    """Return a query that sorts by person, in little memory."""
    import duckdb

    from skdp_bary import SortedPersons

    database = duckdb.connect()
    database.execute("set memory_limit = '500MB'")
    database.execute("set threads = 2")
    duckdb_sorted.kept = database
    query = f"select * from read_parquet('{path}') order by who"
    return database.sql(query), SortedPersons("who")


WAYS = {way.__name__: way for way in (pandas_frame, dataset_spilled, lazy_spilled, duckdb_sorted)}


def alone(way, path, n_rows):
    """Fit once in this process, and print what it took."""
    import pyarrow.dataset  # noqa: F401  every way imports it, and may import more

    from skdp_bary import PrivateMeasure

    small = np.full((100, N_FEATURES), 0.5)
    measure = PrivateMeasure(bounds=(0, 1), method="haar", n_hint=n_rows // ROWS_EACH)
    measure.fit(small, groups=np.arange(100))
    before, begin = peak_bytes(), time.process_time()
    X, groups = WAYS[way](path)
    measure.fit(X, groups=groups)
    seconds = time.process_time() - begin
    print(json.dumps({"seconds": seconds, "bytes": peak_bytes() - before}))


def main():
    """Measure every way, and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--alone", nargs=2, metavar=("WAY", "PATH"))
    given = parser.parse_args()
    if given.alone:
        return alone(*given.alone, given.rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, given.rows)
        for way in WAYS:
            told = run_alone("benchmarks.rows.streams", "--rows", given.rows, "--alone", way, path)
            row = {"rows": given.rows, "way": way} | json.loads(told.splitlines()[-1])
            RESULTS.merge([row], ("rows", "way"))
            base = next(
                r
                for r in RESULTS.read([])
                if r["way"] == "pandas_frame" and r["rows"] == given.rows
            )
            print(
                f"{way:16} {row['seconds']:6.1f} s {row['seconds'] / base['seconds']:5.2f} x"
                f" {row['bytes'] / 1e6:6.0f} MB {row['bytes'] / base['bytes']:5.2f} x"
            )


if __name__ == "__main__":
    main()
