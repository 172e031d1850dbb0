"""PrivateEMDHeatmap beside seven published releases of cells, up to 100,000 people.

The sets and peers are those of ``benchmarks/measure/regimes.py`` in the plane; every person has one
row. Maps of 128 by 128 cells are blurred as the estimator does by default and compared with the
blurred map of the rows by four errors: 1 - similarity, 1 - correlation, KL divergence, earth
mover's distance. Printed are geometric means of ratios to the best peer of every setting and
metric, by half: constants are chosen on the sets "seen", those kept aside are for the end.

``python -m benchmarks.heatmap.regimes [--sizes 1000 10000 100000] [--seeds 2]``
"""

import argparse
import warnings
from itertools import product

import numpy as np

from benchmarks.heatmap.quality import METRICS, errors
from benchmarks.measure.peers import peers_of
from benchmarks.measure.regimes import ASIDE, SEEN, make_rows
from benchmarks.recording import Results
from skdp_bary import PrivateEMDHeatmap
from skdp_bary.estimators.heatmap_views import blur
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("heatmap_regimes")
KEYS = ("half", "set", "n", "epsilon")
SIDE, BANDWIDTH = 128, 1 / 32
METHODS = ("adaptive",)


def raster(low, high, mass):
    """Spread cells of even mass over the map, rows upwards."""
    edges = np.arange(SIDE) / SIDE
    grid = np.zeros((SIDE, SIDE))
    for some in np.array_split(np.arange(len(mass)), 1 + len(mass) // 2000):
        covered = [
            np.clip(
                np.minimum(high[some, axis, None], edges + 1 / SIDE)
                - np.maximum(low[some, axis, None], edges),
                0,
                None,
            )
            / (high - low)[some, axis, None]
            for axis in (1, 0)
        ]
        grid += covered[0].T @ (covered[1] * mass[some, None])
    return grid


def measure_setting(name, n, epsilon, seeds):
    """Return the mean errors of every method on one set."""
    found = {}
    for seed in range(seeds):
        X = make_rows(name, n, 2, np.random.default_rng((2, n, seed)))
        places = (X * SIDE).astype(int)
        truth = np.bincount(places[:, 1] * SIDE + places[:, 0], minlength=SIDE**2)
        truth = blur(truth.reshape(SIDE, SIDE).astype(float), BANDWIDTH)
        for method in METHODS:
            model = PrivateEMDHeatmap(
                epsilon,
                bounds=(0, 1),
                resolution=SIDE,
                bandwidth=BANDWIDTH,
                method=method,
                n_hint=n,
                random_state=seed,
            ).fit(X)
            found.setdefault(method, []).append(errors(model.heatmap_, truth))
        for peer, release in peers_of(2).items():
            grid = raster(*release(X, epsilon, np.random.default_rng((1, seed))))
            found.setdefault(peer, []).append(errors(blur(grid, BANDWIDTH), truth))
    return {method: np.mean(values, axis=0).tolist() for method, values in found.items()}


def ratios(rows, method):
    """Geometric means and largest ratios to the best peer of every row, by metric."""
    logs = []
    for row in rows:
        peers = [own for name, own in row["errors"].items() if name not in METHODS]
        logs.append(np.log(np.array(row["errors"][method]) / np.min(peers, axis=0)))
    return np.exp(np.mean(logs, axis=0)), np.exp(np.max(logs, axis=0))


def report(rows):
    """Print the ratios of every method."""
    for method in rows[0]["errors"]:
        mean, largest = ratios(rows, method)
        numbers = zip(METRICS, mean, largest, strict=True)
        shown = "  ".join(f"{metric} {a:.2f} (at most {b:.2f})" for metric, a, b in numbers)
        print(f"{rows[0]['half']:5s} {method:9s} {shown}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--output", type=Results, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    for half, sets in (("seen", SEEN), ("aside", ASIDE)):
        rows = []
        for key in product((half,), sets, options.sizes, (0.1, 1.0)):
            found = measure_setting(*key[1:], options.seeds)
            row = dict(zip(KEYS, key, strict=True)) | {"seeds": options.seeds, "errors": found}
            rows.append(row)
            options.output.merge([row], KEYS)
            best = np.min([own for name, own in found.items() if name not in METHODS], axis=0)
            print(*key, np.round(np.array(found[METHODS[0]]) / best, 2), flush=True)
        report(rows)


if __name__ == "__main__":
    main()
