"""Attack the package for some minutes: ``python -m tests.attack --minutes 10``."""

import argparse
import json
import platform
import secrets
import sys
import time
from dataclasses import asdict
from datetime import date
from importlib.metadata import version
from pathlib import Path

import skdp_bary

from .suite import PROMISES, run_in_processes

_LIBRARIES = ("numpy", "scipy", "scikit-learn")


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


def versions():
    """Return the date, and what was attacked with which versions."""
    return {
        "date": date.today().isoformat(),
        "skdp_bary": skdp_bary.__version__,
        "python": platform.python_version(),
    } | {name: version(name) for name in _LIBRARIES}


def table(found):
    """Return a table of text, followed by every violation in words."""
    lines = found["lines"]
    width = max((len(line["promise"]) for line in lines), default=20)
    rows = [f"{'promise':<{width}} {'trials':>9} {'worst realized/stated':>22} {'violations':>11}"]
    said = None
    for line in lines:
        if line["subject"] and line["promise"] != said:
            rows.append(line["promise"])
        said = line["promise"]
        label = f"    {line['subject']}" if line["subject"] else said
        worst = "" if line["worst"] is None else f"{line['worst']:.6f}"
        rows.append(f"{label:<{width}} {line['trials']:>9,} {worst:>22} {line['violations']:>11}")
    rows += [f"VIOLATION  {line['promise']}: {text}" for line in lines for text in line["texts"]]
    trials = sum(line["trials"] for line in lines)
    violations = sum(line["violations"] for line in lines)
    summary = f"{trials:,} trials in {found['minutes']} minutes, {violations} violations"
    return "\n".join([*rows, f"{summary} (seed {found['seed']})"])


if __name__ == "__main__":
    sys.exit(main())
