"""How the time of a barycenter grows with its atoms, beside an earlier version.

    python -m benchmarks.transport.atoms [--data DIR] [--before FOLDER]
        [--parts growth costs private]

"growth" finds barycenters of 100 000 points of a mixture in the plane with more and more atoms and
says what power of their number the time grows with; "costs" compares the exact costs at the end
with those of the earlier version, on mixtures of ten seeds, on US census areas and on images;
"private" does so for private barycenters. Both versions are processes that stay, with one thread
each; they take turns, and what is compared is processor time without that of loading code.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
# An earlier version comes first, if there is one.
sys.path.extend([str(Path(__file__).parent), str(Path(__file__).parents[2])])

import numpy as np  # noqa: E402
from shapes import Side, load  # noqa: E402

POINTS = 100_000
GROWTH = (64, 256, 1024)
GOALS = {"seconds_1024": 30, "of_256": 5}
COSTS = [("mix", 20_000, 128, seed) for seed in range(10)]
COSTS += [("mix3", 20_000, 128, 0)]
REAL = [("us", 50_000, 128, 0), ("us", 50_000, 256, 1), ("images", 5_000, 40, 0)]


def barycenter(shape, n, k, seed, folder):
    """Return processor seconds, exact cost and relative gap of a barycenter."""
    from skdp_bary.transport import DiscreteMeasure, free_support_barycenter

    points, weights, _ = load(shape, n, folder, seed)
    start = time.process_time()
    result = free_support_barycenter([DiscreteMeasure(points, weights)], k, random_state=seed)
    seconds = time.process_time() - start
    return {"seconds": seconds, "cost": result.cost, "gap": result.gap / result.cost}


def private(shape, n, k, seed, folder):
    """Return processor seconds of a private barycenter, and its cost on the rows."""
    import warnings

    from skdp_bary import PrivateWassersteinBarycenter
    from skdp_bary.transport import DiscreteMeasure, solve_semidiscrete

    points, weights, _ = load(shape, n, folder, seed)
    model = PrivateWassersteinBarycenter(k, epsilon=1.0, bounds=(-3.0, 3.0), random_state=seed)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(points)
    seconds = time.process_time() - start
    atoms = DiscreteMeasure(model.support_, model.weights_)
    return {"seconds": seconds, "cost": solve_semidiscrete(DiscreteMeasure(points), atoms).cost}


def serve(folder):
    """Answer requests, a line of JSON each, until there are no more."""
    for name in ("mix", "mix3"):
        barycenter(name, 20_000, 128, 0, folder)  # compiles and loads code
    for line in sys.stdin:
        kind, *request = json.loads(line)
        print(json.dumps({"b": barycenter, "p": private}[kind](*request, folder)), flush=True)


def both(sides, kind, request):
    """Return one row: what every version answers."""
    row = dict(zip(("shape", "points", "atoms", "seed"), request, strict=True))
    for name, side in sides.items():
        row[name] = side.solve(kind, *request)
    if "before" in row:
        row["cost_ratio"] = row["ours"]["cost"] / row["before"]["cost"]
        row["times_faster"] = row["before"]["seconds"] / row["ours"]["seconds"]
    print({key: value for key, value in row.items() if key not in ("ours", "before")}, flush=True)
    return row


def growth(sides):
    """Return rows with ever more atoms, and the power of their number that time grows with."""
    rows = []
    for k in GROWTH:
        rows.append(both(sides, "b", ("mix", POINTS, k, 0)))
    seconds = [row["ours"]["seconds"] for row in rows]
    power = np.polyfit(np.log(GROWTH), np.log(seconds), 1)[0]
    print("seconds", seconds, "power", round(float(power), 2), flush=True)
    return {"rows": rows, "power": float(power), "of_256": seconds[-1] / seconds[-2]}


def work(found):
    """Return lines for the table of work, peer, ratio and growth."""
    for row in found.get("growth", {}).get("rows", []):
        if "before" in row:
            yield {
                "work": f"barycenter, {row['atoms']} atoms, {row['points']:,} points in the plane",
                "peer": "the previous version",
                "ratio": row["times_faster"],
                "before": 1.0,
                "growth": f"k^{found['growth']['power']:.2f}",
                "from": "transport/atoms",
            }


def main():
    """Parse the command line and run the parts."""
    from benchmarks.recording import Results

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the US tables and the images")
    parser.add_argument("--before", type=Path, help="folder of an earlier version to run beside")
    parser.add_argument("--parts", nargs="+", default=["growth", "costs", "private"])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        serve(arguments.data)
        return
    here = Path(__file__)
    sides = {"ours": Side("ours", arguments.data, here.parents[2], here)}
    if arguments.before:
        sides["before"] = Side("before", arguments.data, arguments.before, here)
    results = Results("barycenter_atoms")
    found = results.read({}) | {"goals": GOALS}
    for part in arguments.parts:
        if part == "growth":
            found[part] = growth(sides)
        elif part == "costs":
            real = [] if arguments.data is None else REAL
            found[part] = [both(sides, "b", request) for request in COSTS + real]
        else:
            found[part] = [both(sides, "p", ("mix", POINTS, k, 0)) for k in (64, 256)]
        results.write(found)
    Results("speed").merge(list(work(found)), ("work", "peer"))
    for side in sides.values():
        side.close()


if __name__ == "__main__":
    main()
