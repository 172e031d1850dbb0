"""Make the tables of kmeans.rst from the results of the benchmarks.

``python doc/figures/draw_kmeans_evidence.py``
"""

import numpy as np
from evidence import read, write_table

SETS = ("tracts", "people", "blobs2", "mixture", "blobs100", "overlapping")
IMAGES = ("mnist", "fashion", "usps")
REGIME_KEYS = ("set", "epsilon", "noise", "method")
REGIME_METHODS = (
    ("laplace", "ours"),
    ("gaussian", "ours"),
    ("laplace", "eugkm"),
    ("laplace", "one mean"),
)
SMALL_GROUPS = (  # of the cells of benchmarks/kmeans/small_n.py: name, what they have, its values
    ("all", None, ()),
    ("Laplace noise", "delta", (0.0,)),
    ("Gaussian noise", "delta", (1e-6,)),
    ("bounds that fit", "wide", (1.0,)),
    ("three times as wide", "wide", (3.0,)),
    ("ten times as wide", "wide", (10.0,)),
    ("up to 500 rows", "n", range(501)),
)
ASIDE = (  # of benchmarks/kmeans/regimes.py
    *("pair", "curve2", "pair-wide", "trio", "cloud3", "iris"),
    *("seven", "diabetes", "nine-curve", "cloud30", "cloud50", "spots20"),
    *("line-50k", "line-400k"),
)
EPSILONS = ("0.1", "0.5", "1.0", "2.0")


def ratios(kept, name, k, epsilon, noise, relation="add_remove", bounds=True, method="grid"):
    """Return the ratios of a cell, one a seed, or None where it was not measured."""
    key = f"{name} {k} {epsilon} {noise} {relation} {bounds} {method}"
    found = kept["cells"].get(key)
    return None if found is None else np.array(found) / kept["baselines"][f"{name} {k}"]


def median(*cell, **other):
    """Return the median over seeds as text."""
    found = ratios(*cell, **other)
    if found is None:
        return ""
    middle = float(np.median(found))
    return f"{middle:.3f}" if middle < 2 else f"{middle:.3g}"


def clusterings(kept):
    """Return name and number of clusters of all that was measured, in order."""
    pairs = [key.split(" ") for key in kept["baselines"]]
    return sorted(
        ((name, int(k)) for name, k in pairs), key=lambda pair: (_place(pair[0]), pair[1])
    )


def _place(name):
    return (*SETS, *IMAGES).index(name)


def tabulate_quality(kept):
    """Write the ratios by epsilon, and at epsilon 1 beside the comparators."""
    lines = []
    for name, k in clusterings(kept):
        for noise in ("gaussian", "laplace"):
            own = [median(kept, name, k, epsilon, noise) for epsilon in EPSILONS]
            others = [
                median(kept, name, k, "1.0", noise, **other)
                for other in (
                    {"relation": "replace_one"},
                    {"bounds": False},
                    {"method": "lloyd"},
                    {"method": "one mean"},
                )
            ]
            if any(own):
                lines.append([name, k, noise, *own, *others])
    header = ["rows", "k", "noise", "0.1", "0.5", "1", "2"]
    header += ["replace_one", "no bounds", "plain rounds", "one mean"]
    write_table("kmeans_quality", header, lines)


def tabulate_peers(kept):
    """Write diffprivlib's ratios, and what it draws noise for beside what it charges."""
    lines = []
    for name, k in clusterings(kept):
        for epsilon in EPSILONS:
            cell = (kept, name, k, epsilon, "declared")
            peer = median(*cell, method="diffprivlib")
            if peer:
                drawn = kept["drawn"][f"{name} {k} {epsilon} declared add_remove True diffprivlib"]
                own = [median(kept, name, k, epsilon, n) for n in ("laplace", "gaussian")]
                lines.append([name, k, f"{float(epsilon):g}", f"{drawn:.3g}", peer, *own])
    header = ["rows", "k", "declared epsilon", "drawn epsilon", "diffprivlib"]
    write_table("kmeans_peers", [*header, "Laplace", "Gaussian"], lines)


def tabulate_speed():
    """Write times relative to scikit-learn, and peak memory relative to the input."""
    lines = [
        [
            line["features"],
            f"{line['sklearn']:.2f}",
            f"{line['laplace_ratio']:.2f}",
            f"{line['gaussian_ratio']:.2f}",
            f"{line['peak']:.2f}",
        ]
        for line in read("kmeans_speed")
    ]
    header = ["features", "scikit-learn, s", "Laplace", "Gaussian", "peak memory"]
    write_table("kmeans_speed", header, lines)


def tabulate_audit():
    """Write the lower bounds of epsilon beside the claim."""
    lines = [
        [
            line["case"],
            line["neighbors"],
            line["features"],
            line["noise"],
            f"{line['lower_bound']:.2f}",
            f"{line['claim']:g}",
        ]
        for line in read("kmeans_audit")
    ]
    header = ["neighbors differ in", "relation", "features", "noise", "at least", "claim"]
    write_table("kmeans_audit", header, lines)


def tabulate_regimes():
    """Write ratios to scikit-learn's cost by half of the sets, kind of set and epsilon."""
    rows = [row for row in read("kmeans_regimes") if row["tag"] != "before"]
    kept = {tuple(row[key] for key in REGIME_KEYS): row["ratio"] for row in rows}
    names = {key[0] for key in kept}
    few = {key[0] for key in kept if key[3] == "eugkm"}
    kinds = {
        "up to 3 features": {name for name in few if not name.endswith(("-wide", "k", "m"))},
        "lines of 20,000 to 1,000,000 rows": {name for name in few if name.endswith(("k", "m"))},
        "... bounds ten times too wide": {name for name in few if name.endswith("-wide")},
        "more features": names - few,
    }
    lines = []
    for half, there in (("seen", names - set(ASIDE)), ("kept aside", set(ASIDE))):
        for kind, sets in kinds.items():
            epsilons = sorted({key[1] for key in kept if key[0] in sets & there})
            for epsilon in epsilons:
                cells = [
                    [kept.get((name, epsilon, *of)) for name in sorted(sets & there)]
                    for of in REGIME_METHODS
                ]
                lines.append([half, kind, epsilon, *(x for cell in cells for x in in_short(cell))])
    header = ["sets", "kind", "epsilon"]
    for method in ("Laplace", "Gaussian", "EUGkM", "one mean"):
        header += [method, "largest"]
    write_table("kmeans_regimes", header, lines)


def tabulate_evolution():
    """Write the ratios of ours and of PE-means, by set and epsilon."""
    rows = read("kmeans_evolution")
    epsilons = sorted({row["epsilon"] for row in rows})
    found = {}
    for row in rows:
        key = row["set"], row["k"], row["features"], row["n"]
        text = f"{row['ratio']:.3f} ± {1.96 * row['error']:.3f}"
        found.setdefault(key, {})[row["epsilon"], row["method"]] = text
    columns = [(epsilon, method) for epsilon in epsilons for method in ("ours", "PE-means")]
    lines = [
        [*key, *(cells.get(column, "") for column in columns)]
        for key, cells in sorted(found.items(), key=lambda item: (item[0][2], item[0][3]))
    ]
    header = ["rows", "k", "features", "n", *(f"{method}, {e:g}" for e, method in columns)]
    write_table("kmeans_evolution", header, lines)


def tabulate_pipelines():
    """Write the agreement of labels of pipelines with and without privacy."""
    lines = []
    for row in read("kmeans_pipelines"):
        private = np.array(row["private"])
        lines.append([
            row["set"], row["rows"], row["features"], row["k"], "yes" if row["pca"] else "",
            f"{row['two seeds']:.2f}", f"{private.mean():.2f}", f"{private.min():.2f}",
            f"{np.mean(row['private steps']):.2f}",
        ])  # fmt: skip
    header = ["data", "rows", "features", "k", "PCA", "two seeds", "private", "least"]
    write_table("kmeans_pipelines", [*header, "KMeans on private features"], lines)


def tabulate_small_n():
    """Write costs of few rows over those of a simple private mean, now and before."""
    kept = {}
    for row in read("kmeans_small_n"):
        kept.setdefault(row["tag"], []).append(row)
    lines = []
    for name, key, values in SMALL_GROUPS:
        line = [name]
        for tag in ("before", "now"):
            rows = [row for row in kept[tag] if key is None or row[key] in values]
            over = [row["cost"] / row["simple"] for row in rows]
            error = [2.0 * np.hypot(row["error"], row["simple_error"]) for row in rows]
            sure = sum(row["cost"] - row["simple"] > e for row, e in zip(rows, error, strict=True))
            line += [*in_short(over), sure]
        lines.append([line[0], len(rows), *line[1:]])
    header = ["cells", "number"]
    for tag in ("before", "now"):
        header += [f"{tag}, over one mean", "largest", "surely above"]
    write_table("kmeans_small_n", header, lines)


def in_short(ratios):
    """Return the geometric mean and the largest of ratios as text, of those that were measured."""
    known = [ratio for ratio in ratios if ratio is not None]
    if not known:
        return "", ""
    return f"{np.exp(np.mean(np.log(known))):.3g}", f"{max(known):.3g}"


def main():
    """Make every table."""
    kept = read("kmeans_quality")
    tabulate_quality(kept)
    tabulate_peers(kept)
    tabulate_speed()
    tabulate_audit()
    tabulate_regimes()
    tabulate_small_n()
    tabulate_evolution()
    tabulate_pipelines()


if __name__ == "__main__":
    main()
