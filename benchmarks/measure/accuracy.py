"""Wasserstein error of PrivateMeasure on generated data, beside the published schedule.

For every dimension, data set and size: W_1 between the rows and the released measure, exact, with
cost ``max_i |x_i - y_i|`` on the unit cube, at epsilon = 1 and with ``n_hint`` the true size. The
goal is a flat split of the budget over ceil(log2(n)) + 1 levels of counts with points uniform in
the leaves (measured once, under add_remove); under replace_one the goal is 1.9 times that. The
data are our own definition, since the goal for "blobs" came without one: "unif" is uniform on the
cube; "blobs" are 8 clusters of standard deviation 0.05 around centers uniform in [0.2, 0.8]; in
"tight", which has no goal, it is 0.015. So the flat split is measured again, on the same rows, in a
column of its own.

``python -m benchmarks.measure.accuracy [--seeds 6] [--quick]``; needs POT.
"""

import argparse
import math
import time
import warnings

import numpy as np
import ot
from scipy.stats import wasserstein_distance

from benchmarks.measure.published import PublishedMeasure, shared
from benchmarks.recording import Results
from skdp_bary import PrivateMeasure
from skdp_bary.desk.counting import Sketch
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.geometry import Box
from skdp_bary.geometry.cells import CellTree
from skdp_bary.queries.cells import LevelCounts
from skdp_bary.rows.persons import Chunk

RESULTS = Results("measure_accuracy")
METHODS = ("haar", "pmm", "flat")
ALLOWANCE = {"add_remove": 1.0, "replace_one": 1.9}
SPREADS = {"blobs": 0.05, "tight": 0.015}
GOALS = {  # (n_features, data): goal at n = 500 and n = 2000
    (1, "unif"): (0.0202, 0.0091),
    (2, "unif"): (0.0698, 0.0352),
    (2, "blobs"): (0.0417, 0.0210),
    (2, "tight"): (math.nan, math.nan),
    (3, "unif"): (0.111, 0.0690),
    (5, "unif"): (0.197, 0.143),
}


def make_rows(data, n, d, rng):
    """Draw the rows of one data set."""
    if data == "unif":
        return rng.random((n, d))
    centers = 0.2 + 0.6 * rng.random((8, d))
    rows = centers[rng.integers(8, size=n)] + SPREADS[data] * rng.standard_normal((n, d))
    return np.clip(rows, 0.0, 1.0)


def distance(X, support, weights):
    """Return the exact W_1 with the l_inf cost between rows and a weighted measure."""
    if X.shape[1] == 1:
        return wasserstein_distance(X[:, 0], support[:, 0], v_weights=weights)
    cost = ot.dist(X, support, metric="chebyshev")
    return ot.emd2(np.full(len(X), 1 / len(X)), weights, cost, numItermax=10**7)


def error(X, relation, method, seed):
    """Fit one measure and return its error."""
    if method == "flat":
        return distance(X, *flat_measure(X, relation, seed))
    measure = PublishedMeasure if method == "pmm" else PrivateMeasure
    model = measure(
        1.0, bounds=(0, 1), n_hint=len(X), method="haar", neighbors=relation, random_state=seed
    ).fit(X)
    return distance(X, model.support_, model.weights_)


def flat_measure(X, relation, seed):
    """Points and weights of the flat split: the goal, with floating noise."""
    rng = np.random.default_rng((1, seed))
    tree = CellTree(Box([0.0] * X.shape[1], [1.0] * X.shape[1]), math.ceil(math.log2(len(X))))
    scale = tree.depth + 1 if relation == "add_remove" else 2 * tree.depth
    counts = Sketch(LevelCounts(tree)).update(Chunk(X, None, None)).exact_blocks()
    noisy = [block[0] + np.rint(rng.laplace(0, scale, block[0].shape)) for block in counts]
    if relation == "replace_one":
        noisy[0] = counts[0][0]
    masses = shared(tree, noisy)[-1]
    cells = rng.choice(tree.n_cells, size=len(X), p=masses / masses.sum())
    places, shape = tree.positions(cells, tree.depth), tree.full_shape(tree.depth)
    return tree.domain.sample_in_cells(places, shape, rng), np.full(len(X), 1 / len(X))


def measure_row(d, data, n, seeds):
    """Return mean and standard error of every method and relation on one kind of data."""
    errors = {(relation, method): [] for relation in ALLOWANCE for method in METHODS}
    for seed in range(seeds):
        X = make_rows(data, n, d, np.random.default_rng((d, n, seed)))
        for key, values in errors.items():
            values.append(error(X, *key, seed))
    return {
        f"{relation} {method}": {
            "mean": float(np.mean(values)),
            "standard_error": float(np.std(values, ddof=1) / math.sqrt(len(values))),
        }
        for (relation, method), values in errors.items()
    }


def report(row):
    """Print one line a relation."""
    for relation, allowance in ALLOWANCE.items():
        goal = allowance * row["goal"]
        own = row["errors"][f"{relation} haar"]
        cells = " ".join(
            f"{row['errors'][f'{relation} {m}']['mean']:8.4f} "
            f"+-{row['errors'][f'{relation} {m}']['standard_error']:.4f}"
            for m in METHODS
        )
        print(
            f"{row['d']:2d} {row['data']:6s} {row['n']:5d} {relation:12s} {cells} "
            f"{goal:8.4f} {own['mean'] / goal:6.2f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--quick", action="store_true", help="n = 500 only, no file written")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    print(f"{'d':>2} {'data':6} {'n':>5} {'relation':12}", *(f"{m:>16}" for m in METHODS), end="")
    print(f" {'goal':>8} ratio (haar)")
    rows, begin = [], time.perf_counter()
    for (d, data), goals in GOALS.items():
        for n, goal in zip((500,) if options.quick else (500, 2000), goals, strict=False):
            row = {"d": d, "data": data, "n": n, "goal": goal}
            row["errors"] = measure_row(d, data, n, options.seeds)
            report(row)
            rows.append(row | {"goal": None if math.isnan(goal) else goal})
    if not options.quick:
        seconds = round(time.perf_counter() - begin, 1)
        result = {"epsilon": 1.0, "seeds": options.seeds, "seconds": seconds, "rows": rows}
        RESULTS.write(result)


if __name__ == "__main__":
    main()
