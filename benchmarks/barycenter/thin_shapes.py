"""Barycenters of one distribution from few persons, or in wide bounds: pyramids beside trees.

For two to four features and both kinds of noise: transport cost from the rows to the atoms, over
that of atoms that are searched for on the rows themselves, with 16 atoms and epsilon 0.5, in bounds
that fit and in bounds ten times as wide. Sets are thin shapes, clusters and clouds; the pyramid's
number of cells was chosen on the sets "seen". Printed are geometric means and the largest ratio of
each half, width and number of persons an atom.

``python -m benchmarks.barycenter.thin_shapes [--seeds 2]``
"""

import argparse
import time
import warnings
from itertools import product

import numpy as np

from benchmarks.recording import Results
from skdp_bary import PrivateWassersteinBarycenter
from skdp_bary.exceptions import PrivacyWarning
from skdp_bary.transport import DiscreteMeasure, free_support_barycenter, solve_semidiscrete

RESULTS = Results("barycenter_thin_shapes")
KEYS = ("half", "set", "d", "noise", "signal", "width")
ATOMS, EPSILON, SIGNALS, WIDTHS = 16, 0.5, (5, 20, 100), (1, 10)
METHODS = ("coreset", "pyramid")


def make_curve(rng, n, d):
    """Draw rows along a smooth curve."""
    t = rng.random((n, 1))
    waves = np.sin(2 * np.pi * t * rng.uniform(0.3, 1.2, d) + rng.uniform(0, 6, d))
    return 0.5 + 0.4 * waves + 0.005 * rng.normal(size=(n, d))


def make_segment(rng, n, d):
    """Draw rows along a straight line."""
    ends, t = rng.random((2, d)), rng.random((n, 1))
    return ends[0] + (ends[1] - ends[0]) * t + 0.002 * rng.normal(size=(n, d))


def make_clusters(rng, n, d):
    """Draw rows of six normal clusters."""
    centers = 0.1 + 0.8 * rng.random((6, d))
    return centers[rng.integers(6, size=n)] + 0.02 * rng.normal(size=(n, d))


def make_cloud(rng, n, d):
    """Draw rows of one round cloud."""
    return 0.5 + 0.12 * rng.normal(size=(n, d))


def make_ring(rng, n, d):
    """Draw rows on a sphere."""
    rows = rng.normal(size=(n, d))
    rows *= 0.3 / np.linalg.norm(rows, axis=1)[:, None]
    return 0.45 + rows + 0.01 * rng.normal(size=(n, d))


def make_roads(rng, n, d):
    """Draw rows along six lines of different lengths."""
    ends, which = rng.random((6, 2, d)), rng.integers(6, size=n)
    start, end = ends[which, 0], ends[which, 1]
    return start + (end - start) * rng.random((n, 1)) + 0.003 * rng.normal(size=(n, d))


def make_spot(rng, n, d):
    """Draw rows of one cluster that is small for the bounds."""
    return 0.1 + 0.8 * rng.random(d) + 0.01 * rng.normal(size=(n, d))


def make_tails(rng, n, d):
    """Draw rows of one cloud with heavy tails."""
    return 0.5 + 0.08 * rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)


HALVES = {
    "seen": (make_curve, make_segment, make_clusters, make_cloud),
    "aside": (make_ring, make_roads, make_spot, make_tails),
}


def measure(make, d, delta, signal, width, seeds):
    """Return the ratio of the costs of each method, and processor seconds of a fit."""
    n = round(signal * ATOMS / EPSILON)
    found = {method: [] for method in METHODS}
    for seed in range(seeds):
        X = np.clip(make(np.random.default_rng((d, signal, seed)), n, d), 0.0, 1.0)
        rows = DiscreteMeasure(X)
        best = free_support_barycenter([rows], ATOMS, random_state=seed).cost
        for method, values in found.items():
            begin = time.process_time()
            fitted = PrivateWassersteinBarycenter(
                ATOMS,
                method=method,
                epsilon=EPSILON,
                delta=delta,
                bounds=(0.5 - 0.5 * width, 0.5 + 0.5 * width),
                n_hint=n,
                random_state=seed,
            ).fit(X)
            seconds = time.process_time() - begin
            cost = solve_semidiscrete(rows, fitted.to_measure()).cost
            values.append((np.log(cost / best), seconds))
    means = {method: np.mean(values, axis=0) for method, values in found.items()}
    return {m: [round(float(np.exp(log)), 3), round(float(s), 3)] for m, (log, s) in means.items()}


def report(rows):
    """Print the geometric means and the largest ratio of each method."""
    for half, width, signal in product(HALVES, WIDTHS, SIGNALS):
        wanted = (half, width, signal)
        here = [row for row in rows if (row["half"], row["width"], row["signal"]) == wanted]
        for method in METHODS if here else ():
            ratios = [row["found"][method][0] for row in here]
            mean = np.exp(np.mean(np.log(ratios)))
            print(
                f"{half:6} {width:3} {signal:4} {method:8} {mean:8.2f} (at most {max(ratios):.1f})"
            )


def main():
    """Measure what is missing, and print all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore", PrivacyWarning)
    done = {tuple(row[key] for key in KEYS) for row in RESULTS.read([])}
    cases = [(half, make) for half, sets in HALVES.items() for make in sets]
    noises = {"Laplace": 0.0, "Gaussian": 1e-6}
    for width, (half, make), d, noise, signal in product(WIDTHS, cases, (2, 3, 4), noises, SIGNALS):
        key = (half, make.__name__[5:], d, noise, signal, width)
        if key not in done:
            row = dict(zip(KEYS, key, strict=True))
            row["found"] = measure(make, d, noises[noise], signal, width, seeds)
            RESULTS.merge([row], KEYS)
    report(RESULTS.read([]))


if __name__ == "__main__":
    main()
