"""How much reading CSV line by line costs beside Arrow's reader, which looks at no line alone.

Goal: at most 1.5 times the time of ``pyarrow.csv``, whole or in a stream, whichever is faster, for
the same columns with the same types. The ways take turns and the smallest time of each counts, on
the clock and in seconds of all processors, which other programs on the machine change less.

``python -m benchmarks.rows.csv_reader --rows 10000000 --repeats 3``
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import csv

from benchmarks.recording import Results
from skdp_bary.cli.readers import CsvFile

RESULTS = Results("csv_reader")
GOAL = 1.5
LINES = {
    "numbers": "{lon!r},{lat!r}\n",
    "persons": "u{person},{lon!r},{lat!r},east\n",
    "quoted": '"u{person}",{lon!r},{lat!r},"east, far"\n',
}
NAMES = {"numbers": "lon,lat\n", "persons": "user,lon,lat,town\n", "quoted": "user,lon,lat,town\n"}


def write_rows(path, kind, n_rows):
    """Write a table of places of persons with three rows each."""
    places = np.random.default_rng(0).normal(size=(n_rows, 2)).tolist()
    with path.open("w") as file:
        file.write(NAMES[kind])
        for i, (lon, lat) in enumerate(places):
            file.write(LINES[kind].format(person=i // 3, lon=lon, lat=lat))


def ways(path, texts):
    """Return functions that read the table and return how many rows it has."""
    types = {"lon": pyarrow.float64(), "lat": pyarrow.float64()}
    types |= dict.fromkeys(texts, pyarrow.string())
    options = csv.ConvertOptions(column_types=types, include_columns=list(types))
    return {
        "arrow": lambda: csv.read_csv(path, convert_options=options).num_rows,
        "arrow_stream": lambda: sum(
            batch.num_rows for batch in csv.open_csv(path, convert_options=options)
        ),
        "line_by_line": lambda: sum(
            len(batch.X) for batch in CsvFile(str(path)).batches(["lon", "lat"], texts)
        ),
    }


def timed(read, n_rows):
    """Return the seconds that a way takes, on the clock and of all processors."""
    begin = time.perf_counter(), time.process_time()
    if read() != n_rows:
        raise RuntimeError("another number of rows was read")
    return time.perf_counter() - begin[0], time.process_time() - begin[1]


def compared(times):
    """Return the smallest times of every way, and how ours compares with the faster of Arrow's."""
    table = {}
    for place, suffix in enumerate(("", "_cpu")):
        least = {name: min(pair[place] for pair in taken) for name, taken in times.items()}
        ratio = least["line_by_line"] / min(least["arrow"], least["arrow_stream"])
        table |= {f"{name}{suffix}": round(seconds, 3) for name, seconds in least.items()}
        table[f"ratio{suffix}"] = round(ratio, 2)
    return table


def measure(kind, n_rows, repeats):
    """Return the seconds of every way, and how ours compares with the faster of Arrow's."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        write_rows(path, kind, n_rows)
        size = path.stat().st_size
        texts = ["user"] if "user" in NAMES[kind] else []
        times = {}
        for _ in range(repeats):
            for name, read in ways(path, texts).items():
                times.setdefault(name, []).append(timed(read, n_rows))
    table = {"kind": kind, "rows": n_rows, "megabytes": round(size / 1e6)}
    return table | compared(times) | {"goal": GOAL}


def main():
    """Measure every kind of table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--kinds", nargs="+", choices=list(LINES), default=list(LINES))
    arguments = parser.parse_args()
    for kind in arguments.kinds:
        found = measure(kind, arguments.rows, arguments.repeats)
        print(found)
        RESULTS.merge([found], ("kind", "rows"))


if __name__ == "__main__":
    main()
