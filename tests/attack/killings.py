"""Processes killed while they charge: what was released was charged, and the file opens."""

import tempfile
from pathlib import Path

from tests.privacy.test_ledger_crash import Killings, pace_of

from .promises import Promise, Trial, first_line

_PER_LEDGER = 25  # opening a ledger reads all of its entries


def kill_again_and_again(rng):
    """Yield one killed process after the other, some of them on one ledger."""
    while True:
        with tempfile.TemporaryDirectory() as folder:
            pace = pace_of(Path(folder))
            with Killings(Path(folder) / "budget.db") as killings:
                for _ in range(_PER_LEDGER):
                    try:
                        killings.kill_one(rng.uniform(0.0, 4.0) * pace, rng.random() < 0.5)
                    except AssertionError as failure:
                        yield Trial(violation=first_line(failure))
                        break
                    yield Trial()


PROMISE = Promise(
    "kill -9",
    "Whatever a killed process released was charged, and its ledger can still be opened",
    kill_again_and_again,
)
