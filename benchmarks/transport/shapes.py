"""Exact transport to 48 atoms on points of many shapes, beside POT and an earlier version.

    python -m benchmarks.transport.shapes --data DIR [--before FOLDER] [--out FILE] [--table FILE]
        [--parts peers growth powers memory] [--shapes tight40 mix ...]

The sides are processes that stay, each with one thread; they take turns on the same points, and
what is compared is processor time of the whole public call, certificate and sparse plan included,
without loading code. Ratios are medians over three rounds. "growth" measures 100 000 and a million
points in turn and says what power of the number of points the time grows with; "powers" compares
p = 1 with p = 2; "memory" is what the process grows by beyond the measure, over the bytes of its
points. Parts that are not run keep what --out holds.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

# An earlier version comes first, if there is one.
sys.path.append(str(Path(__file__).parents[2]))

import numpy as np  # noqa: E402

N_ATOMS = 48
GOALS = {5_000: 4, 20_000: 25, 50_000: 45}  # points, and how many times faster than POT
ROUNDS = 3
MIDDLE = 20_000  # points, in the table of all work
GROWTH = [100_000, 1_000_000]
SHAPES = {
    "tight40": "40 tight clusters",
    "tight48": "48 tight clusters",
    "tight100": "100 tight clusters",
    "mix": "mixture",
    "grid": "coarse grid, many equal points",
    "grid_big": "fine grid, many ties",
    "dup200": "200 places",
    "line": "a line",
    "unequal": "very unequal masses",
    "far": "one atom far away",
    "us": "US census areas",
    "images": "images, 784 pixels",
    "mix8": "mixture in 8 dimensions",
    "mix16": "mixture in 16 dimensions",
}
GROWING = ("tight40", "tight48", "tight100", "mix", "grid_big", "dup200", "line", "unequal", "far")


def load(shape, n, folder, seed=1):
    """Return points, masses and atoms of equal mass."""
    rng = np.random.default_rng(seed)
    weights = np.full(n, 1 / n)
    if shape.startswith("tight"):
        centers = 10.0 * rng.random((int(shape[5:]), 2))
        parts = rng.choice(len(centers), n, p=rng.dirichlet(np.ones(len(centers))))
        points = centers[parts] + 0.02 * rng.standard_normal((n, 2))
    elif shape == "grid":
        points = rng.integers(0, 60, (n, 2)).astype(float)
    elif shape == "grid_big":
        side = int(np.ceil(np.sqrt(n)))
        points = np.argwhere(np.ones((side, side)))[:n].astype(float)
    elif shape == "dup200":
        points = rng.random((200, 2))[rng.integers(0, 200, n)]
    elif shape == "line":
        points = np.column_stack([rng.random(n), np.zeros(n)])
    elif shape == "us":
        points = us_rows(n, folder, rng)
    elif shape == "images":
        with np.load(Path(folder) / "mnist.npz") as file:
            images = file["x_train"] if "x_train" in file else file[file.files[0]]
        images = images.reshape(len(images), -1)
        points = images[rng.choice(len(images), n, replace=False)] / 255.0
    else:
        d = int(shape[3:]) if shape.startswith("mix") and shape != "mix" else 2
        centers = np.zeros((4, d))
        centers[:, :2] = [[0.25, 0.25], [0.25, -0.25], [-0.25, 0.25], [-0.25, -0.25]]
        points = centers[rng.integers(0, 4, n)] + 0.5 * rng.standard_normal((n, d))
    atoms = points[rng.choice(n, N_ATOMS, replace=False)]
    if shape == "unequal":
        weights = rng.pareto(1.1, n) + 1e-3
        weights /= weights.sum()
    if shape == "far":
        atoms = atoms + np.eye(N_ATOMS)[0][:, None] * 1e4
    return points, weights, atoms


def us_rows(n, folder, rng):
    """Return people at the centers of their census areas, drawn by population."""
    import pandas as pd

    table = pd.read_csv(Path(folder) / "us_tracts_2010_pop.csv.gz")
    people = table["total_pop"].to_numpy(dtype=float)
    chosen = rng.choice(len(table), n, p=people / people.sum())
    return table[["lon", "lat"]].to_numpy()[chosen]


def ours(points, weights, atoms, p):
    """Return processor seconds, cost, relative gap and memory over points of this package."""
    from skdp_bary.transport import DiscreteMeasure, solve_semidiscrete

    start = time.process_time()
    measure = DiscreteMeasure(points, weights)
    before = resident()
    result = solve_semidiscrete(measure, DiscreteMeasure(atoms), p=p)
    grown = (resident() - before) / points.nbytes
    return time.process_time() - start, result.cost, result.gap / result.cost, grown


def pot(points, weights, atoms, p):
    """Return processor seconds and cost of POT's network simplex, no gap and no memory."""
    import ot

    start = time.process_time()
    costs = ot.dist(points, atoms, metric="sqeuclidean" if p == 2 else "euclidean")
    cost = ot.emd2(weights, np.full(N_ATOMS, 1 / N_ATOMS), costs, numItermax=10**9)
    return time.process_time() - start, float(cost), 0.0, None


def resident():
    """Return the largest memory of this process so far, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def serve(who, folder):
    """Answer requests, a line of JSON each, until there are no more."""
    solve = pot if who == "pot" else ours
    solve(*load("mix", 50_000 if who != "pot" else 100, folder), 2)  # compiles and loads code
    for line in sys.stdin:
        shape, n, p = json.loads(line)
        problem = load(shape, n, folder)
        seconds, cost, gap, grown = solve(*problem, p)
        answer = {"seconds": seconds, "cost": cost, "gap": gap, "memory": grown}
        print(json.dumps(answer), flush=True)


class Side:
    """A process that solves problems when asked."""

    def __init__(self, who, folder, code=None, script=__file__):
        environment = dict(os.environ)
        if code is not None:
            environment["PYTHONPATH"] = str(code)
        command = [sys.executable, str(script), "--child", who, "--data", str(folder)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def solve(self, *request):
        """Return the answer of the process."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        """End the process."""
        self.process.stdin.close()
        self.process.wait()


def compare(sides, shape, n, rounds, p=2):
    """Return the medians of all sides, which take turns, and their ratios to ours."""
    answers = [{who: side.solve(shape, n, p) for who, side in sides.items()} for _ in range(rounds)]
    row = {"shape": shape, "points": n, "p": p, "rounds": rounds}
    for who in sides:
        seconds = [each[who]["seconds"] for each in answers]
        row[who] = answers[0][who] | {"seconds": float(np.median(seconds))}
        ratios = [each[who]["seconds"] / each["ours"]["seconds"] for each in answers]
        row[who]["ratio"] = float(np.median(ratios))
        row[who].pop("memory")
    return row


def peers(sides, shapes, sizes):
    """Compare every shape at every size with POT and the earlier version."""
    for n in sizes:
        for shape in shapes:
            row = compare(sides, shape, n, ROUNDS)
            row["goal"] = GOALS[n]
            print(shape, n, {who: round(row[who]["ratio"], 1) for who in sides}, flush=True)
            yield row


def growth(side, shapes):
    """Measure how time grows from the smaller to the larger number of points."""
    small, large = GROWTH
    for shape in shapes:
        if shape not in GROWING:
            continue
        times = {n: [] for n in GROWTH}
        for _ in range(3):
            for n in GROWTH:
                times[n].append(side.solve(shape, n, 2)["seconds"])
        medians = {n: float(np.median(times[n])) for n in GROWTH}
        exponent = np.log(medians[large] / medians[small]) / np.log(large / small)
        print(shape, medians, round(exponent, 3), flush=True)
        yield {
            "shape": shape,
            "points": GROWTH,
            "seconds": [medians[n] for n in GROWTH],
            "exponent": float(exponent),
        }


def powers(side, shapes):
    """Compare p = 1 with p = 2 at 100 000 points."""
    for shape in shapes:
        if shape not in GROWING:
            continue
        ratios = [
            side.solve(shape, GROWTH[0], 1)["seconds"] / side.solve(shape, GROWTH[0], 2)["seconds"]
            for _ in range(3)
        ]
        print(shape, "p=1 over p=2", round(float(np.median(ratios)), 2), flush=True)
        yield {"shape": shape, "points": GROWTH[0], "ratio": float(np.median(ratios))}


def memory(folder, shapes):
    """Measure in a process of its own what a million points need beside themselves."""
    for shape in ("tight40", "mix", "mix8", "mix16"):
        if shape in shapes:
            side = Side("ours", folder)
            row = {"shape": shape, "points": GROWTH[1]} | side.solve(shape, GROWTH[1], 2)
            side.close()
            print(shape, "memory over points", round(row["memory"], 2), flush=True)
            yield row


def work(found):
    """Return lines for the table of work, peer, ratio and growth."""
    growth = {row["shape"]: f"n^{row['exponent']:.2f}" for row in found.get("growth", [])}
    for row in found.get("peers", []):
        if row["points"] == MIDDLE and "before" in row:
            ratio = row["pot"]["ratio"]
            yield {
                "work": f"exact transport, {SHAPES[row['shape']]}, {MIDDLE:,} points to 48 atoms",
                "peer": "POT's network simplex",
                "ratio": ratio,
                "before": ratio / row["before"]["ratio"],
                "growth": growth.get(row["shape"]),
                "from": "transport/shapes",
            }


def write_table(found, path):
    """Write ratios beside POT and the earlier version, and growth, as the pages show them."""
    lines = [("points", "5 000", "20 000", "50 000", "growth", "before, 20 000")]
    exponents = {row["shape"]: row["exponent"] for row in found.get("growth", [])}
    rows = {(row["shape"], row["points"]): row for row in found.get("peers", [])}
    for shape, name in SHAPES.items():
        ratios = [
            f"{rows[shape, n]['pot']['ratio']:.1f}" if (shape, n) in rows else "-" for n in GOALS
        ]
        middle = rows.get((shape, 20_000), {})
        before = f"{middle['before']['ratio']:.1f}" if "before" in middle else "-"
        growth = f"{exponents[shape]:.2f}" if shape in exponents else "-"
        lines.append((name, *ratios, growth, before))
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


def main():
    """Parse the command line and run the parts."""
    from benchmarks.recording import Results

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the US tables and the images")
    parser.add_argument("--before", type=Path, help="folder of an earlier version to run beside")
    parser.add_argument("--parts", nargs="+", default=["peers", "growth", "powers", "memory"])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--sizes", nargs="+", type=int, choices=GOALS, default=list(GOALS))
    parser.add_argument("--out", type=Path, help="where to keep the results as JSON")
    parser.add_argument("--table", type=Path, help="where to write all of --out as CSV")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        serve(arguments.child, arguments.data)
        return
    shapes = list(arguments.shapes)
    if arguments.data is None:
        shapes = [shape for shape in shapes if shape not in ("us", "images")]
    found = {}
    if arguments.out and arguments.out.exists():
        found = json.loads(arguments.out.read_text())
    sides = {"ours": Side("ours", arguments.data)}
    if arguments.before and "peers" in arguments.parts:
        sides["before"] = Side("ours", arguments.data, arguments.before)
    if "peers" in arguments.parts:
        sides["pot"] = Side("pot", arguments.data)
    parts = {
        "peers": lambda: peers(sides, shapes, arguments.sizes),
        "growth": lambda: growth(sides["ours"], shapes),
        "powers": lambda: powers(sides["ours"], shapes),
        "memory": lambda: memory(arguments.data, shapes),
    }
    for part in arguments.parts:
        kept = {(row["shape"], str(row["points"])): row for row in found.get(part, [])}
        for row in parts[part]():
            kept[row["shape"], str(row["points"])] = row
            found[part] = list(kept.values())
            if arguments.out:
                arguments.out.write_text(json.dumps(found, indent=1) + "\n")
    for side in sides.values():
        side.close()
    if arguments.out and arguments.table:
        write_table(found, arguments.table)
        Results("speed").merge(list(work(found)), ("work", "peer"))


if __name__ == "__main__":
    main()
