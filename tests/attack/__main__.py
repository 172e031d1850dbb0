"""Attack the package for some minutes: ``python -m tests.attack --minutes 10``."""

import argparse
import json
import secrets
import sys
import time
from dataclasses import asdict
from pathlib import Path

from .report import table, versions
from .suite import PROMISES
from .workers import run_in_processes


def main(arguments=None):
    """Run the attacks, print the table and return the exit status: 1 after a violation."""
    options = _parser().parse_args(arguments)
    names = options.only or list(PROMISES)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    begin = time.perf_counter()
    lines = run_in_processes(names, options.minutes, options.workers, seed)
    minutes = round((time.perf_counter() - begin) / 60, 1)
    found = versions() | {
        "minutes": minutes,
        "workers": options.workers,
        "seed": seed,
        "lines": [asdict(line) for line in lines],
    }
    sys.stdout.write(table(found) + "\n")
    if options.record is not None:
        options.record.write_text(json.dumps(found, indent=1) + "\n")
    return int(any(line.violations for line in lines))


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m tests.attack", description="Try to break what the package promises."
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    parser.add_argument(
        "--seed", type=int, default=None, help="of all trials (default: another one each time)"
    )
    parser.add_argument("--only", nargs="+", choices=list(PROMISES), help="these attacks alone")
    parser.add_argument("--record", type=Path, help="write what was found to this file, as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
