"""Time and memory of counting and of a whole private fit, beside numpy.histogram2d in one run.

10**7 points of the plane and 1024 x 1024 leaf cells for all. Goals: counting in chunks at most 0.3
times numpy.histogram2d, the whole fit with exact noise on all 20 levels at most 0.6 times, and peak
memory, in processes of their own, under 1.3 times the input (of 0.16 GB; rows included, imports
not). Of the peak of the fit, the released measure of a million atoms is 0.21 times the input.
``python -m benchmarks.measure.speed [peaks]``; with ``peaks`` memory alone is measured anew, which
does not depend on what else the machine does.
"""

import sys
import time

import numpy as np

from benchmarks.recording import Results, peak_bytes, run_alone
from skdp_bary import PrivateMeasure
from skdp_bary.desk.counting import collect
from skdp_bary.geometry import Box
from skdp_bary.geometry.cells import CellTree
from skdp_bary.queries.cells import HaarDifferences
from skdp_bary.rows.opening import Rows, open_source

RESULTS = Results("measure_speed")
N, DEPTH, SIDE = 10**7, 20, 1024
PEAKS = ("peak_count", "peak_fit")
GOALS = {"count": 0.3, "count_chunks": 0.3, "fit": 0.6, "peak_count": 1.3, "peak_fit": 1.3}


def make_rows(n=N):
    """Return the points, as one array."""
    return np.random.default_rng(0).random((n, 2))


def count(rows):
    """Count all rows into the leaves."""
    tree = CellTree(Box([0.0, 0.0], [1.0, 1.0]), DEPTH)
    return collect(HaarDifferences(tree), Rows(open_source(rows)))


def fit(X, depth=DEPTH):
    """Fit with exact noise on all levels."""
    return PrivateMeasure(1.0, bounds=(0, 1), depth=depth, n_hint=len(X)).fit(X)


def timed(function, *arguments, repeats=3):
    """Return the smallest time of several calls."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - begin)
    return min(times)


def peak_of(task):
    """Return peak memory, rows included, above that without rows, per byte of input."""
    return float(run_alone(__spec__.name, task))


def report_peak(task):
    """Run one task and print its peak; a first tiny fit loads what is imported lazily."""
    fit(make_rows(10), depth=1)
    before = peak_bytes()
    X = make_rows()
    {"peak_count": count, "peak_fit": fit}[task](X)
    print((peak_bytes() - before) / X.nbytes)


def record_peaks():
    """Measure memory anew and keep it beside the times that there are."""
    result = RESULTS.read(None)
    result["ratios"] |= {task: peak_of(task) for task in PEAKS}
    RESULTS.write(result)


def main():
    X = make_rows()
    chunks = np.array_split(X, 23)
    box = [[0, 1], [0, 1]]
    seconds = {
        "histogram2d": timed(np.histogram2d, X[:, 0], X[:, 1], SIDE, box),
        "count": timed(count, X),
        "count_chunks": timed(count, chunks),
        "fit": timed(fit, X),
    }
    ratios = {name: value / seconds["histogram2d"] for name, value in seconds.items()}
    ratios |= {task: peak_of(task) for task in PEAKS}
    for name, value in seconds.items():
        print(f"{name:14} {value:7.3f} s {ratios[name]:6.3f}x  goal {GOALS.get(name, '')}")
    for task in PEAKS:
        print(f"{task:14} {ratios[task]:17.3f}x  goal {GOALS[task]}")
    result = {"rows": N, "goals": GOALS, "seconds": seconds, "ratios": ratios}
    RESULTS.write(result)


if __name__ == "__main__":
    if sys.argv[1:] == ["peaks"]:
        record_peaks()
    elif sys.argv[1:]:
        report_peak(sys.argv[1])
    else:
        main()
