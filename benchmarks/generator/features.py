"""Accuracy on real test rows of a linear classifier of drawn features of fixed public filters.

Images become 392 numbers by a public function of one image: how bright edges of eight directions
are in 49 overlapping squares, as square roots and with unit length. A PrivateGenerator with one
covariance for all classes is fitted to these rows in the unit ball, draws 30,000, and a linear
discriminant analysis of the draws is tested on the features of the real test rows. delta is 1e-5
and neighbors are "replace_one", as in ``images.py``. Its constants were chosen on 50,000 training
rows and tested on the other 10,000.

``python -m benchmarks.generator.features --data DIR [--sets mnist fashion] [--epsilons 1 10]
[--seeds 3] [--rows 60000]``. Results that are there already are not computed again.
"""

import argparse
import time
import warnings
from itertools import product

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.generator.images import DELTA, FILES, load
from benchmarks.recording import Results
from skdp_bary import PrivateGenerator
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.geometry import Ball

RESULTS = Results("generation_features")
KEYS = ("set", "covariance", "rows", "epsilon", "seed")
N_DRAWN = 30_000
N_DIRECTIONS = 8
CELL = 4
WEIGHTS = (0.125, 0.375, 0.625, 0.875, 0.875, 0.625, 0.375, 0.125)  # of a square twice as wide


def edges(rows):
    """Return features of rows of 28 x 28 pixels; those of an image depend on it alone."""
    images = np.pad(rows.reshape(-1, 28, 28).astype(np.float32), ((0, 0), (1, 1), (1, 1)), "edge")
    down = images[:, 2:, 1:-1] - images[:, :-2, 1:-1]
    right = images[:, 1:-1, 2:] - images[:, 1:-1, :-2]
    cubes = (down**2 + right**2 + 1e-12) ** 1.5
    found = []
    for angle in np.arange(N_DIRECTIONS) * (2.0 * np.pi / N_DIRECTIONS):
        along = np.float32(np.cos(angle)) * right + np.float32(np.sin(angle)) * down
        strength = np.maximum(along, 0.0) ** 2
        found.append(squares(squares(strength * strength / cubes, 1), 2))
    roots = np.sqrt(np.stack(found, axis=1).reshape(len(images), -1), dtype=float)
    return roots / np.maximum(np.sqrt((roots**2).sum(axis=1, keepdims=True)), 1e-9)


def squares(values, axis):
    """Return weighted sums over overlapping stretches of one axis."""
    margins = [(0, 0)] * 3
    margins[axis] = (CELL // 2, CELL // 2)
    padded = np.moveaxis(np.pad(values, margins), axis, 0)
    n_cells = values.shape[axis] // CELL
    sums = sum(
        np.float32(weight) * padded[start : start + CELL * n_cells : CELL]
        for start, weight in enumerate(WEIGHTS)
    )
    return np.moveaxis(sums, 0, axis)


def measure(data, covariance, n_rows, epsilon, seed):
    """Return the accuracy in percent, and how long fit, draws and classifier took."""
    X, y, X_test, y_test = data
    X, y, began = X[:n_rows], y[:n_rows], time.process_time()
    if epsilon:
        generator = PrivateGenerator(
            covariance_type=covariance, bounds=Ball(np.zeros(X.shape[1]), 1.0), epsilon=epsilon,
            delta=DELTA, neighbors="replace_one", random_state=seed,
        )  # fmt: skip
        X, y = generator.fit(X, y).sample(N_DRAWN, random_state=seed)
    learned = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=1e-4).fit(X, y)
    seconds = time.process_time() - began
    accuracy = 100.0 * learned.score(X_test, y_test)
    return {"accuracy": round(accuracy, 2), "seconds": round(seconds, 1)}


def main():
    """Measure what is not yet there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--sets", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 10.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", nargs="+", type=int, default=[60_000])
    parser.add_argument("--covariances", nargs="+", default=["tied"])
    parser.add_argument("--held-out", action="store_true", help="tune on training rows only")
    given = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    known = set() if given.held_out else {tuple(r[key] for key in KEYS) for r in RESULTS.read([])}
    settings = [("none", 0.0, 0), *product(given.covariances, given.epsilons, range(given.seeds))]
    for name in given.sets:
        X, y, X_test, y_test = load(given.data, name, given.held_out)
        data = edges(X), y, edges(X_test), y_test
        for n_rows, (covariance, epsilon, seed) in product(given.rows, settings):
            place = name, covariance, n_rows, epsilon, seed
            if place in known:
                continue
            found = dict(zip(KEYS, place, strict=True)) | measure(
                data, covariance, n_rows, epsilon, seed
            )
            if not given.held_out:
                RESULTS.merge([found], KEYS)
            print(found, flush=True)


if __name__ == "__main__":
    main()
