"""Results of the benchmarks, and tables of the documentation made of them."""

import csv
import json
from pathlib import Path

DOC = Path(__file__).parents[1]
RESULTS = DOC.parent / "benchmarks" / "results"


def read(name):
    """Return the results of a benchmark, or nothing if it has not been run."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else []


def write_table(name, header, rows):
    """Write one table as comma-separated values."""
    folder = DOC / "tables"
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
