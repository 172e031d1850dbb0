"""Make the tables of time and memory in results.rst from the results of the benchmarks.

``python doc/figures/draw_speed.py``
"""

import math

from evidence import read, write_table

MEGABYTE = 1e6


def limit(value, sign):
    """Return a goal as text; the empty text when there is none."""
    return "" if value is None else f"{sign} {value:g}"


def sliced():
    """Return lines about fits of sliced distances beside POT."""
    found = read("sliced_speed")
    goals, large = found["goals"], found["large"]
    for setting in found["settings"]:
        size = f"{setting['rows']:,} rows, {setting['features']} features"
        for part, name in (("fit", "fit"), ("fit_and_distance", "fit and one distance")):
            what = f"{name}, {size}: times faster than a distance by POT"
            ours = f"{setting['times_faster'][part]:.0f}"
            yield what, ours, limit(goals[part], "≥"), "sliced/speed"
    what = f"peak memory of {large['rows']:,} rows on {large['directions']} directions, MB"
    goal = limit(goals["peak_bytes"] / MEGABYTE, "≤")
    yield what, f"{large['peak_bytes'] / MEGABYTE:.0f}", goal, "sliced/speed"


def heatmaps():
    """Return lines about fits of heatmaps and the program on trees."""
    found = read("heatmap_speed")
    for key, what, goal in (
        ("fit_over_naive_program", "heatmap fit: time over that of the paper's program", 0.15),
        ("fit_at_2**20_over_2**8", "heatmap fit at 2**20: time over that at 2**8", 5),
        ("million_rows_over_pandas", "counting a million check-ins: time relative to pandas", 1.5),
    ):
        yield what, f"{found[key]:.2f}", limit(goal, "≤"), "heatmap/speed"
    for line in read("tree_speed"):
        if "highs_ms" in line:
            what = f"linear program on the tree, {line['name']}: times faster than HiGHS"
            yield what, f"{line['ratio']:.0f}", limit(line["goal"], "≥"), "transport/trees"


def measures():
    """Return lines about private measures."""
    found = read("measure_speed")
    ratios, goals = found["ratios"], found["goals"]
    for key, what in (
        ("fit", "fit of a measure: time relative to numpy.histogram2d"),
        ("peak_fit", "fit of a measure: peak memory relative to the rows"),
    ):
        name = f"{what}, {found['rows']:,} rows"
        yield name, f"{ratios[key]:.2f}", limit(goals[key], "≤"), "measure/speed"


def noise():
    """Return lines about draws of exact noise."""
    found = read("noise_speed")
    for law in dict.fromkeys(row["law"] for row in found["rows"]):
        ratios = [row["ratios"] for row in found["rows"] if row["law"] == law]
        name = law.replace("_", " ")
        slowest = max(ratio["of_numpy"] for ratio in ratios)
        goal = limit(found["goals"]["numpy"], "≤")
        yield (
            f"{name} noise: time relative to numpy's floating-point noise",
            f"{slowest:.1f}",
            goal,
            "privacy/noise_speed",
        )
        least = min(ratio["opendp_is"] for ratio in ratios)
        goal = limit(found["goals"]["opendp"], "≥")
        yield f"{name} noise: times faster than OpenDP", f"{least:.0f}", goal, "privacy/noise_speed"


def imports():
    """Return lines about imports."""
    found = read("import_time")
    for key, what, goal in (
        ("package", "importing the package", found["goal"]),
        ("estimator", "importing an estimator", None),
    ):
        name = f"{what}: time relative to scikit-learn's base and scipy.special"
        yield name, f"{found['ratios'][key]:.2g}", limit(goal, "≤"), "package/import_time"


def work():
    """Yield lines of the table of single pieces of work, each beside a peer in the same run."""
    for row in read("speed"):
        before = "" if row["before"] is None else f"{row['before']:.2g}"
        growth = "" if row["growth"] is None else row["growth"]
        source = f"benchmarks/{row['from']}.py"
        yield [row["work"], row["peer"], f"{row['ratio']:.3g}", before, growth, source]


BEFORE_AFTER = {
    "small_kmeans": "twenty fits of k-means, {n:,} rows",
    "heatmap": "fit of a heatmap, {n:,} rows",
    "persons": "counting {n:,} rows with integer IDs",
    "persons_text": "counting {n:,} rows with text IDs",
    "generator": "fit of a generator, {n:,} rows, 784 features",
    "discrete_laplace": "50,000 draws of Laplace noise, scale 2**{n}",
    "rounded_gaussian": "50,000 draws of Gaussian noise, scale 2**{n}",
}


def before_after():
    """Yield lines about the same work by an earlier version; growth is between two sizes."""
    earlier = {}
    for row in read("before_after"):
        case, n, after = row["case"], row["n"], row["seconds_after"]
        growth = ""
        if case in earlier and n >= 1000:  # a smaller n is the digits of a scale
            first, seconds = earlier[case]
            growth = f"n^{math.log(after / seconds) / math.log(n / first):.2f}"
        earlier[case] = n, after
        ratio = f"{row['seconds_before'] / after:.2g}"
        work = BEFORE_AFTER[case].format(n=n)
        source = "benchmarks/package/before_after.py"
        yield [work, "the earlier code", ratio, "", growth, source]


def main():
    """Make the tables."""
    header = ["work", "peer", "times as fast", "before", "growth", "from"]
    write_table("speed", header, [*work(), *before_after()])
    lines = [
        [what, ours, goal, f"benchmarks/{script}.py"]
        for part in (sliced, heatmaps, measures, noise, imports)
        for what, ours, goal, script in part()
    ]
    write_table("results_speed", ["what", "measured", "goal", "from"], lines)


if __name__ == "__main__":
    main()
