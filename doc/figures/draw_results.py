"""Make the tables of results.rst, choosing.rst and the guides from the results of the benchmarks.

``python doc/figures/draw_results.py``; what the papers print is in
``doc/tables/paper_figures.csv``, which is written by hand, with the place of every number.
"""

import csv
import math
from collections import defaultdict
from itertools import product

import numpy as np
from evidence import DOC, read, write_table

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)
SIZES = (50, 200, 500)
GUIDE_METHODS = ("paper", "laplace", "one_shot", "adaptive")
CITY_METHODS = ("laplace", "topk", "paper", "one_shot", "adaptive")
METRICS = ("similarity", "correlation", "kl", "emd")
CLUSTERINGS = (("blobs2", 64), ("tracts", 48), ("mixture", 32), ("blobs100", 64), ("mnist", 16))
FEATURES = {"blobs2": 2, "tracts": 2, "mixture": 10, "blobs100": 100, "mnist": 784}


def printed():
    """Return what the papers print: {(paper, what, setting): (place, value)}."""
    with (DOC / "tables" / "paper_figures.csv").open(newline="") as file:
        return {
            (row["paper"], row["what"], row["setting"]): (row["place"], float(row["value"]))
            for row in csv.DictReader(file)
        }


def rounded_up(value, digits=3):
    """Return a scale of noise as text, never smaller than it is."""
    return f"{math.ceil(value * 10**digits) / 10**digits:.{digits}f}"


def with_interval(pair):
    """Return a mean and half an interval as text."""
    return f"{pair[0]:.3f} ± {pair[1]:.3f}"


def geometric_mean(values):
    """Return the geometric mean as text."""
    return f"{np.exp(np.mean(np.log(values))):.2f}"


def tabulate_us(figures):
    """Write the costs of the US population, relative to those without privacy."""
    lines = []
    for case, epsilon in product(("k1", "k4"), (1, 5)):
        for paper in ("barycenters, earlier", "barycenters"):
            setting = f"{case} epsilon {epsilon}"
            base = figures[paper, "cost without privacy", setting][1]
            for method in ("coreset", "output perturbation"):
                what = "cost of the coreset" if method == "coreset" else f"cost of {method}"
                if (paper, what, setting) in figures:
                    place, cost = figures[paper, what, setting]
                    budget = f"{epsilon}, everyone"
                    lines.append([case, method, budget, f"{cost / base:.3f}", f"{paper}, {place}"])
    for row in read("barycenter_us"):
        if row["epsilon"] >= 0.1 and "delta" not in row["method"]:
            budget = f"{row['epsilon']:g}, people in the data"
            ratio = with_interval(row["end_to_end"])
            name = f"ours: {row['method']}, {row['neighbors']}"
            lines.append([row["case"], name, budget, ratio, "benchmarks/barycenter/us.py"])
    lines.sort(key=lambda line: line[0])
    write_table(
        "results_us", ["people", "method", "epsilon, and for whom", "cost ratio", "from"], lines
    )


def tabulate_synthetic():
    """Write the cost ratios of the synthetic mixtures by size and epsilon."""
    lines = [
        [
            row["n"],
            f"{row['epsilon']:g}",
            row["dimension"],
            *(with_interval(row["cost_ratio"][name]) for name in ("paper", "coreset", "subspace")),
            row["runs"],
        ]
        for row in read("barycenter_synthetic")
        if row["varied"] != "dimension" or row["dimension"] in (2, 9)
    ]
    header = ["n", "epsilon", "d'", "paper, reproduced", "coreset", "subspace", "runs"]
    write_table("results_synthetic", header, lines)


def tabulate_cover():
    """Write k-means by the paper's pipeline beside ours, as ratios of costs."""
    kept = read("kmeans_cover")
    methods = ("paper_accounting", "paper_exact", "max_cover", "grid")
    lines = []
    for key in kept["accuracy"]:
        *cell, method = key.split(" ")
        if method == "max_cover":
            name, k, epsilon = cell
            base = kept["baselines"][f"{name} {k}"]
            found = [kept["accuracy"].get(" ".join([*cell, other])) for other in methods]
            own = ["" if f is None else f"{np.median(f) / base:.3f}" for f in found]
            lines.append([name, k, f"{float(epsilon):g}", *own])
    header = ["rows", "k", "epsilon", "paper", "paper, exact accounting", "max cover", "grid"]
    write_table("results_kmeans", header, lines)


def tabulate_cities():
    """Write similarity and earth mover's distance of the three experiments with cities."""
    lines = []
    for experiment, varied in (
        ("epsilon", "epsilon"),
        ("people", "people"),
        ("resolution", "resolution"),
    ):
        for row in read(f"heatmap_cities_{experiment}"):
            for metric in ("similarity", "emd"):
                own = [f"{row['metrics'][name][metric][0]:.3f}" for name in CITY_METHODS]
                lines.append([varied, f"{row[varied]:g}", metric, *own, row["runs"]])
    header = ["varied", "value", "metric", *CITY_METHODS, "runs"]
    write_table("results_cities", header, lines)


def tabulate_gaze():
    """Write the same for generated gaze."""
    lines = [
        [f"{row['epsilon']:g}", metric]
        + [f"{row['metrics'][name][metric][0]:.3f}" for name in CITY_METHODS]
        + [row["runs"]]
        for row in read("heatmap_gaze")
        for metric in ("similarity", "emd")
    ]
    write_table("results_gaze", ["epsilon", "metric", *CITY_METHODS, "runs"], lines)


def tabulate_table4(figures):
    """Write the noise of the sliced paper's Table 4 beside what suffices."""
    lines = []
    for row in read("sliced_table4")["rows"]:
        name = f"{row['name']} ({row['bound']})"
        value = figures["sliced", "standard deviation of the noise", name.replace("*", "")][1]
        sds = [rounded_up(row[key]) for key in ("tight", "iid", "worst")]
        recipes = [f"{row['code_b']:.2f}", f"{row['code_c']:.3f}"]
        lines.append([name, f"{value:g}", *recipes, *sds, f"{row['printed_epsilon']:.2f}"])
    header = ["run", "printed", "recipe (b)", "recipe (c)", "frame", "independent", "worst case"]
    write_table("sliced_table4", [*header, "epsilon of the printed noise"], lines)


def tabulate_flaws():
    """Write the numbers behind the page on the sliced paper."""
    found = read("sliced_paper_flaws")
    bounds, steps = found["bounds"], found["steps"]
    lines = [
        [f"change of {batch} normalized rows if one row is replaced", f"{change:.2f}", "1"]
        for batch, change in found["scaling"].items()
    ]
    lines += [
        [f"gradient outside the span of private rows, noise {float(sd):g}", f"{share:.0e}", ""]
        for sd, share in found["gradient"].items()
    ]
    failure = f"{bounds['failure']:g}"
    lines += [
        ["epsilon of all steps taken", f"{steps['taken']:.1f}", f"{steps['accounted']:.1f}"],
        ["share beyond the normal bound", f"{bounds['clt_is_exceeded_with']:.1e}", failure],
        [
            f"squared length exceeded with probability {failure}",
            f"{bounds['chernoff']:.2f}",
            f"{bounds['bernstein']:.2f}",
        ],
        [
            "delta if directions are reused",
            f"{found['reuse']['happens']:.2f}",
            f"{found['reuse']['claimed']:.4f}",
        ],
        [
            "error with exactly smoothed public rows; paper: with noisy ones",
            f"{found['public']['exact']:.4f}",
            f"{found['public']['both']:.4f}",
        ],
    ]
    write_table("sliced_flaws", ["quantity", "true value", "paper"], lines)


def tabulate_rmse():
    """Write the errors of squared sliced distances."""
    lines = []
    for setting, found in read("sliced_rmse")["settings"].items():
        sizes, _, difference = setting.partition(" ")
        errors = [found["rmse"][name] for name in ("paper", "paper, exact", "sketch", "scalar")]
        values = [f"{value:.2g}" for value in (found["true"], *errors)]
        lines.append([*sizes.split(","), difference, *values])
    header = ["n", "d", "k", "difference", "true", "paper", "paper, exact noise"]
    write_table("sliced_rmse", [*header, '"sketch"', '"scalar"'], lines)


def tabulate_two_samples():
    """Write the power of two-sample tests, cases that were kept aside last."""
    tests = ("cohorts", "reference", "dpMMD", "not private")
    rows = sorted(read("two_sample_power"), key=lambda row: row["aside"])
    lines = [
        ["kept aside" if row["aside"] else "seen", row["case"], row["n"], row["d"]]
        + [" / ".join(f"{share:.2f}" for share in row[test]) for test in tests]
        for row in rows
    ]
    write_table("two_sample_power", ["half", "case", "n", "d", *tests], lines)
    shares = defaultdict(dict)
    for row in read("two_sample_level"):
        shares[row["law"]][f"d = {row['d']}, epsilon = {row['epsilon']:g}"] = f"{row['0.05']:.3f}"
    names = list(dict.fromkeys(name for found in shares.values() for name in found))
    lines = [[law, *(found[name] for name in names)] for law, found in shares.items()]
    write_table("two_sample_level", ["equal laws", *names], lines)
    shares = defaultdict(dict)
    for row in read("two_sample_drift_level"):
        setting = f"d = {row['d']}, epsilon = {row['epsilon']:g}"
        shares[row["law"], row["neighbors"]][setting] = f"{row['0.05']:.3f}"
    names = list(dict.fromkeys(name for found in shares.values() for name in found))
    lines = [[*about, *(found[name] for name in names)] for about, found in shares.items()]
    write_table("two_sample_drift_level", ["equal laws", "neighbors", *names], lines)


def tabulate_barycenter_methods():
    """Write the methods of the barycenter by dimension and budget."""
    names = ("coreset", "pyramid", "perturbation", "clusters", "subspace")
    lines = [
        [row["d"], f"{row['epsilon']:g}", f"{row['delta']:g}"]
        + [f"{row['ratios'][name]['mean']:.3f}" if name in row["ratios"] else "" for name in names]
        for row in read("barycenter_methods")["rows"]
    ]
    write_table("choosing_barycenter", ["features", "epsilon", "delta", *names], lines)


def tabulate_perturbation():
    """Write the methods with rounds beside trees, mean over data sets."""
    found = read("barycenter_perturbation")
    names = ("coreset", "perturbation", "projected")
    lines = [
        [row["n_features"], row["n_classes"]]
        + [f"{np.mean(row['ratio'][name]):.2f}" if name in row["ratio"] else "" for name in names]
        for row in found["rows"]
        if row["epsilon"] == 1.0
    ]
    header = ["features", "distributions", *(f'"{name}"' for name in names)]
    write_table("barycenter_perturbation", header, lines)


def tabulate_heatmaps():
    """Write errors of heatmap methods relative to the paper's, over all populations and blurs."""
    rows = [row for row in read("heatmap_quality") if row["hint"] == 1.0]
    names = [name for name in (*GUIDE_METHODS, "privtree") if name != "paper"]
    lines = []
    for n, epsilon in product(SIZES, EPSILONS):
        chosen = [
            row["ratio_to_paper"] for row in rows if row["n"] == n and row["epsilon"] == epsilon
        ]
        ratios = [geometric_mean([found[name]["all"][0] for found in chosen]) for name in names]
        lines.append([n, f"{epsilon:g}", *ratios])
    write_table("choosing_heatmap", ["people", "epsilon", *names], lines)


def tabulate_heatmap_range():
    """Write how good intervals of heatmaps are, and what a wrong hint costs."""
    kept, hints = read("heatmap_intervals"), read("heatmap_hint")
    lines = []
    for key, what in (
        ("coverage", "share of cells whose mass is in the 90% interval"),
        ("length", "length of intervals relative to intervals from the cell's noise alone"),
    ):
        values = [row[key] for row in kept]
        lines.append([what, f"{min(values):.2f}", f"{max(values):.2f}"])
    for name in ("adaptive", "one_shot"):
        at = {(row["hint"], row["epsilon"]): row["ratio_to_paper"][name]["all"][0] for row in hints}
        changes = [value / at[1.0, epsilon] for (_, epsilon), value in at.items()]
        what = f'error of "{name}" with half or twice the true n_hint, relative to the true one'
        lines.append([what, f"{min(changes):.2f}", f"{max(changes):.2f}"])
    write_table("heatmap_range", ["what", "least", "most"], lines)


def tabulate_clusterings():
    """Write what either kind of noise costs in few and in many features."""
    kept = read("kmeans_quality")
    lines = []
    for name, k in CLUSTERINGS:
        base = kept["baselines"][f"{name} {k}"]
        for noise in ("laplace", "gaussian"):
            found = [
                kept["cells"].get(f"{name} {k} {epsilon} {noise} add_remove True grid")
                for epsilon in ("0.1", "0.5", "1.0", "2.0")
            ]
            own = ["" if f is None else f"{np.median(f) / base:.3g}" for f in found]
            lines.append([name, FEATURES[name], k, noise, *own])
    header = ["rows", "features", "clusters", "noise", "0.1", "0.5", "1", "2"]
    write_table("choosing_kmeans", header, lines)


def tabulate_measures():
    """Write the Wasserstein errors of the forms of a private measure."""
    methods = ("haar", "pmm")
    lines = []
    for row in read("measure_accuracy")["rows"]:
        errors = row["errors"]
        own = [f"{errors[f'add_remove {name}']['mean']:.4f}" for name in methods]
        replaced = f"{errors['replace_one haar']['mean']:.4f}"
        lines.append([row["d"], row["data"], row["n"], *own, replaced])
    header = ["features", "rows", "n", *methods, "haar, replace_one"]
    write_table("choosing_measure", header, lines)


def main():
    """Make every table."""
    figures = printed()
    tabulate_us(figures)
    tabulate_table4(figures)
    for tabulate in (
        tabulate_synthetic,
        tabulate_cover,
        tabulate_cities,
        tabulate_gaze,
        tabulate_flaws,
        tabulate_rmse,
        tabulate_two_samples,
        tabulate_barycenter_methods,
        tabulate_perturbation,
        tabulate_heatmaps,
        tabulate_heatmap_range,
        tabulate_clusterings,
        tabulate_measures,
    ):
        tabulate()


if __name__ == "__main__":
    main()
