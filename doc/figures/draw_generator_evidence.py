"""Make the tables of generator.rst from the results of the benchmarks, and its picture.

``python doc/figures/draw_generator_evidence.py``
"""

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from evidence import read, write_table

DOC = Path(__file__).parents[1]
SETS = {"mnist": "MNIST", "fashion": "Fashion"}
WARPED = (("mnist", "mlp"), ("mnist", "cnn"), ("fashion", "cnn"))
CLASSIFIERS = ("logreg", "mlp", "cnn")
PAPER = {  # logistic regression, MLP; the paper's Table 2
    "SWD, no privacy": ("82", "87", "", "76", "77", ""),
    "GS-WGAN": ("79", "79", "", "68", "65", ""),
    "DP-MERF": ("75", "76", "", "71", "72", ""),
    "DP-SWD": ("78", "77", "", "66", "67", ""),
}


def tabulate(results):
    """Write the table."""
    lines = []
    for label, epsilon in (("10", 10.0), ("1", 1.0), ("real rows", None)):
        cells = []
        for name in SETS:
            rows = [r for r in results if (r["set"], r["epsilon"]) == (name, epsilon)]
            cells += [with_spread([r[c] for r in rows if c in r]) for c in CLASSIFIERS]
        if any(cells):
            lines.append(["PrivateGenerator" if epsilon else "", label, *cells])
    lines += [[name, "" if "no" in name else "10", *cells] for name, cells in PAPER.items()]
    heads = [f"{name} {c}" for name in SETS.values() for c in ("LogReg", "MLP", "CNN")]
    write_table("generator", ["made by", "epsilon", *heads], lines)


def tabulate_features(results):
    """Write the table of linear classifiers of features."""
    lines = []
    places = {(r["rows"], r["epsilon"], r["covariance"]) for r in results}
    for rows, epsilon, covariance in sorted(places, reverse=True):
        cells = [
            with_spread([
                r["accuracy"] for r in results
                if (r["set"], r["rows"], r["epsilon"], r["covariance"]) ==
                (name, rows, epsilon, covariance)
            ])
            for name in SETS
        ]  # fmt: skip
        made = f"{epsilon:g}, {covariance}" if epsilon else "real features"
        lines.append([rows, made, *cells])
    write_table("generator_features", ["rows", "epsilon", "MNIST", "Fashion"], lines)


def tabulate_warps(results):
    """Write the table of public warps."""
    lines = []
    for epsilon, kind in sorted({(r["epsilon"], r["rows"]) for r in results}, key=_in_order):
        cells = []
        for name, classifier in WARPED:
            place = name, epsilon, kind, classifier
            cells.append(with_spread([
                r["accuracy"] for r in results
                if (r["set"], r["epsilon"], r["rows"], r["classifier"]) == place
            ]))  # fmt: skip
        lines.append([kind, f"{epsilon:g}" if epsilon else "", *cells])
    heads = [f"{SETS[name]} {classifier.upper()}" for name, classifier in WARPED]
    write_table("generator_warps", ["learned from", "epsilon", *heads], lines)


def _in_order(place):
    epsilon, kind = place
    return epsilon == 0.0, epsilon, len(kind)


def with_spread(values):
    """Return a mean, and a standard deviation where there are several values."""
    if not values:
        return ""
    return f"{np.mean(values):.1f}" + (f" ± {np.std(values):.1f}" if len(values) > 1 else "")


def draw():
    """Keep the picture of the example."""
    show, plt.show = plt.show, lambda: None
    try:
        runpy.run_path(str(DOC.parent / "examples" / "synthetic" / "plot_generate_digits.py"))
    finally:
        plt.show = show
    plt.savefig(DOC / "images" / "generator.png", dpi=80)


if __name__ == "__main__":
    tabulate(read("generation"))
    tabulate_features(read("generation_features"))
    tabulate_warps(read("generation_warps"))
    draw()
