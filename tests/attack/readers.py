"""Files with odd lines: what is read of one line depends on that line alone."""

import tempfile
from pathlib import Path

from tests.queries.reader_trials import csv_trial, parquet_trial

from .promises import Promise, Trial, repeated, spawn


def read_odd_file(rng, trials=(csv_trial, parquet_trial)):
    """Read one odd file whole and line by line."""
    trial = trials[rng.integers(len(trials))]
    with tempfile.TemporaryDirectory() as folder:
        moved = trial(spawn(rng), Path(folder))
    return Trial(violation=f"{trial.__name__}: {moved} rows were moved" if moved else "")


PROMISE = Promise(
    "readers",
    "A row of a CSV or Parquet file is read from its own bytes alone",
    repeated(read_odd_file),
)
