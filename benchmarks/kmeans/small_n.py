"""Clusters of 100 to 5,000 rows in 4 to 30 features, beside one simple private mean.

Cells are drawn at random: nine generated shapes and the small sets of scikit-learn, 2 to 10
clusters, epsilon from 0.1 to 3, either noise, bounds that fit the rows, or are three or ten times
as wide, half of these with their center aside from the rows, and half of all cells without
``n_hint``. The simple mean is that of rows in the bounds with the whole budget, a tenth of it for
their number where that is not hinted at, drawn to the center of the bounds by James and Stein's
factor and clipped to them; all centers are there. Tails are heavy, so costs are arithmetic means
over fits. Rules were chosen on cells of the half "seen" alone.

``python -m benchmarks.kmeans.small_n [--half seen] [--fits 8] [--tag before] [--show]`` computes
and keeps; ``--tag`` names the edition that runs, so that two of them can be compared.
"""

import argparse
import math
import warnings
from functools import cache

import numpy as np
from sklearn import datasets

from benchmarks.recording import Results
from skdp_bary import PrivateKMeans
from skdp_bary.estimators.noisy_means import nearest
from skdp_bary.privacy.mechanisms import gaussian_mu

RESULTS = Results("kmeans_small_n")
KEYS = ("tag", "half", "cell")
HALVES = {"seen": 1, "aside": 2}  # seeds of the cells
CELLS = 240
FITS = 64
MEANS = 1000  # simple means, which take no time
COUNT_SHARE = 0.1
SHAPES = (
    "blobs",
    "uniform",
    "normal",
    "student",
    "lognormal",
    "dummies",
    "low rank",
    "unequal",
    "corner",
)
TABLES = ("iris", "wine", "breast_cancer", "diabetes", "digits")


def shape(name, n, d, k, rng):
    """Return rows of a generated shape."""
    normal = rng.normal(size=(n, d))
    if name == "uniform":
        return rng.random((n, d))
    if name == "normal":
        return normal @ (rng.normal(size=(d, d)) * 0.8 ** np.arange(d)[:, None])
    if name == "student":
        return normal / np.sqrt(rng.chisquare(3.0, (n, 1)) / 3.0)
    if name == "lognormal":
        return np.exp(0.7 * normal)
    if name == "dummies":
        kinds = rng.beta(0.5, 0.5, (k, d))
        return (rng.random((n, d)) < kinds[rng.integers(k, size=n)]).astype(float)
    if name == "low rank":
        return rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 0.1 * normal
    if name == "corner":  # most rows in one place, some elsewhere
        away = rng.random(n) < 0.15
        return 0.05 * normal + away[:, None] * rng.random((n, d))
    masses = rng.dirichlet(np.full(k, 0.7 if name == "unequal" else 20.0))
    widths = rng.uniform(0.02, 0.3, k) if name == "unequal" else np.full(k, 0.12)
    label = rng.choice(k, n, p=masses)
    return rng.uniform(-1.0, 1.0, (k, d))[label] + widths[label][:, None] * normal


def table(name, d, rng):
    """Return up to so many columns of a small set that scikit-learn brings along."""
    rows = getattr(datasets, f"load_{name}")().data
    varied = np.flatnonzero(np.ptp(rows, axis=0) > 0)
    return rows[:, rng.permutation(varied)[:d]]


@cache
def cell(half, i):
    """Return the rows of a cell, in units of their half range, and its public parameters."""
    rng = np.random.default_rng((HALVES[half], i))
    name = str(rng.choice(SHAPES + TABLES))
    d, k = int(rng.integers(4, 31)), int(rng.integers(2, 11))
    n = round(100.0 * 50.0 ** rng.random())
    rows = shape(name, n, d, k, rng) if name in SHAPES else table(name, d, rng)
    rows = rows[rng.permutation(len(rows))[:n]]
    half_range = np.maximum(np.ptp(rows, axis=0) / 2.0, 1e-9)
    rows = (rows - rows.min(axis=0)) / half_range - 1.0
    wide, aside = float(rng.choice((1.0, 3.0, 10.0))), rng.random() < 0.5
    center = rng.uniform(-1.0, 1.0, rows.shape[1]) * (wide - 1.0) * aside
    setting = {
        "n_clusters": k,
        "epsilon": float(rng.choice((0.1, 0.3, 1.0, 3.0))),
        "delta": float(rng.choice((0.0, 1e-6))),
        "bounds": (center - wide, center + wide),
        "n_hint": len(rows) if rng.random() < 0.5 else None,
    }
    facts = {"set": name, "n": len(rows), "d": rows.shape[1], "wide": wide, "aside": bool(aside)}
    return rows, setting, facts


def simple_costs(rows, setting, rng):
    """Return the costs of simple private means."""
    n, d = rows.shape
    low, high = setting["bounds"]
    center, wide = (low + high) / 2.0, float((high - low)[0]) / 2.0
    share = COUNT_SHARE if setting["n_hint"] is None else 0.0
    epsilon = setting["epsilon"]
    if setting["delta"] > 0:
        mu = gaussian_mu(epsilon, setting["delta"])
        noise = rng.normal(size=(MEANS, d + 1))
        scales = math.sqrt(d) * wide / (mu * math.sqrt(1.0 - share)), mu * math.sqrt(share)
    else:
        noise = rng.laplace(size=(MEANS, d + 1)) / math.sqrt(2.0)
        scales = math.sqrt(2.0) * d * wide / (epsilon * (1.0 - share)), share * epsilon / 2.0**0.5
    count = n + noise[:, d:] / scales[1] if share else np.full((MEANS, 1), float(n))
    count = np.maximum(count, 1.0)
    means = ((rows - center).sum(axis=0) + scales[0] * noise[:, :d]) / count
    squares = (means**2).sum(axis=1, keepdims=True)
    means *= np.maximum(1.0 - (d - 2) * (scales[0] / count) ** 2 / squares, 0.0)
    means = np.clip(means, -wide, wide)
    exact = rows.mean(axis=0)
    return ((rows - exact) ** 2).sum() / n + ((means + center - exact) ** 2).sum(axis=1)


def measured(tag, half, i, fits):
    """Return one row of the results."""
    rows, setting, facts = cell(half, i)
    costs = [
        nearest(rows, PrivateKMeans(**setting, random_state=seed).fit(rows).cluster_centers_)[
            1
        ].mean()
        for seed in range(fits)
    ]
    simple = simple_costs(rows, setting, np.random.default_rng(i))
    said = {"k": setting["n_clusters"], "hint": setting["n_hint"] is not None}
    said |= {name: setting[name] for name in ("epsilon", "delta")}
    found = {
        "fits": fits,
        "cost": float(np.mean(costs)),
        "error": float(np.std(costs, ddof=1)) / math.sqrt(fits),
        "simple": float(simple.mean()),
        "simple_error": float(simple.std(ddof=1)) / math.sqrt(MEANS),
        "exact_mean": float(((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean()),
    }
    found = {name: float(f"{value:.5g}") for name, value in found.items()}
    return dict(zip(KEYS, (tag, half, i), strict=True)) | facts | said | found


def show(kept, tag, half):
    """Print costs over those of simple means, for groups of cells."""
    kept = [row for row in kept if (row["tag"], row["half"]) == (tag, half)]
    before = {
        row["cell"]: row
        for row in RESULTS.read([])
        if (row["tag"], row["half"]) == ("before", half)
    }
    groups = {
        "all": lambda row: True,
        "Laplace": lambda row: row["delta"] == 0,
        "Gaussian": lambda row: row["delta"] > 0,
        "bounds that fit": lambda row: row["wide"] == 1,
        "three times": lambda row: row["wide"] == 3,
        "ten times": lambda row: row["wide"] == 10,
        "aside": lambda row: row["wide"] > 1 and row["aside"],
        "500 rows and fewer": lambda row: row["n"] <= 500,
        "tables": lambda row: row["set"] in TABLES,
    }
    print(f"{tag}, {half}: cells, over simple, largest, surely above, over before")
    for name, there in groups.items():
        rows = [row for row in kept if there(row)]
        over = np.array([row["cost"] / row["simple"] for row in rows])
        sure = [
            row["cost"] - row["simple"] > 2.0 * math.hypot(row["error"], row["simple_error"])
            for row in rows
        ]
        old = [row["cost"] / before[row["cell"]]["cost"] for row in rows if row["cell"] in before]
        mean = math.exp(np.log(over).mean()) if rows else math.nan
        than = f"{math.exp(np.log(old).mean()):9.3f}" if old else ""
        line = f"{len(rows):5}{mean:9.3f}{over.max(initial=0):9.3f}{sum(sure):5}{than}"
        print(f"{name:<20}{line}")


def main():
    """Compute what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", default="aside", choices=HALVES)
    parser.add_argument("--fits", type=int, default=FITS)
    parser.add_argument("--cells", type=int, default=CELLS)
    parser.add_argument("--tag", default="now", help="names the edition that runs")
    parser.add_argument("--anew", action="store_true", help="also what was kept before")
    parser.add_argument("--show", action="store_true", help="print the table and stop")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    tag, half = arguments.tag, arguments.half
    done = {tuple(row[key] for key in KEYS) for row in RESULTS.read([])}
    for i in () if arguments.show else range(arguments.cells):
        if arguments.anew or (tag, half, i) not in done:
            RESULTS.merge([measured(tag, half, i, arguments.fits)], KEYS)
    show(RESULTS.read([]), tag, half)


if __name__ == "__main__":
    main()
