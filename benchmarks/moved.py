"""Whether a measured number is still the recorded one, and tables and pictures of both.

A number is a mean over runs with its standard error. Under the hypothesis that nothing changed, new
and recorded runs have one distribution, so the test is the pooled t-test. The level is shared by
all numbers that are compared.
"""

import csv
import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

LEVEL = 0.01  # probability of a false alarm of a whole comparison
SLACK = 1e-3  # relative: recorded numbers are rounded, and machines add in other orders


@dataclass(frozen=True)
class Number:
    """Mean of runs, its standard error (None: a single run) and the number of runs.

    ``runs=None`` is a number without noise.
    """

    mean: float
    error: float | None = None
    runs: int | None = None

    @classmethod
    def of_runs(cls, values):
        """Return the number that runs give."""
        values = np.asarray(values, dtype=float)
        error = None
        if len(values) > 1:
            error = float(values.std(ddof=1) / math.sqrt(len(values)))
        return cls(float(values.mean()), error, len(values))

    @classmethod
    def of_interval(cls, pair, runs, normal=False):
        """Return the number of a mean and half the length of its 95% interval."""
        mean, half = pair
        if half is None:
            return cls(mean, None, runs)
        return cls(mean, half / (1.96 if normal else student.ppf(0.975, runs - 1)), runs)

    @property
    def freedom(self):
        """Degrees of freedom of the spread."""
        return 0 if self.error is None else self.runs - 1

    def __str__(self):
        text = f"{self.mean:.4g}"
        return text if self.error is None else f"{text} ± {1.96 * self.error:.2g}"


def difference(new, old, n_compared=1):
    """Return how far two numbers are apart, as a share of what noise allows; None: untestable."""
    slack = SLACK * abs(old.mean)
    apart = abs(new.mean - old.mean)
    if new.runs is None or old.runs is None:
        allowed = slack
    elif freedom := new.freedom + old.freedom:
        squares = sum(n.freedom * n.runs * n.error**2 for n in (new, old) if n.freedom)
        error = math.sqrt(squares / freedom * (1 / new.runs + 1 / old.runs))
        allowed = slack + student.isf(LEVEL / 2 / n_compared, freedom) * error
    else:
        return None
    return apart / allowed if allowed else (0.0 if apart == 0.0 else math.inf)


def moved(new, old):
    """Return a line for every number that moved, and how many were compared.

    Parameters
    ----------
    new, old : dict of {tuple: Number}
        Panel, place on the axis and series of each number.
    """
    lines = []
    common = [key for key in new if key in old]
    for key in common:
        share = difference(new[key], old[key], len(common))
        if share is not None and not share <= 1.0:
            name = ", ".join(map(str, key))
            lines.append(f"{name}: recorded {old[key]}, now {new[key]}")
    return lines, len(common)


def require_finite(numbers):
    """Raise an error that names the numbers that are none."""
    bad = [
        ", ".join(map(str, key))
        for key, number in numbers.items()
        if not math.isfinite(number.mean) or not math.isfinite(number.error or 0.0)
    ]
    if bad:
        raise SystemExit("Not a number: " + "; ".join(bad))


def lines_of(numbers):
    """Return the head and the lines of a table: a column for each series."""
    require_finite(numbers)
    series = list(dict.fromkeys(key[2] for key in numbers))
    places = list(dict.fromkeys(key[:2] for key in numbers))
    rows = [
        [str(panel), str(at), *(str(numbers.get((panel, at, name), "")) for name in series)]
        for panel, at in places
    ]
    return ["", "at", *series], rows


def write_table(numbers, path):
    """Write a table as comma-separated values and as a picture."""
    import matplotlib.pyplot as plt

    head, rows = lines_of(numbers)
    with path.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    lengths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    total = sum(lengths) + 2 * len(lengths)
    figure, axes = plt.subplots(figsize=(0.085 * total + 0.3, 0.24 * (len(rows) + 1) + 0.2))
    axes.set_axis_off()
    widths = [(length + 2) / total for length in lengths]
    table = axes.table(rows, colLabels=head, colWidths=widths, loc="center", cellLoc="left")
    table.auto_set_font_size(False)
    table.set_fontsize(8)
    figure.savefig(path.with_suffix(".png"), dpi=90, bbox_inches="tight")
    plt.close(figure)


def draw(numbers, path, title, axis, log=True):
    """Draw a panel for each first part of the keys, with bars of 1.96 standard errors."""
    import matplotlib.pyplot as plt

    require_finite(numbers)
    panels = list(dict.fromkeys(key[0] for key in numbers))
    series = list(dict.fromkeys(key[2] for key in numbers))
    columns = min(len(panels), 4)
    rows = -(-len(panels) // columns)
    figure, frames = plt.subplots(
        rows, columns, figsize=(max(3.4 * columns, 6) + 1, 3 * rows + 0.3), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for frame in frames.flat[len(panels) :]:
        frame.set_axis_off()
    for frame, panel in zip(frames.flat, panels, strict=False):
        places = list(dict.fromkeys(key[1] for key in numbers if key[0] == panel))
        named = any(isinstance(at, str) for at in places)
        for place, name in enumerate(series):
            known = [at for at in places if (panel, at, name) in numbers]
            if not known:
                continue
            found = [numbers[panel, at, name] for at in known]
            at = [places.index(each) for each in known] if named else known
            bars = [1.96 * (number.error or 0.0) for number in found]
            frame.errorbar(
                at, [number.mean for number in found], bars, color=f"C{place}", label=name,
                fmt="o" if named else "o-", ms=3, capsize=2,
            )  # fmt: skip
        if named:
            frame.set_xticks(range(len(places)), places, rotation=30, ha="right", fontsize=7)
        elif len(places) > 1 and min(places) > 0 and max(places) / min(places) > 9:
            frame.set_xscale("log")
            frame.xaxis.set_major_formatter("{x:g}")
        if log and all(number.mean > 0 for key, number in numbers.items() if key[0] == panel):
            frame.set_yscale("log")
            frame.yaxis.set_major_formatter("{x:g}")
            frame.yaxis.set_minor_formatter("{x:g}")
            frame.tick_params(axis="y", which="minor", labelsize=6)
        frame.set_title(panel, fontsize=9)
        frame.set_xlabel(axis)
    handles = {
        text: handle
        for frame in frames.flat
        for handle, text in zip(*frame.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles, loc="outside right upper", fontsize=8)
    figure.suptitle(title, fontsize=10)
    figure.savefig(path.with_suffix(".png"), dpi=90)
    plt.close(figure)
