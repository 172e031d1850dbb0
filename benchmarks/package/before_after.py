"""Time and memory of the same work by an earlier version of the package and by this one.

Both run in fresh processes, in turn; the least processor time of each counts, and the peak of
memory above what the imports and the rows hold. Where there are two sizes, they give the exponent
with which the time grows.

``python -m benchmarks.package.before_after EARLIER [CASE ...]``, where EARLIER is a folder that
holds the package of an earlier version, for example unpacked by ``git archive VERSION skdp_bary``.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
REPEATS = 3
DRAWS = 50_000


def crowd(n):
    """Return rows around forty places in the unit square."""
    rng = np.random.default_rng(0)
    places = rng.random((40, 2))[rng.integers(0, 40, n)]
    return np.clip(places + 0.03 * rng.standard_normal((n, 2)), 0.0, 1.0)


def heatmap(n):
    """Return the work of fitting a default heatmap."""
    from skdp_bary import PrivateEMDHeatmap

    X = crowd(n)
    model = PrivateEMDHeatmap(bounds=([0.0, 0.0], [1.0, 1.0]), random_state=0)
    model.fit(X[:1000])  # imports what a first fit imports
    return X.nbytes, lambda: model.fit(X)


def draws(law):
    """Return a case of drawing noise: its n is the logarithm of the scale."""

    def prepare(n):
        from skdp_bary.privacy.noise import noise_generator

        draw = getattr(noise_generator(), law)
        draw(2.0**27, 3 * DRAWS)  # makes the tables, and memory is at hand
        return 8 * DRAWS, lambda: draw(2.0**n, DRAWS)

    return prepare


def persons(text):
    """Return a case of counting check-ins of ten a person in 4096 cells, shared by person."""

    def prepare(n):
        from skdp_bary.desk.counting import collect
        from skdp_bary.geometry import Box
        from skdp_bary.rows.opening import Rows, open_source

        rng, square = np.random.default_rng(0), Box([0.0, 0.0], [1.0, 1.0])
        X, ids = rng.random((n, 2)), rng.permutation(np.repeat(np.arange(n // 10), 10))
        if text:
            ids = np.array([f"person-{i:07d}" for i in ids], dtype=object)
        query = cell_counts(square)

        def count(rows):
            source = open_source(X[:rows], groups=ids[:rows], mass_bounds=square)
            return collect(query, Rows(source))

        count(70_000)  # imports
        return X.nbytes + ids.nbytes, lambda: count(n)

    return prepare


def cell_counts(square):
    """Return the query for the mass in 4096 cells, by the name that a version gives to it."""
    from skdp_bary.queries import cells as kept

    grid, cells = kept.QuadGrid(square, 16), (kept.Partition.complete(16, 6),)
    if hasattr(kept, "PartitionCounts"):  # before divisions of all kinds had one query
        return kept.PartitionCounts(grid, cells, 1 << 20)
    from skdp_bary.queries.cells import DisjointCounts, GridDivision

    return DisjointCounts(GridDivision(grid, cells), 1 << 20)


def generator(n):
    """Return the work of fitting a generator to rows as wide as small images."""
    from skdp_bary import PrivateGenerator

    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, n)
    X = np.clip(rng.random((10, 784))[y] + 0.2 * rng.standard_normal((n, 784)), 0.0, 1.0)
    model = PrivateGenerator(delta=1e-6, bounds=(0, 1), classes=range(10), n_hint=n, random_state=0)
    model.fit(X[:100, :2], y[:100])  # imports
    return X.nbytes, lambda: model.fit(X, y)


def small_kmeans(n):
    """Return the work of twenty fits of few rows, as a grid search makes many of."""
    from skdp_bary import PrivateKMeans

    X = np.clip(0.1 * np.random.default_rng(0).standard_normal((n, 2)) + 0.5, 0.0, 1.0)
    model = PrivateKMeans(5, bounds=(0, 1), random_state=0).fit(X)  # imports
    return X.nbytes, lambda: [model.fit(X) for _ in range(20)]


CASES = {
    "small_kmeans": (small_kmeans, (100,)),
    "persons": (persons(text=False), (10**5, 10**6)),
    "persons_text": (persons(text=True), (10**5, 10**6)),
    "generator": (generator, (10_000, 60_000)),
    "heatmap": (heatmap, (10**5, 10**6)),
    "discrete_laplace": (draws("discrete_laplace"), (30, 36, 45)),
    "rounded_gaussian": (draws("rounded_gaussian"), (30, 36, 45)),
}


def resident(key):
    """Return the present or the largest memory of this process (VmRSS, VmHWM), on Linux."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split(f"{key}:")[1].split()[0])


def measure(case, n):
    """Do the work once and print its time, its peak of memory and the size of its input."""
    warnings.simplefilter("ignore")
    size, work = CASES[case][0](n)
    held = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    start = time.process_time()
    work()
    seconds = time.process_time() - start
    print(json.dumps({"seconds": seconds, "peak": resident("VmHWM") - held, "input": size}))


def run(folder, case, n):
    """Return what `measure` prints, with the package of the given folder."""
    environment = os.environ | {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    environment["OPENBLAS_NUM_THREADS"] = "1"
    command = [sys.executable, __file__, "--measure", case, str(n)]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def compare(earlier, case, n):
    """Return a line of results."""
    runs = {"before": [], "after": []}
    for _ in range(REPEATS):
        runs["before"].append(run(earlier, case, n))
        runs["after"].append(run(ROOT, case, n))
    line = {"case": case, "n": n, "input_bytes": runs["after"][0]["input"]}
    for side, found in runs.items():
        line[f"seconds_{side}"] = round(min(one["seconds"] for one in found), 4)
        line[f"peak_{side}"] = min(one["peak"] for one in found)
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("earlier", nargs="?")
    parser.add_argument("cases", nargs="*", default=list(CASES))
    parser.add_argument("--measure", nargs=2)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure[0], int(arguments.measure[1]))
        return
    from benchmarks.recording import Results

    for case in arguments.cases:
        for n in CASES[case][1]:
            line = compare(Path(arguments.earlier).resolve(), case, n)
            print(line)
            Results("before_after").merge([line], ("case", "n"))


if __name__ == "__main__":
    main()
