"""Level and power of private two-sample tests, beside dpMMD and a test without privacy.

Columns are the share of runs that reject at level 0.05. All tests are for replacing one row, with
public sizes, and see rows of the box [-1, 1]:

- "cohorts": ``PrivateTwoSampleTest`` on both samples;
- "reference": the same with the first sample public;
- "dpMMD": the permutation test of Kim and Schrab (2023), written anew: mean of Gaussian kernels
  with widths (.25, .5, 1) sqrt(d), 199 permutations, Laplace noise of 2 sqrt(2) / (n epsilon);
- "not private": a permutation test of a distance on slices, without noise.

Half of the cases were kept aside while the tests were tuned; ``"aside"`` tells which.
``python -m benchmarks.two_sample.power [--runs 12] [--cases shift]``
"""

import argparse
import warnings
import zlib
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from benchmarks.recording import Results
from skdp_bary import PrivateTwoSampleTest
from skdp_bary.desk import desk
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("two_sample_power")
EPSILONS = (0.1, 0.5, 1.0)
ALPHA = 0.05
PERMUTATIONS = 199
NOISES = 4  # of each pair of samples
SPREAD = 0.3


def plain(rng, n, d):
    """Return Gaussian rows."""
    return SPREAD * rng.standard_normal((n, d))


def shift(size, n_moved=None):
    """Move the mean of some features, or of all."""

    def draw(rng, n, d):
        Y = plain(rng, n, d)
        Y[:, :n_moved] += size
        return plain(rng, n, d), Y

    return draw


def scale(factor):
    """Widen all features."""
    return lambda rng, n, d: (plain(rng, n, d), factor * plain(rng, n, d))


def correlation(rho):
    """Correlate the first two features."""

    def draw(rng, n, d):
        Y = plain(rng, n, d)
        Y[:, 1] = rho * Y[:, 0] + (1 - rho**2) ** 0.5 * Y[:, 1]
        return plain(rng, n, d), Y

    return draw


def far(share):
    """Move a few rows far away."""

    def draw(rng, n, d):
        Y = plain(rng, n, d)
        moved = rng.random(n) < share
        Y[moved] = 0.8 + 0.05 * rng.standard_normal((moved.sum(), d))
        return plain(rng, n, d), Y

    return draw


def same(law):
    """Draw both samples from one law."""
    return lambda rng, n, d: (law(rng, n, d), law(rng, n, d))


def binary(rng, n, d):
    """Return rows of zeros and ones."""
    return (rng.random((n, d)) < 0.3).astype(float)


def heavy(rng, n, d):
    """Return Cauchy rows, many of them at the bounds."""
    return 0.2 * rng.standard_cauchy((n, d))


def rare(rng, n, d):
    """Return rows that are zero but for one of a hundred."""
    return (rng.random((n, 1)) < 0.01) * np.full(d, 0.9)


def counts(rng, n, d):
    """Return small counts."""
    return rng.poisson(1.0, (n, d)) / 5.0


def wide(law):
    """Return rows of a law within bounds that are ten times too wide."""

    def draw(rng, n, d):
        X, Y = law(rng, n, d)
        return X / 10.0, Y / 10.0

    return draw


CASES = {  # name: draw, rows a sample, features, whether it was kept aside
    "shift .03": (shift(0.03), 1000, 2, False),
    "shift .04": (shift(0.04), 500, 2, True),
    "scale 1.2": (scale(1.2), 1000, 2, False),
    "scale 1.1": (scale(1.1), 2000, 2, True),
    "correlation .5": (correlation(0.5), 1000, 2, False),
    "correlation .3": (correlation(0.3), 2000, 2, True),
    "far rows 5 %": (far(0.05), 1000, 2, False),
    "far rows 8 %": (far(0.08), 500, 2, True),
    "shift .03, d=10": (shift(0.03), 1000, 10, False),
    "shift .08 of one, d=10": (shift(0.08, 1), 2000, 10, True),
    "scale 1.1, d=10": (scale(1.1), 1000, 10, False),
    "far rows 3 %, d=10": (far(0.03), 1000, 10, True),
    "shift .02, d=50": (shift(0.02), 1000, 50, False),
    "scale 1.05, d=50": (scale(1.05), 1000, 50, True),
    "far rows 2 %, d=50": (far(0.02), 1000, 50, False),
    "correlation .9, d=10": (correlation(0.9), 1000, 10, True),
    "scale 1.2, wide bounds": (wide(scale(1.2)), 1000, 2, False),
    "shift .05, wide bounds, d=10": (wide(shift(0.05)), 2000, 10, True),
    "null: Gaussian": (same(plain), 1000, 2, False),
    "null: Gaussian, d=50": (same(plain), 500, 50, True),
    "null: zeros and ones": (same(binary), 500, 2, False),
    "null: Cauchy": (same(heavy), 1000, 2, True),
    "null: rare values": (same(rare), 1000, 2, False),
    "null: counts": (same(counts), 500, 10, True),
}


@contextmanager
def counted_once():
    """Let fits on the same rows count them once for every question: only the noise is new."""
    known, collect = {}, desk.collect

    def recall(query, rows):
        key = type(query), getattr(getattr(query, "lattice", None), "width", None)
        if key not in known:
            known[key] = collect(query, rows)
            blocks = known[key].exact_blocks()
            known[key].exact_blocks = lambda: blocks
        return known[key]

    with patch.object(desk, "collect", recall):
        yield


def ours(X, Y, rng, reference=False):
    """Return how often ``PrivateTwoSampleTest`` rejects, for every epsilon."""
    given = {"reference": X} if reference else {}
    rows = (Y,) if reference else (np.vstack([X, Y]), np.repeat([0, 1], [len(X), len(Y)]))
    shares = []
    with counted_once(), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        for epsilon in EPSILONS:
            test = PrivateTwoSampleTest(
                epsilon=epsilon,
                bounds=(-1, 1),
                neighbors="replace_one",
                n_resamples=399,
                random_state=np.random.RandomState(rng.integers(1 << 31)),
                **given,
            )
            shares.append(np.mean([test.fit(*rows).pvalue_ <= ALPHA for _ in range(NOISES)]))
    return shares


def gaussian_kernel(Z):
    """Return the mean of three Gaussian kernels on the unit box."""
    Z = Z.astype(np.float32)
    norms = (Z**2).sum(axis=1)
    square = np.maximum(norms[:, None] + norms - 2 * (Z @ Z.T), 0) / Z.shape[1]
    wide = np.exp(-square)
    middle = np.square(np.square(wide))  # widths 1, 1/2 and 1/4
    return (wide + middle + np.square(np.square(middle))) / 3


def sliced_features(Z, n_directions=60, n_cells=16):
    """Return cells of slices, half of them as wide as those of the private test."""
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((Z.shape[1], n_directions))
    found = []
    for i, column in enumerate((Z @ directions / np.linalg.norm(directions, axis=0)).T):
        cells = np.floor(column / (0.5, 1.0)[i % 2] + rng.random()).astype(int) % n_cells
        found.append(np.eye(n_cells, dtype=np.float32)[cells])
    return np.hstack(found) / n_directions**0.5


def permuted_signs(n, m, rng):
    """Return the weights of rows in the difference of two means, then permuted ones."""
    signs = np.repeat([1.0 / n, -1.0 / m], [n, m])
    columns = [signs, *(rng.permutation(signs) for _ in range(PERMUTATIONS))]
    return np.stack(columns, axis=1).astype(np.float32)


def rejects(found):
    """Return whether the first of exchangeable numbers is among the largest."""
    return (found >= found[0]).mean() <= ALPHA


def run(name, seed):
    """Return the share of noises with which each test rejects one pair of samples."""
    draw, n, d, _ = CASES[name]
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    X, Y = (np.clip(sample, -1.0, 1.0) for sample in draw(rng, n, d))
    Z = np.vstack([X, Y])
    signs = permuted_signs(n, n, rng)
    distances = np.linalg.norm(sliced_features(Z).T @ signs, axis=0)
    found = {"not private": [rejects(distances)]}
    kernel = gaussian_kernel(Z)
    distances = np.sqrt(np.maximum((signs * (kernel @ signs)).sum(axis=0), 0.0))
    noise = 2 * 2**0.5 / n * rng.laplace(size=(NOISES, len(distances)))
    found["dpMMD"] = [np.mean([rejects(distances + x / e) for x in noise]) for e in EPSILONS]
    found["cohorts"] = ours(X, Y, rng)
    found["reference"] = ours(X, Y, rng, reference=True)
    return found


def measure(name, runs):
    """Return a row of results: the share of runs that reject."""
    found = [run(name, seed) for seed in range(runs)]
    shares = {
        test: [round(float(x), 3) for x in np.mean([f[test] for f in found], axis=0)]
        for test in found[0]
    }
    _, n, d, aside = CASES[name]
    return {"case": name, "n": n, "d": d, "aside": aside, "runs": runs, **shares}


def main():
    """Measure the cases and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=12)
    parser.add_argument("--cases", default="", help="part of the names of cases")
    given = parser.parse_args()
    for name in CASES:
        if given.cases in name:
            row = measure(name, given.runs * (3 if name.startswith("null") else 1))
            print(row, flush=True)
            RESULTS.merge([row], ["case"])


if __name__ == "__main__":
    main()
