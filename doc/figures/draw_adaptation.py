"""The table of the guide to domain adaptation, from the results of its benchmark."""

import numpy as np
from evidence import read, write_table

HEADER = (
    "rows", "pair", "method", "epsilon", "source alone", "adapted", "spread", "seeds"
)  # fmt: skip

OFFICE_SEEDS = 3


def main():
    """Write one line for every setting: means over seeds."""
    groups = {}
    for line in read("adaptation"):
        place = line["rows"], line["pair"], line["method"], -line["epsilon"]
        groups.setdefault(place, []).append(line)
    rows = []
    for (kind, pair, method, epsilon), lines in sorted(groups.items()):
        if method == "none" or kind == "office" and len(lines) < OFFICE_SEEDS:
            continue
        unseen = 100.0 * np.array([line["unseen"] for line in lines])
        seeds = len({line["seed"] for line in lines})
        spread = f"{unseen.std(ddof=1):.1f}" if seeds > 1 else ""
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
