"""Processor time of fits of few rows, as a search over parameters makes many of them: 100, or 300.

Beside KMeans(n_init=10) of scikit-learn and POT's barycenter of the same rows, which know nothing
of privacy: the best of several runs in which the sides take turns, on one thread.
``python -m benchmarks.package.small_fits [--earlier FOLDER]``, where FOLDER holds the package of an
earlier version: the "before".
"""

import argparse
import json
import os
import time
import warnings

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

ROWS, TURNS = 100, 40


def rows(n_features):
    """Return two clusters in the box from -1 to 1, and which row belongs to which."""
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=ROWS)
    X = (label - 0.5)[:, None] + 0.1 * rng.standard_normal((ROWS, n_features))
    return np.clip(X, -1, 1), label


def kmeans(n_features):
    """Return our fit and scikit-learn's."""
    from sklearn.cluster import KMeans

    from skdp_bary import PrivateKMeans

    X, _ = rows(n_features)
    own = PrivateKMeans(3, bounds=(-1, 1), n_hint=ROWS)
    return lambda: own.fit(X), lambda: KMeans(3, n_init=10).fit(X)


def barycenter(n_features):
    """Return our fit and POT's iterations from as many starts."""
    from ot.lp import free_support_barycenter

    from skdp_bary import PrivateWassersteinBarycenter

    X, y = rows(n_features)
    own = PrivateWassersteinBarycenter(3, bounds=(-1, 1), n_hint=ROWS, classes=[0, 1])
    parts = [X[y == c] for c in (0, 1)]
    masses = [np.full(len(part), 1.0 / len(part)) for part in parts]

    def peer():
        for start in (0, 3):
            free_support_barycenter(parts, masses, X[start : start + 3])

    return lambda: own.fit(X, y), peer


def classes(n_classes, n_features):
    """Return our fit of classes that noise drowns, and POT's iterations from one start."""
    from ot.lp import free_support_barycenter

    from skdp_bary import PrivateWassersteinBarycenter

    rng = np.random.default_rng(0)
    X, y = rng.random((30 * n_classes, n_features)), np.repeat(np.arange(n_classes), 30)
    own = PrivateWassersteinBarycenter(bounds=(0, 1), classes=list(range(n_classes)))
    parts = [X[y == c] for c in range(n_classes)]
    masses = [np.full(len(part), 1.0 / len(part)) for part in parts]
    return lambda: own.fit(X, y), lambda: free_support_barycenter(parts, masses, X[:8])


WORK = {
    "k-means, 100 rows, 2 features": lambda: kmeans(2),
    "k-means, 100 rows, 10 features": lambda: kmeans(10),
    "barycenter, 100 rows, 2 features": lambda: barycenter(2),
    "barycenter of 10 classes, 300 rows, 10 features": lambda: classes(10, 10),
}
PEERS = {
    "k-means": "KMeans(n_init=10) of scikit-learn",
    "barycenter": "POT's free support, 2 starts",
    "barycenter of 10 classes": "POT's free support, one start",
}


def measure(work):
    """Return the median times of our fit and of the peer."""
    warnings.simplefilter("ignore")
    sides = WORK[work]()
    times = [[], []]
    turns = TURNS if "classes" not in work else 1
    for turn in range(turns + 2):
        for side, found in zip(sides, times, strict=True):
            begin = time.process_time()
            side()
            if turn >= 2:  # the first ones load code
                found.append(time.process_time() - begin)
    own, peer = map(np.median, times)
    return {"own": own, "peer": peer}


def main():
    """Measure and keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--earlier")
    parser.add_argument("--measure")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    from benchmarks.recording import (  # an earlier package has no such functions
        record_beside_earlier,
        speed_line,
    )

    def lines(work, now, before):
        ratios = [each and each["peer"] / each["own"] for each in (now, before)]
        return [speed_line(work, PEERS[work.split(",")[0]], ratios, "package/small_fits")]

    record_beside_earlier(__file__, "small_fits", WORK, lines, arguments.earlier)


if __name__ == "__main__":
    main()
