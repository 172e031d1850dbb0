"""The tables of the guide to domain adaptation, from the results of its benchmark."""

import numpy as np
from evidence import read, write_table

HEADER = (
    "rows", "pair", "method", "epsilon", "source alone", "adapted", "spread", "seeds"
)  # fmt: skip

OFFICE_SEEDS = 3


def main():
    """Write both tables."""
    write_settings()
    write_trials()


def write_trials():
    """Write what comes of adapting where public pairs gain, on Office-Caltech10, as measured.

    For every pair and seed the public pairs are those of its source with the other two domains.
    """
    lines = []
    for epsilon in (10.0, 1.0):
        place = "office", "self_training", epsilon
        gains = {
            (*line["pair"].split("-"), line["seed"]): line["private"] - line["source_private"]
            for line in read("adaptation")
            if (line["rows"], line["method"], line["epsilon"]) == place
        }
        always = 100.0 * np.array(list(gains.values()))
        adapts = np.array([_others(gains, *place) > 0.0 for place in gains])
        for name, some in (("self_training", always), ("chosen", always * adapts)):
            adapted = len(some) if name == "self_training" else int(adapts.sum())
            summary = f"{some.mean():.2f}", int((some > 0).sum()), int((some < 0).sum())
            lines.append([f"{epsilon:g}", name, len(some), adapted, *summary, f"{some.min():.1f}"])
    heads = ("epsilon", "method", "fits", "adapted", "mean gain", "gains", "losses", "largest loss")
    write_table("adaptation_auto", heads, lines)


def _others(gains, source, target, seed):
    """Return the mean gain of a source on its other targets."""
    return np.mean([
        gain for (s, t, number), gain in gains.items()
        if (s, number) == (source, seed) and t != target
    ])  # fmt: skip


def write_settings():
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
