"""Make the tables of results.rst and torch.rst from the results of the benchmarks.

``python doc/figures/draw_sliced_results.py``. What has not been measured yet is left empty.
"""

import numpy as np
from evidence import read, write_table

from skdp_bary.papers.sliced_noise import batched_plan
from skdp_bary.privacy.mechanisms import gaussian_mu

TABLE_1 = {  # DANN, SWD, DP-DANN, DP-SWD; the paper's Table 1
    "M-U": ("93.9 ± 0", "95.5 ± 1", "87.1 ± 2", "94.0 ± 0"),
    "U-M": ("86.2 ± 2", "84.8 ± 2", "73.5 ± 2", "83.4 ± 2"),
    "VisDA": ("57.4 ± 1", "53.8 ± 1", "49.0 ± 1", "47.0 ± 1"),
    "D-W": ("90.9 ± 1", "90.7 ± 1", "88.0 ± 1", "90.9 ± 1"),
    "D-A": ("58.6 ± 1", "59.4 ± 1", "56.5 ± 1", "55.2 ± 2"),
    "A-W": ("70.4 ± 3", "74.5 ± 1", "68.7 ± 1", "72.6 ± 1"),
    "A-D": ("78.6 ± 2", "78.5 ± 1", "73.7 ± 1", "79.8 ± 1"),
    "W-A": ("54.7 ± 3", "59.1 ± 0", "56.0 ± 1", "59.0 ± 1"),
    "W-D": ("91.1 ± 0", "95.7 ± 1", "63.4 ± 3", "92.6 ± 1"),
}
PAIRS = {  # of the benchmark; rows stretched to one size, or each brought to a canonical frame
    "M-U": ("mnist-usps", "stretched"),
    "M-U, canonical": ("mnist-usps", "canonical"),
    "U-M": ("usps-mnist", "stretched"),
    "U-M, canonical": ("usps-mnist", "canonical"),
}
TABLE_2 = {  # MNIST: MLP, LogReg; Fashion-MNIST: MLP, LogReg; the paper's Table 2
    "SWD, no privacy": (87, 82, 77, 76),
    "GS-WGAN": (79, 79, 65, 68),
    "DP-CGAN": (60, 60, 50, 51),
    "DP-MERF": (76, 75, 72, 71),
    "DP-SWD-c": (77, 78, 67, 66),
    "DP-SWD-b": (76, 77, 67, 66),
}
OURS = (  # file, label, epsilon
    ("generation_network", "the network, one release, hardly any noise", 10000.0),
    ("generation_network", "the network, one release", 10.0),
    ("generation_network", "the network, one release", 1.0),
    ("generation", "PrivateGenerator", 10.0),
    ("generation", "PrivateGenerator", 1.0),
    ("generation", "real training rows", None),
)
SIZES = (  # name, rows, delta, batch, epochs: the paper's Table 4
    ("CelebA", 162_770, 1e-6, 256, 100),
    ("VisDA", 55_387, 1e-6, 128, 50),
    ("Office-31", 497, 1e-3, 32, 50),
)
EPSILON = 10.0


def with_spread(values):
    """Return a mean, and a standard deviation where there are several values."""
    if not values:
        return ""
    spread = f" ± {np.std(values):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{spread}"


def tabulate_generation():
    """Write Table 2 and ours."""
    lines = [["paper", name, "10", *numbers] for name, numbers in TABLE_2.items()]
    lines[0][2] = ""
    for file, label, epsilon in OURS:
        rows = [r for r in read(file) if r["epsilon"] == epsilon and not r.get("holdout")]
        cells = [
            with_spread([r[classifier] for r in rows if r["set"] == name and classifier in r])
            for name in ("mnist", "fashion")
            for classifier in ("mlp", "logreg")
        ]
        seeds = len({r["seed"] for r in rows})
        if any(cells):
            shown = "" if epsilon in (None, 10000.0) else f"{epsilon:g}"
            lines.append(
                [f"ours, {seeds} runs" if seeds > 1 else "ours, 1 run", label, shown, *cells]
            )
    header = ("from", "made by", "epsilon", "MNIST MLP", "LogReg", "Fashion MLP", "LogReg")
    write_table("sliced_paper_generation", header, lines)


def tabulate_adaptation():
    """Write Table 1 and ours."""
    names = [*PAIRS, *(name for name in TABLE_1 if name not in PAIRS)]
    lines = [[name, *TABLE_1.get(name, [""] * 4), *_adapted(name)] for name in names]
    header = (
        *("task", "DANN", "SWD", "DP-DANN", "DP-SWD"),
        *("source only, unseen", "epsilon 10, private", "epsilon 10, unseen", "epsilon 1, unseen"),
    )
    write_table("sliced_paper_adaptation", header, lines)


def _adapted(name):
    """Return our cells of one task."""
    cells = []
    for method, part, epsilon in (
        ("none", "unseen", 0.0),
        ("self_training", "private", EPSILON),
        ("self_training", "unseen", EPSILON),
        ("self_training", "unseen", 1.0),
    ):
        place = (*PAIRS.get(name, (None, None)), method, epsilon)
        rows = [
            row[part]
            for row in read("adaptation")
            if (row["pair"], row["rows"], row["method"], row["epsilon"]) == place
        ]
        cells.append(with_spread([100.0 * value for value in rows]))
    return cells


def tabulate_sizes():
    """Write what one release and what batches cost at the paper's sizes."""
    lines = []
    for name, n_rows, delta, batch_size, n_epochs in SIZES:
        n_batches = n_epochs * (n_rows // batch_size)
        plan = batched_plan(
            "replace_one", EPSILON, delta,
            n_batches=n_batches, batch_size=batch_size, n_persons=n_rows,
        )  # fmt: skip
        one, many = gaussian_mu(EPSILON, delta), plan.mu
        noise = 2.0 * 128 / n_rows / one, 2.0 * 8 / batch_size / many
        lines.append([
            name, n_rows, f"{EPSILON:g}, {delta:g}",
            f"{one:.3f}", f"{noise[0]:.2g}", f"{n_batches} of {batch_size}",
            f"{many:.3f}", f"{noise[1]:.2g}",
        ])  # fmt: skip
    header = (
        *("data", "rows", "epsilon, delta", "one release: mu", "noise of 128 quantiles"),
        *("batches", "mu of each", "noise of 8 quantiles"),
    )
    write_table("torch_accounting", header, lines)


if __name__ == "__main__":
    tabulate_generation()
    tabulate_adaptation()
    tabulate_sizes()
