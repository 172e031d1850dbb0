"""Processor time of whole fits, in products of the rows with a matrix, and beside scikit-learn.

One product is what any method must do to look at all rows once: ``X @ A`` with one column a cluster
or direction. Sides take turns and the least time of each counts, on one thread.
``python -m benchmarks.rows.passes [--earlier FOLDER]``, where FOLDER holds the package of an
earlier version, for example unpacked by ``git archive VERSION skdp_bary``: the "before".
"""

import argparse
import json
import os
import time
import warnings

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from sklearn.cluster import KMeans  # noqa: E402

TURNS = 3
CLUSTERS = 16


def clusters(n_rows, n_features):
    """Return normal clusters in the box from -1 to 1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (CLUSTERS, n_features))[rng.integers(CLUSTERS, size=n_rows)]
    X += 0.1 * rng.standard_normal(X.shape)
    return np.clip(X, -1, 1, out=X)


def kmeans(n_rows, n_features, delta):
    """Return rows, the number of columns of the product, our fit and scikit-learn's."""
    from skdp_bary import PrivateKMeans

    X = clusters(n_rows, n_features)
    own = PrivateKMeans(CLUSTERS, delta=delta, bounds=(-1, 1), n_hint=n_rows, random_state=0)
    peer = KMeans(CLUSTERS, n_init=1, random_state=0)
    return X, CLUSTERS, lambda: own.fit(X), lambda: peer.fit(X)


def sliced(n_rows, n_features, n_projections):
    """Return rows, the number of columns of the product, our fit and no other."""
    from skdp_bary import DPSlicedWasserstein

    X = np.random.default_rng(0).random((n_rows, n_features))
    own = DPSlicedWasserstein(
        delta=1e-6, bounds=(0, 1), n_hint=n_rows, n_projections=n_projections, random_state=0
    )
    return X, n_projections, lambda: own.fit(X), None


WORK = {
    "sliced, 784 features, 10 directions": lambda: sliced(15_000, 784, 10),
    "sliced, 784 features, 100 directions": lambda: sliced(15_000, 784, 100),
    "k-means, 100 features, Gaussian": lambda: kmeans(100_000, 100, 1e-9),
    "k-means, 100 features, Laplace": lambda: kmeans(100_000, 100, 0.0),
    "k-means, 10 features, Laplace": lambda: kmeans(300_000, 10, 0.0),
    "k-means, 10 features, Gaussian": lambda: kmeans(300_000, 10, 1e-9),
}

PEERS = {"product": "one product with the rows", "peer": "KMeans(n_init=1) of scikit-learn"}


def measure(work):
    """Return the times of our fit, of a product and of the peer."""
    warnings.simplefilter("ignore")
    X, columns, own, peer = WORK[work]()
    A = np.random.default_rng(1).random((X.shape[1], columns))
    out = np.empty((len(X), columns))
    sides = {"own": own, "product": lambda: np.matmul(X, A, out=out)} | (
        {"peer": peer} if peer else {}
    )
    times = {name: [] for name in sides}
    for _ in range(TURNS):
        for name, side in sides.items():
            begin = time.process_time()
            side()
            times[name].append(time.process_time() - begin)
    return {name: min(found) for name, found in times.items()}


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
        for side, peer in PEERS.items():
            if side in now:
                ratios = [each and each[side] / each["own"] for each in (now, before)]
                yield speed_line(work, peer, ratios, "rows/passes")

    record_beside_earlier(__file__, "passes", WORK, lines, arguments.earlier)


if __name__ == "__main__":
    main()
