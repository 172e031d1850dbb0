"""PrivateMeasure beside six published releases of cells, in one to four dimensions.

For every dimension, number of rows, budget and set: sliced W_1 between the rows and rows drawn
evenly from the release, and the mean error of the share of rows in random boxes. Whoever changes a
constant of the pyramid looks at the sets "seen" only; those kept aside are run once, at the end.
Printed are geometric means of ratios to the best peer of every setting and metric. The file kept
has 1000 rows.

``python -m benchmarks.measure.regimes [--quick] [--again pyramid]``
"""

import argparse
import time
import warnings
from itertools import product

import numpy as np

from benchmarks.measure.peers import PEERS
from benchmarks.recording import Results
from skdp_bary import PrivateMeasure
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("measure_regimes")
KEYS = ("half", "set", "d", "n", "epsilon")
METHODS = ("pyramid", "haar")
SEEN = ("clusters", "normal", "skewed", "spike")
ASIDE = ("widths", "curve", "beta", "steps")


def make_rows(name, n, d, rng):
    """Draw the rows of one set, in the unit cube."""
    if name == "clusters":
        X = (0.2 + 0.6 * rng.random((8, d)))[rng.integers(8, size=n)]
        X += 0.03 * rng.standard_normal((n, d))
    elif name == "normal":
        X = 0.4 + 0.12 * rng.standard_normal((n, d))
    elif name == "skewed":
        X = rng.exponential(0.08, (n, d))
    elif name == "spike":
        X = np.where(rng.random((n, 1)) < 0.3, 0.37, rng.random((n, d)))
    elif name == "widths":
        which = rng.integers(6, size=n)
        spread = np.array([0.002, 0.01, 0.03, 0.06, 0.1, 0.2])[which, None]
        X = rng.random((6, d))[which] + spread * rng.standard_normal((n, d))
    elif name == "curve":
        t = rng.random((n, 1)) ** 2
        X = 0.5 + 0.4 * np.sin(3 * t + np.arange(d)) + 0.01 * rng.standard_normal((n, d))
    elif name == "beta":
        X = rng.beta(2, 5, (n, d))
    else:
        X = (rng.integers(0, 12, (n, d)) + rng.random((n, d)) ** 3) / 12
    return np.clip(X, 0.0, 1.0 - 1e-9)


def released_cells(model):
    """Corners and masses of the cells of a fitted measure."""
    tree, cells = model.tree_, model.cells_
    low, width = np.empty((2, len(cells.mass), model.n_features_in_))
    for level in np.unique(cells.level):
        here = cells.level == level
        shape = np.array(tree.full_shape(int(level)))
        low[here] = tree.positions(cells.index[here].astype(np.int64), int(level)) / shape
        width[here] = 1 / shape
    return low, low + width, cells.mass


def metrics(X, cells, rng):
    """Sliced W_1 and mean range error of cells of even mass."""
    low, high, mass = cells
    d = X.shape[1]
    if not mass.sum() > 0:
        low, high, mass = np.zeros((1, d)), np.ones((1, d)), np.ones(1)
    mass = mass / mass.sum()
    n = min(4 * len(X), 100_000)
    drawn = np.searchsorted(np.cumsum(mass), (np.arange(n) + 0.5) / n).clip(max=len(mass) - 1)
    Y = low[drawn] + (high - low)[drawn] * rng.random((n, d))
    directions = rng.standard_normal((1 if d == 1 else 12, d))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    places = (np.arange(4000) + 0.5) / 4000
    sliced = np.mean(
        [np.abs(np.quantile(X @ u, places) - np.quantile(Y @ u, places)).mean() for u in directions]
    )
    errors = []
    for _ in range(60):
        a, b = np.sort(rng.random((2, d)), axis=0)
        inside = np.clip(np.minimum(high, b) - np.maximum(low, a), 0, None) / (high - low)
        errors.append(abs(((a <= X) & (b > X)).all(axis=1).mean() - mass @ inside.prod(axis=1)))
    return float(sliced), float(np.mean(errors))


def measure_setting(name, d, n, epsilon, seeds, methods=METHODS, peers=True):
    """Return the mean metrics of every method on one set."""
    found = {}
    for seed in range(seeds):
        X = make_rows(name, n, d, np.random.default_rng((d, n, seed)))
        for method in methods:
            start = time.process_time()
            model = PrivateMeasure(
                epsilon, bounds=(0, 1), n_hint=n, method=method, random_state=seed
            ).fit(X)
            seconds = time.process_time() - start
            values = metrics(X, released_cells(model), np.random.default_rng(seed))
            found.setdefault(method, []).append((*values, seconds))
        for peer, release in PEERS.items() if peers else ():
            cells = release(X, epsilon, np.random.default_rng((1, seed)))
            found.setdefault(peer, []).append(
                (*metrics(X, cells, np.random.default_rng(seed)), 0.0)
            )
    return {method: np.mean(values, axis=0).tolist() for method, values in found.items()}


def ratios(rows, method):
    """Geometric mean of (sliced W_1, range) over the best peer of each row, and the largest."""
    logs = []
    for row in rows:
        best = np.min([row["errors"][peer][:2] for peer in PEERS], axis=0)
        logs.append(np.log(np.array(row["errors"][method][:2]) / best))
    return np.exp(np.mean(logs, axis=0)), np.exp(np.max(logs, axis=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few settings, no file written")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--again", nargs="+", choices=METHODS, help="these only; keep the others")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    known = RESULTS.read({"rows": []})["rows"] if options.again else []
    known = {tuple(row[key] for key in KEYS): row["errors"] for row in known}
    rows = []
    for half, sets in (("seen", SEEN), ("aside", ASIDE)):
        for d in (1, 2) if options.quick else (1, 2, 3, 4):
            for key in product((half,), sets, (d,), options.sizes, (0.1, 1.0)):
                methods, peers = options.again or METHODS, key not in known
                errors = measure_setting(*key[1:], options.seeds, methods, peers)
                row = dict(zip(KEYS, key, strict=True))
                rows.append(row | {"errors": known.get(key, {}) | errors})
            report(half, d, [row for row in rows if (row["half"], row["d"]) == (half, d)])
        report(half, "all", [row for row in rows if row["half"] == half])
    if not options.quick:
        RESULTS.write({"seeds": options.seeds, "rows": rows})


def report(half, d, rows):
    """Print the ratios to the best peer."""
    for method in (*METHODS, *PEERS):
        mean, largest = ratios(rows, method)
        print(f"{half:5s} d={d} {method:9s} W1 {mean[0]:6.2f} (at most {largest[0]:6.2f})", end="")
        print(f"  range {mean[1]:6.2f} (at most {largest[1]:6.2f})", flush=True)


if __name__ == "__main__":
    main()
