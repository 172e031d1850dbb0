"""Make the tables of table.rst from the results of the benchmarks.

``python doc/figures/draw_table_evidence.py``
"""

import numpy as np
from evidence import read, write_table

METHODS = {
    "real": "real rows",
    "ours": "PrivateTable",
    "ours_pure": "PrivateTable, delta = 0",
    "aim": "AIM",
    "aim_full": "AIM, 16 rounds a column",
    "mst": "MST",
    "privbayes": "PrivBayes, delta = 0",
}
MEASURES = ("tvd1", "tvd2", "tvd3", "w1", "sw1", "gb", "lr")
HEADS = ("TVD 1", "TVD 2", "TVD 3", "W1", "sliced W1", "AUC boosting", "AUC logistic")


def main():
    """Write the tables."""
    write_quality()
    write_summary()
    write_plain("table_slices", {
        "table": "table", "epsilon": "epsilon", "rows": "rows", "tvd1": "TVD 1", "tvd2": "TVD 2",
        "w1": "W1", "sw1": "sliced W1",
    })  # fmt: skip
    write_plain("table_speed", {
        "rows": "rows", "partitions": "partitions", "cpu_seconds": "CPU seconds of the fit",
        "peak_gb": "peak, GB",
        "sample_cpu_seconds": "CPU seconds of as many draws, at most a million",
    })  # fmt: skip


def write_plain(name, heads):
    """Write results as they are, under other heads."""
    write_table(name, list(heads.values()), [[row[key] for key in heads] for row in read(name)])


def write_quality():
    """Write the comparison with other methods."""
    results = read("table_quality")
    lines = []
    for table, tuned in {row["table"]: row["tuned"] for row in results}.items():
        for epsilon, method in cells(results, table):
            rows = [r for r in results if (r["table"], r["epsilon"], r["method"]) ==
                    (table, epsilon, method)]  # fmt: skip
            values = [f"{np.mean([row[name] for row in rows]):.3f}" for name in MEASURES]
            seconds = [row["seconds"] for row in rows if "seconds" in row]
            took = f"{np.mean(seconds):.1f}" if seconds else ""
            name = table if tuned else f"{table} (kept aside)"
            budget = f"{epsilon:g}" if epsilon else ""
            lines.append([name, budget, METHODS[method], len(rows), *values, took])
    heads = ["table", "epsilon", "made by", "seeds", *HEADS, "CPU seconds"]
    write_table("table", heads, lines)


def write_summary():
    """Write what the comparison comes to, beside each of the other methods."""
    results = read("table_quality")
    lines = []
    for peer in ("aim", "mst", "privbayes"):
        ratios, gains, heads = {"tvd2": [], "sw1": [], "seconds": []}, {"gb": [], "lr": []}, 0
        for table in dict.fromkeys(row["table"] for row in results):
            for epsilon in [e for e, method in cells(results, table) if method == peer]:
                ours, theirs = (means(results, table, epsilon, m) for m in ("ours", peer))
                if ours is None:
                    continue
                heads += 1
                for name, values in ratios.items():
                    values.append(ours[name] / theirs[name])
                for name, values in gains.items():
                    values.append(ours[name] - theirs[name])
        line = [METHODS[peer], heads]
        for values in ratios.values():
            line.append(
                f"{np.exp(np.mean(np.log(values))):.2f} ({min(values):.2f}-{max(values):.2f})"
            )
        for values in gains.values():
            line.append(f"{np.mean(values):+.3f} ({min(values):+.3f})")
        lines.append(line)
    heads = ["beside", "settings", "TVD 2, ratio", "sliced W1, ratio", "CPU seconds, ratio"]
    heads += ["AUC boosting, gain (least)", "AUC logistic, gain (least)"]
    write_table("table_summary", heads, lines)


def means(results, table, epsilon, method):
    """Return the mean of every number of a cell over its seeds, or None where none was measured."""
    rows = [r for r in results if (r["table"], r["epsilon"], r["method"]) ==
            (table, epsilon, method)]  # fmt: skip
    if not rows:
        return None
    return {name: np.mean([row[name] for row in rows]) for name in (*MEASURES, "seconds")}


def cells(results, table):
    """Return the epsilons and methods that were measured on one table, in order."""
    found = {(row["epsilon"], row["method"]) for row in results if row["table"] == table}
    return sorted(found, key=lambda cell: (cell[0], list(METHODS).index(cell[1])))


if __name__ == "__main__":
    main()
