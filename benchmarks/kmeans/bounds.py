"""What bounds ten times too wide cost in two, three and ten features, by persons a cluster.

Ratios to scikit-learn's best of ten starts, with bounds that fit and bounds ten times as wide: for
each number of persons a cluster times epsilon, geometric means and the largest over 4, 8 and 16
clusters of three sets that plans were tuned on, and of three that were kept aside. Ten features are
measured with both kinds of noise.

``python -m benchmarks.kmeans.bounds [--seeds 2] [--regimes ten-laplace ten-gaussian]``
"""

import argparse
import warnings
from itertools import product

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.recording import Results
from skdp_bary import PrivateKMeans
from skdp_bary.estimators.noisy_means import nearest
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("kmeans_bounds")
EPSILON, SIGNALS, WIDE = 0.5, (20, 50, 200, 1000), (1, 10)


def blobs(rng, n, d, k):
    """Return normal clusters of one size."""
    centers = rng.uniform(-0.85, 0.85, (k, d))
    return centers[rng.integers(k, size=n)] + 0.05 * rng.normal(size=(n, d))


def curve(rng, n, d, _):
    """Return rows along a smooth curve."""
    t, phase = rng.random(n)[:, None], rng.uniform(0, 6, d)
    rows = 0.8 * np.sin(2 * np.pi * t * rng.uniform(0.3, 1.5, d) + phase)
    return rows + 0.03 * rng.normal(size=rows.shape)


def ball(rng, n, d, _):
    """Return one round cloud."""
    return 0.35 * rng.normal(size=(n, d))


def unequal(rng, n, d, k):
    """Return clusters of unequal masses and widths."""
    centers = rng.uniform(-0.85, 0.85, (k, d))
    label = rng.choice(k, n, p=rng.dirichlet(np.full(k, 1.5)))
    return centers[label] + rng.uniform(0.01, 0.12, k)[label][:, None] * rng.normal(size=(n, d))


def tails(rng, n, d, _):
    """Return one cloud of Student's law."""
    return 0.15 * rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)


def ring(rng, n, d, k):
    """Return a shell on one side, and small groups on the other."""
    rows = rng.normal(size=(n, d))
    rows = 0.4 + 0.3 * rows / np.linalg.norm(rows, axis=1)[:, None]
    rows += 0.02 * rng.normal(size=(n, d))
    grouped, centers = rng.random(n) < 0.3, rng.uniform(-0.9, 0, (k // 2, d))
    own = centers[rng.integers(len(centers), size=int(grouped.sum()))]
    rows[grouped] = own + 0.03 * rng.normal(size=own.shape)
    return rows


REGIMES = {"few": ((2, 3), 0.0), "ten-laplace": ((10,), 0.0), "ten-gaussian": ((10,), 1e-6)}
HALVES = {"seen": (blobs, curve, ball), "aside": (unequal, tails, ring)}


def ratios(make, d, k, delta, signal, seeds):
    """Return the cost relative to that without privacy, for both widths of bounds."""
    n = round(signal * k / EPSILON)
    rows = np.clip(make(np.random.default_rng([d, k, signal]), n, d, k), -1, 1)
    best = KMeans(k, n_init=10, random_state=0).fit(rows).inertia_ / n
    found = np.empty((len(WIDE), seeds))
    for (i, seed), _ in np.ndenumerate(found):
        kmeans = PrivateKMeans(
            k, epsilon=EPSILON, delta=delta, n_hint=n, bounds=(-WIDE[i], WIDE[i]), random_state=seed
        )
        found[i, seed] = nearest(rows, kmeans.fit(rows).cluster_centers_)[1].mean() / best
    return np.exp(np.log(found).mean(axis=1))


def main():
    """Measure both halves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--regimes", nargs="+", default=list(REGIMES), choices=REGIMES)
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    for regime, signal, (half, sets) in product(options.regimes, SIGNALS, HALVES.items()):
        widths, delta = REGIMES[regime]
        settings = [(make, d, k, delta) for make in sets for d in widths for k in (4, 8, 16)]
        found = np.array([ratios(*setting, signal, options.seeds) for setting in settings])
        row = {"regime": regime, "half": half, "signal": signal}
        row["mean"] = np.exp(np.log(found).mean(axis=0)).round(3).tolist()
        row["largest"] = found.max(axis=0).round(2).tolist()
        RESULTS.merge([row], ("regime", "half", "signal"))
        print(row, flush=True)


if __name__ == "__main__":
    main()
