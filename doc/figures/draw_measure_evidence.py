"""Make the tables of private measures and maps: beside published releases, and inside a delta.

``python doc/figures/draw_measure_evidence.py``
"""

import math

from evidence import read, write_table

OURS = ("pyramid", "haar", "adaptive")
HEADER = ["sets", "features", "release", "W1", "largest", "range error", "largest range error"]


def ratios(rows, method, metric):
    """Return geometric mean and largest ratio to the best peer of every setting."""
    logs = []
    for row in rows:
        peers = [own[metric] for name, own in row["errors"].items() if name not in OURS]
        logs.append(math.log(row["errors"][method][metric] / min(peers)))
    return math.exp(sum(logs) / len(logs)), math.exp(max(logs))


def write_inside_delta():
    """Write the ratios to Gaussian noise on all levels, by half and features."""
    rows, lines = read("measure_inside_delta")["settings"], []
    first, *others = rows[0]["errors"]
    for half in ("seen", "aside"):
        for d in sorted({row["d"] for row in rows}):
            here = [row["errors"] for row in rows if (row["half"], row["d"]) == (half, d)]
            for method in others:
                numbers = []
                for metric in (0, 1):
                    logs = [math.log(row[method][metric] / row[first][metric]) for row in here]
                    numbers += [math.exp(sum(logs) / len(logs)), math.exp(max(logs))]
                lines.append([half, d, method, *(f"{x:.2f}" for x in numbers)])
    write_table("measure_inside_delta", HEADER, lines)


def write_maps():
    """Write the ratios of maps, by half of the sets."""
    rows, lines = read("heatmap_regimes"), []
    for half in ("seen", "aside"):
        here = [row for row in rows if row["half"] == half]
        for method in here[0]["errors"] if here else ():
            found = [ratios(here, method, metric) for metric in range(4)]
            lines.append([half, method, *(f"{x:.2f}" for pair in found for x in pair)])
    metrics = ("similarity", "correlation", "KL", "EMD")
    names = [name for metric in metrics for name in (metric, f"largest {metric}")]
    write_table("heatmap_regimes", ["sets", "release", *names], lines)


def main():
    """Write the ratios of every method, by half of the sets and number of features."""
    rows, lines = read("measure_regimes")["rows"], []
    for half in ("seen", "aside"):
        for d in sorted({row["d"] for row in rows}):
            here = [row for row in rows if (row["half"], row["d"]) == (half, d)]
            for method in here[0]["errors"] if here else ():
                numbers = (x for metric in (0, 1) for x in ratios(here, method, metric))
                lines.append([half, d, method, *(f"{x:.2f}" for x in numbers)])
    write_table("measure_regimes", HEADER, lines)
    write_inside_delta()
    write_maps()


if __name__ == "__main__":
    main()
