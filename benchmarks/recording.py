"""Where benchmarks keep what they measure, and how they measure a process of its own.

A benchmark reads what an earlier run has kept, measures what is missing, and writes after every
cell: a run that is stopped loses one cell, and a second run goes on where it was.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks" / "results"


class Results:
    """One file of results.

    Parameters
    ----------
    name : str
        Name of a file in ``benchmarks/results``, or the path of one that ends in ``.json``.
    """

    def __init__(self, name):
        self.path = Path(name) if str(name).endswith(".json") else FOLDER / f"{name}.json"

    def read(self, default):
        """Return what is kept, or `default` before the first run."""
        return json.loads(self.path.read_text()) if self.path.exists() else default

    def write(self, results):
        """Keep `results`: a list with one row a line, anything else indented.

        The file is whole at any time, also for another process that reads it.
        """
        if isinstance(results, list):
            text = "[\n" + ",\n".join(json.dumps(row) for row in results) + "\n]\n"
        else:
            text = json.dumps(results, indent=1) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(f".{os.getpid()}.draft")
        draft.write_text(text)
        draft.replace(self.path)

    def merge(self, rows, keys):
        """Keep `rows` beside the earlier ones; a row with the same `keys` takes the place of it."""
        fresh = {tuple(row[key] for key in keys): row for row in rows}
        # Earlier rows that agree in these keys only among themselves all stay.
        kept = [fresh.pop(tuple(row[key] for key in keys), row) for row in self.read([])]
        self.write([*kept, *fresh.values()])


def run_alone(module, *arguments):
    """Run a benchmark's module in a process of its own and return what it prints."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def run_elsewhere(folder, file, *arguments):
    """Run a benchmark's file with the package of a folder, and return the JSON that it prints."""
    command = [sys.executable, file, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def record_beside_earlier(file, name, works, lines, earlier):
    """Measure every work with this package and with an earlier one, and keep what was found.

    Parameters
    ----------
    file : str
        The benchmark, which prints the measurements of one work as JSON: ``--measure WORK``.
    name : str
        Of the results.
    works : iterable of str
    lines : callable
        ``lines(work, now, before)`` returns the lines of the table of speed.
    earlier : str or None
        Folder of an earlier package; None: measure this one alone.
    """
    for work in works:
        before = run_elsewhere(earlier, file, "--measure", work) if earlier else None
        now = run_elsewhere(ROOT, file, "--measure", work)
        print(work, {"before": before, "now": now}, flush=True)
        Results(name).merge([{"work": work, "now": now, "before": before}], ("work",))
        Results("speed").merge(lines(work, now, before), ("work", "peer"))


def speed_line(work, peer, ratios, source):
    """Return a line of the table of speed about a whole fit.

    Parameters
    ----------
    work, peer : str
    ratios : tuple of float or None
        Times of the peer over ours, now and with an earlier package.
    source : str
        The benchmark.
    """
    now, before = (None if ratio is None else round(ratio, 3) for ratio in ratios)
    return {
        "work": f"whole fit, {work}",
        "peer": peer,
        "ratio": now,
        "before": before,
        "growth": None,
        "from": source,
    }


def peak_bytes():
    """Return the peak memory of this process, on Linux.

    ``resource.getrusage`` would count what the parent held when it started this process.
    """
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])
