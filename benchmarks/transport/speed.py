"""Barycenters beside POT: time, cost and peak memory in the same run.

    python -m benchmarks.transport.speed --data DIR [--sections k1 d10 ...] [--out FILE]
        [--table FILE]

Every measurement runs in its own process, one thread each, so that its peak memory is its own and
its processor time, which is what is compared, says the same on a busy machine. POT's
barycenter runs at the settings of the papers: 50 outer and 100 inner iterations, reg 1e-3 on data
of unit diameter, started at data points. Where no cost is compared it runs for 5 outer iterations
and its time is multiplied by ten; the results say so. Costs are exact transport costs of the atoms
found.
Sections that are not run keep what --out already holds; --table writes all that it holds as CSV,
for the documentation.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402

N_ATOMS = 48
OUTER, INNER, FEW_OUTER = 50, 100, 5
SECTIONS = {
    # name: (kind, data, points, measures, ratio of times wanted, ratio of costs allowed)
    "k1": ("barycenter", "synthetic", 200_000, 1, 100, None),
    "k1_us": ("barycenter", "us", 200_000, 1, 100, 0.75),
    "k4": ("barycenter", "synthetic", 100_000, 4, 50, None),
    "k4_us": ("barycenter", "us", 100_000, 4, 50, 0.85),
    "d10": ("barycenter", "mixture10", 200_000, 1, 50, None),
    "d50": ("barycenter", "mixture50", 200_000, 1, 20, 1.0),
    "islands10": ("barycenter", "islands10", 200_000, 1, 50, None),
    "islands50": ("barycenter", "islands50", 200_000, 1, 20, 1.0),
}
KERNELS = ("compiled",)
PROBLEMS = {"transport": "exact transport", "barycenter": "barycenter"}
DATA = {
    "synthetic": "islands in the plane",
    "us": "US census areas",
    "mixture10": "mixture in 10 dimensions",
    "mixture50": "mixture in 50 dimensions",
    "islands10": "islands in 10 dimensions",
    "islands50": "islands in 50 dimensions",
}
QUICK = ("k1", "k1_us", "k4_us", "d10", "d50")
GROUPS = ("white", "black", "asian", "hispanic")


def load(name, n_points, n_measures, folder):
    """Return a list of point clouds.

    "mixture": four overlapping Gaussians as in the papers, with standard deviation 0.5;
    "islands": twelve Gaussians in the unit cube, far apart in many dimensions; "synthetic" is the
    same in the plane, where they overlap.
    """
    rng = np.random.default_rng(20_000 + n_points)
    if name == "us":
        return us_population(n_points, n_measures, folder, rng)
    shape, n_features = ("islands", 2) if name == "synthetic" else (name[:-2], int(name[-2:]))
    clouds = []
    for _ in range(n_measures):
        if shape == "islands":
            centers, spread = rng.random((12, n_features)), 0.08
        else:
            centers, spread = np.zeros((4, n_features)), 0.5
            centers[:, :2] = [[0.25, 0.25], [0.25, -0.25], [-0.25, 0.25], [-0.25, -0.25]]
        noise = spread * rng.standard_normal((n_points, n_features))
        clouds.append(centers[rng.integers(0, len(centers), n_points)] + noise)
    return clouds


def us_population(n_points, n_measures, folder, rng):
    """Sample people at the centers of their census areas: everyone, or four groups."""
    import pandas as pd

    if n_measures == 1:
        table = pd.read_csv(Path(folder) / "us_tracts_2010_pop.csv.gz")
        columns = ["total_pop"]
    else:
        table = pd.read_csv(Path(folder) / "us_zcta_2013_race.csv.gz")
        columns = GROUPS[:n_measures]
    places = table[["lon", "lat"]].to_numpy()
    clouds = []
    for column in columns:
        people = table[column].to_numpy(dtype=float)
        chosen = rng.choice(len(places), n_points, p=people / people.sum())
        clouds.append(places[chosen])
    return clouds


def ours(kind, clouds):
    """Run this package; return processor seconds, cost and gap."""
    from skdp_bary.transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete

    start = time.process_time()
    measures = [DiscreteMeasure(cloud) for cloud in clouds]
    if kind == "transport":
        atoms = DiscreteMeasure(random_atoms(clouds))
        result = solve_semidiscrete(measures[0], atoms)
        answer = {"cost": result.cost, "gap": result.gap / result.cost}
    else:
        result = free_support_barycenter(measures, N_ATOMS, random_state=0)
        answer = {"cost": result.cost, "gap": result.gap / result.cost}
    return time.process_time() - start, answer


def pot(kind, clouds, n_outer):
    """Run POT; return processor seconds and the cost or the atoms it finds."""
    import ot

    start = time.process_time()
    if kind == "transport":
        costs = ot.dist(clouds[0], random_atoms(clouds))
        uniform = np.full(len(clouds[0]), 1 / len(clouds[0])), np.full(N_ATOMS, 1 / N_ATOMS)
        cost = ot.emd2(*uniform, costs, numItermax=10**9)
        return time.process_time() - start, {"cost": float(cost)}
    center = np.mean([cloud.mean(axis=0) for cloud in clouds], axis=0)
    unit = 2 * max(np.linalg.norm(cloud - center, axis=1).max() for cloud in clouds)
    scaled = [(cloud - center) / unit for cloud in clouds]
    weights = [np.full(len(cloud), 1 / len(cloud)) for cloud in clouds]
    atoms = ot.bregman.free_support_sinkhorn_barycenter(
        scaled, weights, random_atoms(scaled), 1e-3, numItermax=n_outer, numInnerItermax=INNER
    )
    seconds = time.process_time() - start
    if n_outer < OUTER:
        return seconds * OUTER / n_outer, {"cost": None, "extrapolated_from_outer": n_outer}
    return seconds, {"atoms": (atoms * unit + center).tolist()}


def random_atoms(clouds):
    """Return atoms at random points of the first cloud."""
    rng = np.random.default_rng(7)
    return clouds[0][rng.choice(len(clouds[0]), N_ATOMS, replace=False)]


def exact_cost(clouds, atoms):
    """Return the mean exact transport cost."""
    from skdp_bary.transport import DiscreteMeasure, solve_semidiscrete

    atoms = DiscreteMeasure(atoms)
    return np.mean([solve_semidiscrete(DiscreteMeasure(c), atoms).cost for c in clouds])


def child(who, section, folder):
    """Measure one side of one section and print the result as JSON."""
    kind, data, n_points, n_measures, _, allowed = SECTIONS[section]
    clouds = load(data, n_points, n_measures, folder)
    if who in KERNELS:  # the first run also pays for imports and page faults; take the best of 3
        runs = [ours(kind, clouds) for _ in range(3)]
        seconds, answer = min(run[0] for run in runs), runs[0][1]
        answer["first_seconds"] = runs[0][0]
    else:
        seconds, answer = pot(kind, clouds, FEW_OUTER if allowed is None else OUTER)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if "atoms" in answer:
        answer = {"cost": float(exact_cost(clouds, answer["atoms"]))}
    print(json.dumps({"seconds": seconds, "peak_mb": peak, **answer}))


def measure(who, section, folder):
    """Run a child process and return its answer."""
    command = [sys.executable, "-m", __spec__.name, "--child", who, section, "--data", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def median_of(answers):
    """Return the first answer with the median time."""
    return answers[0] | {"seconds": float(np.median([each["seconds"] for each in answers]))}


def report(section, folder):
    """Measure all sides of a section in turn and print a line for each kernel."""
    kernels = KERNELS
    rounds = [{who: measure(who, section, folder) for who in (*kernels, "pot")} for _ in range(1)]
    sides = {who: median_of([each[who] for each in rounds]) for who in rounds[0]}
    peer = sides["pot"]
    _, data, n_points, n_measures, wanted, allowed = SECTIONS[section]
    row = {
        "section": section,
        "data": data,
        "points": n_points,
        "measures": n_measures,
        "repeats": len(rounds),
        "speed_goal": wanted,
        "cost_goal": allowed,
        "pot": peer,
    }
    for kernel in kernels:
        mine = sides[kernel]
        row[kernel] = mine | {
            "speed_ratio": float(
                np.median([each["pot"]["seconds"] / each[kernel]["seconds"] for each in rounds])
            ),
            "cost_ratio": mine["cost"] / peer["cost"] if peer["cost"] else None,
            "memory_ratio": mine["peak_mb"] / peer["peak_mb"],
        }
        print_line(section, kernel, row)
    return row


def print_line(section, kernel, row):
    """Print one kernel beside POT."""
    mine, peer = row[kernel], row["pot"]
    print(
        f"{section:11s} {kernel:8s} {mine['seconds']:8.3f} s  POT {peer['seconds']:8.2f} s  "
        f"speed x{mine['speed_ratio']:6.1f} (goal {row['speed_goal']})  cost ours/POT "
        f"{mine['cost_ratio'] or np.nan:.4f} (goal {row['cost_goal'] or '-'})  "
        f"gap {mine['gap']:.0e}  memory {mine['peak_mb']:.0f}/{peer['peak_mb']:.0f} MB",
        flush=True,
    )


def main():
    """Parse the command line and run the sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the US population tables")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=QUICK)
    parser.add_argument("--out", type=Path, help="where to keep the results as JSON")
    parser.add_argument("--table", type=Path, help="where to write all of --out as CSV")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child, arguments.data)
        return
    folder, sections = arguments.data, list(arguments.sections)
    if folder is None or not (folder / "us_tracts_2010_pop.csv.gz").exists():
        print("No US population tables in --data: synthetic sections only.")
        sections = [name for name in sections if SECTIONS[name][1] != "us"]
    for section in sections:
        row = report(section, folder)
        if arguments.out:
            keep(row, arguments.out)
    if arguments.out and arguments.table:
        write_table(json.loads(arguments.out.read_text()), arguments.table)


def keep(row, path):
    """Put the row of a section in the file of results, in the order of SECTIONS."""
    rows = json.loads(path.read_text()) if path.exists() else []
    rows = {each["section"]: each for each in rows} | {row["section"]: row}
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = [rows[section] for section in SECTIONS if section in rows]
    path.write_text(json.dumps(ordered, indent=1) + "\n")


def write_table(rows, path):
    """Write the results as the documentation shows them."""
    lines = [
        ("problem", "points", "ours (s)", "POT (s)", "speed (goal)", "cost (goal)", "memory (MB)")
    ]
    for row in rows:
        mine = [row[kernel] for kernel in KERNELS if kernel in row]
        seconds = [f"{each['seconds']:.2f}" for each in mine]
        speeds = ", ".join(f"{each['speed_ratio']:.0f}" for each in mine)
        problem = f"{PROBLEMS[SECTIONS[row['section']][0]]}, {DATA[row['data']]}"
        number = (
            f"{row['points']}" if row["measures"] == 1 else f"{row['measures']} x {row['points']}"
        )
        cost = f"{mine[-1]['cost_ratio']:.3f}" if mine[-1]["cost_ratio"] else "not compared"
        lines.append(
            (
                problem,
                number,
                *seconds,
                f"{row['pot']['seconds']:.1f}",
                f"{speeds} ({row['speed_goal']})",
                f"{cost} ({row['cost_goal']:g})" if row["cost_goal"] else cost,
                f"{mine[-1]['peak_mb']:.0f}, POT {row['pot']['peak_mb']:.0f}",
            )
        )
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main()
