"""Make the tables and pictures of results.rst from the results of the benchmarks.

``python doc/figures/draw_barycenter_evidence.py [--data DIR]``; the map of the US and the digits
need the folder with the population tables and MNIST, and are left as they are without it.
"""

import argparse
import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from evidence import read, write_table

from skdp_bary.exceptions import PrivacyWarning

DOC = Path(__file__).parents[1]
BUNDLED = dict.fromkeys(("wine", "digits", "iris", "breast_cancer"), "of scikit-learn")
SHADES = {"paper": "firebrick", "coreset": "C0", "subspace": "C2"}


def with_interval(pair, digits=3):
    """Return a mean and half an interval as text."""
    mean, half = pair
    return f"{mean:.{digits}f}" if half is None else f"{mean:.{digits}f} ± {half:.{digits}f}"


def tabulate_us():
    """Write the table of the US population."""
    rows = sorted(
        read("barycenter_us"),
        key=lambda row: (row["case"], row["neighbors"], row["method"], -row["epsilon"]),
    )
    lines = [
        [
            row["case"],
            row["neighbors"],
            row["method"],
            f"{row['epsilon']:g}",
            with_interval(row["end_to_end"]),
            with_interval(row["local"]),
            f"{row['median_time']:.2f}",
            row["seeds"],
        ]
        for row in rows
    ]
    header = ["people", "neighbors", "method", "epsilon", "end to end", "local", "time", "seeds"]
    write_table("barycenter_us", header, lines)


def tabulate_trees():
    """Write the table of the two forms of trees."""
    lines = []
    for population, found in (read("barycenter_trees") or {}).items():
        for case in (key.partition(", ")[2] for key in found if key.startswith("counts")):
            pairs = [with_interval(found[f"{tree}, {case}"]) for tree in ("differences", "counts")]
            lines.append([population, case, *pairs, found["seeds"]])
    header = ["people", "budget", "differences", "counts", "seeds"]
    write_table("barycenter_trees", header, lines)


def tabulate_thin_shapes():
    """Write the table of pyramids beside trees where persons are few or bounds wide."""
    found = {}
    for row in read("barycenter_thin_shapes"):
        key = row["noise"], row["half"], row["width"], row["signal"]
        found.setdefault(key, []).append(row["found"])
    lines = []
    for key, fits in sorted(found.items(), key=lambda item: item[0][0], reverse=True):
        line = list(key)
        for method in ("coreset", "pyramid"):
            ratios, seconds = np.array([each[method] for each in fits]).T
            line += [f"{np.exp(np.log(ratios).mean()):,.1f}", f"{ratios.max():,.0f}"]
            line += [f"{seconds.mean():.2f} s"]
        both = [each["pyramid"][0] / each["coreset"][0] for each in fits]
        lines.append([*line, f"{max(both):.2f}"])
    header = ["noise", "sets", "bounds over rows", "people × epsilon per atom"]
    header += ["tree", "largest", "time"]
    header += ["pyramid", "largest ", "time ", "pyramid over tree, largest"]
    write_table("barycenter_thin_shapes", header, lines)


def tabulate_few_rows():
    """Write the table of all methods where rows are few and features many."""
    found = {}
    for row in read("barycenter_few_rows"):
        features = BUNDLED.get(row["set"], f"{row['d']:>2}")
        setting = row["half"], row["noise"], features
        draw = row["set"], row["epsilon"], row["n"]
        found.setdefault(setting, {}).setdefault(draw, {})[row["method"]] = row["ratio"]
    names = ("auto", "coreset", "pyramid", "perturbation", "projected", "clusters", "subspace")
    names = (*names, "one mean", "auto, no n_hint")
    lines = []
    for setting, draws in sorted(
        found.items(), key=lambda item: (item[0][1:], item[0][0] != "seen")
    ):
        means = [[ratios.get(name, np.nan) for ratios in draws.values()] for name in names]
        shown = [f"{np.exp(np.log(each).mean()):.2f}" for each in means]
        best = (
            min(ratios[name] for name in names[:-2] if name in ratios) for ratios in draws.values()
        )
        over_best = max(ratios["auto"] / b for ratios, b in zip(draws.values(), best, strict=True))
        over_mean = max(ratios["auto"] / ratios["one mean"] for ratios in draws.values())
        line = [*setting[:2], setting[2].strip(), *shown, f"{over_best:.2f}", f"{over_mean:.2f}"]
        lines.append(["" if cell == "nan" else cell for cell in line])
    header = ["sets", "noise", "features", *names]
    header += ["auto over best method, largest", "auto over one mean, largest"]
    write_table("barycenter_few_rows", header, lines)


def tabulate_scale():
    """Write the table of ten million rows."""
    result = read("barycenter_scale")
    lines = [
        [way, result[way]["seconds"], result[way]["peak_mb"], result[way].get("peak_worker_mb", "")]
        for way in ("array", "chunks", "dask")
    ]
    header = ["rows come as", "seconds", "peak MB, process", "peak MB, worker"]
    write_table("barycenter_scale", header, lines)


def draw_synthetic():
    """Draw the cost against the size, epsilon and the dimension of the projection."""
    rows = read("barycenter_synthetic")
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
    for axes, varied in zip(panels, ("n", "epsilon", "dimension"), strict=True):
        chosen = [row for row in rows if row["varied"] == varied]
        for name, color in SHADES.items():
            known = [row for row in chosen if name in row["cost_ratio"]]
            mean, half = np.reshape([row["cost_ratio"][name] for row in known], (-1, 2)).T
            axes.errorbar([row[varied] for row in known], mean, half, color=color, label=name)
        axes.set_xscale("log" if varied != "dimension" else "linear")
        axes.set_yscale("log")
        axes.set_xlabel(varied)
    panels[0].set_ylabel("cost / cost of the rows' own")
    panels[-1].legend()
    figure.savefig(DOC / "images" / "barycenter_synthetic.png", dpi=70)


def tabulate_digits():
    """Write the table of handwritten digits."""
    found = read("barycenter_mnist")
    rows = found["rows"] if found else []
    lines = [
        [
            row["epsilon"],
            row["relation"],
            with_interval((row["mean"], 1.96 * row["standard_error"]), digits=4)
            if row["standard_error"] is not None
            else f"{row['mean']:.4f}",
            len(row["ratios"]),
        ]
        for row in rows
    ]
    write_table("barycenter_mnist", ["epsilon", "neighbors", "cost ratio", "seeds"], lines)


def draw_real(folder):
    """Draw private atoms of handwritten digits, and of the US population."""
    sys.path.insert(0, str(DOC.parent))
    from benchmarks.barycenter import mnist, us

    us.picture(folder).savefig(DOC / "images" / "barycenter_us.png", dpi=65)
    mnist.picture(folder).savefig(DOC / "images" / "barycenter_mnist.png", dpi=80)


def main():
    """Parse the command line and make everything whose results are there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with population tables, MNIST")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    tabulate_us()
    tabulate_trees()
    tabulate_thin_shapes()
    tabulate_few_rows()
    tabulate_scale()
    tabulate_digits()
    draw_synthetic()
    if arguments.data is not None:
        draw_real(arguments.data)


if __name__ == "__main__":
    main()
