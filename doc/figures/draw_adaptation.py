"""The table of the guide to domain adaptation, from the results of its benchmark."""

import numpy as np
from evidence import read, write_table

HEADER = (
    "rows", "pair", "method", "epsilon", "source alone", "adapted", "spread", "seeds"
)  # fmt: skip


def main():
    """Write one line for every setting: means over seeds, and pairs where there are many."""
    groups, results = {}, read("adaptation")
    office = len({line["pair"] for line in results if line["rows"] == "office"})
    for line in results:
        pair = f"mean of {office} pairs" if line["rows"] == "office" else line["pair"]
        place = line["rows"], pair, line["method"], -line["epsilon"]
        groups.setdefault(place, []).append(line)
    rows = []
    for (kind, pair, method, epsilon), lines in sorted(groups.items()):
        if method == "none":
            continue
        unseen = 100.0 * np.array([line["unseen"] for line in lines])
        seeds = len({line["seed"] for line in lines})
        spread = f"{unseen.std(ddof=1):.1f}" if kind != "office" and seeds > 1 else ""
        cells = _cell(lines, "source_"), _cell(lines, ""), spread, seeds
        rows.append([kind, pair, method, f"{-epsilon:g}", *cells])
    write_table("adaptation", HEADER, rows)


def _cell(lines, prefix):
    private, unseen = (
        100.0 * np.mean([line[f"{prefix}{part}"] for line in lines])
        for part in ("private", "unseen")
    )
    return f"{private:.1f} / {unseen:.1f}"


if __name__ == "__main__":
    main()
