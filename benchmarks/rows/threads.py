"""Wall time of counting in two threads, over that in one, for a question of every family.

Sides take turns, and the least time of each counts; a turn begins when no other program wants the
processors, as far as Linux tells, and otherwise the line says how busy the machine was. First comes
what the machine itself allows: two processes that share nothing, each with half of some products,
over one that makes them all.
``python -m benchmarks.rows.threads [--rows 1000000] [FAMILY ...]``
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np

from benchmarks.recording import Results
from skdp_bary.desk.counting import collect, keep_freed_memory, one_blas_thread
from skdp_bary.geometry import Box
from skdp_bary.geometry.cells import CellTree
from skdp_bary.geometry.lattices import SliceLattice, public_directions
from skdp_bary.queries.cells import LevelCounts
from skdp_bary.queries.clusters import ClippedMeans
from skdp_bary.queries.frames import Frame, Gram
from skdp_bary.queries.power_cells import CellSpreads
from skdp_bary.queries.sizes import Moments
from skdp_bary.queries.slices import ProjectedHistogram
from skdp_bary.rows.opening import Rows, open_source

THREADS = 2
TURNS = 8
PATIENCE = 10.0


def box(width):
    """Return the box from -1 to 1."""
    return Box(np.full(width, -1.0), np.full(width, 1.0))


def frame(width):
    """Return integer rows about the center."""
    return Frame(box(width), np.zeros(width), 16)


def directions(width, n_directions):
    """Return a lattice of projections."""
    return SliceLattice(box(width), public_directions("tight", n_directions, width))


class Levels(ProjectedHistogram):
    """Histograms of projections, of which nothing is asked."""

    shape = (1,)

    def _answer(self, histogram, mass):
        return np.zeros(1), 1

    def _change(self):
        return 1.0, 1.0


def points(n_points, width):
    """Return places that rows are assigned to."""
    return np.random.default_rng(1).uniform(-1, 1, (n_points, width))


def cells(n_atoms, width):
    """Return a question about the cells of atoms."""
    atoms = points(n_atoms, width)
    return CellSpreads(atoms, np.zeros((1, n_atoms)), atoms[None], 1.0)


FAMILIES = {
    "k-means, 10 features": (
        10,
        lambda: ClippedMeans(frame(10), points(16, 10), np.ones(16), (1.0, 1.0)),
    ),
    "k-means, 2 features": (
        2,
        lambda: ClippedMeans(frame(2), points(16, 2), np.ones(16), (1.0, 1.0)),
    ),
    "principal axes, 50 features": (50, lambda: Gram(frame(50), 5.0)),
    "barycenter and measure, counts": (2, lambda: LevelCounts(CellTree(box(2), 14))),
    "barycenter, cells of 64 atoms": (2, lambda: cells(64, 2)),
    "generator, second moments": (50, lambda: Moments(np.zeros((1, 50)), 5.0, second="pooled")),
    "sliced, 50 directions": (10, lambda: Levels(directions(10, 50))),
}


PRODUCTS = """
import os, sys, time
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np
A = np.random.default_rng(0).random((700, 700))
A @ A
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    for _ in range(int(line)):
        A @ A
    print(time.perf_counter() - start, flush=True)
"""


def ceiling():
    """Return how much faster two processes that share nothing are than one, for the same work."""
    command = [sys.executable, "-c", PRODUCTS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(command, **pipes) for _ in range(THREADS)]
    assert all(each.stdout.readline() == "ready\n" for each in both)
    walls, busy = {1: [], THREADS: []}, []
    for _ in range(TURNS):
        for some in (both[:1], both):
            busy.append(wait_for_quiet())
            for each in some:
                print(24 // len(some), file=each.stdin, flush=True)
            walls[len(some)].append(max(float(each.stdout.readline()) for each in some))
    for each in both:
        each.communicate()
    return line("products in processes that share nothing: the ceiling", 700, 700, walls, busy)


def wait_for_quiet():
    """Wait until nobody else runs, at most a while; return how many others do."""
    end = time.perf_counter() + PATIENCE
    while True:
        others = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0]) - 1
        if not others or time.perf_counter() > end:
            return others
        time.sleep(0.02)


def measure(family, n_rows):
    """Return the line of a family."""
    width, make = FAMILIES[family]
    X = np.random.default_rng(0).uniform(-1, 1, (n_rows, width))
    rows, query = Rows(open_source(X)), make()
    walls, busy, answers = {1: [], THREADS: []}, [], {}
    keep_freed_memory()  # as in a fit
    for turn in range(TURNS + 1):
        for n_threads in walls:
            busy.append(wait_for_quiet())
            with joblib.parallel_config("threading", n_jobs=n_threads), one_blas_thread():
                start = time.perf_counter()
                answers[n_threads] = collect(query, rows).exact_blocks()
                if turn:
                    walls[n_threads].append(time.perf_counter() - start)
    alone, together = answers.values()
    assert all((a == b).all() for a, b in zip(alone, together, strict=True))
    return line(family, n_rows, width, walls, busy)


def line(family, n_rows, width, walls, busy):
    """Return a line of results from the wall times of one and of two."""
    one, two = (min(times) for times in walls.values())
    return {
        "family": family,
        "rows": n_rows,
        "features": width,
        "one_thread": round(one, 4),
        "two_threads": round(two, 4),
        "times_faster": round(one / two, 2),
        "others_running": round(float(np.median(busy)), 1),
    }


def main():
    """Measure and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--rows", type=int, default=10**6)
    arguments = parser.parse_args()
    results, most = Results("threads"), ceiling()
    print(most, flush=True)
    results.merge([most], ("family", "rows"))
    for family in arguments.families:
        found = measure(family, arguments.rows)
        print(found, flush=True)
        results.merge([found], ("family", "rows"))
        row = {
            "work": f"counting, {family}, {found['rows']:,} rows, two cores (wall time)",
            "peer": f"one core (independent processes reach {most['times_faster']})",
            "ratio": found["times_faster"],
            "before": 1.0,
            "growth": None,
            "from": "rows/threads",
        }
        Results("speed").merge([row], ("work",))


if __name__ == "__main__":
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.pop(_name, None)
    main()
